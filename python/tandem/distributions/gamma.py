"""Gamma and what is made of it: Exponential, Chi2, Beta, Dirichlet, InverseGamma, StudentT.

Draws keep the gradients of their parameters (implicit reparameterisation, Figurnov et al. 2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tandem
from tandem.distributions import constraints
from tandem.distributions._private_names import _standard_gamma  # noqa: F401
from tandem.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    Size,
    Tensor,
    broadcast_all,
    open_uniform,
)
from tandem.distributions.transformed_distribution import TransformedDistribution
from tandem.distributions.transforms import PowerTransform

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "Gamma", "InverseGamma", "StudentT"]

Number = float | Tensor


class Gamma(ExponentialFamily):
    """Gamma(concentration, rate): mean concentration / rate.

    Example:
        >>> import tandem
        >>> a = tandem.tensor(2.0, requires_grad=True)
        >>> tandem.distributions.Gamma(a, 1.0).rsample((1000,)).mean().backward()
        >>> a.grad is not None
        True
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _event_dims = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Number, rate: Number, validate_args: bool | None = None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = tandem._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return value.clamp(min=tandem.finfo(value.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = tandem.as_tensor(value, dtype=self.rate.dtype)
        self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return tandem.xlogy(a, rate) + tandem.xlogy(a - 1, value) - rate * value - tandem.lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return tandem.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - tandem.log(self.rate) + tandem.lgamma(a) + (1.0 - a) * tandem.digamma(a)


class Exponential(ExponentialFamily):
    """Exponential(rate): waiting times with mean 1 / rate; density rate exp(-rate x) for x >= 0, rate > 0.

    Example:
        >>> import tandem
        >>> tandem.distributions.Exponential(2.0).mean
        tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _event_dims = {"rate": 0}

    def __init__(self, rate: Number, validate_args: bool | None = None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return tandem.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.rate.new_empty(shape).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -tandem.expm1(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -tandem.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - tandem.log(self.rate)


class Chi2(Gamma):
    """Chi2(df): the sum of `df` squared normal numbers, Gamma(df / 2, 1 / 2); df > 0.

    Example:
        >>> import tandem
        >>> tandem.distributions.Chi2(3.0).mean
        tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Number, validate_args: bool | None = None):
        (half,) = broadcast_all(df)
        super().__init__(0.5 * half, tandem.full_like(half, 0.5), validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2


class InverseGamma(TransformedDistribution):
    """InverseGamma(concentration, rate): 1 / x of a Gamma(concentration, rate), both > 0.

    The mean is rate / (concentration - 1), infinite for concentrations up to 1.

    Example:
        >>> import tandem
        >>> tandem.distributions.InverseGamma(3.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(self, concentration: Number, rate: Number, validate_args: bool | None = None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The concentration of the Gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the Gamma distribution."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        return tandem.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return tandem.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape).reciprocal()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self.base_dist.log_prob(value.reciprocal()) - 2 * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self.base_dist._validate_sample(value.reciprocal())  # takes 0, which has no density
        return tandem.special.gammaincc(self.concentration, self.rate / value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Dirichlet(ExponentialFamily):
    """Dirichlet(concentration): points of the simplex of the last dim.

    log p(x) = sum((c - 1) log x) + lgamma(sum(c)) - sum(lgamma(c)) with c the concentrations, each > 0. ValueError for
    a concentration without dims.

    Example:
        >>> import tandem
        >>> tandem.distributions.Dirichlet(tandem.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _event_dims = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = tandem.nn.functional.one_hot(mode.argmax(dim=-1), above.shape[-1]).to(mode.dtype)
        return tandem.where((self.concentration < 1).all(dim=-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        # A Gamma(a) is a Gamma(a + 1) u^(1 / a): its logarithm stays finite for any a.
        a = self.concentration.expand(self._extended_shape(sample_shape))
        u = open_uniform(a.shape, a)
        small = a < 1
        log_gamma = tandem._standard_gamma(tandem.where(small, a + 1, a)).log()
        point = (log_gamma + tandem.where(small, u.log() / a, 0.0)).softmax(-1)
        # Inside of the simplex, where densities are finite, also of concentrations so small that all else rounds away.
        info = tandem.finfo(point.dtype)
        return point.clamp(min=info.tiny, max=1 - info.eps / 2)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a = self.concentration
        return tandem.xlogy(a - 1.0, value).sum(-1) + tandem.lgamma(a.sum(-1)) - tandem.lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        k = self.concentration.size(-1)
        a0 = self.concentration.sum(-1)
        return (
            tandem.lgamma(self.concentration).sum(-1)
            - tandem.lgamma(a0)
            - (k - a0) * tandem.digamma(a0)
            - ((self.concentration - 1.0) * tandem.digamma(self.concentration)).sum(-1)
        )


class Beta(ExponentialFamily):
    """Beta(concentration1, concentration0): density x^(concentration1 - 1) (1 - x)^(concentration0 - 1) / B on [0, 1].

    B is the beta function of the concentrations, each > 0; the mean is the share of concentration1 in their sum.

    Example:
        >>> import tandem
        >>> tandem.distributions.Beta(1.0, 3.0).mean
        tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Number, concentration0: Number, validate_args: bool | None = None):
        pair = tandem.stack(list(broadcast_all(concentration1, concentration0)), -1)
        self._dirichlet = Dirichlet(pair, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        return new

    @property
    def concentration1(self) -> Tensor:
        """The exponent of x, plus one."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The exponent of 1 - x, plus one."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._dirichlet.log_prob(tandem.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()


class StudentT(Distribution):
    """StudentT(df, loc, scale): loc + scale times a normal number over the root of a Chi2(df) / df; df > 0, scale > 0.

    Without a mean (NaN) up to df = 1, of infinite variance up to df = 2.

    Example:
        >>> import tandem
        >>> tandem.distributions.StudentT(3.0).variance
        tensor(3.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _event_dims = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df: Number, loc: Number = 0.0, scale: Number = 1.0, validate_args: bool | None = None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return tandem.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return tandem.where(self.df > 2, finite, tandem.where(self.df > 1, math.inf, math.nan))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape: Size = self._extended_shape(sample_shape)
        x = tandem.randn(shape, dtype=self.df.dtype, device=self.df.device)
        z = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * (x * tandem.rsqrt(z / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normaliser = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + tandem.lgamma(0.5 * self.df)
            - tandem.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * tandem.log1p(y**2.0 / self.df) - normaliser

    def entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        log_beta = tandem.lgamma(0.5 * self.df) + math.lgamma(0.5) - tandem.lgamma(half)
        slope = tandem.digamma(half) - tandem.digamma(0.5 * self.df)
        return self.scale.log() + half * slope + 0.5 * self.df.log() + log_beta
