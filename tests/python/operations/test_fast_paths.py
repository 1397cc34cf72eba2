"""Sizes and values at which operations change the way they are computed: against the plain formula, bit for bit where
the order of the arithmetic is the same."""

import math

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem

F = tandem.nn.functional
inf, nan = math.inf, math.nan


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
def test_reciprocal_powers(dtype):
    largest, tiny = tandem.finfo(dtype).max, tandem.finfo(dtype).tiny
    x = tandem.tensor(
        [0.0, -0.0, inf, -inf, nan, 1.0, -2.0, 3.0, largest, -largest, tiny, tiny / 4, 1e-19, 7e18], dtype=dtype
    )
    assert_same_bits(x**-1, 1 / x)
    square = (x**-2).numpy()
    with np.errstate(all="ignore"):
        expected = (np.longdouble(1) / (x.numpy().astype(np.longdouble) ** 2)).astype(square.dtype)
    np.testing.assert_array_max_ulp(square[~np.isnan(square)], expected[~np.isnan(expected)], 1)
    assert np.isnan(square).tolist() == [i == 4 for i in range(14)]
    exponents = tandem.tensor([-1, -2, 0.5, -0.5, 1, 2, 3, 2.5], dtype=dtype)
    bases = tandem.tensor([0.7, 3.0, 5.5, 9.25, 4.0, 6.5, 1.5, 2.0], dtype=dtype)
    mixed = bases**exponents
    for i, e in enumerate(exponents.tolist()):
        assert_same_bits(mixed[i], (bases**e)[i])


@pytest.mark.parametrize("n", [16, 17, 24, 31, 48, 100, 144, 256])
@pytest.mark.parametrize("lines", [90, 700, 2000])
def test_the_gradient_of_products_of_many(n, lines):
    """However a dim is cut: of float64, the other elements' product, and 0 beside two zeros."""
    rng = np.random.default_rng(n)
    x = rng.uniform(0.5, 1.5, (lines, n)) * rng.choice([-1, 1], (lines, n))
    x[3, 5] = x[4, 1] = x[4, n - 1] = 0
    others = np.stack([np.prod(np.delete(x, i, 1), 1) for i in range(n)], 1)
    for values, dim in ((x, 1), (np.ascontiguousarray(x.T), 0), (x.reshape(lines // 10, 10, n), 2)):
        leaf = tandem.tensor(values, requires_grad=True)
        weight = tandem.arange(1.0, lines + 1, dtype=tandem.float64).reshape(leaf.prod(dim).shape)
        (grad,) = tandem.autograd.grad((leaf.prod(dim) * weight).sum(), leaf)
        expected = others * np.arange(1.0, lines + 1)[:, None]
        found = grad.numpy().T if dim == 0 else grad.numpy().reshape(lines, n)
        np.testing.assert_allclose(found, expected, rtol=1e-13)

        @tandem.compile
        def gradient(leaf, weight, dim=dim):
            return tandem.autograd.grad((leaf.prod(dim) * weight).sum(), leaf)[0]

        assert gradient(leaf, weight).equal(grad)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, inf])
@pytest.mark.parametrize("n, d", [(0, 3), (1, 3), (2, 1), (3, 0), (17, 5), (18, 4), (60, 40), (30, 70), (150, 9)])
def test_pdist_is_the_norm_of_each_pair(n, d, p):
    x = tandem.randn(n, d)
    if n > 16 and d > 0:
        x[3, 0], x[5, d - 1] = nan, inf
    above = tandem.triu_indices(n, n, 1)
    apart = x[above[0]] - x[above[1]]
    expected = tandem.zeros(apart.shape[0])
    if d > 0:  # sums over short rows of many are those of columns
        across = n >= 16 and d <= 64
        expected = tandem.norm(apart.t().contiguous(), p, dim=0) if across else tandem.norm(apart, p, dim=1)
    assert_same_bits(F.pdist(x, p), expected)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, inf])
@pytest.mark.parametrize("n, m, d", [(3, 16, 1), (20, 15, 4), (20, 30, 4), (5, 40, 65), (1, 17, 64), (4, 0, 3)])
def test_cdist_is_the_norm_of_each_pair(n, m, d, p):
    x, y = tandem.randn(2, n, d), tandem.randn(m, d)
    apart = x[:, :, None] - y
    by_rows = m < 16 or d > 64
    across = apart.permute(0, 3, 1, 2).contiguous()
    expected = tandem.norm(apart, p, dim=-1) if by_rows else tandem.norm(across, p, dim=1)
    assert_same_bits(tandem.cdist(x, y, p, compute_mode="donot_use_mm_for_euclid_dist"), expected)


@pytest.mark.parametrize("p", [1.0, 2.0, inf])
@pytest.mark.parametrize("n, m, d", [(3, 4, 2), (40, 30, 8), (30, 20, 70), (5, 7, 1)])
@pytest.mark.parametrize("dtype", [tandem.float64, tandem.float32])
def test_gradients_of_distances(p, n, m, d, dtype, mode):
    """Those of the norms of all differences, of which the tape keeps none."""
    x, y = tandem.randn(2, n, d, dtype=dtype), tandem.randn(m, d, dtype=dtype)
    y[0] = x[0, 0]
    weight = tandem.randn(2, n, m, dtype=dtype)
    near = {"rtol": 1e-9, "atol": 1e-9} if dtype == tandem.float64 else {"rtol": 1e-4, "atol": 1e-4}

    def gradients(x, y, weight, distances):
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        return tandem.autograd.grad((distances(x, y) * weight).sum(), (x, y))

    def plain(x, y):
        apart = x[:, :, None] - y
        return apart.abs().amax(-1) if p == inf else apart.norm(p, dim=-1)

    def ours(x, y):
        return tandem.cdist(x, y, p, compute_mode="donot_use_mm_for_euclid_dist")

    found = run_in(mode, lambda *a: gradients(*a, ours), x, y, weight)
    for mine, wanted, eager in zip(found, gradients(x, y, weight, plain), gradients(x, y, weight, ours), strict=True):
        assert_same_bits(mine, eager)
        assert tandem.allclose(mine, wanted, **near)
    sizes = []
    with tandem.autograd.graph.saved_tensors_hooks(lambda t: (sizes.append(t.numel()), t)[1], lambda t: t):
        ours(x.requires_grad_(), y)
        F.pdist(x[0], p)
    assert max(sizes) <= max(2 * n * m, 2 * n * d, m * d, n * n)


def test_higher_gradients_of_distances():
    x = tandem.randn(20, 3, dtype=tandem.float64, requires_grad=True)
    y = tandem.randn(17, 3, dtype=tandem.float64, requires_grad=True)
    for p in (1.0, 2.0, inf):
        distances = lambda x, y, p=p: tandem.cdist(x, y, p, compute_mode="donot_use_mm_for_euclid_dist")  # noqa: E731
        assert tandem.autograd.gradcheck(distances, (x[:3], y))
        assert tandem.autograd.gradgradcheck(distances, (x[:3], y[:2]))


def test_gradient_of_pdist():
    x = tandem.randn(20, 3, dtype=tandem.float64, requires_grad=True)
    assert tandem.autograd.gradcheck(F.pdist, (x,))
    y = tandem.ones(20, 3, requires_grad=True)
    F.pdist(y).sum().backward()
    assert (y.grad == 0).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (0, 2), (2, 0), (5, 5)])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_block_diag_of_one_shape(shape, count):
    blocks = [tandem.randn(*shape) for _ in range(count)]
    whole = np.zeros((count * shape[0], count * shape[1]), np.float32)
    for i, b in enumerate(blocks):
        whole[i * shape[0] : (i + 1) * shape[0], i * shape[1] : (i + 1) * shape[1]] = b.numpy()
    assert_same_bits(tandem.block_diag(*blocks), tandem.tensor(whole))
    mixed = tandem.block_diag(blocks[0].double(), *blocks[1:])
    assert mixed.dtype == tandem.float64 and (mixed == tandem.tensor(whole).double()).all()
    leaves = [b.requires_grad_() for b in blocks]
    weights = tandem.randn(*whole.shape)
    (tandem.block_diag(*leaves) * weights).sum().backward()
    for i, b in enumerate(leaves):
        rows, columns = slice(i * shape[0], (i + 1) * shape[0]), slice(i * shape[1], (i + 1) * shape[1])
        assert_same_bits(b.grad, weights[rows, columns].contiguous())


@pytest.mark.parametrize("op", [tandem.index_select, tandem.gather])
def test_reads_into_memory_that_exists(op):
    x = tandem.arange(12.0).view(3, 4)
    index = tandem.tensor([2, 0, 2]) if op is tandem.index_select else tandem.tensor([[2, 0, 1, 1], [0, 0, 2, 2]])
    expected = op(x, 0, index)
    out = tandem.full_like(expected, nan)
    at = out.data_ptr()
    assert op(x, 0, index, out=out) is out and out.data_ptr() == at
    assert_same_bits(out, expected)
    across = tandem.zeros(expected.shape[1], expected.shape[0]).t()
    assert_same_bits(op(x, 0, index, out=across).contiguous(), expected)
    assert_same_bits(op(x, -2, index, out=tandem.empty(0)), expected)
    with pytest.raises(RuntimeError):
        op(x, 0, index, out=tandem.empty(expected.shape, dtype=tandem.float64))
    same = tandem.arange(12.0).view(3, 4)
    with pytest.raises(RuntimeError):
        op(same, 0, index, out=same[: expected.shape[0]])
    assert_same_bits(same, x)
    kept = out.clone()
    with pytest.raises(IndexError if op is tandem.index_select else RuntimeError):
        op(x, 0, index + 2, out=out)
    assert_same_bits(out, kept)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 15])
def test_small_products_write_their_elements_alone(m, n, dtype):
    a, b = tandem.randn(6, m, 5, dtype=dtype), tandem.randn(6, 5, n, dtype=dtype)
    a[2, 0, 0], b[4, 1, 0] = inf, nan
    expected = np.matmul(a.numpy().astype(np.longdouble), b.numpy().astype(np.longdouble))
    product = tandem.bmm(a, b)
    np.testing.assert_allclose(product.numpy(), expected, rtol=1e-4, atol=1e-5)
    across = tandem.bmm(a.transpose(1, 2).contiguous().transpose(1, 2), b.transpose(1, 2).contiguous().transpose(1, 2))
    assert_same_bits(across, product)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 200])
def test_one_column_of_a_triangular_system(n, unit, upper, dtype):
    a = tandem.randn(n, n, dtype=dtype) / n + tandem.eye(n, dtype=dtype) * 2
    b = tandem.randn(n, 2, dtype=dtype)
    other = a.tril(-1) if upper else a.triu(1)
    a = tandem.where(other != 0, nan, a)
    if unit:
        a = a.fill_diagonal_(nan)
    both = tandem.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)
    for layout in (a, a.t().contiguous().t(), tandem.stack([a, a], -1)[..., 0]):
        column = tandem.linalg.solve_triangular(layout, b[:, :1], upper=upper, unitriangular=unit)
        np.testing.assert_allclose(column.numpy(), both[:, :1].numpy(), rtol=1e-4, atol=1e-5)
        if n <= 64:  # longer sums into one column have an order of their own
            assert_same_bits(column, both[:, :1].contiguous())


@pytest.mark.parametrize("layout", [tandem.contiguous_format, tandem.channels_last])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("out", [(3, 8), (4, 4), (12, 2), (1, 1), (24, 8), (3, 7)])
def test_every_nth_position(out, mode, layout):
    x = tandem.randn(2, 9, 12, 8, requires_grad=True)
    half = 0.5 if mode == "nearest-exact" else 0.0
    rows, columns = ([int((i + half) * n / m) for i in range(m)] for n, m in zip((12, 8), out, strict=True))
    given = x.contiguous(memory_format=layout)
    y = F.interpolate(given, size=out, mode=mode)
    expected = x[:, :, rows][:, :, :, columns]
    assert_same_bits(y.contiguous(), expected)
    assert y.is_contiguous(memory_format=layout) and y.data_ptr() != given.data_ptr()
    weights = tandem.randn(*y.shape)
    (g,) = tandem.autograd.grad(y, x, weights)
    (wanted,) = tandem.autograd.grad(expected, x, weights)
    tandem.testing.assert_close(g, wanted)
    if 12 % out[0] == 0 and 8 % out[1] == 0:
        scales = (out[0] / 12, out[1] / 8)
        assert_same_bits(F.interpolate(x, scale_factor=scales, mode=mode), expected)


@pytest.mark.parametrize("dtype", [tandem.uint8, tandem.bfloat16, tandem.float32, tandem.float64])
@pytest.mark.parametrize("size", [(6, 10), (9, 15), (3, 5), (2, 3), (7, 11), (6, 5)])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_positions(mode, size, dtype):
    x = tandem.randint(0, 200, (2, 9, 3, 5)).to(dtype)
    if dtype.is_floating_point:
        x[0, 0, 0, 0], x[0, 0, 0, 1], x[0, 0, 0, 2] = nan, inf, -0.0
    half = 0.5 if mode == "nearest-exact" else 0.0
    h, w = ([min(int((o + half) * i / n), i - 1) for o in range(n)] for i, n in zip((3, 5), size, strict=True))
    expected = x[:, :, h][:, :, :, w]
    assert_same_bits(F.interpolate(x, size, mode=mode), expected)
    assert_same_bits(F.interpolate(x.contiguous(memory_format=tandem.channels_last), size, mode=mode), expected)


@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float32, tandem.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 16, 17])
def test_gradient_of_a_product_of_few(n, dtype):
    """Of many rows the places are worked on one by one: as few rows, which are not."""
    rows = 6000
    x = tandem.randn(rows, n).to(dtype)
    x[0], x[1, 0], x[2, n - 1], x[3, 0] = 0.0, 0.0, nan, inf
    g = tandem.randn(rows).to(dtype)

    def gradient(x, g):
        leaf = x.clone().requires_grad_()
        return tandem.autograd.grad(leaf.prod(1), leaf, g)[0]

    parts = [gradient(x[i : i + 8], g[i : i + 8]) for i in range(0, rows, 8)]
    assert_same_bits(gradient(x, g), tandem.cat(parts))
    turned = x.t().contiguous().requires_grad_()
    assert_same_bits(tandem.autograd.grad(turned.prod(0), turned, g)[0].t().contiguous(), gradient(x, g))


@pytest.mark.parametrize("dtype", [tandem.uint8, tandem.int16, tandem.int32, tandem.int64])
@pytest.mark.parametrize(
    "m, k, n", [(1, 3, 40), (2, 300, 64), (3, 7, 17), (4, 1, 33), (5, 20, 16), (6, 260, 70), (7, 5, 1)]
)
def test_products_of_integers_wrap_in_every_layout(m, k, n, dtype):
    most = min(tandem.iinfo(dtype).max, 2**62)
    a, b = tandem.randint(0, most, (m, k)).to(dtype), tandem.randint(0, most, (k, n)).to(dtype)
    with np.errstate(over="ignore"):
        expected = tandem.tensor((a.numpy()[:, :, None] * b.numpy()[None]).sum(1, dtype=a.numpy().dtype))
    for left in (a, a.t().contiguous().t()):
        for right in (b, b.t().contiguous().t(), tandem.stack([b, b], -1)[..., 0]):
            assert_same_bits(left @ right, expected)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 8, 1000, 70000])
def test_randperm_has_each_number_once(n):
    tandem.manual_seed(5)
    drawn = tandem.randperm(n)
    assert sorted(drawn.tolist()) == list(range(n))
    tandem.manual_seed(5)
    assert_same_bits(tandem.randperm(n), drawn)


def test_numbers_that_randperm_draws():
    tandem.manual_seed(3)
    assert tandem.randperm(16).tolist() == [8, 12, 0, 3, 5, 10, 7, 9, 6, 11, 4, 1, 2, 15, 14, 13]
    drawn = tandem.randperm(300_001)
    assert [int((drawn * tandem.arange(300_001)).sum()), *drawn[::60_000].tolist()] == [
        6751107319899415,
        241960,
        35728,
        48127,
        276207,
        256657,
        56510,
    ]


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.int64, tandem.bfloat16], ids=str)
@pytest.mark.parametrize("spread", [5, 100000, 2**40])
@pytest.mark.parametrize("n", [300, 5000, 40000])
def test_the_first_of_many_are_those_of_a_sort(n, spread, dtype):
    """Of equal values those that come first, whichever part is found and sorted how."""
    values = np.random.default_rng(n).integers(-spread, spread, n)
    x = tandem.from_numpy(values).to(dtype)
    for largest in (False, True):
        ordered, places = tandem.sort(x, stable=True, descending=largest)
        for k in (n // 8, n // 4 - 1, n // 4, n // 2, n - 1):
            found = tandem.topk(x, k, largest=largest)
            assert_same_bits(found.values, ordered[:k].contiguous())
            assert found.indices.equal(places[:k])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_greatest_common_divisors(dtype):
    limits, rng = np.iinfo(dtype), np.random.default_rng(5)
    edges = [0, 1, 2, 3, 6, 12, 96, limits.max, limits.max - 1, limits.min + 1, limits.max // 2 + 1]
    some = [int(v) >> int(s) for v, s in zip(rng.integers(limits.max, size=40), rng.integers(63, size=40), strict=True)]
    values = [v for v in edges + some if limits.min <= v <= limits.max]
    x = tandem.from_numpy(np.array(values, dtype))
    expected = [[math.gcd(a, b) for b in values] for a in values]
    assert tandem.gcd(x[:, None], x).tolist() == expected
    assert tandem.gcd(x, x[:, None]).tolist() == expected


@pytest.mark.parametrize("step, n", [(1, 5), (1, 700), (3, 300), (-1, 5), (-1, 700), (-2, 300), (0, 400)])
def test_places_that_are_a_slice(step, n):
    """Of a list in which each place is as much more than the one before the ends alone are looked at."""
    x = np.random.default_rng(6).standard_normal((3, 1000)).astype(np.float32)
    given = tandem.from_numpy(x)
    for first in (0, 40) if step >= 0 else (999, 960):
        places = first + step * np.arange(n)
        index = tandem.from_numpy(places)
        assert_same_bits(given.index_select(1, index), tandem.from_numpy(x[:, places]))
        assert_same_bits(given[:, index - 1000], tandem.from_numpy(x[:, places]))
        assert_same_bits(given.t()[index], tandem.from_numpy(x.T[places].copy()))
        index[n // 2] = 77
        places[n // 2] = 77
        assert_same_bits(given.index_select(1, index), tandem.from_numpy(x[:, places]))


def test_slices_that_leave_the_dim():
    x = tandem.zeros(2, 10)
    for first, step, n, wrong in [
        (5, 1, 6, 10),
        (-1, 1, 3, -1),
        (9, -1, 11, -1),
        (0, 2**62, 5, 2**62),
        (0, 2**61, 9, 2**61),
    ]:
        places = tandem.tensor([(first + step * i + 2**63) % 2**64 - 2**63 for i in range(n)])
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds|index out of range"):
            x.index_select(1, places)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.15, 0.5, 0.98, 1.0])
def test_places_of_ones_in_stretches(share):
    """Stretches of ones alone, of zeros alone, and of both, which begin anywhere."""
    mask = np.random.default_rng(7).random(5000) < share
    mask[700:1300] = True
    mask[2000:2777] = False
    for begin in (0, 1, 63, 600):
        for end in (5000, 4999, 2600, 1290):
            part = mask[begin:end].copy()
            np.testing.assert_array_equal(tandem.from_numpy(part).nonzero()[:, 0].numpy(), np.flatnonzero(part))


@pytest.mark.parametrize("a, b", [((7,), (3,)), ((5, 6), (3, 2)), ((5, 6), (3, 8)), ((2, 1), (1, 4)), ((3, 4), (4,))])
def test_products_of_short_rows(a, b, mode):
    x, y = tandem.randn(a, requires_grad=True), tandem.randn(b, requires_grad=True)
    found = run_in(mode, tandem.kron, x.detach(), y.detach())
    wanted = np.kron(x.detach().numpy(), y.detach().numpy())
    np.testing.assert_array_equal(found.numpy(), wanted)
    weight = tandem.randn(wanted.shape)
    for mine, plain in zip(
        tandem.autograd.grad((tandem.kron(x, y) * weight).sum(), (x, y)),
        tandem.autograd.grad((tandem.tensordot(x, y, 0).flatten() * unkron(weight, a, b).flatten()).sum(), (x, y)),
        strict=True,
    ):
        assert tandem.allclose(mine, plain, rtol=1e-4, atol=1e-5)


def unkron(t, a, b):
    """The elements of kron's result in the order of those of an outer product of tensors of shapes a and b."""
    rank = max(len(a), len(b))
    a, b = ((1,) * (rank - len(s)) + s for s in (a, b))
    pairs = t.reshape([n for pair in zip(a, b, strict=True) for n in pair])
    return pairs.permute(*range(0, 2 * rank, 2), *range(1, 2 * rank, 2))


def test_diagonals_far_outside():
    x = tandem.ones(3, 4)
    for far in (2**62, 2**63 - 1):
        assert x.tril(far).equal(x) and x.triu(-far).equal(x)
        assert x.tril(-far).equal(x * 0) and x.triu(far).equal(x * 0)
    for k in range(-5, 6):
        np.testing.assert_array_equal(x.tril(k).numpy(), np.tril(x.numpy(), k))
        np.testing.assert_array_equal(x.triu(k).numpy(), np.triu(x.numpy(), k))


@pytest.mark.parametrize("n", [3, 20, 70])
def test_higher_gradients_of_pdist(n):
    """The places that no pair takes have a gradient of 0, at every order."""
    x = tandem.randn(n, 2, dtype=tandem.float64, requires_grad=True)
    first, second = tandem.triu_indices(n, n, 1)
    weights = tandem.randn(first.shape[0], dtype=tandem.float64)

    def gradients(distances):
        (grad,) = tandem.autograd.grad((distances * weights).sum(), x, create_graph=True)
        return grad, tandem.autograd.grad(grad.square().sum(), x)[0]

    for ours, plain in zip(gradients(F.pdist(x)), gradients((x[first] - x[second]).norm(dim=1)), strict=True):
        assert tandem.allclose(ours, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.int8])
def test_windows_written_in_one_pass(dtype):
    """Rows of a window and what lies between them, shared among threads wherever a share ends."""
    base = (tandem.arange(96 * 40 * 50) % 101).to(dtype).view(96, 40, 50)
    laid = {"itself": base, "across": base.transpose(0, 2).contiguous().transpose(0, 2), "one": base[:1, :1, :1]}
    windows = [np.s_[5:90], np.s_[:, 3:39], np.s_[:, :, 1:50], np.s_[::3, 1:40:2, 7:29], np.s_[90:91, :, :], np.s_[7]]
    windows += [np.s_[:, :, 2:50:3], np.s_[:, :, 3:6]]
    for name, start in laid.items():
        for window in windows:
            expected = np.broadcast_to(start.numpy(), base.shape).copy()
            shape = expected[window].shape
            for values in (tandem.full((), 7, dtype=dtype), -(tandem.arange(50) % 77).to(dtype)[: shape[-1]]):
                for value in (values.expand(shape), values.expand(shape).contiguous()):
                    expected[window] = value.numpy()
                    x = start.expand(base.shape).clone() if name == "one" else start
                    out = _written(x, window, value)
                    np.testing.assert_array_equal(out.numpy(), expected, f"{name} {window}")
    assert tandem.equal(base, laid["across"])


def _written(x, window, value):
    """`x` with the value in a window of it, and the gradient of that window, which is one of zeros."""
    if not isinstance(window, tuple):
        window = (window,)
    view = x[window]
    out = tandem.as_strided_scatter(x, value, view.shape, view.stride(), view.storage_offset())
    if x.is_floating_point():
        leaf = x.detach().requires_grad_()
        (zeros,) = tandem.autograd.grad(leaf[window], leaf, value)
        expected = np.zeros(tuple(x.shape), value.numpy().dtype)
        expected[window] = value.numpy()
        np.testing.assert_array_equal(zeros.numpy(), expected)
    return out


@pytest.mark.parametrize("sizes", [[300, 1, 500, 0, 700], [90000], [7, 40000, 9, 50000]])
def test_long_inputs_are_joined_where_threads_meet_them(sizes):
    parts = [tandem.arange(n * 3).view(n, 3) + 10 * n for n in sizes]
    expected = np.concatenate([p.numpy() for p in parts])
    np.testing.assert_array_equal(tandem.cat(parts).numpy(), expected)
    large = [p.repeat(1, 6) for p in parts]
    np.testing.assert_array_equal(tandem.cat(large).numpy(), np.concatenate([p.numpy() for p in large]))
    narrow = [p[:, 5:30] for p in large[:-1]] + [large[-1][:, 5:30].clone()]
    np.testing.assert_array_equal(tandem.cat(narrow).numpy(), np.concatenate([p.numpy() for p in narrow]))
    same = [tandem.full((300, 150), float(i))[:, 9:139] for i in range(5)]
    assert tandem.equal(tandem.stack(same), tandem.arange(5.0).view(5, 1, 1).expand(5, 300, 130))
    assert tandem.block_diag(*same).sum().item() == 300 * 130 * 10
