"""Continuous relaxations of Bernoulli and OneHotCategorical, differentiable in their parameters (Maddison et al. 2017;
Jang et al. 2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tandem
from tandem.distributions import constraints
from tandem.distributions.categorical import Categorical
from tandem.distributions.discrete import _ByProbability
from tandem.distributions.distribution import (
    Distribution,
    Size,
    Tensor,
    broadcast_all,
    either,
    open_uniform,
    probs_to_logits,
)
from tandem.distributions.transformed_distribution import TransformedDistribution
from tandem.distributions.transforms import ExpTransform, SigmoidTransform

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


class LogitRelaxedBernoulli(_ByProbability):
    """The logit of a RelaxedBernoulli: (logits + a logistic number) / temperature.

    Args:
        temperature: a positive number; small values come close to 0 and 1 after the sigmoid.
        probs, logits: of the Bernoulli; one of them.

    Example:
        >>> import tandem
        >>> relaxed = tandem.distributions.LogitRelaxedBernoulli(1.0, logits=tandem.tensor(0.0))
        >>> relaxed.log_prob(tandem.tensor(0.0))
        tensor(-1.3863)
    """

    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: float | Tensor,
        probs: float | Tensor | None = None,
        logits: float | Tensor | None = None,
        validate_args: bool | None = None,
    ):
        self.temperature = tandem.as_tensor(temperature)
        if either(probs, logits):
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        # Logits that are made of given probabilities are made anew: those that are kept have a history that a backward
        # of an earlier sample has freed.
        given = self.__dict__.get("probs")
        logits = self.logits if given is None else probs_to_logits(given, is_binary=True)
        u = open_uniform(self._extended_shape(sample_shape), logits)
        return (u.log() - (-u).log1p() + logits) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value * self.temperature
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class _Relaxed(TransformedDistribution):
    has_rsample = True
    base_dist: Any

    @property
    def temperature(self) -> Tensor:
        """Small values come close to the discrete distribution."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Logits of the discrete distribution."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities of the discrete distribution."""
        return self.base_dist.probs


class RelaxedBernoulli(_Relaxed):
    """RelaxedBernoulli(temperature, probs or logits=...): numbers in (0, 1) near 0 or 1, with gradients.

    The form is that of Maddison et al. 2017, https://arxiv.org/abs/1611.00712.

    Args:
        temperature: a positive number; the smaller, the nearer to a Bernoulli.
        probs, logits: of the Bernoulli; one of them.

    Example:
        >>> import tandem
        >>> probs = tandem.tensor([0.2, 0.8], requires_grad=True)
        >>> draw = tandem.distributions.RelaxedBernoulli(0.5, probs).rsample()
        >>> draw.shape, draw.requires_grad
        (tandem.Size([2]), True)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(
        self,
        temperature: float | Tensor,
        probs: float | Tensor | None = None,
        logits: float | Tensor | None = None,
        validate_args: bool | None = None,
    ):
        super().__init__(
            LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args
        )


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a RelaxedOneHotCategorical: (logits + Gumbel numbers) / temperature, minus its logsumexp.

    Example:
        >>> import tandem
        >>> from tandem.distributions.relaxed import ExpRelaxedCategorical
        >>> draw = ExpRelaxedCategorical(tandem.tensor(1.0), logits=tandem.zeros(3)).sample()
        >>> round(draw.exp().sum().item(), 4)
        1.0
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: float | Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        # None itself, whose divergences and moments those of the relaxation are not.
        self._categorical = Categorical(probs, logits)
        self.temperature = tandem.as_tensor(temperature)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of `probs`."""
        return self._categorical.param_shape

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        u = open_uniform(self._extended_shape(sample_shape), self.logits)
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        k = self._event_shape[-1]
        log_scale = math.lgamma(k) - self.temperature.log() * -(k - 1)
        score = self.logits - value * self.temperature
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(_Relaxed):
    """RelaxedOneHotCategorical(temperature, probs or logits=...): differentiable points near the simplex's corners.

    The form is that of Maddison et al. 2017, https://arxiv.org/abs/1611.00712.

    Args:
        temperature: a positive number; the smaller, the nearer to one-hot vectors.
        probs, logits: of the categories, along the last dim; one of them.

    Example:
        >>> import tandem
        >>> draw = tandem.distributions.RelaxedOneHotCategorical(1.0, logits=tandem.zeros(3)).rsample((2,))
        >>> draw.shape
        tandem.Size([2, 3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(
        self,
        temperature: float | Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
