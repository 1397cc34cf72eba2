"""Lists and dicts in the arguments of nodes: a change of one would pass the graph's record of who uses what by."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args "
        "of a node, make a new copy of it and assign that to node.args or node.kwargs"
    )


class immutable_list(list[Any]):  # noqa: N801
    """A list that cannot be changed.

    >>> import tandem
    >>> tandem.fx.immutable_collections.immutable_list([1, 2])
    [1, 2]
    """

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (list(self),)


class immutable_dict(dict[Any, Any]):  # noqa: N801
    """A dict that cannot be changed.

    >>> import tandem
    >>> tandem.fx.immutable_collections.immutable_dict(a=1)
    {'a': 1}
    """

    clear = pop = popitem = setdefault = update = _refuse
    __delitem__ = __ior__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)
