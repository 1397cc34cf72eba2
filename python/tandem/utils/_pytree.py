"""Nested containers taken apart into a list of leaves, and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "LeafSpec",
    "TreeSpec",
    "broadcast_prefix",
    "register_pytree_node",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_structure",
    "tree_unflatten",
]


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a container: its type, what rebuilds it, and the structures of its items."""

    type: Any
    context: Any
    children: tuple[TreeSpec, ...]

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


# By type: (to items and context, from items and context).
_nodes: dict[type, tuple[Callable[[Any], tuple[Any, Any]], Callable[[Any, Any], Any]]] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Any, Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    **ignored: Any,
) -> None:
    """Let objects of `cls` be containers: `flatten_fn(x)` gives (items, context), `unflatten_fn(items, context)` x."""
    _nodes[cls] = flatten_fn, unflatten_fn


register_pytree_node(tuple, lambda x: (x, None), lambda items, _: tuple(items))
register_pytree_node(list, lambda x: (x, None), lambda items, _: list(items))
register_pytree_node(dict, lambda x: (list(x.values()), list(x)), lambda items, keys: dict(zip(keys, items)))
register_pytree_node(
    OrderedDict, lambda x: (list(x.values()), list(x)), lambda items, keys: OrderedDict(zip(keys, items))
)
register_pytree_node(
    defaultdict,
    lambda x: (list(x.values()), (x.default_factory, list(x))),
    lambda items, context: defaultdict(context[0], zip(context[1], items)),
)


def _is_namedtuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


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
    """The container of this structure with these leaves."""
    items = iter(leaves)

    def build(spec: TreeSpec) -> Any:
        if spec.type is None:
            return next(items)
        children = [build(c) for c in spec.children]
        if spec.type in _nodes:
            return _nodes[spec.type][1](children, spec.context)
        return spec.type(*children)

    return build(treespec)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves alone."""
    return tree_flatten(tree)[0]


def tree_structure(tree: Any) -> TreeSpec:
    """The structure alone."""
    return tree_flatten(tree)[1]


def tree_map(fn: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """`fn` of every leaf (and of the leaves at its place in `rests`), in the same structure."""
    leaves, spec = tree_flatten(tree)
    others = [tree_leaves(r) for r in rests]
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
