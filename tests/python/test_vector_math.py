"""Elementwise functions against mpmath: at most 2 ULP in float32 and 4 in float64, special values included.

tests/unit/test_vector_math.cpp samples far more inputs, against glibc; this checks the compiled kernels themselves, and
the references of the other test."""

import math
import random
import struct

import pytest

import tandem

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp

INF, NAN = math.inf, math.nan
functional = tandem.nn.functional


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def gelu(x):
    return x / 2 * mp.erfc(-bounded(x) / mp.sqrt(2))


def bounded(x):
    """x where results are over, under or settled beyond: mpmath computes them all."""
    return max(min(x, mp.mpf(10) ** 5), -(mp.mpf(10) ** 5))


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
    "sigmoid": (tandem.sigmoid, sigmoid, 0.0, 1.0),
    "gelu": (functional.gelu, gelu, -0.0, INF),
    "silu": (functional.silu, lambda x: x * sigmoid(bounded(x)), -0.0, INF),
}
SETTLED = ("exp", "exp2", "expm1", "sinh", "cosh", "tanh", "erf", "erfc", "sigmoid")

FORMATS = {"float32": (24, -126, 128, "f", "I"), "float64": (53, -1022, 1024, "d", "Q")}


def samples(dtype, count=400):
    """Half of them over all bit patterns, half of moderate size."""
    digits, _, _, code, word = FORMATS[dtype]
    rng = random.Random(20240607)
    for i in range(count):
        if i % 2:
            (x,) = struct.unpack(code, struct.pack(word, rng.getrandbits(8 * struct.calcsize(word))))
        else:
            x = math.ldexp(rng.getrandbits(digits - 1) + (1 << (digits - 1)), rng.randrange(-14, 10) - digits + 1)
            x *= rng.choice((-1, 1))
        if math.isfinite(x):
            yield x


def ulps(value, exact, dtype):
    digits, low, high, _, _ = FORMATS[dtype]
    if math.isnan(value):
        return INF
    bound = mp.ldexp(1, high)
    magnitude = min(abs(exact), bound)
    if magnitude == 0:
        return 0 if value == 0 else INF
    if math.copysign(1, value) != mp.sign(exact):
        return INF
    _, exponent = mp.frexp(magnitude)
    unit = mp.ldexp(1, max(min(int(exponent) - 1, high - 1), low) - digits + 1)
    return float(min(abs(min(abs(mp.mpf(value)), bound) - magnitude) / unit, 1e9))


@pytest.mark.parametrize("dtype,limit", [("float32", 2), ("float64", 4)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name, dtype, limit):
    function, reference, _, _, *domain = FUNCTIONS[name]
    low, high = (*domain, INF)[:2] if domain else (-INF, INF)
    xs = [x for x in samples(dtype) if low < x < high]
    ys = function(tandem.tensor(xs, dtype=getattr(tandem, dtype))).tolist()
    worst = (0, 0)
    for x, y in zip(xs, ys):
        # sin near a multiple of pi, x - tanh x, 1 - erf: as many digits as may cancel.
        with mpmath.workprec(160 + (1100 if abs(x) > 1e6 or abs(x) < 1e-6 else 0)):
            exact = reference(bounded(mp.mpf(x)) if name in SETTLED else mp.mpf(x))
            worst = max(worst, (ulps(y, exact, dtype), x))
    limit = 3.5 if (name, dtype) == ("gelu", "float32") else limit  # tests/unit/test_vector_math.cpp says why
    assert worst[0] <= limit, f"{name} at {worst[1]!r}: {worst[0]:.3f} ULP"


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_infinities_and_nan(name, dtype):
    function, _, at_minus, at_plus, *_ = FUNCTIONS[name]
    want = tandem.tensor([at_minus, at_plus, NAN], dtype=getattr(tandem, dtype)).tolist()
    got = function(tandem.tensor([-INF, INF, NAN], dtype=getattr(tandem, dtype))).tolist()
    for w, g in zip(want, got):
        assert (math.isnan(w) and math.isnan(g)) or (w == g and math.copysign(1, w) == math.copysign(1, g)), (want, got)
