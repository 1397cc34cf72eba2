"""Counts and yes or no: Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson, and RelaxedBernoulli's kin."""

from __future__ import annotations

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
    either,
    lazy_property,
    logits_to_probs,
    open_uniform,
    probs_to_logits,
)

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]

Number = float | Tensor


def _cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """-log of the probability that Bernoulli(logits) gives to `target`."""
    logits, target = broadcast_all(logits, target)
    if not target.dtype.is_floating_point:
        target = target.to(logits.dtype)
    return tandem.nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")


class _ByProbability(Distribution):
    """Distributions with the parameter `probs` or its `logits`."""

    arg_constraints: dict[str, Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    _event_dims = {"probs": 0, "logits": 0}

    @lazy_property
    def logits(self) -> Tensor:
        """log(probs / (1 - probs))."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    @property
    def param_shape(self) -> Size:
        """The shape of `probs`."""
        return self._param.size()


class Bernoulli(_ByProbability, ExponentialFamily):
    """Bernoulli(probs) or Bernoulli(logits=...): 1 with probability `probs`, else 0.

    Example:
        >>> import tandem
        >>> tandem.distributions.Bernoulli(0.25).log_prob(tandem.tensor(1.0))
        tensor(-1.3863)
    """

    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Number | None = None, logits: Number | None = None, validate_args: bool | None = None):
        if either(probs, logits):
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return tandem.where(self.probs == 0.5, float("nan"), mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tandem.no_grad():
            return tandem.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -_cross_entropy(self.logits, value)

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = tandem.arange(2, dtype=self._param.dtype, device=self._param.device).reshape(
            (-1,) + (1,) * len(self._batch_shape)
        )
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class Binomial(_ByProbability):
    """Binomial(total_count, probs or logits=...): successes in `total_count` trials, each of probability `probs`.

    `total_count` is a number or a tensor of counts; the mean is total_count * probs.

    Example:
        >>> import tandem
        >>> binomial = tandem.distributions.Binomial(4, tandem.tensor(0.5))
        >>> binomial.mean, binomial.log_prob(tandem.tensor(2.0)).exp()
        (tensor(2.), tensor(0.3750))
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _event_dims = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(
        self,
        total_count: int | Tensor = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        if either(probs, logits):
            count, self.probs = broadcast_all(total_count, probs)
        else:
            count, self.logits = broadcast_all(total_count, logits)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with tandem.no_grad():
            return tandem.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n = self.total_count
        choices = tandem.lgamma(n + 1) - tandem.lgamma(value + 1) - tandem.lgamma(n - value + 1)
        # -log(1 - probs). max(x, 0) as the mean of two forms, whose derivatives at 0 are 1 and 0.
        positive = (self.logits.clamp(min=0) + self.logits - self.logits.clamp(max=0)) / 2
        log_rest = positive + (-self.logits.abs()).exp().log1p()
        return choices + value * self.logits - n * log_rest

    def entropy(self) -> Tensor:
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(tandem.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = tandem.arange(1 + total, dtype=self._param.dtype, device=self._param.device).reshape(
            (-1,) + (1,) * len(self._batch_shape)
        )
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class Geometric(_ByProbability):
    """Geometric(probs) or Geometric(logits=...): failures before the first success, each trial of probability `probs`.

    p(k) = (1 - probs)^k probs for k = 0, 1, ...; the mean is 1 / probs - 1.

    Example:
        >>> import tandem
        >>> tandem.distributions.Geometric(0.25).mean
        tensor(3.)
    """

    support = constraints.nonnegative_integer

    def __init__(self, probs: Number | None = None, logits: Number | None = None, validate_args: bool | None = None):
        if either(probs, logits):
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._checks() and probs is not None:
            value = self.probs
            if not tandem._C._holds(value > 0):
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to be positive but found invalid values:\n{value[value <= 0].reshape(-1)}"
                )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return tandem.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tandem.no_grad():
            u = open_uniform(self._extended_shape(sample_shape), self.probs)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # Nothing comes of 0 failures, however sure the success.
        failures = tandem.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-failures).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs) / self.probs


class NegativeBinomial(_ByProbability):
    """NegativeBinomial(total_count, probs or logits=...): successes before `total_count` failures.

    Each trial succeeds with probability `probs` in [0, 1); `total_count` >= 0 need not be whole. The mean is
    total_count * probs / (1 - probs).

    Example:
        >>> import tandem
        >>> tandem.distributions.NegativeBinomial(2.0, tandem.tensor(0.5)).mean
        tensor(2.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _event_dims = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(
        self,
        total_count: Number,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        if either(probs, logits):
            count, self.probs = broadcast_all(total_count, probs)
        else:
            count, self.logits = broadcast_all(total_count, logits)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * tandem.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / tandem.sigmoid(-self.logits)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tandem.no_grad():
            shape = self._extended_shape(sample_shape)
            rate = tandem._standard_gamma(self.total_count.expand(shape)) * tandem.exp(self.logits)
            return tandem.poisson(rate)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logsigmoid = tandem.nn.functional.logsigmoid
        n = self.total_count
        likelihood = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        normaliser = -tandem.lgamma(n + value) + tandem.lgamma(1.0 + value) + tandem.lgamma(n)
        return likelihood - tandem.where(n + value == 0.0, 0.0, normaliser)


class Poisson(ExponentialFamily):
    """Poisson(rate): how many events happen where `rate` >= 0 are expected; p(k) = rate^k exp(-rate) / k!.

    Example:
        >>> import tandem
        >>> tandem.distributions.Poisson(2.0).log_prob(tandem.tensor(0.0))
        tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _event_dims = {"rate": 0}

    def __init__(self, rate: Number, validate_args: bool | None = None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tandem.no_grad():
            return tandem.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return tandem.xlogy(value, rate) - rate - (value + 1).lgamma()
