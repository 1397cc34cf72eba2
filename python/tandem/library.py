"""`tandem.library`: operations of one's own, written in Python, that run as they are called and have a derivative."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tandem._custom_ops import CustomOpDef
from tandem._schemas import Schema, infer_schema, read_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
    "triton_op",
]

_registered: dict[str, CustomOpDef] = {}
_DEVICES = ("cpu", "cuda", "meta")


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


def _known_schema(name: str, function: Callable[..., Any], mutates: Any, text: str | None) -> Schema | None:
    """The schema that is given, or that the annotations say; None for a function without any."""
    if text is not None:
        known = read_schema(text)
        if mutates != "unknown" and set(mutates) != set(known.mutates):
            raise ValueError(
                f"custom_op of {name} with mutates_args={set(mutates)} and schema='{text}', which says that the op "
                f"mutates {set(known.mutates)}"
            )
        return known
    signature = inspect.signature(function)
    annotations = [p.annotation for p in signature.parameters.values()] + [signature.return_annotation]
    if any(a is not signature.empty for a in annotations):
        return read_schema(infer_schema(function, mutates_args=mutates))
    if isinstance(mutates, str) and mutates != "unknown":
        raise ValueError("mutates_args must either be a sequence of the names of arguments or the string 'unknown'.")
    if unknown := set() if mutates == "unknown" else set(mutates) - set(signature.parameters):
        raise ValueError(f"{unknown} in mutates_args were not found in the signature of {name}: {signature}")
    return None


def _add(op: CustomOpDef) -> None:
    """Have an operation found by its name, and an overload `namespace::name.overload` by that of its base."""
    base, _, overload = op._qualname.partition(".")
    _registered[op._qualname] = op
    if overload:
        _registered.setdefault(base, CustomOpDef(base))._overloads[overload] = op


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
    pass raises RuntimeError. What `mutates_args` names counts as written to by each call; results must have memory of
    their own (RuntimeError). `device_types` says what devices the function is for. The arguments are what `schema` or
    the annotations say, as of `infer_schema`; a function without any annotation is taken as it is.

    Raises:
        ValueError: a name of another form, or what `infer_schema` raises it for.
        NotImplementedError: tensors among the arguments that are keywords only; a call on a device without a function.

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
        known = _known_schema(name, function, mutates_args, schema)
        if known is not None and known.keyword_tensors:
            raise NotImplementedError(f"custom_op of {name} with kwarg-only Tensor args")
        op = CustomOpDef(_qualified(name), known, inspect.signature(function) if schema is None else None)
        op.register_kernel(device_types, function)
        op._first = function
        op._own_results = True
        if known is None:
            parameters = list(inspect.signature(function).parameters)
            op._mutates = parameters if mutates_args == "unknown" else tuple(mutates_args)
        op.__doc__ = function.__doc__
        _add(op)
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
    known = read_schema(schema) if isinstance(schema, str) else None
    if _qualified(qualname) not in _registered:
        _add(CustomOpDef(qualname, known))
    return None


def impl(qualname: Any, types: Any, func: Any = None, dispatch_key: str = "", *, lib: Any = None) -> Any:
    """Give a defined operation its function, for "cpu", "default" or their like; a decorator without `func`.

    Its derivative is that of `register_autograd`; for "CompositeImplicitAutograd" that of the operations it calls.

    `impl(library, name, dispatch_key)` is a decorator of the function of an operation of a `Library`.

    >>> import tandem
    >>> tandem.library.define("docs::same", "(Tensor x) -> Tensor")
    >>> @tandem.library.impl("docs::same", "default")
    ... def same(x):
    ...     return x
    >>> tandem.ops.docs.same(tandem.ones(1))
    tensor([1.])
    """
    if isinstance(qualname, Library):

        def give(function: Callable[..., Any]) -> Callable[..., Any]:
            qualname.impl(types, function, func or dispatch_key)
            return function

        return give
    asked = [t.lower() for t in ([types] if isinstance(types, str) else types)]
    for_all = ("default", "compositeimplicitautograd", "compositeexplicitautograd")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        op = _found(qualname)
        for kind in asked:
            if kind in for_all:
                op.register_kernel(None, function)
                op._composite = kind == "compositeimplicitautograd"
            elif kind in _DEVICES:
                op.register_kernel(kind, function)
        return function

    if func is None:
        return register
    register(func)
    return None


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Takes what gives results without values, for the device "meta" and `opcheck`; the function, or a decorator.

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
    >>> tandem.ops.docs.third(tandem.tensor([3.0]))
    tensor([1.])
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
    """Give an operation its rule of vmap; see `CustomOpDef.register_vmap`.

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
        self._defined: list[str] = []

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define the operation of a schema `name(arguments) -> results`; its name."""
        known = read_schema(schema)
        name = known.name.rpartition("::")[2]
        qualname = f"{self.ns}::{name}"
        if qualname not in _registered:
            _add(CustomOpDef(qualname, known))
            self._defined.append(qualname)
        return name

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **options: Any) -> None:
        """Give an operation its function, for the dispatch key "CPU" or a composite one."""
        name = op_name if isinstance(op_name, str) else op_name.__name__
        impl(f"{self.ns}::{name.rpartition('::')[2]}", dispatch_key or self.dispatch_key or "default", fn)

    def _destroy(self) -> None:
        """Take back what was defined."""
        for qualname in self._defined:
            _registered.pop(qualname, None)
            base, _, overload = qualname.partition(".")
            if overload and base in _registered:
                _registered[base]._overloads.pop(overload, None)
        self._defined.clear()


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A `Library` whose operations are there in a block alone."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


from tandem._opcheck import opcheck as opcheck  # noqa: E402
