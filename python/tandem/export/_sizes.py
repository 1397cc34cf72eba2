"""Sizes that calls of a saved program choose: `Dim`, and what `dynamic_shapes` says of a function's arguments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tandem import Tensor

#: A function is traced for every combination of its sizes, of which there may be so many.
MOST_COMBINATIONS = 65536


class _Hint:
    """`Dim.STATIC` and the like, and `Dim.DYNAMIC(min=, max=)`."""

    def __init__(self, name: str, min: int | None = None, max: int | None = None) -> None:
        self.name = name
        self.min, self.max = min, max

    def __call__(self, min: int | None = None, max: int | None = None) -> _Hint:
        if self.name == "STATIC":
            raise TypeError("Dim.STATIC has no range")
        return _Hint(self.name, min, max)

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


class Dim:
    """A size that calls of a saved program choose, in `dynamic_shapes` of `export`: one name stands for one size
    wherever it is.

    Args:
        name: an identifier, which errors and descriptions use.
        min, max: the least and the largest value, both included; from 1 to 1024 where nothing is said. The function is
            traced for every value between them, so that a range is best no wider than what is needed.

    Sums, differences and products with integers are sizes that follow from it: `Dim("pairs", max=8) * 2`.
    `Dim.STATIC` is a size that stays the example's, `Dim.DYNAMIC` one of its own, to
    which a range may be given: `Dim.DYNAMIC(max=8)`.

    >>> import tandem
    >>> from tandem.export import Dim
    >>> batch = Dim("batch", min=1, max=8)
    >>> program = tandem.export.export(tandem.relu, (tandem.ones(2, 3),), dynamic_shapes=({0: batch},))
    >>> program(tandem.ones(5, 3)).shape
    tandem.Size([5, 3])
    >>> program(tandem.ones(9, 3))
    Traceback (most recent call last):
        ...
    ValueError: forward: input's dim 0 (batch) is 9, and must be from 1 to 8
    """

    STATIC: ClassVar[_Hint] = _Hint("STATIC")
    DYNAMIC: ClassVar[_Hint] = _Hint("DYNAMIC")
    AUTO: ClassVar[_Hint] = _Hint("AUTO")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"Dim: {name!r} is no identifier")
        self.__name__ = name
        self.min = 1 if min is None else int(min)
        self.max = 1024 if max is None else int(max)
        if not 0 <= self.min <= self.max:
            raise ValueError(f"Dim: {name}: min={self.min} and max={self.max} leave no size")

    def __add__(self, other: int) -> _Derived:
        return _Derived(self, 1, 0) + other

    def __sub__(self, other: int) -> _Derived:
        return _Derived(self, 1, 0) - other

    def __mul__(self, other: int) -> _Derived:
        return _Derived(self, 1, 0) * other

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"


@dataclass(frozen=True)
class _Derived:
    """factor * dim + add."""

    dim: Dim
    factor: int
    add: int

    @staticmethod
    def _checked(value: Any, what: str) -> int:
        if type(value) is not int:
            raise NotImplementedError(f"Dim: {what} {value!r}: a size may follow from another one by integers alone")
        return value

    def __add__(self, other: int) -> _Derived:
        return _Derived(self.dim, self.factor, self.add + self._checked(other, "+"))

    def __sub__(self, other: int) -> _Derived:
        return self + -self._checked(other, "-")

    def __mul__(self, other: int) -> _Derived:
        if self._checked(other, "*") <= 0:
            raise ValueError(f"Dim: {self.dim.__name__} * {other}: the factor must be positive")
        return _Derived(self.dim, self.factor * other, self.add * other)

    __radd__ = __add__
    __rmul__ = __mul__


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several sizes with one range.

    >>> from tandem.export import dims
    >>> dims("rows", "columns", max=4)
    (Dim('rows', min=1, max=4), Dim('columns', min=1, max=4))
    """
    return tuple([Dim(name, min=min, max=max) for name in names])


def formula(name: str, factor: int, add: int) -> str:
    """`2*batch+1`: a dim in terms of its size."""
    product = name if factor == 1 else f"{factor}*{name}"
    return product if add == 0 else f"{product}{add:+d}"


class Sizes:
    """The sizes of an entry, and the dims of its arguments that they decide.

    Args:
        entry: its name, for errors.
        spec: `dynamic_shapes`: by argument, a dict or a sequence by dim of `Dim`s.
        args, kwargs: the example's.
        names: of the function's parameters.
        numbers: of each tensor by id which argument of the entry it is.
    """

    def __init__(
        self,
        entry: str,
        spec: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        names: Sequence[str],
        numbers: Mapping[int, int],
    ) -> None:
        self._entry = entry
        self._numbers = numbers
        self._dims: dict[str, Dim] = {}
        self._examples: dict[str, tuple[int, str]] = {}  # and where it was seen
        self.bound: list[tuple[int, int, int, int, int]] = []
        parameters = {names[i] if i < len(names) else f"arg{i}": value for i, value in enumerate(args)}
        parameters.update(kwargs)
        if isinstance(spec, Mapping):
            for name in spec:
                if name not in parameters:
                    self._refuse(f"{name!r} is no argument; they are {', '.join(parameters)}")
            items = [(name, value, spec.get(name)) for name, value in parameters.items()]
        elif isinstance(spec, Sequence):
            if len(spec) != len(parameters):
                self._refuse(f"it is for {len(spec)} arguments, and there are {len(parameters)}")
            items = [(name, value, spec[i]) for i, (name, value) in enumerate(parameters.items())]
        else:
            self._refuse(f"expected a dict or a tuple, got {type(spec).__name__}")
        for name, value, own in items:
            self._read(name, value, own)
        combinations = math.prod(dim.max - dim.min + 1 for dim in self._dims.values())
        if combinations > MOST_COMBINATIONS:
            ranges = ", ".join(f"{dim.__name__} from {dim.min} to {dim.max}" for dim in self._dims.values())
            self._refuse(
                f"{ranges} are {combinations} combinations, and may be {MOST_COMBINATIONS}: narrow the ranges, or step "
                "through them (8 * Dim)"
            )

    def _refuse(self, why: str) -> Any:
        raise ValueError(f"export: {self._entry}: dynamic_shapes: {why}")

    def _read(self, path: str, value: Any, spec: Any) -> None:
        if spec is None:
            return
        if isinstance(value, Tensor):
            self._tensor(path, value, spec)
        elif isinstance(value, Mapping) and isinstance(spec, Mapping):
            for key in spec:
                if key not in value:
                    self._refuse(f"{path} has no {key!r}")
            for key, item in value.items():
                self._read(f"{path}.{key}", item, spec.get(key))
        elif isinstance(value, Sequence) and isinstance(spec, Sequence) and not isinstance(value, str):
            if len(value) != len(spec):
                self._refuse(f"{path} has {len(value)} items, not {len(spec)}")
            for i, (item, own) in enumerate(zip(value, spec, strict=True)):
                self._read(f"{path}.{i}", item, own)
        else:
            self._refuse(f"{path} is a {type(value).__name__}, of which {spec!r} says nothing")

    def _tensor(self, path: str, value: Tensor, spec: Any) -> None:
        rank = len(value.shape)
        if isinstance(spec, Mapping):
            for d in spec:
                if type(d) is not int or not 0 <= d < rank:
                    self._refuse(f"{path} has {rank} dims, and no dim {d!r}")
            entries = sorted(spec.items())
        elif isinstance(spec, Sequence) and not isinstance(spec, str):
            if len(spec) != rank:
                self._refuse(f"{path} has {rank} dims, not {len(spec)}")
            entries = list(enumerate(spec))
        else:
            self._refuse(f"{path}: expected a dict or a tuple by dim, got {spec!r}")
        for d, dim in entries:
            self._dim(path, value, d, dim)

    def _dim(self, path: str, value: Tensor, d: int, dim: Any) -> None:
        given = int(value.shape[d])
        where = f"{path}'s dim {d}"
        hint = dim.name if isinstance(dim, _Hint) else ""
        if dim is None or hint == "STATIC":
            return
        if type(dim) is int:
            if dim != given:
                self._refuse(f"{where} is {given} in the example, not {dim}")
            return
        if hint == "AUTO":
            raise NotImplementedError(
                f"export: {self._entry}: dynamic_shapes: {where}: Dim.AUTO; say Dim('name', min=, max=) or Dim.STATIC"
            )
        if hint == "DYNAMIC":
            dim = Dim(f"{path.replace('.', '_')}_{d}", min=dim.min, max=dim.max)
        derived = _Derived(dim, 1, 0) if isinstance(dim, Dim) else dim
        if not isinstance(derived, _Derived):
            self._refuse(f"{where}: expected a Dim, got {dim!r}")
        name = derived.dim.__name__
        known = self._dims.setdefault(name, derived.dim)
        if (known.min, known.max) != (derived.dim.min, derived.dim.max):
            self._refuse(f"{name} has two ranges: {known} and {derived.dim}")
        size, rest = divmod(given - derived.add, derived.factor)
        text = formula(name, derived.factor, derived.add)
        if rest or not known.min <= size <= known.max:
            self._refuse(f"{where} is {given} in the example, which is not {text} for a {name} from "
                         f"{known.min} to {known.max}")  # fmt: skip
        if derived.factor * known.min + derived.add < 0:
            self._refuse(
                f"{where} would be {derived.factor * known.min + derived.add}: {text} with {name} = {known.min}"
            )
        example, first = self._examples.setdefault(name, (size, where))
        if example != size:
            self._refuse(f"{name} is {example} by {first}, and {size} by {where} ({text})")
        number = list(self._dims).index(name)
        self.bound.append((self._numbers[id(value)], d, number, derived.factor, derived.add))

    @property
    def described(self) -> list[tuple[str, int, int, int]]:
        """(name, least, most, the example's) of each."""
        return [(name, dim.min, dim.max, self._examples[name][0]) for name, dim in self._dims.items()]

    def combinations(self) -> Iterator[tuple[int, ...]]:
        """All of them, the last size running fastest."""
        import itertools

        return itertools.product(*[range(dim.min, dim.max + 1) for dim in self._dims.values()])

    def named(self, combination: Sequence[int]) -> str:
        """`batch = 2, length = 7`."""
        return ", ".join(f"{name} = {size}" for name, size in zip(self._dims, combination, strict=True))

    def shape(self, argument: int, shape: Sequence[int], combination: Sequence[int]) -> list[int]:
        """The shape of an argument for these sizes; `shape` is the example's."""
        out = list(shape)
        for number, d, size, factor, add in self.bound:
            if number == argument:
                out[d] = factor * combination[size] + add
        return out
