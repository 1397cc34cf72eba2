"""Graphs of nodes, and the Python code that does what they say."""

from __future__ import annotations

import builtins
import contextlib
import copy
import keyword
import math
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import tandem
from tandem._stand_in import lacking_class
from tandem.fx.node import Argument, Node, Target, home_of, map_aggregate, map_arg

CodeGen = lacking_class("fx.graph.CodeGen")

# How calls of these are written. Functions that change their operand have no entry.
SIGNS = {
    **dict(
        add="+", sub="-", mul="*", truediv="/", floordiv="//", mod="%", pow="**", matmul="@", lshift="<<", rshift=">>"
    ),
    **dict(and_="&", or_="|", xor="^", eq="==", ne="!=", lt="<", gt=">", le="<=", ge=">="),
}
SIGNS = {name: f"{{}} {sign} {{}}" for name, sign in SIGNS.items()}
SIGNS |= dict(getitem="{}[{}]", neg="-{}", pos="+{}", invert="~{}")


class _Namespace:
    """Names that differ from each other, from keywords and from what is built in."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._used: set[str] = set()
        self._of: dict[int, str] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name like `candidate`; the one that `obj` got before."""
        if obj is not None and id(obj) in self._of:
            return self._of[id(obj)]
        candidate = re.sub(r"\W+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        while candidate in self._used or keyword.iskeyword(candidate) or hasattr(builtins, candidate):
            found = re.fullmatch(r"(.*)_(\d+)", candidate)
            base = found[1] if found else candidate
            number = max(self._last.get(base, 0), int(found[2]) if found else 0) + 1
            self._last[base] = number
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        if obj is not None:
            self._of[id(obj)] = candidate
        return candidate

    def associate(self, name: str, obj: Any) -> None:
        """Let `name` be that of `obj`."""
        self._used.add(name)
        self._of[id(obj)] = name


class PythonCode:
    """The text of a function, `src`, and the objects that it names, `globals`."""

    def __init__(self, src: str, names: dict[str, Any]) -> None:
        self.src = src
        self.globals = names
        self._lineno_map: dict[int, int] | None = None
        self._prologue_start = 0


class _Nodes:
    """The nodes of a graph, in order: those that are added behind the present one come up, those erased do not."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self._graph, self._backwards = graph, backwards

    def __len__(self) -> int:
        return self._graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._prev if self._backwards else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self._backwards else node._next

    def __reversed__(self) -> _Nodes:
        return _Nodes(self._graph, not self._backwards)


class Graph:
    """A list of nodes, each a step of a function. `GraphModule` makes a module of one.

    >>> import operator, tandem
    >>> graph = tandem.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.output(graph.call_function(operator.mul, (x, 2)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %mul : [num_users=1] = call_function[target=operator.mul](args = (%x, 2), kwargs = {})
        return mul
    >>> tandem.fx.GraphModule(tandem.nn.Module(), graph)(4)
    8
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._names = _Namespace()
        self._insert: Callable[[Node], None] = self._root.prepend
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras

    @property
    def nodes(self) -> _Nodes:
        """The nodes in order; `reversed` takes it too."""
        return _Nodes(self)

    def output_node(self) -> Node:
        """The node that returns."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes with this `op`, and this target where one is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node, where `inserting_before` and `inserting_after` say, else at the end."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("args must be a tuple and kwargs a dict")
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(self, self._names.create_name(candidate, None), op, target, args, kwargs, type_expr)
        if self.owning_module is not None and getattr(self.owning_module, "_create_node_hooks", None):
            for hook in self.owning_module._create_node_hooks:
                hook(node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target) -> str:
        name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an input."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add the read of an attribute of the module, `layer.weight` or the like."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """Add the call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """Add the call of a method of `args[0]`."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: Any = None,
    ) -> Node:
        """Add the call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add what is returned."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Add a copy of a node of another graph, with `arg_transform` of the nodes in its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Add copies of all nodes of `g`, but of those in `val_map`, which gets the others; gives what `g` returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        memo = {} if memo is None else memo
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        memo[id(self)] = made
        nodes: dict[Node, Node] = {}
        for node in self.nodes:
            nodes[node] = made.node_copy(node, lambda n: nodes[n])
            nodes[node].meta = copy.copy(node.meta)
            for name, value in vars(node).items():  # what passes left on it
                vars(nodes[node]).setdefault(name, value)
        return made

    def __reduce__(self) -> Any:
        place = {node: index for index, node in enumerate(self.nodes)}
        rows = []
        for n in self.nodes:
            args, kwargs = map_arg((n.args, n.kwargs), lambda node: _Place(place[node]))
            rows.append((n.op, n.target, args, kwargs, n.name, n.type))
        return _graph_of, (rows, self._tracer_cls)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nobody reads."""
        if to_erase.users:
            users = list(to_erase.users)
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(users)} users in the graph: {users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._erased = True
        to_erase._set((), {})
        self._len -= 1

    @contextlib.contextmanager
    def _inserting(self, insert: Callable[[Node], None]) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def _own(self, n: Node | None) -> Node:
        if n is not None and n.graph is not self:
            raise AssertionError("Node to insert beside is not in graph.")
        return self._root if n is None else n

    def inserting_before(self, n: Node | None = None) -> Any:
        """A block in which new nodes come before `n`; without it at the beginning."""
        return self._inserting(self._root.append if n is None else self._own(n).prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A block in which new nodes come right after `n`, the last one first; without it at the end."""
        return self._inserting(self._root.prepend if n is None else self._own(n).append)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes that nobody reads, and that do nothing else; was there one?"""
        self.lint()
        impure = is_impure_node or Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return self._len < before

    def lint(self) -> None:
        """Raise RuntimeError where a node reads what is no node before it, or two have one name."""
        seen: dict[Node, None] = {}
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for read in node.all_input_nodes:
                if read not in seen:
                    raise RuntimeError(
                        f"Argument '{read}' of Node '{node}' was used before it has been defined! Please check that "
                        f"Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen[node] = None
            names.add(node.name)

    def on_generate_code(self, make_transformer: Any) -> Any:
        """Not part of Tandem."""
        raise NotImplementedError("Graph.on_generate_code is not part of Tandem")

    def print_tabular(self) -> None:
        """Print a line for each node."""
        for node in self.nodes:
            print(f"{node.op:14} {node.name:20} {node._pretty_print_target(node.target):40} {node.args} {node.kwargs}")

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def python_code(self, root_module: str = "self", *, verbose: bool = False, **other: Any) -> PythonCode:
        """The function `forward` as Python, in which `root_module` is the module.

        >>> import tandem
        >>> print(tandem.fx.symbolic_trace(lambda x: x.relu() + 1).graph.python_code("self").src.strip())
        def forward(self, x):
            relu = x.relu();  x = None
            add = relu + 1;  relu = None
            return add
        """
        return _Writer(root_module).write(self)


class _Place:
    """Stands for a node in a graph that is written to a file."""

    def __init__(self, index: int) -> None:
        self.index = index


def _graph_of(rows: list[Any], tracer_cls: Any) -> Graph:
    """The graph of what `Graph.__reduce__` gives."""
    graph = Graph(tracer_cls=tracer_cls)
    nodes: list[Node] = []
    for op, target, args, kwargs, name, type_expr in rows:
        args, kwargs = map_aggregate((args, kwargs), lambda a: nodes[a.index] if isinstance(a, _Place) else a)
        nodes.append(graph.create_node(op, target, args, dict(kwargs), name, type_expr))
    return graph


class _Writer:
    """Writes the function of a graph."""

    def __init__(self, root_module: str) -> None:
        self.root = root_module
        self.globals: dict[str, Any] = {}
        self.names = _Namespace()

    def write(self, graph: Graph) -> PythonCode:
        """The function: a line for each node, which drops what is read there for the last time."""
        last: dict[Node, Node] = {}
        for node in graph.nodes:
            self.names.associate(node.name, node)
            last.update(dict.fromkeys(node.all_input_nodes, node))
        dropped: dict[Node, list[str]] = {}
        for node, user in last.items():
            dropped.setdefault(user, []).append(node.name)
        inputs, lines, result = [], [], ""
        for node in graph.nodes:
            if node.op == "placeholder":
                inputs.append(self.input(node))
                raw = str(node.target).replace("*", "")
                line = f"{node.name} = {raw}" if raw != node.name else ""
            elif node.op == "output":
                result = f" -> {self.of_type(node.type)}" if node.type is not None else ""
                lines.append(f"return {self.text(node.args[0])}")
                continue
            else:
                line = self.step(node)
            names = dropped.get(node, []) + ([] if node.users or node.op == "placeholder" else [node.name])
            drop = f"{' = '.join(names)} = None" if names else ""
            lines += [";  ".join(part for part in (line, drop) if part)] if line or drop else []
        body = "\n".join(f"    {line}" for line in lines or ["pass"])
        return PythonCode(
            f"\n\n\ndef forward({', '.join([self.root or 'self', *inputs])}){result}:\n{body}\n", self.globals
        )

    def input(self, node: Node) -> str:
        kind = f" : {self.of_type(node.type)}" if node.type is not None else ""
        default = f" = {self.text(node.args[0])}" if node.args else ""
        return f"{node.target}{kind}{default}"

    def step(self, node: Node) -> str:
        kind = f" : {self.of_type(node.type)}" if node.type is not None else ""
        left = f"{node.name}{kind} = "
        target, args = node.target, node.args
        if node.op == "get_attr":
            return left + self.member(str(target))
        if node.op == "call_module":
            return f"{left}{self.member(str(target))}({self.arguments(args, node.kwargs)})"
        if node.op == "call_method":
            on = self.text(args[0])
            on = on if on.isidentifier() else f"({on})"
            return f"{left}{on}.{target}({self.arguments(args[1:], node.kwargs)})"
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator" and name in SIGNS and not node.kwargs:
            if len(args) == SIGNS[name].count("{}"):
                return left + SIGNS[name].format(*(self.operand(a) for a in args))
        if target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{left}{self.operand(args[0])}.{args[1]}"
        return f"{left}{self.known(target)}({self.arguments(args, node.kwargs)})"

    def member(self, path: str) -> str:
        """The attribute `path` of the module."""
        text = self.root or "self"
        for part in path.split("."):
            text = (
                f"{text}.{part}"
                if part.isidentifier() and not keyword.iskeyword(part)
                else f'getattr({text}, "{part}")'
            )
        return text

    def arguments(self, args: Any, kwargs: Any) -> str:
        given = [self.text(a) for a in args]
        if all(key.isidentifier() for key in kwargs):
            return ", ".join([*given, *(f"{key} = {self.text(value)}" for key, value in kwargs.items())])
        return ", ".join([*given, "**" + self.text(dict(kwargs))])

    def operand(self, a: Argument) -> str:
        text = self.text(a)
        return f"({text})" if text.startswith("-") else text

    def of_type(self, a: Any) -> str:
        return self.known(a) if isinstance(a, type) else self.given(a, "type")

    def known(self, obj: Any) -> str:
        """The name of a function or class."""
        home = home_of(obj)
        if home is None:
            return self.given(obj, getattr(obj, "__qualname__", type(obj).__name__))
        path, name = home
        if path == "builtins":
            return name
        first = path.partition(".")[0]
        module = sys.modules[first]
        if first not in self.globals and self.names.create_name(first, module) != first:
            return self.given(obj, name)
        self.globals[first] = module
        return f"{path}.{name}"

    def given(self, obj: Any, name: str) -> str:
        """A name in the globals for any object."""
        name = self.names.create_name(name.replace("<", "").replace(">", "").replace(".", "_"), obj)
        self.globals[name] = obj
        return name

    def text(self, a: Argument) -> str:
        """An argument as Python."""
        if isinstance(a, Node):
            return a.name
        if isinstance(a, tuple):
            if hasattr(a, "_fields"):
                return f"{self.known(type(a))}({', '.join(map(self.text, a))})"
            return f"({', '.join(map(self.text, a))}{',' if len(a) == 1 else ''})"
        if isinstance(a, list):
            return f"[{', '.join(map(self.text, a))}]"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{self.text(key)}: {self.text(value)}" for key, value in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({', '.join(map(self.text, (a.start, a.stop, a.step)))})"
        if a is None or a is ... or type(a) in (bool, int, str, bytes):
            return "..." if a is ... else repr(a)
        if type(a) is float and math.isfinite(a):
            return repr(a)
        if isinstance(a, tandem.dtype):
            root = repr(a).partition(".")[0]
            self.globals[root] = sys.modules[root]
            return repr(a)
        return self.known(a) if callable(a) else self.given(a, f"_{type(a).__name__}")
