"""Batches in page-locked memory, from which copies to a GPU do not wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tandem import _C

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """`data`, its tensors pinned: dicts, lists, tuples and named tuples keep their kind, an object with a method
    `pin_memory` answers for itself, anything else stays.

    >>> import tandem
    >>> from tandem.utils.data.pinning import pin_memory
    >>> pin_memory({"x": [tandem.ones(2), "name"]})
    {'x': [tensor([1., 1.]), 'name']}
    """
    if isinstance(data, _C.Tensor):
        return data.pin_memory() if data.is_cpu else data
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        items = {key: pin_memory(value) for key, value in data.items()}
        try:
            return type(data)(items)  # type: ignore[call-arg]
        except TypeError:
            return items
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(pin_memory, data))
    if isinstance(data, Sequence):
        pinned = [pin_memory(item) for item in data]
        try:
            return type(data)(pinned)  # type: ignore[call-arg]
        except TypeError:
            return pinned
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    return data
