"""The gradients of convolutions as functions of their own: of the input, and of the weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tandem import _C
from tandem.autograd.grad_mode import enable_grad
from tandem.autograd.gradients import grad
from tandem.nn import functional as F  # noqa: N812

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Ints: TypeAlias = "int | Sequence[int]"

_TEXT = """The gradient of `nn.functional.conv{dims}d` with respect to its {what}.

Args:
    {first}
    {second}
    grad_output: the gradient of its result.
    stride, padding, dilation, groups: of the convolution.

>>> import tandem
>>> x, w = tandem.ones(1, 1, {fours}), tandem.ones(1, 1, {twos})
>>> g = tandem.ones(1, 1, {threes})
>>> tandem.nn.grad.conv{dims}d_{what}({call}, g).shape
tandem.Size([1, 1, {sizes}])
"""


def _named(function: Callable[..., _C.Tensor], dims: int, what: str, given: tuple[str, str, str]) -> Any:
    """The function of a kind for so many dims, with its name and what users read."""
    function.__name__ = function.__qualname__ = f"conv{dims}d_{what}"
    fours, threes, twos = (", ".join([n] * dims) for n in "432")
    sizes = fours if what == "input" else twos
    parts = {"fours": fours, "threes": threes, "twos": twos, "sizes": sizes}
    function.__doc__ = _TEXT.format(dims=dims, what=what, first=given[0], second=given[1], call=given[2], **parts)
    return function


def _of_input(dims: int) -> Any:
    convolution = getattr(F, f"conv{dims}d")

    def gradient(
        input_size: Sequence[int],
        weight: _C.Tensor,
        grad_output: _C.Tensor,
        stride: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
    ) -> _C.Tensor:
        history = _C.is_grad_enabled() and (weight.requires_grad or grad_output.requires_grad)
        with enable_grad():
            x = _C.zeros(tuple(input_size), dtype=weight.dtype, device=weight.device, requires_grad=True)
            y = convolution(x, weight, None, stride, padding, dilation, groups)
            return grad(y, x, grad_output, create_graph=history)[0]

    told = "input_size: the shape of the input.", "weight: of the convolution.", "x.shape, w"
    return _named(gradient, dims, "input", told)


def _of_weight(dims: int) -> Any:
    convolution = getattr(F, f"conv{dims}d")

    def gradient(
        input: _C.Tensor,
        weight_size: Sequence[int],
        grad_output: _C.Tensor,
        stride: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
    ) -> _C.Tensor:
        history = _C.is_grad_enabled() and (input.requires_grad or grad_output.requires_grad)
        with enable_grad():
            weight = _C.zeros(tuple(weight_size), dtype=input.dtype, device=input.device, requires_grad=True)
            y = convolution(input, weight, None, stride, padding, dilation, groups)
            return grad(y, weight, grad_output, create_graph=history)[0]

    told = "input: of the convolution.", "weight_size: the shape of its weights.", "x, w.shape"
    return _named(gradient, dims, "weight", told)


conv1d_input, conv2d_input, conv3d_input = (_of_input(dims) for dims in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_of_weight(dims) for dims in (1, 2, 3))
