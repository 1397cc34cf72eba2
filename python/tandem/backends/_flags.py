"""Flags of a module that other values stand for within a block."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def within(module: str, **new: Any) -> Iterator[None]:
    """Attributes of the module of a name have these values in the block."""
    owner = sys.modules[module]
    before = {name: getattr(owner, name) for name in new}
    for name, value in new.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)
