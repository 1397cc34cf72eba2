"""Pareto, Weibull, Kumaraswamy, FisherSnedecor, LogisticNormal, VonMises, ContinuousBernoulli, Wishart, LKJCholesky and
LowRankMultivariateNormal: against SciPy, their own draws, each other, and in every mode."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.stats as st
from conftest import assert_same_bits, run_in

import tandem
from tandem import distributions as D
from tandem import tensor

F64 = tandem.float64


def f64(*values: float) -> tandem.Tensor:
    return tensor(values, dtype=F64)


def covariance(n: int, seed: int = 0) -> tandem.Tensor:
    a = np.random.default_rng(seed).normal(size=(n, n))
    return tensor(a @ a.T + np.eye(n))


SCIPY = {
    "Pareto": (D.Pareto(f64(2.0), f64(3.5)), st.pareto(3.5, scale=2), [2.5, 4.0]),
    "Weibull": (D.Weibull(f64(2.0), f64(1.5)), st.weibull_min(1.5, scale=2), [0.5, 3.0]),
    "FisherSnedecor": (D.FisherSnedecor(f64(3.0), f64(5.5)), st.f(3, 5.5), [0.5, 3.0]),
    "VonMises": (D.VonMises(f64(0.5), f64(2.0)), st.vonmises(2, 0.5), [0.1, -2.0]),
    "VonMises sharp": (D.VonMises(f64(0.5), f64(20.0)), st.vonmises(20, 0.5), [0.1, 0.6]),
}


@pytest.mark.parametrize("name", SCIPY)
def test_densities(name):
    ours, theirs, values = SCIPY[name]
    np.testing.assert_allclose(ours.log_prob(f64(*values)), theirs.logpdf(values), rtol=1e-6)
    if name[:3] != "Von":
        np.testing.assert_allclose(ours.mean.item(), theirs.mean(), rtol=1e-9)
        np.testing.assert_allclose(ours.variance.item(), theirs.var(), rtol=1e-9)
    if name in ("Pareto", "Weibull"):
        np.testing.assert_allclose(ours.cdf(f64(*values)), theirs.cdf(values), rtol=1e-9)
        np.testing.assert_allclose(ours.entropy().item(), theirs.entropy(), rtol=1e-7)


@pytest.mark.parametrize("name", [*SCIPY])
def test_draws(name):
    ours, theirs, _ = SCIPY[name]
    draws = ours.sample((5000,)).flatten().numpy()
    if name[:3] == "Von":
        assert abs(draws).max() <= math.pi
        centred = np.angle(np.exp(1j * (draws - 0.5)))
        assert st.kstest(centred, st.vonmises(ours.concentration.item(), 0).cdf).pvalue > 1e-3
    else:
        assert st.kstest(draws, theirs.cdf).pvalue > 1e-3


def test_kumaraswamy_and_continuous_bernoulli_by_integration():
    x = (tandem.arange(200000, dtype=F64) + 0.5) / 200000
    for d in (
        D.Kumaraswamy(f64(1.5), f64(2.5)),
        D.ContinuousBernoulli(f64(0.2)),
        D.ContinuousBernoulli(f64(0.5)),
        D.ContinuousBernoulli(logits=f64(1.0)),
    ):
        density = d.log_prob(x).exp()
        np.testing.assert_allclose(density.mean(), 1.0, rtol=1e-6)
        np.testing.assert_allclose((density * x).mean(), d.mean.item(), rtol=1e-6)
        np.testing.assert_allclose((density * (x - d.mean) ** 2).mean(), d.variance.item(), rtol=1e-5)
        np.testing.assert_allclose(-(density * d.log_prob(x)).mean(), d.entropy().item(), rtol=1e-4, atol=1e-5)
    d = D.ContinuousBernoulli(f64(0.3, 0.5))
    u = f64(0.2, 0.7)
    np.testing.assert_allclose(d.cdf(d.icdf(u)), u, rtol=1e-9)


def test_logistic_normal():
    d = D.LogisticNormal(tandem.zeros(3, dtype=F64), tandem.ones(3, dtype=F64))
    x = d.rsample((5,))
    np.testing.assert_allclose(x.sum(-1), np.ones(5), rtol=1e-12)
    assert d.log_prob(x).shape == (5,) and d.expand((2,)).sample().shape == (2, 4)


def test_a_low_rank_normal_is_the_normal_of_its_covariance():
    w, diag, loc = tensor(np.random.default_rng(1).normal(size=(4, 2))), f64(0.5, 1.0, 2.0, 0.3), f64(1, 2, 3, 4)
    low = D.LowRankMultivariateNormal(loc, w, diag)
    full = D.MultivariateNormal(loc, w @ w.T + tandem.diag(diag))
    x = full.sample((3,))
    np.testing.assert_allclose(low.log_prob(x), full.log_prob(x), rtol=1e-9)
    for name in ("covariance_matrix", "precision_matrix", "scale_tril", "variance", "mean"):
        np.testing.assert_allclose(getattr(low, name), getattr(full, name), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(low.entropy(), full.entropy(), rtol=1e-9)
    other = D.MultivariateNormal(f64(0, 0, 0, 0), covariance(4))
    np.testing.assert_allclose(D.kl_divergence(low, other), D.kl_divergence(full, other), rtol=1e-8)
    np.testing.assert_allclose(D.kl_divergence(other, low), D.kl_divergence(other, full), rtol=1e-8)
    shifted = D.LowRankMultivariateNormal(loc * 0, w.cos(), diag + 1)
    dense = D.MultivariateNormal(loc * 0, shifted.covariance_matrix)
    np.testing.assert_allclose(D.kl_divergence(low, shifted), D.kl_divergence(full, dense), rtol=1e-8)
    draws = D.LowRankMultivariateNormal(loc.float(), w.float(), diag.float()).sample((20000,))
    np.testing.assert_allclose(np.cov(draws.numpy().T), full.covariance_matrix, atol=0.2)


def test_wishart():
    scale = covariance(3)
    d = D.Wishart(f64(5.0)[0], covariance_matrix=scale)
    theirs = st.wishart(5, scale.numpy())
    x = covariance(3, seed=2)
    np.testing.assert_allclose(d.log_prob(x).item(), theirs.logpdf(x.numpy()), rtol=1e-9)
    np.testing.assert_allclose(d.entropy().item(), theirs.entropy(), rtol=1e-9)
    np.testing.assert_allclose(d.mean, theirs.mean(), rtol=1e-9)
    np.testing.assert_allclose(d.variance, theirs.var(), rtol=1e-9)
    for name in ("precision_matrix", "scale_tril"):
        same = D.Wishart(5.0, **{name: getattr(d, name)})
        np.testing.assert_allclose(same.log_prob(x).item(), theirs.logpdf(x.numpy()), rtol=1e-8)
    draws = d.sample((20000,))
    np.testing.assert_allclose(draws.mean(0), theirs.mean(), rtol=0.1, atol=0.3)
    with pytest.raises(ValueError, match="expected to be greater than ndim - 1"):
        D.Wishart(1.0, scale)


def test_lkj_cholesky():
    d = D.LKJCholesky(3, f64(1.5)[0])
    factors = d.sample((4000,))
    matrices = factors @ factors.mT
    np.testing.assert_allclose(matrices.diagonal(0, -2, -1), np.ones((4000, 3)), rtol=1e-9)
    assert bool(d.support.check(factors).all())
    # An element r of a correlation matrix of n variables has (r + 1) / 2 ~ Beta(a, a), a = concentration + n / 2 - 1.
    r = (matrices[:, 2, 1].numpy() + 1) / 2
    assert st.kstest(r, st.beta(2, 2).cdf).pvalue > 1e-3
    # In two dims the factor is [[1, 0], [r, sqrt(1 - r^2)]] and the density that of r.
    r = 0.3
    factor = tensor([[1.0, 0.0], [r, math.sqrt(1 - r * r)]], dtype=F64)
    expected = st.beta(1.5, 1.5).logpdf((1 + r) / 2) - math.log(2) + 0.5 * math.log(1 - r * r)
    found = D.LKJCholesky(2, f64(1.5)[0]).log_prob(factor).item()
    np.testing.assert_allclose(found, expected - 0.5 * math.log(1 - r * r), rtol=1e-9)


PAIRS = [
    (D.Pareto(f64(2.0), f64(3.5)), D.Pareto(f64(1.0), f64(2.5))),
    (D.Pareto(f64(2.0), f64(3.5)), D.Exponential(f64(1.5))),
    (D.Pareto(f64(2.0), f64(3.5)), D.Gamma(f64(1.5), f64(0.5))),
    (D.Pareto(f64(2.0), f64(5.5)), D.Normal(f64(1.5), f64(2.5))),
    (D.Uniform(f64(2.0), f64(3.5)), D.Pareto(f64(1.0), f64(2.5))),
    (D.Uniform(f64(0.1), f64(0.5)), D.ContinuousBernoulli(f64(0.3))),
    (D.Uniform(f64(0.1), f64(0.5)), D.Beta(f64(1.3), f64(2.3))),
    (D.Uniform(f64(0.1), f64(0.5)), D.Gamma(f64(1.3), f64(2.3))),
    (D.Uniform(f64(0.1), f64(0.5)), D.Gumbel(f64(1.3), f64(2.3))),
    (D.Beta(f64(1.3), f64(2.3)), D.ContinuousBernoulli(f64(0.3))),
    (D.Beta(f64(1.3), f64(2.3)), D.Gamma(f64(1.3), f64(2.3))),
    (D.Beta(f64(1.3), f64(2.3)), D.Normal(f64(0.3), f64(1.3))),
    (D.Beta(f64(1.3), f64(2.3)), D.Uniform(f64(-0.3), f64(1.3))),
    (D.ContinuousBernoulli(f64(0.3)), D.ContinuousBernoulli(f64(0.7))),
    (D.ContinuousBernoulli(f64(0.3)), D.Exponential(f64(0.7))),
    (D.ContinuousBernoulli(f64(0.3)), D.Normal(f64(0.7), f64(1.0))),
    (D.ContinuousBernoulli(f64(0.3)), D.Uniform(f64(-0.7), f64(1.0))),
    (D.Exponential(f64(1.3)), D.Gumbel(f64(0.7), f64(1.0))),
    (D.Gamma(f64(1.3), f64(2.0)), D.Gumbel(f64(0.7), f64(1.0))),
    (D.Normal(f64(1.3), f64(1.0)), D.Gumbel(f64(0.7), f64(1.5))),
    (D.Gamma(f64(1.3), f64(2.0)), D.Normal(f64(0.7), f64(1.0))),
    (D.Wishart(5.0, covariance(3)), D.Wishart(4.0, covariance(3, 1))),
]


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=lambda d: type(d).__name__)
def test_divergences_are_means_of_log_ratios(p, q):
    draws = p.sample((40000,))
    ratio = p.log_prob(draws) - q.log_prob(draws)
    error = 5 * ratio.std().item() / 200
    assert abs(D.kl_divergence(p, q).sum().item() - ratio.mean().item()) < error + 1e-9


def test_divergences_that_are_infinite():
    assert D.kl_divergence(D.Normal(0.0, 1.0), D.Pareto(1.0, 1.0)).item() == math.inf
    assert D.kl_divergence(D.Pareto(1.0, 3.0), D.Pareto(2.0, 3.0)).item() == math.inf
    assert D.kl_divergence(D.Uniform(-1.0, 3.0), D.ContinuousBernoulli(0.5)).item() == math.inf


@pytest.mark.parametrize("mode", ["lazy", "compile"])
def test_modes(mode):
    def body():
        tandem.manual_seed(0)
        weibull = D.Weibull(tandem.ones(2), 2.0).rsample((3,))
        angles = D.VonMises(tandem.zeros(2), tandem.ones(2)).sample((3,))
        matrix = D.Wishart(4.0, tandem.eye(2)).rsample()
        factor = D.LKJCholesky(3).sample()
        return weibull, angles, matrix, factor

    for actual, expected in zip(run_in(mode, body), body(), strict=True):
        assert_same_bits(actual, expected)


def _log_det(function, x):
    """log |det| of the Jacobian, by automatic differentiation."""
    jacobian = tandem.func.jacrev(function)(x)
    return tandem.linalg.slogdet(jacobian)[1]


def test_transforms_to_correlations_and_positive_matrices():
    corr = D.CorrCholeskyTransform()
    x = tensor([0.1, -0.4, 0.8, 0.3, 0.2, -0.9], dtype=tandem.float64)
    y = corr(x)
    assert corr.codomain.check(y) and corr.forward_shape((2, 6)) == (2, 4, 4) and corr.inverse_shape((4, 4)) == (6,)
    tandem.testing.assert_close((y @ y.mT).diagonal(), tandem.ones(4, dtype=tandem.float64))
    tandem.testing.assert_close(corr.inv(y), x)
    strict = tandem.tril_indices(4, 4, -1)
    expected = _log_det(lambda v: corr(v)[strict[0], strict[1]], x)
    tandem.testing.assert_close(corr.log_abs_det_jacobian(x, y), expected)
    positive = D.PositiveDefiniteTransform()
    matrix = positive(tandem.randn(2, 3, 3, dtype=tandem.float64))
    assert positive.codomain.check(matrix).all()
    tandem.testing.assert_close(positive(positive.inv(matrix)), matrix)


def test_transforms_of_parts_and_by_distribution_functions():
    x = tensor([[0.1, 0.2, 0.5], [0.3, 0.4, 0.6]], dtype=tandem.float64)
    joined = D.CatTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)], dim=1, lengths=[2, 1])
    y = joined(x)
    tandem.testing.assert_close(y, tandem.cat([x[:, :2].exp(), 1 + 2 * x[:, 2:]], 1))
    tandem.testing.assert_close(joined.inv(y), x)
    assert joined.log_abs_det_jacobian(x, y).shape == (2, 3) and joined.domain.check(x).shape == (2, 3)
    stacked = D.StackTransform([D.ExpTransform(), D.identity_transform, D.AffineTransform(0.0, 3.0)], dim=1)
    y = stacked(x)
    tandem.testing.assert_close(y, tandem.stack([x[:, 0].exp(), x[:, 1], 3 * x[:, 2]], 1))
    tandem.testing.assert_close(stacked.inv(y), x)
    terms = stacked.log_abs_det_jacobian(x, y)
    tandem.testing.assert_close(terms.sum(1)[0], _log_det(lambda v: stacked(v.unsqueeze(0))[0], x[0]))
    with pytest.raises(AssertionError, match=r"x.size\(1\) = 3 must be 2"):
        D.StackTransform([D.ExpTransform()] * 2, dim=1)(x)
    normal = D.CumulativeDistributionTransform(D.Normal(0.0, 1.0))
    tandem.testing.assert_close(normal(tensor(0.0)), tensor(0.5))
    tandem.testing.assert_close(normal.inv(normal(x)), x)
    tandem.testing.assert_close(normal.log_abs_det_jacobian(x, normal(x)), D.Normal(0.0, 1.0).log_prob(x))


def test_gradients_where_a_factor_is_zero():
    """x log(y) at x = 0 has the slope log(y) in x, and none in y."""
    a = tensor([1.0, 1.0, 1.0], requires_grad=True)
    x = tensor([0.1, 0.1, 0.8])
    D.Dirichlet(a).log_prob(x).backward()
    np.testing.assert_allclose(a.grad.numpy(), np.log(x.numpy()) + 1.5, rtol=1e-5)  # psi(3) - psi(1) is 1.5
    count, rate = tensor([0.0], requires_grad=True), tensor([0.5], requires_grad=True)
    D.Poisson(rate, validate_args=False).log_prob(count).backward()
    assert count.grad.item() == pytest.approx(math.log(0.5) + 0.5772157, rel=1e-5) and rate.grad.item() == -1
    shape = tensor(1.0, requires_grad=True)
    D.Gamma(shape, 2.0).log_prob(tensor(0.5)).backward()
    assert shape.grad.item() == pytest.approx(math.log(2.0) + math.log(0.5) + 0.5772157, rel=1e-5)


def test_chi2_checks_its_parameter():
    for df in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="Expected parameter df"):
            D.Chi2(tensor([df]))


def test_parameters_of_one_shape_are_kept():
    loc, scale = tandem.zeros(3, requires_grad=True), tandem.ones(3)
    normal = D.Normal(loc, scale)
    assert normal.loc is loc and normal.scale is scale
    a, b = tandem.broadcast_tensors(loc, tandem.ones(1))
    assert a.is_leaf and b.shape == (3,)


@pytest.mark.parametrize(
    ("p", "q", "exact"),
    [
        (D.HalfCauchy(1.0), D.HalfCauchy(3.0), math.log(16 / 12)),
        (D.InverseGamma(2.0, 1.0), D.InverseGamma(2.0, 1.0), 0.0),
        # (q - p) E[1 / x] - a log(q / p), where E[1 / x] = a / p
        (D.InverseGamma(2.0, 1.0), D.InverseGamma(2.0, 3.0), 4 - 2 * math.log(3)),
    ],
)
def test_divergences_by_a_change_of_variables(p, q, exact):
    assert D.kl_divergence(p, q).item() == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to])
def test_transforms_to_several_constraints(registry):
    c, x = D.constraints, f64(0.3, -0.6, 0.7).repeat(2, 1)
    parts = D.CatTransform([D.ExpTransform(), D.SigmoidTransform()], -1, [1, 2])
    joined = registry(c.cat([c.positive, c.unit_interval], -1, [1, 2]))
    assert isinstance(joined, D.CatTransform) and joined(x).equal(parts(x))
    stacked = registry(c.stack([c.positive, c.cat([c.real, c.less_than(2.0)], 0, [1, 2])], 0))
    assert isinstance(stacked, D.StackTransform)
    y = stacked(x)
    assert y[0].equal(x[0].exp()) and y[1].equal(tandem.cat([x[1, :1], 2 - x[1, 1:].exp()]))
    tandem.testing.assert_close(stacked.inv(y), x)


def test_gradients_of_logits_that_are_zero(mode):
    """sigmoid(logits) - value, which is smooth there, and of the entropy 0."""

    def run(logits, value):
        of = D.Bernoulli(logits=logits)
        (first,) = tandem.autograd.grad(of.log_prob(value).sum(), logits, create_graph=True)
        (second,) = tandem.autograd.grad(first.sum(), logits)
        return first, second, tandem.autograd.grad(of.entropy().sum(), logits)[0]

    first, second, entropy = run_in(mode, run, f64(0.0, -0.0, 0.0).requires_grad_(), f64(0.0, 1.0, 1.0))
    assert first.tolist() == [-0.5, 0.5, 0.5] and second.tolist() == [-0.25] * 3 and entropy.tolist() == [0.0] * 3
    assert D.Bernoulli(0.5).log_prob(tensor(1)).item() == pytest.approx(math.log(0.5))


def test_sticks_that_are_broken_at_an_end():
    """A share of 1 leaves some: the logarithm of the determinant is finite, and so is its gradient."""
    x, t = f64(50.0, -50.0, 40.0).requires_grad_(), D.StickBreakingTransform()
    y = t(x)
    size = t.log_abs_det_jacobian(x, y)
    assert bool((y > 0).all()) and size.isfinite() and tandem.autograd.grad(size, x)[0].isfinite().all()


def test_a_relaxation_has_no_divergence_of_what_it_relaxes():
    logits = tandem.tensor([[0.1, -0.4, 0.7], [1.0, 0.0, 0.2]])
    relaxed = D.RelaxedOneHotCategorical(tandem.tensor(0.5), logits=logits)
    hard = D.OneHotCategorical(logits=logits + 1)
    for p, q in ((relaxed, relaxed), (relaxed.base_dist, relaxed.base_dist), (relaxed.base_dist, hard)):
        with pytest.raises(NotImplementedError):
            D.kl_divergence(p, q)
    for d in (relaxed, relaxed.base_dist):
        with pytest.raises(NotImplementedError):
            d.entropy()
        wide = d.expand((4, 2))
        assert wide.batch_shape == (4, 2) and wide.event_shape == (3,) and wide.rsample().shape == (4, 2, 3)
        point = wide.sample()
        assert wide.log_prob(point).allclose(d.log_prob(point))
    assert relaxed.base_dist.param_shape == (2, 3) and not relaxed.base_dist.has_enumerate_support


@pytest.mark.parametrize("df", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("scale", [tandem.float32, tandem.float64])
def test_wishart_of_two_dtypes(df, scale):
    d = D.Wishart(tandem.tensor(5.0, dtype=df), tandem.eye(3, dtype=scale).expand(2, 3, 3))
    assert d.rsample((4,)).dtype is tandem.promote_types(df, scale)


def test_the_parameters_of_transforms_widen_the_base():
    scale = tandem.tensor([1.0, 2.0, 3.0])
    for transform in (D.AffineTransform(tandem.zeros(3), 1.0), D.AffineTransform(0.0, scale)):
        wide = D.TransformedDistribution(D.Normal(0.0, 1.0), [transform])
        assert wide.batch_shape == (3,) and wide.sample((7,)).shape == (7, 3)
        draws = wide.sample()  # one draw an element, rather than one for all
        assert draws.div(transform.scale).unique().numel() == 3
        assert wide.log_prob(draws).shape == (3,)
    power = D.TransformedDistribution(D.Exponential(1.0), [D.PowerTransform(scale)])
    assert power.batch_shape == (3,) and power.sample((7,)).shape == (7, 3)


@pytest.mark.parametrize(
    "make", [D.ExpTransform, lambda: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)])]
)
def test_the_inverse_of_the_inverse_is_the_transform_itself(make):
    transform = make()
    inverse = transform.inv
    assert transform.inv is inverse and inverse.inv is transform
    copied = copy.deepcopy(transform)
    assert copied.inv is not inverse and copied.inv.inv is copied
    assert pickle.loads(pickle.dumps(transform))(tandem.tensor(0.5)).item() == transform(tandem.tensor(0.5)).item()


@pytest.mark.parametrize("kind", [D.HalfNormal, D.HalfCauchy, D.InverseGamma])
def test_transformed_distributions_have_a_base_and_transforms(kind):
    scale = tandem.tensor([0.5, 2.0])
    d = kind(*[scale] * len(kind.arg_constraints))
    values = tandem.tensor([0.3, 1.7])
    wide = d.expand((3, 2))
    assert isinstance(d, D.TransformedDistribution) and wide.base_dist.batch_shape == (3, 2)
    assert all(getattr(wide, name).shape == (3, 2) for name in kind.arg_constraints) and wide.has_rsample
    assert tandem.equal(wide.log_prob(values), d.log_prob(values).expand(3, 2))
    through = D.TransformedDistribution(d.base_dist, d.transforms)
    tandem.manual_seed(0)
    draws = d.sample((5,))
    tandem.manual_seed(0)
    tandem.testing.assert_close(through.sample((5,)), draws)
    if kind is D.InverseGamma:
        tandem.testing.assert_close(through.log_prob(draws), d.log_prob(draws))
    with pytest.raises(ValueError, match="to satisfy the constraint"):
        kind(*[-scale] * len(kind.arg_constraints))


def test_a_base_is_expanded_before_what_may_ask_for_it(monkeypatch):
    """As patches of the class do, which pass flags on to the base."""
    for kind in (D.Independent, D.TransformedDistribution):
        passed_on = property(lambda self: True, lambda self, value: setattr(self.base_dist, "passed", value))
        monkeypatch.setattr(kind, "_validate_args", passed_on, raising=False)
        d = kind(D.Normal(tandem.zeros(2), 1.0), 1 if kind is D.Independent else [D.ExpTransform()])
        assert d.expand((3, *d.batch_shape)).base_dist.batch_shape == (3, 2)


def test_names_of_the_package():
    assert len(D.__all__) == 67 and all(hasattr(D, name) for name in D.__all__)
    assert {"Normal", "ExpTransform", "kl_divergence", "biject_to"} <= set(D.__all__) and "constraints" not in D.__all__


def test_the_transform_to_correlations_takes_what_was_kept():
    transform, x = D.CorrCholeskyTransform(), tandem.tensor([0.3, -0.2, 0.5])
    y = transform(x)
    assert tandem.equal(transform.log_abs_det_jacobian(x, y, None), transform.log_abs_det_jacobian(x, y))


def test_each_sample_of_a_relaxation_has_its_own_gradient():
    probs = tensor([0.2, 0.7], requires_grad=True)
    relaxed = D.RelaxedBernoulli(tensor(0.5), probs)
    relaxed.logits.sum().backward()
    for _ in range(2):
        (slope,) = tandem.autograd.grad(relaxed.rsample().sum(), probs)
        assert bool((slope > 0).all())
    wide = D.RelaxedBernoulli(tensor(0.5, dtype=F64), 0.2).expand((2,)).log_prob(f64(0.5)[0])
    assert wide.dtype == F64 and wide.shape == (2,)


def test_divergences_of_normal_vectors_of_other_lengths():
    def low(n):
        return D.LowRankMultivariateNormal(tandem.zeros(n), tandem.ones(n, 1), tandem.ones(n))

    full = D.MultivariateNormal(tandem.zeros(1), tandem.eye(1))
    for p, q in ((low(1), low(3)), (full, low(3)), (low(3), full)):
        with pytest.raises(ValueError, match="different event shapes"):
            D.kl_divergence(p, q)


class Rate(D.ExponentialFamily):
    """An exponential distribution that says what its family is, and no more."""

    _mean_carrier_measure = 0

    def __init__(self, rate: tandem.Tensor):
        self.rate = rate
        super().__init__(rate.shape, validate_args=False)

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -(-x).log()


def test_entropy_and_divergence_of_a_family_follow_from_its_normalizer():
    a, b = f64(0.5, 2.0), f64(1.5, 0.25)
    tandem.testing.assert_close(Rate(a).entropy(), D.Exponential(a).entropy())
    want = D.kl_divergence(D.Exponential(a), D.Exponential(b))
    tandem.testing.assert_close(D.kl_divergence(Rate(a), Rate(b)), want)
    with pytest.raises(NotImplementedError, match="p type Rate and q type Exponential"):
        D.kl_divergence(Rate(a), D.Exponential(b))
    rates = tandem.stack([a, b])
    for p, q in ((rates, a), (a, rates)):
        want = D.kl_divergence(D.Exponential(p), D.Exponential(q))
        tandem.testing.assert_close(D.kl_divergence(Rate(p), Rate(q)), want)
    for what in (D.Poisson(a).entropy, lambda: D.ExponentialFamily(validate_args=False).entropy()):
        with pytest.raises(NotImplementedError):
            what()


def test_factors_of_correlations_far_out():
    """tanh is kept below 1, so that slopes are numbers and the inverse is finite."""
    x = f64(-800.0, 0.0, 800.0).requires_grad_()
    transform = D.CorrCholeskyTransform()
    y = transform(x)
    assert transform.inv(y).isfinite().all() and bool(D.constraints.corr_cholesky.check(y))
    assert tandem.autograd.grad(y.sum(), x)[0].isfinite().all()


def test_the_volume_of_scales_that_widen_a_value():
    transform = D.AffineTransform(1.0, f64(1.0, 2.0, 3.0), event_dim=1)
    x = f64(0.5)
    assert transform.log_abs_det_jacobian(x, transform(x)).item() == pytest.approx(math.log(6))


class Rates(D.ExponentialFamily):
    """Independent exponential distributions as one event, with a parameter without event dims beside."""

    _mean_carrier_measure = 0

    def __init__(self, rate: tandem.Tensor, scale: tandem.Tensor):
        self.rate, self.scale = rate, scale
        super().__init__(scale.shape, rate.shape[-1:], validate_args=False)

    @property
    def _natural_params(self):
        return -self.rate, -self.scale

    def _log_normalizer(self, x, y):
        return -(-x).log().sum(-1) - (-y).log()


def test_a_divergence_of_a_family_adds_up_over_its_events_alone():
    p, q = (tandem.rand(2, 3, dtype=F64) + 0.5 for _ in range(2))
    s, t = (tandem.rand(2, dtype=F64) + 0.5 for _ in range(2))
    want = D.kl_divergence(D.Exponential(p), D.Exponential(q)).sum(-1)
    want = want + D.kl_divergence(D.Exponential(s), D.Exponential(t))
    tandem.testing.assert_close(D.kl_divergence(Rates(p, s), Rates(q, t)), want)


def test_divergences_of_several_wishart_distributions_are_those_of_each():
    spread = tandem.randn(2, 3, 3, 4, dtype=F64)
    scales, df = spread @ spread.mT + tandem.eye(3, dtype=F64), tandem.rand(2, 3, dtype=F64) + 3
    made = [D.Wishart(n, covariance_matrix=scale) for n, scale in zip(df, scales, strict=True)]
    each = [D.kl_divergence(*(D.Wishart(df[k, i], covariance_matrix=scales[k, i]) for k in range(2))) for i in range(3)]
    tandem.testing.assert_close(D.kl_divergence(*made), tandem.stack(each))


def test_nothing_is_below_0_of_an_inverse_gamma():
    d = D.InverseGamma(3.0, 2.0)
    assert d.cdf(tandem.tensor([0.0, 1e30])).tolist() == [0, 1]
    with pytest.raises(ValueError, match="to be within the support"):
        d.cdf(tandem.tensor(-1.0))


def test_shapes_that_transforms_cannot_take():
    for transform in (D.SoftmaxTransform(), D.StickBreakingTransform(), D.CorrCholeskyTransform()):
        for shape in (transform.forward_shape, transform.inverse_shape):
            with pytest.raises(ValueError, match="Too few dimensions on input"):
                shape(())
    assert D.StickBreakingTransform().forward_shape((2, 3)) == (2, 4)
    with pytest.raises(ValueError, match="The size of last dimension is 2"):
        D.CorrCholeskyTransform()(tandem.zeros(2))
