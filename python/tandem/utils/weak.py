"""`tandem.utils.weak`: dictionaries whose keys are objects, not what they equal, and do not keep them alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from tandem import _C

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that equals those of the same object, and hashes as its `id`.

    >>> import tandem
    >>> x = tandem.ones(2)
    >>> tandem.utils.weak.WeakIdRef(x) == tandem.utils.weak.WeakIdRef(x)
    True
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], None] | None = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]  # it takes what __new__ takes

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        # One object may have gone and another be at its place: then they are equal if they are one reference.
        a, b = self(), other() if isinstance(other, WeakIdRef) else None
        return a is b if a is not None and b is not None else self is other

    def __ne__(self, other: object) -> bool:
        return not self == other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by the identity of its keys, each of which leaves it when it is dropped.

    >>> import tandem
    >>> x, y = tandem.ones(2), tandem.ones(2)
    >>> d = tandem.utils.weak.WeakIdKeyDictionary({x: 1})
    >>> x in d, y in d, d[x]
    (True, False, 1)
    >>> del x
    >>> len(d)
    0
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: Any = WeakIdRef) -> None:  # noqa: A002
        self.data: Any = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def forget(reference: Any) -> None:
            alive = own()
            if alive is not None:
                alive.data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            reference = self.ref_type(key)
        except TypeError:
            return False
        return reference in self.data

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def keyrefs(self) -> list[Any]:
        """The weak references to the keys."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Another one with the same keys and values."""
        return WeakIdKeyDictionary(self, self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        made = WeakIdKeyDictionary(ref_type=self.ref_type)
        made.update((key, deepcopy(value, memo)) for key, value in self.items())
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> WeakIdKeyDictionary:
        return WeakIdKeyDictionary(other, self.ref_type) | self

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: a call gives it, or None when it was dropped.

    >>> import tandem
    >>> x = tandem.ones(2)
    >>> reference = tandem.utils.weak.TensorWeakRef(x)
    >>> reference() is x
    True
    """

    def __init__(self, tensor: _C.Tensor) -> None:
        if not isinstance(tensor, _C.Tensor):
            raise AssertionError(f"expected a Tensor, got {type(tensor)}")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> _C.Tensor | None:
        return self.ref()
