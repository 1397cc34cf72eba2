"""Structures of containers as JSON, in the form that PyTorch writes and reads."""

from __future__ import annotations

import enum
import importlib
import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tandem.utils._pytree import TreeSpec

_PROTOCOL = 1
_NAMED_TUPLE = "collections.namedtuple"


class _Form(NamedTuple):
    """How a class is written: its name, and what stands for a context; None where JSON of the context itself does."""

    name: str
    to_text: Callable[[Any], Any] | None = None
    of_text: Callable[[Any], Any] | None = None


_forms: dict[Any, _Form] = {}
_classes: dict[str, Any] = {}
# Classes of named tuples, by the name that stands for each.
_tuples: dict[str, Any] = {}


class _Encoder(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        return o.value if isinstance(o, enum.Enum) else super().default(o)


def write_as(
    cls: Any,
    name: str | None,
    to_text: Callable[[Any], Any] | None = None,
    of_text: Callable[[Any], Any] | None = None,
) -> None:
    """Let structures with containers of `cls` be written, under `name`; under none (None) no longer."""
    if (to_text is None) != (of_text is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be given, or neither of them."
        )
    if (before := _forms.pop(cls, None)) is not None:
        _classes.pop(before.name, None)
    if name is not None:
        _forms[cls] = _Form(name, to_text, of_text)
        _classes[name] = cls


def write_tuple_as(cls: Any, name: str) -> None:
    """Let structures with named tuples of `cls` be written, under `name`."""
    _tuples[name] = cls


def _factory_text(context: Any) -> Any:
    factory, keys = context
    return {
        "default_factory_module": getattr(factory, "__module__", None),
        "default_factory_name": getattr(factory, "__qualname__", None),
        "dict_context": keys,
    }


def _factory_of(text: Any) -> Any:
    module, name = text["default_factory_module"], text["default_factory_name"]
    factory = None if module is None else getattr(importlib.import_module(module), name)
    return [factory, text["dict_context"]]


for _cls, _name in ((tuple, "builtins.tuple"), (list, "builtins.list"), (dict, "builtins.dict")):
    write_as(_cls, _name)
write_as(OrderedDict, "collections.OrderedDict")
write_as(deque, "collections.deque")
write_as(defaultdict, "collections.defaultdict", _factory_text, _factory_of)


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON.

    Raises:
        TypeError: it is no structure, or a context is nothing that JSON has.
        NotImplementedError: a class of containers was registered without a name to write it by.
        ValueError: a protocol other than 1.
    """
    from tandem.utils._pytree import TreeSpec

    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"treespec_dumps(): expected a TreeSpec, got {type(treespec).__name__}")
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")

    def plain(spec: TreeSpec) -> dict[str, Any]:
        if spec.is_leaf():
            return {"type": None, "context": None, "children_spec": []}
        name, context = _written(spec)
        return {"type": name, "context": context, "children_spec": [plain(child) for child in spec.children]}

    return json.dumps([_PROTOCOL, plain(treespec)], cls=_Encoder)


def _written(spec: TreeSpec) -> tuple[str, Any]:
    """The name of the container's class, and what stands for its context."""
    if (form := _forms.get(spec.type)) is not None:
        return form.name, form.to_text(spec.context) if form.to_text else json.dumps(spec.context, cls=_Encoder)
    for name, cls in _tuples.items():
        if cls is spec.type:
            return _NAMED_TUPLE, name
    if issubclass(spec.type, tuple):
        raise NotImplementedError(
            f"treespec_dumps(): no name to write the named tuple {spec.type.__name__} by. Please register using "
            "`_register_namedtuple`."
        )
    raise NotImplementedError(
        f"No registered serialization name for {spec.type} found. Give `register_pytree_node` a "
        "`serialized_type_name`, which structures are written by."
    )


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote, here or in PyTorch; ValueError for another text.

    NotImplementedError if a class in it was registered under no such name.
    """
    protocol, written = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return _made(written)


def _made(written: dict[str, Any]) -> TreeSpec:
    from tandem.utils._pytree import LeafSpec, TreeSpec

    name, context = written["type"], written["context"]
    if name is None:
        return LeafSpec()
    children = tuple(_made(child) for child in written["children_spec"])
    if name == _NAMED_TUPLE:
        if context not in _tuples:
            raise NotImplementedError(f"treespec_loads(): no named tuple was registered under the name {context}")
        return TreeSpec(_tuples[context], None, children)
    if name not in _classes:
        raise NotImplementedError(f"treespec_loads(): no class of containers was registered under the name {name}")
    of_text = _forms[_classes[name]].of_text or json.loads
    return TreeSpec(_classes[name], of_text(context), children)
