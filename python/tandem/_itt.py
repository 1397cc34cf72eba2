"""Marks for Intel's profiler, `torch.profiler.itt`: there is none, so that they do nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def is_available() -> bool:
    """False: no marks are made."""
    return False


def mark(msg: str) -> None:
    """Marks nothing."""


def range_push(msg: str) -> None:
    """Begins nothing."""


def range_pop() -> None:
    """Ends nothing."""


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:  # noqa: A001
    """A block without marks."""
    yield
