"""Indexing, reading and writing, against NumPy, with gradients, in every mode."""

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem

BASE = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
MASK_ROWS = np.array([True, False, True, True])
MASK_PLANE = np.arange(20).reshape(4, 5) % 3 == 0
COLUMNS = np.array([0, 2, 2, -1])

VIEWS = {
    "int": 1,
    "negative": -2,
    "slice": slice(1, 3),
    "open slice": slice(None, -1),
    "step": (slice(None), slice(0, 5, 2)),
    "beyond": slice(2, 100),
    "empty": slice(3, 1),
    "none": (None, 1),
    "none after": (slice(1, 2), None),
    "ellipsis": (Ellipsis, 1),
    "ellipsis inside": (0, Ellipsis, slice(2, 4)),
    "two ints": (1, 2),
    "all ints": (1, 2, 3),
    "everything": (slice(None), slice(None), slice(None)),
    "nothing": (),
    "only ellipsis": Ellipsis,
    "numpy int": np.int64(2),
}
COPIES = {
    "list": [0, 2],
    "array": COLUMNS,
    "array second": (slice(None), COLUMNS),
    "array last": (Ellipsis, COLUMNS),
    "pair": (np.array([0, 1]), np.array([3, 4])),
    "broadcast pair": (np.array([[0], [1]]), np.array([3, 4, 0])),
    "pair behind": (slice(None), np.array([0, 1]), np.array([5, 4])),
    "separated": (np.array([0, 1]), slice(1, 3), np.array([5, 4])),
    "int and array": (1, COLUMNS),
    "array, int apart": (COLUMNS, slice(None), 2),
    "array and none": (COLUMNS, None),
    "matrix": np.array([[0, 1], [2, 3]]),
    "mask": MASK_ROWS,
    "mask of two dims": MASK_PLANE,
    "mask and int": (MASK_ROWS, 1),
    "mask behind": (slice(None), np.array([True, False, True, False, False])),
    "mask and array": (MASK_ROWS, np.array([0, 1, 2])),
    "mask of all": BASE % 7 == 0,
    "true": True,
    "false": False,
    "empty list": [],
}
# NumPy places an int beside arrays among them; PyTorch takes the int first.
NUMPY_DIFFERS = {"int and array": BASE[1][COLUMNS], "array, int apart": BASE[..., 2][COLUMNS]}


def ours(index):
    """The index with arrays as tensors."""
    if isinstance(index, tuple):
        return tuple(ours(i) for i in index)
    return tandem.from_numpy(np.ascontiguousarray(index)) if isinstance(index, np.ndarray) else index


def expected(name, index):
    if name in NUMPY_DIFFERS:
        return NUMPY_DIFFERS[name]
    return BASE[np.array(index, np.int64) if index == [] else index] if isinstance(index, list) else BASE[index]


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    x = tandem.from_numpy(BASE.copy())
    got, want = x[VIEWS[name]], BASE[VIEWS[name]]
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)
    assert got is not x and got._base is x


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    x = tandem.from_numpy(BASE.copy())
    got, want = x[ours(COPIES[name])], expected(name, COPIES[name])
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)
    assert got._base is None


def test_arrays_and_lists_index_as_they_are():
    x = tandem.from_numpy(BASE.copy())
    np.testing.assert_array_equal(x[COLUMNS].numpy(), BASE[COLUMNS])
    np.testing.assert_array_equal(x[MASK_ROWS].numpy(), BASE[MASK_ROWS])
    np.testing.assert_array_equal(x[[True, False, True, True]].numpy(), BASE[MASK_ROWS])
    np.testing.assert_array_equal(x[:, [1, 1]].numpy(), BASE[:, [1, 1]])


@pytest.mark.parametrize("dtype", [tandem.int8, tandem.int16, tandem.int32, tandem.int64])
def test_index_dtypes(dtype):
    x = tandem.from_numpy(BASE.copy())
    np.testing.assert_array_equal(x[tandem.tensor([3, 0], dtype=dtype)].numpy(), BASE[[3, 0]])


def test_zero_dim_tensors_select():
    x = tandem.from_numpy(BASE.copy())
    part = x[tandem.tensor(2)]
    assert part._base is x
    np.testing.assert_array_equal(part.numpy(), BASE[2])
    y = tandem.tensor(5.0)
    assert (
        y[...].item() == 5 and y[None].shape == (1,) and y[True].shape == (1,) and y[tandem.tensor(False)].shape == (0,)
    )


@pytest.mark.parametrize("name", [*VIEWS, *COPIES])
@pytest.mark.parametrize("kind", ["number", "tensor", "scalar tensor"])
def test_writes(name, kind):
    index = {**VIEWS, **COPIES}[name]
    x, want = tandem.from_numpy(BASE.copy()), BASE.copy()
    if name in NUMPY_DIFFERS:
        pytest.skip("covered by the reads: NumPy orders these dims otherwise")
    numpy_index = np.array(index, np.int64) if isinstance(index, list) else index
    shape = BASE[numpy_index].shape
    if kind == "number":
        value = numpy_value = -1.5
    elif kind == "scalar tensor":
        value, numpy_value = tandem.tensor(-1.5), -1.5
    else:
        numpy_value = np.arange(0.0, -np.prod(shape, dtype=int), -1, np.float32).reshape(shape)
        value = tandem.from_numpy(numpy_value.copy())
    x[ours(index)] = value
    want[numpy_index] = numpy_value
    # Of several values for one place the last one stays, as in NumPy.
    np.testing.assert_array_equal(x.numpy(), want)


def test_written_values_are_broadcast_and_converted():
    x = tandem.zeros(3, 4)
    x[1] = tandem.tensor([1, 2, 3, 4])
    x[:, 0] = tandem.full((1, 3), 7.0, dtype=tandem.float64)
    x[2, 1:] = [5, 6, 7]
    assert x.tolist() == [[7, 0, 0, 0], [7, 2, 3, 4], [7, 5, 6, 7]]
    i = tandem.zeros(3, dtype=tandem.int64)
    i[0] = 2.9
    i[tandem.tensor([False, True, True])] = 3.9
    assert i.tolist() == [2, 3, 3]


def test_augmented_assignment():
    x = tandem.zeros(3)
    x[1:] += 2
    x[tandem.tensor([0, 2])] -= 1
    assert x.tolist() == [-1, 2, 1]


def test_gradients_of_reads():
    for name, index in {**VIEWS, **COPIES}.items():
        x = tandem.from_numpy(BASE.copy()).requires_grad_()
        y = x[ours(index)]
        weight = tandem.arange(float(y.numel())).reshape(y.shape) + 1
        (y * weight).sum().backward()
        want = np.zeros_like(BASE)
        if name in NUMPY_DIFFERS:
            continue
        numpy_index = np.array(index, np.int64) if isinstance(index, list) else index
        np.add.at(want, numpy_index, weight.numpy())
        np.testing.assert_array_equal(x.grad.numpy(), want, err_msg=name)


def test_gradients_of_writes():
    x = tandem.ones(4, requires_grad=True)
    v = tandem.full((2,), 3.0, requires_grad=True)
    y = x * 2
    y[tandem.tensor([1, 3])] = v
    y[0] *= 5
    (y * tandem.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [10, 0, 6, 0]
    assert v.grad.tolist() == [2, 4]


def test_modes_agree(mode):
    def f(x, rows):
        y = x[1:, ::2].clone()
        y[:, 0] = x[0, 0]
        y[rows] = x[rows, :3] * 2
        y[y > 100] = -1.0
        y[..., -1] += 1
        return y[:, rows]

    x, rows = tandem.from_numpy(BASE.copy()), tandem.tensor([0, 2])
    assert_same_bits(run_in(mode, f, x, rows), f(x, rows))


def test_nonzero_and_masked_select():
    x = tandem.tensor([[0.0, 1.0], [2.0, 0.0]])
    assert x.nonzero().tolist() == [[0, 1], [1, 0]]
    assert [c.tolist() for c in tandem.nonzero(x, as_tuple=True)] == [[0, 1], [1, 0]]
    assert tandem.masked_select(x, x > 0).tolist() == [1, 2]
    assert x.masked_select(tandem.tensor([True, False])).tolist() == [0, 2]
    assert tandem.tensor(3.0).nonzero().shape == (1, 0)


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
@pytest.mark.parametrize(
    "shape", [(40000,), (300, 200), (20000, 2), (3, 7, 5, 600), (5, 40000), (0, 3), (4, 0)], ids=str
)
def test_nonzero_of_large_and_strided(shape, share):
    """Pieces of the work begin inside rows; the elements lie in any order."""
    mask = np.random.default_rng(3).random(shape) < share
    for given in (mask, mask[..., 1:]):
        found = tandem.from_numpy(given.copy()).nonzero()
        np.testing.assert_array_equal(found.numpy(), np.argwhere(given))
    turned = tandem.from_numpy(mask).transpose(0, -1)
    np.testing.assert_array_equal(turned.nonzero().numpy(), np.argwhere(turned.numpy()))
    thinned = tandem.from_numpy(np.repeat(mask, 2, -1))[..., ::2]
    np.testing.assert_array_equal(thinned.nonzero().numpy(), np.argwhere(mask))


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16, tandem.int64, tandem.bool], ids=str)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_scatter_reduce_prefers_in_order(reduce, dim, dtype):
    """NaN before all, of equal elements the first, as for zeros of two signs."""
    rng = np.random.default_rng(4)
    values = tandem.tensor(rng.choice([np.nan, 0.0, -0.0, -1.0, 2.0], (2, 30, 50)))
    x, src = (values if dtype.is_floating_point else values.nan_to_num()).to(dtype)
    places = tandem.from_numpy(rng.integers(0, x.shape[dim], x.shape))
    wanted = x.clone()
    for i, j in np.ndindex(*x.shape):
        at = (int(places[i, j]), j) if dim == 0 else (i, int(places[i, j]))
        old, new = wanted[at].item(), src[i, j].item()
        if old == old and (new != new or (new > old if reduce == "amax" else new < old)):
            wanted[at] = src[i, j]
    assert_same_bits(x.scatter_reduce(dim, places, src, reduce), wanted)


HALVES = [tandem.float16, tandem.bfloat16]


@pytest.mark.parametrize("dtype", [*HALVES, tandem.float32, tandem.int64, tandem.uint8], ids=str)
@pytest.mark.parametrize("dim", [0, 1])
def test_scatter_add_of_any_layout(dim, dtype):
    """In order, halves in float32, which are rounded at the end; index, source and input in any order of dims."""
    rng = np.random.default_rng(6)
    x = tandem.tensor(rng.integers(0, 99, (203, 331))).to(dtype) * 1.125
    src = tandem.tensor(rng.integers(0, 99, (170, 305))).to(x.dtype) * 1.5
    x, src = x.to(dtype), src.to(dtype)
    if dtype.is_floating_point:
        src[3, 3], src[4, 4], x[5, 5] = float("nan"), float("inf"), -0.0
    places = rng.integers(0, x.shape[dim], src.shape)
    wide = tandem.float32 if dtype in HALVES else dtype
    sums = x.to(wide).numpy().copy()
    at = (places, np.arange(src.shape[1])[None]) if dim == 0 else (np.arange(src.shape[0])[:, None], places)
    if dim == 0:
        np.add.at(sums, at, src.to(wide).numpy())
    else:
        np.add.at(sums.T, at[::-1], src.to(wide).numpy())
    index = tandem.from_numpy(places)
    wanted = tandem.from_numpy(sums).to(dtype)
    assert_same_bits(x.scatter_add(dim, index, src), wanted)
    turned = [t.t().contiguous().t() for t in (x, index, src)]
    assert_same_bits(turned[0].scatter_add(dim, turned[1], turned[2]), wanted)
    assert_same_bits(tandem.gather(turned[0], dim, turned[1]), tandem.gather(x, dim, index))


WRITES_AT = {
    "scatter": lambda x, dim, index, src: x.scatter(dim, index, src),
    "scatter_add": lambda x, dim, index, src: x.scatter_add(dim, index, src),
    **{
        reduce: lambda x, dim, index, src, reduce=reduce: x.scatter_reduce(dim, index, src, reduce)
        for reduce in ("prod", "amin", "amax", "mean")
    },
    "gather": lambda x, dim, index, src: x.gather(dim, index.clamp(max=x.shape[dim] - 1)),
}


@pytest.mark.parametrize(
    "dtype", [tandem.bfloat16, tandem.float32, tandem.float64, tandem.int64, tandem.uint8], ids=str
)
@pytest.mark.parametrize("name", WRITES_AT)
def test_expanded_indices_are_as_their_copies(name, dtype, threads):
    """One index for whole rows, or for sheets: the same bits as an index for each element."""
    rng = np.random.default_rng(7)
    write = WRITES_AT[name]
    for shape, count in [
        ((40, 30), 55),
        ((700, 48), 3000),
        ((3, 9, 5), 7),
        ((2, 3, 600), 800),
        ((1, 4), 6),
        ((5, 1), 9),
    ]:
        for dim in range(len(shape)):
            sources = [*shape]
            sources[dim] = count
            x = tandem.from_numpy(rng.integers(-9, 9, shape)).to(dtype)
            src = tandem.from_numpy(rng.integers(-9, 9, sources)).to(dtype)
            line = [count if d == dim else 1 for d in range(len(shape))]
            index = tandem.from_numpy(rng.integers(0, shape[dim], line)).expand(sources)
            wanted = write(x, dim, index.contiguous(), src)
            assert_same_bits(write(x, dim, index, src), wanted)
            order = [*range(1, len(shape)), 0]
            back = np.argsort(order).tolist()
            turned = [t.permute(order).contiguous().permute(back) for t in (x, src)]
            assert_same_bits(write(turned[0], dim, index, turned[1]), wanted)
            assert_same_bits(write(x[..., ::1], dim, index, src.flip(0).contiguous().flip(0)), wanted)


@pytest.mark.parametrize("dtype", [tandem.int64, tandem.int32], ids=str)
@pytest.mark.parametrize("bad", [None, -301, 300])
def test_large_strided_indices(bad, dtype):
    """Indices that lie in another order, some negative, and one that is out of range, which is named."""
    places = np.random.default_rng(7).integers(-300, 300, (300, 400))
    places[299, 5] = -1 if bad is None else bad
    x, index = tandem.arange(300.0), tandem.from_numpy(places).to(dtype).t()
    if bad is None:
        np.testing.assert_array_equal(x[index].numpy(), np.arange(300.0)[places.T])
    else:
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for dimension 0 with size 300"):
            x[index]


@pytest.mark.parametrize("places", [[], [2], [0, 1], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("more", [0, 2])
def test_masked_scatter_with_sources_of_any_length(mode, places, more):
    """A source may be empty, or longer than the mask asks; what is not asked for has no cotangent."""
    mask = tandem.zeros(3, dtype=tandem.bool)
    mask[places] = True
    source = tandem.arange(5.0)[: len(places) + more]

    def f(x, source):
        y = x.masked_scatter(mask, source)
        return y, *tandem.autograd.grad((y * tandem.tensor([1.0, 2.0, 3.0])).sum(), (x, source))

    y, x_grad, source_grad = run_in(mode, f, tandem.full((3,), 9.0).requires_grad_(), source.clone().requires_grad_())
    wanted = np.full(3, 9.0)
    wanted[places] = np.arange(len(places))
    np.testing.assert_array_equal(y.detach().numpy(), wanted)
    assert x_grad.tolist() == [0.0 if i in places else i + 1.0 for i in range(3)]
    assert source_grad.tolist() == [i + 1.0 for i in places] + [0.0] * more


def test_index_put():
    x = tandem.zeros(3)
    x.index_put_((tandem.tensor([0, 0, 2]),), tandem.tensor([1.0, 2.0, 3.0]), accumulate=True)
    assert x.tolist() == [3, 0, 3]
    assert x.index_put([tandem.tensor([1])], tandem.tensor(9.0)).tolist() == [3, 9, 3] and x[1].item() == 0


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float16, tandem.bfloat16, tandem.int64, tandem.bool], ids=str)
@pytest.mark.parametrize("shape", [(5, 7, 3), (5, 7, 40), (40, 600), (3, 2, 16), (2, 900, 1), (2, 900, 300)], ids=str)
def test_blocks_are_added_in_order(dtype, shape):
    """Blocks narrower and wider than those that are sorted by place; few and many, several to one place, some to
    none; x in place and not."""
    rng = np.random.default_rng(5)
    dim = len(shape) - 2
    for count in (1, 3, 50):
        places = rng.integers(0, shape[dim] - 1, count)
        places[count // 2 :] = places[0]
        x = tandem.tensor(rng.integers(0, 9, shape)).to(dtype)
        blocks = tandem.tensor(rng.integers(0, 9, (*shape[:dim], count, *shape[dim + 1 :]))).to(dtype) * 1.125
        blocks = blocks.to(dtype)
        # Sums of half types are rounded once, at the end.
        wide = tandem.float32 if dtype.is_floating_point else dtype
        wanted = x.to(wide).numpy().copy()
        for j, place in enumerate(places):
            at = (slice(None),) * dim + (int(place),)
            wanted[at] = wanted[at] + blocks.to(wide).numpy()[(slice(None),) * dim + (j,)]
        index = tandem.from_numpy(places)
        out = x.index_add(dim, index, blocks)
        assert out.dtype is dtype
        assert_same_bits(out, tandem.from_numpy(wanted).to(dtype))
        turned = x.transpose(0, -1).contiguous().transpose(0, -1)
        assert_same_bits(turned.index_add(dim, index, blocks), out)
        assert_same_bits(x.clone().index_add_(dim, index, blocks), out)


@pytest.mark.parametrize("dtype", [tandem.int64, tandem.int32, tandem.uint8, tandem.bool])
@pytest.mark.parametrize("places", [1, 1000, 90000])
def test_many_integers_are_added_to_few_places(dtype, places):
    tandem.manual_seed(0)
    count = 1_500_000
    index = tandem.randint(0, places, (count,))
    values = tandem.randint(0, 200, (count,)).to(dtype)
    x = tandem.randint(0, 100, (places,)).to(dtype)
    wanted = x.numpy().copy()
    np.add.at(wanted, index.numpy(), values.numpy())
    out = x.index_add(0, index, values)
    assert (out.numpy() == wanted).all()
    for mode in ("lazy", "compiled"):
        assert_same_bits(run_in(mode, lambda *a: a[0].index_add(0, a[1], a[2]), x, index, values), out)
    assert_same_bits(x.clone().index_add_(0, index, values), out)
    put = x.clone().index_put_((index - places,), values, accumulate=True)
    assert_same_bits(put, out)
    one = values[:1]
    wanted = x.numpy().copy()
    np.add.at(wanted, index.numpy(), one.numpy())
    assert (x.clone().index_put_((index,), one, accumulate=True).numpy() == wanted).all()
    assert (x.index_add(0, index, values.flip(0)).numpy() == x.index_add(0, index.flip(0), values).numpy()).all()
    if dtype == tandem.int64:
        assert (tandem.bincount(index).numpy() == np.bincount(index.numpy())).all()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize(
    "count, greatest", [(1, 0), (100, 7), (5000, 127), (70000, 100), (600_000, 120), (3000, 30000)]
)
def test_counts_of_integers_of_each_size(dtype, count, greatest):
    greatest = min(greatest, np.iinfo(dtype).max)
    x = np.random.default_rng(count).integers(0, greatest + 1, count).astype(dtype)
    t = tandem.from_numpy(x)
    counts = tandem.bincount(t)
    np.testing.assert_array_equal(counts.numpy(), np.bincount(x))
    for mode in ("lazy", "compiled"):
        assert_same_bits(run_in(mode, tandem.bincount, t), counts)
    twice = tandem.from_numpy(np.repeat(x, 2))[::2]
    np.testing.assert_array_equal(tandem.bincount(twice, minlength=300).numpy(), np.bincount(x, minlength=300))


@pytest.mark.parametrize("dtype", [tandem.int32, tandem.int64])
@pytest.mark.parametrize("places, count", [(10, 3), (10, 5000), (100_000, 5000)])
def test_an_index_out_of_range_adds_nothing(dtype, places, count):
    for wrong in (-1, places):
        index = tandem.zeros(count, dtype=dtype)
        index[count // 2] = wrong
        x = tandem.arange(places)
        with pytest.raises(IndexError, match=rf"index {wrong} is out of bounds for dimension 0 with size {places}"):
            x.index_add_(0, index, tandem.ones(count, dtype=tandem.int64))
        assert x.equal(tandem.arange(places))


def test_a_repeated_value_is_read_before_it_is_overwritten(mode):
    """`x[:] = x[0]` writes over its own value; a shifted part of x of the same shape stays refused."""

    def first(x):
        x[:] = x[0]
        return x

    def last_row(x):
        rows = x.view(2, 2)
        rows[:] = rows[1]
        return x

    def shifted(x):
        x[1:] = x[:-1]
        return x

    assert run_in(mode, lambda: first(tandem.tensor([3.0, 4.0, 5.0, 6.0]))).tolist() == [3, 3, 3, 3]
    assert run_in(mode, lambda: last_row(tandem.tensor([3.0, 4.0, 5.0, 6.0]))).tolist() == [5, 6, 5, 6]
    with pytest.raises(RuntimeError, match="single memory location"):
        run_in(mode, lambda: shifted(tandem.tensor([3.0, 4.0, 5.0, 6.0])))


def test_a_bool_alone_assigns_all_or_nothing(mode):
    """Converted and broadcast, as an assignment to a slice is."""

    def f(value, index):
        x = tandem.zeros(2, 3, dtype=tandem.float64)
        x[index] = value
        return x

    row = tandem.tensor([1, 2, 3], dtype=tandem.int32)
    assert run_in(mode, f, row, True).tolist() == [[1, 2, 3]] * 2
    assert run_in(mode, f, tandem.tensor([2.5]), True).tolist() == [[2.5] * 3] * 2
    assert run_in(mode, f, tandem.ones(1, 1, 1, 2, 3), True).tolist() == [[1] * 3] * 2
    assert run_in(mode, f, row, False).tolist() == [[0] * 3] * 2


ORDERS = [(0, 2, 3, 1), (3, 1, 0, 2), (1, 0, 2, 3), (0, 1, 3, 2), (2, 3, 1, 0)]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("dtype", [tandem.uint8, tandem.bfloat16, tandem.float32, tandem.float64], ids=str)
@pytest.mark.parametrize("shape", [(2, 9, 8, 11), (3, 40, 60, 50), (1, 300, 7, 200)], ids=str)
def test_reading_at_indices_of_arrays_in_any_order(shape, dtype, order):
    """Of fewer elements than a piece that is put in order at once and of more, cut along each dim; with gaps, and
    repeated along a dim; several indices side by side."""
    tandem.manual_seed(2)
    rows = tandem.randint(0, 200, shape).to(dtype)
    back = [order.index(d) for d in range(4)]
    lies = rows.permute(order).contiguous().permute(back)
    index = [tandem.randint(0, n, (m,)) for n, m in zip(shape, (5, 70, 33, 13), strict=True)]
    for d in range(4):
        assert_same_bits(lies.index_select(d, index[d]), rows.index_select(d, index[d]))
        places = (slice(None),) * d + (index[d],)
        assert_same_bits(lies[places], rows[places])
        gaps = (slice(None, None, 2),) * 4
        few = index[d] % ((shape[d] + 1) // 2)
        assert_same_bits(lies[gaps].index_select(d, few), rows[gaps].index_select(d, few))
        again = [1 if k == (d + 1) % 4 else n for k, n in enumerate(shape)]
        once = tuple(slice(None, n) for n in again)
        assert_same_bits(
            lies[once].expand(shape).index_select(d, index[d]), rows[once].expand(shape).index_select(d, index[d])
        )
    pair = (tandem.randint(0, shape[1], (3, 20)), tandem.randint(0, shape[2], (3, 20)))
    assert_same_bits(lies[:, pair[0], pair[1]], rows[:, pair[0], pair[1]])
    assert_same_bits(lies[pair[0] % shape[0], pair[0]], rows[pair[0] % shape[0], pair[0]])


@pytest.mark.parametrize("places", [10, 70_000, 300_000])
def test_long_lists_add_to_one_line_in_order(places, threads):
    """By one thread where the cache holds the line, else by several, each with places of its own."""
    index = tandem.randint(0, places, (150_000,))
    source = tandem.randn(150_000)
    want = np.zeros(places, np.float32)
    np.add.at(want, index.numpy(), source.numpy())
    assert_same_bits(tandem.zeros(places).scatter_add(0, index, source), tandem.from_numpy(want))
    largest = np.full(places, -np.inf, np.float32)
    np.maximum.at(largest, index.numpy(), source.numpy())
    got = tandem.full((places,), float("-inf")).scatter_reduce(0, index, source, "amax")
    assert_same_bits(got, tandem.from_numpy(largest))


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
def test_any_index_where_there_are_no_elements(mode):
    def f(x, rows, index):
        return (
            x.index_add(0, index, tandem.zeros(2, 4, 0)),
            x.index_copy(0, index, tandem.zeros(2, 4, 0)),
            x.index_fill(2, index, 1),
            rows[:, index],
            rows.index_put((tandem.tensor(0).new_zeros(0, 1).long(), index), tandem.zeros(0, 2)),
        )

    for index in ([0, 0], [5, -9]):
        found = run_in(mode, f, tandem.zeros(0, 4, 0), tandem.zeros(0, 3), tandem.tensor(index))
        assert [tuple(t.shape) for t in found] == [(0, 4, 0)] * 3 + [(0, 2), (0, 3)]
    with pytest.raises(IndexError):
        tandem.zeros(0, 3)[tandem.tensor([0])]
    with pytest.raises(IndexError):
        tandem.zeros(2, 0)[:, tandem.tensor([0])]
