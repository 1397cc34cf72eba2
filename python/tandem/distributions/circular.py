"""VonMises, the normal distribution of angles, and ContinuousBernoulli."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tandem
from tandem.distributions import constraints
from tandem.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    Tensor,
    broadcast_all,
    clamp_probs,
    either,
    lazy_property,
    logits_to_probs,
    open_uniform,
    probs_to_logits,
)

__all__ = ["ContinuousBernoulli", "VonMises"]

Number = float | Tensor

# Abramowitz and Stegun, 9.8.1 to 9.8.4: I0 and I1 / x in (x / 3.75)^2 up to 3.75; above, sqrt(x) e^-x times each in
# 3.75 / x.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1,
     0.392377e-2),
    (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1,
     -0.420059e-2),
)  # fmt: skip


def _polynomial(y: Tensor, coefficients: Sequence[float]) -> Tensor:
    result = tandem.full_like(y, coefficients[-1])
    for c in coefficients[-2::-1]:
        result = c + y * result
    return result


def log_bessel_i(x: Tensor, order: int) -> Tensor:
    """log of the modified Bessel function I of order 0 or 1 of x > 0, to 2e-7 relative."""
    small = x < 3.75
    below = tandem.where(small, x, 1.0)
    above = tandem.where(small, 3.75, x)
    near = _polynomial((below / 3.75) ** 2, _SMALL[order]).log()
    if order == 1:
        near = near + below.log()
    far = above - 0.5 * above.log() + _polynomial(3.75 / above, _LARGE[order]).log()
    return tandem.where(small, near, far)


class VonMises(Distribution):
    """VonMises(loc, concentration): angles around `loc`, in radians.

    The density is exp(concentration cos(x - loc)) / (2 pi I0(concentration)).

    Draws are by rejection (Best and Fisher 1979), the first of 32 proposals that is accepted; each is with probability
    of two thirds or more.

    Example:
        >>> import tandem
        >>> d = tandem.distributions.VonMises(tandem.tensor(0.0), tandem.tensor(4.0))
        >>> d.sample((3,)).shape
        tandem.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _event_dims = {"loc": 0, "concentration": 0}
    _PROPOSALS = 32

    def __init__(self, loc: Number, concentration: Number, validate_args: bool | None = None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """1 - I1 / I0: one less the length of the mean of points on the circle."""
        return 1 - (log_bessel_i(self.concentration, 1) - log_bessel_i(self.concentration, 0)).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        k = self.concentration
        return k * tandem.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel_i(k, 0)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with tandem.no_grad():
            k = self.concentration.double().expand(shape)
            # r of the wrapped Cauchy distribution that proposes; its formula cancels for small k.
            tau = 1 + (1 + 4 * k**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            r = tandem.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))
            uniform = tandem.rand((3, self._PROPOSALS) + tuple(shape), dtype=tandem.float64, device=k.device)
            z = tandem.cos(math.pi * uniform[0])
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accept = (c * (2 - c) - uniform[1] > 0) | ((c / uniform[1]).log() + 1 - c >= 0)
            first = accept.to(tandem.int32).argmax(0, keepdim=True)
            angle = (uniform[2] - 0.5).sign() * f.clamp(-1, 1).acos()
            angle = angle.gather(0, first).squeeze(0)
            turned = (angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)


class ContinuousBernoulli(ExponentialFamily):
    """ContinuousBernoulli(probs or logits=...): density proportional to probs^x (1 - probs)^(1 - x) on [0, 1]
    (Loaiza-Ganem and Cunningham 2019). Near probs = 0.5, between `lims`, by series.

    Example:
        >>> import tandem
        >>> tandem.distributions.ContinuousBernoulli(0.5).mean
        tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _event_dims = {"probs": 0, "logits": 0}

    def __init__(
        self,
        probs: Number | None = None,
        logits: Number | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ):
        self._lims = lims
        if either(probs, logits):
            (value,) = broadcast_all(probs)
            check = self._checks() and validate_args is not False
            if check and not tandem._C._holds(self.arg_constraints["probs"].check(value)):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(value)
        else:
            (value,) = broadcast_all(logits)
            self.logits = value
        super().__init__(value.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return tandem.Size(self._batch_shape)

    def _far(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """The parameter where it is far from 0.5, the lower limit elsewhere."""
        return tandem.where(self._far(), self.probs, self._lims[0])

    def _by_series(self, exact: Tensor, series: Any) -> Tensor:
        return tandem.where(self._far(), exact, series(self.probs - 0.5))

    def _cont_bern_log_norm(self) -> Tensor:
        c = self._cut()
        low = c <= 0.5
        size = tandem.log(tandem.abs(tandem.log1p(-c) - tandem.log(c)))
        width = tandem.where(
            low,
            tandem.log1p(-2.0 * tandem.where(low, c, 0.0)),
            tandem.log(2.0 * tandem.where(low, 1.0, c) - 1.0),
        )
        return self._by_series(size - width, lambda x: math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x**2) * x**2)

    @property
    def mean(self) -> Tensor:
        c = self._cut()
        exact = c / (2.0 * c - 1.0) + 1.0 / (tandem.log1p(-c) - tandem.log(c))
        return self._by_series(exact, lambda x: 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def variance(self) -> Tensor:
        c = self._cut()
        exact = c * (c - 1.0) / (1.0 - 2.0 * c) ** 2 + 1.0 / (tandem.log1p(-c) - tandem.log(c)) ** 2
        return self._by_series(exact, lambda x: 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x**2) * x**2)

    @property
    def stddev(self) -> Tensor:
        return tandem.sqrt(self.variance)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(open_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        likely = -tandem.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return likely + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        c = self._cut()
        exact = (c**value * (1.0 - c) ** (1.0 - value) + c - 1.0) / (2.0 * c - 1.0)
        inside = tandem.where(self._far(), exact, value)
        return tandem.where(value <= 0.0, 0.0, tandem.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        c = self._cut()
        exact = (tandem.log1p(-c + value * (2.0 * c - 1.0)) - tandem.log1p(-c)) / (tandem.log(c) - tandem.log1p(-c))
        return tandem.where(self._far(), exact, value)

    def entropy(self) -> Tensor:
        zero, one = tandem.log1p(-self.probs), tandem.log(self.probs)
        return self.mean * (zero - one) - self._cont_bern_log_norm() - zero
