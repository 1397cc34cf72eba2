"""`tandem.ops.aten`: PyTorch's operations by the names that they have below its functions, which are Tandem's functions
and methods of the name. Each overload is an object of its own, and takes what the function takes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tandem
from tandem._C import Tensor
from tandem._stand_in import lacking_function


def _slice(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)]


def _index(input: Tensor, indices: list[Tensor | None]) -> Tensor:
    return input[tuple(slice(None) if i is None else i for i in indices)]


def _to_copy(input: Tensor, **kwargs: Any) -> Tensor:
    return input.to(**kwargs, copy=True)


_OWN: dict[str, Callable[..., Any]] = {
    "_to_copy": _to_copy,
    "_pin_memory": lambda input, device=None: input.pin_memory(),
    "alias": lambda input: input.view(input.shape),
    "index": _index,
    "slice": _slice,
    **{name: lacking_function(f"ops.aten.{name}") for name in ("_sparse_addmm", "_sparse_mm_reduce_impl")},
}


class Overload:
    """One form of an operation, as `tandem.ops.aten.add.Tensor`.

    >>> import tandem
    >>> tandem.ops.aten.add.Tensor(tandem.ones(2), tandem.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, name: str, function: Callable[..., Any]):
        self.__name__ = name
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='aten.{self.__name__.partition('.')[0]}', overload='{self.__name__.partition('.')[2]}')>"
        )

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

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"there is no overload {name} of aten::{self.__name__}", name=name, obj=self)
        found = Overload(f"{self.__name__}.{name}", self._function)
        setattr(self, name, found)
        return found

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
    function = _OWN.get(name) or getattr(tandem._C, name, None) or getattr(Tensor, name, None)
    return Packet(name, function) if callable(function) and not name.startswith("__") else None
