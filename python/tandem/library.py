"""`tandem.library`: operations of one's own, written in Python, that run as they are called and have a derivative."""

from __future__ import annotations

import contextlib
import functools
import inspect
import weakref
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
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
    "triton_op",
]

_registered: dict[str, CustomOpDef] = {}
_early: dict[str, list[tuple[Any, Callable[..., Any]]]] = {}  # functions of operations that are not defined yet
_DEVICES = ("cpu", "cuda", "meta")
_COMPOSITE = ("compositeimplicitautograd", "compositeexplicitautograd", "compositeexplicitautogradnonfunctional")
# What else may follow "Autograd", "Autocast", "Sparse" and their like, and is no device here.
_ELSEWHERE = "xpu mps hpu xla ipu ve lazy mtia maia fpga vulkan mkldnncpu privateuse1 privateuse2 privateuse3".split()
_OTHER_KEYS = (
    "backendselect python fake functionalize named conjugate negative zerotensor adinplaceorview tracer batched "
    "functorchbatched vmapmode compositeimplicitautogradnestedtensor nestedtensor sparse sparsecsr quantized other"
).split()


def _qualified(name: str) -> str:
    if name.count("::") != 1 or name.startswith("::") or name.endswith("::"):
        raise ValueError(f"the name of an operation is 'namespace::name', got '{name}'")
    return name


def _found(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _registered:
        raise RuntimeError(f"operator {op} does not exist: define it first")
    return _registered[op]


def _dispatch_key(key: str) -> str:
    """A dispatch key in small letters; RuntimeError for a word that is none."""
    small = key.lower()
    rest = small
    for kind in ("autograd", "autocast", "sparsecsr", "sparse", "quantized", "nestedtensor"):
        rest = rest.removeprefix(kind)
    if rest and rest not in (*_DEVICES, *_COMPOSITE, *_ELSEWHERE, *_OTHER_KEYS, "default"):
        raise RuntimeError(f"could not parse dispatch key: {key}")
    return small


def _known_schema(name: str, function: Callable[..., Any], mutates: Any, text: str | None) -> Schema:
    """The schema that is given, or that the annotations say."""
    if text is not None:
        known = read_schema(text)
        if mutates != "unknown" and set(mutates) != set(known.mutates):
            raise ValueError(
                f"custom_op of {name} with mutates_args={set(mutates)} and schema='{text}', which says that the op "
                f"mutates {set(known.mutates)}"
            )
        return known
    return read_schema(infer_schema(function, mutates_args=mutates))


def _add(op: CustomOpDef, *, again: bool = False) -> None:
    """Have an operation found by its name, and an overload `namespace::name.overload` by that of its base. RuntimeError
    for a second one, but `again` for one of `custom_op` in place of another."""
    base, _, overload = op._qualname.partition(".")
    before = _registered.get(op._qualname)
    if before is not None and not (again and before._own_results) and before._defined:
        raise RuntimeError(
            f"Tried to register an operator ({op._qualname}) with the same name and overload name multiple times. "
            "Each overload's schema should only be registered with a single call to def()."
        )
    if before is not None and not again:
        op._overloads = before._overloads
    _registered[op._qualname] = op
    if overload:
        if base not in _registered:
            _registered[base] = CustomOpDef(base)
            _registered[base]._defined = False
        _registered[base]._overloads[overload] = op
    for kinds, function in _early.pop(op._qualname, ()):
        _give(op, kinds, function)


def _give(op: CustomOpDef, kinds: Sequence[str], function: Callable[..., Any]) -> None:
    """Give an operation its function for kinds of devices, or for dispatch keys."""
    for kind in kinds:
        if kind == "default" or kind in _COMPOSITE:
            op.register_kernel(None, function)
            op._composite = kind == "compositeimplicitautograd"
        elif kind in _DEVICES:
            op.register_kernel(kind, function)
        elif kind in ("autograd", "autogradcpu", "autogradcuda"):
            op._above[kind.removeprefix("autograd")] = function


def _take(op: CustomOpDef, kinds: Sequence[str], function: Callable[..., Any]) -> None:
    """Take back what `_give` gave, where nothing else was given since."""
    for kind in kinds:
        if op._function is function:
            op._function, op._composite = None, False
        for given, name in ((op._by_device, kind), (op._above, kind.removeprefix("autograd"))):
            if given.get(name) is function:
                del given[name]


def _removed(qualname: str) -> None:
    """Have an operation that was defined found no more."""
    _registered.pop(qualname, None)
    base, _, overload = qualname.partition(".")
    if overload and base in _registered:
        _registered[base]._overloads.pop(overload, None)


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
    the annotations say, as of `infer_schema`. An operation of that name that `custom_op` made before is replaced.

    Raises:
        ValueError: a name of another form, or what `infer_schema` raises it for.
        RuntimeError: the operation was defined by `define`.
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
        if known.keyword_tensors:
            raise NotImplementedError(f"custom_op of {name} with kwarg-only Tensor args")
        op = CustomOpDef(_qualified(name), known, inspect.signature(function) if schema is None else None)
        op.register_kernel(device_types, function)
        op._first = function
        op._own_results = True
        op.tags = _tags(tags)
        op.__doc__ = function.__doc__
        _add(op, again=True)
        return op

    return register if fn is None else register(fn)


triton_op = custom_op


def define(qualname: Any, schema: Any = None, alias_analysis: str = "", *, lib: Any = None, tags: Any = None) -> Any:
    """Define an operation, to which `impl` gives a function; with a `Library` and a schema, a decorator of that.

    With `lib` it is there as long as that library is.

    Raises:
        RuntimeError: there is one of that name, or the schema is none.
        ValueError: a name or a schema of another form.

    >>> import tandem
    >>> tandem.library.define("docs::half", "(Tensor x) -> Tensor")
    >>> tandem.library.impl("docs::half", "cpu", lambda x: x / 2)
    >>> tandem.ops.docs.half(tandem.ones(1))
    tensor([0.5000])
    """
    if isinstance(qualname, Library):
        name = qualname.define(schema, alias_analysis, tags=tags)
        return impl(qualname, name)
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be a str, but got {type(qualname).__name__}")
    if not isinstance(schema, str):
        raise TypeError(f"define(qualname, schema): expected schema to be a str, but got {type(schema).__name__}")
    if not schema.lstrip().startswith("("):
        raise ValueError(
            f'define(qualname, schema): expected schema to look like "(Tensor x) -> Tensor", but got "{schema}"'
        )
    op = CustomOpDef(_qualified(qualname), read_schema(schema))
    op.tags = _tags(tags)
    _add(op)
    if lib is not None:
        lib._keep(_removed, qualname)
    return None


def _tags(tags: Any) -> list[Any]:
    return [] if tags is None else list(tags) if isinstance(tags, list | tuple) else [tags]


def impl(qualname: Any, types: Any, func: Any = None, dispatch_key: str = "", *, lib: Any = None) -> Any:
    """Give an operation its function, for "cpu", "default" or their like; a decorator without `func`. The operation may
    be defined later.

    Its derivative is that of `register_autograd`; for "CompositeImplicitAutograd" that of the operations it calls. The
    function for "Autograd" is called first, and calls the operation again in `_C._AutoDispatchBelowAutograd()`.

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
    asked = [_dispatch_key(t) for t in ([types] if isinstance(types, str) else types)]

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if not isinstance(qualname, str) or qualname in _registered or qualname.startswith("aten::"):
            _give(_found(qualname), asked, function)
        else:
            _early.setdefault(_qualified(qualname), []).append((asked, function))
        if lib is not None:
            lib._keep(_given_back, qualname, asked, function)
        return function

    if func is None:
        return register
    register(func)
    return None


def _given_back(qualname: Any, kinds: Sequence[str], function: Callable[..., Any]) -> None:
    """Take a function back from an operation, or from those that wait for one."""
    op = qualname if isinstance(qualname, CustomOpDef) else _registered.get(qualname)
    if op is not None:
        _take(op, kinds, function)
    elif qualname in _early:
        _early[qualname] = [(k, f) for k, f in _early[qualname] if f is not function]


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Takes what gives results without values, for the device "meta" and `opcheck`; the function, or a decorator.
    RuntimeError if there is no operation of that name.

    >>> import tandem
    >>> tandem.library.define("docs::size", "(Tensor x) -> Tensor")
    >>> tandem.library.register_fake("docs::size", abs) is abs
    True
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        return _found(op).register_fake(function)

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


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Have an operation run in a dtype where `autocast` is on for a device; see `CustomOpDef.register_autocast`.

    >>> import tandem
    >>> tandem.library.define("docs::thirds", "(Tensor x) -> Tensor")
    >>> tandem.library.impl("docs::thirds", "cpu", lambda x: x / 3)
    >>> tandem.library.register_autocast("docs::thirds", "cpu", tandem.bfloat16)
    >>> with tandem.autocast("cpu"):
    ...     tandem.ops.docs.thirds(tandem.ones(1))
    tensor([0.3340], dtype=tandem.bfloat16)
    """
    _found(op).register_autocast(device_type, cast_inputs)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Give an operation its rule of vmap; see `CustomOpDef.register_vmap`.

    >>> import tandem
    >>> tandem.library.define("docs::plus", "(Tensor x) -> Tensor")
    >>> tandem.library.register_vmap("docs::plus", abs) is abs
    True
    """
    return _found(op).register_vmap(func)


class Library:
    """Operations of a namespace, defined and given functions one by one; `kind` is "DEF" (one a namespace), "IMPL"
    (which defines none) or "FRAGMENT". They are there as long as the object is.

    Raises:
        RuntimeError: a second "DEF" of a namespace, a definition in an "IMPL" or of another namespace, an operation
            that is defined already, a word that is no dispatch key.
        ValueError: another kind, or a namespace that is reserved.
        TypeError: a function that cannot be called.

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
        if ns == "prim" or (ns == "aten" and kind == "DEF"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if dispatch_key:
            _dispatch_key(dispatch_key)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Callable[[], None]] = []
        if kind == "DEF":
            if ns in _whole:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; use a library of the "
                    'kind "FRAGMENT" or "IMPL" for more.'
                )
            _whole.add(ns)
            self._keep(_whole.discard, ns)
        weakref.finalize(self, _undo, self._undo).atexit = False

    def _keep(self, undo: Callable[..., Any], *args: Any) -> None:
        """What to call when the library is gone."""
        self._undo.append(functools.partial(undo, *args))

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define the operation of a schema `name(arguments) -> results`; its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        known = read_schema(schema)
        namespace, _, name = known.name.rpartition("::")
        if namespace not in ("", self.ns):
            raise RuntimeError(f"the namespace {namespace} of the schema is not that of the library, {self.ns}")
        if self.kind == "IMPL":
            raise RuntimeError(f'def("{name}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.')
        op = CustomOpDef(f"{self.ns}::{name}", known)
        op.tags = _tags(tags)
        _add(op)
        self._keep(_removed, op._qualname)
        return name

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **options: Any) -> None:
        """Give an operation its function, for the dispatch key "CPU" or a composite one."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = op_name if isinstance(op_name, str) else op_name.__name__
        key = dispatch_key or self.dispatch_key or "default"
        impl(f"{self.ns}::{name.rpartition('::')[2]}", key, fn, lib=self)

    def _destroy(self) -> None:
        """Take back what was defined, and the functions that were given."""
        _undo(self._undo)


_whole: set[str] = set()  # namespaces of libraries of the kind "DEF"


def _undo(steps: list[Callable[[], None]]) -> None:
    while steps:
        steps.pop()()


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A `Library` whose operations are there in a block alone."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


from tandem._opcheck import opcheck as opcheck  # noqa: E402
