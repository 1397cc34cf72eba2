"""Where an item lies in its container: keys, and paths of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SequenceKey:
    """The place of an item in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The item of that place."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The key of an item in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The item of that key."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The name of a field."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The field of that name."""
        return getattr(obj, self.name)


def keystr(kp: Any) -> str:
    """A path of keys as one would write it behind the container."""
    return "".join(str(k) for k in kp)


def key_get(obj: Any, kp: Any) -> Any:
    """What lies in `obj` at the end of a path of keys."""
    for k in kp:
        obj = k.get(obj)
    return obj
