"""What projects read of `torch._C` that Tandem's extension module does not define itself."""

from __future__ import annotations

from tandem import _C


def _get_tracing_state() -> None:
    """None: no function is traced by TorchScript."""


def _are_functorch_transforms_active() -> bool:
    """Is this called inside `vmap`?"""
    return bool(_C._active_axes())


NAMES = {
    "_TensorMeta": type(_C.Tensor),
    "_are_functorch_transforms_active": _are_functorch_transforms_active,
    "_get_tracing_state": _get_tracing_state,
}
_C.__dict__.update(NAMES)
