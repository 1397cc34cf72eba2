"""Ranges that NVIDIA's profilers would show: accepted, and kept nowhere. `TANDEM_LOG=kernels` shows kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_depth = 0


def range_push(msg: str) -> int:
    """Begin a range; how many were open before."""
    global _depth
    _depth += 1
    return _depth - 1


def range_pop() -> int:
    """End the innermost range; how many are left."""
    global _depth
    _depth -= 1
    return _depth


def range_start(msg: str) -> int:
    """Begin a range that may end anywhere; its number."""
    return 0


def range_end(range_id: int) -> None:
    """End such a range."""


def mark(msg: str) -> None:
    """An event without length."""


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:  # noqa: A001
    """A `with` block, or a decorator, that is a range; `msg` is formatted with what else is given.

    >>> import tandem
    >>> with tandem.cuda.nvtx.range("step {}", 3):
    ...     pass
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
