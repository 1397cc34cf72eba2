"""`backward` and `grad`: gradients of the graph that was recorded, to any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem import _C
from tandem._C import Tensor

__all__ = ["backward", "grad"]


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of `tensors` to `.grad` of the leaves they were computed from.

    Args:
        tensors: what to differentiate, of a floating dtype.
        grad_tensors: for each of them a cotangent of its shape; None stands for 1 where it has one element.
        retain_graph: keep the graph for another backward; the default is `create_graph`.
        create_graph: record the backward itself, for gradients of gradients.
        grad_variables: the older name of `grad_tensors`.
        inputs: only these get gradients; by default all leaves that require one.

    RuntimeError for a tensor without history, a cotangent that is missing or of another shape, a graph that was freed,
    and a value that was written in place since it was kept for the backward.

    >>> import tandem
    >>> x = tandem.tensor([1.0, 2.0], requires_grad=True)
    >>> tandem.autograd.backward(x * x, tandem.ones(2))
    >>> x.grad
    tensor([2., 4.])
    """
    if (asked := _like_tensors(tensors)) is not None:
        options: dict[str, Any] = {"retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs}
        options |= {"grad_tensors": grad_tensors, "grad_variables": grad_variables}
        _C._handle_torch_function(backward, "backward", asked, (tensors,), options)
        return
    _C._backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of `outputs` with respect to `inputs`, a tuple with one for each; `.grad` stays as it is.

    Args:
        outputs: what to differentiate; several are summed, each weighted by its entry of `grad_outputs`.
        inputs: by what; leaves or any tensors of the graph.
        grad_outputs: cotangents of the shapes of `outputs`; None stands for 1 where an output has one element.
        retain_graph: keep the graph for another backward; the default is `create_graph`.
        create_graph: record the backward itself, for gradients of gradients.
        only_inputs: must be True.
        allow_unused: an input that the outputs do not depend on has the gradient None, instead of being an error.
        is_grads_batched: cotangents have a leading dim, and gradients get it: one backward for each index of it.
        materialize_grads: zeros in place of None.

    RuntimeError as `backward`, and for an input that is not used.

    >>> import tandem
    >>> x = tandem.tensor(3.0, requires_grad=True)
    >>> (first,) = tandem.autograd.grad(x**3, x, create_graph=True)
    >>> (second,) = tandem.autograd.grad(first, x)
    >>> first.item(), second.item()
    (27.0, 18.0)
    """
    if (asked := _like_tensors(outputs, inputs)) is not None:
        named = {"grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph}
        named |= {"only_inputs": only_inputs, "allow_unused": allow_unused, "is_grads_batched": is_grads_batched}
        args = tuple(tuple(x) if isinstance(x, list | tuple) else (x,) for x in (outputs, inputs))
        named |= {"materialize_grads": materialize_grads}
        result: tuple[Tensor, ...] = _C._handle_torch_function(grad, "grad", asked, args, named)
        return result
    options: tuple[Any, ...] = (grad_outputs, retain_graph, create_graph, only_inputs, allow_unused)
    return _C._grad(outputs, inputs, *options, is_grads_batched, materialize_grads)


def _like_tensors(*given: Any) -> tuple[Any, ...] | None:
    """All that is differentiated, if there are objects among it that are no tensors and say what operations do."""
    if all(isinstance(x, Tensor) for x in given):
        return None
    flat = [x for one in given for x in (one if isinstance(one, list | tuple) else (one,))]
    others = tuple(x for x in flat if not isinstance(x, Tensor))
    return tuple(flat) if others and _C._has_torch_function(others) else None
