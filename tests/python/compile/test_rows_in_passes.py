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


def stored_from_between(x, w):
    """What one pass made of cheap steps is stored at last, when later passes start from what was made of it."""
    first = x * w
    second = first + first.sum(-1, keepdim=True) * 0.7
    third = (second / 37) + (second / 37)
    fourth = (third + third.sum(-1, keepdim=True) * 0.7) * w + 1
    fifth = (fourth + fourth) * w + 1
    sixth = (fifth + fifth.sum(-1, keepdim=True) * 0.7) / 37
    seventh = sixth + sixth
    return second, fourth, (seventh + seventh.sum(-1, keepdim=True) * 0.7) * w + 1, third, sixth


def of_integers(x, w):
    n = (x * 100).to(tandem.int64)
    m = (n * n + 7) // (n.abs() + 3) % 11 - (n // 5) * (n % 3)
    return m - m.amax(-1, keepdim=True), m.sum(-1), m > 0


@pytest.mark.parametrize(
    "function", [weighted_spread, in_three_passes, norm_gelu_gradient, stored_from_between, of_integers]
)
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


def random_rows(seed):
    """A chain of steps and reductions over rows: of the values some are costly, some taken again later, some stored."""

    def function(x, w):
        choose = np.random.default_rng(seed)
        values, uniform = [x, x * w], []

        def pick():
            return values[-1 - min(int(choose.geometric(0.3)) - 1, len(values) - 1)]

        for _ in range(choose.integers(6, 22)):
            a, b = pick(), pick()
            kind = choose.integers(9)
            if kind == 0:
                uniform.append(a.sum(-1, keepdim=True) / 50)
                made = a + uniform[-1]
            elif kind == 1:
                uniform.append(b.amax(-1, keepdim=True))
                made = a - uniform[-1]
            elif kind == 2 and uniform:
                made = a * uniform[int(choose.integers(len(uniform)))]
            elif kind == 3:
                made = tandem.special.ndtr(a)
            elif kind == 4:
                made = tandem.exp(-a.square())
            elif kind == 5:
                made = tandem.tanh(a) * b
            else:
                made = (a + b) * 0.5 if kind == 6 else a * w - b if kind == 7 else a.clamp(-3, 3)
            values.append(made)
        stored = [values[int(i)] for i in choose.integers(2, len(values), choose.integers(1, 4))]
        return [*stored, values[-1], values[-1].sum(-1), *uniform[-1:]]

    return function


@pytest.mark.parametrize("seed", range(60))
def test_random_rows_have_the_bits_of_their_steps(seed):
    function = random_rows(seed)
    compiled = tandem.compile(function)
    dtype = [tandem.float32, tandem.float64, tandem.bfloat16][seed % 3]
    for rows, length in ((40, 3), (600, 5), (20, 16), (9, 40), (5, 300), (2, 5000)):
        numbers = tandem.tensor(np.random.default_rng(seed).standard_normal((rows + 1, length))).to(dtype)
        for expected, found in zip(
            function(numbers[:rows], numbers[rows]), compiled(numbers[:rows], numbers[rows]), strict=True
        ):
            assert_same_bits(found, expected)
