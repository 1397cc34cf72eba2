"""`tandem.utils.module_tracker`: which modules are running, in the forward and in the backward."""

from __future__ import annotations

import weakref
from typing import Any

from tandem import _C
from tandem.autograd.graph import register_multi_grad_hook
from tandem.nn import Module
from tandem.nn.global_hooks import register_module_forward_hook, register_module_forward_pre_hook
from tandem.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A block in which `parents` is the set of the names of the modules that run, and "Global".

    A module's name is that of the class of the outermost one, and what leads from there. In a backward it is in the set
    from when the gradient of an output is known until those of all inputs are; of inputs without gradient until the
    end.

    >>> import tandem
    >>> from tandem.utils.module_tracker import ModuleTracker
    >>> class Shows(tandem.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents), tracker.is_bw)
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     y = tandem.nn.Sequential(Shows())(tandem.ones(1))
    ['Global', 'Sequential', 'Sequential.0'] False
    """

    #: The names of the modules that run.
    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._ends: set[int] = set()

    @property
    def is_bw(self) -> bool:
        """Does a backward run?"""
        return _C._current_graph_task_id() != -1

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _name_of(self, module: Module) -> str:
        """What the module is called; those below are named with it, unless they were before."""
        name = self._names.setdefault(module, type(module).__name__)
        for key, child in module.named_children():
            if child not in self._names:
                self._names[child] = f"{name}.{key}"
                self._name_of(child)
        return name

    def _before(self, module: Module, args: Any) -> None:
        name = self._name_of(module)
        self.parents.add(name)
        if not self.is_bw and (tensors := _with_gradient(args)):
            self._handles.append(register_multi_grad_hook(tensors, lambda _: self.parents.discard(name)))

    def _after(self, module: Module, args: Any, output: Any) -> None:
        name = self._name_of(module)
        self.parents.discard(name)
        if not self.is_bw and (tensors := _with_gradient(output)):
            self._handles.append(register_multi_grad_hook(tensors, lambda _: self._enter(name), mode="any"))

    def _enter(self, name: str) -> None:
        run = _C._current_graph_task_id()
        if run not in self._ends:
            self._ends.add(run)
            _C._queue_callback(lambda: self._end(run))
        self.parents.add(name)

    def _end(self, run: int) -> None:
        self._ends.discard(run)
        self.parents = {"Global"}


def _with_gradient(values: Any) -> list[Any]:
    return [x for x in tree_leaves(values) if isinstance(x, _C.Tensor) and x.requires_grad]
