"""Every function of codegen/math over its whole domain and outside of it, against mpmath: at most 2 ULP in float32 and
4 in float64 (20 of Bessel functions and their like: less than 5e-15), at zeros, subnormals, poles, halves, integers,
the largest numbers, infinities and NaN.

tests/unit/test_vector_math.cpp samples far more inputs, every float32 in the slow tier, against glibc; this checks the
compiled kernels themselves, and the references of the other test."""

import math
import random
import re
import struct
from pathlib import Path

import pytest
from conftest import assert_same_bits, run_in

import tandem

mpmath = pytest.importorskip("mpmath")
exact = pytest.importorskip("exact_functions")
mp = mpmath.mp

INF, NAN = math.inf, math.nan
functional = tandem.nn.functional
special = tandem.special


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    if abs(x) > 1e5:
        return x if x > 0 else mp.exp(bounded(x))
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def gelu(x):
    return x / 2 * mp.erfc(-bounded(x) / mp.sqrt(2))


def bounded(x):
    """x where results are over, under or settled beyond: mpmath computes them all."""
    return max(min(x, mp.mpf(10) ** 5), -(mp.mpf(10) ** 5))


def erfinv(x):
    """Newton's method from mpmath's own, which loses digits at the ends."""
    y = mp.erfinv(x)
    for _ in range(3):
        y -= (
            (mp.erf(y) - x if abs(x) < 0.5 else mp.sign(x) * ((1 - abs(x)) - mp.erfc(abs(y))))
            * mp.exp(y * y)
            * (mp.sqrt(mp.pi) / 2)
        )
    return y


def lgamma(x):
    return mp.re(mp.loggamma(x))


def sinc(x):
    """Of the product with pi as the dtype rounds it: `x` is that product."""
    return mp.sin(x) / x


def trigamma(x):
    """By reflection left of zero, where mpmath would step from number to number."""
    return (mp.pi / mp.sinpi(x)) ** 2 - mp.psi(1, 1 - x) if x < 0 else mp.psi(1, x)


# name: function, reference, limits at -inf and +inf, domain
FUNCTIONS = {
    "exp": (tandem.exp, mp.exp, 0.0, INF),
    "exp2": (tandem.exp2, lambda x: mp.power(2, x), 0.0, INF),
    "expm1": (tandem.expm1, mp.expm1, -1.0, INF),
    "log": (tandem.log, mp.log, NAN, INF, 0),
    "log2": (tandem.log2, lambda x: mp.log(x) / mp.log(2), NAN, INF, 0),
    "log10": (tandem.log10, mp.log10, NAN, INF, 0),
    "log1p": (tandem.log1p, mp.log1p, NAN, INF, -1),
    "sin": (tandem.sin, mp.sin, NAN, NAN),
    "cos": (tandem.cos, mp.cos, NAN, NAN),
    "tan": (tandem.tan, mp.tan, NAN, NAN),
    "asin": (tandem.asin, mp.asin, NAN, NAN, -1, 1),
    "acos": (tandem.acos, mp.acos, NAN, NAN, -1, 1),
    "atan": (tandem.atan, mp.atan, -math.pi / 2, math.pi / 2),
    "sinh": (tandem.sinh, mp.sinh, -INF, INF),
    "cosh": (tandem.cosh, mp.cosh, INF, INF),
    "tanh": (tandem.tanh, mp.tanh, -1.0, 1.0),
    "asinh": (tandem.asinh, mp.asinh, -INF, INF),
    "acosh": (tandem.acosh, mp.acosh, NAN, INF, 1),
    "atanh": (tandem.atanh, mp.atanh, NAN, NAN, -1, 1),
    "erf": (tandem.erf, mp.erf, -1.0, 1.0),
    "erfc": (tandem.erfc, mp.erfc, 2.0, 0.0),
    "ndtr": (tandem.special.ndtr, lambda x: mp.erfc(-bounded(x) / mp.sqrt(2)) / 2, 0.0, 1.0),
    "erfinv": (tandem.erfinv, erfinv, NAN, NAN, -1, 1),
    "sigmoid": (tandem.sigmoid, sigmoid, 0.0, 1.0),
    "gelu": (functional.gelu, gelu, -0.0, INF),
    "silu": (functional.silu, lambda x: x * sigmoid(bounded(x)), -0.0, INF),
    "softplus": (functional.softplus, softplus, 0.0, INF),
    "logsigmoid": (functional.logsigmoid, lambda x: -softplus(-x), -INF, -0.0),
    "lgamma": (tandem.lgamma, lgamma, INF, INF),
    "digamma": (tandem.digamma, mp.digamma, NAN, INF),
    "logit": (tandem.logit, lambda x: mp.log(x) - mp.log1p(-x), NAN, NAN, 0, 1),
    "sqrt": (tandem.sqrt, mp.sqrt, NAN, INF, 0),
    "rsqrt": (tandem.rsqrt, lambda x: 1 / mp.sqrt(x), NAN, 0.0, 0),
    "reciprocal": (tandem.reciprocal, lambda x: 1 / x, -0.0, 0.0),
    "square": (tandem.square, lambda x: x * x, INF, INF),
    "sinc": (tandem.sinc, sinc, NAN, NAN),
}
# Less exact in float64 (codegen/math/bessel.h, airy.h, gamma.h, normal.h).
LESS_EXACT = {
    "i0": (special.i0, exact.bessel_i(0), INF, INF),
    "i1": (special.i1, exact.bessel_i(1), -INF, INF),
    "i0e": (special.i0e, exact.bessel_i(0, True), 0.0, 0.0),
    "i1e": (special.i1e, exact.bessel_i(1, True), -0.0, 0.0),
    "modified_bessel_k0": (special.modified_bessel_k0, exact.bessel_k(0), NAN, 0.0, 0),
    "modified_bessel_k1": (special.modified_bessel_k1, exact.bessel_k(1), NAN, 0.0, 0),
    "scaled_modified_bessel_k0": (special.scaled_modified_bessel_k0, exact.bessel_k(0, True), NAN, 0.0, 0),
    "scaled_modified_bessel_k1": (special.scaled_modified_bessel_k1, exact.bessel_k(1, True), NAN, 0.0, 0),
    "bessel_j0": (special.bessel_j0, exact.bessel_j(0), 0.0, 0.0),
    "bessel_j1": (special.bessel_j1, exact.bessel_j(1), -0.0, 0.0),
    "bessel_y0": (special.bessel_y0, exact.bessel_y(0), NAN, 0.0, 0),
    "bessel_y1": (special.bessel_y1, exact.bessel_y(1), NAN, 0.0, 0),
    "spherical_bessel_j0": (special.spherical_bessel_j0, lambda x: mp.sin(x) / x, 0.0, 0.0),
    "airy_ai": (special.airy_ai, exact.airy_ai, 0.0, 0.0),
    "trigamma": (lambda x: special.polygamma(1, x), trigamma, NAN, 0.0),
    "erfcx": (special.erfcx, exact.erfcx, INF, 0.0),
    "log_ndtr": (special.log_ndtr, exact.log_ndtr, -INF, -0.0),
    "ndtri": (special.ndtri, exact.ndtri, NAN, NAN, 0, 1),
}
FUNCTIONS |= LESS_EXACT
# Whose phase is lost further away.
FROM = {"airy_ai": -1e11}
SETTLED = ("exp", "exp2", "expm1", "sinh", "cosh", "tanh", "erf", "erfc", "ndtr", "sigmoid")

# f(+-0) is +-0
ODD = "expm1 log1p sin tan asin atan sinh tanh asinh atanh erf erfinv gelu silu sqrt i1 i1e bessel_j1".split()
AT_ZERO = {
    "log": -INF,
    "log2": -INF,
    "log10": -INF,
    "logit": -INF,
    "lgamma": INF,
    "trigamma": INF,
    "sinc": 1.0,
    "square": 0.0,
}
AT_ZERO |= {name: INF for name in LESS_EXACT if "_k" in name}
AT_ZERO |= {"bessel_y0": -INF, "bessel_y1": -INF, "ndtri": -INF, "spherical_bessel_j0": 1.0}
# Values at the ends of domains and at poles; at zeros of either sign.
POLES = {
    "log1p": {-1.0: -INF},
    "atanh": {-1.0: -INF, 1.0: INF},
    "erfinv": {-1.0: -INF, 1.0: INF},
    "logit": {1.0: INF},
    "ndtri": {1.0: INF},
    "acosh": {1.0: 0.0},
    "acos": {1.0: 0.0},
}
AT_SIGNED_ZERO = {"digamma": (INF, -INF), "reciprocal": (-INF, INF), "rsqrt": (-INF, INF)}

# Beside their zeros terms of larger size cancel: the error is one of the size of those.
CANCELS = {
    "lgamma": lambda x: max(1, abs(mp.loggamma(-x))) if x < 0 else 1,
    "digamma": lambda x: max(1, 2 * mp.log(-x)) if x < 0 else 1,
    "logit": lambda x: 1,
    **dict.fromkeys(("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"), exact.envelope),
    "airy_ai": exact.airy_size,
}

FORMATS = {"float32": (24, -126, 128, "f", "I"), "float64": (53, -1022, 1024, "d", "Q")}


def rounded(x, dtype):
    """The number of the dtype nearest to `x`; infinite beyond its range."""
    return tandem.tensor(float(x), dtype=tandem.float64).to(getattr(tandem, dtype)).item()


def beside(x, dtype):
    """The numbers of the dtype just below and above `x`, which is not 0."""
    _, _, _, code, word = FORMATS[dtype]
    (n,) = struct.unpack(word, struct.pack(code, x))
    return [struct.unpack(code, struct.pack(word, n + d))[0] for d in (-1, 1)]


def edges(dtype):
    """Where functions change their formula, have poles, zeros or ends of their domains: both signs, neighbours too."""
    digits, low, high, _, _ = FORMATS[dtype]
    smallest, normal = math.ldexp(1, low - digits + 1), math.ldexp(1, low)
    largest = math.ldexp(2 - math.ldexp(1, 1 - digits), high - 1)
    halves = [k / 2 for k in range(1, 46)] + [170.5, 171.0, 172.0, 1000.5, 123457.0]
    powers = [math.ldexp(1, k) for k in range(-digits - 4, digits + 4, 3)]
    others = [88.73, 103.98, 104.5, 709.79, 745.2, 1e10, 1e30, math.pi, math.pi / 2, math.e, 1.4616321449683623]
    for x in halves + powers + [rounded(x, dtype) for x in others] + [normal, 7 * smallest, largest / 2]:
        for y in (x, *beside(x, dtype)):
            yield from (y, -y)
    yield from (smallest, -smallest, largest, -largest)


def samples(dtype, count=300):
    """Half of them over all bit patterns, half of moderate size."""
    digits, _, _, code, word = FORMATS[dtype]
    rng = random.Random(20240607)
    for i in range(count):
        if i % 2:
            (x,) = struct.unpack(code, struct.pack(word, rng.getrandbits(8 * struct.calcsize(word))))
        else:
            x = math.ldexp(rng.getrandbits(digits - 1) + (1 << (digits - 1)), rng.randrange(-14, 10) - digits + 1)
            x *= rng.choice((-1, 1))
        if math.isfinite(x) and x != 0:
            yield x


def ulps(value, exact, dtype, size=0):
    """How far `value` is from `exact`, in units of the last place of it, or of `size` where that is larger."""
    digits, low, high, _, _ = FORMATS[dtype]
    if mp.isnan(exact) or mp.isinf(exact):
        return 0 if value == exact or (math.isnan(value) and mp.isnan(exact)) else INF
    if math.isnan(value):
        return INF
    bound = mp.ldexp(1, high)
    magnitude = min(abs(exact), bound)
    if magnitude == 0:
        return 0 if value == 0 else INF
    if not size and math.copysign(1, value) != mp.sign(exact):
        return INF
    _, exponent = mp.frexp(max(magnitude, size))
    unit = mp.ldexp(1, max(min(int(exponent) - 1, high - 1), low) - digits + 1)
    value, exact = (max(min(mp.mpf(v), bound), -bound) for v in (value, exact))
    return float(min(abs(value - exact) / unit, 1e9))


def expected(name, x, dtype):
    """The exact value at a finite `x` that is not 0."""
    _, reference, _, _, *domain = FUNCTIONS[name]
    low, high = (*domain, INF)[:2] if domain else (-INF, INF)
    if x in POLES.get(name, {}):
        return POLES[name][x]
    if not low <= x <= high:
        return NAN
    if name in ("lgamma", "digamma", "trigamma") and x < 0 and x == int(x):
        return NAN if name == "digamma" else INF
    if name == "sinc":
        x = rounded(mp.mpf(x) * mp.mpf(rounded(mp.pi, dtype)), dtype)
        if math.isinf(x):
            return NAN
    return reference(bounded(mp.mpf(x)) if name in SETTLED else mp.mpf(x))


@pytest.mark.parametrize("dtype,limit", [("float32", 2), ("float64", 4)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name, dtype, limit):
    xs = [x for x in (*samples(dtype), *edges(dtype)) if x >= FROM.get(name, -INF)]
    ys = FUNCTIONS[name][0](tandem.tensor(xs, dtype=getattr(tandem, dtype))).tolist()
    worst = (0, 0)
    for x, y in zip(xs, ys):
        # sin near a multiple of pi, x - tanh x, 1 - erf: as many digits as may cancel.
        with mpmath.workprec(160 + (1100 if abs(x) > 1e6 or abs(x) < 1e-6 else 0)):
            size = CANCELS[name](mp.mpf(x)) if name in CANCELS else 0
            worst = max(worst, (ulps(y, expected(name, x, dtype), dtype, size), x))
    # tests/unit/test_vector_math.cpp says why these may be further off
    if dtype == "float64" and name in LESS_EXACT:
        limit = 20
    elif dtype == "float32" and name in ("gelu", "ndtr"):
        limit = 4 if name == "gelu" else 3.5
    assert worst[0] <= limit, f"{name} at {worst[1]!r}: {worst[0]:.3f} ULP"


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_zeros_infinities_and_nan(name, dtype):
    function, reference, at_minus, at_plus, *_ = FUNCTIONS[name]
    if name in AT_SIGNED_ZERO:
        zeros = AT_SIGNED_ZERO[name]
    elif name in ODD:
        zeros = (-0.0, 0.0)
    else:
        zeros = [AT_ZERO[name] if name in AT_ZERO else NAN if name == "acosh" else float(reference(mp.mpf(0)))] * 2
    want = tandem.tensor([at_minus, at_plus, NAN, *zeros], dtype=getattr(tandem, dtype)).tolist()
    got = function(tandem.tensor([-INF, INF, NAN, -0.0, 0.0], dtype=getattr(tandem, dtype))).tolist()
    for w, g in zip(want, got):
        same = w == g and math.copysign(1, w) == math.copysign(1, g)
        near = math.isfinite(w) and w != 0 and math.isclose(w, g, rel_tol=2e-7)
        assert same or near or (math.isnan(w) and math.isnan(g)), (want, got)


# ---- functions of two numbers ---------------------------------------------------------------------------------------


def exact_pow(x, y):
    if x < 0 and y != mp.floor(y):
        return NAN
    return mp.exp(bounded(y * mp.log(abs(x)))) * (-1 if x < 0 and int(y) % 2 else 1)


def logaddexp(x, y):
    return max(x, y) + softplus(-abs(x - y))


def logaddexp2(x, y):
    return max(x, y) + softplus(-abs(x - y) * mp.log(2)) / mp.log(2)


def xlogy(x, y):
    return NAN if y < 0 else x * mp.log(y)


def xlog1py(x, y):
    return NAN if y < -1 else mp.sign(x) * -INF if y == -1 else x * mp.log1p(y)


def remainder(x, y):
    r = mp.fmod(x, y)  # of the sign of y
    return r if r == 0 or mp.sign(r) == mp.sign(y) else r + y


def fmod(x, y):
    return mp.sign(x) * remainder(abs(x), abs(y))


# name: function, reference where both are finite and not 0, Python's own function for the rest or None
PAIRS = {
    "pow": (tandem.pow, exact_pow),
    "atan2": (tandem.atan2, mp.atan2),
    "hypot": (tandem.hypot, lambda x, y: mp.sqrt(x * x + y * y)),
    "logaddexp": (tandem.logaddexp, logaddexp),
    "logaddexp2": (tandem.logaddexp2, logaddexp2),
    "xlogy": (tandem.xlogy, xlogy),
    "xlog1py": (tandem.special.xlog1py, xlog1py),
    "fmod": (tandem.fmod, fmod),
    "copysign": (tandem.copysign, lambda x, y: abs(x) * mp.sign(y)),
}


@pytest.mark.parametrize("dtype,limit", [("float32", 2), ("float64", 4)])
@pytest.mark.parametrize("name", PAIRS)
def test_accuracy_of_pairs(name, dtype, limit):
    function, reference = PAIRS[name]
    rng = random.Random(7)
    some = [*edges(dtype), *samples(dtype)]
    pairs = [(rng.choice(some), rng.choice(some)) for _ in range(1500)]
    xs, ys = (tandem.tensor(v, dtype=getattr(tandem, dtype)) for v in zip(*pairs))
    worst = (0, 0, 0)
    for (x, y), value in zip(pairs, function(xs, ys).tolist()):
        if name == "fmod" and abs(x) > abs(y) * 2.0**600:
            continue  # mpmath divides
        with mpmath.workprec(2300 if name == "fmod" else 160 + (1100 if max(abs(x), abs(y)) > 1e6 else 0)):
            size = max(abs(x), abs(y), 1) if name.startswith("logaddexp") else 0
            worst = max(worst, (ulps(value, reference(mp.mpf(x), mp.mpf(y)), dtype, size), x, y))
    assert worst[0] <= limit, f"{name} at {worst[1]!r}, {worst[2]!r}: {worst[0]:.3f} ULP"


def same_number(a, b):
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def at_special_pairs(name, x, y):
    """By definition where an argument is infinite, NaN or zero; None where test_accuracy_of_pairs sees to it."""
    if name in ("pow", "atan2", "hypot", "fmod", "copysign"):
        try:
            return getattr(math, name)(x, y)
        except ZeroDivisionError:
            return INF
        except ValueError:  # math.pow(0, -1) too
            return math.copysign(INF, x if y % 2 == 1 else 1) if name == "pow" and x == 0 else NAN
        except OverflowError:
            return None
    if name.startswith("xlog"):
        if math.isnan(y) or (math.isnan(x) and not math.isnan(y)):
            return NAN
        if x == 0:
            return 0.0
        shifted = y if name == "xlogy" else 1 + y
        if shifted <= 0:
            return NAN if shifted < 0 else x * -INF
        return x * (math.log(y) if name == "xlogy" else math.log1p(y))
    if math.isnan(x) or math.isnan(y):
        return NAN
    if math.isinf(x) or math.isinf(y):
        return max(x, y)
    return None


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", PAIRS)
def test_special_pairs(name, dtype):
    some = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e30, -1e30]
    pairs = [(x, y) for x in some for y in some]
    xs, ys = (tandem.tensor(v, dtype=getattr(tandem, dtype)) for v in zip(*pairs))
    for (x, y), value in zip(pairs, PAIRS[name][0](xs, ys).tolist()):
        if all(math.isfinite(v) and v for v in (x, y)):
            continue
        want = at_special_pairs(name, x, y)
        if want is None:
            continue
        want = rounded(want, dtype)
        near = math.isfinite(want) and want != 0 and math.isclose(want, value, rel_tol=3e-7)
        assert near or same_number(want, value) or want == value == 0 and "log" in name, (
            f"{name}({x}, {y}) is {value}, not {want}"
        )


# ---- none is forgotten ----------------------------------------------------------------------------------------------

# Functions of one IEEE operation, of comparisons and of whole numbers, which the operation table tests exactly
# (test_operations.py, test_bessel_functions.py); what random draws and optimizer steps are made of.
ELSEWHERE = """
    identity cast add sub mul div rem fma neg abs floor ceil trunc round frac and_ or_ xor_ not_ lt le gt ge eq ne
    to_bool logical_not isnan isinf isfinite signbit select maximum minimum fmax fmin sign relu clamp remainder
    trunc_divide floor_divide arange_value shift_left shift_right uniform normal random_integer cbrt elu
    logaddexp3 logaddexp3_share gelu_slope exp_below is_tiny product_of_tiny
    frexp_mantissa frexp_exponent nextafter
""".split()


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("exponent", [1, 2, 3, 0.5, -0.5, -1, 4, -2])
def test_powers_by_numbers_that_programs_write(exponent, dtype):
    tandem.manual_seed(0)
    special = tandem.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, -2.5, 1e-30, -1e-30, 1e30])
    x = tandem.cat([special.to(dtype), tandem.rand(500, dtype=dtype) * 10, tandem.randn(500, dtype=dtype)])
    y = x.pow(exponent)
    # Beside other exponents, which take other ways.
    mixed = tandem.full((x.numel(), 2), 1.7, dtype=dtype)
    mixed[:, 0] = exponent
    assert_same_bits(tandem.pow(x[:, None], mixed)[:, 0].contiguous(), y)
    for mode in ("lazy", "compiled"):
        assert_same_bits(run_in(mode, lambda x: x.pow(exponent), x), y)
    largest, unit = (2.0**128, 2.0**-23) if dtype == tandem.float32 else (math.inf, 2.0**-52)
    for a, got in zip(x.tolist(), y.tolist(), strict=True):
        try:
            wanted = math.pow(a, exponent)
        except (ValueError, OverflowError):  # a pole, a root of a negative number, too large
            wanted = math.nan if exponent % 1 != 0 and a < 0 else math.copysign(math.inf, a if exponent % 2 == 1 else 1)
        if abs(wanted) >= largest:
            wanted = math.copysign(math.inf, wanted)
        if math.isnan(wanted) or math.isinf(wanted) or wanted == 0:
            assert got == wanted or (math.isnan(got) and math.isnan(wanted)), (a, got, wanted)
            assert math.isnan(wanted) or math.copysign(1, got) == math.copysign(1, wanted), (a, got, wanted)
        elif abs(wanted) > 1e-37:
            assert abs(got - wanted) <= 2 * unit * abs(wanted), (a, got, wanted)


@pytest.mark.parametrize("dtype", [tandem.uint8, tandem.int32, tandem.int64])
def test_integer_powers_wrap(dtype):
    bits = tandem.iinfo(dtype).bits
    x = tandem.arange(1, 100, dtype=dtype) * 7
    for exponent in (0, 1, 2, 3, 4, 11):
        y = x.pow(exponent)
        assert [v % 2**bits for v in y.tolist()] == [v**exponent % 2**bits for v in x.tolist()]
        assert tandem.pow(x, tandem.full_like(x, exponent)).tolist() == y.tolist()


@pytest.mark.parametrize("dtype", [tandem.uint8, tandem.int8, tandem.int16, tandem.int32, tandem.int64], ids=str)
@pytest.mark.parametrize("most", [0, 7, 15, 16, 255, 70_000, 1 << 62])
def test_integer_powers_by_exponents_of_all_lengths(dtype, most):
    """Bits of exponents that no neighbour has are not looked at."""
    limits = tandem.iinfo(dtype)
    draw = random.Random(most).randrange
    exponents = [min(draw(most + 1) >> draw(63), limits.max) for _ in range(200)] + [min(most, limits.max)]
    bases = [draw(-5, 6) for _ in exponents]
    if limits.min == 0:
        bases = [abs(v) for v in bases]
    else:
        exponents[::9] = [-1 - e % 5 for e in exponents[::9]]

    def power(base, exponent):
        if exponent < 0:
            return base**-exponent if abs(base) == 1 else 0
        return pow(base, exponent, 1 << limits.bits)

    got = tandem.pow(tandem.tensor(bases, dtype=dtype), tandem.tensor(exponents, dtype=dtype))
    want = [power(b, e) for b, e in zip(bases, exponents)]
    assert [v % (1 << limits.bits) for v in got.tolist()] == [v % (1 << limits.bits) for v in want]
    alone = [
        tandem.pow(tandem.tensor([b], dtype=dtype), tandem.tensor([e], dtype=dtype)) for b, e in zip(bases, exponents)
    ]
    assert tandem.cat(alone).tolist() == got.tolist()


def test_every_function_of_the_vector_math_has_a_row():
    folder = Path(__file__).parents[3] / "codegen" / "math"
    names = set()
    for header in folder.glob("*.h"):
        if header.name not in ("builder.h", "common.h"):
            names.update(re.findall(r"^typename B::V ([a-z0-9_]+)\(B&", header.read_text(), re.MULTILINE))
    assert sorted(names - set(FUNCTIONS) - set(PAIRS) - set(ELSEWHERE)) == []
    assert sorted((set(FUNCTIONS) | set(PAIRS) | set(ELSEWHERE)) - names) == []
