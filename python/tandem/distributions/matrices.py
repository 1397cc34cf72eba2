"""Of covariance and correlation matrices: LowRankMultivariateNormal, Wishart, LKJCholesky."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import tandem
from tandem.distributions import constraints
from tandem.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    Size,
    Tensor,
    broadcast_all,
    common_shape,
    lazy_property,
)
from tandem.distributions.gamma import Beta, Chi2
from tandem.distributions.multivariate_normal import factor_of_precision, half_log_det

__all__ = ["LKJCholesky", "LowRankMultivariateNormal", "Wishart"]


def _transposed(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)


def _solve_lower(factor: Tensor, right: Tensor) -> Tensor:
    return tandem.linalg.solve_triangular(factor, right, upper=False)


class LowRankMultivariateNormal(Distribution):
    """LowRankMultivariateNormal(loc, cov_factor, cov_diag): covariance cov_factor cov_factor^T + diag(cov_diag).

    Of n numbers and a factor of k columns everything is computed with k x k matrices (Woodbury's identity).

    Example:
        >>> import tandem
        >>> D = tandem.distributions
        >>> d = D.LowRankMultivariateNormal(tandem.zeros(2), tandem.tensor([[1.0], [0.0]]), tandem.ones(2))
        >>> d.covariance_matrix
        tensor([[2., 0.],
                [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _event_dims = {"loc": 1, "cov_factor": 2, "cov_diag": 1}

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        batch_shape = common_shape(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand(tuple(batch_shape) + tuple(event_shape))
        self.cov_factor = cov_factor.expand(tuple(batch_shape) + tuple(cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand(tuple(batch_shape) + tuple(event_shape))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    @property
    def _scaled_factor(self) -> Tensor:
        """(D^-1 W)^T."""
        return _transposed(self.cov_factor / self.cov_diag.unsqueeze(-1))

    @lazy_property
    def _capacitance_tril(self) -> Tensor:
        """The Cholesky factor of 1 + W^T D^-1 W."""
        inner = tandem.matmul(self._scaled_factor, self.cov_factor)
        return tandem.linalg.cholesky(inner + tandem.eye(inner.shape[-1], dtype=inner.dtype, device=inner.device))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        root = self.cov_diag.sqrt().unsqueeze(-1)
        factor = self.cov_factor / root
        inner = tandem.matmul(factor, _transposed(factor))
        return root * tandem.linalg.cholesky(
            inner + tandem.eye(inner.shape[-1], dtype=inner.dtype, device=inner.device)
        )

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return tandem.matmul(self.cov_factor, _transposed(self.cov_factor)) + tandem.diag_embed(self.cov_diag)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        a = _solve_lower(self._capacitance_tril, self._scaled_factor)
        return tandem.diag_embed(self.cov_diag.reciprocal()) - tandem.matmul(_transposed(a), a)

    def _mahalanobis(self, diff: Tensor) -> Tensor:
        """diff^T covariance^-1 diff."""
        along = tandem.matmul(self._scaled_factor, diff.unsqueeze(-1))
        inner = _solve_lower(self._capacitance_tril, along).squeeze(-1)
        return (diff.pow(2) / self.cov_diag).sum(-1) - inner.pow(2).sum(-1)

    def _log_det(self) -> Tensor:
        """log of the determinant of the covariance."""
        return 2 * half_log_det(self._capacitance_tril) + self.cov_diag.log().sum(-1)

    def _trace_with(self, factor: Tensor) -> Tensor:
        """trace(covariance^-1 F F^T) of a matrix F."""
        scaled = factor / self.cov_diag.sqrt().unsqueeze(-1)
        inner = tandem.matmul(_solve_lower(self._capacitance_tril, self._scaled_factor), factor)
        return scaled.pow(2).sum((-2, -1)) - inner.pow(2).sum((-2, -1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        along = tandem.randn(
            tuple(shape[:-1]) + (self.cov_factor.shape[-1],), dtype=self.loc.dtype, device=self.loc.device
        )
        own = tandem.randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + tandem.matmul(self.cov_factor, along.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + self._log_det() + self._mahalanobis(value - self.loc))

    def entropy(self) -> Tensor:
        h = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return h if len(self._batch_shape) == 0 else h.expand(self._batch_shape)


def multivariate_digamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate Gamma function of p dims."""
    return tandem.digamma(x.unsqueeze(-1) - tandem.arange(p, dtype=x.dtype, device=x.device) / 2).sum(-1)


class Wishart(ExponentialFamily):
    """Wishart(df, covariance_matrix or precision_matrix=... or scale_tril=...): sums of outer products.

    Of `df` normal vectors with that covariance, where `df` is an integer. Draws are Bartlett's (Sawyer 2007).

    Example:
        >>> import tandem
        >>> tandem.distributions.Wishart(tandem.tensor(3.0), tandem.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _event_dims = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: m for name, m in matrices.items() if m is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = df if isinstance(df, Tensor) else tandem.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = common_shape(df.shape, matrix.shape[:-2])
        event_shape = Size(matrix.shape[-2:])
        self.df = df.expand(batch_shape)
        self.__dict__[name] = matrix.expand(tuple(batch_shape) + tuple(event_shape))
        if self._checks() and validate_args is not False and (self.df <= event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if bool((self.df < event_shape[-1]).any()):
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """Constraint of each parameter."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        if "covariance_matrix" in self.__dict__:
            return tandem.linalg.cholesky(self.covariance_matrix)
        return factor_of_precision(self.precision_matrix)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of each normal vector."""
        return tandem.matmul(self.scale_tril, _transposed(self.scale_tril))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Its inverse."""
        one = tandem.eye(self._event_shape[-1], dtype=self.scale_tril.dtype, device=self.scale_tril.device).expand(
            self.scale_tril.shape
        )
        return tandem.cholesky_solve(one, self.scale_tril)

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        factor = tandem.where(factor <= 0, math.nan, factor)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        d = v.diagonal(0, -2, -1)
        return self.df[..., None, None] * (v.pow(2) + d.unsqueeze(-1) * d.unsqueeze(-2))

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None) -> Tensor:
        p = self._event_shape[-1]
        shape = self._extended_shape(sample_shape)
        # In the wider dtype of both parameters.
        dtype = tandem.promote_types(self.df.dtype, self.scale_tril.dtype)
        less = tandem.arange(p, dtype=dtype, device=self.df.device)
        freedom = (self.df.unsqueeze(-1) - less).expand(shape[:-1])
        diagonal = Chi2(freedom, validate_args=False).rsample().clamp(min=tandem.finfo(dtype).tiny).sqrt()
        noise = tandem.randn(shape, dtype=dtype, device=self.df.device).tril(-1) + tandem.diag_embed(diagonal)
        factor = tandem.matmul(self.scale_tril.to(dtype), noise)
        return tandem.matmul(factor, _transposed(factor))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        trace = tandem.cholesky_solve(value, self.scale_tril).diagonal(0, -2, -1).sum(-1)
        return (
            -nu * (p * math.log(2) / 2 + half_log_det(self.scale_tril))
            - tandem.mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * tandem.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2) / 2 + half_log_det(self.scale_tril))
            + tandem.mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * multivariate_digamma(nu / 2, p)
            + p * nu / 2
        )


class LKJCholesky(Distribution):
    """LKJCholesky(dim, concentration): Cholesky factors of correlation matrices.

    The density of a matrix is proportional to its determinant to the power concentration - 1. Draws are by the onion
    method (Lewandowski, Kurowicka, Joe 2009).

    Example:
        >>> import tandem
        >>> factor = tandem.distributions.LKJCholesky(3, 0.5).sample()
        >>> (factor @ factor.T).diagonal()
        tensor([1., 1., 1.])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _event_dims = {"concentration": 0}

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.dim = self.dim
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tandem.no_grad():
            shape = self._extended_shape(sample_shape)
            dtype = self.concentration.dtype
            # Row i is a point in the ball of i dims: a direction, and a radius whose square is a Beta draw.
            row = tandem.arange(self.dim, dtype=dtype, device=self.concentration.device)
            offset = (row - 1).clamp(min=0)
            room = self.concentration.unsqueeze(-1) + 0.5 * (self.dim - 2) - 0.5 * offset
            radius = (
                Beta(0.5 * offset + 0.5, room, validate_args=False).sample(tuple(sample_shape)).unsqueeze(-1).sqrt()
            )
            normal = tandem.randn(shape, dtype=dtype, device=self.concentration.device).tril(-1)
            length = normal.norm(dim=-1, keepdim=True)
            direction = tandem.where(length == 0, 0.0, normal / length)
            below = radius * direction
            rest = (1 - below.pow(2).sum(-1)).clamp(min=tandem.finfo(dtype).tiny).sqrt()
            return below + tandem.diag_embed(rest)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        diagonal = value.diagonal(0, -2, -1)[..., 1:]
        order = tandem.arange(2, self.dim + 1, dtype=self.concentration.dtype, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = (order * diagonal.log()).sum(-1)
        # The normaliser, page 1999 of the paper.
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        below = tandem.lgamma(alpha) * n
        above = tandem.mvlgamma(alpha - 0.5, n)
        return density - (0.5 * n * math.log(math.pi) + above - below)
