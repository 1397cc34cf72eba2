"""Reductions, scans and products of vectors over shapes that are walked in different ways."""

import functools
import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import assert_same_bits

import tandem

RNG = np.random.default_rng(0)
SHAPES = [(1, 1), (5, 3), (33, 65), (7, 4100), (4100, 7), (3, 5, 2), (2, 300, 70), (70, 2, 9)]


def array(shape, dtype):
    x = RNG.integers(-4, 5, size=shape).astype(dtype) if np.dtype(dtype).kind != "f" else RNG.normal(size=shape)
    return np.abs(x).astype(dtype) if dtype == "uint8" else x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_extreme_values_and_their_places(shape, dtype):
    x = array(shape, dtype)
    if x.dtype.kind == "f" and x.size > 4:
        x[RNG.random(shape) < 2 / x.size] = np.nan
        x[RNG.random(shape) < 0.1] = -np.inf
    for dim in range(x.ndim):
        for name in ("max", "min"):
            values, places = getattr(tandem, name)(tandem.tensor(x), dim)
            np.testing.assert_array_equal(places.numpy(), getattr(np, "arg" + name)(x, axis=dim))
            np.testing.assert_array_equal(values.numpy(), getattr(np, name)(x, axis=dim))
    if dtype != "bool":
        assert int(tandem.argmax(tandem.tensor(x))) == np.argmax(x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(65, 2), (130, 3), (64, 16), (5, 17), (3, 5000), (40, 1), (9, 4, 70)], ids=str)
def test_places_of_extreme_half_numbers(shape, dtype):
    """Zeros of both signs are equal, infinities are numbers, the first NaN of either sign wins."""
    x = RNG.integers(-2, 3, size=shape).astype("float32")
    special = RNG.random(shape)
    for part, value in enumerate((-0.0, np.inf, -np.inf, np.nan, -np.nan)):
        x[(special > part * 0.01) & (special < (part + 1) * 0.01)] = value
    half = tandem.tensor(x).to(getattr(tandem, dtype))
    for dim in range(x.ndim):
        for name in ("max", "min"):
            values, places = getattr(half, name)(dim)
            want = getattr(np, "arg" + name)(x, axis=dim)
            np.testing.assert_array_equal(places.numpy(), want)
            np.testing.assert_array_equal(getattr(half, "arg" + name)(dim).numpy(), want)
            taken = np.take_along_axis(x, np.expand_dims(want, dim), dim).squeeze(dim)
            np.testing.assert_array_equal(values.float().numpy(), taken)
            np.testing.assert_array_equal(np.signbit(values.float().numpy()), np.signbit(taken))
    assert int(half.argmax()) == np.argmax(x) and int(half.argmin()) == np.argmin(x)


@pytest.mark.parametrize("size", [0, 1, 500, 513, 300_000, 600_000])
def test_equal_looks_at_all_elements(size):
    x = tandem.arange(size) % 5
    assert x.equal(x.clone()) and x.equal(x) and not x.equal(x[:-1] if size else tandem.zeros(1))
    for place in {0, size // 3, size - 1} if size else ():
        y = x.clone()
        y[place] = 7
        assert not x.equal(y) and not y.view(-1, 1).equal(x.view(-1, 1)) and y.equal(y)
        with tandem.lazy():
            assert not (x + 1).equal(y + 1) and (y + 1).equal(y + 1)
    nan = tandem.full((size,), float("nan"))
    assert nan.equal(nan) == (size == 0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scans(shape):
    x = array(shape, "float32")
    for dim in range(x.ndim):
        exact = np.cumsum(x, axis=dim, dtype=np.float64).astype(np.float32)
        np.testing.assert_array_equal(tandem.cumsum(tandem.tensor(x), dim).numpy(), exact)
        transposed = tandem.tensor(np.ascontiguousarray(x.T)).permute(*reversed(range(x.ndim)))
        np.testing.assert_array_equal(tandem.cumsum(transposed, dim).numpy(), exact)
        values, places = tandem.cummin(tandem.tensor(x), dim)
        np.testing.assert_array_equal(values.numpy(), np.minimum.accumulate(x, axis=dim))
        np.testing.assert_array_equal(np.take_along_axis(x, places.numpy(), axis=dim), values.numpy())


def test_a_long_sum_of_floats_keeps_its_digits():
    total = tandem.cumsum(tandem.full((1 << 20,), 0.1), 0)[-1]
    assert float(total) == pytest.approx(0.1 * (1 << 20), rel=1e-6)


@pytest.mark.parametrize("dim", [0, 1])
def test_any_and_all_of_bytes_are_bytes(dim):
    x = np.array([[1, 0, 7], [0, 0, 3]], dtype=np.uint8)
    for name in ("any", "all"):
        got = getattr(tandem, name)(tandem.tensor(x), dim)
        assert got.dtype == tandem.uint8
        np.testing.assert_array_equal(got.numpy(), getattr(np, name)(x, axis=dim).astype(np.uint8))


@pytest.mark.parametrize("k", [1, 31, 32, 129, 4096, 9001])
@pytest.mark.parametrize("n", [1, 3, 130])
def test_a_vector_times_a_matrix_has_the_same_bits_whichever_way_it_lies(n, k):
    vector, matrix = array((k,), "float32"), array((k, n), "float32")
    layouts = [tandem.tensor(matrix), tandem.tensor(np.ascontiguousarray(matrix.T)).t()]
    layouts.append(tandem.tensor(np.repeat(matrix, 2, axis=1))[:, ::2])
    results = []
    threads = tandem.get_num_threads()
    try:
        for count in (1, 3):
            tandem.set_num_threads(count)
            for m in layouts:
                v = tandem.tensor(np.repeat(vector, 2))[::2]
                results += [tandem.matmul(v, m).numpy(), tandem.mv(m.t(), v).numpy()]
    finally:
        tandem.set_num_threads(threads)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    exact = vector.astype(np.float64) @ matrix.astype(np.float64)
    np.testing.assert_allclose(results[0], exact, atol=2e-6 * k**0.5, rtol=1e-5)
    if n == 1:
        assert float(tandem.dot(tandem.tensor(vector), tandem.tensor(matrix[:, 0]))) == results[0][0]


@pytest.mark.parametrize("shape", list(itertools.product((0, 2), repeat=3)), ids=str)
@pytest.mark.parametrize("scan", ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"])
def test_scans_of_empty_arrays(scan, shape):
    for dim in range(3):
        x = tandem.zeros(*shape, requires_grad=True)
        result = getattr(x, scan)(dim)
        values = result if isinstance(result, tandem.Tensor) else result[0]
        values.sum().backward()
        assert values.shape == x.grad.shape == tandem.Size(shape)


def by_lanes(rows, combine, identity):
    """What a reduction of the last dim means up to 4096 elements: 32 lanes, combined by halving."""
    lanes = np.full((len(rows), 32), identity, rows.dtype)
    for i in range(rows.shape[1]):
        lanes[:, i % 32] = combine(lanes[:, i % 32], rows[:, i])
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = combine(lanes[:, :half], lanes[:, half:])
    return lanes[:, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count, length", [(300, n) for n in range(2, 41)] + [(9001, n) for n in range(2, 10)])
def test_short_rows_have_the_order_of_long_ones(count, length, dtype):
    x = RNG.normal(size=(count, length)).astype(dtype)
    rows = tandem.tensor(x)
    np.testing.assert_array_equal(rows.sum(1).numpy(), by_lanes(x, np.add, dtype(-0.0)))
    np.testing.assert_array_equal(rows.prod(1).numpy(), by_lanes(x, np.multiply, dtype(1)))
    np.testing.assert_array_equal(rows.amax(1).numpy(), x.max(1))
    np.testing.assert_array_equal((rows > 1.5).any(1).numpy(), (x > 1.5).any(1))
    x[7, length // 2] = np.nan
    assert np.isnan(tandem.tensor(x).amin(1).numpy()).nonzero()[0].tolist() == [7]
    exact = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(
        tandem.softmax(tandem.tensor(x), 1).numpy(), exact / exact.sum(1, keepdims=True), rtol=1e-5
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int64"])
@pytest.mark.parametrize("length", [7, 8, 9, 16, 17, 20, 24, 31, 32, 33])
def test_rows_whose_elements_lie_apart_are_rows_side_by_side(length, dtype):
    """What no mask serves, they and small types, goes through memory on its way to a vector, one vector at a time."""
    x = tandem.tensor(RNG.normal(size=(2, length, 3)) * 3).to(getattr(tandem, dtype))
    apart = x.transpose(1, 2)
    for rows in (apart, apart[1:], apart[:, ::2], tandem.cat([x, x])[::2].transpose(1, 2)):
        together = rows.contiguous()
        for function in (tandem.sum, tandem.prod, tandem.amax, tandem.any):
            assert tandem.equal(function(rows, -1), function(together, -1)), function
        # The rows of all images, as of a channel of an image whose channels are innermost.
        assert tandem.equal(rows.sum((0, 2)), together.sum((0, 2)))
        if not rows.is_floating_point():
            continue
        for function in (tandem.softmax, tandem.log_softmax, tandem.logsumexp, tandem.var):
            assert tandem.equal(function(rows, -1), function(together, -1)), function
        out = tandem.empty_like(x).transpose(1, 2)[: rows.size(0), : rows.size(1)]
        assert tandem.equal(tandem.softmax(rows, -1, out=out), tandem.softmax(together, -1))


@pytest.mark.parametrize("length", [1, 3, 16, 17, 255, 256, 257, 4096, 4097])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_rows_together_are_rows_alone(length, dtype):
    """Short rows go through the passes of a kernel in groups: every row has the bits that it has by itself."""
    x = tandem.tensor(RNG.normal(size=(2, 37, length)) * 3).to(getattr(tandem, dtype))
    functions = {
        "softmax": lambda t: tandem.softmax(t, -1),
        "log_softmax": lambda t: tandem.log_softmax(t, -1),
        "logsumexp": lambda t: tandem.logsumexp(t, -1),
        "layer_norm": lambda t: tandem.nn.functional.layer_norm(t, (length,)),
        "var_mean": lambda t: tandem.stack(tandem.var_mean(t, -1, correction=0)),
        "normalize": lambda t: tandem.nn.functional.normalize(t, dim=-1),
        "cross_entropy": lambda t: tandem.nn.functional.cross_entropy(
            t.reshape(-1, length), tandem.zeros(t.numel() // length, dtype=tandem.int64), reduction="none"
        ),
    }
    wide = tandem.cat([x, x], 1)[:, ::2]
    for name, function in functions.items():
        for rows in (x, x[:, :16], x[:, 5:6], wide):
            got = function(rows).reshape(-1) if name != "var_mean" else function(rows).permute(1, 2, 0).reshape(-1)
            alone = [function(rows[i : i + 1, j : j + 1]).reshape(-1) for i in range(2) for j in range(rows.size(1))]
            assert tandem.equal(got, tandem.cat(alone)), name


@pytest.mark.parametrize("shape", [(5, 1), (1, 7), (6, 9), (3, 70, 2)], ids=str)
def test_a_linear_recurrence_is_that_of_its_steps(shape):
    """The derivatives of cumprod and logcumsumexp, which are made of it, to the second order and for zeros."""
    for dim, function in itertools.product(range(len(shape)), (tandem.cumprod, tandem.logcumsumexp)):
        x = tandem.tensor(RNG.normal(size=shape)).requires_grad_()
        with tandem.no_grad():
            x.view(-1)[:: max(2, x.numel() // 3)] = 0.0
        scan = functools.partial(function, dim=dim)
        assert tandem.autograd.gradcheck(scan, (x,))
        assert x.numel() > 100 or tandem.autograd.gradgradcheck(scan, (x,))


@pytest.mark.parametrize("length", [1023, 1024, 1031, 1050, 4096])
@pytest.mark.parametrize("dim", [0, 1, None])
def test_gradients_of_long_products(length, dim):
    rng = np.random.default_rng(0)
    x = np.exp(rng.normal(size=(length, 3) if dim == 0 else (3, length)) / 50)
    lines = [x.reshape(-1)] if dim is None else list(np.moveaxis(x, dim, -1))
    lines[0][7] = 0.0  # a view of x, as all lines are: one zero here and two in the next
    if dim is not None:
        lines[1][[5, length - 1]] = 0.0
    others = np.stack([[np.prod(np.delete(line, i)) for i in range(len(line))] for line in lines])
    wanted = others.reshape(x.shape) if dim is None else np.moveaxis(others, -1, dim)
    t = tandem.tensor(x, requires_grad=True)
    (tandem.prod(t) if dim is None else tandem.prod(t, dim)).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), wanted, rtol=1e-11)


@pytest.mark.parametrize("length", range(1, 20))
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int32", "int64", "bool"])
def test_short_lines_are_sorted_in_order(length, dtype):
    x = array((40, length), "float32" if dtype == "float16" else dtype)
    if x.dtype.kind == "f":
        x[RNG.random(x.shape) < 0.2] = 0.5
        x[3, length // 2] = np.nan
    rows = tandem.tensor(x).to(getattr(tandem, dtype))
    order = np.argsort(rows.numpy(), axis=1, kind="stable")
    values, places = tandem.sort(rows, 1)
    np.testing.assert_array_equal(places.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(rows.numpy(), order, 1))
    few = tandem.topk(rows, (length + 1) // 2, largest=False)
    np.testing.assert_array_equal(few.indices.numpy(), order[:, : (length + 1) // 2])


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 7, 8, 11, 64])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_scans_of_rows_run_in_order_and_are_rounded_as_stored(length, dtype):
    x = tandem.tensor(array((11, length), "float32")).to(getattr(tandem, dtype))
    x[5, length // 2] = float("nan")
    wide = x.to(tandem.float64 if dtype == "float32" else tandem.float32).numpy()
    for name, step in (("cumsum", np.add), ("cumprod", np.multiply)):
        wanted = [wide[:, 0]]
        for column in wide.T[1:]:
            wanted.append(step(wanted[-1], column))
        got = getattr(tandem, name)(x, 1)
        assert got.equal(got) is False  # not a number somewhere
        np.testing.assert_array_equal(
            got.double().numpy(), tandem.tensor(np.stack(wanted, 1)).to(x.dtype).double().numpy()
        )


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
@pytest.mark.parametrize(
    "rows, inner, columns",
    [
        (1, 1, 1),
        (5, 7, 1),
        (1, 300, 9),
        (131, 513, 70),
        (3, 257, 17),
        (700, 2, 2),
        (3, 5, 900),
        (700, 8, 4),
        (4, 8, 23),
    ],
)
def test_products_of_integers_wrap_around(rows, inner, columns, dtype):
    info = np.iinfo(dtype)
    a, b = (RNG.integers(info.min, info.max, s).astype(dtype) for s in ((rows, inner), (inner, columns)))
    left, right = tandem.tensor(a), tandem.tensor(b)
    for x, y in itertools.product((left, left.t().contiguous().t()), (right, right.t().contiguous().t())):
        np.testing.assert_array_equal((x @ y).numpy(), a @ b)


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16])
@pytest.mark.parametrize("length", [1, 31, 32, 33, 64, 100, 4095, 4096, 4097, 9000])
def test_inner_products_of_half_types_are_those_of_wide_ones(length, dtype):
    x, y = (tandem.tensor(RNG.normal(size=length)).to(dtype) for _ in range(2))
    wide = tandem.dot(x.float(), y.float()).to(dtype)
    rows = tandem.stack([y, x, y * 2])
    for got in (tandem.dot(x, y), x @ y, (x[None] @ y[:, None])[0, 0], (rows @ x)[0]):
        assert_same_bits(got, wide)
    assert_same_bits(rows @ x, tandem.stack([tandem.dot(row, x) for row in rows]))


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
@pytest.mark.parametrize("length", [0, 1, 2, 9, 1000])
def test_groups_of_equal_neighbours(length, dtype):
    x = RNG.integers(0, 2, length).astype(dtype)
    groups = [(value, len(list(group))) for value, group in itertools.groupby(x.tolist())]
    for given in (tandem.tensor(x), tandem.tensor(np.stack([x, x], 1))[:, 0]):
        values, inverse, counts = tandem.unique_consecutive(given, return_inverse=True, return_counts=True)
        assert values.dtype == given.dtype and inverse.dtype == counts.dtype == tandem.int64
        assert values.tolist() == [value for value, _ in groups]
        assert counts.tolist() == [count for _, count in groups]
        assert inverse.tolist() == [i for i, (_, count) in enumerate(groups) for _ in range(count)]
        assert tandem.unique_consecutive(given).tolist() == values.tolist()
        assert tandem.unique_consecutive(given, return_counts=True)[1].tolist() == counts.tolist()


def running_extremes(x, largest):
    """Along the last dim: values and places, later ones of equals, NaN once met."""
    values, places = x.copy(), np.zeros(x.shape, np.int64)
    for i in range(1, x.shape[-1]):
        v, best = x[..., i], values[..., i - 1]
        better = np.isnan(v) | (~np.isnan(best) & (v >= best if largest else v <= best))
        values[..., i] = np.where(better, v, best)
        places[..., i] = np.where(better, i, places[..., i - 1])
    return values, places


@pytest.mark.parametrize("shape", [(1, 4), (5, 4), (4, 1), (3, 33), (64, 17), (2, 3, 70), (2, 9, 6)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "bool"])
def test_running_extremes_of_chains_side_by_side(shape, dtype):
    x = RNG.integers(-3, 4, shape).astype("float64")
    if "float" in dtype:
        x[RNG.random(shape) < 0.05] = np.nan
        x[x == 0] *= np.where(RNG.random((x == 0).sum()) < 0.5, -1.0, 1.0)
    t = tandem.tensor(x).to(getattr(tandem, dtype))
    x = t.double().numpy()
    for scan, largest in ((tandem.cummax, True), (tandem.cummin, False)):
        for dim in range(x.ndim):
            values, places = running_extremes(np.moveaxis(x, dim, -1), largest)
            mine = scan(t, dim)
            assert np.moveaxis(mine.values.double().numpy(), dim, -1).tobytes() == values.tobytes()
            np.testing.assert_array_equal(np.moveaxis(mine.indices.numpy(), dim, -1), places)


@pytest.mark.parametrize("lines,length", [(70, 300), (3, 70000), (65, 17), (2, 40)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_lines_side_by_side_are_sorted_as_each_alone(lines, length, dtype):
    x = tandem.tensor(RNG.integers(0, 200, (2, length, lines))).to(getattr(tandem, dtype))
    rows = x.transpose(1, 2).contiguous()
    for mine, alone in (
        (tandem.sort(x, 1, descending=True), tandem.sort(rows, 2, descending=True)),
        (tandem.topk(x, 5, 1), tandem.topk(rows, 5, 2)),
        (tandem.topk(x, length // 2, 1, largest=False), tandem.topk(rows, length // 2, 2, largest=False)),
    ):
        assert tandem.equal(mine[0].transpose(1, 2), alone[0])
        assert tandem.equal(mine[1].transpose(1, 2), alone[1])


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16])
@pytest.mark.parametrize("dim", [None, 0, 1, (0, 2)])
def test_means_of_half_types_add_them_where_they_lie(dim, dtype):
    x = tandem.randn(64, 96, 40).to(dtype)
    for given in (x, x.permute(2, 0, 1)):
        before = tandem.counters()["bytes_allocated"]
        mean = given.mean(dim)
        assert tandem.counters()["bytes_allocated"] - before < x.numel()
        wide = given.float().requires_grad_()
        want = wide.mean(dim)
        assert_same_bits(mean, want.detach().to(dtype))
        leaf = given.detach().requires_grad_()
        cotangent = tandem.randn_like(want.detach()).to(dtype)
        (gradient,) = tandem.autograd.grad(leaf.mean(dim), leaf, cotangent)
        assert_same_bits(gradient, tandem.autograd.grad(want, wide, cotangent.float())[0].to(dtype))


# Of 8-byte elements four vectors hold a row of 32, and each of them reads its own elements alone, however they lie.
@pytest.mark.parametrize("isa", ["", "x86-64-v3"])
def test_rows_that_a_few_vectors_hold_read_their_elements_alone(isa):
    program = """
import tandem
RUNS = tandem.sum, tandem.amax, lambda r, d: (r * r).sum(d), lambda r, d: r.float().var(d, correction=0)
for dtype in (tandem.float64, tandem.int64, tandem.float32, tandem.int32, tandem.float16, tandem.int8):
    for n in range(1, 40):
        x = (tandem.arange(6 * n) % 7).to(dtype).reshape(2, 3 * n)
        for step in (1, 2, 3):
            row = x[:, ::step][:, :n]
            for run in RUNS:
                for r, d in ((row, 1), (row[0], 0)):
                    assert run(r, d).equal(run(r.clone(memory_format=tandem.contiguous_format), d)), (dtype, n, step)
"""
    environment = {**os.environ, **({"TANDEM_ISA": isa} if isa else {})}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or done.returncode


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
def test_products_below_the_normal_numbers_are_rounded_as_any(dtype):
    """Of which every one is that of two numbers, in whichever lane: the others are 1."""
    smallest = 2.0**-149 if dtype == tandem.float32 else 2.0**-1074
    some = [smallest, 3 * smallest, 12345 * smallest, 2.0**20 * smallest, 2.0**23 * smallest, 2.0**40 * smallest]
    tandem.manual_seed(0)
    tiny = tandem.cat([tandem.tensor(some, dtype=dtype), tandem.rand(58, dtype=dtype) * 2.0**23 * smallest])
    by = tandem.tensor(
        [1.0, 0.5, 1.5, 0.75, -(2.0**-3), -1e-7, 0.0, -0.0, math.inf, -math.inf, math.nan, 3e9], dtype=dtype
    )
    left, right = (t.contiguous() for t in tandem.broadcast_tensors(tiny[:, None], by))
    pairs = tandem.stack([left.flatten(), right.flatten()])
    want = pairs[0] * pairs[1]
    for turn in (pairs, pairs.flip(0)):
        columns = tandem.ones(40, want.numel(), dtype=dtype)
        columns[3], columns[11] = turn
        rows = tandem.ones(want.numel(), 100, dtype=dtype)
        rows[:, 5], rows[:, 37] = turn
        for got in (columns.prod(0), rows.prod(1)):
            assert_same_bits(got.nan_to_num(7.0), want.nan_to_num(7.0))


@pytest.mark.parametrize("rows", [*range(1, 18), 31, 32, 33, 63, 64, 65, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_rows_are_added_in_the_order_of_many(rows, dtype):
    """Row r in lane r mod 8, and the lanes by halving."""
    x = array((rows, 77), dtype)
    lanes = np.full((8, 77), -0.0, dtype)
    for r in range(rows):
        lanes[r % 8] += x[r]
    for half in (4, 2, 1):
        lanes = lanes[:half] + lanes[half : 2 * half]
    t = tandem.from_numpy(x)
    assert_same_bits(t.sum(0), tandem.from_numpy(lanes[0]))
    assert_same_bits(t[:, :1].expand(rows, 3).sum(0)[:1], t.sum(0)[:1])
    whole = tandem.from_numpy((x * 100).astype("int32").reshape(1, rows, 77).repeat(3, 0))
    assert_same_bits(whole.sum(1), tandem.from_numpy(np.asarray(whole).sum(1)))
    x[rows // 2, 3] = np.nan
    assert_same_bits(tandem.from_numpy(x).amax(0).nan_to_num(7.0), tandem.from_numpy(x.max(0)).nan_to_num(7.0))


def test_dims_that_must_be_named():
    x = tandem.ones(2, 3)
    for dim in ([0, 1], (0,), (), None):
        with pytest.raises(TypeError, match="dim"):
            x.prod(dim)
    assert x.prod().item() == 1 and x.prod(0, True).shape == (1, 3) and x.prod(dim=-1).shape == (2,)
    for f in (tandem.amax, tandem.amin):
        for empty in (tandem.zeros(0), tandem.zeros(0, 3)):
            for dims in ((), ((),)):
                with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
                    f(empty, *dims)
            with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
                f(empty, tuple(range(empty.dim())))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        tandem.logsumexp(x, ())
    assert tandem.logsumexp(x, (), keepdim=True).shape == (1, 1) and tandem.logsumexp(x.sum(), ()).item() == 6


def test_softmax_of_more_dims_than_are_reduced():
    x = tandem.randn((1,) * 66 + (3, 2), requires_grad=True)
    for f in (tandem.softmax, tandem.log_softmax):
        y, flat = f(x, -2), f(x.reshape(3, 2), 0)
        assert y.shape == x.shape and y.reshape(3, 2).equal(flat)
        weights = tandem.randn(3, 2)
        mine = tandem.autograd.grad((y.reshape(3, 2) * weights).sum(), x)[0]
        assert mine.equal(tandem.autograd.grad((flat * weights).sum(), x)[0])
