"""`tandem.distributions` against SciPy, against its own draws, and in every mode."""

from __future__ import annotations

import math

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


# distribution, SciPy's, values to compare at
UNIVARIATE = {
    "Normal": (D.Normal(f64(0.5), f64(2.0)), st.norm(0.5, 2), [-1.0, 0.5, 4.0]),
    "LogNormal": (D.LogNormal(f64(0.3), f64(0.5)), st.lognorm(0.5, scale=math.exp(0.3)), [0.2, 1.0, 4.0]),
    "Laplace": (D.Laplace(f64(0.5), f64(2.0)), st.laplace(0.5, 2), [-1.0, 0.5, 4.0]),
    "Cauchy": (D.Cauchy(f64(0.5), f64(2.0)), st.cauchy(0.5, 2), [-1.0, 0.5, 4.0]),
    "HalfCauchy": (D.HalfCauchy(f64(2.0)), st.halfcauchy(0, 2), [0.1, 0.5, 4.0]),
    "HalfNormal": (D.HalfNormal(f64(2.0)), st.halfnorm(0, 2), [0.1, 0.5, 4.0]),
    "Gumbel": (D.Gumbel(f64(0.5), f64(2.0)), st.gumbel_r(0.5, 2), [-1.0, 0.5, 4.0]),
    "Uniform": (D.Uniform(f64(-1.0), f64(3.0)), st.uniform(-1, 4), [-0.5, 0.5, 2.5]),
    "Exponential": (D.Exponential(f64(1.5)), st.expon(scale=1 / 1.5), [0.1, 1.0, 3.0]),
    "Gamma": (D.Gamma(f64(2.5), f64(1.5)), st.gamma(2.5, scale=1 / 1.5), [0.1, 1.0, 3.0]),
    "InverseGamma": (D.InverseGamma(f64(4.5), f64(1.5)), st.invgamma(4.5, scale=1.5), [0.1, 1.0, 3.0]),
    "Chi2": (D.Chi2(f64(3.0)), st.chi2(3), [0.1, 1.0, 3.0]),
    "Beta": (D.Beta(f64(2.5), f64(1.5)), st.beta(2.5, 1.5), [0.1, 0.5, 0.9]),
    "StudentT": (D.StudentT(f64(5.5), f64(0.5), f64(2.0)), st.t(5.5, 0.5, 2), [-1.0, 0.5, 4.0]),
    "Bernoulli": (D.Bernoulli(f64(0.3)), st.bernoulli(0.3), [0.0, 1.0, 1.0]),
    "Binomial": (D.Binomial(7, f64(0.3)), st.binom(7, 0.3), [0.0, 2.0, 7.0]),
    "Geometric": (D.Geometric(f64(0.3)), st.geom(0.3, loc=-1), [0.0, 2.0, 7.0]),
    "NegativeBinomial": (D.NegativeBinomial(f64(4.0), f64(0.3)), st.nbinom(4, 0.7), [0.0, 2.0, 7.0]),
    "Poisson": (D.Poisson(f64(3.5)), st.poisson(3.5), [0.0, 2.0, 7.0]),
}


def implemented(function, *args):
    try:
        return function(*args)
    except NotImplementedError:
        return None


@pytest.mark.parametrize("name", UNIVARIATE)
def test_densities_and_moments(name):
    ours, theirs, values = UNIVARIATE[name]
    x = f64(*values)
    density = theirs.logpdf if hasattr(theirs.dist, "logpdf") and hasattr(theirs.dist, "_pdf") else None
    log_prob = theirs.logpmf(values) if hasattr(theirs.dist, "pmf") else density(values)
    np.testing.assert_allclose(ours.log_prob(x).numpy(), log_prob, rtol=1e-12, atol=1e-12)
    mean, variance = theirs.stats("mv")
    np.testing.assert_allclose(ours.mean.numpy(), [mean], rtol=1e-12)
    if name not in ("Cauchy", "HalfCauchy"):  # SciPy says NaN for HalfCauchy too
        np.testing.assert_allclose(ours.variance.numpy(), [variance], rtol=1e-12)
        np.testing.assert_allclose(ours.stddev.numpy(), [math.sqrt(variance)], rtol=1e-12)
    entropy = implemented(ours.entropy)
    if entropy is not None:
        np.testing.assert_allclose(entropy.numpy(), [theirs.entropy()], rtol=1e-6)
    cdf = implemented(ours.cdf, x)
    if cdf is not None:
        np.testing.assert_allclose(cdf.numpy(), theirs.cdf(values), rtol=1e-12)
    quantiles = f64(0.05, 0.5, 0.9)
    icdf = implemented(ours.icdf, quantiles)
    if icdf is not None:
        np.testing.assert_allclose(icdf.numpy(), theirs.ppf(quantiles.numpy()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", UNIVARIATE)
def test_draws_have_the_moments(name):
    ours, theirs, _ = UNIVARIATE[name]
    n = 20000
    draw = ours.sample((n,))
    assert draw.shape == (n, 1) and not draw.requires_grad
    assert ours.support.check(draw).all()
    if hasattr(theirs.dist, "pmf"):
        mean, variance = theirs.stats("mv")
        assert draw.mean().item() == pytest.approx(float(mean), abs=5 * math.sqrt(variance / n))
        assert draw.var().item() == pytest.approx(float(variance), rel=0.15)
    else:
        assert st.kstest(draw.numpy().ravel(), theirs.cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", UNIVARIATE)
def test_modes_are_most_likely(name):
    ours, _, _ = UNIVARIATE[name]
    mode = ours.mode
    if name == "Uniform":
        assert mode.isnan().all()
        return
    best = ours.log_prob(mode.clamp(min=1e-9) if name in ("Exponential", "HalfCauchy", "HalfNormal") else mode)
    assert (best + 1e-9 >= ours.log_prob(ours.sample((500,)))).all()


REPARAMETERISED = [n for n, (d, _, _) in UNIVARIATE.items() if d.has_rsample]


@pytest.mark.parametrize("name", REPARAMETERISED)
def test_gradients_of_draws_estimate_those_of_means(name):
    if name in ("Cauchy", "HalfCauchy"):
        pytest.skip("has no mean")
    ours, _, _ = UNIVARIATE[name]
    names = {"LogNormal": ("loc", "scale"), "Chi2": ("df",), "Beta": ("concentration1", "concentration0")}.get(
        name, tuple(n for n in ours.arg_constraints)
    )
    leaves = [getattr(ours, n).detach().clone().requires_grad_() for n in names]
    again = type(ours)(*leaves)
    draws = again.rsample((40000,))
    grads = tandem.autograd.grad(draws.mean(), leaves, allow_unused=True)
    exact = tandem.autograd.grad(again.mean.sum(), leaves, allow_unused=True)
    for g, e in zip(grads, exact):
        expected = 0.0 if e is None else e.item()
        assert g.item() == pytest.approx(expected, abs=0.06 + 0.05 * abs(expected))


def test_categorical():
    probs = tensor([[1.0, 2.0, 1.0], [0.0, 1.0, 3.0]], dtype=F64)
    d = D.Categorical(probs)
    np.testing.assert_allclose(d.probs.numpy(), [[0.25, 0.5, 0.25], [0, 0.25, 0.75]])
    np.testing.assert_allclose(d.log_prob(tensor([1, 2])).numpy(), np.log([0.5, 0.75]))
    same = D.Categorical(logits=d.probs[0].log() + 3)
    np.testing.assert_allclose(same.entropy().item(), 1.5 * math.log(2))
    np.testing.assert_allclose(same.probs.numpy(), d.probs[0].numpy())
    draws = d.sample((9000,))
    assert draws.shape == (9000, 2) and d.mode.tolist() == [1, 2]
    np.testing.assert_allclose((draws == 2).double().mean(0).numpy(), [0.25, 0.75], atol=0.03)
    assert d.enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert d.enumerate_support(expand=False).tolist() == [[0], [1], [2]]
    assert d.log_prob(tandem.zeros(5, 1)).shape == (5, 2)
    assert D.Categorical(tandem.ones(4)).sample().shape == ()
    assert d.perplexity().shape == (2,)


def test_one_hot_and_multinomial():
    d = D.OneHotCategorical(tensor([1.0, 1.0, 2.0]))
    assert d.event_shape == (3,) and d.batch_shape == () and d.sample((5,)).sum(-1).tolist() == [1.0] * 5
    assert d.log_prob(tensor([0.0, 0.0, 1.0])).item() == pytest.approx(math.log(0.5))
    assert d.enumerate_support().shape == (3, 3) and d.mode.tolist() == [0, 0, 1]
    through = D.OneHotCategoricalStraightThrough(logits=tandem.zeros(3, requires_grad=True)).rsample()
    assert through.requires_grad
    m = D.Multinomial(6, tensor([0.2, 0.3, 0.5], dtype=F64))
    x = f64(1, 2, 3)
    assert m.log_prob(x).item() == pytest.approx(st.multinomial(6, [0.2, 0.3, 0.5]).logpmf([1, 2, 3]))
    assert m.sample((4,)).sum(-1).tolist() == [6] * 4
    assert m.entropy().item() == pytest.approx(st.multinomial(6, [0.2, 0.3, 0.5]).entropy())
    two = D.Multinomial(3, tensor([[0.2, 0.8], [0.5, 0.5]], dtype=F64)).entropy()
    assert two.tolist() == pytest.approx([float(st.multinomial(3, p).entropy()) for p in ([0.2, 0.8], [0.5, 0.5])])


def test_dirichlet():
    a = np.array([0.7, 2.0, 3.5])
    d = D.Dirichlet(tensor(a))
    assert d.log_prob(f64(0.2, 0.3, 0.5)).item() == pytest.approx(st.dirichlet(a).logpdf([0.2, 0.3, 0.5]))
    assert d.entropy().item() == pytest.approx(st.dirichlet(a).entropy())
    np.testing.assert_allclose(d.variance.numpy(), st.dirichlet(a).var())
    draws = d.sample((20000,))
    np.testing.assert_allclose(draws.mean(0).numpy(), d.mean.numpy(), atol=0.01)
    np.testing.assert_allclose(draws.var(0).numpy(), d.variance.numpy(), rtol=0.08)
    leaf = tensor(a, requires_grad=True)
    (grad,) = tandem.autograd.grad(D.Dirichlet(leaf).rsample((40000,))[:, 0].mean(), leaf)
    (exact,) = tandem.autograd.grad(D.Dirichlet(leaf).mean[0], leaf)
    np.testing.assert_allclose(grad.numpy(), exact.numpy(), atol=0.01)
    # Even tiny parameters leave draws on the simplex.
    assert tandem.isfinite(D.Dirichlet(tandem.full((4,), 1e-3)).sample((100,))).all()


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("concentration", [1e-1, 1e-2, 1e-4])
def test_draws_of_small_concentrations_stay_inside(concentration, dtype):
    """Neither 0 nor 1, so that their densities and the gradients of those are finite."""
    c = tandem.tensor(concentration, dtype=dtype)
    x = D.Beta(c, c).sample((20000,))
    assert ((x > 0) & (x < 1)).all()
    assert abs(x.mean().item() - 0.5) < 0.02
    assert tandem.isfinite(D.Beta(c, c).log_prob(x)).all()
    simplex = D.Dirichlet(c.expand(5)).sample((5000,))
    assert ((simplex > 0) & (simplex < 1)).all()
    assert D.constraints.simplex.check(simplex).all()
    leaf = c.clone().requires_grad_()
    D.Beta(leaf, c).rsample((100,)).sum().backward()
    assert tandem.isfinite(leaf.grad)


def test_multivariate_normal():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((3, 3))
    cov, loc = a @ a.T + np.eye(3), rng.standard_normal(3)
    reference = st.multivariate_normal(loc, cov)
    x = rng.standard_normal((5, 3))
    for parameter in (
        {"covariance_matrix": tensor(cov)},
        {"precision_matrix": tensor(np.linalg.inv(cov))},
        {"scale_tril": tensor(np.linalg.cholesky(cov))},
    ):
        d = D.MultivariateNormal(tensor(loc), **parameter)
        np.testing.assert_allclose(d.log_prob(tensor(x)).numpy(), reference.logpdf(x), rtol=1e-10)
        assert d.entropy().item() == pytest.approx(reference.entropy())
        np.testing.assert_allclose(d.covariance_matrix.numpy(), cov, rtol=1e-10)
        np.testing.assert_allclose(d.precision_matrix.numpy(), np.linalg.inv(cov), rtol=1e-9)
        np.testing.assert_allclose(d.variance.numpy(), np.diag(cov), rtol=1e-10)
    draws = d.sample((20000,))
    np.testing.assert_allclose(np.cov(draws.numpy().T), cov, atol=0.15 * np.abs(cov).max())
    batch = D.MultivariateNormal(tandem.zeros(4, 1, 3), tandem.eye(3)).expand((4, 2))
    assert batch.rsample((6,)).shape == (6, 4, 2, 3) and batch.log_prob(tandem.zeros(3)).shape == (4, 2)
    leaf = tensor(cov, requires_grad=True)
    D.MultivariateNormal(tensor(loc), leaf).log_prob(tensor(x)).sum().backward()
    inverse = np.linalg.inv(cov)
    d = x - loc
    exact = 0.5 * (inverse @ d.T @ d @ inverse - 5 * inverse)
    np.testing.assert_allclose(leaf.grad.numpy(), exact, rtol=1e-8, atol=1e-10)


def test_independent_and_mixture():
    base = D.Normal(tandem.zeros(4, 3), 1.0)
    d = D.Independent(base, 1)
    assert d.batch_shape == (4,) and d.event_shape == (3,)
    x = tandem.randn(4, 3)
    assert_same_bits(d.log_prob(x), base.log_prob(x).sum(-1))
    assert d.expand((2, 4)).sample().shape == (2, 4, 3) and d.entropy().shape == (4,)
    mix = D.MixtureSameFamily(D.Categorical(f64(0.25, 0.75)), D.Normal(f64(-2.0, 1.0), f64(0.5, 1.0)))
    x = f64(0.3, -1.0)
    weights = 0.25 * st.norm(-2, 0.5).pdf(x.numpy()) + 0.75 * st.norm(1, 1).pdf(x.numpy())
    np.testing.assert_allclose(mix.log_prob(x).numpy(), np.log(weights))
    assert mix.mean.item() == pytest.approx(0.25)
    draws = mix.sample((20000,))
    assert draws.mean().item() == pytest.approx(0.25, abs=0.05)
    assert draws.var().item() == pytest.approx(mix.variance.item(), rel=0.05)
    many = D.MixtureSameFamily(D.Categorical(tandem.ones(5, 2)), D.Independent(D.Normal(tandem.zeros(5, 2, 3), 1.0), 1))
    assert many.sample((7,)).shape == (7, 5, 3) and many.log_prob(tandem.zeros(5, 3)).shape == (5,)


TRANSFORMS = [
    D.ExpTransform(),
    D.SigmoidTransform(),
    D.TanhTransform(),
    D.SoftplusTransform(),
    D.AffineTransform(1.0, -2.5),
    D.AffineTransform(f64(1.0), f64(0.5)),
    D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.ExpTransform(), D.PowerTransform(f64(1.5))]),
]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_transforms(transform):
    x = tensor([-1.2, 0.1, 0.7], dtype=F64, requires_grad=True)
    y = transform(x)
    np.testing.assert_allclose(transform.inv(y).detach().numpy(), x.detach().numpy(), rtol=1e-10)
    (slope,) = tandem.autograd.grad(y.sum(), x)
    jacobian = transform.log_abs_det_jacobian(x, y)
    np.testing.assert_allclose(jacobian.detach().numpy(), np.log(np.abs(slope.numpy())), rtol=1e-10, atol=1e-12)
    assert transform.codomain.check(y).all() and transform.inv.inv is transform or len(repr(transform)) > 0
    d = D.TransformedDistribution(D.Normal(f64(0.0), f64(1.0)), [transform])
    assert d.sample((4,)).shape == (4, 1)
    base = D.Normal(0.0, 1.0).log_prob(x) - jacobian
    np.testing.assert_allclose(d.log_prob(y).detach().numpy(), base.detach().numpy(), rtol=1e-9)


def test_transforms_of_vectors_and_matrices():
    x = f64(0.3, -1.0, 2.0)
    stick = D.StickBreakingTransform()
    y = stick(x)
    assert D.constraints.simplex.check(y) and y.shape == (4,)
    np.testing.assert_allclose(stick.inv(y).numpy(), x.numpy(), rtol=1e-9)
    rows = []
    for i in range(3):
        leaf = x.clone().requires_grad_()
        (row,) = tandem.autograd.grad(stick(leaf)[i], leaf)
        rows.append(row.numpy())
    determinant = np.log(abs(np.linalg.det(np.stack(rows))))
    assert stick.log_abs_det_jacobian(x, y).item() == pytest.approx(determinant)
    lower = D.LowerCholeskyTransform()(tandem.randn(2, 3, 3))
    assert D.constraints.lower_cholesky.check(lower).all()
    flat = D.ReshapeTransform((2, 3), (6,))
    assert flat(tandem.zeros(5, 2, 3)).shape == (5, 6) and flat.forward_shape((5, 2, 3)) == (5, 6)


@pytest.mark.parametrize(
    "constraint",
    [
        D.constraints.real,
        D.constraints.positive,
        D.constraints.greater_than(2.0),
        D.constraints.less_than(-1.0),
        D.constraints.unit_interval,
        D.constraints.interval(-1.0, 3.0),
        D.constraints.simplex,
        D.constraints.lower_cholesky,
    ],
    ids=repr,
)
def test_registries_lead_into_the_constraint(constraint):
    for registry in (D.biject_to, D.transform_to):
        assert constraint.check(registry(constraint)(tandem.randn(4, 4))).all()


PAIRS = [
    (D.Normal(0.3, 1.2), D.Normal(-0.5, 2.0)),
    (D.Bernoulli(0.3), D.Bernoulli(0.6)),
    (D.Binomial(5, tensor(0.3)), D.Binomial(5, tensor(0.6))),
    (D.Categorical(tensor([0.2, 0.8])), D.Categorical(tensor([0.5, 0.5]))),
    (D.OneHotCategorical(tensor([0.2, 0.8])), D.OneHotCategorical(tensor([0.5, 0.5]))),
    (D.Geometric(0.3), D.Geometric(0.5)),
    (D.Poisson(3.0), D.Poisson(4.5)),
    (D.Exponential(1.5), D.Exponential(0.7)),
    (D.Gamma(2.0, 1.5), D.Gamma(3.0, 1.0)),
    (D.Exponential(1.5), D.Gamma(2.0, 1.0)),
    (D.Gamma(2.0, 1.5), D.Exponential(0.7)),
    (D.Beta(2.0, 1.5), D.Beta(1.0, 2.5)),
    (D.Dirichlet(tensor([1.0, 2.0, 3.0])), D.Dirichlet(tensor([2.0, 2.0, 1.0]))),
    (D.HalfNormal(1.0), D.HalfNormal(2.0)),
    (D.Laplace(0.3, 1.2), D.Laplace(-0.5, 2.0)),
    (D.Gumbel(0.3, 1.2), D.Gumbel(-0.5, 2.0)),
    (D.Uniform(0.0, 1.0), D.Uniform(-1.0, 2.0)),
    (D.Uniform(0.0, 1.0), D.Normal(0.3, 1.0)),
    (D.Normal(0.3, 1.2), D.Laplace(-0.5, 2.0)),
    (D.Laplace(0.3, 1.2), D.Normal(-0.5, 2.0)),
    (D.Gumbel(0.3, 1.2), D.Normal(-0.5, 2.0)),
    (D.LogNormal(0.3, 0.5), D.LogNormal(0.0, 1.0)),
    (
        D.MultivariateNormal(tandem.zeros(2), tensor([[2.0, 0.5], [0.5, 1.0]])),
        D.MultivariateNormal(tandem.ones(2), tandem.eye(2)),
    ),
    (D.Independent(D.Normal(tandem.zeros(3), 1.0), 1), D.Independent(D.Normal(tandem.ones(3), 2.0), 1)),
]


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=lambda d: type(d).__name__)
def test_divergences_are_those_of_draws(p, q):
    exact = D.kl_divergence(p, q)
    x = p.sample((40000,))
    ratio = (p.log_prob(x) - q.log_prob(x)).double()
    error = ratio.std().item() / 200
    assert exact.item() == pytest.approx(ratio.mean().item(), abs=5 * error + 1e-6)
    assert D.kl_divergence(p, p).item() == pytest.approx(0, abs=1e-6)


def test_divergences_that_are_infinite_or_unknown():
    assert D.kl_divergence(D.Uniform(0.0, 2.0), D.Uniform(0.0, 1.0)).item() == math.inf
    assert D.kl_divergence(D.Categorical(tensor([0.5, 0.5])), D.Categorical(tensor([1.0, 0.0]))).item() > 1
    with pytest.raises(NotImplementedError, match="p type Normal and q type Categorical"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Categorical(tandem.ones(2)))

    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def rule(p, q):
        return p.loc - 100

    assert D.kl_divergence(Mine(1.0, 1.0), D.Normal(0.0, 1.0)).item() == -99
    assert D.kl_divergence(D.Normal(1.0, 1.0), Mine(1.0, 1.0)).item() == 0


def test_shapes_and_expand():
    for d, _, _ in UNIVARIATE.values():
        wide = d.expand((3, 1))
        assert wide.batch_shape == (3, 1) and wide.event_shape == () and type(wide) is type(d)
        assert wide.sample((2,)).shape == (2, 3, 1)
        assert wide.mean.shape == (3, 1)
        assert wide.log_prob(d.sample()).shape == (3, 1)
    d = D.Normal(tandem.zeros(2, 1), tandem.ones(3))
    assert d.batch_shape == (2, 3) and d.loc.shape == (2, 3) and d.rsample().shape == (2, 3)


ERRORS = [
    (lambda: D.Normal(0.0, -1.0), ValueError, "Expected parameter scale (Tensor of shape ()) of distribution Normal("),
    (lambda: D.Normal(0.0, -1.0), ValueError, "GreaterThan(lower_bound=0.0), but found invalid values:\n-1.0"),
    (lambda: D.Bernoulli(probs=1.5), ValueError, "Interval(lower_bound=0.0, upper_bound=1.0)"),
    (lambda: D.Bernoulli(), ValueError, "Either `probs` or `logits` must be specified, but not both."),
    (lambda: D.Bernoulli(0.5, logits=0.5), ValueError, "Either `probs` or `logits` must be specified, but not both."),
    (lambda: D.Categorical(tensor(1.0)), ValueError, "`probs` parameter must be at least one-dimensional."),
    (lambda: D.Dirichlet(tensor(1.0)), ValueError, "`concentration` parameter must be at least one-dimensional."),
    (lambda: D.Geometric(0.0), ValueError, "to be positive but found invalid values"),
    (lambda: D.Uniform(1.0, 0.0), ValueError, "Expected parameter low (Tensor of shape ()) of distribution Uniform("),
    (lambda: D.Normal(tandem.zeros(3), tandem.ones(2)), RuntimeError, "must match the size of tensor b (2)"),
    (lambda: D.Normal(0.0, 1.0).log_prob(1), ValueError, "The value argument to log_prob must be a Tensor"),
    (lambda: D.Normal(tandem.zeros(3), 1.0).log_prob(tandem.zeros(2)), ValueError, "Value is not broadcastable with"),
    (
        lambda: D.Poisson(1.0).log_prob(tensor(-1.0)),
        ValueError,
        "within the support (IntegerGreaterThan(lower_bound=0))",
    ),
    (
        lambda: D.Categorical(tandem.ones(3)).log_prob(tensor(3)),
        ValueError,
        "IntegerInterval(lower_bound=0, upper_bound=2)",
    ),
    (lambda: D.MultivariateNormal(tandem.zeros(2)), ValueError, "Exactly one of covariance_matrix or precision_matrix"),
    (lambda: D.MultivariateNormal(tandem.zeros(2), -tandem.eye(2)), ValueError, "PositiveDefinite()"),
    (lambda: D.Independent(D.Normal(0.0, 1.0), 1), ValueError, "actual 1 vs 0"),
    (lambda: D.Poisson(1.0).rsample(), NotImplementedError, ""),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), 3), ValueError, "transforms must be a Transform or list"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    call, error, words = ERRORS[case]
    with pytest.raises(error) as e:
        call()
    assert words in str(e.value)


def test_validation_can_be_turned_off():
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)


def test_reprs():
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(D.Categorical(tandem.ones(2, 3))) == "Categorical(probs: tandem.Size([2, 3]))"
    assert repr(D.Independent(D.Normal(0.0, 1.0).expand((2,)), 1)).startswith("Independent(Normal(loc: ")


def test_every_mode_gives_the_same_bits(mode):
    def step(loc, scale, x):
        tandem.manual_seed(1)
        d = D.Independent(D.Normal(loc, scale), 1)
        z = d.rsample((4,))
        g = D.Gamma(scale, 1.0).rsample()
        return d.log_prob(z).sum() + D.Beta(scale, scale).log_prob(x).sum() + g.sum(), z

    loc, scale, x = tandem.randn(3), tandem.rand(3) + 0.5, tandem.rand(3) * 0.8 + 0.1
    for a, b in zip(run_in(mode, step, loc, scale, x), step(loc, scale, x)):
        assert_same_bits(a, b)


def test_a_training_step_is_traced(mode):
    def negative_elbo(mu, log_sigma):
        q = D.Normal(mu, log_sigma.exp())
        return D.kl_divergence(q, D.Normal(0.0, 1.0)).sum()

    mu, log_sigma = tandem.randn(3), tandem.randn(3)
    assert run_in(mode, negative_elbo, mu, log_sigma).item() == pytest.approx(negative_elbo(mu, log_sigma).item())


def test_relaxations_are_differentiable():
    logits = tandem.zeros(3, requires_grad=True)
    D.RelaxedBernoulli(tensor(0.5), logits=logits).rsample((4,)).sum().backward()
    y = D.RelaxedOneHotCategorical(tensor(0.5), logits=logits).rsample((4,))
    assert y.shape == (4, 3) and D.constraints.simplex.check(y).all()
    assert logits.grad.abs().sum() > 0
    D.RelaxedOneHotCategorical(tensor(0.5), logits=tandem.zeros(3)).log_prob(y.detach())


def test_gumbel_is_a_transformed_uniform_distribution():
    d = D.Gumbel(tandem.zeros(3), tandem.ones(3))
    assert isinstance(d, D.TransformedDistribution) and isinstance(d.base_dist, D.Uniform) and len(d.transforms) == 4
    limits = tandem.finfo(tandem.float32)
    assert d.base_dist.low.tolist() == [limits.tiny] * 3 and d.base_dist.high.tolist() == [1 - limits.eps] * 3
    x = tandem.tensor([0.2, 0.5, 0.9])
    u = x
    for transform in d.transforms:
        u = transform(u)
    np.testing.assert_allclose(d.icdf(x), u, rtol=1e-5)
    assert d.has_rsample
    wide = D.Gumbel(0.0, tandem.ones(3), validate_args=False).expand([2, 3])
    assert wide.base_dist.batch_shape == (2, 3) and wide.loc.shape == (2, 3) and wide.sample([4]).shape == (4, 2, 3)
    assert wide.cdf(tandem.tensor(-200.0)).max() == 0  # of what the uniform one cannot draw


def test_draws_of_a_seed_are_those_of_the_methods():
    for distribution, expected in (
        (D.Exponential(tandem.tensor([2.0, 3.0])), lambda x: x.exponential_() / tandem.tensor([2.0, 3.0])),
        (D.Cauchy(tandem.ones(2), 3.0), lambda x: x.cauchy_() * 3 + 1),
    ):
        tandem.manual_seed(3)
        drawn = distribution.rsample()
        tandem.manual_seed(3)
        tandem.testing.assert_close(drawn, expected(tandem.empty(2)))
