"""Elementwise work over many rows of few elements, where an operand does not run on from row to row: the same bits as
over contiguous copies, which are one row."""

from __future__ import annotations

import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem import nn

SHAPES = [
    (1700, 3),
    (2048, 2),
    (900, 5),
    (700, 7),
    (41, 37, 3),
    (3, 500, 4),
    (2, 3, 33, 36, 6),
    (64, 64, 1, 2),
    (33, 200, 2),
]
DTYPES = [tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16, tandem.int64, tandem.uint8, tandem.bool]


def operands(shape, dtype, seed):
    """Tensors of that shape or broadcast to it, each lying in another way."""
    tandem.manual_seed(seed)

    def values(*sizes):
        drawn = tandem.randint(0, 2 if dtype is tandem.bool else 9, sizes)
        return drawn.to(dtype) + 0.25 if dtype.is_floating_point else drawn.to(dtype)

    *outer, rows, length = shape
    return {
        "dense": values(*shape),
        "a number a row": values(*outer, rows, 1),
        "one row": values(length),
        "a row a matrix": values(*outer, 1, length),
        "a matrix": values(rows, length),
        "narrowed": values(*outer, rows, length + 3)[..., 1 : length + 1],
        "every second": values(*outer, rows, 2 * length)[..., ::2],
        "turned": values(*outer, length, rows).transpose(-1, -2),
        "backwards": values(*outer, length, rows).transpose(-1, -2).flip(-2),
        "a number": values(),
    }


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_operations_of_two(shape, dtype, threads):
    given = operands(shape, dtype, 1)
    ops = [tandem.add, tandem.maximum, tandem.eq]
    if dtype.is_floating_point:
        ops += [tandem.div, tandem.pow, lambda x, y: tandem.addcmul(x, x, y, value=0.3)]
    for x in given.values():
        for y in (given["dense"], given["a number a row"], given["one row"]):
            dense = [t.expand(shape).contiguous() for t in (x, y)]
            for op in ops:
                assert op(*(t.expand(shape) for t in (x, y))).equal(op(*dense))


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.bfloat16, tandem.float64], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_fused_programs_and_several_results(shape, dtype, mode, threads):
    def program(a, b, c):
        d = a - b
        return (d * d * c).tanh() + 2.5, d > 0, tandem.where(d > c, d, 1).double(), *d.frexp()

    given = list(operands(shape, dtype, 2).values())
    for k in range(0, len(given) - 2):
        some = [t.expand(shape) for t in given[k : k + 3]]
        wanted = program(*(t.contiguous() for t in some))
        for mine, theirs in zip(run_in(mode, program, *given[k : k + 3]), wanted, strict=True):
            assert_same_bits(mine.expand(shape), theirs)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_that_lie_otherwise(shape, threads):
    """`out=` and writes in place, to columns and to rows with gaps, leave what is beside them."""
    for name in ("dense", "a number a row", "one row", "turned"):
        x = operands(shape, tandem.float32, 3)[name].expand(shape)
        wanted = x.contiguous() * 3
        room = tandem.full((*shape[:-1], shape[-1] + 2), -1.0)
        tandem.mul(x, 3, out=room[..., 1:-1])
        assert room[..., 1:-1].equal(wanted)
        assert (room[..., :: shape[-1] + 1] == -1).all()
        turned = tandem.empty(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2)
        assert tandem.mul(x, 3, out=turned).equal(wanted)
        room[..., 1:-1] += x
        assert room[..., 1:-1].equal(wanted + x)


def test_pairs_of_points_and_their_gradients(mode):
    """Differences of all pairs, distances and their derivatives, as over contiguous copies."""

    def forces(x, contiguous):
        d = x[:, None].expand(-1, len(x), -1) - x[None]
        d = d.contiguous() if contiguous else d
        r = (d * d).sum(-1, keepdim=True) + 0.1
        (g,) = tandem.autograd.grad((d / r).pow(2).sum() + (1 / r).sum(), x, create_graph=True)
        (h,) = tandem.autograd.grad((g * g).sum(), x)
        return g.detach(), h

    for width in (2, 3):
        x = tandem.randn(80, width, dtype=tandem.float64, requires_grad=True)
        for mine, theirs in zip(run_in(mode, lambda x: forces(x, False), x), forces(x, True), strict=True):
            assert mine.allclose(theirs, rtol=1e-12)


def test_normalised_vectors_of_modules():
    x = tandem.randn(3000, 3)
    wanted = tandem.stack([v / v.norm() for v in x[:20]])
    assert nn.functional.normalize(x)[:20].allclose(wanted)
    assert (x / x.norm(dim=1, keepdim=True))[:20].allclose(wanted)
