"""What PyTorch's `torch.nn._reduction` has: the reductions of losses by number, and from two older flags."""

from __future__ import annotations

from tandem.nn._loss import _reduction

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction; ValueError for another text."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the flags of older releases mean, each True where it is None."""
    if emit_warning and (size_average is not None or reduce is not None):
        return _reduction(size_average, reduce, "mean")
    return "none" if reduce is False else "sum" if size_average is False else "mean"


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of `legacy_get_string`."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
