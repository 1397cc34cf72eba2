"""Divergences of the distributions of power_laws.py, circular.py and matrices.py."""

from __future__ import annotations

import math
from typing import Any

import tandem
from tandem.distributions.circular import ContinuousBernoulli
from tandem.distributions.discrete import Bernoulli, Binomial, Poisson
from tandem.distributions.distribution import Tensor
from tandem.distributions.gamma import Beta, Exponential, Gamma
from tandem.distributions.kl import check_event_shapes, register_kl
from tandem.distributions.matrices import LowRankMultivariateNormal, Wishart, multivariate_digamma
from tandem.distributions.multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from tandem.distributions.normal import Gumbel, Laplace, Normal, Uniform
from tandem.distributions.power_laws import Pareto


def _infinite(p: Any, q: Any) -> Tensor:
    """The support of p is wider than that of q."""
    return tandem.full_like(p.mean, math.inf)


# No finite divergence.
_WIDER = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
for _p, _others in _WIDER.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)


# ---- ContinuousBernoulli


def _above_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    """-E_p log q."""
    return -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
@register_kl(Beta, ContinuousBernoulli)
def _to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() + _above_continuous_bernoulli(p, q)


def _unless(outside: Tensor, kl: Tensor) -> Tensor:
    """Infinite where p reaches outside the support of q."""
    return tandem.where(outside, math.inf, kl)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return _unless((p.high > 1) | (p.low < 0), _to_continuous_bernoulli(p, q))


# ---- -H(p) - E_p log q, of a q whose logarithm is simple


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
def _to_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
def _to_normal(p: Any, q: Any) -> Tensor:
    spread = p.variance + (p.mean - q.loc).pow(2)
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + spread / (2 * q.scale.pow(2))


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _unit_interval_uniform(p: Any, q: Any) -> Tensor:
    return _unless((q.low > 0) | (q.high < 1), -p.entropy() + (q.high - q.low).log())


def _to_gamma(p: Any, q: Any, mean_log: Tensor) -> Tensor:
    a = q.concentration
    return -p.entropy() - a * q.rate.log() + a.lgamma() - (a - 1) * mean_log + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Tensor:
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return _to_gamma(p, q, mean_log)


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log x on [low, high]."""
    return (tandem.xlogy(high, high) - tandem.xlogy(low, low)) / (high - low) - 1


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    return _unless(p.low < 0, _to_exponential(p, q))


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    return _unless(p.low < 0, _to_gamma(p, q, _mean_log(p.low, p.high)))


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    scale = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs = (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    return _unless((p.high > 1) | (p.low < 0), -p.entropy() + scale - logs)


def _to_gumbel(p: Any, q: Any, mean_exp: Tensor) -> Tensor:
    """`mean_exp` is the mean of exp(-x / scale) under p."""
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + mean_exp * (q.loc / q.scale).exp()


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    return _to_gumbel(p, q, p.rate / (p.rate + q.scale.reciprocal()))


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    return _to_gumbel(p, q, (1 + (q.scale * p.rate).reciprocal()).pow(-p.concentration))


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Tensor:
    return _to_gumbel(p, q, (-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp())


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    ends = (-p.low / q.scale).exp() - (-p.high / q.scale).exp()
    return _to_gumbel(p, q, q.scale * ends / (p.high - p.low))


# ---- Pareto


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return tandem.where(p.scale < q.scale, math.inf, kl)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    kl = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return tandem.where(p.alpha <= 1, math.inf, kl)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    kl = (
        p.alpha.log()
        - mean_log
        + q.concentration.lgamma()
        - q.concentration * q.rate.log()
        + (1 - q.concentration) * mean_log
        + q.rate * p.alpha * p.scale / (p.alpha - 1)
        - 1
    )
    return tandem.where(p.alpha <= 1, math.inf, kl)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Tensor:
    common = p.scale / (p.alpha - 1)
    spread = p.alpha * common.pow(2) / (p.alpha - 2) + (p.alpha * common - q.loc).pow(2)
    density = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
    return tandem.where(p.alpha <= 2, math.inf, density + spread / (2 * q.scale.pow(2)) - 1)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    kl = _mean_log(p.low, p.high) * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * width).log()
    return tandem.where(p.low < q.scale, math.inf, kl)


# ---- matrices


def _halved(q: Any, p: Any, trace: Tensor, distance: Tensor, log_dets: Tensor) -> Tensor:
    return 0.5 * (log_dets + trace + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Tensor:
    check_event_shapes(p, q)
    trace = q._trace_with(p.cov_factor) + q._trace_with(tandem.diag_embed(p.cov_diag.sqrt()))
    return _halved(q, p, trace, q._mahalanobis(q.loc - p.loc), q._log_det() - p._log_det())


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _normal_low_rank(p: Any, q: Any) -> Tensor:
    check_event_shapes(p, q)
    log_dets = q._log_det() - 2 * half_log_det(p._unbroadcasted_scale_tril)
    return _halved(q, p, q._trace_with(p.scale_tril), q._mahalanobis(q.loc - p.loc), log_dets)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_normal(p: Any, q: Any) -> Tensor:
    check_event_shapes(p, q)
    tril = q._unbroadcasted_scale_tril
    parts = [
        tandem.linalg.solve_triangular(tril, part, upper=False).pow(2).sum((-2, -1))
        for part in (p.cov_factor, tandem.diag_embed(p.cov_diag.sqrt()))
    ]
    return _halved(q, p, parts[0] + parts[1], mahalanobis(tril, q.loc - p.loc), 2 * half_log_det(tril) - p._log_det())


@register_kl(Wishart, Wishart)
def _wishart(p: Any, q: Any) -> Tensor:
    n = p.event_shape[-1]
    trace = tandem.cholesky_solve(p.covariance_matrix, q.scale_tril).diagonal(0, -2, -1).sum(-1)
    return (
        q.df * (half_log_det(q.scale_tril) - half_log_det(p.scale_tril))
        + 0.5 * p.df * (trace - n)
        + tandem.mvlgamma(q.df / 2, n)
        - tandem.mvlgamma(p.df / 2, n)
        + 0.5 * (p.df - q.df) * multivariate_digamma(p.df / 2, n)
    )
