"""Independent: batch dims that are counted as one event; and mixtures of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tandem
from tandem.distributions import constraints
from tandem.distributions.distribution import Distribution, Size, Tensor, sum_rightmost

if TYPE_CHECKING:
    from typing_extensions import Self

    from tandem.distributions.categorical import Categorical

__all__ = ["Independent", "MixtureSameFamily"]


class Independent(Distribution):
    """Independent(base_distribution, reinterpreted_batch_ndims): the last batch dims become dims of the event.

    Example:
        >>> import tandem
        >>> D = tandem.distributions
        >>> diagonal = D.Independent(D.Normal(tandem.zeros(4, 3), 1.0), 1)
        >>> diagonal.batch_shape, diagonal.event_shape
        (tandem.Size([4]), tandem.Size([3]))
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ):
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        event_dim = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = self._get_checked_instance(type(self), _instance)
        inner = self.event_shape[: self.reinterpreted_batch_ndims]
        # Before the rest, which classes and patches may pass on to the base.
        new.base_dist = self.base_dist.expand(Size(batch_shape) + inner)
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return super().expand(batch_shape, new)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return False if self.reinterpreted_batch_ndims > 0 else self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        n = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, n) if n else self.base_dist.support

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """MixtureSameFamily(mixture_distribution, component_distribution): a Categorical chooses along
    the last batch dim of these.

    Example:
        >>> import tandem
        >>> D = tandem.distributions
        >>> two = D.MixtureSameFamily(D.Categorical(tandem.ones(2)), D.Normal(tandem.tensor([-1.0, 1.0]), 0.5))
        >>> two.mean
        tensor(0.)
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ):
        from tandem.distributions.categorical import Categorical

        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        mdbs = mixture_distribution.batch_shape
        cdbs = component_distribution.batch_shape[:-1]
        for size1, size2 in zip(reversed(mdbs), reversed(cdbs)):
            if size1 != 1 and size2 != 1 and size1 != size2:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mdbs}) is not compatible with "
                    f"`component_distribution.batch_shape`({cdbs})"
                )
        km, kc = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if km != kc:
            raise ValueError(
                f"`mixture_distribution component` ({km}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({kc})"
            )
        self._num_component = km
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(cdbs, event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        batch = Size(batch_shape)
        new._component_distribution = self.component_distribution.expand(batch + (self._num_component,))
        new._mixture_distribution = self.mixture_distribution.expand(batch)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return new

    @property
    def mixture_distribution(self) -> Categorical:
        """The Categorical that chooses."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along the last batch dim."""
        return self._component_distribution

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    def _probs(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape(tuple(probs.shape) + (1,) * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._probs() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        dim = -1 - self._event_ndims
        probs, components = self._probs(), self.component_distribution
        within = (probs * components.variance).sum(dim)
        return within + (probs * (components.mean - self.mean.unsqueeze(dim)).pow(2.0)).sum(dim)

    def cdf(self, x: Tensor) -> Tensor:
        cdf_x = self.component_distribution.cdf(self._pad(x))
        return (cdf_x * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        self._validate_sample(x)
        log_prob_x = self.component_distribution.log_prob(self._pad(x))
        return tandem.logsumexp(log_prob_x + self.mixture_distribution.logits.log_softmax(-1), -1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with tandem.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            gather_dim = len(sample_shape) + len(self.batch_shape)
            index = chosen.reshape(tuple(chosen.shape) + (1,) * (self._event_ndims + 1))
            shape = list(values.shape)
            shape[gather_dim] = 1
            return tandem.gather(values, gather_dim, index.expand(shape)).squeeze(gather_dim)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
