"""With a location and a scale: Normal, LogNormal, HalfNormal, Laplace, Cauchy, HalfCauchy, Gumbel, Uniform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tandem
from tandem.distributions import constraints
from tandem.distributions.distribution import (
    EULER,
    Distribution,
    ExponentialFamily,
    Size,
    Tensor,
    broadcast_all,
    open_uniform,
)
from tandem.distributions.transformed_distribution import TransformedDistribution
from tandem.distributions.transforms import AbsTransform, AffineTransform, ExpTransform

__all__ = ["Cauchy", "Gumbel", "HalfCauchy", "HalfNormal", "Laplace", "LogNormal", "Normal", "Uniform"]

Number = float | Tensor


class _LocationScale(Distribution):
    """loc + scale * (a draw of the standard form)."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _event_dims = {"loc": 0, "scale": 0}

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    def _standard(self, shape: Size) -> Tensor:
        raise NotImplementedError

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.loc + self.scale * self._standard(self._extended_shape(sample_shape))

    def _centred(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return (value - self.loc) / self.scale


class Normal(_LocationScale, ExponentialFamily):
    """Normal(loc, scale): mean `loc`, standard deviation `scale` > 0.

    log p(x) = -((x - loc) / scale)² / 2 - log(scale) - log(2 pi) / 2.

    Example:
        >>> import tandem
        >>> tandem.distributions.Normal(0.0, 2.0).log_prob(tandem.tensor(1.0))
        tensor(-1.7371)
    """

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def _standard(self, shape: Size) -> Tensor:
        return tandem.randn(shape, dtype=self.loc.dtype, device=self.loc.device)

    def log_prob(self, value: Tensor) -> Tensor:
        return -0.5 * self._centred(value) ** 2 - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * tandem.erfc(self._centred(value) * -math.sqrt(0.5))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * tandem.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + tandem.log(self.scale)


class LogNormal(TransformedDistribution):
    """LogNormal(loc, scale): exp of a Normal(loc, scale), scale > 0; the mean is exp(loc + scale² / 2).

    Example:
        >>> import tandem
        >>> tandem.distributions.LogNormal(0.0, 1.0).mean
        tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None):
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        scale_sq = self.scale.pow(2)
        return scale_sq.expm1() * (2 * self.loc + scale_sq).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class Laplace(_LocationScale):
    """Laplace(loc, scale): density exp(-|x - loc| / scale) / (2 scale), scale > 0.

    Example:
        >>> import tandem
        >>> tandem.distributions.Laplace(0.0, 1.0).log_prob(tandem.tensor(0.0))
        tensor(-0.6931)
    """

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def _standard(self, shape: Size) -> Tensor:
        u = 2 * open_uniform(shape, self.loc) - 1
        return -u.sign() * tandem.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        return -tandem.log(2 * self.scale) - self._centred(value).abs()

    def cdf(self, value: Tensor) -> Tensor:
        z = self._centred(value)
        return 0.5 - 0.5 * z.sign() * tandem.expm1(-z.abs())

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * tandem.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + tandem.log(2 * self.scale)


class Cauchy(_LocationScale):
    """Cauchy(loc, scale): the ratio of two normal numbers; it has no mean (NaN) and an infinite variance.

    p(x) = 1 / (pi scale (1 + ((x - loc) / scale)²)), scale > 0.

    Example:
        >>> import tandem
        >>> tandem.distributions.Cauchy(0.0, 1.0).cdf(tandem.tensor(1.0))
        tensor(0.7500)
    """

    @property
    def mean(self) -> Tensor:
        return tandem.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return tandem.full_like(self.loc, math.inf)

    def _standard(self, shape: Size) -> Tensor:
        return self.loc.new_empty(shape).cauchy_()

    def log_prob(self, value: Tensor) -> Tensor:
        return -math.log(math.pi) - self.scale.log() - (self._centred(value) ** 2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return tandem.atan(self._centred(value)) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return tandem.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(TransformedDistribution):
    """Gumbel(loc, scale): the limit of maxima, loc - scale log(-log u) of uniform u; scale > 0.

    The mean is loc + scale * 0.5772 (Euler's constant).

    Example:
        >>> import tandem
        >>> tandem.distributions.Gumbel(0.0, 1.0).mean
        tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = tandem.finfo(self.loc.dtype)
        low, high = tandem.full_like(self.loc, limits.tiny), tandem.full_like(self.loc, 1 - limits.eps)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-tandem.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = self.loc.expand(tuple(batch_shape)), self.scale.expand(tuple(batch_shape))
        return super().expand(batch_shape, new)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)


class _Half(TransformedDistribution):
    """The absolute value of a distribution around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: _LocationScale
    _whole: type[_LocationScale]

    def __init__(self, scale: Number, validate_args: bool | None = None):
        whole = self._whole(0, scale, validate_args=False)
        super().__init__(whole, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of the distribution around 0."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return tandem.zeros_like(self.scale)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return tandem.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """HalfNormal(scale): |x| of a Normal(0, scale), scale > 0; the mean is scale sqrt(2 / pi).

    Example:
        >>> import tandem
        >>> tandem.distributions.HalfNormal(1.0).mean
        tensor(0.7979)
    """

    _whole = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """HalfCauchy(scale): |x| of a Cauchy(0, scale), scale > 0; the mean is infinite.

    Example:
        >>> import tandem
        >>> tandem.distributions.HalfCauchy(1.0).cdf(tandem.tensor(1.0))
        tensor(0.5000)
    """

    _whole = Cauchy

    @property
    def mean(self) -> Tensor:
        return tandem.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        return tandem.full_like(self.scale, math.inf)


class Uniform(Distribution):
    """Uniform(low, high): the density 1 / (high - low) everywhere in [low, high), and 0 outside; low < high.

    Example:
        >>> import tandem
        >>> uniform = tandem.distributions.Uniform(1.0, 3.0)
        >>> uniform.mean, uniform.entropy()
        (tensor(2.), tensor(0.6931))
    """

    has_rsample = True
    _event_dims = {"low": 0, "high": 0}

    def __init__(self, low: Number, high: Number, validate_args: bool | None = None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / math.sqrt(12)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        rand = tandem.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + rand * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        inside = (self.low <= value) & (self.high > value)
        return tandem.log(inside.type_as(self.low)) - tandem.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return tandem.log(self.high - self.low)
