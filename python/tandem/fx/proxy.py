"""Values that stand for others while a function runs: what is done with them is written to a graph."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import tandem
from tandem.fx.graph import Graph
from tandem.fx.node import Argument, Node, Target, map_aggregate

PLAIN = (str, int, float, bool, type(None), type(...), complex, bytes)


class TraceError(ValueError):
    """A function does what no graph can hold: it decides by a value, or asks how many there are.

    >>> import tandem
    >>> try:
    ...     tandem.fx.symbolic_trace(lambda x: x if x > 0 else -x)
    ... except tandem.fx.proxy.TraceError as error:
    ...     print(error)
    symbolically traced variables cannot be used as inputs to control flow
    """


class TracerBase:
    """What makes nodes of calls: to derive from."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(
        self, kind: str, target: Target, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None
    ) -> Node:
        """Add a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The value that stands for what `node` gives."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node for a call with proxies among its arguments, and give the proxy of the result."""
        args_, kwargs_ = self.create_arg(tuple(args)), self.create_arg(dict(kwargs))
        node = self.create_node(kind, target, tuple(args_), dict(kwargs_), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """What a node has in place of an argument: the node of a proxy, else what can be written as Python."""
        if not isinstance(a, Proxy) and hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return type(a)(*(self.create_arg(item) for item in a))
        if isinstance(a, (tuple, list)):
            items = [self.create_arg(item) for item in a]
            return tuple(items) if isinstance(a, tuple) else items
        if isinstance(a, dict):
            return {key: self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(*(self.create_arg(part) for part in (a.start, a.stop, a.step)))
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, (Node, *PLAIN)) or isinstance(a, (tandem.dtype, tandem.device, type)) or callable(a):
            if not isinstance(a, (tandem.nn.Module, tandem.Tensor)):
                return a
        if isinstance(a, (tandem.memory_format, tandem.layout)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """What a condition of a proxy is; derived classes may know."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What a loop over a proxy goes through; derived classes may know."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument."
        )

    def keys(self, obj: Proxy) -> Any:
        """What `**proxy` goes through."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds what is done with its proxies to a graph.

    >>> import tandem
    >>> graph = tandem.fx.Graph()
    >>> tracer = tandem.fx.proxy.GraphAppendingTracer(graph)
    >>> x = tandem.fx.Proxy(graph.placeholder("x"), tracer)
    >>> tandem.sin(x) * 2
    Proxy(mul)
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph


class Proxy:
    """Stands for the value of a node: operators, methods and functions of it become nodes of the graph.

    >>> import tandem
    >>> graph = tandem.fx.Graph()
    >>> x = tandem.fx.Proxy(graph.placeholder("x"))
    >>> y = tandem.exp(x).sum(0)[0] + 1
    >>> graph.nodes.__len__(), y.node.args
    (5, (getitem, 1))
    """

    node: Any

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Any:
        # The interpreter's own questions, and copies that are made without a constructor.
        if name.startswith("__") or name in ("tracer", "node"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __deepcopy__(self, memo: Any) -> Proxy:
        return self

    def __copy__(self) -> Proxy:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        for instruction in dis.get_instructions(frame.f_code):
            # `a, b = proxy` says how many there are.
            if instruction.offset == frame.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                return (self[i] for i in range(int(instruction.arg or 0)))
        return self.tracer.iter(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})

    def keys(self) -> Any:
        """What `**proxy` asks."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found = proxies_in(args, kwargs)
        tracer = found[0].tracer
        if any(proxy.tracer is not tracer for proxy in found):
            raise AssertionError("Found multiple different tracers while trying to trace operations")
        return record_call(tracer, func, args, kwargs)

    # Made below.
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = None
    __neg__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __floordiv__ = __mod__ = None
    __getitem__: Any = None
    __hash__ = object.__hash__


def proxies_in(*a: Any) -> list[Proxy]:
    """The proxies in arguments, in order."""
    found: list[Proxy] = []
    map_aggregate(a, lambda x: found.append(x) if isinstance(x, Proxy) else None)
    return found


def record_call(tracer: TracerBase, func: Any, args: Any, kwargs: Any) -> Proxy:
    """Add the call of an operation: of a method by its name, of a property as the read of an attribute."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        return tracer.create_proxy("call_function", getattr, (args[0], func.__self__.__name__), {})
    if tandem.overrides.is_tensor_method_or_property(func):
        return tracer.create_proxy("call_method", name, args, kwargs)
    return tracer.create_proxy("call_function", func, args, kwargs, name=name or None)


class Attribute(Proxy):
    """An attribute of a proxy, which becomes a node when it is used, and no other than the call when it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        """The node that reads it."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operators() -> None:
    """Give `Proxy` the operators: each is a call of the function in `operator`."""

    def direct(function: Callable[..., Any]) -> Any:
        def method(self: Proxy, *args: Any) -> Proxy:
            return self.tracer.create_proxy("call_function", function, (self, *args), {})

        return method

    def reflected(function: Callable[..., Any]) -> Any:
        def method(self: Proxy, other: Any) -> Proxy:
            return self.tracer.create_proxy("call_function", function, (other, self), {})

        return method

    two = "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor".split()
    for name in two + "eq ne lt gt le ge getitem neg pos invert".split():
        setattr(Proxy, f"__{name.rstrip('_')}__", direct(getattr(operator, name)))
    for name in two:
        setattr(Proxy, f"__r{name.rstrip('_')}__", reflected(getattr(operator, name)))


_operators()
