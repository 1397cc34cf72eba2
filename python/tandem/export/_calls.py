"""Calls of a saved program's entry from Python: how arguments become the entry's tensors and numbers, and its results
what the function returned."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from tandem import Tensor
from tandem.export import _tree
from tandem.export._sizes import formula


def _checked(described: dict[str, Any]) -> dict[str, Any]:
    """What a file says of how arguments and results are put together; ValueError where that contradicts the rest."""
    try:
        tree = json.loads(described["tree"])
        inputs = tree["inputs"]
        (_, _, positional), (_, keywords, _) = inputs[2]
        for kind, structure, leaves, tensors in (
            ("arguments", inputs, tree["arguments"], described["arguments"]),
            ("results", tree["outputs"], tree["results"], described["results"]),
        ):
            counts = {"tensor": len(tensors), "number": len(described["numbers"] if kind == "arguments" else tensors)}
            good = _tree.leaves_of(structure) == len(leaves) and all(
                what == "value" or (type(which) is int and 0 <= which < counts[what]) for what, which in leaves
            )
            if kind == "arguments":
                good = good and sorted(w for what, w in leaves if what == "tensor") == list(range(len(tensors)))
            if not good:
                raise ValueError(kind)
        names = tree.get("parameters", [])
        if not all(isinstance(name, str) for name in [*names, *keywords]) or not isinstance(positional, list):
            raise ValueError("names")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"a saved program contradicts itself: how arguments and results of `{described['name']}` are put together"
        ) from error
    return dict(tree)


# What each kind of leaf of a result is made of: the tensors that a run gave, and what the file says.
_GIVEN: dict[str, Callable[[list[Tensor], Any], Any]] = {
    "tensor": lambda results, which: results[which],
    "number": lambda results, which: results[which].item(),
    "value": lambda results, value: value,
}


class Calls:
    """How Python's arguments become those of an entry, and its results Python's."""

    def __init__(self, number: int, described: dict[str, Any]) -> None:
        self.number = number
        self.name: str = described["name"]
        self.arguments: list[tuple[str, Any, Any, bool]] = described["arguments"]
        self.numbers: list[tuple[str, float, int]] = described["numbers"]
        self.results: list[tuple[str, Any, Any, bool]] = described["results"]
        self.explanation: str = described["explanation"]
        self.sizes: list[tuple[str, int, int, int]] = described["sizes"]
        self._argument_dims: list[tuple[int, int, int, int, int]] = described["bound"]
        self._result_dims: list[tuple[int, int, int, int, int]] = described["given"]
        tree = _checked(described)
        # Of the function, those that may be given by position or by name; files of before 0.2 do not tell.
        self._parameters: list[str] = tree.get("parameters", [])
        self._inputs = tree["inputs"]
        self._described = tree["arguments"]
        self._outputs = tree["outputs"]
        self._given = tree["results"]
        self._keywords: list[str] = self._inputs[2][1][1]

    def shapes(self) -> tuple[list[str], list[str]]:
        """`[batch, 784]`: the shapes of arguments and results, with the names of sizes that calls choose. A dim of a
        result that follows from them in another way is `?`."""
        arguments = [[str(size) for size in shape] for _, _, shape, _ in self.arguments]
        results = [["?" if self.sizes else str(size) for size in shape] for _, _, shape, _ in self.results]
        for shapes, dims in ((arguments, self._argument_dims), (results, self._result_dims)):
            for number, d, size, factor, add in dims:
                shapes[number][d] = str(add) if factor == 0 else formula(self.sizes[size][0], factor, add)
        return [f"[{', '.join(dims)}]" for dims in arguments], [f"[{', '.join(dims)}]" for dims in results]

    def sizes_of(self, shapes: list[Any]) -> dict[str, int]:
        """The sizes that arguments of these shapes have, where they have one; else the example's."""
        found = {name: example for name, _, _, example in self.sizes}
        for number, d, size, factor, add in self._argument_dims:
            if shapes[number] is not None:
                found[self.sizes[size][0]] = (shapes[number][d] - add) // factor
        return found

    def shape_for(self, argument: int, sizes: dict[str, int]) -> tuple[int, ...]:
        """The shape of an argument for these sizes."""
        shape = list(self.arguments[argument][2])
        for number, d, size, factor, add in self._argument_dims:
            if number == argument:
                shape[d] = factor * sizes[self.sizes[size][0]] + add
        return tuple(shape)

    def shape_like(self, argument: int, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of an argument with the dims of another one where calls choose them."""
        own = list(self.arguments[argument][2])
        for number, d, _, _, _ in self._argument_dims:
            if number == argument and len(shape) == len(own):
                own[d] = shape[d]
        return tuple(own)

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Tensor], list[float]]:
        """The tensors of a call, and all numbers of the entry: those of the call, and the saved ones of the rest."""
        args, kwargs = self._arranged(args, kwargs)
        structure, leaves = _tree.flatten((args, kwargs))
        if structure != self._inputs:
            self._refuse(structure)
        tensors: list[Any] = [None] * len(self.arguments)
        numbers = [value for _, value, _ in self.numbers]
        for (kind, what), (_, leaf) in zip(self._described, leaves, strict=True):
            if kind == "tensor":
                if not isinstance(leaf, Tensor):
                    raise TypeError(f"{self.name}: expected {self.arguments[what][0]} to be a Tensor, got {leaf!r}")
                tensors[what] = leaf
            elif kind == "number":
                if not isinstance(leaf, (int, float)):
                    raise TypeError(f"{self.name}: expected {self.numbers[what][0]} to be a number, got {leaf!r}")
                numbers[what] = float(leaf)
            elif type(leaf) is not type(what) or leaf != what:
                raise ValueError(f"{self.name}: the program was traced with {what!r} where the call has {leaf!r}")
        return tensors, numbers

    def _arranged(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments, by position and by name as the function was traced with them."""
        count = len(self._inputs[2][0][2])
        if len(args) == count and kwargs.keys() == set(self._keywords):
            return args, {name: kwargs[name] for name in self._keywords}
        own = self._parameters
        places = [own[k] if k < len(own) else f"arg{k}" for k in range(count)]
        taken = f"{self.name} takes ({', '.join([*places, *(f'{name}=' for name in self._keywords)])})"
        given = dict(zip([*places, *(name for name in own[count:] if name in self._keywords)], args, strict=False))
        if len(args) > len(given):
            raise TypeError(f"{taken}, and the call gives {len(args)} arguments by position")
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"{taken}, and the call gives {name} twice")
            if name not in places and name not in self._keywords:
                raise TypeError(f"{taken}, and no {name}")
            given[name] = value
        missing = [name for name in [*places, *self._keywords] if name not in given]
        if missing:
            raise TypeError(f"{taken}, and the call lacks {', '.join(missing)}")
        return tuple([given[name] for name in places]), {name: given[name] for name in self._keywords}

    def _refuse(self, structure: Any) -> NoReturn:
        """TypeError for arguments that are put together in another way, of which there are as many."""
        own = self._parameters
        names = [own[k] if k < len(own) else f"arg{k}" for k in range(len(self._inputs[2][0][2]))] + self._keywords
        expected, got = [[*of[2][0][2], *of[2][1][2]] for of in (self._inputs, structure)]
        for name, one, other in zip(names, expected, got, strict=True):
            if one != other:
                raise TypeError(f"{self.name}: expected {name} to be {_tree.shown(one)}, got {_tree.shown(other)}")
        raise TypeError(f"{self.name}: expected {_tree.shown(self._inputs)}, got {_tree.shown(structure)}")

    def build(self, results: list[Tensor]) -> Any:
        """What the function returned, around these tensors."""
        leaves = (_GIVEN[kind](results, what) for kind, what in self._given)
        return _tree.unflatten(self._outputs, leaves)
