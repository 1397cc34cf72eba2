"""Hooks of modules: the handle that removes one, and the boundary that runs backward hooks.

A module with backward hooks wraps its inputs and its outputs in an identity whose backward tells a `BackwardBoundary`
what went by. The order in a backward pass is: outputs' boundary (pre-hooks may replace the gradient), the module's own
operations, inputs' boundary (hooks may replace the gradient).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import tandem
from tandem._support import RemovableHandle

__all__ = ["RemovableHandle"]


def add_hook(
    hooks: dict[int, Any],
    hook: Callable[..., Any],
    prepend: bool = False,
    marks: Iterable[tuple[dict[int, bool], bool]] = (),
) -> RemovableHandle:
    """Put a hook into its dict, and its id into each dict of `marks` whose flag is set."""
    marks = list(marks)
    handle = RemovableHandle(hooks, *(ids for ids, _ in marks))
    hooks[handle.id] = hook
    for ids, wanted in marks:
        if wanted:
            ids[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)  # type: ignore[attr-defined]
    return handle


class RegularBackwardHook:
    """A forward hook that has a backward hook of the older kind called by the last operation of a call."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook = hook

    def __call__(self, module: Any, args: Any, output: Any) -> None:
        while isinstance(output, (dict, list, tuple)) and output:
            inner = [v for v in output.values() if hasattr(v, "grad_fn")] if isinstance(output, dict) else output
            output = inner[0] if inner else None
        node = getattr(output, "grad_fn", None)
        if node is not None:
            hook = self.hook
            node.register_hook(lambda grad_input, grad_output: hook(module, grad_input, grad_output))


class _Identity(tandem.autograd.Function):
    """Passes tensors through; its backward passes the gradients through `visit`, zeros for those that did not come
    if it is to `fill` them in."""

    @staticmethod
    def forward(ctx: Any, visit: Callable[..., Any], fill: bool, *tensors: tandem.Tensor) -> Any:
        ctx.visit = visit
        ctx.set_materialize_grads(fill)
        views = tuple(t.view_as(t) for t in tensors)
        ctx.mark_non_differentiable(*(v for t, v in zip(tensors, views, strict=True) if not t.requires_grad))
        return views if len(views) != 1 else views[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, None, *ctx.visit(grads))


class BackwardBoundary:
    """Runs the full backward hooks of one call of `module`."""

    def __init__(self, module: Any, hooks: list[Callable[..., Any]], pre_hooks: list[Callable[..., Any]]):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_output: tuple[Any, ...] | None = None
        self.input_count = 0
        self.has_input_grads = False

    def wrap_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """`args` with its tensors passed through the inputs' identity."""
        self.input_count = len(args)
        return self._wrap(args, self._visit_inputs, inputs=True)

    def wrap_outputs(self, result: Any) -> Any:
        """`result` with its tensors passed through the outputs' identity."""
        single = not isinstance(result, (tuple, list))
        outputs = (result,) if single else tuple(result)
        wrapped = self._wrap(outputs, self._visit_outputs, inputs=False)
        if single:
            return wrapped[0]
        if hasattr(result, "_fields"):
            return type(result)(*wrapped)
        return type(result)(wrapped)

    def _wrap(self, values: tuple[Any, ...], visit: Callable[..., Any], inputs: bool) -> tuple[Any, ...]:
        places = [i for i, v in enumerate(values) if isinstance(v, tandem.Tensor)]
        wants = tandem.is_grad_enabled() and any(values[i].requires_grad for i in places)
        if inputs:
            self.has_input_grads = wants
        if not wants:
            return values
        count = len(values)

        def spread(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            full: list[Any] = [None] * count
            for place, grad in zip(places, grads, strict=True):
                full[place] = grad
            replaced = visit(tuple(full))
            return tuple(replaced[place] for place in places)

        wrapped = _Identity.apply(spread, inputs, *(values[i] for i in places))
        wrapped = (wrapped,) if len(places) == 1 else wrapped
        result = list(values)
        for place, tensor in zip(places, wrapped, strict=True):
            result[place] = tensor
        return tuple(result)

    def _visit_outputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.pre_hooks:
            replaced = hook(self.module, grads)
            if replaced is not None:
                grads = _as_tuple(replaced, len(grads), "backward pre-hook")
        self.grad_output = grads
        if not self.has_input_grads:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients.",
                stacklevel=2,
            )
            for hook in self.hooks:
                if hook(self.module, (None,) * self.input_count, grads) is not None:
                    raise RuntimeError(
                        "a backward hook returned a gradient for inputs of a module none of which requires one"
                    )
            self.grad_output = None
        return grads

    def _visit_inputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        # A derivative of the gradients comes by the inputs without having come by the outputs: no backward of the call.
        if self.grad_output is None:
            return grads
        grad_output, self.grad_output = self.grad_output, None
        for hook in self.hooks:
            replaced = hook(self.module, grads, grad_output)
            if replaced is not None:
                grads = _as_tuple(replaced, len(grads), "backward hook")
        return grads


def _as_tuple(value: Any, count: int, what: str) -> tuple[Any, ...]:
    value = value if isinstance(value, tuple) else (value,)
    if len(value) != count:
        raise RuntimeError(f"{what} returned {len(value)} gradients where {count} were expected")
    return value
