"""Operations on arrays that are dense along another dim than the last have the bits of their contiguous copies.

The sizes are such that kernels get them in transposed blocks: whole blocks, and some that end within one.
"""

import contextlib
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from same_bits import assert_same_bits

import tandem as td
from tandem.nn import functional as F

# Shapes in memory, and the order of dims in which they are seen.
LAYOUTS = [
    ((2048, 256), (1, 0)),
    ((129, 517), (1, 0)),
    ((300, 65), (1, 0)),
    ((16, 1024), (1, 0)),
    ((20, 9300), (1, 0)),
    ((33, 40, 70), (0, 2, 1)),
    ((33, 40, 70), (2, 0, 1)),
    ((33, 40, 70), (2, 1, 0)),
    ((64, 48, 80), (2, 1, 0)),
    ((9, 80, 48), (0, 2, 1)),
    ((5, 6, 40, 70), (0, 3, 1, 2)),
    ((5, 6, 40, 70), (3, 0, 2, 1)),
    ((9, 4, 3, 200), (1, 3, 0, 2)),
]

ELEMENTWISE = {
    "exp": lambda x: x.exp(),
    "neg": lambda x: -x,
    "add a number": lambda x: x + 2.5,
    "to double": lambda x: x.double(),
    "is positive": lambda x: x > 0,
    "times itself as it lies": lambda x: x * x.contiguous(),
    "times itself": lambda x: x * x,
    "less than its mirror image": lambda x: x < x.flip(0).movedim(0, 1).contiguous().movedim(1, 0),
    "one or the other": lambda x: td.where(x > 0, x, x * x),
    "times itself plus a row": lambda x: td.addcmul(td.arange(x.shape[-1], dtype=x.dtype), x, x),
    "plus a row": lambda x: x + td.arange(x.shape[-1], dtype=x.dtype),
    "plus a column": lambda x: x * x.select(-1, 0).unsqueeze(-1),
    "gelu": F.gelu,
    "clamp": lambda x: x.clamp(-0.5, 0.5),
}
REDUCTIONS = {
    "sum": lambda x, d: x.sum(d),
    "sum, kept": lambda x, d: x.sum(d, keepdim=True),
    "amax": lambda x, d: x.amax(d),
    "amin": lambda x, d: x.amin(d),
    "prod": lambda x, d: x.prod(d),
    "any": lambda x, d: (x > 2).any(d),
    "mean": lambda x, d: x.mean(d),
    "var": lambda x, d: x.var(d),
    "norm": lambda x, d: x.norm(dim=d),
    "logsumexp": lambda x, d: x.logsumexp(d),
    "softmax": lambda x, d: x.softmax(d),
    "log_softmax": lambda x, d: x.log_softmax(d),
    "sum of squares less the mean": lambda x, d: ((x - x.mean(d, keepdim=True)) ** 2).sum(d),
}


def seen(layout, dtype=td.float32):
    shape, order = layout
    td.manual_seed(len(shape) * 1000 + shape[0])
    return td.randn(*shape).to(dtype).permute(*order)


def named(layout):
    return "x".join(map(str, layout[0])) + " " + "".join(map(str, layout[1]))


def same(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype
    assert td.equal(a, b)


def same_in_every_mode(f, x):
    """Eager, recorded and compiled, f gives of x what it gives of the contiguous copy."""
    expected = f(x.contiguous())
    same(f(x), expected)
    with td.lazy():
        recorded = f(x)
    same(recorded, expected)
    same(td.compile(f)(x), expected)


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("layout", LAYOUTS, ids=named)
def test_elementwise(layout, name):
    same_in_every_mode(ELEMENTWISE[name], seen(layout))


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=named)
def test_reductions_of_each_dim(layout, name):
    x = seen(layout)
    for dim in range(x.dim()):
        same_in_every_mode(lambda t, dim=dim: REDUCTIONS[name](t, dim), x)


@pytest.mark.parametrize("dtype", [td.float32, td.float64, td.bfloat16, td.int64], ids=str)
@pytest.mark.parametrize("length", [*range(1, 34), 63, 65])
def test_short_rows_that_are_far_apart_along_their_length(length, dtype):
    for rows in (40, 600):
        x = (td.arange(length * rows).reshape(length, rows) % 13 - 6).to(dtype).t()
        for f in (lambda t: (t * t).sum(1), lambda t: t.amax(1), lambda t: (t - t.amin(1, keepdim=True)).sum(1)):
            same_in_every_mode(f, x)


@pytest.mark.parametrize("dtype", [td.float32, td.float64, td.float16, td.bfloat16], ids=str)
@pytest.mark.parametrize(
    "layout",
    [
        ((4096, 40), (1, 0)),
        ((8192, 16), (1, 0)),
        ((4097, 150), (1, 0)),
        ((7001, 129), (1, 0)),
        ((3, 4100, 33), (0, 2, 1)),
        ((2, 3, 5001, 20), (1, 0, 3, 2)),
        ((2, 64, 65, 17), (0, 3, 1, 2)),
    ],
    ids=named,
)
def test_rows_of_whole_blocks_side_by_side(layout, dtype):
    x = seen(layout, dtype)
    for dims in (tuple(range(x.dim())), (-2, -1), (-3, -2, -1)[-x.dim() :]):
        same_in_every_mode(lambda t, dims=dims: t.sum(dims), x)
        same_in_every_mode(lambda t, dims=dims: t.mean(dims), x)


def test_columns_that_are_dense_with_others():
    x = seen(((24, 5000), (1, 0)))
    weight, column, row = x.contiguous(), td.randn(5000, 1), td.randn(24)
    same_in_every_mode(lambda t: (t * column + row).sum(0), x)
    same_in_every_mode(lambda t: (t * row - 1).sum(0), x)
    same_in_every_mode(lambda t: (t * weight).sum(0), x)
    with td.lazy():
        total, most = (x * row).sum(0), x.amax(0)
    same(total, (weight * row).sum(0))
    same(most, weight.amax(0))


@pytest.mark.parametrize("layout", [x for x in LAYOUTS if len(x[0]) > 2], ids=named)
def test_reductions_of_several_dims(layout):
    x = seen(layout)
    for dims in [(0, 1), (1, 2), (0, 2), tuple(range(x.dim()))]:
        same_in_every_mode(lambda t, dims=dims: t.sum(dims), x)
        same_in_every_mode(lambda t, dims=dims: t.amax(dims), x)
        same_in_every_mode(lambda t, dims=dims: t.var(dims), x)
        same_in_every_mode(lambda t, dims=dims: t.logsumexp(dims), x)
        same_in_every_mode(lambda t, dims=dims: td.linalg.vector_norm(t, dim=dims), x)


# Sizes at which arrays are reduced in pieces, in blocks, by columns of every order, and in the order of the memory.
PERMUTED = [
    (37, 64, 129),
    (3, 5, 70, 300),
    (8, 1024, 65),
    (32, 64, 64, 5),
    (2049, 130),
    (5, 2, 3, 1100, 9),
    (5, 1, 1100, 65),
]
PER_DTYPE = {
    td.float32: ["sum", "amax", "amin"],
    td.float64: ["sum", "prod"],
    td.float16: ["sum", "amin"],
    td.int64: ["sum", "amax"],
    td.bool: ["sum", "any", "all"],
}


@pytest.mark.parametrize("dtype", PER_DTYPE, ids=str)
@pytest.mark.parametrize("shape", PERMUTED, ids=lambda s: "x".join(map(str, s)))
def test_every_permutation_and_every_subset_of_dims(shape, dtype):
    td.manual_seed(sum(shape))
    base = td.randn(*shape) * 3
    # Zeros of both signs, of which a maximum is the one met first.
    base = td.where(base.abs() < 0.5, base * 0, base)
    base = base > 6 if dtype is td.bool else base.to(dtype)
    cases = [
        (order, dims)
        for order in itertools.permutations(range(len(shape)))
        for count in range(1, len(shape) + 1)
        for dims in itertools.combinations(range(len(shape)), count)
    ]
    for at, (order, dims) in enumerate(cases):
        if len(shape) > 4 and at % 7:
            continue
        whole = base.permute(*order)
        for x in (whole, whole[..., 1:]) if dtype is td.float32 and whole.shape[-1] > 1 else (whole,):
            for name in PER_DTYPE[dtype]:
                if name == "prod" and len(dims) > 1:
                    continue

                def reduced(t, name=name, dims=dims):
                    return getattr(t, name)(dims[0] if name == "prod" else dims)

                mine, expected = reduced(x).numpy(), reduced(x.contiguous()).numpy()
                assert mine.dtype == expected.dtype and mine.tobytes() == expected.tobytes(), (order, dims, name)
        if dtype in (td.int64, td.bool):
            np.testing.assert_array_equal(whole.sum(dims).numpy(), whole.numpy().sum(dims, dtype=np.int64))
        elif dtype is td.float64:
            np.testing.assert_allclose(whole.sum(dims).numpy(), whole.numpy().sum(dims), rtol=1e-10, atol=1e-9)


# Shapes in memory whose dense dim has blocks of either order behind it, or whole parts of one: of whole vectors of the
# dim, and of others, all of which end or begin in those before.
BLOCKS = [(2048, 128), (32, 32, 64), (64, 64, 72), (4, 1024, 20), (3, 4096, 24), (2, 2, 1024, 16), (3, 5, 30, 64)]
WHOLE_BLOCKS = """
import hashlib, itertools, os
import tandem as td

def reduced(dtype, threads):
    td.manual_seed(7)
    td.set_num_threads(threads)
    for shape in SHAPES:
        base = (td.randn(*shape) * 3).to(dtype)
        for order in itertools.permutations(range(len(shape))):
            for x in (base.permute(*order), base.permute(*order)[..., 1:], base.permute(*order)[::2]):
                for count in range(1, len(shape) + 1):
                    for dims in itertools.combinations(range(len(shape)), count):
                        for name in ("sum", "mean", "prod") if dtype is td.float64 else ("sum", "mean"):
                            if name == "prod" and count > 1:
                                continue
                            run = getattr(td, name)
                            dims = dims[0] if name == "prod" else dims
                            yield (shape, order, dims, name), run(x, dims), run(x.contiguous(), dims)

def check(dtype, threads):
    digest = hashlib.sha256()
    for what, mine, expected in reduced(dtype, threads):
        mine, expected = (t.float().numpy() if t.dtype is td.bfloat16 else t.numpy() for t in (mine, expected))
        assert mine.tobytes() == expected.tobytes(), (dtype, threads, *what)
        digest.update(mine.tobytes())
    return digest.hexdigest()
"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_blocks_of_what_lies_side_by_side(dtype):
    program = f"SHAPES = {BLOCKS}\n{WHOLE_BLOCKS}"
    program += f"print(*[check(td.{dtype}, threads) for threads in (1, 2)])"
    digests = set()
    for isa in ("", "x86-64-v3"):
        environment = {**os.environ, **({"TANDEM_ISA": isa} if isa else {})}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        digests |= set(done.stdout.split())
    assert len(digests) == 1


@pytest.mark.parametrize("shape", BLOCKS, ids=lambda s: "x".join(map(str, s)))
def test_blocks_in_every_mode(shape):
    base = td.randn(*shape)
    for order in [tuple(reversed(range(len(shape)))), (*range(1, len(shape)), 0)]:
        x = base.permute(*order)
        for dims in [(0,), (0, 1), tuple(range(x.dim() - 1)), tuple(range(x.dim()))]:
            same_in_every_mode(lambda t, dims=dims: t.sum(dims), x)


def test_columns_whose_results_lie_in_another_order():
    x = td.randn(30, 6, 8, 40, 5).permute(2, 1, 3, 0, 4)
    for dims in [(0, 2, 3), (0, 2, 3, 4), (2, 3), (1, 3)]:
        same_in_every_mode(lambda t, dims=dims: t.sum(dims), x)


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_many_dims(seed):
    chance = np.random.default_rng(seed)
    for _ in range(60):
        rank = chance.integers(4, 9)
        shape = np.ones(rank, dtype=int)
        for _ in range(8):
            d = chance.integers(rank)
            if shape.prod() < 40_000:
                shape[d] *= chance.choice([2, 3, 4, 5, 16])
        base = td.randn(*map(int, shape))
        x = base.permute(*map(int, chance.permutation(rank)))
        if chance.random() < 0.3 and x.shape[0] > 2:
            x = x[1:-1]
        for _ in range(4):
            dims = tuple(map(int, sorted(chance.choice(rank, chance.integers(1, rank + 1), replace=False))))
            for name in ("sum", "prod", "amax"):
                run = getattr(td, name)
                if name == "prod" and len(dims) > 1:
                    continue
                run = (lambda t, dims: td.prod(t, dims[0])) if name == "prod" else run
                mine, expected = run(x, dims).numpy(), run(x.contiguous(), dims).numpy()
                assert mine.tobytes() == expected.tobytes(), (x.shape, x.stride(), dims, name)


def test_maxima_of_zeros_of_both_signs():
    base = td.full((64, 300), -1.0)
    base[3, 7], base[5, 2] = -0.0, 0.0
    for x in (base, base.t(), -base.t()):
        for dims in ((0,), (1,), (0, 1)):
            for name in ("amax", "amin"):
                a, b = getattr(x, name)(dims), getattr(x.contiguous(), name)(dims)
                assert a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("dtype", [td.float32, td.float64, td.int64, td.uint8, td.float16], ids=str)
def test_written_to_rows_that_lie_apart(dtype):
    for layout in LAYOUTS:
        x = (seen(layout) * 9).abs().to(dtype)
        y = (x + 1).permute(*np.argsort(layout[1])).contiguous().permute(*layout[1])
        room = td.zeros(*x.shape[:-1], x.shape[-1] + 3, dtype=dtype)
        td.mul(x, y, out=room[..., 1:-2])
        same(room[..., 1:-2], x.contiguous() * y.contiguous())
        assert not room[..., 0].any() and not room[..., -2:].any()


IN_PLACE = {
    "clamp_": lambda x, y: x.clamp_(-0.5, 0.5),
    "clamp_ by tensors": lambda x, y: x.clamp_(y - 1, y + 1),
    "hardtanh_": lambda x, y: F.hardtanh_(x),
    "lerp_": lambda x, y: x.lerp_(y, 0.25),
    "lerp_ by itself": lambda x, y: x.lerp_(x * 2, 0.25),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=2),
    "addcdiv_": lambda x, y: x.addcdiv_(y, y * y + 1),
    "leaky_relu_": lambda x, y: F.leaky_relu_(x, 0.1),
    "sigmoid_": lambda x, y: x.sigmoid_(),
    "masked_fill_": lambda x, y: x.masked_fill_(y > 0, 2),
    "copy_ of what is computed": lambda x, y: x.copy_((y.exp() + x).tanh()),
}
PARTS = {
    "whole": lambda x: x,
    "rows": lambda x: x[1:],
    "every other": lambda x: x[..., ::2],
    "within": lambda x: x[1:-1, ..., 1:-1],
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("dtype", [td.float32, td.bfloat16], ids=str)
def test_in_place_of_parts(name, dtype):
    for layout in LAYOUTS[:3] + LAYOUTS[4:10]:
        for part in PARTS.values():
            for mode in ("eager", "lazy", "compiled"):
                x, dense = seen(layout, dtype).clone(), seen(layout, dtype).contiguous()
                y = td.randn(*dense.shape).to(dtype)
                write = IN_PLACE[name]
                write(part(dense), part(y))
                if mode == "compiled":
                    td.compile(lambda x, y, part=part, write=write: write(part(x), part(y)))(x, y)
                elif mode == "lazy":
                    with td.lazy():
                        write(part(x), part(y))
                else:
                    write(part(x), part(y))
                same(x.contiguous(), dense)


@pytest.mark.parametrize("dtype", [td.float64, td.float16, td.bfloat16, td.int64, td.int32, td.uint8, td.bool], ids=str)
def test_dtypes(dtype):
    for layout in LAYOUTS[1], LAYOUTS[5]:
        x = seen(layout, dtype)
        for dim in range(x.dim()):
            same(x.sum(dim), x.contiguous().sum(dim))
            same(x.amax(dim), x.contiguous().amax(dim))
        same(x + x, x.contiguous() + x.contiguous())
        same(td.compile(lambda t: (t + t).sum(0))(x), (x.contiguous() + x.contiguous()).sum(0))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_matter(threads):
    before = td.get_num_threads()
    try:
        td.set_num_threads(threads)
        for layout in LAYOUTS:
            x = seen(layout)
            for dim in range(x.dim()):
                same(x.sum(dim), x.contiguous().sum(dim))
            same(F.layer_norm(x, x.shape[-1:]), F.layer_norm(x.contiguous(), x.shape[-1:]))
    finally:
        td.set_num_threads(before)


def test_longer_than_a_block_of_scratch():
    for shape in [(20000, 70), (70, 20000), (9, 40000), (40000, 9)]:
        x = td.randn(*shape).t()
        for dim in (0, 1):
            same(x.sum(dim), x.contiguous().sum(dim))
            same(x.softmax(dim), x.contiguous().softmax(dim))
            same(td.compile(lambda t, dim=dim: t.exp().sum(dim))(x), x.contiguous().exp().sum(dim))


def test_few_long_rows_keep_their_order():
    for shape, order in [((70000, 3, 4), (2, 1, 0)), ((70000, 2, 3, 2), (3, 1, 2, 0)), ((40000, 20, 3), (1, 2, 0))]:
        x = seen((shape, order))
        for dim in range(x.dim()):
            same_in_every_mode(lambda t, dim=dim: t.sum(dim), x)
            same_in_every_mode(lambda t, dim=dim: (t * 2).amax(dim), x)
            same_in_every_mode(lambda t, dim=dim: t.mean(dim, keepdim=True) - t, x)


def test_some_of_the_elements():
    base = td.randn(600, 900)
    for x in (base[::2, 3:700].t(), base.t()[5:, ::3], base.t()[::2], base[:, 1:2].expand(600, 400).t()):
        for dim in (0, 1):
            same(x.sum(dim), x.contiguous().sum(dim))
        same(x.exp(), x.contiguous().exp())
        same(td.compile(lambda t: t.exp().sum(1) + t.sum(1))(x), x.contiguous().exp().sum(1) + x.contiguous().sum(1))


def test_written_through():
    base = td.randn(300, 500)
    x = base.t()
    other = td.randn(500, 300)
    expected = (x + other * 2).contiguous()
    x.add_(other, alpha=2)
    same(base.t().contiguous(), expected)
    out = td.empty(300, 500).t()
    td.mul(x, other, out=out)
    same(out.contiguous(), expected * other)
    # A square one plus its own transpose would read what it wrote.
    square = td.randn(256, 256)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        square += square.t()
    expected = square + square.t().contiguous()
    square += square.t().clone()
    same(square, expected)


def test_gradients():
    for layout in LAYOUTS[:2] + LAYOUTS[4:6]:
        leaf = td.randn(*layout[0], dtype=td.float64, requires_grad=True)
        loss = (leaf.permute(*layout[1]).softmax(-1).sum(0) ** 2).sum()
        (mine,) = td.autograd.grad(loss, leaf)
        again = leaf.detach().permute(*layout[1]).contiguous().requires_grad_()
        (dense,) = td.autograd.grad((again.softmax(-1).sum(0) ** 2).sum(), again)
        same(mine.permute(*layout[1]).contiguous(), dense)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
def test_copies_of_every_small_shape(dtype):
    sizes = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 130]
    for rows, columns in itertools.product(sizes, sizes):
        x = np.arange(rows * columns).reshape(rows, columns).astype(dtype)
        np.testing.assert_array_equal(td.tensor(x).t().contiguous().numpy(), x.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("mode", ["eager", "lazy", "compile"])
def test_gradients_of_a_weight_by_a_batch_in_another_order(dtype, mode):
    """One product with the rows of all examples, as of a batch whose rows lie so: the sum has its bits, and no example
    gets a gradient of its own."""
    x = td.from_numpy(np.random.default_rng(0).standard_normal((7, 5, 33))).to(getattr(td, dtype))
    weight = td.from_numpy(np.random.default_rng(1).standard_normal((24, 33))).to(x.dtype).requires_grad_()
    bias = td.zeros(24, dtype=x.dtype, requires_grad=True)

    def gradients(x):
        y = F.linear(x, weight, bias)
        return y, *td.autograd.grad(y, (weight, bias), td.cos(y.detach()))

    apart = x.transpose(0, 1)
    call = td.compile(gradients) if mode == "compile" else gradients
    with td.lazy() if mode == "lazy" else contextlib.nullcontext():
        got = call(apart)
    for mine, theirs in zip(got, gradients(apart.contiguous()), strict=True):
        assert td.equal(mine, theirs)


def test_memory_of_the_gradient_of_a_weight_by_a_batch_in_another_order():
    x, weight = td.ones(8, 64, 256).transpose(0, 1), td.ones(512, 256, requires_grad=True)
    y = F.linear(x, weight)
    before = td.counters()["bytes_allocated"]
    y.backward(td.ones_like(y))
    assert td.counters()["bytes_allocated"] - before < 20 * weight.numel() * 4


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_copies_of_transposes_have_every_element_in_its_place(dtype):
    """Whatever is left of the bands and blocks in which they are made."""
    for rows, columns in (
        (17, 64),
        (23, 25),
        (24, 24),
        (25, 23),
        (47, 130),
        (64, 17),
        (65, 49),
        (100, 300),
        (257, 2048),
    ):
        x = np.arange(rows * columns).astype(dtype).reshape(rows, columns)
        whole = td.from_numpy(np.pad(x, ((0, 0), (3, 2))))
        for seen in (td.from_numpy(x), whole[:, 3:-2]):
            assert np.array_equal(np.asarray(seen.t().contiguous()), x.T), (rows, columns)
            into = td.zeros(columns, rows + 5, dtype=getattr(td, dtype))
            into[:, 1 : rows + 1] = seen.t()
            assert np.array_equal(np.asarray(into), np.pad(x.T, ((0, 0), (1, 4)))), (rows, columns)


@pytest.mark.parametrize("dtype", [td.float32, td.bfloat16], ids=str)
@pytest.mark.parametrize(("rows", "width", "columns"), [(1, 192, 3), (1, 20, 1), (4, 32, 16), (5, 70, 40)])
def test_rows_of_a_batch_have_the_same_bits_however_they_lie(dtype, rows, width, columns):
    """As one product, or one of each example: with a gradient, where they are dense, and where they are not."""
    weight = td.randn(columns, width).to(dtype)
    x = td.randn(6, 2 * rows, width).to(dtype)[:, :rows]
    want = F.linear(x.contiguous(), weight)
    assert_same_bits(F.linear(x, weight), want)
    assert_same_bits(F.linear(x, weight.clone().requires_grad_()).detach(), want)
    assert_same_bits(F.linear(x.mT.contiguous().mT, weight), want)


@pytest.mark.parametrize("dtype", [td.float32, td.float64, td.bfloat16], ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 70])
def test_many_tiny_products(dtype, rows, threads):
    """Each has the bits of a product by itself, however matrices and batches lie, one matrix for all among them."""
    for columns, width in itertools.product((1, 2, 3, 4, 5), repeat=2):
        a, b = td.randn(2, 41, rows, width).to(dtype), td.randn(2, 41, width, columns).to(dtype)
        if rows == columns == 1:
            continue
        want = td.stack([td.stack([x @ y for x, y in zip(*pair, strict=True)]) for pair in zip(a, b, strict=True)])
        exact = a.double() @ b.double()
        assert (want.double() - exact).abs().max() <= {2: 2e-2, 4: 1e-5, 8: 1e-14}[a.element_size()] * 5
        assert_same_bits(a @ b, want)
        assert_same_bits(a.mT.contiguous().mT @ b.transpose(0, 1).contiguous().transpose(0, 1), want)
        assert_same_bits(td.cat([a, a], -1)[..., :width] @ b.mT.contiguous().mT, want)
        assert_same_bits(a[:, ::2] @ b[:, ::2], want[:, ::2])
        shared = td.stack([td.stack([x @ b[0, 0] for x in some]) for some in a])
        assert_same_bits(a @ b[0, 0].expand(2, 41, width, columns), shared)


WHOLE = {
    "gcd": lambda x: x.gcd(x),
    "gcd with a row-major one": lambda x: x.gcd(x.contiguous()),
    "lcm": lambda x: x.lcm(td.tensor(4)),
    "nan_to_num": lambda x: x.nan_to_num(),
    "isposinf": lambda x: x.isposinf(),
    "isneginf": lambda x: x.isneginf(),
    "isreal": lambda x: x.isreal(),
    "fill": lambda x: td.fill(x, 3),
    "fill with a tensor": lambda x: td.fill(x, td.tensor(3)),
    "nan_to_num of bools": lambda x: (x > 3).nan_to_num(),
    "igamma": lambda x: td.igamma(x.float(), x.float()),
    "igammac": lambda x: td.igammac(x.double(), td.tensor(2.0).double()),
    "zeta": lambda x: td.special.zeta(2.5, x.float()),
    "polygamma": lambda x: td.polygamma(2, x.float()),
    "chebyshev_polynomial_t": lambda x: td.special.chebyshev_polynomial_t(x.float(), 3),
    "hermite_polynomial_h": lambda x: td.special.hermite_polynomial_h(x.double(), x % 4),
    "legendre_polynomial_p": lambda x: td.special.legendre_polynomial_p(x.float() / 99, x.float()),
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("lazy", [False, True])
def test_elementwise_results_lie_as_their_operands(name, lazy):
    for x in (td.arange(1, 13).reshape(3, 4).t(), td.arange(1, 121).reshape(2, 3, 4, 5).permute(0, 3, 1, 2)):
        with td.lazy() if lazy else contextlib.nullcontext():
            found = WHOLE[name](x)
        assert found.stride() == x.stride()
        assert_same_bits(found.contiguous(), WHOLE[name](x.contiguous()).contiguous())


def test_gradients_of_what_lies_as_its_operands():
    x = (td.rand(3, 4, dtype=td.float64) + 1).t().requires_grad_()
    y = (x.detach().contiguous()).requires_grad_()
    for f in (lambda x: td.igamma(x, x * 2), lambda x: td.special.zeta(2.5, x), lambda x: td.polygamma(2, x)):
        want, found = td.autograd.grad(f(y).sum(), y)[0], td.autograd.grad(f(x).sum(), x)[0]
        assert_same_bits(found.contiguous(), want.contiguous())
