"""Structures of containers as JSON: what a saved program says of how arguments and results are put together.

A leaf is `null`; a container is `[kind, details, [its items]]`, where details are the keys of a dict, or the name and
the fields of a named tuple. `{"a": x, "b": (y,)}` is `["dict", ["a", "b"], [null, ["tuple", null, [null]]]]`.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from typing import Any

import tandem
from tandem import _C

Structure = Any
Path = tuple[Any, ...]

_DICTS: dict[str, type] = {"dict": dict, "OrderedDict": OrderedDict}


def _named(value: Any) -> list[Any]:
    _, (name, fields, _) = value.__reduce__()
    return [name, list(fields)]


def _parts(value: Any) -> tuple[str, Any, list[Any], list[Any]] | None:
    """Kind, details, keys and items of a container; None for a leaf."""
    kind = type(value)
    if kind is list or kind is tuple or isinstance(value, tandem.Size):
        name = "list" if kind is list else "tuple"
        return name, None, list(range(len(value))), list(value)
    if kind.__name__ in _DICTS and kind is _DICTS[kind.__name__]:
        return kind.__name__, list(value), list(value), list(value.values())
    if isinstance(value, tuple) and kind.__module__ == "tandem.return_types":
        return "result", _named(value), list(range(len(value))), list(value)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return "named", [kind.__name__, list(kind._fields)], list(kind._fields), list(value)
    return None


def _walk(value: Any, path: Path, leaves: list[tuple[Path, Any]]) -> Structure:
    parts = _parts(value)
    if parts is None:
        leaves.append((path, value))
        return None
    kind, details, keys, items = parts
    for key in details if kind in _DICTS else ():
        if not isinstance(key, (str, int)) or isinstance(key, bool):
            raise TypeError(f"a dict with the key {key!r}: keys must be strings or integers")
    return [kind, details, [_walk(item, (*path, key), leaves) for key, item in zip(keys, items, strict=True)]]


def shown(structure: Structure) -> str:
    """`(_, {'a': _})`: a structure, for errors."""
    if structure is None:
        return "no container"
    kind, details, children = structure
    items = ["_" if child is None else shown(child) for child in children]
    if kind == "list":
        return f"[{', '.join(items)}]"
    if kind in _DICTS:
        return f"{{{', '.join(f'{key!r}: {item}' for key, item in zip(details, items, strict=True))}}}"
    name = details[0] if kind in ("named", "result") else ""
    return f"{name}({', '.join(items)}{',' if len(items) == 1 else ''})"


def leaves_of(structure: Structure) -> int:
    """How many leaves it has; ValueError or TypeError where it is none."""
    if structure is None:
        return 1
    kind, details, children = structure
    expected = {"list": None, "tuple": None, "dict": details, "OrderedDict": details}
    fields = details[1] if kind in ("named", "result") else expected[kind]
    if fields is not None and len(fields) != len(children):
        raise ValueError(f"{len(fields)} keys of {len(children)} items")
    if kind in ("named", "result") and not all(isinstance(name, str) for name in [details[0], *fields]):
        raise TypeError("a name that is none")
    return sum(leaves_of(child) for child in children)


def flatten(value: Any) -> tuple[Structure, list[tuple[Path, Any]]]:
    """The structure, and the leaves with the keys that lead to each. TypeError for keys that JSON cannot keep."""
    leaves: list[tuple[Path, Any]] = []
    return _walk(value, (), leaves), leaves


def unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    """The container of this structure around the next leaves. A named tuple of a class of the program that saved it
    becomes one of a class with the same name and fields."""
    if structure is None:
        return next(leaves)
    kind, details, children = structure
    items = [unflatten(child, leaves) for child in children]
    if kind == "list":
        return items
    if kind in _DICTS:
        return _DICTS[kind](zip(details, items, strict=True))
    if kind == "result":
        return _C._named_result(details[0], tuple(details[1]), tuple(items))
    if kind == "named":
        return namedtuple(details[0], details[1])(*items)
    return tuple(items)
