"""`tandem.ops.aten`: PyTorch's operations by the names that they have below its functions, which are Tandem's functions
and methods of the name. Each overload is an object of its own, and takes what the function takes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tandem
from tandem._aten_backwards import NAMES as BACKWARDS
from tandem._aten_names import NAMES, of_prefix
from tandem._C import Tensor
from tandem._stand_in import lacking_function

_LACKING = {name: lacking_function(f"ops.aten.{name}") for name in ("_sparse_addmm", "_sparse_mm_reduce_impl")}


class Overload:
    """One form of an operation, as `tandem.ops.aten.add.Tensor`.

    >>> import tandem
    >>> tandem.ops.aten.add.Tensor(tandem.ones(2), tandem.ones(2))
    tensor([2., 2.])
    """

    namespace = "aten"
    tags: Sequence[Any] = ()  # of `tandem.Tag`

    def __init__(self, name: str, function: Callable[..., Any]):
        self.__name__ = name
        self._function = function

    @property
    def overloadpacket(self) -> Any:
        """All forms of the operation."""
        return operation(self.__name__.partition(".")[0])

    @property
    def _overloadname(self) -> str:
        return self.__name__.partition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    # There is one object of each: copies and pickles give it.
    def __reduce__(self) -> Any:
        name, _, overload = self.__name__.partition(".")
        return getattr, (operation(name), overload)

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='aten.{self.__name__.partition('.')[0]}', overload='{self.__name__.partition('.')[2]}')>"
        )

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def name(self) -> str:
        """The name with its namespace.

        >>> import tandem
        >>> tandem.ops.aten.add.Tensor.name()
        'aten::add.Tensor'
        """
        return f"aten::{self.__name__}".removesuffix(".default")


class Packet(Overload):
    """All forms of an operation, as `tandem.ops.aten.add`.

    >>> import tandem
    >>> tandem.ops.aten.mm(tandem.ones(1, 2), tandem.ones(2, 1))
    tensor([[2.]])
    """

    def __init__(self, name: str, function: Callable[..., Any]):
        super().__init__(name, function)
        self._overloads: dict[str, Overload] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"there is no overload of that name: {name}", name=name, obj=self)
        found = self._overloads[name] = Overload(f"{self.__name__}.{name}", self._function)
        setattr(self, name, found)
        return found

    @property
    def _qualified_op_name(self) -> str:
        return self.name()

    def overloads(self) -> list[str]:
        """The names of the forms that were asked for, and 'default': any name is that of one.

        >>> import tandem
        >>> tandem.ops.aten.mm.overloads()
        ['default']
        """
        return list(dict.fromkeys([*self._overloads, "default"]))

    def __reduce__(self) -> Any:
        return operation, (self.__name__,)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"

    def name(self) -> str:
        """The name with its namespace.

        >>> import tandem
        >>> tandem.ops.aten.add.name()
        'aten::add'
        """
        return f"aten::{self.__name__}"


@functools.cache
def operation(name: str) -> Packet | None:
    """The operation of a name; None where Tandem has no function or method of it."""
    function = NAMES.get(name) or BACKWARDS.get(name)
    if function is None and not name.startswith("__"):
        function = getattr(tandem._C, name, None) or getattr(Tensor, name, None) or getattr(tandem, name, None)
        function = function or of_prefix(name) or _LACKING.get(name)
    return Packet(name, function) if callable(function) else None
