"""Smooth activation layers: each calls the function of `nn.functional` of the same name.

Those made of straight pieces are in `piecewise.py`, those along a dim in `softmax.py`, attention in
`attention_layer.py`; all can be imported from here, as in PyTorch. These work element by element and keep shape and
dtype.
"""

from __future__ import annotations

from typing import Literal

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn._activation import Activation, InplaceActivation
from tandem.nn.attention_layer import *  # noqa: F403
from tandem.nn.module import Module
from tandem.nn.piecewise import *  # noqa: F403
from tandem.nn.softmax import *  # noqa: F403

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "LogSigmoid",
    "Mish",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]


class _Alpha(Activation):
    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class ELU(_Alpha):
    """x where x > 0, else alpha * (exp(x) - 1): the exponential linear unit (Clevert et al. 2015).

    Args:
        alpha: minus the value far to the left.
        inplace: write into the input.

    Takes a floating tensor of any shape; NotImplementedError for integers.

    Example:
        >>> import tandem
        >>> tandem.nn.ELU()(tandem.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Alpha):
    """x where x > 0, else alpha * (exp(x / alpha) - 1): `ELU` with a continuous derivative for any alpha (Barron 2017).

    Args:
        alpha: minus the value far to the left; not 0 (RuntimeError).
        inplace: write into the input.

    Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.CELU(alpha=2.0)(tandem.tensor([-1.0, 2.0]))
        tensor([-0.7869,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(InplaceActivation):
    """1.0507 * ELU(x) with alpha 1.6733: keeps mean 0 and variance 1 from layer to layer (Klambauer et al. 2017).

    `inplace` writes into the input. Takes a floating tensor of any shape; use `AlphaDropout` beside it.

    Example:
        >>> import tandem
        >>> tandem.nn.SELU()(tandem.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(InplaceActivation):
    """x * sigmoid(x), also called swish (Elfwing et al. 2017).

    `inplace` writes into the input. Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.SiLU()(tandem.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(InplaceActivation):
    """x * tanh(softplus(x)) (Misra 2019).

    `inplace` writes into the input. Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Mish()(tandem.tensor([-1.0, 2.0]))
        tensor([-0.3034,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Sigmoid(Module):
    """1 / (1 + exp(-x)), between 0 and 1.

    Takes a tensor of any shape; integers become the default floating dtype.

    Example:
        >>> import tandem
        >>> tandem.nn.Sigmoid()(tandem.tensor([-1.0, 0.0, 2.0]))
        tensor([0.2689, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return tandem.sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent (exp(x) - exp(-x)) / (exp(x) + exp(-x)), between -1 and 1.

    Takes a tensor of any shape; integers become the default floating dtype.

    Example:
        >>> import tandem
        >>> tandem.nn.Tanh()(tandem.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.7616,  0.0000,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return tandem.tanh(input)


class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))), computed so that it does not overflow.

    Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.LogSigmoid()(tandem.tensor([-1000.0, 0.0]))
        tensor([-1.0000e+03, -6.9315e-01])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|), between -1 and 1.

    Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Softsign()(tandem.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Tanhshrink()(tandem.tensor([-1.0, 2.0]))
        tensor([-0.2384,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class GELU(Module):
    """x times the normal distribution function of x: x * (1 + erf(x / sqrt(2))) / 2 (Hendrycks and Gimpel 2016).

    Args:
        approximate: "none", or "tanh" for x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x³))) / 2. RuntimeError for
            anything else when called.

    Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.GELU()(tandem.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(Activation):
    """log(1 + exp(beta * x)) / beta, a smooth `ReLU`.

    Args:
        beta: how sharply it bends at 0.
        threshold: where beta * x is above it the result is x itself.

    Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Softplus()(tandem.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """

    _shown = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)
