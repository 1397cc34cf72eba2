"""Kernels of rows whose inputs do not lie row by row (transposed matrices, images in channels_last, broadcast weights)
read them in pieces: the bits are those of contiguous copies, without a pass over memory that only copies."""

import itertools

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem.nn import functional as F

SHAPES = [(2, 3, 4, 5), (1, 7, 1, 9), (5, 17, 6, 3), (3, 2, 130, 33), (2, 40, 41, 42), (17, 4, 64, 32)]
DTYPES = ["float32", "float64", "float16", "bfloat16"]


def norms(x, y):
    return tandem.linalg.vector_norm(x), tandem.linalg.vector_norm(x, dim=(1, 2, 3)), x.norm(1, dim=(2, 3))


def spreads(x, y):
    return x.var(), x.std((1, 2, 3)), x.mean((1, 2, 3)), x.nansum()


def losses(x, y):
    return F.mse_loss(x, y), F.l1_loss(x, y), F.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction="sum")


def rows(x, y):
    """What is stored of every element beside what is reduced, and what reads what was reduced."""
    e = (x - x.amax((2, 3), keepdim=True)).exp()
    return e / e.sum((2, 3), keepdim=True), F.layer_norm(x, x.shape[2:], y[0, 0], y[0, 1]), (x + y).logsumexp((1, 2, 3))


def broadcast(x, y):
    """Operands that are the same down a row's first dims, or along its last ones."""
    weight, bias = x[:1, :, :1, :1], y[:1, :1, :, :1]
    return (x * weight + bias).sum((1, 2, 3)), (y * weight).square().mean(), (x.abs() * y[..., :1]).amax()


def choices(x, y):
    n = (x * 50).to(tandem.int32)
    return n.sum((1, 2, 3)), (n > 3).any(), (x.flatten(1) + 1).argmax(1), n.amin((2, 3)), (n * 2).prod(2)


FUNCTIONS = [norms, spreads, losses, rows, broadcast, choices]


def orders(rank):
    """Every order of dims in memory but the logical one."""
    return [order for order in itertools.permutations(range(rank)) if order != tuple(range(rank))]


def lying(x, order):
    """The same tensor with its dims in this order of memory, the innermost last."""
    back = np.argsort(order)
    return x.permute(order).contiguous().permute(tuple(int(d) for d in back))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_order_changes_no_bit(function, dtype, mode):
    for k, shape in enumerate(SHAPES):
        generator = np.random.default_rng(k)
        x, y = (tandem.tensor(generator.standard_normal(shape)).to(getattr(tandem, dtype)) for _ in range(2))
        expected = function(x, y)
        for order in orders(4)[k % 3 :: 3]:
            found = run_in(mode, function, lying(x, order), lying(y, order))
            for one, other in zip(expected, found, strict=True):
                assert_same_bits(other.contiguous(), one.contiguous())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_saved(function, tmp_path):
    """Arguments of programs are contiguous: the function itself has them lie otherwise."""

    def forward(x, y):
        return function(x.permute(0, 3, 1, 2), y.permute(1, 3, 2, 0))

    x, y = tandem.randn(3, 64, 32, 20), tandem.randn(32, 3, 64, 20)
    program = tandem.export.export(forward, (x, y))
    tandem.export.save(program, tmp_path / "forward.tandem")
    for run in (program, tandem.export.load(tmp_path / "forward.tandem")):
        for one, other in zip(forward(x, y), run(x, y), strict=True):
            assert_same_bits(other.contiguous(), one.contiguous())


def test_long_rows_by_any_number_of_threads(threads):
    x, y = tandem.randn(700, 900), tandem.randn(700, 900)
    expected = [*norms(x[None, None], y), *spreads(x[None, None], y), F.mse_loss(x, y)]
    u, v = lying(x, (1, 0)), lying(y, (1, 0))
    found = [*norms(u[None, None], v), *spreads(u[None, None], v), F.mse_loss(u, v)]
    for one, other in zip(expected, found, strict=True):
        assert_same_bits(other, one)


def test_gradients():
    for order in orders(4)[::5]:
        x, y = tandem.randn(3, 5, 16, 33), tandem.randn(3, 5, 16, 33)
        expected = tandem.autograd.grad(F.mse_loss(x.requires_grad_(), y) + x.norm(), x)
        u = lying(x.detach(), order).requires_grad_()
        found = tandem.autograd.grad(F.mse_loss(u, lying(y, order)) + u.norm(), u)
        assert_same_bits(found[0].contiguous(), expected[0])
