"""Dropout layers; all pass their input through in evaluation mode."""

from __future__ import annotations

from typing import ClassVar

from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    _function: ClassVar[str] = "dropout"

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero elements with probability `p` and scale the others by 1 / (1 - p), while training (Srivastava et al. 2014).

    `inplace` writes into the input. Takes a floating tensor of any shape; ValueError for a `p` outside [0, 1].

    Example:
        >>> import tandem
        >>> tandem.nn.Dropout(0.5).eval()(tandem.ones(3)).tolist()
        [1.0, 1.0, 1.0]
    """


class Dropout1d(_DropoutNd):
    """Zero whole channels of [N, C, L] or [C, L] with probability `p` and scale the others, while training.

    Arguments and errors as of `Dropout`; RuntimeError for another number of dims.

    Example:
        >>> import tandem
        >>> tandem.nn.Dropout1d(1.0)(tandem.ones(2, 3)).sum().item()
        0.0
    """

    _function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Zero whole channels of [N, C, H, W] with probability `p` and scale the others, while training (Tompson 2014).

    Three dims are taken as [N, C, L], as PyTorch does. Arguments and errors as of `Dropout`.

    Example:
        >>> import tandem
        >>> x = tandem.nn.Dropout2d()(tandem.ones(1, 8, 2, 2))
        >>> sorted(set(x.sum((2, 3)).flatten().tolist()))
        [0.0, 8.0]
    """

    _function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Zero whole channels of [N, C, D, H, W] or [C, D, H, W] with probability `p`, scale the others, while training.

    Arguments and errors as of `Dropout`; RuntimeError for another number of dims.

    Example:
        >>> import tandem
        >>> tandem.nn.Dropout3d(1.0)(tandem.ones(2, 3, 3, 3)).sum().item()
        0.0
    """

    _function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1 behind `SELU`, while training (Klambauer et al. 2017).

    With probability `p` an element becomes the value that `SELU` has far to the left; then all are scaled and shifted.
    Arguments and errors as of `Dropout`.

    Example:
        >>> import tandem
        >>> x = tandem.nn.AlphaDropout(0.2)(tandem.randn(10000))
        >>> abs(x.mean().item()) < 0.05, abs(x.std().item() - 1) < 0.05
        (True, True)
    """

    _function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels of [N, C, ...], while training.

    Example:
        >>> import tandem
        >>> x = tandem.nn.FeatureAlphaDropout()(tandem.zeros(1, 64, 3))
        >>> x.amax(2).equal(x.amin(2))
        True
    """

    _function = "feature_alpha_dropout"
