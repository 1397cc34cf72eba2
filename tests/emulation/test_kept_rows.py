"""Rows that several passes read and that are kept in registers or in shared memory: of lengths around the order's
blocks and around what fits, aligned and not, in every dtype, with what is computed of them carried from pass to pass.
They have the CPU's bits in every mode."""

from __future__ import annotations

from collections.abc import Callable

import devices
import pytest
import stand_ins
from same_bits import assert_same_bits
from test_rows_across import compare

import tandem
from tandem import Tensor
from tandem.nn import functional as F

devices.emulate()

DTYPES = [tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16]
LENGTHS = [1, 33, 256, 257, 1000, 1025, 4096, 4099, 9000]


def passes(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    """Reductions that build on each other, of dear values, with an output of each kind."""
    y = (x - x.mean(-1, keepdim=True)).exp() * w
    z = (y / y.sum(-1, keepdim=True)).sin()
    return z - z.amax(-1, keepdim=True), z.square().sum(-1)


ROWS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "softmax": lambda x, w: x.softmax(-1),
    "log_softmax": lambda x, w: x.log_softmax(-1),
    "layer_norm": lambda x, w: F.layer_norm(x, w.shape, w, w),
    "rms_norm": lambda x, w: F.rms_norm(x, w.shape, w),
    "of gelu": lambda x, w: (F.gelu(x) * w).softmax(-1),
    "passes": passes,
    "one row for all": lambda x, w: w.expand(x.shape).softmax(-1),
    "two inputs": lambda x, w: (x * x.flip(0)).softmax(-1) * w,
    "off a line": lambda x, w: x[..., 1:].softmax(-1),
    "in place": lambda x, w: x.clone().sub_(x.amax(-1, keepdim=True)),
    "logsumexp": lambda x, w: x.logsumexp(-1),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_kept_rows(name, dtype):
    tandem.manual_seed(3)
    for n in LENGTHS if dtype == tandem.float32 else LENGTHS[1:8:2]:
        x, w = tandem.randn(9, n).to(dtype), tandem.randn(n).to(dtype)
        if n > 1:
            x[2, 1] = float("nan")
            x[3] = float("-inf")
        compare(ROWS[name], x, w)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_extremes_that_are_zeros(dtype):
    """Which zero comes first says the sign of the greatest or least element; NaN goes first."""
    tandem.manual_seed(4)
    for n in [1, 2, 40, 256, 300, 4096, 5000, 140000]:
        zeros = tandem.randint(0, 2, (6, n)).to(dtype) * -0.0
        zeros = tandem.where(tandem.rand(6, n) < 0.5, zeros, 0.0 * tandem.ones(n, dtype=dtype))
        x = tandem.where(tandem.rand(6, n) < 0.3, -tandem.rand(6, n).to(dtype), zeros)
        x[1], x[2, n // 2], x[3] = -0.0, float("nan"), float("-inf")
        for rows in (x, -x):
            compare(lambda x, w: (x.amax(-1), x.amin(-1)), rows, x[0])
            compare(lambda x, w: ((m := x.amax(-1, keepdim=True)), x - m, x.exp().sum(-1)), rows, x[0])
            compare(lambda x, w: (x.amax(-1), x * 2), rows, x[0])


@pytest.mark.parametrize("n", [16384, 57000, 60000, 140000])
def test_long_rows(n):
    """The longest that fit, and longer ones, which every pass reads."""
    x, w = tandem.randn(2, n), tandem.randn(n)
    for f in (ROWS["softmax"], ROWS["layer_norm"], passes):
        compare(f, x, w)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1000, 4099])
def test_gradients(n, dtype):
    x, w = tandem.randn(5, n).to(dtype), tandem.randn(n).to(dtype)
    g = tandem.randn(5, n).to(dtype)
    for name in ("softmax", "log_softmax", "layer_norm", "rms_norm", "of gelu"):

        def gradients(x, w, g, f=ROWS[name]):
            x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
            return tuple(t for t in tandem.autograd.grad(f(x, w), (x, w), g, allow_unused=True) if t is not None)

        for a, b in zip(gradients(x.cuda(), w.cuda(), g.cuda()), gradients(x, w, g), strict=True):
            assert_same_bits(a.cpu(), b)


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16], ids=str)
def test_rows_without_room(dtype):
    """Rows of half types that fit, where what is computed of them does not: it is computed again."""
    for n in (38000, 41001, 113000):
        x, w = tandem.randn(3, n).to(dtype), tandem.randn(n).to(dtype)
        x[1, 5], x[2] = float("nan"), float("-inf")
        for name in ("softmax", "log_softmax", "logsumexp"):
            compare(ROWS[name], x, w)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_that_become_one(dtype):
    """A sum of rows, some of them one for all, is carried from pass to pass in the place of one of them."""

    def residual(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        y = x + (x.flip(0) + w).to(tandem.bfloat16)
        return y, F.layer_norm(y.float(), w.shape, w.float(), w.float()).to(x.dtype)

    for n in (7, 256, 300, 768, 4100):
        x, w = tandem.randn(9, n).to(dtype), tandem.randn(n).to(dtype)
        compare(residual, x, w)
        compare(lambda x, w: (x.cos() + x.flip(0) * w).softmax(-1), x, w)


def test_dear_values_are_computed_once(tmp_path):
    """The exponentials of a softmax are carried in the place of the row, or in registers; only the text of rows that
    are not kept has them in two passes."""
    program = "import tandem; tandem.randn(64, 999, device='cuda').softmax(1); tandem.cuda.synchronize()"
    (text,) = (t for f in stand_ins.dumped(tmp_path, program) if "exp_sub" in (t := f.read_text()))
    kept, rest = text.split("if (given != 0")[1].split("  else {\n    for (long long row")
    others, brief = rest.split('extern "C"')
    assert [part.count("1.442695f") for part in (kept, others, brief)] == [1, 2, 1]
