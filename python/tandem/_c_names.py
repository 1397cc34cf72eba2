"""What projects read of `torch._C` that Tandem's extension module does not define itself."""

from __future__ import annotations

import contextvars
import enum
from typing import Any

from tandem import _C
from tandem._stand_in import lacking_class

# For whom functions of an operation are, in PyTorch.
DispatchKey = enum.Enum(
    "DispatchKey",
    "Undefined CPU CUDA XPU MPS Meta BackendSelect Python PythonDispatcher Functionalize ADInplaceOrView Autograd "
    "AutogradCPU AutogradCUDA AutogradXPU AutocastCPU AutocastCUDA AutocastXPU FuncTorchBatched "
    "CompositeExplicitAutograd CompositeImplicitAutograd",
    module="tandem._C",
)


class BelowAutograd:
    """A block in which operations do without their functions for "Autograd"."""

    depth: contextvars.ContextVar[int] = contextvars.ContextVar("below_autograd", default=0)

    def __enter__(self) -> None:
        self.depth.set(self.depth.get() + 1)

    def __exit__(self, *error: Any) -> None:
        self.depth.set(self.depth.get() - 1)


class DispatchKeySet(frozenset[Any]):
    """A set of them, of one at first: sets are joined by `|`."""

    def __new__(cls, key: Any) -> DispatchKeySet:
        return super().__new__(cls, [key])


def _get_tracing_state() -> None:
    """None: no function is traced by TorchScript."""


def _are_functorch_transforms_active() -> bool:
    """Is this called inside `vmap`?"""
    return bool(_C._active_axes())


def _log_api_usage_once(event: str) -> None:
    """Does nothing: no one counts which parts of the library are used."""


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, the dtype, whether not to wait, and the memory format that arguments of `to` mean."""
    from tandem.nn.conversion import parse_to

    return parse_to(*args, **kwargs)


NAMES = {
    "DispatchKey": DispatchKey,
    "DispatchKeySet": DispatchKeySet,
    "_AutoDispatchBelowAutograd": BelowAutograd,
    "_ExcludeDispatchKeyGuard": lacking_class("_C._ExcludeDispatchKeyGuard"),
    "_TensorMeta": type(_C.Tensor),
    "_are_functorch_transforms_active": _are_functorch_transforms_active,
    "_get_tracing_state": _get_tracing_state,
    "_log_api_usage_once": _log_api_usage_once,
}
NN_NAMES = {"_parse_to": _parse_to}
_C.__dict__.update(NAMES)
_C._nn.__dict__.update(NN_NAMES)
_C.Tensor._cdata = property(id)  # type: ignore[method-assign, assignment]  # a number that tells tensors apart
