"""What `torch.jit.annotations` has."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


class _Broadcasting:
    """Annotations of arguments that are one value or a list: any value fits."""

    def __getitem__(self, types: Any) -> Any:
        return Any


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = _Broadcasting()
BroadcastingList5 = BroadcastingList6 = _Broadcasting()
