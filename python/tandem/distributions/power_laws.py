"""Powers and ratios of simpler draws: Pareto, also generalised, Weibull, Kumaraswamy, FisherSnedecor, and
LogisticNormal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tandem
from tandem.distributions import constraints
from tandem.distributions.distribution import EULER, Distribution, Tensor, broadcast_all
from tandem.distributions.gamma import Exponential, Gamma
from tandem.distributions.normal import Normal, Uniform
from tandem.distributions.transformed_distribution import TransformedDistribution
from tandem.distributions.transforms import AffineTransform, ExpTransform, PowerTransform, StickBreakingTransform

__all__ = ["FisherSnedecor", "GeneralizedPareto", "Kumaraswamy", "LogisticNormal", "Pareto", "Weibull"]

Number = float | Tensor


class _OfParameters(TransformedDistribution):
    """A transformed distribution that is made again from its parameters when it is expanded."""

    _parameters: tuple[str, str]

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(type(self), _instance)
        first, second = (getattr(self, name).expand(tuple(batch_shape)) for name in self._parameters)
        type(self).__init__(new, first, second, validate_args=False)
        new._validate_args = self._validate_args
        return new


class Pareto(_OfParameters):
    """Pareto(scale, alpha): density alpha scale^alpha / x^(alpha + 1) from `scale` on.

    Example:
        >>> import tandem
        >>> tandem.distributions.Pareto(1.0, 3.0).mean
        tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _parameters = ("scale", "alpha")

    def __init__(self, scale: Number, alpha: Number, validate_args: bool | None = None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class GeneralizedPareto(Distribution):
    """GeneralizedPareto(loc, scale, concentration): of c = concentration and z = (x - loc) / scale, which is at least 0
    and for a negative c at most -1 / c, the density is (1 + c z)^(-1 / c - 1) / scale, for c = 0 exp(-z) / scale.

    Example:
        >>> import tandem
        >>> tandem.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _event_dims = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc: Number, scale: Number, concentration: Number, validate_args: bool | None = None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, tandem.where(self.concentration < 0, end, math.inf))

    def _split(self) -> tuple[Tensor, Tensor]:
        """Where the concentration counts as 0, and one that can be divided by."""
        zero = tandem.isclose(self.concentration, tandem.zeros_like(self.concentration))
        return zero, tandem.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(tandem.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _place(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return (value - self.loc) / self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._place(value)
        zero, c = self._split()
        power = 1 / c + 1
        # For c = -1, a uniform one, the power is 0 whatever the logarithm is.
        general = tandem.where(power == 0, power, power * tandem.log1p(c * z))
        return -self.scale.log() - tandem.where(zero, z, general)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a larger value."""
        z = self._place(value)
        zero, c = self._split()
        return tandem.where(zero, -z, -tandem.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return tandem.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._split()
        log = tandem.log1p(-value)
        return tandem.where(zero, self.loc - self.scale * log, self.loc + self.scale / c * tandem.expm1(-c * log))

    @property
    def mean(self) -> Tensor:
        finite = self.concentration < 1
        mean = self.loc + self.scale / (1 - tandem.where(finite, self.concentration, 0.5))
        return tandem.where(finite, mean, math.nan)

    @property
    def variance(self) -> Tensor:
        finite = self.concentration < 0.5
        c = tandem.where(finite, self.concentration, 0.25)
        return tandem.where(finite, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1


class Weibull(_OfParameters):
    """Weibull(scale, concentration): scale times a standard exponential draw to the power 1 / concentration.

    Example:
        >>> import tandem
        >>> tandem.distributions.Weibull(1.0, 1.0).log_prob(tandem.tensor(2.0))
        tensor(-2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _parameters = ("scale", "concentration")

    def __init__(self, scale: Number, concentration: Number, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(tandem.ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        return tandem.exp(tandem.lgamma(1 + n * self.concentration_reciprocal))

    @property
    def mean(self) -> Tensor:
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (self._moment(2) - self._moment(1).pow(2))

    def entropy(self) -> Tensor:
        rest = tandem.log(self.scale * self.concentration_reciprocal) + 1
        return EULER * (1 - self.concentration_reciprocal) + rest


class Kumaraswamy(_OfParameters):
    """Kumaraswamy(concentration1, concentration0): on the unit interval, like Beta, with a distribution function that
    is 1 - (1 - x^concentration1)^concentration0.

    Example:
        >>> import tandem
        >>> tandem.distributions.Kumaraswamy(1.0, 1.0).mean
        tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _parameters = ("concentration1", "concentration0")

    def __init__(self, concentration1: Number, concentration0: Number, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zero = tandem.zeros_like(self.concentration0)
        base = Uniform(zero, zero + 1, validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return tandem.exp(b.log() + tandem.lgamma(1 + n / a) + tandem.lgamma(b) - tandem.lgamma(1 + n / a + b))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return tandem.where((a < 1) | (b < 1), math.nan, mode)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = tandem.digamma(b + 1) + EULER
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - tandem.log(a) - tandem.log(b)


class FisherSnedecor(Distribution):
    """FisherSnedecor(df1, df2): the ratio of two Chi2 draws, each by its degrees of freedom.

    Example:
        >>> import tandem
        >>> tandem.distributions.FisherSnedecor(2.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _event_dims = {"df1": 0, "df2": 0}

    def __init__(self, df1: Number, df2: Number, validate_args: bool | None = None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return tandem.where(self.df2 <= 2, math.nan, self.df2 / (self.df2 - 2))

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return tandem.where(self.df1 <= 2, math.nan, mode)

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2
        variance = 2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4))
        return tandem.where(b <= 4, math.nan, variance)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        a, b = self.df1.expand(shape), self.df2.expand(shape)
        above, below = Gamma(a * 0.5, a, validate_args=False), Gamma(b * 0.5, b, validate_args=False)
        ratio = above.rsample() / below.rsample()
        return ratio.clamp(min=tandem.finfo(ratio.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        scale = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return scale + a * ratio.log() + (a - 1) * tandem.log(value) - (a + b) * tandem.log1p(ratio * value)


class LogisticNormal(TransformedDistribution):
    """LogisticNormal(loc, scale): K - 1 normal numbers as a point of the simplex of K.

    Example:
        >>> import tandem
        >>> tandem.distributions.LogisticNormal(tandem.zeros(3), tandem.ones(3)).sample().shape
        tandem.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Number, scale: Number, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(LogisticNormal, _instance))

    @property
    def _normal(self) -> Any:
        base: Any = self.base_dist
        return base.base_dist

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self._normal.loc

    @property
    def scale(self) -> Tensor:
        """Their standard deviations."""
        return self._normal.scale
