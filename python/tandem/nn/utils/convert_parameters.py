"""A model's parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import tandem
from tandem import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters flattened and joined, in order and differentiably: [sum of their numbers of elements].

    Example:
        >>> import tandem
        >>> tandem.nn.utils.parameters_to_vector(tandem.nn.Linear(2, 3).parameters()).shape
        tandem.Size([9])
    """
    return tandem.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make every parameter a view of its part of `vec`, a 1-D tensor (TypeError for anything but a tensor).

    Example:
        >>> import tandem
        >>> layer = tandem.nn.Linear(2, 1)
        >>> tandem.nn.utils.vector_to_parameters(tandem.arange(3.0), layer.parameters())
        >>> layer.weight.tolist(), layer.bias.tolist()
        ([[0.0, 1.0]], [2.0])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected tandem.Tensor, but got: {type(vec).__name__}")
    start = 0
    for param in parameters:
        count = param.numel()
        param.data = vec[start : start + count].view(list(param.shape)).data
        start += count
