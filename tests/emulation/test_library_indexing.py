"""Indexing, movement, scans, searches and draws on the emulated GPU: the CPU's bits, and the CPU's errors at the next
wait."""

from __future__ import annotations

import numpy as np
import pytest
from emulated import DEVICE, there
from operations import LAYOUTS, tensor

import tandem
from tandem.nn import functional as F

ALL = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
NUMBERS = ALL[1:]
FLOATS = ALL[6:]
rng = np.random.default_rng


def made(shape, dtype: str, layout: str = "contiguous", seed: int = 0) -> tandem.Tensor:
    """Values of few magnitudes, so that there are ties; of floats also signed zeros and the like."""
    values = rng(seed).integers(-9, 10, shape) / 3.0
    if dtype in FLOATS and values.size > 8:
        special = np.array([0.0, -0.0, np.inf, -np.inf])
        values.reshape(-1)[: special.size] = special
    return tensor(np.asarray(values), dtype, layout)


def indices(shape, size: int, dtype: str = "int64", seed: int = 1, least: int = 0) -> tandem.Tensor:
    return tandem.from_numpy(rng(seed).integers(least, size, shape).astype(dtype))


def bits(t: tandem.Tensor) -> np.ndarray:
    """The elements as integers, every NaN as one: which of them comes of a sum is the processor's choice."""
    t = t.detach().cpu()
    array = np.array((t.float() if t.dtype is tandem.bfloat16 else t).numpy())
    if array.dtype.kind != "f":
        return array
    array[np.isnan(array)] = np.nan
    return array.view(f"i{array.itemsize}")


def check(function, *tensors: tandem.Tensor) -> None:
    """The same bits on both, and results where the operands are."""
    want = function(*tensors)
    got = function(*(there(t) for t in tensors))
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for a, b in pairs:
        assert a.device == DEVICE and a.shape == b.shape
        assert a.dtype is b.dtype
        np.testing.assert_array_equal(bits(a), bits(b))


# ---- gather and scatter


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL)
def test_gather(dtype, layout):
    x = made((5, 6, 7), dtype, layout)
    for dim, size in enumerate(x.shape):
        shape = [4, 5, 6]
        shape[dim] = 9
        check(lambda x, i, dim=dim: x.gather(dim, i), x, indices(shape, size))
    check(lambda x, i: x.gather(-1, i), x, indices((5, 6, 3), 7).permute(1, 0, 2)[:5, :5])
    check(lambda x, i: x.gather(0, i), made((), dtype), indices((), 1))
    check(lambda x, i: x.gather(0, i), x, indices((0, 6, 7), 5))


def test_narrow_indices():
    x = made((5, 40), "float32")
    check(lambda x, i: x.gather(1, i), x, indices((5, 60), 40, "int32"))
    check(lambda x, i: x.index_select(1, i), x, indices((60,), 40, "int32"))
    check(lambda x, i: x.scatter_add(1, i, tandem.ones_like(x)), x, indices((5, 40), 40, "int32"))
    check(lambda x, i: x[:, i], x, indices((60,), 40, "int32", least=-40))


# Lines that each element looks through, lines that a block sorts, and some that several sort.
@pytest.mark.parametrize("length", [1, 7, 100, 5000])
@pytest.mark.parametrize("dtype", ALL)
def test_scatters(dtype, length):
    for dim in (0, 1):
        shape = (length, 3) if dim == 0 else (3, length)
        for layout in LAYOUTS if length == 7 else LAYOUTS[:1]:
            places = max(length // 3, 2)
            x = made((places, 3) if dim == 0 else (3, places), dtype, layout)
            src = made(shape, dtype, layout, seed=2)
            index = indices(shape, places)
            check(lambda x, i, s, dim=dim: x.scatter(dim, i, s), x, index, src)
            check(lambda x, i, s, dim=dim: x.scatter_add(dim, i, s), x, index, src)
            for how in ("prod", "amin", "amax"):
                check(lambda x, i, s, dim=dim, how=how: x.scatter_reduce(dim, i, s, how), x, index, src)


def test_all_to_one_place():
    """The longest run there is, and floats whose sum depends on the order."""
    src = tandem.randn(3000)
    check(lambda s, i: tandem.zeros(4, device=s.device).scatter_add(0, i, s), src, tandem.full((3000,), 2))
    check(lambda s, i: tandem.zeros(4, device=s.device).scatter(0, i, s), src, tandem.full((3000,), 2))


def test_in_place():
    def write(x, index, src):
        x = x.clone()
        x.scatter_(1, index, src)
        x[1:3].scatter_add_(0, index[:2, :2], src[:2, :2])
        x[:, ::2].index_add_(0, index[0, :3], src[:3, :4])
        x[index[0, :3]] = src[:3]
        return x

    check(write, made((6, 8), "float32"), indices((6, 8), 2), made((6, 8), "float32", seed=3))


# ---- bags


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL)
def test_bags(dtype, layout):
    table = made((9, 7), dtype, layout)
    factors = made((40,), dtype, seed=2)
    offsets = tandem.tensor([0, 3, 3, 20, 38])
    for kind in ("int32", "int64"):
        index = indices((40,), 9, kind)
        for last in (False, True):
            for mode in ("sum", "mean", "max"):
                check(
                    lambda t, i, o, last=last, mode=mode: F.embedding_bag(
                        i, t, o, mode=mode, padding_idx=2, include_last_offset=last
                    ),
                    table,
                    index,
                    offsets,
                )
            check(
                lambda t, i, o, f, last=last: F.embedding_bag(
                    i, t, o, mode="sum", per_sample_weights=f, include_last_offset=last
                ),
                table,
                index,
                offsets,
                factors,
            )
        check(lambda t, i: F.embedding_bag(i, t, mode="max"), table, index.reshape(8, 5))
        check(
            lambda t, i, f: F.embedding_bag(i, t, mode="sum", per_sample_weights=f),
            table,
            index.reshape(8, 5),
            factors.reshape(8, 5),
        )
    check(
        lambda t, i, o: F.embedding_bag(i, t, o, mode="sum"),
        table,
        indices((0,), 9),
        tandem.zeros(3, dtype=tandem.int64),
    )


# ---- blocks


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL)
def test_index_select(dtype, layout):
    x = made((5, 6, 8), dtype, layout)
    for dim, size in enumerate(x.shape):
        check(lambda x, i, dim=dim: x.index_select(dim, i), x, indices((11,), size))
        check(lambda x, i, dim=dim: x.index_select(dim, i), x, indices((0,), size))
    check(lambda x, i: x.index_select(0, i), x, indices((20,), 5)[::2])
    check(lambda x, i: x.index_select(0, i), made((), dtype), indices((1,), 1))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL)
def test_reading_by_tensors(dtype, layout):
    x = made((4, 5, 6, 3), dtype, layout)
    i, j = indices((3, 4), 4, least=-4), indices((4,), 5, least=-5, seed=5)
    check(lambda x, i: x[i], x, i)
    check(lambda x, i, j: x[i, j], x, i, j)
    check(lambda x, i, j: x[:, j, i], x, i, j)
    check(lambda x, j: x[..., j % 3], x, j)
    check(lambda x, i, j: x[i, :, j], x, i, j)
    check(lambda x, m: x[m], x, x > 0)
    check(lambda x, i: x.take(i), x, indices((7,), 360, least=-360))


@pytest.mark.parametrize("count", [3, 40, 5000])
@pytest.mark.parametrize("dtype", ALL)
def test_writing_by_tensors(dtype, count):
    x = made((4, 5, 3), dtype)
    i, j = indices((count,), 4, least=-4), indices((count,), 5, least=-5, seed=5)
    for accumulate in (False, True):
        check(lambda x, i, v, a=accumulate: tandem.index_put(x, (i,), v, a), x, i, made((count, 5, 3), dtype, seed=4))
        check(
            lambda x, i, j, v, a=accumulate: tandem.index_put(x, (i, j), v, a), x, i, j, made((count, 3), dtype, seed=4)
        )
        check(lambda x, i, v, a=accumulate: tandem.index_put(x, (i,), v, a), x, i, made((), dtype, seed=6))
        check(lambda x, i, v, a=accumulate: tandem.index_put(x, (i,), v, a), x, i, made((3,), dtype, seed=6))
        check(lambda x, i, v, a=accumulate: x.put(i, v, a), x, i, made((count,), dtype, seed=4))
    for dim in range(3):
        shape = [4, 5, 3]
        shape[dim] = count
        check(
            lambda x, i, s, dim=dim: x.index_add(dim, i, s),
            x,
            indices((count,), x.shape[dim]),
            made(tuple(shape), dtype, "permuted" if dim == 1 else "contiguous", seed=4),
        )


def test_gradients_of_an_embedding():
    def train(weight, index):
        weight = weight.clone().requires_grad_(True)
        tandem.nn.functional.embedding(index, weight).square().sum().backward()
        return weight.grad

    check(train, tandem.randn(50, 24), indices((300,), 50))
    check(train, tandem.randn(7, 5), indices((30, 100), 7))


# ---- moving


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL)
def test_cat(dtype, layout):
    parts = [made((3, n, 4), dtype, layout, seed=n) for n in (2, 1, 5)]
    check(lambda *parts: tandem.cat(parts, 1), *parts)
    check(lambda *parts: tandem.cat([p[:, :1] for p in parts], 0), *parts)
    check(lambda *parts: tandem.cat([p[:, :1, :3] for p in parts], -1), *parts)
    check(lambda *parts: tandem.cat(parts), made((0,), dtype), made((2, 3), dtype), made((0, 3), dtype))
    check(lambda *parts: tandem.stack(parts, 1), *(made((16,), dtype, seed=s) for s in range(100)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL)
def test_pieces(dtype, layout):
    x = made((4, 5, 8), dtype, layout)
    check(lambda x: x.flip(0, 2), x)
    check(lambda x: x.roll((1, 3), (0, 2)), x)
    check(lambda x: x.roll(2, 0), x)
    check(lambda x: x.roll(3), x)
    check(lambda x: tandem.nn.functional.pad(x, (3, 2, 1, 4), mode="circular"), x[:2])
    check(lambda x: x.tile(30, 2, 3), x)
    check(lambda x: x.flip(0), made((0, 3), dtype))


def test_writes_through_views():
    def write(x, y):
        x = x.clone()
        x[1:3, ::2] = y
        x.t()[0] = 7
        x.diagonal().add_(y[0, 0])
        return x

    check(tandem.compile(write), made((4, 6), "float32"), made((2, 3), "float32"))
    check(write, made((4, 6), "float32"), made((2, 3), "float32"))


# ---- order


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL)
def test_arg_reductions(dtype, layout):
    x = made((5, 40, 3), dtype, layout)
    for function in (tandem.argmax, tandem.argmin):
        check(function, x)
        check(function, made((), dtype))
        for dim in range(3):
            check(lambda x, dim=dim, f=function: f(x, dim), x)
    for function in (tandem.max, tandem.min):
        for dim in range(3):
            check(lambda x, dim=dim, f=function: tuple(f(x, dim)), x)
        check(lambda x, f=function: tuple(f(x, 0)), made((3, 0), dtype))


@pytest.mark.parametrize("size", [127, 128, 4000, 200000])
def test_long_arg_reductions(size):
    x = tandem.from_numpy(rng(3).integers(0, 50, size).astype(np.float32))
    for y in (x, x.reshape(1, -1), tandem.where(x == 7, float("nan"), x), tandem.zeros(size)):
        check(tandem.argmax, y)
        check(lambda y: tuple(tandem.min(y, -1)), y)
    check(lambda x: tuple(tandem.max(x, 0)), tandem.stack([x, -x], 1))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ALL)
def test_scans(dtype, layout):
    x = made((3, 20, 5), dtype, layout)
    for dim in range(3):
        check(lambda x, dim=dim: x.cumsum(dim), x)
        check(lambda x, dim=dim: x.cumprod(dim), x)
        check(lambda x, dim=dim: tuple(x.cummax(dim)), x)
        check(lambda x, dim=dim: tuple(x.cummin(dim)), x)
        if dtype in FLOATS:
            check(lambda x, dim=dim: x.logcumsumexp(dim), x)
    check(lambda x: x.cumsum(0), made((), dtype))
    check(lambda x: x.cumsum(0), made((0, 3), dtype))
    check(lambda x: x.cumsum(1), made((0, 3), dtype))


@pytest.mark.parametrize("shape", [(3, 5000), (70, 70), (5000, 3), (1, 2049), (9000,)])
def test_long_scans(shape):
    x = tandem.randn(*shape)
    nan = tandem.where(x > 1.5, float("nan"), x)
    whole = (x * 3).long()
    for dim in range(len(shape)):
        for function in (tandem.cumsum, tandem.cumprod, tandem.logcumsumexp):
            check(lambda x, dim=dim, f=function: f(x, dim), x)
            check(lambda x, dim=dim, f=function: f(x, dim), x.half())
        for function in (tandem.cummax, tandem.cummin):
            for y in (x, nan, nan.to(tandem.bfloat16), whole.to(tandem.int8), x > 0):
                check(lambda y, dim=dim, f=function: tuple(f(y, dim)), y)
        check(lambda w, dim=dim: w.cumsum(dim), whole)
        check(lambda w, dim=dim: w.cumprod(dim), whole)
        check(lambda m, dim=dim: m.cumsum(dim), x > 0)


def test_gradients_of_products():
    """linear_recurrence in both directions."""

    def slope(x, dim):
        x = x.clone().requires_grad_(True)
        x.cumprod(dim).sum().backward()
        return x.grad

    for dtype in ("float32", "float64", "bfloat16"):
        check(lambda x: slope(x, 0), made((40, 3), dtype, seed=9))
        check(lambda x: slope(x, 1), made((2, 3000), dtype, seed=9).sign())


@pytest.mark.parametrize("dtype", NUMBERS)
def test_searches(dtype):
    rows = made((4, 9), dtype).sort(-1)[0]
    values = made((4, 6), dtype, "permuted", seed=8)
    for right in (False, True):
        check(lambda r, v, right=right: tandem.searchsorted(r, v, right=right), rows, values)
        check(lambda r, v, right=right: tandem.searchsorted(r, v, right=right), rows[0], values)
    check(tandem.searchsorted, rows, values[:, :0])
    check(tandem.searchsorted, rows[:, :0], values)


@pytest.mark.parametrize("dtype", NUMBERS[:5])
def test_gcd(dtype):
    info = tandem.iinfo(getattr(tandem, dtype))
    ends = tandem.tensor([info.min, info.max, info.min, 0, 12], dtype=getattr(tandem, dtype))
    check(tandem.gcd, ends, ends.flip(0))
    check(tandem.gcd, made((4, 5), dtype, "permuted") * 6, made((5,), dtype, seed=2) * 4)
    check(tandem.lcm, made((4, 5), dtype), made((4, 5), dtype, seed=2))


# ---- sizes that depend on data, and checks


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (7,), (3, 4, 5), (3000,), (50, 130)])
def test_nonzero(shape):
    x = tandem.from_numpy(np.asarray(rng(5).integers(0, 3, shape)))
    check(tandem.nonzero, x)
    check(lambda x: tandem.nonzero(x.t()), x) if len(shape) == 2 else None
    check(lambda x: tandem.masked_select(x, x > 0), x)
    compiled = tandem.compile(lambda x: x[x > 1] * 2)
    for y in (x, x, x * 2, x * 0, x):
        check(compiled, y)


def raises(function, *tensors) -> None:
    """The error of the CPU comes when somebody waits, of its class and with its text and the line, and only once."""
    with pytest.raises(Exception) as want:
        function(*tensors)
    moved = [there(t) for t in tensors]
    with pytest.raises(type(want.value)) as got:
        result = function(*moved)
        (result[0] if isinstance(result, tuple) else result).cpu()
    # Errors of dtypes come at once, and need no place.
    text, _, place = str(got.value).partition("\n  called at ")
    assert text == str(want.value) and (not place or place.startswith(__file__))
    assert tandem.ones(2, device=DEVICE).cpu().tolist() == [1, 1]


@pytest.mark.parametrize("count", [5, 3000])
def test_wrong_indices(count):
    x, y = made((4, 6), "float32"), made((count,), "float32")
    good = indices((count,), 4)
    bad = good.clone()
    bad[count // 2] = 9
    bad[count - 1] = -7
    raises(lambda x, i: x.gather(0, i[:, None]), x, bad)
    raises(lambda x, i: x.scatter(0, i[:, None], 1.0), x, bad)
    raises(lambda x, i: x.scatter(1, i[:5].unsqueeze(0), 1.0), x, bad[-5:])
    raises(lambda x, i, y: x.scatter_add(0, i[:, None], y[:, None]), x, bad, y)
    raises(lambda x, i, y: x.long().scatter_add(0, i[:, None], y[:, None].long()), x, bad, y)
    raises(lambda x, i, y: x.scatter_reduce(0, i[:, None], y[:, None], "amax"), x, bad, y)
    raises(lambda x, i: x.index_select(0, i), x, bad)
    for mode in ("sum", "max"):
        raises(lambda x, i, mode=mode: F.embedding_bag(i[None], x[:, None], mode=mode), x, bad)
        raises(
            lambda x, i, o, mode=mode: F.embedding_bag(i % 2, x[:, None], o, mode=mode),
            x,
            bad,
            tandem.tensor([0, 2, 1]),
        )
    raises(lambda x, i: x.index_select(1, i), x, bad)
    raises(lambda x, i: x.index_add(0, i, tandem.ones(i.numel(), 6, device=x.device)), x, bad)
    raises(lambda x, i: x[i], x, bad)
    raises(lambda x, i, j: x[j, i], x, bad, good)
    raises(lambda x, i: tandem.index_tandem.index_put(x, (i,), x[0]), x, bad)
    raises(lambda x, i, j: tandem.index_tandem.index_put(x, (i, j), x[0, 0], True), x, good, bad)
    raises(lambda x, i: x.take(i * 5), x, bad)
    raises(lambda x, i: x.put(i * 5, i.float()), x, bad)


def test_indices_that_are_none():
    raises(lambda x, i: x.gather(0, i), made((3, 4), "float32"), tandem.ones(3, 4))
    raises(lambda x, i: x.index_select(0, i), made((3, 4), "float32"), tandem.ones(3) > 0)


def test_wrong_values():
    functional = tandem.nn.functional
    raises(functional.cross_entropy, made((4, 3), "float32"), tandem.tensor([0, 2, 5, -1]))
    raises(functional.nll_loss, made((4, 3), "float64"), tandem.tensor([0, 2, -3, 7]))
    raises(lambda x: tandem.bernoulli(x), tandem.tensor([0.5, 2.0]))
    raises(lambda a, b: a // b, tandem.tensor([1, 2]), tandem.tensor([1, 0]))
    raises(lambda x: tandem.multinomial(x, 1), tandem.tensor([0.5, -2.0]))
    raises(functional.one_hot, tandem.tensor([1, -2]))


# ---- draws


def drawn(function, *tensors) -> None:
    def seeded(*tensors):
        tandem.manual_seed(11)
        return function(*tensors)

    check(seeded, *tensors)


@pytest.mark.parametrize("n", [0, 1, 50, 2048, 5000])
def test_randperm(n):
    drawn(lambda x: tandem.randperm(n, device=x.device), tandem.ones(1))


def test_draws():
    rates = tandem.tensor([0.0, 0.01, 0.5, 3.0, 9.99, 10.0, 35.0, 1e4, 1e9, -1.0, float("nan")], dtype=tandem.float64)
    many = rates[:9].repeat(200)
    drawn(tandem.poisson, many)
    drawn(tandem.poisson, many.reshape(9, 200).t())
    drawn(tandem._standard_gamma, many[many < 1e5])
    probs = tandem.tensor([0.0, 0.01, 0.3, 0.5, 0.77, 0.999, 1.0], dtype=tandem.float64).repeat(300)
    counts = tandem.tensor([0.0, 1.0, 7.5, 40.0, 1000.0, 1e6, 3.0, 12.0], dtype=tandem.float64).repeat(300)[
        : probs.numel()
    ]
    drawn(tandem.binomial, counts, probs)


def test_plans_that_run_again():
    """The first run queues, the second is captured, later ones are a graph whose parameters change."""

    def step(x, i, y):
        z = x.index_add(0, i, y).scatter_add(0, i[:, None], y)
        z = tandem.cat([z, x.flip(0)]).cumsum(0)
        return z[i] + z.sort(0)[0][i], z.argmax(1), x[x > 0]

    compiled = tandem.compile(step)
    for seed in range(5):
        x, y = made((6, 4), "float32", seed=seed), made((50, 4), "float32", seed=seed + 9)
        i = indices((50,), 6, seed=seed)
        check(compiled, x, i, y)
        check(compiled, x.abs() + 1, i, y)
    wrong = there(indices((50,), 6)) + 3
    with pytest.raises((RuntimeError, IndexError), match="out of bounds for dimension 0 with size 6"):
        compiled(there(x), wrong, there(y))[0].cpu()
    check(compiled, x, i, y)
