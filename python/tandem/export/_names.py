"""Names for the tensors that an exported function uses beside its arguments: those of the modules, optimizers and
tensors that its variables lead to."""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

import tandem
from tandem import Tensor
from tandem.nn.module import Module
from tandem.nn.parameter import is_lazy
from tandem.optim.optimizer import Optimizer

PARAMETER, BUFFER, OTHER = range(3)
_PLAIN = (str, bytes, int, float, complex)


def variables(fn: Callable[..., Any], seen: frozenset[int] = frozenset()) -> dict[str, Any]:
    """What a function's outer variables, its object, its bound arguments and its defaults hold, by name; and those of
    the functions that it calls, but for those in `seen`."""
    found: dict[str, Any] = {}
    if isinstance(fn, functools.partial):
        found.update({str(i): value for i, value in enumerate(fn.args)}, **fn.keywords)
        return {**found, **variables(fn.func, seen)}
    fn = inspect.unwrap(fn)
    owner = getattr(fn, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        found["self"] = owner
    code = getattr(fn, "__code__", None)
    if code is not None:
        found.update(_defaults(fn))
        names = dict.fromkeys(name for inner in _codes(code) for name in inner.co_names)
        found.update({name: fn.__globals__[name] for name in names if name in fn.__globals__})
        found.update(inspect.getclosurevars(fn).nonlocals)
        for value in list(found.values()):  # functions that it calls
            if (
                inspect.isfunction(value)
                and id(value) not in seen
                and not (value.__module__ or "").startswith("tandem")
            ):
                found = {**variables(value, seen | {id(value)}), **found}
    elif not isinstance(fn, Module):
        call = type(fn).__call__
        found = {**(variables(call, seen) if inspect.isfunction(call) else {}), "self": fn}
    return found


def _defaults(fn: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(fn).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _parts(name: str, value: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Modules, optimizers and tensors in a variable, each once."""
    waiting = [(name, value)]  # the next one last
    while waiting:
        name, value = waiting.pop()
        if value is None or isinstance(value, _PLAIN) or id(value) in seen:
            continue
        inner: Iterable[tuple[Any, Any]] = ()
        if isinstance(value, (Module, Optimizer, Tensor)):
            yield name, value
        elif isinstance(value, (list, tuple, deque)):
            inner = enumerate(value)
        elif isinstance(value, dict):
            inner = value.items()
        elif isinstance(value, type) or inspect.ismodule(value) or inspect.isroutine(value):
            continue
        else:
            inner = _attributes(value).items()
        seen.add(id(value))
        waiting += reversed([(f"{name}.{key}", item) for key, item in inner if not isinstance(item, _PLAIN)])


def _attributes(value: Any) -> dict[str, Any]:
    """What an object has in its dict and in its slots."""
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def _memory(tensor: Tensor) -> Tensor:
    """The tensor, or where it has elements more than once, as an expanded one, the memory that it reaches over."""
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    if reach >= tensor.numel():
        return tensor.detach()
    return tensor.detach().as_strided((reach,), (1,), tensor.storage_offset())


class State:
    """The tensors that functions to be exported use, by name, and the optimizers that they step."""

    def __init__(self, functions: list[Callable[..., Any]]) -> None:
        self.tensors: dict[str, tuple[int, Tensor]] = {}
        self.optimizers: list[tuple[str, Optimizer]] = []
        self._known: set[int] = set()
        self._nameless: list[Tensor] = []
        seen: set[int] = set()
        parts: list[tuple[str, Any]] = []
        for fn in functions:
            if isinstance(fn, Module):
                parts += _parts("", fn, seen)
            else:
                for name, value in variables(fn).items():
                    parts += _parts(name, value, seen)
        modules = [(name, part) for name, part in parts if isinstance(part, Module)]
        # A module inside another one has that one's names.
        inner = {id(child) for _, m in modules for child in m.modules() if child is not m}
        modules = [(name, m) for name, m in modules if id(m) not in inner]
        waiting = [("" if len(modules) == 1 else name, m) for name, m in modules]
        named = {id(m) for _, module in waiting for m in module.modules()}
        while waiting:
            name, module = waiting.pop(0)
            self._module(name, module)
            others = list(self._others(name, module, seen))
            parts += others
            # Modules that no module has as its own, as in a list.
            for inside, part in others:
                if isinstance(part, Module) and id(part) not in named:
                    waiting.append((inside, part))
                    named |= {id(m) for m in part.modules()}
        for name, part in parts:
            if isinstance(part, Tensor):
                self._add(name, OTHER, part)
            elif isinstance(part, Optimizer):
                self.optimizers.append((name, part))
        self.find_made()

    def _add(self, name: str, kind: int, tensor: Tensor, again: bool = False) -> None:
        """`again`: a tensor may have several names, as a tied weight has."""
        if is_lazy(tensor):
            raise RuntimeError(f"export: {name} is not initialized: call its module once before")
        if (id(tensor) in self._known and not again) or not name:
            return
        self._known.add(id(tensor))
        unique, n = name, 1
        while unique in self.tensors:
            unique, n = f"{name}.{n}", n + 1
        self.tensors[unique] = (kind, tensor)

    def _module(self, prefix: str, module: Module) -> None:
        dot = f"{prefix}." if prefix else ""
        for name, parameter in module.named_parameters(remove_duplicate=False):
            self._add(dot + name, PARAMETER, parameter, again=True)
        for name, buffer in module.named_buffers(remove_duplicate=False):
            self._add(dot + name, BUFFER, buffer, again=True)

    @staticmethod
    def _others(prefix: str, module: Module, seen: set[int]) -> Iterator[tuple[str, Any]]:
        """What a module and those in it hold beside parameters, buffers and modules, as a cache that is no buffer."""
        for path, part in module.named_modules():
            for key, value in vars(part).items():
                if key not in ("_parameters", "_buffers", "_modules"):
                    yield from _parts(".".join(filter(None, (prefix, path, key))), value, seen)

    def find_nameless(self, used: list[Tensor]) -> None:
        """Of the tensors that a function uses keep those that no name leads to: `snapshot` is of them, too."""
        for tensor in used:
            if id(tensor) not in self._known:
                self._known.add(id(tensor))
                self._nameless.append(tensor)

    def with_gradients(self) -> set[str]:
        """The names of those that have a gradient now."""
        return {name for name, (_, tensor) in self.tensors.items() if tensor.grad is not None}

    def find_made(self) -> bool:
        """Name what a step may make: gradients, and what optimizers keep for each parameter. Did they make more?"""
        for name, (_, tensor) in list(self.tensors.items()):
            if tensor.grad is not None:
                self.tensors[f"{name}.grad"] = OTHER, tensor.grad
        known = len(self.tensors)
        names = {id(tensor): name for name, (_, tensor) in self.tensors.items()}
        for name, optimizer in self.optimizers:
            numbered = (p for group in optimizer.param_groups for p in group["params"])
            for number, parameter in enumerate(numbered):
                where = names.get(id(parameter), str(number))
                for key, value in optimizer.state.get(parameter, {}).items():
                    for inner, tensor in _parts(f"{name}.{where}.{key}", value, set()):
                        self._add(inner, OTHER, tensor)
        return len(self.tensors) > known

    def named(self) -> list[tuple[str, int, Tensor]]:
        """(name, kind, tensor) of each."""
        return [(name, kind, tensor) for name, (kind, tensor) in self.tensors.items()]

    def snapshot(self) -> Callable[[], None]:
        """What puts tensors, gradients and the random generators back to what they are now."""
        tensors = [*(t for _, t in self.tensors.values()), *self._nameless]
        values = [(t, _memory(t), _memory(t).clone(), t.grad) for t in tensors]
        generator = tandem.get_rng_state()
        on_gpus = tandem.cuda.get_rng_state_all() if tandem.cuda.is_initialized() else []

        def restore() -> None:
            with tandem.no_grad():
                for tensor, memory, value, grad in values:
                    memory.copy_(value)
                    tensor.grad = grad
            tandem.set_rng_state(generator)
            if on_gpus:
                tandem.cuda.set_rng_state_all(on_gpus)

        return restore
