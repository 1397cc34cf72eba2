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
from typing import Any

from tandem import _C

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARY = os.path.dirname(os.__file__) + os.sep


class lazy:
    """Record operations instead of running them; what is needed runs when the block ends, or a value is read.

    Inside the block operations return tensors of known shape and dtype whose values are computed together, fused, when
    one is needed (`.item()`, `bool`, printing, `.numpy()`), at `tandem.eval(...)`, or at the end of the block. Any
    Python may stand in the block: it still runs.

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


class _Watch:
    """Watches which code a function enters, from construction to `stop`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.codes: set[types.CodeType] = set()
        self.names: dict[tuple[int, str | None], tuple[Any, str | None]] = {}
        self.containers: dict[int, tuple[Any, int]] = {}
        self.before = sys.getprofile()
        self.enter_callable(fn)
        sys.setprofile(self)

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        first = code.co_varnames[0] if code.co_argcount else None
        if first == "self":
            self.enter_container(frame.f_locals.get("self"))
        if code in self.codes:
            return
        self.codes.add(code)
        if not code.co_filename.startswith((_PACKAGE, _LIBRARY)):
            self.enter_code(code, frame.f_globals)

    def enter_container(self, owner: Any) -> None:
        attributes = getattr(owner, "__dict__", None)
        if isinstance(attributes, dict) and isinstance(attributes.get("_version"), int):
            # As it was first seen: what the function itself changes (an optimizer's first step makes its state) makes
            # the next call look different.
            self.containers.setdefault(id(owner), (owner, attributes["_version"]))

    def enter_callable(self, fn: Any) -> None:
        """Closure cells of a function, and of the functions found in them."""
        while isinstance(fn, functools.partial):
            fn = fn.func
        self.enter_container(getattr(fn, "__self__", None))
        self.enter_container(fn)
        fn = getattr(fn, "__func__", fn)
        if not isinstance(fn, types.FunctionType) or fn.__code__.co_filename.startswith((_PACKAGE, _LIBRARY)):
            return
        for cell in fn.__closure__ or ():
            if (id(cell), None) in self.names:
                continue
            self.names[id(cell), None] = (cell, None)
            try:
                self.enter_callable(cell.cell_contents)
            except ValueError:  # the cell is empty so far
                pass

    def enter_code(self, code: types.CodeType, namespace: dict[str, Any]) -> None:
        for name in code.co_names:
            if name in namespace and (id(namespace), name) not in self.names:
                self.names[id(namespace), name] = (namespace, name)
                self.enter_callable(namespace[name])

    def stop(self) -> tuple[list[tuple[Any, str | None]], list[tuple[Any, int]]]:
        """Ends the watch: (holder, name) of every global and cell; (container, version)."""
        sys.setprofile(self.before)
        return list(self.names.values()), list(self.containers.values())


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
    run-time values; ints, bools, strings and None are part of the signature. Reading a tensor's value inside is an
    error (`DataReadError`) that names the line. A whole training step, with `backward()` and `optimizer.step()`, may
    be compiled. `fullgraph`, `dynamic`, `backend`, `mode` and `options` are accepted for PyTorch's sake and change
    nothing.

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
