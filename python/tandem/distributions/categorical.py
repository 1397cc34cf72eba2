"""Categorical, OneHotCategorical and Multinomial: one of K, by probabilities or logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tandem
from tandem.distributions import constraints
from tandem.distributions.discrete import Binomial
from tandem.distributions.distribution import (
    Distribution,
    Size,
    Tensor,
    common_shape,
    either,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


class Categorical(Distribution):
    """Categorical(probs) or Categorical(logits=...): an index of the last dim, which is normalised.

    Example:
        >>> import tandem
        >>> dice = tandem.distributions.Categorical(tandem.ones(6))
        >>> dice.log_prob(tandem.tensor(3))
        tensor(-1.7918)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _event_dims = {"probs": 1, "logits": 1, "_param": 1}

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None):
        if either(probs, logits):
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
            self._param = self.probs
        else:
            assert logits is not None
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
            self._param = self.logits
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new._num_events = self._num_events
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of `probs`."""
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        return tandem.full(self._batch_shape, float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return tandem.full(self._batch_shape, float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        with tandem.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            if rows.size(0) == 0 or sample_shape.numel() == 0:
                return tandem.zeros(self._extended_shape(sample_shape), dtype=tandem.int64, device=rows.device)
            drawn = tandem.multinomial(rows, sample_shape.numel(), True).transpose(0, 1)
            return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        value = value.long()
        shape = common_shape(value.shape, self.logits.shape[:-1])
        logits = self.logits.expand(shape + self.logits.shape[-1:])
        return logits.gather(-1, value.expand(shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=tandem.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = tandem.arange(self._num_events, device=self._param.device).reshape(
            (-1,) + (1,) * len(self._batch_shape)
        )
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class _OverCategorical(Distribution):
    """What is a Categorical underneath and shows its index in another form."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _categorical: Categorical

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of `probs`."""
        return self._categorical.param_shape

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new


class OneHotCategorical(_OverCategorical):
    """OneHotCategorical(probs) or OneHotCategorical(logits=...): the index of the last dim as a vector with one 1.

    Example:
        >>> import tandem
        >>> one_hot = tandem.distributions.OneHotCategorical(tandem.tensor([0.25, 0.75]))
        >>> one_hot.log_prob(tandem.tensor([0.0, 1.0])).exp()
        tensor(0.7500)
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None):
        self._categorical = Categorical(probs, logits, validate_args=validate_args)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return tandem.nn.functional.one_hot(self.probs.argmax(dim=-1), self.probs.shape[-1]).to(self.probs.dtype)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tandem.no_grad():
            index = self._categorical.sample(sample_shape)
            return tandem.nn.functional.one_hot(index, self._categorical._num_events).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        shape = common_shape(value.shape, self.logits.shape)
        return self._categorical.log_prob(value.expand(shape).max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = tandem.eye(n, dtype=self.probs.dtype, device=self.probs.device).reshape(
            (n,) + (1,) * len(self.batch_shape) + (n,)
        )
        return values.expand((n,) + tuple(self.batch_shape) + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose draws pass gradients on to the probabilities as they come (Bengio et al. 2013).

    Example:
        >>> import tandem
        >>> logits = tandem.zeros(3, requires_grad=True)
        >>> draw = tandem.distributions.OneHotCategoricalStraightThrough(logits=logits).rsample()
        >>> draw.requires_grad, round(draw.sum().item(), 4)
        (True, 1.0)
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_OverCategorical):
    """Multinomial(total_count, probs or logits=...): how often each of K categories came in `total_count` draws.

    Args:
        total_count: one int; NotImplementedError for a tensor.
        probs, logits: of the categories, along the last dim; one of them.

    Example:
        >>> import tandem
        >>> multinomial = tandem.distributions.Multinomial(4, tandem.tensor([0.25, 0.75]))
        >>> multinomial.mean, multinomial.sample().sum()
        (tensor([1., 3.]), tensor(4.))
    """

    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits, validate_args=validate_args)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.total_count = self.total_count
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tandem.no_grad():
            drawn = self._categorical.sample((self.total_count, *sample_shape))
            hot = tandem.nn.functional.one_hot(drawn, self._categorical._num_events)
            return hot.sum(0).to(self.probs.dtype)

    def entropy(self) -> Tensor:
        n = tandem.tensor(float(self.total_count), dtype=self.probs.dtype, device=self.probs.device)
        counts = Binomial(self.total_count, probs=self.probs)
        values = counts.enumerate_support(False)
        # The mean of log(count!) of each outcome, whose count is binomial.
        spread = (counts.log_prob(values).exp() * tandem.lgamma(values + 1)).sum((0, -1))
        return n * self._categorical.entropy() - tandem.lgamma(n + 1) + spread

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        factorials = tandem.lgamma(value.sum(-1) + 1) - tandem.lgamma(value + 1).sum(-1)
        return factorials + tandem.where(value == 0, 0.0, self.logits * value).sum(-1)
