"""Running a graph node by node, and making another one on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tandem
from tandem.fx._symbolic_trace import Tracer
from tandem.fx.graph import Graph
from tandem.fx.graph_module import GraphModule, _get_attr
from tandem.fx.node import Argument, Node, Target, map_arg
from tandem.fx.proxy import Proxy


class Interpreter:
    """Runs a graph node by node: derived classes change what a node does.

    >>> import tandem
    >>> class Shown(tandem.fx.Interpreter):
    ...     def run_node(self, n):
    ...         value = super().run_node(n)
    ...         print(n.name, value)
    ...         return value
    >>> Shown(tandem.fx.symbolic_trace(lambda x: x * 2 + 1)).run(3)
    x 3
    mul 6
    add 7
    output 7
    7
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else module.graph
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.name = "Interpreter"

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """What the graph gives for these arguments."""
        self.env = dict(initial_env or {})
        self.args_iter: Iterator[Any] = iter(args)
        last = {read: node for node in self.graph.nodes for read in node.all_input_nodes}
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.env[node]
            if self.garbage_collect_values:
                for read in node.all_input_nodes:
                    if last[read] is node:
                        self.env.pop(read, None)
        return None

    def run_node(self, n: Node) -> Any:
        """What one node gives."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument, or its default."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives."""
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the method of the first argument gives."""
        on, *rest = args
        return getattr(on, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the submodule gives."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What is returned."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """The attribute at a path of the module."""
        try:
            return _get_attr(self.module, target)
        except AttributeError as error:
            raise RuntimeError(f"Node referenced nonexistent target {target}") from error

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """The arguments of a node, with values in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), dict(self.map_nodes_to_values(n.kwargs, n))

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """An argument with values in the place of nodes."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Makes a new module of one: derived classes change what becomes of a node.

    >>> import operator, tandem
    >>> class Minus(tandem.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(operator.sub if target is operator.add else target, args, kwargs)
    >>> Minus(tandem.fx.symbolic_trace(lambda x: x + 1)).transform()(3)
    2
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()

        class Appending(Tracer):
            def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
                return True

        self.tracer = Appending()
        self.tracer.graph = self.new_graph
        self.tracer.root = module

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return Proxy(self.new_graph.placeholder(str(target), default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = super().run()
        if result is not None:
            made = self.new_graph.output(map_proxies(result))
            old = self.graph.output_node()
            made.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)


def map_proxies(a: Any) -> Any:
    """An argument with nodes in the place of proxies."""
    return tandem.fx.node.map_aggregate(a, lambda x: x.node if isinstance(x, Proxy) else x)
