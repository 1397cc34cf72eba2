"""What `torch.jit.annotations` has."""

from __future__ import annotations

from typing import Any, TypeVar
from typing import Dict as Dict  # noqa: UP035
from typing import List as List  # noqa: UP035
from typing import Optional as Optional
from typing import Tuple as Tuple  # noqa: UP035
from typing import Union as Union

T = TypeVar("T")


def _copy_to_script_wrapper(fn: T) -> T:
    """The function itself."""
    return fn


class _Broadcasting:
    """Annotations of arguments that are one value or a list: any value fits."""

    def __getitem__(self, types: Any) -> Any:
        return Any


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = _Broadcasting()
BroadcastingList5 = BroadcastingList6 = _Broadcasting()
