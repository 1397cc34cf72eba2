"""Layers that compare two tensors row by row."""

from __future__ import annotations

from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """Scalar product along `dim` of two tensors, each divided by max(its norm, eps).

    Takes two floating tensors whose shapes broadcast; returns that shape without `dim`.

    Example:
        >>> import tandem
        >>> tandem.nn.CosineSimilarity()(tandem.ones(1, 4), tandem.ones(1, 4)).tolist()
        [1.0]
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """||x1 - x2 + eps||_p along the last dim.

    Takes two floating tensors [..., D] whose shapes broadcast; returns [...], or [..., 1] with `keepdim`.

    Example:
        >>> import tandem
        >>> tandem.nn.PairwiseDistance(p=1, eps=0.0)(tandem.zeros(2, 3), tandem.ones(2, 3)).tolist()
        [3.0, 3.0]
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
