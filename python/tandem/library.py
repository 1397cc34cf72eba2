"""`tandem.library`: operations of one's own, written in Python, that run as they are called and have a derivative."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tandem import _C
from tandem.autograd.function import Function

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "impl_abstract",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
    "triton_op",
]

_registered: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An operation by its name `namespace::name`; a call runs its function. Made by `custom_op`.

    >>> import tandem
    >>> @tandem.library.custom_op("docs::twice", mutates_args=())
    ... def twice(x: tandem.Tensor) -> tandem.Tensor:
    ...     return x * 2
    >>> twice(tandem.ones(1)), tandem.ops.docs.twice.default(tandem.ones(1))
    (tensor([2.]), tensor([2.]))
    """

    def __init__(self, name: str, function: Callable[..., Any] | None, signature: inspect.Signature | None = None):
        self._qualname = name
        self._function = function
        self._signature = signature or (inspect.signature(function) if function is not None else None)
        parameters = self._signature.parameters.values() if self._signature is not None else ()
        # Where arguments are by place or name: their names, and what they are if they are not given.
        self._plain = all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters)
        self._positional = tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)
        self._keywords = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._fake: Callable[..., Any] | None = None
        self._mutates: Sequence[str] = ()  # names of arguments
        self._call = _differentiable(self)
        self.__name__ = name.rpartition("::")[2]

    @property
    def default(self) -> CustomOpDef:
        """The operation itself: it has one overload."""
        return self

    def overloads(self) -> list[str]:
        """['default']."""
        return ["default"]

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Takes what gives shapes without values, which `opcheck` alone asks for; the function itself."""
        self._fake = fn
        return fn

    def register_kernel(
        self, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /
    ) -> Any:
        """The function for devices: that for "cpu", or for all (None), is called. A decorator without `func`."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if device_types is None or "cpu" in ([device_types] if isinstance(device_types, str) else device_types):
                self._function = function
            return function

        return register if func is None else register(func)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Takes a rule for vmap; examples are run by the function itself, whose operations have rules."""
        return (lambda f: f) if func is None else func

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """The derivative: `backward(ctx, *grads)` gives one gradient an argument, from what
        `setup_context(ctx, inputs, output)` kept."""
        self._backward, self._setup = backward, setup_context

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            raise NotImplementedError(f"{self._qualname}: no function was registered for the CPU")
        if self._signature is not None:
            args, kwargs = self._bound(args, kwargs)
        if not _C.is_grad_enabled():
            return self._function(*args, **kwargs)
        lists = _Lists(args)
        flat = lists.flat(args)
        if not any(isinstance(x, _C.Tensor) and x.requires_grad for x in flat):
            return self._function(*args, **kwargs)
        result = self._call.apply(*flat, _lists=lists, **kwargs)
        return list(result) if lists.gave_list else result

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All positional arguments, in order, and those that are keywords only; TypeError where they do not fit."""
        given = dict(zip(self._positional, args))
        values = {**self._defaults, **given, **kwargs}
        names = self._positional + self._keywords
        known = len(args) <= len(self._positional) and not any(name in given for name in kwargs)
        if self._plain and known and len(values) == len(names) and all(name in values for name in names):
            return tuple([values[name] for name in self._positional]), {name: values[name] for name in self._keywords}
        bound = self._signature.bind(*args, **kwargs)  # type: ignore[union-attr]
        bound.apply_defaults()
        return bound.args, bound.kwargs


class _Lists:
    """Which arguments of a call are lists of tensors: `Function` knows tensors alone."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.counts = [len(a) if _is_list(a) else None for a in args]
        self.any = any(count is not None for count in self.counts)
        self.gave_list = False

    def flat(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """One value an argument, with those of lists one by one; None for all of a list where it is None."""
        if not self.any:
            return tuple(values)
        out: list[Any] = []
        for value, count in zip(values, self.counts, strict=True):
            out += [value] if count is None else [None] * count if value is None else list(value)
        return tuple(out)

    def nested(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments as they were."""
        if not self.any:
            return tuple(flat)
        rest = iter(flat)
        return tuple(next(rest) if count is None else [next(rest) for _ in range(count)] for count in self.counts)


def _is_list(a: Any) -> bool:
    return isinstance(a, (list, tuple)) and len(a) > 0 and all(isinstance(x, _C.Tensor) or x is None for x in a)


def _differentiable(op: CustomOpDef) -> type[Function]:
    """The Function that calls are where a gradient is wanted."""

    class Call(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any, _lists: _Lists, **kwargs: Any) -> Any:
            args = _lists.nested(inputs)
            output = op._function(*args, **kwargs)  # type: ignore[misc]
            if op._setup is not None:
                given = {"keyword_only_inputs": kwargs} if kwargs else {}
                op._setup(ctx=ctx, inputs=args, output=output, **given)
            ctx._lists = _lists
            _lists.gave_list = isinstance(output, list)
            return tuple(output) if _lists.gave_list else output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if op._backward is None:
                raise RuntimeError(f"{op._qualname}: no derivative was registered; use register_autograd")
            lists = ctx._lists
            # A list is one result, with a list of gradients.
            result = op._backward(ctx, list(grads)) if lists.gave_list else op._backward(ctx, *grads)
            return lists.flat(result if isinstance(result, tuple) else (result,)) if lists.any else result

    return Call


def _qualified(name: str) -> str:
    if name.count("::") != 1 or name.startswith("::") or name.endswith("::"):
        raise ValueError(f"the name of an operation is 'namespace::name', got '{name}'")
    return name


def _found(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _registered:
        raise RuntimeError(f"there is no operation {op}: define it first")
    return _registered[op]


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Sequence[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """An operation of the name `namespace::name` that calls a function of tensors; a decorator without `fn`.

    It is found as `tandem.ops.namespace.name`. Its derivative is that of `register_autograd`; without one the backward
    pass raises RuntimeError. ValueError for a name of another form.

    >>> import tandem
    >>> @tandem.library.custom_op("docs::cube", mutates_args=())
    ... def cube(x: tandem.Tensor) -> tandem.Tensor:
    ...     return x**3
    >>> def keep(ctx, inputs, output):
    ...     ctx.save_for_backward(inputs[0])
    >>> cube.register_autograd(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g, setup_context=keep)
    >>> x = tandem.tensor(2.0, requires_grad=True)
    >>> cube(x).backward()
    >>> x.grad
    tensor(12.)
    """

    def register(function: Callable[..., Any]) -> CustomOpDef:
        op = CustomOpDef(_qualified(name), None, inspect.signature(function))
        op.register_kernel(device_types, function)
        op._mutates = list(inspect.signature(function).parameters) if mutates_args == "unknown" else mutates_args
        op.__doc__ = function.__doc__
        _registered[name] = op
        return op

    return register if fn is None else register(fn)


triton_op = custom_op


def define(qualname: Any, schema: Any = None, alias_analysis: str = "", *, lib: Any = None, tags: Any = None) -> Any:
    """Define an operation, to which `impl` gives a function; with a `Library` and a schema, a decorator of that.

    >>> import tandem
    >>> tandem.library.define("docs::half", "(Tensor x) -> Tensor")
    >>> tandem.library.impl("docs::half", "cpu", lambda x: x / 2)
    >>> tandem.ops.docs.half(tandem.ones(1))
    tensor([0.5000])
    """
    if isinstance(qualname, Library):
        name = qualname.define(schema, alias_analysis)
        return impl(qualname, name)
    _registered.setdefault(_qualified(qualname), CustomOpDef(qualname, None))
    return None


def impl(qualname: Any, types: Any, func: Any = None, dispatch_key: str = "", *, lib: Any = None) -> Any:
    """Give a defined operation its function, for "cpu", "default" or their like; a decorator without `func`.

    `impl(library, name, dispatch_key)` is a decorator of the function of an operation of a `Library`.

    >>> import tandem
    >>> tandem.library.define("docs::same", "(Tensor x) -> Tensor")
    >>> @tandem.library.impl("docs::same", "default")
    ... def same(x):
    ...     return x
    >>> tandem.ops.docs.same(3)
    3
    """
    if isinstance(qualname, Library):

        def give(function: Callable[..., Any]) -> Callable[..., Any]:
            qualname.impl(types, function, func or dispatch_key)
            return function

        return give
    asked = [types] if isinstance(types, str) else list(types)
    known = any(
        t.lower() in ("cpu", "default", "compositeimplicitautograd", "compositeexplicitautograd") for t in asked
    )

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if known:
            _found(qualname).register_kernel(None, function)
        return function

    if func is None:
        return register
    register(func)
    return None


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Takes what gives shapes without values, which `opcheck` alone asks for; the function, or a decorator.

    >>> import tandem
    >>> tandem.library.register_fake("docs::cube", abs) is abs
    True
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        known = op if isinstance(op, CustomOpDef) else _registered.get(op)
        return function if known is None else known.register_fake(function)

    return register if func is None else register(func)


impl_abstract = register_fake


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Give an operation its function for devices; see `CustomOpDef.register_kernel`.

    >>> import tandem
    >>> tandem.library.define("docs::third", "(Tensor x) -> Tensor")
    >>> f = tandem.library.register_kernel("docs::third", "cpu", lambda x: x / 3)
    >>> tandem.ops.docs.third(3.0)
    1.0
    """
    return _found(op).register_kernel(device_types, func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """Give an operation its derivative; see `custom_op`. RuntimeError if there is none of that name.

    >>> import tandem
    >>> tandem.library.define("docs::minus", "(Tensor x) -> Tensor")
    >>> tandem.library.register_autograd("docs::minus", lambda ctx, g: -g)
    """
    _found(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Takes a rule for vmap; see `CustomOpDef.register_vmap`.

    >>> import tandem
    >>> tandem.library.define("docs::plus", "(Tensor x) -> Tensor")
    >>> tandem.library.register_vmap("docs::plus", abs) is abs
    True
    """
    return _found(op).register_vmap(func)


class Library:
    """Operations of a namespace, defined and given functions one by one; `kind` is "DEF", "IMPL" or "FRAGMENT".

    >>> import tandem
    >>> lib = tandem.library.Library("docs_lib", "DEF")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: x * 2, "CPU")
    >>> tandem.ops.docs_lib.twice(tandem.ones(1))
    tensor([2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define the operation of a schema `name(arguments) -> results`; its name."""
        name = schema.split("(")[0].strip()
        define(f"{self.ns}::{name}")
        return name

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **options: Any) -> None:
        """Give an operation its function, for the dispatch key "CPU" or a composite one."""
        name = op_name if isinstance(op_name, str) else op_name.__name__
        impl(f"{self.ns}::{name.rpartition('::')[2]}", dispatch_key or self.dispatch_key or "default", fn)


from tandem._opcheck import opcheck as opcheck  # noqa: E402
