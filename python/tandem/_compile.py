"""`tandem.lazy` and `tandem.compile`: the parts that are Python.

What a compiled function depends on beside its arguments is found by watching the code it enters while it is traced:
globals and closure cells named there are guarded by identity, modules and optimizers whose methods were entered by
their `_version`. The guards themselves are checked in C++ (python/src/compiled_function.cpp).
"""

from __future__ import annotations

import functools
import os
import sys
import types
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

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARY = os.path.dirname(os.__file__) + os.sep


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


_MISSING = object()
_MOST_ITEMS = 256  # of a list or dict that is guarded by its items


def _items(value: Any) -> tuple[Any, ...]:
    """The items of a list, or keys and values of a dict, as they are now."""
    return tuple(value) if isinstance(value, list) else tuple(x for item in value.items() for x in item)


class _Watch:
    """Watches which code a function enters, from construction to `stop`, and so what it depends on.

    What the function itself changes while it is traced is its state, not something it depends on, and is not guarded.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.codes: set[types.CodeType] = set()
        self.names: dict[tuple[int, str | None], tuple[Any, str | None, Any]] = {}
        self.collections: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.containers: dict[int, tuple[Any, int]] = {}
        self.owners: dict[int, Any] = {}
        self.before = sys.getprofile()
        self.enter_value(fn)
        sys.setprofile(self)

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        first = code.co_varnames[0] if code.co_argcount else None
        if first == "self":
            self.enter_owner(frame.f_locals.get("self"))
        if code in self.codes:
            return
        self.codes.add(code)
        if code.co_filename.startswith((_PACKAGE, _LIBRARY)):
            return
        for name in code.co_names:
            if name in frame.f_globals:
                self.enter_name(frame.f_globals, name)
        if code.co_freevars:
            self.enter_attribute_functions(code)

    def enter_owner(self, owner: Any) -> None:
        """An object whose method is entered; modules and optimizers count their changes."""
        attributes = getattr(owner, "__dict__", None)
        if not isinstance(attributes, dict):
            return
        self.owners.setdefault(id(owner), owner)
        if isinstance(attributes.get("_version"), int):
            # As it was first seen: what the function itself changes (an optimizer's first step makes its state) makes
            # the next call look different.
            self.containers.setdefault(id(owner), (owner, attributes["_version"]))

    def enter_attribute_functions(self, code: types.CodeType) -> None:
        """Functions reached through an attribute: their closure cells."""
        for owner in list(self.owners.values()):
            for value in list(owner.__dict__.values()):
                if getattr(value, "__code__", None) is code:
                    self.enter_value(value)

    def enter_name(self, holder: Any, name: str | None) -> None:
        """A global (`holder` is the namespace) or a closure cell (`name` is None)."""
        if (id(holder), name) in self.names:
            return
        if name is not None:
            value = holder.get(name, _MISSING)
        else:
            try:
                value = holder.cell_contents
            except ValueError:  # empty so far
                value = _MISSING
        self.names[id(holder), name] = (holder, name, value)
        self.enter_value(value)

    def enter_value(self, value: Any) -> None:
        """What is reached through a name: cells of functions, items of lists and dicts, versions of containers."""
        while isinstance(value, functools.partial):
            value = value.func
        if isinstance(value, list | dict):
            if len(value) <= _MOST_ITEMS and id(value) not in self.collections and "__builtins__" not in value:
                self.collections[id(value)] = (value, _items(value))
                for item in value if isinstance(value, list) else value.values():
                    self.enter_value(item)
            return
        self.enter_owner(getattr(value, "__self__", None))
        if isinstance(getattr(value, "_version", None), int) and not isinstance(value, type | _C.Tensor):
            self.enter_owner(value)
        fn = getattr(value, "__func__", value)
        if isinstance(fn, types.FunctionType) and not fn.__code__.co_filename.startswith((_PACKAGE, _LIBRARY)):
            for cell in fn.__closure__ or ():
                self.enter_name(cell, None)

    def stop(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Ends the watch: (holder, name) of globals and cells, (container, version), (list or dict, items)."""
        sys.setprofile(self.before)
        names = []
        for holder, name, value in self.names.values():
            now = holder.get(name, _MISSING) if name is not None else _cell_value(holder)
            if now is value:
                names.append((holder, name))
        collections = []
        for value, items in self.collections.values():
            now = _items(value)
            if len(now) == len(items) and all(a is b for a, b in zip(now, items, strict=True)):
                collections.append((value, items))
        return names, list(self.containers.values()), collections


def _cell_value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


class Compiled(Protocol[P, R_co]):
    """The type of a compiled function: called as the function was, bound as a method is."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """What the function returns."""
        ...

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """What is traced, fused and compiled for these arguments."""
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
    fn: M,
    *,
    fullgraph: bool = True,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> M: ...
@overload
def compile(  # noqa: A001
    fn: Callable[P, R],
    *,
    fullgraph: bool = True,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Compiled[P, R]: ...
@overload
def compile(  # noqa: A001
    fn: None = None,
    *,
    fullgraph: bool = True,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> _Decorator: ...
def compile(  # noqa: A001
    fn: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = True,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Compile a function, method or module: its Python body runs once per signature, calls then run fused kernels.

    The result behaves as `fn` does, bit for bit. Tensors that `fn` closes over (parameters, buffers, optimizer state)
    are read again at each call and in-place writes to them are done in place; float arguments and learning rates are
    run-time values; ints, bools, strings and None are part of the signature. A whole training step, with `backward()`
    and `optimizer.step()`, may be compiled.

    Views among the results share memory as they would without; of a value that nothing but a view of a small part of it
    sees, only that part is computed and kept, so that `storage_offset()` may differ.

    Args:
        fn: what to compile; without it, a decorator that does.
        fullgraph, dynamic, backend, mode, options: accepted for PyTorch's sake; they change nothing.
        disable: return `fn` itself.

    Raises:
        TypeError: `fn` cannot be called.
        DataReadError: in a call: the body reads a tensor's value; it names the line.

    `compiled.explain(*args)` tells what was traced, fused and compiled.

    >>> import tandem
    >>> @tandem.compile
    ... def f(x, scale):
    ...     return tandem.tanh(x) * scale
    >>> f(tandem.zeros(2), 3.0).tolist()
    [0.0, 0.0]
    """
    if fn is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if disable:
        return fn
    from tandem.nn.module import Module

    if isinstance(fn, Module):
        return _compile_module(fn)
    if not callable(fn):
        raise TypeError(f"compile: expected a function, method or module, got {type(fn).__name__}")
    compiled = _C.CompiledFunction(fn, _Watch)
    functools.update_wrapper(compiled, fn)
    return compiled


def _compile_module(module: Any) -> Any:
    from tandem.nn.module import Module

    class CompiledModule(Module):
        """A module whose calls are compiled; everything else is the original's."""

        def __init__(self) -> None:
            super().__init__()
            self._orig_mod = module
            object.__setattr__(self, "_compiled", _C.CompiledFunction(module, _Watch))

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self._compiled(*args, **kwargs)

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return self._compiled(*args, **kwargs)

        def explain(self, *args: Any, **kwargs: Any) -> str:
            return self._compiled.explain(*args, **kwargs)

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.__dict__["_modules"]["_orig_mod"], name)

        def train(self, mode: bool = True) -> Any:
            self._orig_mod.train(mode)
            return super().train(mode)

    return CompiledModule()
