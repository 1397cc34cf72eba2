"""Library functions that take many elements at once: at every size around what they take together, on any thread."""

import math

import numpy as np
import pytest
from conftest import run_in

import tandem
from tandem.nn import functional as F


@pytest.mark.parametrize("dtype", "uint8 int8 int16 int32 int64 float16 float32 float64 bool".split())
def test_searches(dtype, threads):
    draw = np.random.default_rng(0)
    for n in (0, 1, 2, 3, 7, 8, 33, 100):
        for count in (0, 1, 31, 32, 33, 65, 3000):
            row, among = np.sort(draw.integers(0, 60, n).astype(dtype)), draw.integers(0, 64, count).astype(dtype)
            if dtype.startswith("float") and n > 2 and count == 65:
                among[3] = among[50] = np.nan
                row[0], among[5] = -np.inf, np.inf
                row[1] = -0.0
                row = np.sort(row)
            for side in ("left", "right"):
                found = tandem.searchsorted(tandem.from_numpy(row), tandem.from_numpy(among), side=side)
                assert np.array_equal(found.numpy(), np.searchsorted(row, among, side)), (n, count, side)


@pytest.mark.parametrize("width", [0, 1, 5, 31, 32, 70])
def test_searches_in_rows_of_their_own(width, threads):
    draw = np.random.default_rng(1)
    rows, among = np.sort(draw.standard_normal((300, 9)), 1), draw.standard_normal((300, width))
    found = tandem.searchsorted(tandem.from_numpy(rows), tandem.from_numpy(among), right=True)
    wanted = [np.searchsorted(row, values, "right") for row, values in zip(rows, among, strict=True)]
    assert np.array_equal(found.numpy(), np.array(wanted, np.int64).reshape(300, width))


@pytest.mark.parametrize("pad", [(1, 1), (7, 8), (8, 0), (0, 7), (20, 9), (-1, 3), (-2, -1)])
def test_padding_by_few_and_many(pad, threads):
    x = np.random.default_rng(2).standard_normal((3, 40, 33)).astype(np.float32)
    clip = [(max(p, 0), max(q, 0)) for p, q in ((0, 0), (2, 9), pad)]
    cut = x[:, :, max(-pad[0], 0) : x.shape[2] - max(-pad[1], 0)]
    for mode, named in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        if mode == "reflect" and min(pad) < 0 < max(pad):
            continue  # what is reflected is cut off afterwards
        ours = F.pad(tandem.from_numpy(x), (*pad, 2, 9), mode=mode)
        assert np.array_equal(ours.numpy(), np.pad(cut, clip, mode=named)), mode


def test_padding_rows_of_several_lengths(threads):
    x = tandem.arange(24 * 70000).reshape(1, 24, 70000)
    for widths in ((1, 1), (60000, 2)):
        y = F.pad(x, widths, mode="reflect")
        assert np.array_equal(y.numpy(), np.pad(x.numpy(), ((0, 0), (0, 0), widths), mode="reflect"))


def test_classes(threads):
    draw = np.random.default_rng(3)
    for n in (0, 1, 7, 64, 100_000):
        p, classes = draw.standard_normal((n, 5)), draw.integers(0, 5, (n, 2))
        classes[::3] = -100
        target = tandem.from_numpy(classes)[:, 1]
        loss = F.nll_loss(tandem.from_numpy(p), target, reduction="none").numpy()
        picked = -np.take_along_axis(p, np.maximum(classes[:, 1:], 0), 1)[:, 0]
        assert np.array_equal(loss, np.where(classes[:, 1] == -100, 0, picked))
    for wrong in (-1, 5, 2**62, -(2**63)):
        target = tandem.full((99,), 1)
        target[70] = wrong
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            F.nll_loss(tandem.zeros(99, 5), target)
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            F.nll_loss(tandem.zeros(99, 5), tandem.stack([target, target], 1)[:, 0])


@pytest.mark.parametrize("dtype", "int16 int32 int64 float16 float32 float64".split())
def test_maxima_of_windows_in_tiles(dtype, threads):
    draw = np.random.default_rng(4)
    for h, w, kernel, stride in ((16, 64, 8, 8), (13, 64, (3, 8), (2, 8)), (9, 264, (4, 8), (5, 8)), (20, 143, 8, 9)):
        x = draw.integers(-3, 3, (5, h, w)).astype(dtype)
        if dtype.startswith("float"):
            x[x == 1] = -0.0
            x[draw.random(x.shape) < 0.001] = np.nan
            x[0] = -np.inf
        (kh, kw), (sh, sw) = (v if isinstance(v, tuple) else (v, v) for v in (kernel, stride))
        seen = np.lib.stride_tricks.sliding_window_view(x, (kh, kw), (1, 2))[:, ::sh, ::sw]
        flat = seen.reshape(*seen.shape[:3], -1)
        values, places = F.max_pool2d(tandem.from_numpy(x), kernel, stride, return_indices=True)
        alone = F.max_pool2d(tandem.from_numpy(x), kernel, stride)
        assert np.array_equal(values.numpy(), flat.max(-1), equal_nan=True) if flat.size else True
        # The first of equal ones with its sign, the last NaN; each value is the element at its place.
        at = np.take_along_axis(x.reshape(5, -1), places.numpy().reshape(5, -1), 1).reshape(values.shape)
        assert at.tobytes() == values.numpy().tobytes() == alone.numpy().tobytes()
        clean = ~np.isnan(flat).any(-1) if dtype.startswith("float") else np.ones(flat.shape[:-1], bool)
        first = flat.argmax(-1)
        rows = np.arange(seen.shape[1])[:, None] * sh + first // kw
        columns = np.arange(seen.shape[2]) * sw + first % kw
        assert np.array_equal(places.numpy()[clean], (rows * w + columns)[clean])


def test_diagonals_of_zeros(threads):
    for shape in ((3,), (2, 3), (2, 0), (0, 3), (2, 3, 4)):
        x = tandem.rand(*shape)
        rank = len(shape) + 1
        for offset in (-2, 0, 1):
            for first in range(-rank, rank):
                for second in range(-rank, rank):
                    if (first - second) % rank:
                        y = tandem.diag_embed(x, offset, first, second)
                        assert tandem.equal(tandem.diagonal(y, offset, first, second), x)
                        assert y.is_contiguous() and y.count_nonzero().item() == x.count_nonzero().item()


def search_as_pytorch(row, value, right):
    """Its steps, which say where a NaN is found and what a NaN in the row does."""
    start, end = 0, len(row)
    while start < end:
        middle = start + (end - start) // 2
        if not (row[middle] > value if right else row[middle] >= value):
            start = middle + 1
        else:
            end = middle
    return start


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.float16])
def test_searches_among_nan(right, dtype):
    nan, inf = math.nan, math.inf
    rng = np.random.default_rng(3)
    values = [nan, -inf, 0.0, 1.0, 1.5, 2.0, 5.0, inf]
    rows = [[1.0, 2.0, nan], [nan, 1.0, 2.0], [1.0, nan, 2.0], [nan], [0.0, inf, nan, nan], []]
    for n in range(1, 40):
        row = np.sort(rng.integers(-3, 9, n) / 2.0)
        row[rng.random(n) < 0.3] = nan
        rows.append(row.tolist())
    for row in rows:
        wanted = [search_as_pytorch(row, v, right) for v in values]
        sorted_row, x = tandem.tensor(row, dtype=dtype), tandem.tensor(values * 9, dtype=dtype)
        assert tandem.searchsorted(sorted_row, x, right=right).tolist() == wanted * 9
        assert tandem.bucketize(x[:8], sorted_row, right=right).tolist() == wanted
        assert [tandem.bucketize(v, sorted_row, right=right).item() for v in values] == wanted
        many = sorted_row.repeat(8, 1)
        assert tandem.searchsorted(many, x[:8].view(8, 1), right=right).flatten().tolist() == wanted


def test_sets_with_nan():
    x = tandem.tensor([1.0, math.nan, 2.0, math.inf, -0.0, -math.inf])
    for among in ([1.0, 2.0, math.nan], [math.nan] * 30 + [2.0, math.inf, 1.0], [math.nan] * 20 + [0.0, -math.inf]):
        wanted = [v in [a for a in among if a == a] for v in x.tolist()]
        assert tandem.isin(x, tandem.tensor(among)).tolist() == wanted
        assert tandem.isin(x, tandem.tensor(among), invert=True).tolist() == [not w for w in wanted]


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.float32, tandem.float64, tandem.int64], ids=str)
def test_ranks_of_long_lines(dtype, threads):
    """Of lines of which a sample is looked at first: also where it misleads, as it sees each 16th element or so."""
    draw = np.random.default_rng(2)
    n = 16400
    lines = {
        "any": draw.standard_normal(n) * 100,
        "ascending": np.arange(n) / 7.0,
        "few values": draw.integers(0, 3, n),
        "one value": np.ones(n),
        "another value at each 16th place": np.where(np.arange(n) % 16 == 0, 1000.0, draw.random(n) * 900),
        "a value at the ends": np.where(draw.random(n) < 0.5, -5.0, 5.0),
    }
    for name, values in lines.items():
        x = tandem.from_numpy(values).to(dtype)
        order = np.sort(np.asarray(x.double()), kind="stable")
        for k in (1, 2, n // 7, n // 2, n - 1, n):
            value, place = x.kthvalue(k)
            assert value.item() == order[k - 1], (name, k)
            assert place.item() == np.flatnonzero(np.asarray(x.double()) == order[k - 1])[0], (name, k)
        assert x.median().item() == order[(n - 1) // 2], name
        if not dtype.is_floating_point:
            continue
        x[draw.permutation(n)[:700]] = float("nan")
        rest = np.sort(np.asarray(x.double()))[: n - 700]
        assert math.isnan(x.median().item()) and x.nanmedian().item() == rest[(len(rest) - 1) // 2], name
        assert math.isnan(x.kthvalue(n).values.item()) and x.kthvalue(n - 700).values.item() == rest[-1], name


@pytest.mark.parametrize("family", ["chebyshev_polynomial_u", "hermite_polynomial_he", "laguerre_polynomial_l"])
def test_polynomials_of_many_degrees(family, threads):
    """An element has the bits that it has alone, whichever degrees are beside it."""
    draw = np.random.default_rng(3)
    function = getattr(tandem.special, family)
    for count in (1, 3, 63, 64, 65, 300):
        x = tandem.from_numpy(draw.standard_normal(count) * 2)
        n = tandem.from_numpy(draw.choice([-1.0, 0.0, 1.0, 2.0, 2.5, 7.0, 40.0, math.nan], count))
        together = function(x, n)
        alone = tandem.cat([function(x[i : i + 1], n[i : i + 1]) for i in range(count)])
        assert np.array_equal(together.numpy(), alone.numpy(), equal_nan=True), count


def test_selections_of_ramps(threads):
    x = tandem.arange(700.0) * 3
    for count in (1, 2, 127, 128, 129, 130, 257, 300):
        for step in (1, 2, -1, -2):
            places = tandem.arange(count) * step + (0 if step > 0 else 2 * count)
            assert x.index_select(0, places).tolist() == [3.0 * p for p in places.tolist()]
            for at in {0, count // 2, count - 1}:
                other = places.clone()
                other[at] = 5
                assert x.index_select(0, other).tolist() == [3.0 * p for p in other.tolist()], (count, step, at)


@pytest.mark.parametrize(
    "shape, dim", [((3, 70), 0), ((70, 3), 1), ((5, 3, 40), 1), ((9, 30, 3, 4), 2), ((3, 3, 80, 3), -1)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_products_of_many_vectors(mode, shape, dim, dtype):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, *shape)).astype(dtype)
    f = lambda x, y: tandem.linalg.cross(x, y, dim=dim)  # noqa: E731
    expected = np.cross(x, y, axis=dim)
    for first, second in ((x, y), (x, x + 1), (x, y[: 3 if dim == 0 else 1]), (x.T.copy().T, y)):
        got = run_in(mode, f, tandem.tensor(first), tandem.tensor(second))
        np.testing.assert_array_equal(got.numpy(), np.cross(*np.broadcast_arrays(first, second), axis=dim))
        assert got.is_contiguous()
    a, b = (tandem.tensor(v).requires_grad_() for v in (x, y))
    cotangent = rng.normal(size=expected.shape).astype(dtype)
    gradients = tandem.autograd.grad(run_in(mode, f, a, b), (a, b), tandem.tensor(cotangent))
    for got, wanted in zip(
        gradients, (np.cross(y, cotangent, axis=dim), np.cross(cotangent, x, axis=dim)), strict=True
    ):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-6)


@pytest.mark.parametrize("dtype", "uint8 int16 int64 float16 float32 float64 bool".split())
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_short_lines(dtype, dim, threads):
    """Lines of a few elements, and one more, are ordered by their ranks: equal ones in their order, NaN last."""
    draw = np.random.default_rng(2)
    for size in (1, 2, 3, 4, 5, 8, 9, 16, 17):
        for others in ((1, 1), (7, 1), (1, 700), (23, 40), (0, 3)):
            x = draw.integers(0, 4, (*others, size)).astype(dtype)
            if dtype.startswith("float"):
                x[draw.random(x.shape) < 0.2] = np.nan
                x[draw.random(x.shape) < 0.1] = -0.0
            x = np.moveaxis(x, -1, dim)
            ours = tandem.from_numpy(np.ascontiguousarray(x))
            order = np.argsort(x, dim, kind="stable")
            values, places = tandem.sort(ours, dim)
            assert np.array_equal(places.numpy(), order), (size, others)
            assert np.array_equal(values.numpy(), np.take_along_axis(x, order, dim), equal_nan=True)
            for k in {1, size // 2, size} - {0}:
                # The first of the equal ones.
                ranked = np.take_along_axis(x, order[(slice(None),) * dim + (slice(k - 1, k),)], dim)
                first = ((x == ranked) | ((x != x) & (ranked != ranked))).argmax(dim) if x.size else ranked.sum(dim)
                values, places = tandem.kthvalue(ours, k, dim)
                assert np.array_equal(places.numpy(), first), (size, others, k)
                assert np.array_equal(values.numpy(), ranked.squeeze(dim), equal_nan=True)
                least = tandem.topk(ours, k, dim, largest=False)
                assert np.array_equal(least.indices.numpy(), order[(slice(None),) * dim + (slice(0, k),)])


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 9, 100])
def test_modes_and_medians_of_lines(dtype, size):
    draw = np.random.default_rng(3)
    x = draw.integers(0, 1 + size // 2, (60, size)).astype(dtype)
    if dtype == "float32":
        x[draw.random(x.shape) < 0.3] = np.nan
    ours = tandem.from_numpy(x)
    modes, medians, nanmedians = tandem.mode(ours, 1), tandem.median(ours, 1), tandem.nanmedian(ours, 1)
    for i, line in enumerate(x):
        # Each NaN is another value.
        found, counts = np.unique(line, return_counts=True, equal_nan=False)
        most = found[counts.argmax()]
        same = (line == most) | ((line != line) & (most != most))
        assert modes.indices[i] == np.nonzero(same)[0][-1], (line, modes.values[i])
        numbers = np.sort(line[line == line])
        for found, has in ((medians, numbers.size == size), (nanmedians, numbers.size > 0)):
            if not has:
                assert found.values[i] != found.values[i]
                assert found.indices[i] == np.nonzero(line != line)[0][0]
                continue
            expected = numbers[(numbers.size - 1) // 2]
            assert found.values[i] == expected and found.indices[i] == np.nonzero(line == expected)[0][0]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8"])
def test_products_of_integers(dtype, threads):
    """Of few elements, of as many as a panel has columns, and of more than one block of the inner size."""
    draw = np.random.default_rng(4)
    for m in (1, 2, 4, 5, 130):
        for k in (0, 1, 2, 4, 7, 300, 513):
            for n in (1, 2, 4, 15, 16, 17, 33):
                a, b = draw.integers(-9, 9, (m, k)).astype(dtype), draw.integers(-9, 9, (k, n)).astype(dtype)
                expected = (a.astype("int64") @ b.astype("int64")).astype(dtype)
                turned = tandem.from_numpy(np.ascontiguousarray(b.T)).t()
                for right in (tandem.from_numpy(b), turned):
                    assert np.array_equal((tandem.from_numpy(a) @ right).numpy(), expected), (m, k, n)
    a, b = draw.integers(-99, 99, (50, 2, 3)).astype(dtype), draw.integers(-99, 99, (50, 3, 2)).astype(dtype)
    assert np.array_equal(tandem.bmm(tandem.from_numpy(a), tandem.from_numpy(b)).numpy(), a @ b)


def test_a_tensor_equals_itself_unless_it_has_nan():
    for x in (tandem.arange(9), tandem.tensor([True, False]), tandem.tensor([1.0, -0.0]), tandem.zeros(0)):
        assert tandem.equal(x, x)
    x = tandem.tensor([1.0, float("nan")])
    assert not tandem.equal(x, x)


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16])
@pytest.mark.parametrize("inner", [1, 2, 5])
def test_few_rows_of_half_types(dtype, inner, threads):
    """Of a large matrix stretches are widened in the cache: each element is the float32 sum, rounded once."""
    draw = tandem.Generator().manual_seed(7)
    for rows, columns in ((1, 70001), (3, 70001), (1, 1)):
        a, b = (tandem.randn(shape, generator=draw).to(dtype) for shape in ((rows, inner), (inner, columns)))
        expected = (a.float() @ b.float()).to(dtype)
        assert tandem.equal(a @ b, expected) and tandem.equal(a @ b.t().contiguous().t(), expected)
        assert tandem.equal(b.t() @ a.t(), expected.t())
        assert tandem.equal(b.t().contiguous() @ a.t(), expected.t())
    # A sum that begins with 0 is never -0.
    zeros = tandem.tensor([[-1.0]], dtype=dtype) @ tandem.zeros(1, 70001, dtype=dtype)
    assert not zeros.signbit().any()


def test_cross_products_of_many_rows(threads):
    draw = tandem.Generator().manual_seed(8)
    x, y = (tandem.randn(30000, 3, generator=draw).requires_grad_() for _ in range(2))
    z = tandem.randn(1, 3, generator=draw)
    for other in (y, z):
        whole = tandem.linalg.cross(x, other)
        assert whole.is_contiguous()
        a, b = x.t(), other.expand_as(x).t()
        parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        assert tandem.equal(whole, tandem.stack(parts, 1))
        for i in (0, 29999):
            assert tandem.equal(whole[i], tandem.linalg.cross(x[i], other.expand_as(x)[i]))
    g = tandem.autograd.grad(tandem.linalg.cross(x, y), (x, y), tandem.ones(30000, 3))
    expected = tandem.autograd.grad(tandem.linalg.cross(x.t(), y.t(), dim=0), (x, y), tandem.ones(3, 30000))
    assert all(tandem.equal(a, b) for a, b in zip(g, expected, strict=True))


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_scans_of_rows_of_eight_bytes(dtype, threads):
    draw = np.random.default_rng(14)
    for size in (1, 3, 4, 5, 8, 9, 63, 256):
        for rows in (1, 4, 5, 9, 400):
            x = draw.standard_normal((rows, size)) * 3 if dtype == "float64" else draw.integers(-9, 9, (rows, size))
            x = x.astype(dtype)
            assert np.array_equal(tandem.cumsum(tandem.from_numpy(x), 1).numpy(), np.cumsum(x, 1)), (rows, size)
            assert np.array_equal(tandem.cumprod(tandem.from_numpy(x), 1).numpy(), np.cumprod(x, 1)), (rows, size)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64"])
def test_rolls_of_rows_of_every_length(dtype, threads):
    draw = np.random.default_rng(15)
    for size in (2, 63, 127, 129, 255, 300, 1024):
        x = draw.integers(0, 2, (37, size)).astype(dtype)
        for by in (1, 5, size - 1):
            assert np.array_equal(tandem.roll(tandem.from_numpy(x), by, 1).numpy(), np.roll(x, by, 1)), (size, by)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("pads", [(1, 1, 1, 1), (2, 0, 0, 3), (4, 3, 1, 2), (-1, 2, 2, -2), (9, 9, 9, 9)])
def test_slopes_of_padded_images(mode, pads):
    """Of dims of which a few places are taken more than once, and of dims of which most are."""
    draw = np.random.default_rng(16)
    for shape in ((2, 3, 10, 31), (1, 1, 40, 12)):
        x = tandem.from_numpy(draw.standard_normal(shape)).requires_grad_()
        y = F.pad(x, pads, mode=mode)
        g = draw.standard_normal(tuple(y.shape))
        places = F.pad(tandem.arange(x.numel()).reshape(shape).double(), pads, mode=mode).long().numpy()
        want = np.zeros(x.numel())
        np.add.at(want, places.ravel(), g.ravel())
        (got,) = tandem.autograd.grad(y, x, tandem.from_numpy(g), create_graph=True)
        assert np.allclose(got.detach().numpy(), want.reshape(shape), rtol=1e-13, atol=1e-14)
        # What reads the slope gives back what is padded.
        seen = tandem.from_numpy(g).requires_grad_()
        (slope,) = tandem.autograd.grad(F.pad(x, pads, mode=mode), x, seen, create_graph=True)
        other = tandem.from_numpy(draw.standard_normal(shape))
        (back,) = tandem.autograd.grad(slope, seen, other)
        assert np.array_equal(back.numpy(), F.pad(other, pads, mode=mode).numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_scattered_one_a_line(dtype, threads):
    """Each sum is rounded once, like those of several sources a line."""
    tandem.manual_seed(17)
    kind = getattr(tandem, dtype)
    x, src = (3 * tandem.randn(700, 19)).to(kind), (3 * tandem.randn(700, 1)).to(kind)
    index = tandem.randint(0, 19, (700, 1))
    for reduce in ("sum", "prod", "amax", "amin"):
        got = x.scatter_reduce(1, index, src, reduce)
        want = x.float().scatter_reduce(1, index, src.float(), reduce).to(kind)
        assert (got == want).all()
        both = x.scatter_reduce(1, index.expand(-1, 2), tandem.cat([src, src], 1), reduce)
        again = x.float().scatter_reduce(1, index.expand(-1, 2), tandem.cat([src, src], 1).float(), reduce).to(kind)
        assert (both == again).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_bags_of_every_width(dtype, weighted, threads):
    """Rows of a bag are added in order, each product rounded, in the type that half types are widened to."""
    draw = np.random.default_rng(18)
    kind, work = getattr(tandem, dtype), np.float64 if dtype == "float64" else np.float32
    offsets = [0, 3, 3, 4, 24, 60]
    index = draw.integers(0, 50, 61)
    for width in (1, 7, 8, 15, 16, 17, 31, 63, 64, 65, 129, 255, 256, 300):
        table = tandem.from_numpy(draw.standard_normal((50, width))).to(kind)
        factors = tandem.from_numpy(draw.standard_normal(61)).to(kind) if weighted else None
        got = F.embedding_bag(
            tandem.from_numpy(index), table, tandem.tensor(offsets), mode="sum", per_sample_weights=factors
        )
        rows = table.to(tandem.float64).numpy().astype(work)[index]
        if factors is not None:
            rows = rows * factors.to(tandem.float64).numpy().astype(work)[:, None]
        want = np.zeros((len(offsets), width), work)
        for bag, (begin, end) in enumerate(zip(offsets, [*offsets[1:], len(index)])):
            for row in rows[begin:end]:
                want[bag] += row
        assert (got == tandem.from_numpy(want).to(kind)).all(), width
