"""What projects read of `torch.testing._comparison`: the tolerances of a comparison."""

from __future__ import annotations

from typing import Any

from tandem import _C
from tandem.testing import TOLERANCES, assert_allclose, assert_close, larger_tolerances, need_both

__all__ = ["assert_allclose", "assert_close", "default_tolerances", "get_tolerances"]


def default_tolerances(*inputs: Any, dtype_precisions: dict[Any, tuple[float, float]] | None = None) -> Any:
    """(rtol, atol) of a comparison of tensors, or dtypes: the larger ones, as in `assert_close`."""
    for x in inputs:
        if not isinstance(x, (_C.Tensor, _C.dtype)):
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(x)} instead.")
    dtypes = [x.dtype if isinstance(x, _C.Tensor) else x for x in inputs]
    return larger_tolerances(dtypes, dtype_precisions or TOLERANCES)


def get_tolerances(*inputs: Any, rtol: float | None, atol: float | None, id: tuple[Any, ...] = ()) -> Any:
    """`rtol` and `atol`, or `default_tolerances` without both; ValueError for one of them."""
    need_both(rtol, atol)
    return default_tolerances(*inputs) if rtol is None else (rtol, atol)
