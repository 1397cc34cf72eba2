"""Nodes of a graph: one placeholder, call, read of an attribute or output each."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from tandem import _functions, _missing
from tandem.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from tandem.fx.graph import Graph

# What nodes of a graph call, and with what.
Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output", "root")

# Functions whose calls stay although nobody reads their result.
_side_effectful_functions: set[Any] = {operator.setitem, builtins.print, builtins.setattr, _functions._assert}

# The modules in which functions of the library are looked up, the first that has one names it.
HOMES = ("", ".nn.functional", ".linalg", ".special", ".nn.init", ".fft")


def has_side_effect(fn: Any) -> Any:
    """Keep calls of `fn` although nobody reads what they give.

    >>> import tandem
    >>> tandem.fx.has_side_effect(print) is print
    True
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Any], Any]) -> Argument:
    """`a` with `fn` of everything in its tuples, lists, dicts and slices.

    >>> import tandem
    >>> tandem.fx.node.map_aggregate((1, [2, {"a": 3}]), lambda x: x * 10)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(part, fn) for part in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Any]) -> Argument:
    """`a` with `fn` of every node in it.

    >>> import tandem
    >>> graph = tandem.fx.Graph()
    >>> tandem.fx.map_arg((graph.placeholder("x"), 2), lambda node: node.name)
    ('x', 2)
    """
    if not callable(fn):
        raise AssertionError("tandem.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def nodes_in(a: Argument) -> Iterator[Node]:
    """The nodes in an argument, in order."""
    if isinstance(a, Node):
        yield a
    elif isinstance(a, (tuple, list)):
        for item in a:
            yield from nodes_in(item)
    elif isinstance(a, dict):
        for item in a.values():
            yield from nodes_in(item)
    elif isinstance(a, slice):
        yield from nodes_in((a.start, a.stop, a.step))


def home_of(function: Any) -> tuple[str, str] | None:
    """The module and the name in it under which users know a function; None where it has no such name."""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        return None
    for path in HOMES:
        module = sys.modules.get("tandem" + path)
        if module is not None and getattr(module, name, None) is function:
            return _missing.shown("tandem" + path), name
    home = getattr(function, "__module__", None) or ""
    if home in ("_operator", "builtins"):
        return home.lstrip("_"), name
    module = sys.modules.get(home)
    if module is not None and "." not in getattr(function, "__qualname__", ".") and vars(module).get(name) is function:
        return home, name
    return None


def _get_qualified_name(func: Any) -> str:
    found = home_of(func)
    if found is None:
        return f"{getattr(func, '__module__', '')}.{getattr(func, '__qualname__', repr(func))}"
    return found[1] if found[0] == "builtins" else ".".join(found)


class Node:
    """One step of a graph. `op` says what it does with `target`, `args` and `kwargs`:

    - `placeholder`: an input of the name `target`; `args` holds its default;
    - `get_attr`: the attribute `target` of the module;
    - `call_function`: a call of the function `target`;
    - `call_method`: a call of the method of that name of `args[0]`;
    - `call_module`: a call of the submodule of that name;
    - `output`: what is returned, `args[0]`.

    >>> import operator, tandem
    >>> graph = tandem.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(operator.add, (x, 1))
    >>> y, y.op, y.args, list(x.users)
    (add, 'call_function', (x, 1), [add])
    """

    _prev: Node
    _next: Node

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"op must be one of {', '.join(OPS[:-1])}; got {op}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has to be a Callable")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has to be a str")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._erased = False
        self._prev = self._next = self
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._set(args, kwargs)

    def _set(self, args: Any, kwargs: Any) -> None:
        """Take new arguments, and say so to the nodes in the old and the new ones."""
        self._args = map_arg(tuple(args), lambda node: node)
        self._kwargs = map_arg(dict(kwargs), lambda node: node)
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = dict.fromkeys(nodes_in((self._args, self._kwargs)))
        for node in self._input_nodes:
            node.users.setdefault(self)

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments by place; nodes stand for what they give. Assign to change them."""
        return self._args

    @args.setter
    def args(self, args: Any) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name. Assign to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Any) -> None:
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes in the arguments, each once."""
        return list(self._input_nodes)

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    @property
    def stack_trace(self) -> str | None:
        """Where the node was recorded, if that was kept."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def prepend(self, x: Node) -> None:
        """Put the node `x` before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        x._prev, x._next = self._prev, self
        self._prev._next = x
        self._prev = x

    def append(self, x: Node) -> None:
        """Put the node `x` after this one."""
        if x is not self:
            self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one argument by place."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put an argument before the one at `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set one argument by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Let this node read `new_input` wherever it read `old_input`."""

        def new(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self.args, new), map_arg(self.kwargs, new))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let all that read this node, where `delete_user_cb` agrees, read another; gives those that did."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("propagate_meta: the new node has a meta of its own")
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def is_impure(self, impure_random: bool = True) -> bool:
        """Does it do more than give a value?"""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effectful_functions
        if self.op == "call_method":
            name = str(self.target)
            return name.endswith("_") and not name.endswith("__")
        if self.op == "call_module":
            owner = self.graph.owning_module
            module = owner.get_submodule(str(self.target)) if owner is not None else None
            return bool(getattr(module, "_is_impure", False))
        return False

    def _pretty_print_target(self, target: Any) -> str:
        return target if isinstance(target, str) else _get_qualified_name(target)

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: Any = None) -> str | None:
        """The node as one line of the graph's text."""
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(str(self.target))
            default = f"(default={self.args[0]!r})" if self.args else ""
            return f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={self.target}]{default}"
        if self.op == "output":
            return f"return {_plain(self.args[0])}"
        line = (
            f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        )
        if self.op == "get_attr":
            return line
        return f"{line}(args = {_shown(self.args)}, kwargs = {_shown(self.kwargs)})"

    def __repr__(self) -> str:
        return self.name

    def __copy__(self) -> Node:
        return self

    def __lt__(self, other: Any) -> bool:
        if self.graph is not other.graph:
            raise RuntimeError("nodes of different graphs have no order")
        order = {node: place for place, node in enumerate(self.graph.nodes)}
        return order[self] < order[other]

    def __gt__(self, other: Any) -> bool:
        return other < self


def _plain(a: Argument) -> str:
    return str(map_arg(a, lambda node: node))


def _shown(a: Argument) -> str:
    """An argument as text, with a % before the names of nodes."""
    if isinstance(a, Node):
        return f"%{a.name}"
    if isinstance(a, tuple):
        return f"({', '.join(map(_shown, a))}{',' if len(a) == 1 else ''})"
    if isinstance(a, list):
        return f"[{', '.join(map(_shown, a))}]"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{key}: {_shown(value)}" for key, value in a.items()) + "}"
    return str(a) if not callable(a) or isinstance(a, type) else _get_qualified_name(a)
