"""Making a graph of a function or a module, by running it on proxies."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import tandem
from tandem.fx.graph import Graph
from tandem.fx.graph_module import GraphModule
from tandem.fx.node import Argument, map_aggregate
from tandem.fx.proxy import TracerBase, proxies_in, record_call
from tandem.nn import Module
from tandem.overrides import TorchFunctionMode

T = TypeVar("T")

# What `wrap` was told: the globals of the module, and the name in them.
_wrapped: dict[tuple[int, str], dict[str, Any]] = {}

# Methods that read what a parameter is, not its elements: answered when a function is traced, not when its graph runs.
READS = set(
    "size dim ndimension numel nelement stride element_size is_contiguous is_floating_point is_complex storage_offset "
    "type data_ptr get_device requires_grad_ has_names untyped_storage register_hook __len__ __repr__ __format__ "
    "__hash__ is_pinned is_shared is_inference is_set_to __reduce_ex__ __deepcopy__ tolist item __bool__".split()
)
TENSOR_PROPERTIES = set("T mT H mH data real imag grad".split())


def wrap(fn_or_name: T) -> T:
    """Let calls of a function of the calling module, given by itself or by its name, be a node when they are traced.

    >>> import tandem
    >>> tandem.fx.wrap("len")
    'len'
    >>> print(tandem.fx.symbolic_trace(lambda x: len(x)).code.strip())
    def forward(self, x):
        len_1 = len(x);  x = None
        return len_1
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", "")
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def _recording(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose calls with proxies are nodes."""

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        proxies = proxies_in(args, kwargs)
        if not proxies:
            return function(*args, **kwargs)
        return proxies[0].tracer.create_proxy("call_function", function, args, kwargs)

    return recorded


class _Replaced:
    """Attributes of modules and classes that are others for a while."""

    def __init__(self) -> None:
        self.old: list[tuple[Any, str, Any]] = []

    def put(self, where: Any, name: str, value: Any) -> None:
        own = where if isinstance(where, dict) else vars(where)
        self.old.append((where, name, own.get(name, self)))
        self.set(where, name, value)

    def set(self, where: Any, name: str, value: Any) -> None:
        if isinstance(where, dict):
            where.pop(name, None) if value is self else where.update({name: value})
        elif value is self:
            delattr(where, name)
        else:
            setattr(where, name, value)

    def restore(self) -> None:
        while self.old:
            self.set(*self.old.pop())


def _classes_below(cls: type) -> Iterator[type]:
    yield cls
    subclasses: list[type] = type.__subclasses__(cls)
    for below in subclasses:
        yield from _classes_below(below)


class _OfParameters(TorchFunctionMode):
    """Operations on parameters alone are nodes too: their values may be others when the graph runs."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        read = func.__self__.__name__ not in TENSOR_PROPERTIES if name == "__get__" else name in READS
        if not read and not proxies_in(args, kwargs):
            held: list[Any] = []
            map_aggregate((args, kwargs), lambda a: held.append(a) if id(a) in self.tracer._held else None)
            if held:
                return record_call(self.tracer, func, args, kwargs)
        return func(*args, **kwargs)


def _without_stars(function: Any) -> Callable[..., Any]:
    """`function`, which takes what its code knows as `args` and `kwargs`, and arguments by name, by place."""
    code = function.__code__
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    changed = code.replace(
        co_flags=code.co_flags & ~inspect.CO_VARARGS & ~inspect.CO_VARKEYWORDS,
        co_argcount=code.co_argcount + code.co_kwonlyargcount + stars,
        co_kwonlyargcount=0,
    )
    return FunctionType(changed, function.__globals__, function.__name__, None, function.__closure__)


class Tracer(TracerBase):
    """Makes graphs of functions and modules: derived classes say which modules are one node.

    >>> import tandem
    >>> from tandem import nn
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    >>> print(tandem.fx.Tracer().trace(model))
    graph():
        %input_1 : [num_users=1] = placeholder[target=input]
        %_0 : [num_users=1] = call_module[target=0](args = (%input_1,), kwargs = {})
        %_1 : [num_users=1] = call_module[target=1](args = (%_0,), kwargs = {})
        return _1
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap = {id(f): f for f in autowrap_functions}
        for module in autowrap_modules:
            self._autowrap.update({id(f): f for n, f in vars(module).items() if n[0] != "_" and callable(f)})
        self._autowrap_modules = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.root: Any = Module()
        self.graph = Graph()
        self.submodule_paths: dict[Module, str] | None = None
        self.tensor_attrs: dict[Any, str] = {}
        self._held: dict[int, str] = {}
        self._constants = 0

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Is a call of `m` one node? Else what its forward does is traced. Those of the library are, but Sequential."""
        home = type(m).__module__
        ours = home.startswith(("tandem.nn", "torch.nn", "torch.ao.nn"))
        return ours and not isinstance(m, (tandem.nn.Sequential, tandem.nn.ModuleList, tandem.nn.ModuleDict))

    def path_of_module(self, mod: Module) -> str:
        """The path of a submodule of the root."""
        if self.submodule_paths is None:
            self.submodule_paths = {m: name for name, m in self.root.named_modules()}
        path = self.submodule_paths.get(mod)
        if path is None:
            path = next((name for name, m in self.root.named_modules() if m is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What a call of a submodule becomes."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What the read of a parameter or buffer gives; here itself, which becomes a node when it is used."""
        return attr_val

    def create_arg(self, a: Any) -> Argument:
        """Also tensors, by the name under which the root has them, or a new one; and submodules."""
        if isinstance(a, tandem.Tensor):
            name = self._held.get(id(a)) or self.tensor_attrs.get(a)
            if name is None:
                while hasattr(self.root, f"_tensor_constant{self._constants}"):
                    self._constants += 1
                name = f"_tensor_constant{self._constants}"
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
        """The function, and proxies for its arguments, but for those in `concrete_args`."""
        concrete = concrete_args or {}
        values: dict[str, list[Any]] = {"": [self.root] if is_module else [], "*": [], "**": []}
        named: dict[str, Any] = {}
        for i, (name, parameter) in enumerate(inspect.signature(inspect.unwrap(root_fn)).parameters.items()):
            if is_module and i == 0:
                continue
            rest, names = parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD
            star = "*" if parameter.kind is rest else "**" if parameter.kind is names else ""
            default = () if parameter.default is parameter.empty else (parameter.default,)
            if name in concrete:
                # Among the inputs still: callers may give it.
                self.create_node("placeholder", star + name, (concrete[name],), {})
                value = concrete[name]
            else:
                kind = parameter.annotation
                kind = kind if isinstance(kind, type) and kind is not parameter.empty else None
                value = self.create_proxy("placeholder", star + name, default, {}, type_expr=kind)
            if parameter.kind is parameter.KEYWORD_ONLY:
                named[name] = value
            else:
                values[star].append(value)
        if values["*"] or values["**"]:
            every = [*values[""], *named.values(), *values["*"], *values["**"]]
            return _without_stars(root_fn), every, {}
        return root_fn, values[""], named

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module, or of a function."""
        is_module = isinstance(root, Module)
        if is_module:
            self.root, function = root, type(root).forward
            instance = root.__dict__.get("forward")
            if instance is not None:
                function, is_module = instance, False
        else:
            self.root, function = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self.submodule_paths = {m: name for name, m in self.root.named_modules()}
        tensors = [*self.root.named_parameters(), *self.root.named_buffers()]
        for path, module in self.root.named_modules():
            prefix = f"{path}." if path else ""
            tensors += [(prefix + n, v) for n, v in vars(module).items() if isinstance(v, tandem.Tensor)]
        self._held = {id(tensor): name for name, tensor in tensors}
        function, args, named = self.create_args_for_root(function, is_module, concrete_args)
        with self._recorded_calls(function):
            result = function(*args, **named)
        self.create_node("output", "output", (self.create_arg(result),), {})
        self.submodule_paths = None
        return self.graph

    @contextmanager
    def _recorded_calls(self, function: Any) -> Iterator[None]:
        """While this lasts, calls of modules come to `call_module`, and those of functions in Python are nodes."""
        call, replaced = Module.__call__, _Replaced()

        def called(module: Module, *args: Any, **kwargs: Any) -> Any:
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        functional = tandem.nn.functional
        for name, member in list(vars(functional).items()):
            if isinstance(member, FunctionType) and not name.startswith("_") and name != "has_torch_function":
                replaced.put(functional, name, _recording(member))
        names = getattr(inspect.unwrap(function), "__globals__", {})
        for name, value in list(names.items()):
            if id(value) in self._autowrap and not isinstance(value, type):
                replaced.put(names, name, _recording(value))
        for module in self._autowrap_modules:
            for name, value in list(vars(module).items()):
                if name[0] != "_" and callable(value) and not isinstance(value, type):
                    replaced.put(module, name, _recording(value))
        for (_, name), where in list(_wrapped.items()):
            known = where.get(name, getattr(builtins, name, None))
            if callable(known):
                replaced.put(where, name, _recording(known))
        replaced.put(Module, "__call__", called)
        try:
            with _OfParameters(self):
                yield
        finally:
            replaced.restore()
            for cls in _classes_below(Module):
                tandem._C._quicken_module(cls, Module.__getattr__, Module.__call__)


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module whose code is what `root`, a module or a function, does with its arguments.

    It runs once, with proxies for its arguments; `concrete_args` gives some of them values. A condition of an argument
    is an error. `tandem.compile` needs no graph of this kind, and takes any function.

    Raises:
        TraceError: the function decides by an argument, or loops over one.

    Example:
        >>> import tandem
        >>> traced = tandem.fx.symbolic_trace(lambda x, y: tandem.sin(x) + y)
        >>> print(traced.code.strip())
        def forward(self, x, y):
            sin = tandem.sin(x);  x = None
            add = sin + y;  sin = y = None
            return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "GraphModule")
    return GraphModule(tracer.root, graph, name if name.isidentifier() else "GraphModule")


def is_fx_tracing() -> bool:
    """Is a function being traced here?"""
    return any(isinstance(mode, _OfParameters) for mode in tandem._C._modes())
