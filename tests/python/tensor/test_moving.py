"""Operations that move elements, at sizes where the ways for large arrays differ from those for small ones, and exact
remainders."""

import itertools

import numpy as np
import pytest
from conftest import run_in

import tandem
import tandem.nn.functional as F

RNG = np.random.default_rng(3)
NUMPY = {
    tandem.bool: np.bool_,
    tandem.int16: np.int16,
    tandem.int64: np.int64,
    tandem.float32: np.float32,
    tandem.float64: np.float64,
}


def array(dtype, *shape):
    return (RNG.standard_normal(shape) * 50).astype(NUMPY[dtype])


def tensor(a):
    return tandem.from_numpy(np.array(a))


# ---- pieces of dims: reversed, rolled and padded ----

MOVES = {
    "flip": (lambda x: x.flip(0, 2), lambda a: np.flip(a, (0, 2))),
    "flip last": (lambda x: x.flip(-1), lambda a: np.flip(a, -1)),
    "roll": (lambda x: x.roll((3, -2, 1), (0, 1, 0)), lambda a: np.roll(a, (4, -2), (0, 1))),
    "roll flat": (lambda x: x.roll(5), lambda a: np.roll(a, 5)),
    "reflect": (
        lambda x: F.pad(x, (2, 1, 1, 2), mode="reflect"),
        lambda a: np.pad(a, ((0, 0), (1, 2), (2, 1)), mode="reflect"),
    ),
    "replicate": (
        lambda x: F.pad(x, (2, -1, 1, 0), mode="replicate"),
        lambda a: np.pad(a, ((0, 0), (1, 0), (2, 0)), mode="edge")[:, :, :-1],
    ),
    "circular": (
        lambda x: F.pad(x, (-1, 2, 3, 1), mode="circular"),
        lambda a: np.pad(a[:, :, 1:], ((0, 0), (3, 1), (0, 2)), mode="wrap"),
    ),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("dtype", NUMPY, ids=str)
def test_pieces_of_dims(mode, name, dtype):
    move, reference = MOVES[name]
    for shape in ((4, 5, 6), (3, 70, 300)):
        a = array(dtype, *shape)
        np.testing.assert_array_equal(run_in(mode, move, tensor(a)).numpy(), reference(a))
    a = array(dtype, 6, 5, 4)
    np.testing.assert_array_equal(run_in(mode, move, tensor(a).permute(2, 1, 0)).numpy(), reference(a.T))


@pytest.mark.parametrize("dtype", [*NUMPY, tandem.uint8], ids=str)
@pytest.mark.parametrize(
    "shape", [(2, 3), (3, 2, 4), (4, 3, 5), (33, 70), (5, 17, 40), (150, 3, 9), (40, 67, 9)], ids=str
)
def test_pieces_of_turned_operands(shape, dtype):
    """Every dim in turn is the dense one, and reversed or not: transpositions whose rows or columns go backwards."""
    a = (RNG.standard_normal(shape) * 50).astype(str(dtype).removeprefix("tandem.").replace("bool", "bool_"))
    x = tandem.tensor(a)
    n = len(shape)
    for order in itertools.permutations(range(n)):
        for many in range(n + 1):
            for dims in itertools.combinations(range(n), many):
                got = x.permute(order).flip(dims)
                np.testing.assert_array_equal(got.numpy(), np.flip(a.transpose(order), dims))
        np.testing.assert_array_equal(x.permute(order).roll(1, -1).numpy(), np.roll(a.transpose(order), 1, -1))
    for k in range(4):
        turned = x.requires_grad_(x.is_floating_point()).rot90(k)
        np.testing.assert_array_equal(turned.detach().numpy(), np.rot90(a, k))
        if x.requires_grad:
            cotangent = np.arange(a.size).reshape(turned.shape).astype(a.dtype)
            (back,) = tandem.autograd.grad(turned, x, tandem.tensor(cotangent))
            np.testing.assert_array_equal(back.numpy(), np.rot90(cotangent, -k))


@pytest.mark.parametrize("name", MOVES)
def test_gradients_of_pieces(mode, name):
    x = tensor(array(tandem.float64, 3, 4, 5)).requires_grad_()
    y = run_in(mode, MOVES[name][0], x)
    weight = tensor(np.rint(array(tandem.float64, *y.shape)))
    (y * weight).sum().backward()
    # The transpose of what the places say; sums of integers are exact in any order.
    places = MOVES[name][1](np.arange(60.0).reshape(3, 4, 5)).astype(int)
    wanted = np.zeros(60)
    np.add.at(wanted, places.ravel(), weight.numpy().ravel())
    np.testing.assert_array_equal(x.grad.numpy().ravel(), wanted)
    assert tandem.autograd.gradgradcheck(MOVES[name][0], (x.detach().requires_grad_(),))


def test_flip_of_a_dim_named_twice_is_an_error():
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times in the list of dims"):
        tandem.zeros(2, 3).flip(1, -1)


# ---- transposed operands ----


@pytest.mark.parametrize("dtype", NUMPY, ids=str)
def test_large_transposed_operands(mode, dtype):
    a = array(dtype, 301, 203)
    b = array(dtype, 203, 301)
    x, y = tensor(a), tensor(b)
    np.testing.assert_array_equal(run_in(mode, lambda x: x.t().contiguous(), x).numpy(), a.T)
    np.testing.assert_array_equal(run_in(mode, lambda x, y: tandem.maximum(x.t(), y), x, y).numpy(), np.maximum(a.T, b))


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 0, 2), (2, 0, 1), (1, 2, 0)])
def test_large_permuted_operands(mode, order):
    a = array(tandem.float32, 40, 70, 50)
    moved = a.transpose(order)
    b = array(tandem.float32, *moved.shape)
    x, y = tensor(a), tensor(b)
    np.testing.assert_array_equal(run_in(mode, lambda x: x.permute(order).contiguous(), x).numpy(), moved)
    got = run_in(mode, lambda x, y: tandem.minimum(x.permute(order), y), x, y)
    np.testing.assert_array_equal(got.numpy(), np.minimum(moved, b))


# ---- indices ----


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.bfloat16, tandem.int16], ids=str)
@pytest.mark.parametrize("shape", [(4, 5, 6), (1, 7, 1), (3, 1, 2), (2, 0, 3), (40, 30, 70)], ids=str)
def test_indices_that_are_the_same_along_some_dims(mode, shape, dtype):
    x = tensor(RNG.integers(-40, 40, shape)).to(dtype)
    for dim in range(3):
        for same in itertools.product((False, True), repeat=3):
            sizes = [1 if once else n for once, n in zip(same, shape, strict=True)]
            index = tensor(RNG.integers(0, max(shape[dim], 1), sizes)).expand(shape)
            alone = index.contiguous()
            source = x + 1
            for f in (
                lambda x, i, s, dim=dim: x.gather(dim, i),
                lambda x, i, s, dim=dim: x.scatter(dim, i, s),
                lambda x, i, s, dim=dim: x.scatter_add(dim, i, s),
                lambda x, i, s, dim=dim: x.scatter_reduce(dim, i, s, "amax"),
            ):
                assert tandem.equal(run_in(mode, f, x, index, source), f(x, alone, source))
            if x.numel() > 0:
                outside = index + shape[dim]
                text = f"gather: index {outside.flatten()[0].item()} is out of bounds for dimension {dim}"
                with pytest.raises(RuntimeError, match=text):
                    x.gather(dim, outside)


@pytest.mark.parametrize("dim", range(3))
def test_gather_and_scatter_of_every_dim(mode, dim):
    a = array(tandem.float32, 70, 40, 60)
    index = RNG.integers(0, a.shape[dim], a.shape)
    for i in (index, index.astype(np.int32)):
        got = run_in(mode, lambda x, i: x.gather(dim, i), tensor(a), tensor(i))
        np.testing.assert_array_equal(got.numpy(), np.take_along_axis(a, index, dim))
    source = array(tandem.float32, *a.shape)
    places = list(np.indices(a.shape))
    places[dim] = index
    # In row-major order: the last write stays, sums are added one by one.
    wanted, sums = a.copy(), a.copy()
    flat = np.ravel_multi_index(places, a.shape).ravel()
    wanted.ravel()[flat] = source.ravel()
    np.add.at(sums.ravel(), flat, source.ravel())
    args = tensor(a), tensor(index), tensor(source)
    got = run_in(mode, lambda x, i, s: x.scatter(dim, i, s), *args)
    np.testing.assert_array_equal(got.numpy(), wanted)
    np.testing.assert_array_equal(run_in(mode, lambda x, i, s: x.scatter_add(dim, i, s), *args).numpy(), sums)


@pytest.mark.parametrize("width", [5, 700, 16_384, 20_000])
def test_cat_of_large_tensors_in_blocks(width):
    """Runs that are joined in order, and runs so long that each is shared among threads."""
    parts = [np.arange(6 * n * 2).reshape(6, n, 2).astype("int16") for n in (width, 1, width + 3)]
    want = np.concatenate(parts, 1)
    before = tandem.get_num_threads()
    for threads in (1, 2):
        tandem.set_num_threads(threads)
        np.testing.assert_array_equal(tandem.cat([tandem.tensor(p) for p in parts], 1).numpy(), want)
    tandem.set_num_threads(before)


@pytest.mark.parametrize("widths", [(512, 512), (100, 1000), (127, 128, 129), (1, 2000), (300, 0, 800)], ids=str)
def test_cat_of_rows_to_more_than_a_cache_holds(widths):
    rows = 6 * 2**20 // 4 // sum(widths)
    memory = np.arange(max(widths) * rows + 16, dtype=np.float32)
    for offset in (0, 3, 15):
        parts = [memory[offset:][: rows * n].reshape(rows, n) for n in widths]
        got = tandem.cat([tandem.from_numpy(p) for p in parts], 1)
        np.testing.assert_array_equal(got.numpy(), np.concatenate(parts, 1))


def test_cat_of_many_small_tensors(mode):
    parts = [array(tandem.int16, 3, i % 4, 2) for i in range(200)]
    got = run_in(mode, lambda *p: tandem.cat(p, 1), *[tensor(p) for p in parts])
    np.testing.assert_array_equal(got.numpy(), np.concatenate(parts, 1))


@pytest.mark.parametrize("count", [2, 3, 4, 7])
@pytest.mark.parametrize("dtype", NUMPY, ids=str)
def test_elements_are_interleaved(count, dtype):
    """Of each part one element in turn, or a few bytes, from places that are not aligned for so many; of any number."""
    for rows in (1, 7, 300, 40_000):
        parts = [array(dtype, rows) for _ in range(count)]
        np.testing.assert_array_equal(tandem.stack([tensor(p) for p in parts], -1).numpy(), np.stack(parts, -1))
        for columns in (2, 3):
            parts = [array(dtype, rows * columns + 1) for _ in range(count)]
            views = [p[1:].reshape(rows, columns) for p in parts]
            moved = [tensor(p)[1:].view(rows, columns) for p in parts]
            np.testing.assert_array_equal(tandem.cat(moved, 1).numpy(), np.concatenate(views, 1))


# ---- sorting ----


@pytest.mark.parametrize("n", [5, 255, 256, 5000])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", NUMPY, ids=str)
def test_sort_is_stable_at_every_length(n, descending, dtype):
    a = array(dtype, 3, n)
    if dtype in (tandem.float32, tandem.float64):
        a[:, ::7] = np.nan
        a[:, 1::7] = 0.0
        a[:, 3::7] = -0.0
        a[:, 4] = -np.inf
        a = np.round(a)
    order = np.argsort(a, axis=1, kind="stable")
    if descending:
        # Equal values in their order: the stable order of the reversed row, reversed.
        order = (n - 1 - np.argsort(a[:, ::-1], axis=1, kind="stable"))[:, ::-1]
    values, indices = tandem.sort(tensor(a), 1, descending=descending, stable=True)
    np.testing.assert_array_equal(indices.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(a, order, 1))
    columns = tensor(np.ascontiguousarray(a.T))
    for k in (1, 4, n // 32, n // 2, n):
        top = tandem.topk(tensor(a), k, 1, largest=descending)
        np.testing.assert_array_equal(top[1].numpy(), order[:, :k])
        np.testing.assert_array_equal(top[0].numpy(), np.take_along_axis(a, order, 1)[:, :k])
        np.testing.assert_array_equal(tandem.topk(columns, k, 0, largest=descending)[1].numpy(), order[:, :k].T)


# ---- remainders ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fmod_is_exact_for_every_pair(mode, dtype):
    bits = np.uint32 if dtype == np.float32 else np.uint64
    x = RNG.integers(0, np.iinfo(bits).max, 50_000, dtype=bits, endpoint=True).view(dtype)
    y = RNG.integers(0, np.iinfo(bits).max, 50_000, dtype=bits, endpoint=True).view(dtype)
    limits = np.finfo(dtype)
    special = np.array(
        [0, -0.0, np.inf, -np.inf, np.nan, 1, limits.tiny, limits.smallest_subnormal, limits.max, 2**24, 2**53], dtype
    )
    a, b = (m.ravel() for m in np.meshgrid(special, np.concatenate([special, -special])))
    with np.errstate(all="ignore"):
        near = RNG.integers(1, 2**22, 20_000).astype(dtype) * y[:20_000]
        steps = [np.nextafter(near, dtype(v)) for v in (np.inf, -np.inf)]
        tops = np.concatenate([x, a, near, *steps])
        bottoms = np.concatenate([y, b, *[y[:20_000]] * 3])
        wanted = np.fmod(tops, bottoms)
    got = run_in(mode, tandem.fmod, tensor(tops), tensor(bottoms)).numpy()
    same = (got.view(bits) == wanted.view(bits)) | (np.isnan(got) & np.isnan(wanted))
    assert same.all(), (tops[~same][:3], bottoms[~same][:3], got[~same][:3], wanted[~same][:3])


@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float16])
def test_halves_are_rounded_once(mode, dtype):
    x, y, z = (tensor(array(tandem.float32, 50)).to(dtype) for _ in range(3))
    wide = [t.float() for t in (x, y, z)]
    for f in (
        lambda x, y, z: tandem.addcmul(x, y, z, value=0.3),
        lambda x, y, z: tandem.addcdiv(x, y, z, value=0.3),
        lambda x, y, z: tandem.lerp(x, y, z),
        lambda x, y, z: tandem.lerp(x, y, 0.3),
    ):
        got = run_in(mode, f, x, y, z)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.float().numpy(), f(*wide).to(dtype).float().numpy())


@pytest.mark.parametrize("kernel", [2, 3])
def test_maxima_are_the_same_with_and_without_their_places(mode, kernel):
    x = tensor(array(tandem.float32, 2, 3, 40))
    x[0, 1, 7] = float("nan")
    alone = run_in(mode, lambda x: F.max_pool1d(x, kernel, 2), x)
    both = F.max_pool1d(x, kernel, 2, return_indices=True)[0]
    np.testing.assert_array_equal(alone.numpy(), both.numpy())
