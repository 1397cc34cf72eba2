"""Activation layers that work along a dim: each calls the function of `nn.functional` of the same name."""

from __future__ import annotations

from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.module import Module

__all__ = ["GLU", "LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class GLU(Module):
    """The first half along `dim` times the sigmoid of the second (Dauphin et al. 2016).

    Takes a floating tensor [..., 2 n, ...] and returns [..., n, ...]; RuntimeError where the size of `dim` is odd.

    Example:
        >>> import tandem
        >>> tandem.nn.GLU()(tandem.tensor([2.0, 4.0, 0.0, 0.0]))
        tensor([1., 2.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(x) / sum(exp(x)) along `dim`: positive numbers whose sum is 1.

    `dim` should be given: None means 0 for tensors of 0, 1 or 3 dims and 1 for all others. Keeps the shape; floating
    dtypes only (NotImplementedError). IndexError for a dim that there is not.

    Example:
        >>> import tandem
        >>> tandem.nn.Softmax(dim=0)(tandem.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """x - log(sum(exp(x))) along `dim`: the logarithm of `Softmax`, which does not overflow.

    `dim`, shapes, dtypes and errors as of `Softmax`. What `NLLLoss` takes.

    Example:
        >>> import tandem
        >>> tandem.nn.LogSoftmax(dim=0)(tandem.tensor([0.0, 1000.0]))
        tensor([-1000.,     0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmin(_AlongDim):
    """exp(-x) / sum(exp(-x)) along `dim`: the least element has the largest share.

    `dim`, shapes, dtypes and errors as of `Softmax`.

    Example:
        >>> import tandem
        >>> tandem.nn.Softmin(dim=0)(tandem.tensor([0.0, 1.0]))
        tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """`Softmax` over the channels of [N, C, H, W] or [C, H, W], at each place by itself.

    Keeps the shape; ValueError for another number of dims.

    Example:
        >>> import tandem
        >>> tandem.nn.Softmax2d()(tandem.zeros(1, 4, 1, 2)).tolist()
        [[[[0.25, 0.25]], [[0.25, 0.25]], [[0.25, 0.25]], [[0.25, 0.25]]]]
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
