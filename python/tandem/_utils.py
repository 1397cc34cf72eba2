"""Helpers that other projects import from PyTorch's `torch._utils`."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable
from typing import Any, NoReturn

from tandem import _C

Tensor = _C.Tensor


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """The elements of all tensors, one after the other."""
    return _C.cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Windows on `flat` of the shapes of `tensors`, one after the other."""
    tensors = list(tensors)
    pieces = flat[: sum(t.numel() for t in tensors)].split([t.numel() for t in tensors])
    return tuple(piece.view(t.shape) for piece, t in zip(pieces, tensors, strict=True))


def _element_size(dtype: _C.dtype) -> int:
    """The bytes of one element."""
    return dtype.itemsize


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device: -1 of the CPU, which is an error unless `allow_cpu`; an int itself."""
    if isinstance(device, int):
        return device
    if device is None and not optional:
        raise ValueError("Expected a torch.device with a specified index or an integer, but got:None")
    if device is not None and not allow_cpu:
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    return -1


def cpu_count() -> int | None:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


class KeyErrorMessage(str):  # noqa: SLOT000
    """A text that KeyError shows with its lines."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with the text of its traceback, to be raised in another thread or process."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, error, frames = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.where = where
        self.exc_msg = "".join(traceback.format_exception(kind, error, frames))

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type that has both texts; RuntimeError where it takes no text."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error
