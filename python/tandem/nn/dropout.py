"""Dropout layers; all pass their input through in evaluation mode."""

from __future__ import annotations

from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    _function = "dropout"

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
    """Zero elements with probability p and scale the others by 1 / (1 - p), while training.

    Example:
        >>> import tandem
        >>> tandem.nn.Dropout(0.5).eval()(tandem.ones(3)).tolist()
        [1.0, 1.0, 1.0]
    """


class Dropout1d(_DropoutNd):
    """Zero whole channels of [N, C, L] or [C, L], while training."""

    _function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Zero whole channels of [N, C, H, W], while training."""

    _function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Zero whole channels of [N, C, D, H, W] or [C, D, H, W], while training."""

    _function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1 behind `SELU`, while training."""

    _function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels, while training."""

    _function = "feature_alpha_dropout"
