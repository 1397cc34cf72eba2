"""Kernels that go over a row several times keep what is costly from one pass to the next: in scratch up to 4096
elements a row, computed again beyond. Each of these is compared with the same operations one by one, bit for bit."""

import numpy as np
import pytest
from conftest import assert_same_bits

import tandem
from tandem.nn import functional as F

LENGTHS = [1, 2, 7, 8, 15, 16, 17, 31, 33, 100, 255, 256, 257, 1000, 4095, 4096, 4097, 9001]
DTYPES = ["float32", "float64", "float16", "bfloat16"]


def weighted_spread(x, w):
    """Two costly values of the first pass, taken by a second one and by what is stored."""
    a, b = tandem.special.ndtr(x), tandem.tanh(x * 0.5) * tandem.exp(-x.square())
    off = a - (a * b).mean(-1, keepdim=True)
    return off / (off.square() + b).sum(-1, keepdim=True), a * w, b + off, off.amax(-1)


def in_three_passes(x, w):
    """Each pass starts from what the one before made."""
    y = tandem.exp(tandem.sin(x) * w)
    y = y - y.mean(-1, keepdim=True)
    z = tandem.special.erf(y + tandem.cos(y))
    return tandem.softmax(z * y, -1), z


def norm_gelu_gradient(x, w):
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    y = F.gelu(F.layer_norm(x + 1, (x.shape[-1],), w, w * 0.5))
    return tandem.autograd.grad(y, (x, w), y.detach() * 0.3)


def of_integers(x, w):
    n = (x * 100).to(tandem.int64)
    m = (n * n + 7) // (n.abs() + 3) % 11 - (n // 5) * (n % 3)
    return m - m.amax(-1, keepdim=True), m.sum(-1), m > 0


@pytest.mark.parametrize("function", [weighted_spread, in_three_passes, norm_gelu_gradient, of_integers])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_in_passes_has_the_bits_of_its_steps(function, dtype):
    compiled = tandem.compile(function)
    for length in LENGTHS:
        rows = max(3, min(700, 20_000 // length))
        numbers = np.random.default_rng(length).standard_normal((rows + 1, length))
        values = tandem.tensor(numbers).to(getattr(tandem, dtype))
        for x in (values[:rows], values[:rows].t().contiguous().t()):
            expected, found = function(x, values[rows]), compiled(x, values[rows])
            for one, other in zip(expected, found, strict=True):
                assert_same_bits(other, one)
