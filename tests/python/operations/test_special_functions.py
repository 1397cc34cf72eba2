"""The Gamma family, incomplete Gamma functions, random draws and triangular factorisations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
from conftest import assert_same_bits, run_in

import tandem
from tandem import tensor
from tandem.autograd import gradcheck, gradgradcheck

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp
F64 = tandem.float64


def doubles(*values: float, grad: bool = True) -> tandem.Tensor:
    return tensor(values, dtype=F64, requires_grad=grad)


# ---- accuracy -------------------------------------------------------------------------------------------------------


def ulp_of(value: float, dtype: str) -> float:
    return float(np.spacing(np.asarray(abs(value), dtype=dtype)))


def points(dtype: str, low: float, high: float, count: int = 400) -> list[float]:
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(low, high, count), np.exp(rng.uniform(-30, 30, count))])
    x = x[(x > low) & (x < high)] if high < 1e3 else x
    return [float(v) for v in x.astype(dtype)]


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 2), ("float64", 4)])
@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv"])
def test_accuracy(name, dtype, limit):
    low, high = (-1, 1) if name == "erfinv" else (-20, 1e9)
    xs = points(dtype, low, high if name == "erfinv" else 60) + (points(dtype, 0, 1e9) if name != "erfinv" else [])
    if name == "erfinv":
        xs += [float(np.asarray(1 - 2.0**-k, dtype=dtype)) for k in range(1, 24)]
    reference = {"lgamma": lambda x: mp.log(abs(mp.gamma(x))), "digamma": mp.digamma, "erfinv": mp.erfinv}[name]
    ys = getattr(tandem, name)(tensor(xs, dtype=getattr(tandem, dtype))).tolist()
    worst = (0.0, 0.0)
    with mpmath.workprec(200):
        for x, y in zip(xs, ys):
            if name == "lgamma" and x > 1e6:
                exact = mp.loggamma(x)
            else:
                exact = reference(mp.mpf(x))
            # Near the zeros below 0 the reflection cancels: there the error is that of numbers of size 1.
            size = max(abs(float(exact)), 1.0) if x < 0 and name != "erfinv" else float(exact)
            worst = max(worst, (float(abs(mp.mpf(y) - exact)) / ulp_of(size, dtype), x))
    assert worst[0] <= limit, f"{name} at {worst[1]!r}: {worst[0]:.2f} ULP"


def test_special_values():
    inf, nan = math.inf, math.nan
    x = tensor([0.0, -0.0, -1.0, -3.0, inf, -inf, nan, 1.0, 2.0], dtype=F64)
    np.testing.assert_equal(tandem.lgamma(x).numpy(), [inf, inf, inf, inf, inf, inf, nan, 0, 0])
    np.testing.assert_equal(tandem.digamma(x).numpy()[:7], [-inf, inf, nan, nan, inf, nan, nan])
    np.testing.assert_equal(
        tandem.erfinv(tensor([1.0, -1.0, 1.5, 0.0, -0.0, nan])).numpy(), [inf, -inf, nan, 0.0, -0.0, nan]
    )
    assert tandem.lgamma(tensor([3])).dtype is tandem.float32


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma(n):
    x = np.concatenate([np.linspace(0.05, 30, 60), [1e3, 1e6]])
    np.testing.assert_allclose(
        tandem.polygamma(n, tensor(x)).numpy(), scipy.special.polygamma(n, x), rtol=4e-15, atol=1e-300
    )
    assert_same_bits(tandem.special.polygamma(n, tensor(x)), tandem.polygamma(n, tensor(x)))


def test_trigamma_from_the_smallest_numbers_to_the_largest():
    x = np.concatenate([np.linspace(0.01, 14, 300), 10.0 ** np.linspace(-150, 150, 301)])
    exact = [float(mp.psi(1, v)) for v in x]
    np.testing.assert_allclose(tandem.special.zeta(2.0, tensor(x)).numpy(), exact, rtol=4.5e-16)
    np.testing.assert_allclose(tandem.polygamma(1, tensor(x)).numpy(), exact, rtol=2e-15)
    special = tandem.special.zeta(2.0, tensor([0.0, -1.0, math.inf, -math.inf, math.nan, -0.5, -1.5], dtype=F64))
    want = [math.inf, math.inf, 0, math.inf, math.nan, mp.zeta(2, 0.5) + 4, mp.zeta(2, 0.5) + 4 + 4 / mp.mpf(9)]
    np.testing.assert_allclose(special.numpy(), [float(v) for v in want], rtol=4.5e-16)


def test_trigamma_has_the_same_bits_among_others():
    x = np.concatenate([np.linspace(1e-3, 25, 400), [1e-300, 1e-5, 9.999999, 10.0, 1e9, 1e200, math.inf, math.nan]])
    together = tandem.special.zeta(2.0, tensor(x, dtype=F64))
    # A number below 0 among them, which has more terms.
    beside = [tandem.special.zeta(2.0, tensor([v, -0.5], dtype=F64))[0].item() for v in x]
    np.testing.assert_array_equal(together.numpy(), beside)


def test_polygamma_of_a_huge_order_returns():
    x = tensor([0.5, 1.0, 2.5, -0.5], dtype=F64)
    for n, end in ((2**62, -math.inf), (2**63 - 1, math.inf)):  # the factorial is infinite, the sum 0 for x > 1
        assert tandem.polygamma(n, x)[:2].tolist() == [end, end]
        assert tandem.polygamma(n, x)[2].isnan()
    assert tandem.special.zeta(1e18, tensor([1.0, 2.0, 1e9])).tolist() == [1.0, 0.0, 0.0]


def test_trigamma_left_of_zero_and_errors():
    x = [-0.3, -2.5, 0.25]
    exact = [float(mp.psi(1, v)) for v in x]
    np.testing.assert_allclose(tandem.polygamma(1, doubles(*x)).detach().numpy(), exact, rtol=1e-14)
    with pytest.raises(RuntimeError, match=r"polygamma\(n, x\) does not support negative n"):
        tandem.polygamma(-1, tensor(1.0))


def test_zeta():
    s, q = np.meshgrid([1.0, 1.5, 2.0, 7.25, 40.0], [0.25, 1.0, 3.5, 20.0, 1e5])
    np.testing.assert_allclose(tandem.special.zeta(tensor(s), tensor(q)).numpy(), scipy.special.zeta(s, q), rtol=2e-15)
    assert tandem.special.zeta(2.0, tensor(1.0)).item() == pytest.approx(math.pi**2 / 6)
    assert tandem.special.zeta(tensor(0.5), tensor(1.0)).isnan()


def test_zeta_far_below_zero():
    """Many terms are below 0 there; the two sums from the fractions on tell them."""
    q = [-1025.5, -2000.25, -5000.3, -(2.0**20) - 0.5, -(2.0**21) + 0.75, -(2.0**40) + 0.125, -1e15 - 0.25]
    for s in (2, 3, 4, 5, 9, 40):
        with mp.workdps(40):
            f = [mp.mpf(v) - mp.floor(mp.mpf(v)) for v in q]
            rest = [mp.zeta(s, 1 - g) - mp.zeta(s, 1 - mp.mpf(v)) for g, v in zip(f, q, strict=True)]
            exact = [float(mp.zeta(s, g) + (-1) ** s * r) for g, r in zip(f, rest, strict=True)]
        got = tandem.special.zeta(float(s), tensor(q, dtype=F64))
        np.testing.assert_allclose(got.numpy(), exact, rtol=1e-14, atol=1e-16)
    assert tandem.special.zeta(3.0, tensor([-(2.0**22), -1e300], dtype=F64)).tolist() == [math.inf] * 2  # poles
    assert tandem.special.zeta(2.5, tensor(-(2.0**22) - 0.5, dtype=F64)).isnan()
    assert tandem.special.zeta(2001.0, tensor([-2000.25, -2000.75, -2000.5], dtype=F64)).tolist() == [
        -math.inf,
        math.inf,
        0,
    ]


def test_incomplete_gamma():
    a, x = np.meshgrid([1e-3, 0.5, 1.0, 3.0, 40.0, 1e4], [0.0, 1e-8, 0.3, 1.0, 4.0, 38.0, 1e4, 2e4])
    np.testing.assert_allclose(tandem.igamma(tensor(a), tensor(x)).numpy(), scipy.special.gammainc(a, x), rtol=3e-13)
    np.testing.assert_allclose(
        tandem.igammac(tensor(a), tensor(x)).numpy(), scipy.special.gammaincc(a, x), rtol=3e-13, atol=1e-15
    )
    assert tensor(2.0).igamma(tensor(1.0)).item() == pytest.approx(0.26424113)
    assert tandem.special.gammainc(tensor(-1.0), tensor(1.0)).isnan()
    assert tandem.special.gammaincc(tensor(0.0), tensor(1.0)).item() == 0


def test_mvlgamma():
    x = np.linspace(1.5, 9, 7)
    want = [scipy.special.multigammaln(v, 3) for v in x]
    np.testing.assert_allclose(tandem.mvlgamma(tensor(x), 3).numpy(), want, rtol=1e-14)
    with pytest.raises(RuntimeError, match="mvlgamma: p up to 1048576 is supported, got 4611686018427387904"):
        tandem.mvlgamma(tensor(x), 2**62)


# ---- derivatives ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (tandem.lgamma, [doubles(0.3, 1.7, 5.0, -1.3, 12.0)]),
        (tandem.digamma, [doubles(0.3, 1.7, 5.0, -1.3, 12.0)]),
        (tandem.erfinv, [doubles(-0.8, 0.1, 0.6)]),
        (lambda x: tandem.polygamma(1, x), [doubles(0.4, 2.5, 9.0)]),
        (lambda x: tandem.polygamma(3, x), [doubles(0.9, 2.5, 9.0)]),
        (tandem.igamma, [doubles(0.5, 2.0, 6.0, 3.0), doubles(0.3, 2.5, 5.0, 9.0)]),
        (tandem.igammac, [doubles(0.5, 2.0, 6.0), doubles(0.3, 2.5, 5.0)]),
        (lambda a: tandem.special.zeta(3.0, a), [doubles(0.5, 2.0, 6.0)]),
    ],
)
def test_gradients_of_two_orders(function, arguments):
    assert gradcheck(function, arguments, eps=1e-6, atol=1e-6, rtol=1e-4)
    assert gradgradcheck(function, arguments, eps=1e-6, atol=1e-5, rtol=1e-4)


def test_third_derivative_of_the_incomplete_gamma_function():
    a, x = doubles(2.5), doubles(1.7, grad=False)
    y = tandem.igamma(a, x)
    for _ in range(3):
        (y,) = tandem.autograd.grad(y.sum(), a, create_graph=True)
    want = mpmath.diff(lambda v: mp.gammainc(v, 0, 1.7, regularized=True), 2.5, 3)
    assert y.item() == pytest.approx(float(want), rel=1e-6)


def test_zeta_has_no_derivative_in_its_exponent():
    with pytest.raises(NotImplementedError, match="the derivative for 'input' is not implemented"):
        tandem.special.zeta(doubles(3.0), doubles(1.0, grad=False)).sum().backward()


# ---- draws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.05, 0.7, 1.0, 3.5, 200.0])
def test_standard_gamma_and_its_gradient(a):
    alpha = tandem.full((20000,), a, dtype=F64, requires_grad=True)
    draw = tandem._standard_gamma(alpha)
    assert draw.mean().item() == pytest.approx(a, abs=5 * math.sqrt(a / 20000))
    assert draw.var().item() == pytest.approx(a, rel=0.1 + 0.3 / math.sqrt(a) / 10)
    draw.sum().backward()
    x = draw.detach().numpy()
    step = 1e-5 * a
    inside = (x > 1e-8) & (x < a + 6 * math.sqrt(a))
    quantile = scipy.special.gammainc(a, x[inside])
    slope = (scipy.special.gammaincinv(a + step, quantile) - scipy.special.gammaincinv(a - step, quantile)) / (2 * step)
    np.testing.assert_allclose(alpha.grad.numpy()[inside], slope, rtol=2e-3, atol=1e-6)


def test_second_derivative_of_a_gamma_draw():
    def draw(a):
        tandem.manual_seed(3)
        return tandem._standard_gamma(a)

    def slope(a):
        leaf = tensor([a], dtype=F64, requires_grad=True)
        x = draw(leaf)
        # The draw's quantile is kept: the second derivative is that of the quantile function.
        (first,) = tandem.autograd.grad(x.sum(), leaf, create_graph=True)
        (second,) = tandem.autograd.grad(first.sum(), leaf)
        return x.item(), first.item(), second.item()

    x, first, second = slope(2.5)
    p, h = scipy.special.gammainc(2.5, x), 1e-3
    up, down = scipy.special.gammaincinv(2.5 + h, p), scipy.special.gammaincinv(2.5 - h, p)
    assert first == pytest.approx((up - down) / (2 * h), rel=1e-5)
    assert second == pytest.approx((up - 2 * x + down) / h**2, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("rate", [0.3, 4.0, 50.0, 1e5])
def test_poisson(rate):
    draw = tandem.poisson(tandem.full((20000,), rate, dtype=F64))
    assert draw.mean().item() == pytest.approx(rate, abs=5 * math.sqrt(rate / 20000))
    assert draw.var().item() == pytest.approx(rate, rel=0.06)
    assert ((draw % 1 == 0) & (draw >= 0)).all()


@pytest.mark.parametrize(("n", "p"), [(5, 0.3), (40, 0.9), (1000, 0.4), (7, 0.0), (7, 1.0)])
def test_binomial(n, p):
    draw = tandem.binomial(tandem.full((20000,), float(n), dtype=F64), tensor(p, dtype=F64))
    assert draw.mean().item() == pytest.approx(n * p, abs=5 * math.sqrt(n * p * (1 - p) / 20000) + 1e-12)
    assert draw.var().item() == pytest.approx(n * p * (1 - p), rel=0.06, abs=1e-12)
    assert ((draw >= 0) & (draw <= n)).all()


def test_multinomial():
    weights = tensor([[0.0, 1.0, 3.0, 0.0], [2.0, 0.0, 0.0, 2.0]])
    drawn = tandem.multinomial(weights, 8000, replacement=True)
    assert drawn.shape == (2, 8000) and drawn.dtype is tandem.int64
    counts = np.stack([np.bincount(row.numpy(), minlength=4) / 8000 for row in drawn])
    np.testing.assert_allclose(counts, [[0, 0.25, 0.75, 0], [0.5, 0, 0, 0.5]], atol=0.03)
    without = tandem.multinomial(tandem.ones(50, 4), 4)
    assert (without.sort(-1)[0] == tandem.arange(4)).all()
    first = tandem.multinomial(tensor([1.0, 3.0]).expand(8000, 2), 1)
    assert first.float().mean().item() == pytest.approx(0.75, abs=0.03)
    assert weights[0].multinomial(2).sort()[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((tandem.ones(1, 1, 1), 1), "prob_dist must be 1 or 2 dim"),
        ((tandem.ones(3, dtype=tandem.int64), 1), "multinomial only supports floating-point dtypes for input"),
        ((tandem.ones(3), 0), "cannot sample n_sample <= 0 samples"),
        ((tandem.ones(3), 4), r"cannot sample n_sample > prob_dist.size\(-1\) samples without replacement"),
        ((tensor([1.0, -1.0]), 1), "probability tensor contains either `inf`, `nan` or element < 0"),
        ((tandem.zeros(3), 1), r"invalid multinomial distribution \(sum of probabilities <= 0\)"),
    ],
)
def test_multinomial_errors(arguments, words):
    with pytest.raises(RuntimeError, match=words):
        tandem.multinomial(*arguments)


def test_normal_draws():
    mean, std = tandem.full((20000,), 3.0), tensor(2.0)
    for draw in (
        tandem.normal(mean, std),
        tandem.normal(mean, 2.0),
        tandem.normal(3.0, tandem.full((20000,), 2.0)),
        tandem.normal(3.0, 2.0, (20000,)),
        tandem.normal(mean=mean, std=2.0),
    ):
        assert draw.shape == (20000,)
        assert draw.mean().item() == pytest.approx(3, abs=0.08) and draw.std().item() == pytest.approx(2, abs=0.08)
    with pytest.raises(RuntimeError, match="normal expects std >= 0.0, but found std -1"):
        tandem.normal(mean, -1.0)


def test_draws_are_the_same_in_every_mode(mode):
    def draw(a):
        tandem.manual_seed(11)
        w = a.abs().reshape(2, 3)
        return tandem._standard_gamma(a.abs()), tandem.poisson(a.abs() * 20), tandem.multinomial(w, 5, True), w * 1

    a = tensor([0.4, 2.0, 7.0, 30.0, 1.0, 0.1], dtype=F64)
    for x, y in zip(run_in(mode, draw, a), draw(a)):
        assert_same_bits(x, y)


def test_draws_follow_a_generator():
    g = tandem.Generator().manual_seed(4)
    a = tandem.poisson(tandem.full((9,), 30.0), generator=g)
    b = tandem.poisson(tandem.full((9,), 30.0), generator=tandem.Generator().manual_seed(4))
    assert_same_bits(a, b)
    assert not tandem.equal(a, tandem.poisson(tandem.full((9,), 30.0), generator=g))


# ---- matrices -------------------------------------------------------------------------------------------------------


def positive_definite(*shape: int) -> np.ndarray:
    a = np.random.default_rng(2).standard_normal(shape)
    return a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])


def test_cholesky_and_triangular_solve():
    a = positive_definite(3, 5, 5)
    low = tandem.linalg.cholesky(tensor(a))
    np.testing.assert_allclose(low.numpy(), np.linalg.cholesky(a), rtol=1e-12)
    assert tandem.equal(tandem.linalg.cholesky(tensor(a), upper=True), low.mT)
    b = tensor(np.random.default_rng(3).standard_normal((5, 2)))
    solve = tandem.linalg.solve_triangular
    np.testing.assert_allclose((low @ solve(low, b, upper=False)).numpy(), b.expand(3, 5, 2).numpy(), atol=1e-12)
    x = solve(low.mT, b.mT, upper=True, left=False)
    np.testing.assert_allclose((x @ low.mT).numpy(), b.mT.expand(3, 2, 5).numpy(), atol=1e-12)
    unit = solve(low, b, upper=False, unitriangular=True)
    ones = low.tril(-1) + tandem.eye(5, dtype=F64)
    np.testing.assert_allclose((ones @ unit).numpy(), b.expand(3, 5, 2).numpy(), atol=1e-12)
    assert tandem.linalg.cholesky(tandem.zeros(0, 3, 3)).shape == (0, 3, 3)


def test_gradients_of_cholesky_and_triangular_solve():
    a = tensor(positive_definite(2, 3, 3), requires_grad=True)

    def factor(x):
        return tandem.linalg.cholesky((x + x.mT) / 2)

    assert gradcheck(factor, [a]) and gradgradcheck(factor, [a])
    t = tensor(np.linalg.cholesky(positive_definite(3, 3)), requires_grad=True)
    b = tensor(np.random.default_rng(3).standard_normal((3, 2)), requires_grad=True)
    for upper, unit in ((False, False), (False, True), (True, False)):

        def solve(x, y, upper=upper, unit=unit):
            x = x.mT if upper else x
            return tandem.linalg.solve_triangular(x, y, upper=upper, unitriangular=unit)

        assert gradcheck(solve, [t, b]) and gradgradcheck(solve, [t, b])


def test_errors_of_matrices():
    with pytest.raises(tandem.linalg.LinAlgError, match="leading minor of order 2 is not positive-definite"):
        tandem.linalg.cholesky(tensor([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\)"):
        tandem.linalg.cholesky(tandem.stack([tandem.eye(2), -tandem.eye(2)]))
    with pytest.raises(RuntimeError, match="A must be batches of square matrices, but they are 2 by 3 matrices"):
        tandem.linalg.cholesky(tandem.ones(2, 3))
    with pytest.raises(RuntimeError, match="must have at least 2 dimensions"):
        tandem.linalg.cholesky(tandem.ones(2))
    with pytest.raises(RuntimeError, match=r"Incompatible shapes of A and B for the equation AX = B \(2x2 and 3x1\)"):
        tandem.linalg.solve_triangular(tandem.eye(2), tandem.ones(3, 1), upper=False)


# By the sums of 200 bits that define them; around a itself 1/2 + 1 / (3 sqrt(2 pi a)).
LARGE_SHAPES = [
    (1e12, 1e12, 0.5 + 1 / (3 * math.sqrt(2e12 * math.pi)), 0.5 - 1 / (3 * math.sqrt(2e12 * math.pi))),
    (1e20, 1e20, 0.5 + 1 / (3 * math.sqrt(2e20 * math.pi)), 0.5 - 1 / (3 * math.sqrt(2e20 * math.pi))),
    (2e10, 2e10 + 1e6, 1.0, 7.69370033285458977e-13),
    (2e10, 2e10 - 3e6, 3.52624922620651427e-100, 1.0),
    (1e11, 1e3, 0.0, 1.0),
    (1e300, 1e308, 1.0, 0.0),
    (1e308, 1e308, 0.5, 0.5),
]


@pytest.mark.parametrize(("a", "x", "lower", "upper"), LARGE_SHAPES)
def test_incomplete_gamma_of_large_shapes(a, x, lower, upper):
    for function, want in ((tandem.igamma, lower), (tandem.igammac, upper)):
        found = function(tensor(a, dtype=F64), tensor(x, dtype=F64)).item()
        assert abs(found - want) <= 2e-12 * want, (function, found, want)


def test_incomplete_gamma_goes_on_where_its_formula_changes():
    """Beside 1e10 the sums serve below, an expansion above."""
    a = tensor([1e10, 1e10 + 1], dtype=F64)
    for steps in (-6.0, -1.0, 0.0, 1.0, 6.0):
        for function in (tandem.igamma, tandem.igammac):
            below, above = function(a, a + steps * a.sqrt()).tolist()
            assert abs(below - above) <= 1e-9 * below, (function, steps)
