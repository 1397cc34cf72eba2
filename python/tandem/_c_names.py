"""What projects read of `torch._C` that Tandem's extension module does not define itself."""

from __future__ import annotations

from typing import Any

from tandem import _C


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
    "_TensorMeta": type(_C.Tensor),
    "_are_functorch_transforms_active": _are_functorch_transforms_active,
    "_get_tracing_state": _get_tracing_state,
    "_log_api_usage_once": _log_api_usage_once,
}
NN_NAMES = {"_parse_to": _parse_to}
_C.__dict__.update(NAMES)
_C._nn.__dict__.update(NN_NAMES)
