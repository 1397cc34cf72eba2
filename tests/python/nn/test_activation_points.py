# ruff: noqa: E501  (one function a line)
"""Activations and their first derivatives at infinities, NaN and zeros are PyTorch 2.13's, in every floating dtype."""

from __future__ import annotations

import math
import re

import pytest
from conftest import run_in

import tandem
from tandem.nn import functional as F

POINTS = [-math.inf, math.inf, math.nan, -0.0, 0.0]

# What PyTorch gives at these, and its derivatives.
# fmt: off
ACTIVATIONS = {
    "relu": ("0.0 inf nan -0.0 0.0", "0.0 1.0 1.0 0.0 0.0"),
    "relu6": ("0.0 6.0 nan -0.0 0.0", "0.0 0.0 1.0 0.0 0.0"),
    "gelu": ("nan inf nan -0.0 0.0", "nan nan nan 0.5 0.5"),
    "silu": ("nan inf nan -0.0 0.0", "nan nan nan 0.5 0.5"),
    "mish": ("nan inf nan -0.0 0.0", "nan nan nan 0.6 0.6"),
    "elu": ("-1.0 inf nan -0.0 0.0", "0.0 1.0 1.0 1.0 1.0"),
    "selu": ("-1.758099 inf nan -0.0 0.0", "0.0 1.050701 1.050701 1.758099 1.758099"),
    "celu": ("-1.0 inf nan -0.0 0.0", "0.0 1.0 1.0 1.0 1.0"),
    "leaky_relu": ("-inf inf nan -0.0 0.0", "0.01 1.0 0.01 0.01 0.01"),
    "hardtanh": ("-1.0 1.0 nan -0.0 0.0", "0.0 0.0 1.0 1.0 1.0"),
    "hardswish": ("nan inf nan -0.0 0.0", "0.0 1.0 1.0 0.5 0.5"),
    "hardsigmoid": ("0.0 1.0 nan 0.5 0.5", "0.0 0.0 0.0 0.1666667 0.1666667"),
    "hardshrink": ("-inf inf nan 0.0 0.0", "1.0 1.0 1.0 0.0 0.0"),
    "softshrink": ("-inf inf nan -0.0 0.0", "1.0 1.0 1.0 0.0 0.0"),
    "tanhshrink": ("-inf inf nan 0.0 0.0", "1.0 1.0 nan 0.0 0.0"),
    "softsign": ("nan nan nan -0.0 0.0", "nan nan nan 1.0 1.0"),
    "softplus": ("0.0 inf nan 0.6931472 0.6931472", "0.0 1.0 nan 0.5 0.5"),
    "logsigmoid": ("-inf 0.0 nan -0.6931472 -0.6931472", "1.0 0.0 nan 0.5 0.5"),
    "sigmoid": ("0.0 1.0 nan 0.5 0.5", "0.0 0.0 nan 0.25 0.25"),
    "tanh": ("-1.0 1.0 nan -0.0 0.0", "0.0 0.0 nan 1.0 1.0"),
    "gelu(approximate='tanh')": ("nan inf nan -0.0 0.0", "nan nan nan 0.5 0.5"),
    "threshold(threshold=0.0, value=5.0)": ("5.0 inf nan 5.0 5.0", "0.0 1.0 1.0 0.0 0.0"),
    "hardtanh(min_val=0.0, max_val=6.0)": ("0.0 6.0 nan -0.0 0.0", "0.0 0.0 1.0 0.0 0.0"),
    "leaky_relu(negative_slope=0.0)": ("nan inf nan -0.0 0.0", "0.0 1.0 0.0 0.0 0.0"),
    "softplus(beta=2.0, threshold=1.0)": ("0.0 inf nan 0.3465736 0.3465736", "0.0 1.0 nan 0.5 0.5"),
    "celu(alpha=2.0)": ("-2.0 inf nan -0.0 0.0", "0.0 1.0 1.0 1.0 1.0"),
    "elu(alpha=0.5)": ("-0.5 inf nan -0.0 0.0", "0.0 1.0 1.0 0.5 0.5"),
    "softmax(dim=0)": ("nan nan nan nan nan", "nan nan nan nan nan"),
    "hardshrink(lambd=0.0)": ("-inf inf nan 0.0 0.0", "1.0 1.0 1.0 0.0 0.0"),
    "softshrink(lambd=0.0)": ("-inf inf nan -0.0 0.0", "1.0 1.0 1.0 0.0 0.0"),
}
# fmt: on

# Limits, where PyTorch multiplies infinity and 0, and the sign of a number that is too small (docs/differences.md).
LIMITS = {"gelu": (0, -0.0), "silu": (0, -0.0), "logsigmoid": (1, -0.0)}
# PyTorch's slope at NaN is 0 for whole vectors and the number above for the elements after them.
AS_IN_VECTORS = {"relu6", "hardtanh", "hardshrink", "softshrink"}


def numbers(text):
    return [float(word) for word in text.split()]


def assert_like(got, expected, dtype):
    close = {tandem.float64: 1e-6, tandem.float32: 1e-6, tandem.float16: 2e-3, tandem.bfloat16: 1e-2}[dtype]
    for x, a, b in zip(POINTS, got.tolist(), expected, strict=True):
        if math.isnan(b):
            assert math.isnan(a), (x, a, b)
        else:
            assert math.isclose(a, b, rel_tol=close) and math.copysign(1, a) == math.copysign(1, b), (x, a, b)


@pytest.mark.parametrize("dtype", [tandem.float64, tandem.float32, tandem.float16, tandem.bfloat16], ids=str)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name, dtype, mode):
    function, arguments = re.fullmatch(r"(\w+)(?:\((.*)\))?", name).groups()
    keywords = eval(f"dict({arguments or ''})")
    values, slopes = (numbers(text) for text in ACTIVATIONS[name])
    if name in LIMITS:
        at, limit = LIMITS[name]
        values[at] = limit
    if function in AS_IN_VECTORS:
        slopes[2] = 0.0

    def f(x):
        y = getattr(F, function)(x, **keywords)
        return y.detach(), *tandem.autograd.grad(y, x, tandem.ones_like(y))

    x = tandem.tensor(POINTS, dtype=dtype, requires_grad=True)
    y, g = run_in(mode, f, x)
    assert_like(y, values, dtype)
    assert_like(g, slopes, dtype)


def test_second_derivatives_of_prelu_at_zero(mode):
    """PyTorch's gradient takes the slope there, and the gradient of that gradient takes 1."""
    double = {"dtype": tandem.float64}

    def run(x, slope, g):
        first = tandem.autograd.grad(F.prelu(x, slope), (x, slope), g, create_graph=True)
        return (*first, *tandem.autograd.grad(first, (x, slope, g), (tandem.ones_like(x), slope.detach() * 12)))

    x, slope, g = tandem.tensor([0.0, -1.0, 2.0, -0.0], **double), tandem.tensor([0.25], **double), [1.0, 2.0, 3.0, 4.0]
    given = [t.requires_grad_() for t in (x, slope, tandem.tensor(g, **double))]
    want = [0.25, 0.5, 3.0, 1.0], [-2.0], [0.0, 6.0, 0.0, 0.0], [2.0], [1.0, -2.75, 1.0, 1.0]
    assert [t.tolist() for t in run_in(mode, run, *given)] == list(want)
