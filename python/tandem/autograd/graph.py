"""The graph of derivatives as an object of its own."""

from __future__ import annotations

from typing import NamedTuple

from tandem import _C

__all__ = ["GradientEdge", "Node", "get_gradient_edge"]

Node = _C._Node


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: a node and which of its outputs the tensor is."""

    node: Node  # type: ignore[valid-type]
    output_nr: int


def get_gradient_edge(tensor: _C.Tensor) -> GradientEdge:
    """The edge that the gradient of a tensor with a history comes in by."""
    if tensor.grad_fn is None:
        raise RuntimeError("It is not possible to get the gradient edge of a Tensor without a grad_fn")
    return GradientEdge(tensor.grad_fn, tensor.output_nr)
