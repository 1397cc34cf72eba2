"""Nested containers taken apart into a list of leaves, and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import UnionType
from typing import Any

from tandem.utils import _pytree_text
from tandem.utils._pytree_keys import GetAttrKey, MappingKey, SequenceKey, key_get, keystr
from tandem.utils._pytree_text import treespec_dumps, treespec_loads

__all__ = [
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "SequenceKey",
    "TreeSpec",
    "broadcast_prefix",
    "key_get",
    "keystr",
    "map_only",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a container: its type, what rebuilds it, and the structures of its items."""

    type: Any
    context: Any
    children: tuple[TreeSpec, ...]

    def __post_init__(self) -> None:
        # As PyTorch's are made: of a list, and of a named tuple by its class as the context.
        if type(self.children) is not tuple:
            object.__setattr__(self, "children", tuple(self.children))
        if self.type is namedtuple:
            object.__setattr__(self, "type", self.context)
            object.__setattr__(self, "context", None)

    def is_leaf(self) -> bool:
        """Is it the structure of a leaf?"""
        return self.type is None

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the items, as a list."""
        return list(self.children)

    @property
    def num_children(self) -> int:
        """How many items there are."""
        return len(self.children)

    @property
    def num_nodes(self) -> int:
        """How many containers and leaves there are."""
        return 1 + sum(c.num_nodes for c in self.children)

    def unflatten(self, leaves: Any) -> Any:
        """The container of this structure with these leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What lies in `tree` where this structure has leaves: leaves, or whole containers.

        ValueError where `tree` has another kind of container, or another number of items or other keys.
        """
        found: list[Any] = []
        _flatten_up_to(self, tree, found)
        return found

    @property
    def num_leaves(self) -> int:
        """How many leaves a container of this structure has."""
        return 1 if self.type is None else sum(c.num_leaves for c in self.children)

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        inner = ", ".join(map(repr, self.children))
        context = "" if self.context is None else f"{self.context}, "
        return f"TreeSpec({self.type.__name__}, {context}[{inner}])"


_LEAF = TreeSpec(None, None, ())


def same_structure(a: TreeSpec | None, b: TreeSpec | None) -> bool:
    """Is `a == b`? Item by item, as the watch of a compiled function's body understands it with every interpreter."""
    if a is None or b is None:
        return a is b
    if a.type is not b.type or len(a.children) != len(b.children) or a.context != b.context:
        return False
    return all(same_structure(x, y) for x, y in zip(a.children, b.children))


def LeafSpec() -> TreeSpec:
    """The structure of a leaf."""
    return _LEAF


BUILTIN_TYPES = frozenset({tuple, list, dict, OrderedDict, defaultdict, deque})
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})

# By type: (to items and context, from items and context).
_nodes: dict[type, tuple[Callable[[Any], tuple[Any, Any]], Callable[[Any, Any], Any]]] = {}


# By type: to pairs of key and item, and context.
_nodes_with_keys: dict[type, Callable[[Any], tuple[Any, Any]]] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Any, Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    **ignored: Any,
) -> None:
    """Let objects of `cls` be containers: `flatten_fn(x)` gives (items, context), `unflatten_fn(items, context)` x.

    Paths of leaves name the items by the keys that `flatten_with_keys_fn(x)`, pairs of key and item and the context,
    gives them; by their numbers where there is none. `treespec_dumps` writes the class as `serialized_type_name`, and
    of the context what `to_dumpable_context` makes of it, which `from_dumpable_context` turns back.

    ValueError for a class that is registered.
    """
    if cls in _nodes:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        flatten_with_keys_fn=flatten_with_keys_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
    )


def _private_register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Any, Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    **ignored: Any,
) -> None:
    """`register_pytree_node`, also in the place of what a class was registered with."""
    if cls not in BUILTIN_TYPES:
        _pytree_text.write_as(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)
    _nodes[cls] = flatten_fn, unflatten_fn
    _nodes_with_keys.pop(cls, None)
    if flatten_with_keys_fn is not None:
        _nodes_with_keys[cls] = flatten_with_keys_fn


_register_pytree_node = _private_register_pytree_node


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Have `treespec_dumps` write a class of named tuples, under a name."""
    _pytree_text.write_tuple_as(cls, serialized_type_name)


#: The containers by class.
SUPPORTED_NODES = _nodes


def register_dataclass(cls: Any, *, field_names: Any = None, drop_field_names: Any = None, **ignored: Any) -> None:
    """Let objects of a dataclass be containers of their fields (all, or those named)."""
    names = list(field_names) if field_names is not None else [f.name for f in fields(cls) if f.init]
    names = [name for name in names if name not in (drop_field_names or ())]
    register_pytree_node(
        cls, lambda x: ([getattr(x, n) for n in names], None), lambda items, _: cls(**dict(zip(names, items)))
    )


def register_constant(cls: type) -> None:
    """Let objects of `cls` be containers without items: parts of the structure."""
    register_pytree_node(cls, lambda x: ([], x), lambda _, x: x)


register_pytree_node(deque, lambda x: (list(x), x.maxlen), lambda items, most: deque(items, maxlen=most))
register_pytree_node(tuple, lambda x: (x, None), lambda items, _: tuple(items))
register_pytree_node(list, lambda x: (x, None), lambda items, _: list(items))
register_pytree_node(dict, lambda x: (list(x.values()), list(x)), lambda items, keys: dict(zip(keys, items)))
register_pytree_node(
    OrderedDict, lambda x: (list(x.values()), list(x)), lambda items, keys: OrderedDict(zip(keys, items))
)
register_pytree_node(
    defaultdict,
    lambda x: (list(x.values()), [x.default_factory, list(x)]),
    lambda items, context: defaultdict(context[0], zip(context[1], items)),
)


def _is_namedtuple(cls: type) -> bool:
    """A named tuple: Python's, or one of several results of an operation."""
    return issubclass(cls, tuple) and (hasattr(cls, "_fields") or hasattr(cls, "n_sequence_fields"))


def _rebuilt(cls: Any, items: list[Any]) -> Any:
    return cls(*items) if hasattr(cls, "_fields") else cls(items)


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of nested tuples, lists, dicts and named tuples, and their structure."""
    leaves: list[Any] = []

    def walk(x: Any) -> TreeSpec:
        cls = type(x)
        if is_leaf is not None and is_leaf(x):
            pass
        elif cls in _nodes:
            items, context = _nodes[cls][0](x)
            return TreeSpec(cls, context, tuple(walk(i) for i in items))
        elif _is_namedtuple(cls):
            return TreeSpec(cls, None, tuple(walk(i) for i in x))
        leaves.append(x)
        return _LEAF

    return leaves, walk(tree)


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """The container of this structure with these leaves; ValueError if there are more or fewer than it has."""
    leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
            f"holds {treespec.num_leaves} items ({treespec})."
        )
    items = iter(leaves)

    def build(spec: TreeSpec) -> Any:
        if spec.type is None:
            return next(items)
        children = [build(c) for c in spec.children]
        if spec.type in _nodes:
            return _nodes[spec.type][1](children, spec.context)
        return _rebuilt(spec.type, children)

    return build(treespec)


def _flatten_up_to(spec: TreeSpec, x: Any, found: list[Any]) -> None:
    if spec.type is None:
        found.append(x)
        return
    cls = type(x)
    # Dicts of either kind stand for each other.
    dicts = cls in STANDARD_DICT_TYPES and spec.type in STANDARD_DICT_TYPES
    if cls is not spec.type and not dicts:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {cls!r}.")
    items, context = _nodes[cls][0](x) if cls in _nodes else (x, None)
    items = list(items)
    if len(items) != len(spec.children):
        raise ValueError(f"Node arity mismatch; expected {len(spec.children)}, but got {len(items)}.")
    if dicts:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(keys) != set(x):
            raise ValueError(f"Node keys mismatch; expected {list(keys)}, but got {list(x)}.")
        items = [x[key] for key in keys]
    elif cls is not deque and context != spec.context:
        raise ValueError(
            f"Node context mismatch for node type {spec.type!r}; expected {spec.context!r}, but got {context!r}."
        )
    for child, item in zip(spec.children, items):
        _flatten_up_to(child, item, found)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves alone."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(fn: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`fn` of every leaf (and of what lies at its place in `rests`), in the same structure.

    ValueError where one of `rests` has other containers.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return tree_unflatten([fn(*x) for x in zip(leaves, *others)], spec)


def broadcast_prefix(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """The leaves of `prefix`, each repeated for all leaves of `spec` below it; None where `prefix` does not fit."""
    out: list[Any] = []

    def walk(p: Any, s: TreeSpec) -> bool:
        cls = type(p)
        if cls not in _nodes and not _is_namedtuple(cls):
            out.extend([p] * s.num_leaves)
            return True
        items, context = _nodes[cls][0](p) if cls in _nodes else (p, None)
        if s.type is not cls or len(items) != len(s.children) or context != s.context:
            return False
        return all(walk(i, c) for i, c in zip(items, s.children))

    return out if walk(prefix, spec) else None


# ---- leaves of one kind, leaves with their places -------------------------------------------------------------------


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """The leaves, one after another."""
    yield from tree_leaves(tree, is_leaf)


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Is it a leaf, not a container?"""
    return (is_leaf is not None and is_leaf(tree)) or not (type(tree) in _nodes or _is_namedtuple(type(tree)))


def tree_map_(fn: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call `fn` as `tree_map` does, for what it changes; `tree` itself."""
    tree_map(fn, tree, *rests, is_leaf=is_leaf)
    return tree


def _applies(kind: Any, x: Any) -> bool:
    return isinstance(x, kind) if isinstance(kind, (type, tuple, UnionType)) else bool(kind(x))


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: values of other classes (or that the predicate does not hold of) are given back as they are."""

    def decorate(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: fn(x) if _applies(type_or_types_or_pred, x) else x

    return decorate


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """`tree_map` over the leaves of a class, of several, or that a predicate holds of."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Call `func` as `tree_map_only` does, for what it changes; `tree` itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Does `pred` hold of all leaves?"""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Does `pred` hold of some leaf?"""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Does `pred` hold of all leaves of these classes?"""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Does `pred` hold of some leaf of these classes?"""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def _keys(x: Any, count: int) -> list[Any]:
    if type(x) in _nodes_with_keys:
        return [key for key, _ in _nodes_with_keys[type(x)](x)[0]]
    if isinstance(x, dict):
        return [MappingKey(k) for k in x]
    if _is_namedtuple(type(x)) and hasattr(x, "_fields"):
        return [GetAttrKey(name) for name in x._fields]
    if is_dataclass(x):
        return [GetAttrKey(f.name) for f in fields(x)][:count]
    return [SequenceKey(i) for i in range(count)]


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves, each after its path of keys."""
    found: list[tuple[tuple[Any, ...], Any]] = []

    def walk(x: Any, path: tuple[Any, ...]) -> None:
        if tree_is_leaf(x, is_leaf):
            found.append((path, x))
            return
        items = _nodes[type(x)][0](x)[0] if type(x) in _nodes else x
        for key, item in zip(_keys(x, len(items)), items):
            walk(item, (*path, key))

    walk(tree, ())
    return found


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """The leaves, each after its path of keys, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """`func(path, leaf)` of every leaf (and of what lies at its place in `rests`), in the same structure."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return tree_unflatten([func(path, leaf, *x) for (path, leaf), *x in zip(leaves, *others)], spec)


def treespec_pprint(treespec: TreeSpec) -> str:
    """The structure as the container of `*` that has it."""
    return str(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


class _Star:
    def __repr__(self) -> str:
        return "*"


# ---- names of PyTorch's for the same, and structures as text --------------------------------------------------------

PyTree = Any
Context = Any
DumpableContext = Any
KeyPath = tuple[Any, ...]
KeyEntry = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Any]]
UnflattenFunc = Callable[[Any, Any], Any]


def is_namedtuple_class(cls: type) -> bool:
    """Is it a class of named tuples as `collections.namedtuple` makes them?"""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple(obj: Any) -> bool:
    """Is it a named tuple, or a class of them?"""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


is_namedtuple_instance = is_namedtuple


def is_structseq_class(cls: type) -> bool:
    """Is it a class as that of the several results of an operation?"""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "n_sequence_fields")


def is_structseq(obj: Any) -> bool:
    """Is it the several results of an operation, or a class of such?"""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of the arguments of a call."""
    return [leaf for x in (*args, *kwargs.values()) for leaf in tree_leaves(x)]


def _is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    return tree_is_leaf(tree, is_leaf)


def _get_node_type(tree: Any) -> Any:
    return namedtuple if is_namedtuple(tree) else type(tree)


def _broadcast_to_and_flatten(
    tree: Any, treespec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any] | None:
    """The leaves of a container of structure `treespec` in which each leaf of `tree` stands for all below it; None
    where `tree` is no such prefix."""
    if treespec.is_leaf():
        return [tree]
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    top = tree_structure(tree, lambda x: x is not tree)
    same = top.type is treespec.type and top.context == treespec.context
    if not same or len(top.children) != len(treespec.children):
        return None
    leaves: list[Any] = []
    for child, spec in zip(tree_leaves(tree, lambda x: x is not tree), treespec.children, strict=True):
        below = _broadcast_to_and_flatten(child, spec, is_leaf)
        if below is None:
            return None
        leaves += below
    return leaves


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


def _dict_unflatten(values: Any, context: list[Any]) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _list_flatten(x: list[Any]) -> tuple[list[Any], None]:
    return x, None


def _list_flatten_with_keys(x: list[Any]) -> tuple[list[tuple[Any, Any]], None]:
    return [(SequenceKey(i), v) for i, v in enumerate(x)], None


def _list_unflatten(values: Any, context: None) -> list[Any]:
    return list(values)


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return _LEAF


def treespec_tuple(iterable: Any = (), /) -> TreeSpec:
    """The structure of a tuple of items of these structures."""
    return TreeSpec(tuple, None, tuple(iterable))


def treespec_list(iterable: Any = (), /) -> TreeSpec:
    """The structure of a list of items of these structures."""
    return TreeSpec(list, None, tuple(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dict of items of these structures."""
    items = dict(mapping, **kwargs)
    return TreeSpec(dict, list(items), tuple(items.values()))
