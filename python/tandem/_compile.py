"""`tandem.lazy` and `tandem.compile`: the parts that are Python.

When a call may skip a function's body is decided in C++: python/src/observer.h watches the body, python/src/guards.h
checks what it read.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from tandem import _C

if TYPE_CHECKING:
    from tandem.nn.module import Module

    M = TypeVar("M", bound=Module)

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class lazy:
    """Record operations instead of running them; what is needed runs when the block ends, or a value is read.

    Inside the block operations return tensors of known shape and dtype whose values are computed together, fused, when
    one is needed (`.item()`, `bool`, printing, `.numpy()`), at `tandem.eval(...)`, or at the end of the block. Any
    Python may stand in the block: it still runs. Values and gradients have the same bits as without it.

    >>> import tandem
    >>> with tandem.lazy():
    ...     y = (tandem.ones(3) * 2 + 1).sum()
    >>> y.item()
    9.0
    """

    def __enter__(self) -> lazy:
        _C._lazy_enter()
        return self

    def __exit__(self, *exc: object) -> None:
        _C._lazy_exit()


class Compiled(Protocol[P, R_co]):
    """The type of a compiled function: called as the function was, bound as a method is."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """What the function returns."""
        ...

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Whether calls with these arguments run the body and why; what is traced, fused and compiled."""
        ...

    @property
    def runs(self) -> int:
        """How often the body ran."""
        ...

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Compiled[P, R_co]: ...
    @overload
    def __get__(
        self: Compiled[Concatenate[Any, Q], R_co], instance: object, owner: Any = None
    ) -> Compiled[Q, R_co]: ...


class _Decorator(Protocol):
    """`compile` with options and without a function."""

    @overload
    def __call__(self, fn: M, /) -> M: ...  # type: ignore[overload-overlap]  # a module is a callable, too
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Compiled[P, R]: ...


@overload
def compile(  # type: ignore[overload-overlap]  # noqa: A001
    model: M,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    name: str | None = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool | None = None,
    shapes_spec: Any = None,
) -> M: ...
@overload
def compile(  # noqa: A001
    model: Callable[P, R],
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    name: str | None = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool | None = None,
    shapes_spec: Any = None,
) -> Compiled[P, R]: ...
@overload
def compile(  # noqa: A001
    model: None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    name: str | None = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool | None = None,
    shapes_spec: Any = None,
) -> _Decorator: ...
def compile(  # noqa: A001
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    name: str | None = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool | None = None,
    shapes_spec: Any = None,
) -> Any:
    """Compile a function, method or module: calls give what it gives, bit for bit, and run fused kernels.

    The body is watched while it runs. Where it is proved that everything it read is unchanged, that it changed nothing
    but tensors, and that what it returned can be built again, later calls run a plan instead of the body; any other
    body runs on every call, and its operations are recorded and run fused. `docs/compile.md` says what is understood.

    Tensors that `model` closes over (parameters, buffers, optimizer state) are read again at each call and writes to
    them are done in place; float arguments and learning rates are run-time values; ints, bools, strings and None are
    part of the signature. A whole training step, with `backward()` and `optimizer.step()`, may be compiled.

    Views among the results share memory as they would without; of a value that nothing but a view of a small part of it
    sees, only that part is computed and kept, so that `storage_offset()` may differ.

    Args:
        model: what to compile; without it, a decorator that does.
        fullgraph: where calls would need the body, raise an error that names the line and why. What happens inside
            operations of `tandem.library` is no error; where it needs the body, that runs on every call.
        disable: return `model` itself.
        dynamic, backend, mode, options, name, recompile_limit, isolate_recompiles, shapes_spec: accepted for PyTorch's
            sake; they change nothing.

    Raises:
        TypeError: `model` cannot be called.
        DataReadError: in a call, with `fullgraph`: the body reads a tensor's value; it names the line.
        RuntimeError: in a call, with `fullgraph`: the body does something else that a plan cannot stand for.

    `compiled.explain(*args)` tells whether calls run the body and why, and what was fused and compiled.

    >>> import tandem
    >>> @tandem.compile
    ... def f(x, scale):
    ...     return tandem.tanh(x) * scale
    >>> f(tandem.zeros(2), 3.0).tolist()
    [0.0, 0.0]
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, disable=disable)
    if disable:
        return model
    from tandem.nn.module import Module

    if isinstance(model, Module):
        return _compile_module(model, fullgraph)
    if not callable(model):
        raise TypeError(f"compile: expected a function, method or module, got {type(model).__name__}")
    compiled = _C.CompiledFunction(model, fullgraph)
    functools.update_wrapper(compiled, model)
    return compiled


class OptimizedModule:
    """What a compiled module adds to the class of the module, so that `isinstance` knows it: its calls are compiled.

    It shares the module's attributes (one `__dict__`), so whatever is set, hooked or loaded on either is on both.
    """

    __slots__ = ()

    _orig_mod: Any
    _compiled: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Whether calls with these arguments run the module's code and why; what was fused and compiled."""
        return self._compiled.explain(*args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _compile_module, (self._orig_mod, self._compiled.fullgraph)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _compile_module(copy.deepcopy(self._orig_mod, memo), self._compiled.fullgraph)


# Kept alive by its instances alone: it refers to the class of the module, which may be made in a function.
_compiled_classes: weakref.WeakKeyDictionary[type, weakref.ref[type]] = weakref.WeakKeyDictionary()


def _compile_module(module: Any, fullgraph: bool) -> Any:
    if isinstance(module, OptimizedModule):
        module = module._orig_mod
    cls = type(module)
    known = _compiled_classes.get(cls)
    made = None if known is None else known()
    if made is None:
        names = {"__slots__": ("_orig_mod", "_compiled"), "__module__": cls.__module__, "__doc__": cls.__doc__}
        kind: Any = type(cls)
        made = kind(cls.__name__, (OptimizedModule, cls), names)
        _compiled_classes[cls] = weakref.ref(made)
    compiled = object.__new__(made)
    object.__setattr__(compiled, "__dict__", module.__dict__)
    object.__setattr__(compiled, "_orig_mod", module)
    object.__setattr__(compiled, "_compiled", _C.CompiledFunction(module, fullgraph))
    return compiled
