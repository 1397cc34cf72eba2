"""MultivariateNormal, by its covariance, its precision or a Cholesky factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tandem
from tandem.distributions import constraints
from tandem.distributions.distribution import Distribution, Tensor, common_shape, lazy_property

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MultivariateNormal"]


def _transposed(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)


def _eye_like(x: Tensor) -> Tensor:
    return tandem.eye(x.shape[-1], dtype=x.dtype, device=x.device).expand(x.shape)


def factor_of_precision(precision: Tensor) -> Tensor:
    """The lower triangular L with L L^T = precision^-1."""
    # The Cholesky factor of the matrix with both orders reversed, reversed back, is upper: P = U U^T, L = U^-T.
    upper = tandem.linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1))
    return tandem.linalg.solve_triangular(_transposed(upper), _eye_like(precision), upper=False)


def mahalanobis(scale_tril: Tensor, diff: Tensor) -> Tensor:
    """diff^T (L L^T)^-1 diff, batches broadcast."""
    solved = tandem.linalg.solve_triangular(scale_tril, diff.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def half_log_det(scale_tril: Tensor) -> Tensor:
    """log det of L L^T, halved: the sum of log of the diagonal of L."""
    return scale_tril.diagonal(0, -2, -1).log().sum(-1)


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Matrices times vectors, batches broadcast."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


# PyTorch's names of these, which other libraries use.
_batch_mahalanobis, _precision_to_scale_tril = mahalanobis, factor_of_precision


class MultivariateNormal(Distribution):
    """MultivariateNormal(loc, covariance_matrix or precision_matrix=... or scale_tril=...).

    `scale_tril` is the lower triangular L with L L^T the covariance; it is what everything is computed with.

    Example:
        >>> import tandem
        >>> d = tandem.distributions.MultivariateNormal(tandem.zeros(2), tandem.eye(2))
        >>> d.log_prob(tandem.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _event_dims = {
        "loc": 1,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
        "_unbroadcasted_scale_tril": 2,
    }

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        choices = {
            "covariance_matrix": covariance_matrix,
            "scale_tril": scale_tril,
            "precision_matrix": precision_matrix,
        }
        given = {name: m for name, m in choices.items() if m is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = common_shape(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand(tuple(batch_shape) + tuple(matrix.shape[-2:]))
        self.loc = loc.expand(tuple(batch_shape) + tuple(loc.shape[-1:]))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = tandem.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = factor_of_precision(matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _square(self, matrix: Tensor) -> Tensor:
        n = self._event_shape[0]
        return matrix.expand(tuple(self._batch_shape) + (n, n))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        tril = self._unbroadcasted_scale_tril
        return self._square(tandem.matmul(tril, _transposed(tril)))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        tril = self._unbroadcasted_scale_tril
        inverse = tandem.linalg.solve_triangular(tril, _eye_like(tril), upper=False)
        return self._square(tandem.matmul(_transposed(inverse), inverse))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        eps = tandem.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + tandem.matmul(self._unbroadcasted_scale_tril, eps.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        tril = self._unbroadcasted_scale_tril
        m = mahalanobis(tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + m) - half_log_det(tril)

    def entropy(self) -> Tensor:
        h = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det(self._unbroadcasted_scale_tril)
        return h if len(self._batch_shape) == 0 else h.expand(self._batch_shape)
