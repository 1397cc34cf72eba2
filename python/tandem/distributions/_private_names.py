"""Names without documentation in the modules of `torch.distributions` that other projects import."""

from __future__ import annotations

import math

import tandem
from tandem._C import Tensor


def _transposed(x: Tensor) -> Tensor:
    return x.transpose(-1, -2)


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T diag(D)^-1 W, of matrices W [..., n, m] and diagonals D [..., n]."""
    scaled = _transposed(W) / D.unsqueeze(-2)
    return tandem.linalg.cholesky(tandem.eye(W.shape[-1], dtype=W.dtype, device=W.device) + scaled @ W)


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """log det(W W^T + diag(D)), by the determinant lemma."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """x^T (W W^T + diag(D))^-1 x of vectors x [..., n], by Woodbury's identity."""
    inner = (_transposed(W) / D.unsqueeze(-2)) @ x.unsqueeze(-1)
    solved = tandem.linalg.solve_triangular(capacitance_tril, inner, upper=False).squeeze(-1)
    return (x.square() / D).sum(-1) - solved.square().sum(-1)


def _batch_trace_XXT(bmat: Tensor) -> Tensor:
    """The trace of X X^T."""
    return bmat.square().sum((-2, -1))


def _clamp_by_zero(x: Tensor) -> Tensor:
    """max(x, 0), whose gradient at 0 is a half."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


def _clamp_above_eps(x: Tensor) -> Tensor:
    """x, and the distance of 1 to the next number below where it is less."""
    return x.clamp(min=tandem.finfo(x.dtype).eps)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """sigmoid(x) without 0 and 1."""
    limits = tandem.finfo(x.dtype)
    return tandem.sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function of order p."""
    if not (x > (p - 1) / 2).all():
        raise ValueError("_mvdigamma: all elements must be greater than (p - 1) / 2")
    return tandem.digamma(x.unsqueeze(-1) - tandem.arange(p, dtype=x.dtype, device=x.device) / 2).sum(-1)


def _moments(a: Tensor, b: Tensor, n: float) -> Tensor:
    """The n-th moment of Kumaraswamy's distribution: b B(1 + n / a, b)."""
    first = 1 + n / a
    return tandem.exp(b.log() + first.lgamma() + b.lgamma() - (first + b).lgamma())


def _x_log_x(tensor: Tensor) -> Tensor:
    """x log(x), 0 at 0."""
    return tandem.special.xlogy(tensor, tensor)


def _standard_gamma(concentration: Tensor) -> Tensor:
    """Draws from gamma distributions of rate 1, differentiable by the concentration."""
    return tandem._C._standard_gamma(concentration)


euler_constant = 0.57721566490153286060
_log_2_pi = math.log(2 * math.pi)
