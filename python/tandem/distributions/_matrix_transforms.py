"""Transforms to matrices, by distribution functions, and of parts of a tensor by transforms of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tandem
from tandem.distributions import constraints
from tandem.distributions._functions import LowerCholeskyTransform
from tandem.distributions._transform import Transform
from tandem.distributions.distribution import Tensor, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "CatTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "PositiveDefiniteTransform",
    "StackTransform",
]


class CorrCholeskyTransform(Transform):
    """From D (D - 1) / 2 real numbers to the Cholesky factor of a D by D correlation matrix.

    z = tanh(x) fills the strict lower triangle, and y[i, j] = z[i, j] prod_{k<j} sqrt(1 - z[i, k]^2), so that the rows
    have length 1 (Lewandowski, Kurowicka and Joe 2009; the Stan reference manual, "Cholesky factors of correlation").

    Example:
        >>> import tandem
        >>> tandem.distributions.CorrCholeskyTransform()(tandem.zeros(1))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        # Short of 1, beyond which rows have no rest to share: slopes and inverses stay finite.
        most = 1 - tandem.finfo(x.dtype).eps
        z = vec_to_tril_matrix(x.tanh().clamp(-most, most), diag=-1)
        rest = (1 - z * z).sqrt().cumprod(-1)
        before = tandem.nn.functional.pad(rest[..., :-1], [1, 0], value=1.0)
        return (z + tandem.eye(z.shape[-1], dtype=z.dtype, device=z.device)) * before

    def _inverse(self, y: Tensor) -> Tensor:
        rest = 1 - (y * y).cumsum(-1)
        before = tandem.nn.functional.pad(rest[..., :-1], [1, 0], value=1.0)
        z = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(before, diag=-1).sqrt()
        return (z.log1p() - (-z).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        tanh = -2 * (x + tandem.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(-1)
        return rest.log().sum(-1) / 2 + tanh

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return tandem.Size((*shape[:-1], d, d))

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        d = shape[-1]
        return tandem.Size((*shape[:-2], d * (d - 1) // 2))


class PositiveDefiniteTransform(Transform):
    """y = L L^T of the lower triangle of x, its diagonal by exp.

    Example:
        >>> import tandem
        >>> tandem.distributions.PositiveDefiniteTransform()(tandem.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(tandem.linalg.cholesky(y))


class CumulativeDistributionTransform(Transform):
    """y = the distribution function of `distribution` at x, from its support to [0, 1].

    Example:
        >>> import tandem
        >>> from tandem.distributions import CumulativeDistributionTransform, Normal
        >>> CumulativeDistributionTransform(Normal(0.0, 1.0))(tandem.zeros(1))
        tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> constraints.Constraint | None:
        """The support of the distribution."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)


class _Parts(Transform):
    """Transforms of parts of a tensor along `dim`."""

    transforms: list[Transform]

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _parts(self, x: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _each(self, f: Callable[[Transform, Tensor], Tensor], x: Tensor) -> Tensor:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} is out of range for a tensor with {x.dim()} dimensions")
        return self._joined([f(t, part) for t, part in zip(self.transforms, self._parts(x), strict=True)])

    def _call(self, x: Tensor) -> Tensor:
        return self._each(lambda t, part: t(part), x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._each(lambda t, part: t._inv_call(part), y)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)


class CatTransform(_Parts):
    """Transforms `tseq` of parts of the sizes `lengths` (1 each at first) along `dim`, put together again.

    Example:
        >>> import tandem
        >>> from tandem.distributions import CatTransform, ExpTransform, identity_transform
        >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(tandem.zeros(3))
        tensor([1., 0., 0.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths has {len(self.lengths)} numbers for {len(self.transforms)} transforms")

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The size of `dim`."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return (
            self
            if self._cache_size == cache_size
            else CatTransform(self.transforms, self.dim, self.lengths, cache_size)
        )

    def _parts(self, x: Tensor) -> list[Tensor]:
        if x.shape[self.dim] != self.length:
            raise AssertionError(f"x.size({self.dim}) = {x.shape[self.dim]} must be {self.length}")
        return list(x.split(self.lengths, self.dim))

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return tandem.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        for t, before, after in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            term = t.log_abs_det_jacobian(before, after)
            more = self.event_dim - t.event_dim
            terms.append(term.sum(tuple(range(-more, 0))) if more > 0 else term)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return tandem.cat(terms, dim)
        total: Any = sum(terms)
        return total

    @property
    def domain(self) -> constraints.Constraint:
        """Those of the transforms, part by part."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> constraints.Constraint:
        """Those of the transforms, part by part."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """Transforms `tseq` of the slices along `dim`, one each.

    Example:
        >>> import tandem
        >>> from tandem.distributions import ExpTransform, StackTransform, identity_transform
        >>> StackTransform([ExpTransform(), identity_transform])(tandem.zeros(2))
        tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, x: Tensor) -> list[Tensor]:
        if x.shape[self.dim] != len(self.transforms):
            raise AssertionError(f"x.size({self.dim}) = {x.shape[self.dim]} must be {len(self.transforms)}")
        return list(x.unbind(self.dim))

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return tandem.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return tandem.stack([t.log_abs_det_jacobian(before, after) for t, before, after in pairs], self.dim)

    @property
    def domain(self) -> constraints.Constraint:
        """Those of the transforms, slice by slice."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> constraints.Constraint:
        """Those of the transforms, slice by slice."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
