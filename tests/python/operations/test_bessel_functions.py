"""Orthogonal polynomials, parts and neighbours of numbers, and derivatives of Bessel functions and of the normal
distribution. The values of those functions themselves: tests/python/operations/test_vector_math.py."""

import math
import random

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem.autograd import gradcheck, gradgradcheck

mpmath = pytest.importorskip("mpmath")
exact = pytest.importorskip("exact_functions")
mp = mpmath.mp

special = tandem.special
INF, NAN = math.inf, math.nan
F64 = tandem.float64


def doubles(*values, grad=True):
    return tandem.tensor(values, dtype=F64, requires_grad=grad)


# ---- polynomials ----------------------------------------------------------------------------------------------------


def points(name, rng):
    """Degrees with arguments inside and outside of the interval where the polynomial oscillates, its ends and 0."""
    inside = {"laguerre": (0, 60), "hermite": (-20, 20), "shifted": (0, 1)}.get(name.split("_")[0], (-1, 1))
    degrees = [0, 1, 2, 3, 6, 7, 8, 9, 31, 64, 100, 127, 200] + ([] if "hermite" in name else [1000])
    for n in degrees:
        ends = [0.0, 1.0, -1.0, 0.5, 1 - 2**-40, 1 + 2**-40, 2**-60]
        for x in ends + [rng.uniform(*inside) for _ in range(12)] + [rng.uniform(-5, 5), rng.uniform(-1e3, 1e3)]:
            yield x, n


@pytest.mark.parametrize("name", exact.POLYNOMIALS)
def test_polynomials(name):
    pairs = list(points(name, random.Random(3)))
    for dtype, limit in ((tandem.float64, 1e-13), (tandem.float32, 1e-7)):
        xs, ns = tandem.tensor([x for x, _ in pairs], dtype=dtype), tandem.tensor([n for _, n in pairs])
        got = getattr(special, name)(xs, ns)
        assert got.dtype is dtype
        for x, (_, n), y in zip(xs.tolist(), pairs, got.tolist()):
            with mpmath.workprec(400 + 40 * (n if abs(x) > 1 else 1)):
                want = exact.POLYNOMIALS[name](mp.mpf(x), n)
                if abs(want) > mp.mpf(tandem.finfo(dtype).max):
                    assert y == math.copysign(INF, want), (name, x, n)
                else:
                    assert abs(y - want) <= limit * abs(want) + tandem.finfo(dtype).tiny, (name, x, n, y)


@pytest.mark.parametrize("name", exact.POLYNOMIALS)
def test_polynomials_beyond(name):
    evaluate = getattr(special, name)
    x = doubles(0.3, INF, -INF, NAN, 1e200, -1e200, grad=False)
    assert evaluate(x, -1).tolist() == [0.0] * 6
    assert evaluate(x, 0).tolist() == [1.0] * 6
    flips = name.startswith("laguerre")
    for n in (1, 2, 3, 8):
        even = n % 2 == 0
        plus = INF if even or not flips else -INF
        minus = INF if even or flips else -INF
        y = evaluate(x, n).tolist()
        assert y[1:3] == [plus, minus] and math.isnan(y[3])
        want = [float(exact.POLYNOMIALS[name](mp.mpf(v), n)) for v in (1e200, -1e200)]
        assert y[4:] == pytest.approx(want, rel=1e-14)
    assert evaluate(doubles(0.3, grad=False), doubles(NAN, grad=False)).isnan()
    # Degrees are truncated, as PyTorch does.
    assert_same_bits(evaluate(x, 2.75), evaluate(x, 2))
    assert evaluate(2, tandem.tensor([3])).dtype is tandem.float32
    assert not evaluate(doubles(0.3), 4).requires_grad


@pytest.mark.parametrize("name", exact.POLYNOMIALS)
def test_polynomials_beside_their_zeros(name):
    """Nearly all digits cancel in the last step there, in float32 more than single numbers can bear."""
    evaluate = getattr(special, name)
    for n in (2, 3, 7, 10, 11, 32, 33):
        x = tandem.linspace(0, 130, 20001) if "laguerre" in name else tandem.linspace(-9, 9, 20001)
        signs = evaluate(x.double(), n).sign()
        found = (signs[1:] != signs[:-1]).nonzero().flatten()
        low, high = x.double()[found], x.double()[found + 1]
        for _ in range(40):
            middle = (low + high) / 2
            left = evaluate(middle, n).sign() == signs[found]
            low, high = tandem.where(left, middle, low), tandem.where(left, high, middle)
        assert low.numel() >= n // 2
        at = tandem.cat([low.float(), tandem.nextafter(low.float(), tandem.tensor(INF)), tandem.zeros(64)])
        got = evaluate(at, n).tolist()
        # Alone, among others, and of mixed degrees: the same bits.
        assert evaluate(at[:1], n).tolist() == got[:1]
        degrees = tandem.tensor([n, n + 1]).repeat(at.numel())
        assert evaluate(at.repeat_interleave(2), degrees)[::2].tolist() == got
        for v, y in zip(at.tolist(), got):
            with mpmath.workprec(2000):
                want = exact.POLYNOMIALS[name](mp.mpf(v), n)
                assert abs(y - want) <= 1e-7 * abs(want) + tandem.finfo(tandem.float32).tiny, (name, n, v, y)


def test_polynomials_of_large_degree():
    """Where the recurrence of floats has lost all digits, and n arccos(x) most."""
    n, x = 123457, 0.7310585786300049
    with mpmath.workprec(200):
        angle = mp.acos(mp.mpf(x))
        want = {
            "t": mp.cos(n * angle),
            "u": mp.sin((n + 1) * angle) / mp.sin(angle),
            "v": mp.cos((n + 0.5) * angle) / mp.cos(angle / 2),
            "w": mp.sin((n + 0.5) * angle) / mp.sin(angle / 2),
        }
        for kind, value in want.items():
            got = getattr(special, f"chebyshev_polynomial_{kind}")(doubles(x, grad=False), n).item()
            assert got == pytest.approx(float(value), rel=1e-13)
    assert special.hermite_polynomial_h(doubles(0.3, grad=False), 513).isnan()


def test_airy_stays_within_its_envelope():
    x = tandem.tensor([-1e12, -1e50, -1e205, -1e300, -1.7e308], dtype=F64)
    assert (special.airy_ai(x).abs() <= x.abs() ** -0.25 / math.sqrt(math.pi) * (1 + 1e-12)).all()


# ---- parts and neighbours -------------------------------------------------------------------------------------------

HALVES = (tandem.float16, tandem.bfloat16)


def edge_values(dtype):
    f = tandem.finfo(dtype)
    some = [0.0, f.smallest_normal, f.smallest_normal / 4, f.eps, 1.0, 1 + f.eps, 1.5, 2.0, 3.0, f.max, INF]
    return tandem.tensor([s * v for v in some for s in (1, -1)] + [NAN], dtype=F64).to(dtype)


@pytest.mark.parametrize("dtype", [*HALVES, tandem.float32, tandem.float64])
def test_frexp(dtype):
    tiny = tandem.finfo(dtype).smallest_normal
    x = tandem.cat([edge_values(dtype), tandem.tensor([tiny * tandem.finfo(dtype).eps], dtype=dtype)])
    parts = tandem.frexp(x)
    assert parts.mantissa.dtype is dtype and parts.exponent.dtype is tandem.int32
    for v, m, e in zip(x.tolist(), parts.mantissa.tolist(), parts.exponent.tolist()):
        if math.isfinite(v):
            assert (m, e) == math.frexp(v) and math.copysign(1, m) == math.copysign(1, v)
        else:
            assert e == 0 and (m == v or (math.isnan(m) and math.isnan(v)))
    mantissa, exponent = tandem.empty(len(x), dtype=dtype), tandem.empty(len(x), dtype=tandem.int32)
    tandem.frexp(x, out=(mantissa, exponent))
    assert_same_bits(mantissa, parts.mantissa)
    assert_same_bits(exponent, parts.exponent)


def test_frexp_derivative_and_errors():
    x = doubles(3.0, 0.1, -20.0)
    mantissa, exponent = x.frexp()
    assert not exponent.requires_grad
    mantissa.sum().backward()
    assert x.grad.tolist() == [0.25, 8.0, 1 / 32]
    with pytest.raises(RuntimeError, match="frexp only supports floating-point dtypes"):
        tandem.frexp(tandem.tensor([1]))


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
def test_nextafter(dtype):
    x, y = (t.flatten() for t in tandem.meshgrid(edge_values(dtype), edge_values(dtype), indexing="ij"))
    with np.errstate(all="ignore"):
        want = np.nextafter(x.numpy(), y.numpy())
    got = tandem.nextafter(x, y)
    np.testing.assert_array_equal(got.numpy(), want)
    np.testing.assert_array_equal(np.signbit(got.numpy())[want == 0], np.signbit(want)[want == 0])
    out = tandem.empty_like(x)
    tandem.nextafter(x, y, out=out)
    assert_same_bits(out, got)
    assert_same_bits(x.clone().nextafter_(y), got)


@pytest.mark.parametrize("dtype", HALVES)
def test_nextafter_of_half_types(dtype, mode):
    """Against the list of all numbers of the dtype."""
    everyone = tandem.arange(-(2**15), 2**15, dtype=tandem.int16).view(dtype)
    sorted_numbers = sorted({v for v in everyone.tolist() if not math.isnan(v)})
    x = tandem.tensor(sorted_numbers, dtype=F64).to(dtype)
    for direction, step in ((INF, 1), (-INF, -1)):
        got = run_in(mode, tandem.nextafter, x, tandem.full_like(x, direction)).tolist()
        for i, y in enumerate(got):
            assert y == sorted_numbers[max(0, min(i + step, len(sorted_numbers) - 1))], sorted_numbers[i]
    assert tandem.nextafter(x, x).tolist() == sorted_numbers


def test_nextafter_promotes_and_refuses_integers():
    one = tandem.tensor([1.0])
    assert tandem.nextafter(one, doubles(2.0, grad=False)).item() == 1 + 2**-52
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        tandem.nextafter(tandem.tensor([1]), tandem.tensor([2]))


def test_angle_and_isreal():
    x = tandem.tensor([-2.0, 0.0, -0.0, 3.0, INF, -INF, NAN], requires_grad=True)
    y = tandem.angle(x)
    np.testing.assert_array_equal(y.detach().numpy(), np.float32([math.pi, 0, 0, 0, 0, math.pi, NAN]))
    y.sum().backward()
    assert x.grad.tolist() == [0.0] * 7
    assert tandem.angle(tandem.tensor([3, -4])).tolist() == pytest.approx([0, math.pi])
    assert x.isreal().all() and tandem.isreal(tandem.tensor([True, False])).tolist() == [True, True]


# ---- derivatives ----------------------------------------------------------------------------------------------------

ANALYTIC = {
    "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x),
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-mp.sign(x) * x),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-mp.sign(x) * x),
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "log_ndtr": lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2),
    "ndtri": lambda x: -mp.sqrt(2) * mp.erfinv(1 - 2 * x),
}


@pytest.mark.parametrize("name", ANALYTIC)
def test_derivatives_of_four_orders(name):
    xs = (0.03, 0.4, 0.5, 0.97) if name == "ndtri" else (1e-9, -1e-5, 0.3, 2.9999, 3.0001, -3.5, 9.0)
    x = doubles(*xs)
    y = getattr(special, name)(x)
    for order in range(1, 5):
        (y,) = tandem.autograd.grad(y.sum(), x, create_graph=True)
        for at, got in zip(xs, y.tolist()):
            with mpmath.workprec(400):
                want = float(mpmath.diff(ANALYTIC[name], mp.mpf(at), order))
            # erfcx' = 2 x erfcx - 2 / sqrt(pi) and its like cancel away from 0.
            assert got == pytest.approx(want, rel=1e-11, abs=1e-9 if name in ("erfcx", "log_ndtr") else 1e-12)


def test_derivatives_at_zero_and_far_away():
    zero = doubles(0.0)
    y = special.i1(zero)
    for want in (0.5, 0.0, 0.375, 0.0, 0.3125):  # those of x/2 + x^3/16 + x^5/384 + ...
        (y,) = tandem.autograd.grad(y.sum(), zero, create_graph=True)
        assert y.item() == pytest.approx(want, abs=1e-15)
    x = doubles(-40.0, 40.0, 300.0)
    y = special.log_ndtr(x)
    for _ in range(3):
        (y,) = tandem.autograd.grad(y.sum(), x, create_graph=True)
        assert y.isfinite().all()
    far = doubles(1e5)
    special.i1e(far).sum().backward()
    assert far.grad.item() == pytest.approx(float(mpmath.diff(exact.bessel_i(1, True), mp.mpf(1e5))), rel=1e-9)


@pytest.mark.parametrize("name", ANALYTIC)
def test_gradients_of_two_orders(name):
    x = doubles(0.2, 0.45, 0.9) if name == "ndtri" else doubles(-4.0, -0.3, 0.7, 5.0)
    assert gradcheck(getattr(special, name), [x], eps=1e-6, atol=1e-6, rtol=1e-5)
    assert gradgradcheck(getattr(special, name), [x], eps=1e-6, atol=1e-5, rtol=1e-4)


def test_what_has_no_gradient():
    x = doubles(0.4)
    for name in "bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1".split():
        assert not getattr(special, name)(x).requires_grad
    for name in "scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 airy_ai".split():
        assert not getattr(special, name)(x).requires_grad


def test_every_mode_gives_the_same_bits(mode):
    def run(x):
        n = tandem.tensor([2, 5, 9])
        parts = tandem.frexp(x)
        return (
            special.i0(x) + special.erfcx(x) * special.bessel_j1(x),
            special.ndtri(x.sigmoid()) - special.log_ndtr(x),
            special.legendre_polynomial_p(x[:, None], n),
            parts.mantissa * 2,
            parts.exponent + 1,
            tandem.nextafter(x, -x),
        )

    x = tandem.linspace(-3, 3, 11, dtype=F64)
    for a, b in zip(run_in(mode, run, x), run(x)):
        assert_same_bits(a, b)


def test_names_of_torch_special():
    """All that `torch.special` has (2.13)."""
    names = """
        airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
        chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc
        gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l
        legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp modified_bessel_i0 modified_bessel_i1
        modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri polygamma psi round scaled_modified_bessel_k0
        scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
        shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy
        zeta
    """.split()
    assert [n for n in names if not callable(getattr(special, n, None))] == []


# ---- parts of the axis -----------------------------------------------------------------------------------------------

IN_PARTS = (
    "i0 i1 i0e i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1 "
    "scaled_modified_bessel_k0 scaled_modified_bessel_k1 airy_ai ndtri log_ndtr"
).split()


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16], ids=str)
@pytest.mark.parametrize("name", IN_PARTS)
def test_bits_do_not_depend_on_neighbours(name, dtype):
    """A part of the axis that no element of a block is in is skipped: each element has the bits that it has alone."""
    function = getattr(special, name)
    values = [
        -INF,
        -40.0,
        -9.0,
        -4.5,
        -3.0,
        -0.5,
        0.0,
        1e-9,
        0.01,
        0.3,
        0.6,
        0.99,
        1.0,
        2.0,
        7.5,
        8.0,
        8.5,
        30.0,
        INF,
        NAN,
    ]
    mixed = tandem.tensor(values, dtype=dtype)
    found = function(mixed)
    for i, value in enumerate(values):
        alone = function(tandem.full((64,), value, dtype=dtype))
        assert_same_bits(alone, found[i].expand(64).contiguous())
