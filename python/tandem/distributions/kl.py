"""Kullback-Leibler divergences in closed form, found by the two types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tandem
from tandem.distributions._private_names import _batch_trace_XXT, _x_log_x  # noqa: F401
from tandem.distributions.categorical import Categorical, OneHotCategorical
from tandem.distributions.discrete import Bernoulli, Binomial, Geometric, Poisson
from tandem.distributions.distribution import EULER, Distribution, ExponentialFamily, Tensor, sum_rightmost
from tandem.distributions.gamma import Beta, Dirichlet, Exponential, Gamma, InverseGamma
from tandem.distributions.independent import Independent
from tandem.distributions.multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from tandem.distributions.normal import Cauchy, Gumbel, HalfCauchy, HalfNormal, Laplace, Normal, Uniform
from tandem.distributions.transformed_distribution import TransformedDistribution

__all__ = ["kl_divergence", "register_kl"]

_REGISTRY: dict[tuple[type, type], Callable[..., Tensor]] = {}
_KL_REGISTRY = _REGISTRY  # PyTorch's name, which other libraries use
_FOUND: dict[tuple[type, type], Callable[..., Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorator of the function that computes kl_divergence(p, q) for these classes and those derived from them.

    Args:
        type_p, type_q: the classes of p and q, whatever they are; TypeError for what is no class.

    Example:
        >>> from tandem.distributions import Normal, register_kl
        >>> class Mine(Normal):
        ...     pass
        >>> @register_kl(Mine, Normal)
        ... def kl_mine_normal(p, q):
        ...     return p.loc - q.loc
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a class but got {kind}")

    def decorator(function: Any) -> Any:
        _REGISTRY[type_p, type_q] = function
        _FOUND.clear()
        return function

    return decorator


def _infinite_like(tensor: Tensor) -> Tensor:
    return tandem.full_like(tensor, math.inf)


def _rule(type_p: type, type_q: type) -> Callable[..., Tensor] | None:
    """The most particular rule: nearest in the resolution order of the first class, then of the second."""
    matches = [(p, q) for p, q in _REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    best = min(matches, key=lambda m: (type_p.__mro__.index(m[0]), type_q.__mro__.index(m[1])))
    return _REGISTRY[best]


_NO_RULE = "No KL(p || q) is implemented for p type {} and q type {}"


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under p of log p(x) - log q(x), one number a batch element.

    Raises:
        NotImplementedError: no formula for these two types.

    Example:
        >>> import tandem
        >>> from tandem.distributions import Normal, kl_divergence
        >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
        tensor(0.5000)
    """
    key = type(p), type(q)
    rule = _FOUND.get(key)
    if rule is None:
        rule = _rule(*key)
        if rule is None:
            raise NotImplementedError(_NO_RULE.format(type(p).__name__, type(q).__name__))
        _FOUND[key] = rule
    return rule(p, q)


def _entropy_sum(p: Tensor, log_ratio: Tensor) -> Tensor:
    """p * log_ratio, 0 where p is 0."""
    return tandem.where(p == 0, 0.0, p * log_ratio)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    softplus = tandem.nn.functional.softplus
    t1 = _entropy_sum(p.probs, softplus(-q.logits) - softplus(-p.logits))
    t2 = _entropy_sum(1 - p.probs, softplus(q.logits) - softplus(p.logits))
    t1 = tandem.where((q.probs == 0) & (p.probs != 0), math.inf, t1)
    return t1 + tandem.where((q.probs == 1) & (p.probs != 1), math.inf, t2)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return tandem.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    t = _entropy_sum(p.probs, p.logits - q.logits)
    return tandem.where((q.probs == 0) & (p.probs != 0), math.inf, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = tandem.lgamma(q.concentration) - tandem.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * tandem.digamma(p.concentration)
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * EULER - (1 + EULER)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    sum_p = p.concentration1 + p.concentration0
    sum_q = q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma()
    t3 = (p.concentration1 - q.concentration1) * tandem.digamma(p.concentration1)
    t4 = (p.concentration0 - q.concentration0) * tandem.digamma(p.concentration0)
    return t1 - t2 + t3 + t4 + (sum_q - sum_p) * tandem.digamma(sum_p)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    sum_p = p.concentration.sum(-1)
    t1 = sum_p.lgamma() - q.concentration.sum(-1).lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t4 = p.concentration.digamma() - sum_p.digamma().unsqueeze(-1)
    return t1 - t2 + ((p.concentration - q.concentration) * t4).sum(-1)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    var_ratio = (p.scale / q.scale).pow(2)
    t1 = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (var_ratio + t1 - 1 - var_ratio.log())


@register_kl(HalfNormal, HalfNormal)
@register_kl(HalfCauchy, HalfCauchy)
def _half(p: Any, q: Any) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(InverseGamma, InverseGamma)
def _inverse_gamma(p: Any, q: Any) -> Tensor:
    return kl_divergence(
        Gamma(p.concentration, p.rate, validate_args=False), Gamma(q.concentration, q.rate, validate_args=False)
    )


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * tandem.exp(-distance / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    t1 = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return t1 - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    t1 = q.loc / q.scale
    t2 = p.loc / q.scale
    return -ratio.log() - t1 + t2 + ratio * EULER + tandem.exp(t1 - t2 + (1 + ratio).lgamma()) - (1 + EULER)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return tandem.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    t1 = (math.sqrt(math.pi * 2) * q.scale / width).log()
    t2 = width.pow(2) / 12
    t3 = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return t1 + 0.5 * (t2 + t3) / q.scale.pow(2)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    diff = p.loc - q.loc
    spread = p.scale * (2 / math.pi) ** 0.5 * (-0.5 * (diff / p.scale).pow(2)).exp()
    mean_distance = spread + diff * tandem.erf(math.sqrt(0.5) * diff / p.scale)
    return (2 * q.scale).log() + mean_distance / q.scale - p.entropy()


@register_kl(Laplace, Normal)
def _laplace_normal(p: Any, q: Any) -> Tensor:
    var = q.scale.pow(2)
    t1 = 0.5 * (2 * var * math.pi).log()
    return t1 + (p.variance + (p.loc - q.loc).pow(2)) / (2 * var) - p.entropy()


@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    t1 = (ratio / math.sqrt(2 * math.pi)).log()
    t2 = (math.pi * ratio * 0.5).pow(2) / 3
    t3 = ((p.loc + p.scale * EULER - q.loc) / q.scale).pow(2) * 0.5
    return -t1 + t2 + t3 - (EULER + 1)


def check_event_shapes(p: Any, q: Any) -> None:
    """ValueError for normal distributions of vectors that are not equally long."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    check_event_shapes(p, q)
    n = p.event_shape[0]
    tril_p, tril_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    inner = tandem.linalg.solve_triangular(tril_q, tril_p, upper=False)
    trace = inner.pow(2).flatten(-2).sum(-1)
    distance = mahalanobis(tril_q, q.loc - p.loc)
    return half_log_det(tril_q) - half_log_det(tril_p) + 0.5 * (trace + distance - n)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    more = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), more)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """F(theta_q) - F(theta_p) - <theta_q - theta_p, F'(theta_p)>, of one class that says what F and theta are."""
    if type(p) is not type(q):
        raise NotImplementedError(_NO_RULE.format(type(p).__name__, type(q).__name__))
    others = q._natural_params
    params, normalizer, slopes = p._family()
    result = q._log_normalizer(*others) - normalizer
    batch_dims = max(len(p.batch_shape), len(q.batch_shape))
    for param, other, slope in zip(params, others, slopes, strict=True):
        term = (other - param) * slope
        result = result - sum_rightmost(term, max(term.dim() - batch_dims, 0))
    return result


# PyTorch's names of rules that others call.
_kl_normal_normal = _normal
_kl_independent_independent = _independent
