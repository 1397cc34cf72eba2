"""Activation functions as compositions of differentiable operations.

Branches are kept apart with `where` on the input of a function, not only on its result, so that the branch not taken
can neither overflow nor send a NaN back. `inplace=True` computes from a copy and writes the result into the input.
"""

from __future__ import annotations

from collections.abc import Callable

import tandem
from tandem import Tensor

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def finish(input: Tensor, inplace: bool, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """`compute(input)`, written into `input` if `inplace`."""
    if not inplace:
        return compute(input)
    return input.copy_(compute(input.clone()))


def positive_part(x: Tensor) -> Tensor:
    """x where x > 0, else 0; NaN stays NaN."""
    return tandem.where(x <= 0, 0.0, x)


def negative_part(x: Tensor) -> Tensor:
    """x where x <= 0, else 0; NaN stays NaN."""
    return tandem.where(x > 0, 0.0, x)


def log_one_plus_exp(x: Tensor) -> Tensor:
    """log(1 + exp(x)), without overflow and smooth at 0 to every order."""
    return tandem._C._nn.softplus_unit(x)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x > 0, else negative_slope * x.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.leaky_relu(tandem.tensor([-2.0, 3.0]), 0.5).tolist()
        [-1.0, 3.0]
    """
    return finish(input, inplace, lambda x: tandem.where(x > 0, x, x * negative_slope))


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, else weight * x; `weight` is a scalar or holds one value a channel (dimension 1)."""
    if weight.numel() != 1:
        channels = input.shape[1] if input.dim() > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError(
                f"prelu: weight has {weight.numel()} values for {channels} channels of an input of {list(input.shape)}"
            )
        weight = weight.reshape([-1] + [1] * (input.dim() - 2))
    return tandem.where(input > 0, input, input * weight)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return finish(input, inplace, lambda x: tandem.where(x > 0, x, tandem.expm1(negative_part(x)) * alpha))


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale * elu(x, alpha) with the constants that keep mean 0 and variance 1."""
    return finish(
        input,
        inplace,
        lambda x: tandem.where(x > 0, x * SELU_SCALE, tandem.expm1(negative_part(x)) * (SELU_ALPHA * SELU_SCALE)),
    )


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha * (exp(x / alpha) - 1)."""
    return finish(input, inplace, lambda x: tandem.where(x > 0, x, tandem.expm1(negative_part(x) / alpha) * alpha))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return finish(input, inplace, tandem._C._nn.silu)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(log(1 + exp(x)))."""
    return finish(input, inplace, lambda x: x * tandem.tanh(log_one_plus_exp(x)))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold."""
    if beta == 1 and threshold >= 20:
        # Above 20 the function is x to within 2.1e-9, so that the threshold makes no difference worth a branch.
        return log_one_plus_exp(input)
    scaled = input * beta
    linear = scaled > threshold
    return tandem.where(linear, input, tandem.log1p(tandem.exp(tandem.where(linear, 0.0, scaled))) / beta)


def logsigmoid(input: Tensor) -> Tensor:
    """log(1 / (1 + exp(-x)))."""
    return -log_one_plus_exp(-input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x limited to [min_val, max_val]; the gradient is 0 at both limits."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")

    def compute(x: Tensor) -> Tensor:
        return tandem.where(x <= min_val, min_val, tandem.where(x >= max_val, max_val, x))

    return finish(input, inplace, compute)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x limited to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x / 6 + 1 / 2 limited to [0, 1]."""
    return finish(input, inplace, lambda x: hardtanh(x + 3.0, 0.0, 6.0) / 6.0)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)."""
    return finish(input, inplace, lambda x: x * hardtanh(x + 3.0, 0.0, 6.0) / 6.0)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (tandem.abs(input) + 1.0)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - tandem.tanh(input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, and 0 where |x| <= lambd."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}")
    return tandem.where(input > lambd, input - lambd, tandem.where(input < -lambd, input + lambd, input * 0.0))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, and 0 where |x| <= lambd."""
    return tandem.where(tandem.abs(input) <= lambd, 0.0, input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else value."""
    return finish(input, inplace, lambda x: tandem.where(x <= threshold, value, x))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """First half along `dim` times the sigmoid of the second."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    size = input.shape[dim]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    half = size // 2
    return input.narrow(dim, 0, half) * tandem.sigmoid(input.narrow(dim, half, half))
