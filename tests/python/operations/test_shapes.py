"""Shapes, joins, windows and indices beyond what the table of operations asks: modes, duplicates, NaN, errors."""

import itertools
import warnings

import numpy as np
import pytest
from compiling import counting
from conftest import run_in

import tandem
import tandem.nn.functional as F


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_unique_is_traced_once_for_each_size(dim):
    f = counting(lambda x: tandem.unique(x, return_inverse=True, return_counts=True, dim=dim))
    for rows in ([[1, 2], [1, 2], [3, 4]], [[5, 6], [9, 8], [5, 6]], [[4, 0], [4, 0], [2, 1]]):
        values, inverse, counts = f(tandem.tensor(rows))
        wanted = np.unique(np.array(rows), return_inverse=True, return_counts=True, axis=dim)
        assert values.tolist() == wanted[0].tolist()
        assert inverse.reshape(-1).tolist() == wanted[1].reshape(-1).tolist()
        assert counts.tolist() == wanted[2].tolist()
    assert f.runs == 1


def test_unique_of_truths(mode):
    for values in ([True, False, True], [True, True], [False], [[False, True], [False, False]]):
        f = lambda x: tandem.unique(x, return_inverse=True, return_counts=True)  # noqa: E731
        for got, want in zip(
            run_in(mode, f, tandem.tensor(values)),
            np.unique(values, return_inverse=True, return_counts=True),
            strict=True,
        ):
            np.testing.assert_array_equal(got.numpy(), want)
        assert tandem.unique(tandem.tensor(values)).dtype == tandem.bool


def test_unique_keeps_every_nan():
    values, counts = tandem.unique(tandem.tensor([float("nan"), 1, float("nan"), 1]), return_counts=True)
    assert values.isnan().tolist() == [False, True, True]
    assert counts.tolist() == [2, 1, 1]


def test_one_result_is_a_tensor_and_several_are_a_tuple():
    x = tandem.tensor([2, 1, 2])
    assert isinstance(tandem.unique(x), tandem.Tensor)
    assert [type(t) for t in x.unique_consecutive(True)] == [tandem.Tensor] * 2


def test_a_size_that_is_given_is_not_read():
    f = tandem.compile(lambda x, n: x.repeat_interleave(n, 0, output_size=4))
    x = tandem.arange(6.0).reshape(3, 2)
    for n in ([1, 2, 1], [0, 4, 0], [2, 0, 2]):
        assert f(x, tandem.tensor(n)).tolist() == np.repeat(x.numpy(), n, 0).tolist()


def test_split_places_may_come_from_a_tensor(mode):
    def f(x, at):
        return [piece.sum() for piece in tandem.tensor_split(x, at)]

    x = tandem.arange(10.0)
    run = tandem.compile(f) if mode == "compiled" else f
    for at in ([2, 5], [2, 5], [0, 9]):
        got = run(x, tandem.tensor(at))
        assert [t.item() for t in got] == [p.sum() for p in np.array_split(x.numpy(), at)]


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amin", "amax"])
def test_gradients_of_duplicates(reduce):
    tandem.manual_seed(0)
    index = tandem.tensor([[0, 0, 2, 2, 2], [1, 1, 1, 1, 0]])
    for own in (True, False):
        x, src = (tandem.randn(2, n, dtype=tandem.float64, requires_grad=True) for n in (3, 5))

        def f(x, src, own=own):
            return tandem.scatter_reduce(x, 1, index, src, reduce, include_self=own)

        tandem.autograd.gradcheck(f, (x, src))
        tandem.autograd.gradgradcheck(f, (x, src), atol=1e-4)


def test_ties_share_the_gradient_of_an_extremum():
    x = tandem.tensor([3.0, 0.0], requires_grad=True)
    src = tandem.tensor([3.0, 1.0, 3.0], requires_grad=True)
    tandem.scatter_reduce(x, 0, tandem.tensor([0, 0, 0]), src, "amax").sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / 3, 1])
    np.testing.assert_allclose(src.grad.numpy(), [1 / 3, 0, 1 / 3])


def test_zeros_in_a_product():
    x = tandem.ones(2, dtype=tandem.float64, requires_grad=True)
    src = tandem.tensor([0.0, 2.0, 3.0], dtype=tandem.float64, requires_grad=True)
    f = tandem.scatter_reduce
    index = tandem.tensor([0, 0, 0])
    tandem.autograd.gradcheck(lambda x, s: f(x, 0, index, s, "prod"), (x, src))
    tandem.autograd.gradgradcheck(lambda x, s: f(x, 0, index, s, "prod"), (x, src))


def test_an_index_twice_counts_once_in_the_gradient_of_a_fill():
    value = tandem.tensor(2.0, requires_grad=True)
    tandem.zeros(4).index_fill(0, tandem.tensor([1, 1, 3]), value).sum().backward()
    assert value.grad.item() == 2


def test_in_place_and_keyword_forms():
    index = tandem.tensor([[0, 2]])
    assert tandem.zeros(1, 3).scatter_(1, index, value=4.0).tolist() == [[4, 0, 4]]
    assert tandem.ones(1, 3).scatter_(1, index, 3.0, reduce="multiply").tolist() == [[3, 1, 3]]
    assert tandem.ones(3).put_(tandem.tensor([0, 0]), tandem.tensor([1.0, 2.0]), accumulate=True).tolist() == [4, 1, 1]
    assert tandem.isin(elements=tandem.tensor([1, 2]), test_elements=2).tolist() == [False, True]
    out = tandem.empty(0)
    assert tandem.hstack((tandem.ones(1), tandem.zeros(1)), out=out) is out
    assert out.tolist() == [1, 0]


@pytest.mark.parametrize("count", [1, 3, 16, 64, 65])
@pytest.mark.parametrize("elements", [5, 40_000])  # of many, few values are compared; else they are searched
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_isin(count, elements, dtype):
    rng = np.random.default_rng(count)
    x = rng.integers(0, 200, elements).astype(dtype)
    among = rng.integers(0, 200, count).astype(dtype)
    if dtype == "float32":
        among[-1] = x[0] = np.nan
        x[1:3] = -0.0, 0.0
        among[0] = 0.0 if count > 1 else np.nan
    arguments = tandem.from_numpy(x).reshape(-1, 5), tandem.from_numpy(among)
    for invert in (False, True):
        run = tandem.compile(lambda *a, invert=invert: tandem.isin(*a, invert=invert))
        with tandem.lazy():
            recorded = tandem.isin(*arguments, invert=invert)
        for found in (tandem.isin(*arguments, invert=invert), recorded, run(*arguments)):
            assert np.array_equal(found.numpy(), np.isin(x, among, invert=invert).reshape(-1, 5))


def test_promotion():
    halves = tandem.ones(1, dtype=tandem.float16)
    assert tandem.vstack([halves, tandem.ones(1, dtype=tandem.int64)]).dtype is tandem.float16
    assert tandem.block_diag(halves, tandem.ones(1, 1)).dtype is tandem.float32
    assert tandem.searchsorted(tandem.tensor([1, 2, 3]), 2.5, right=True).item() == 2
    assert tandem.linspace(0, 10, 5, dtype=tandem.int64).tolist() == [0, 2, 5, 7, 10]
    assert tandem.logspace(0, 3, 4, dtype=tandem.int64).tolist() == [1, 10, 100, 1000]


X = tandem.arange(6.0).reshape(2, 3)
ERRORS = [
    (lambda: tandem.hsplit(X, 2), RuntimeError, "hsplit attempted to split along dimension 1, but the size of the dim"),
    (lambda: tandem.dsplit(X, 1), RuntimeError, "dsplit requires a tensor with at least 3 dimension"),
    (lambda: tandem.tensor_split(X, 0), RuntimeError, "number of sections must be larger than 0, got 0"),
    (lambda: tandem.roll(X, (1, 2)), RuntimeError, "shifts and dimensions must align. shifts: 2, dims:0"),
    (lambda: tandem.rot90(X, 1, [0]), RuntimeError, "expected total rotation dims == 2, but got dims = 1"),
    (lambda: tandem.diag(X[None]), RuntimeError, r"diag\(\): Supports 1D or 2D tensors. Got 3D"),
    (lambda: tandem.select_scatter(X, X, 0, 0), RuntimeError, "expected src to have a size equal to the slice of self"),
    (lambda: X.sum_to_size(4), RuntimeError, "is not expandable to size"),
    (lambda: tandem.meshgrid(X), RuntimeError, "Expected 0D or 1D tensor"),
    (lambda: tandem.take(X, tandem.tensor([9])), IndexError, "tried to access index 9 on a tensor of 6 elements"),
    (lambda: tandem.take(X, tandem.tensor(-7)), IndexError, "tried to access index -7 on a tensor of 6 elements"),
    (lambda: X.put(tandem.tensor([9]), X[0, :1]), IndexError, "tried to access index 9 on a tensor of 6 elements"),
    (lambda: tandem.gather(X, 0, tandem.tensor([0])), RuntimeError, "the same number of dimensions as input"),
    (lambda: tandem.gather(X, 0, tandem.zeros(1, 4).long()), RuntimeError, "to be no larger than self"),
    (lambda: X.scatter(1, tandem.tensor([[0, 0]]), tandem.ones(1, 1)), RuntimeError, "no larger size than src"),
    (lambda: tandem.scatter_reduce(X, 1, tandem.tensor([[0]]), X, "max"), RuntimeError, "reduce argument must be"),
    (lambda: X.index_fill(0, tandem.tensor([0.0]), 1), IndexError, "Expected dtype int64 for index"),
    (lambda: X.index_copy(1, tandem.tensor([0]), X), IndexError, "Number of indices .1. should be equal"),
    (lambda: X.repeat_interleave(tandem.tensor([-1, 2]), 0), RuntimeError, "repeats can not be negative"),
    (lambda: X.repeat_interleave(tandem.tensor([1, 2, 3]), 0), RuntimeError, "repeats must have the same size"),
    (lambda: tandem.searchsorted(X[0], X, side="left", right=True), RuntimeError, "can't be set to opposites"),
    (lambda: tandem.linspace(0, tandem.ones(2), 3), RuntimeError, "only supports 0-dimensional start and end tensors"),
    (lambda: tandem.multinomial(tandem.ones(2), 3), RuntimeError, "cannot sample n_sample > prob_dist.size"),
]


@pytest.mark.parametrize("call, error, text", ERRORS)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_indices_of_triangles(name):
    for rows, columns, offset in itertools.product(
        (0, 1, 3, 4), (0, 1, 3, 5), (-(2**62), -5, -3, -1, 0, 1, 3, 6, 2**62)
    ):
        near = max(-10, min(offset, 10))
        want = np.array(getattr(np, name)(rows, near, columns))
        np.testing.assert_array_equal(getattr(tandem, name)(rows, columns, offset).numpy(), want)
    last = 2**40 - 1
    corner = getattr(tandem, name)(2**40, 2**40, -last if name == "tril_indices" else last)
    assert corner.tolist() == ([[last], [0]] if name == "tril_indices" else [[0], [last]])
    assert getattr(tandem, name)(2**62, 0).shape == (2, 0)
    for size in (2**40, 2**63 - 1):
        with pytest.raises(RuntimeError, match=f"{name}: the indices of {size} rows and {size} columns are too many"):
            getattr(tandem, name)(size, size)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
@pytest.mark.parametrize("rows", [3, 40_000])
def test_short_rows_are_joined_and_turned(dtype, rows):
    """Runs of 1 to 88 bytes, since lengths are copied in several ways; few rows, and so many that work is shared."""
    rng = np.random.default_rng(2)
    widths = [1, 2, 3, 4, 5, 7, 8, 9, 11] if rows == 3 else [1, 3, 5, 9, 11]
    parts = [rng.integers(0, 200, (rows, width)).astype(dtype) for width in widths]
    joined = tandem.cat([tandem.from_numpy(part) for part in parts], 1)
    np.testing.assert_array_equal(joined.numpy(), np.concatenate(parts, 1))
    pair = tandem.cat([tandem.from_numpy(parts[1]), tandem.from_numpy(parts[-1])], 1)
    np.testing.assert_array_equal(pair.numpy(), np.concatenate([parts[1], parts[-1]], 1))
    for part in parts:
        np.testing.assert_array_equal(tandem.from_numpy(part).flip(1).numpy(), part[:, ::-1])
        np.testing.assert_array_equal(tandem.from_numpy(part).flip(0, 1).numpy(), part[::-1, ::-1])


TOP = 2**62


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tandem.repeat_interleave(tandem.tensor([TOP] * 4)), "the sum of repeats overflows int64"),
        (lambda: tandem.zeros(4).repeat_interleave(tandem.tensor([TOP] * 4)), "the sum of repeats overflows int64"),
        (lambda: tandem.zeros(4).repeat_interleave(tandem.tensor([TOP] * 4), output_size=0), "output_size is not"),
        (lambda: tandem.zeros(2).repeat_interleave(tandem.tensor([3, -1]), output_size=2), "output_size is not"),
        (lambda: tandem.repeat_interleave(tandem.tensor([3, -1])), "repeats can not be negative"),
        (lambda: tandem.zeros(0, 4).repeat_interleave(TOP, dim=1), "overflows int64"),
        (lambda: tandem.zeros(0, 4).repeat(1, TOP), "overflows int64"),
        (lambda: tandem.zeros(0, 4).tile((1, TOP)), "overflows int64"),
        (lambda: tandem.cat([tandem.zeros(0, TOP)] * 3, 1), "overflow int64"),
        (lambda: tandem.cat([tandem.zeros(TOP, 0)] * 2), "overflow int64"),
        (lambda: tandem.zeros(0, 2**40, 2**40).flatten(1), "overflows int64"),
        (lambda: tandem.linspace(0, 1, TOP), "overflows int64"),
        (lambda: tandem.logspace(0, 1, TOP), "overflows int64"),
        (lambda: F.max_pool1d(tandem.zeros(1, 1, 4), 5, dilation=TOP), "overflows int64"),
        (lambda: F.conv1d(tandem.zeros(1, 1, 4), tandem.zeros(1, 1, 5), dilation=TOP), "overflows int64"),
        (lambda: F.conv_transpose1d(tandem.zeros(1, 1, 5), tandem.zeros(1, 1, 1), stride=TOP), "overflows int64"),
    ],
)
def test_sizes_that_overflow(call, text, mode):
    """No size wraps to a small or negative one, also where the result has no elements."""
    with pytest.raises(RuntimeError, match=text):
        run_in(mode, call)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("dtype", ["uint8", "bool", "int16", "float16", "float32", "float64"])
def test_flip_of_short_rows(dtype, width):
    for rows in (0, 1, 4, 5, 6, 17, 40001):
        x = np.random.default_rng(rows).integers(0, 2 if dtype == "bool" else 99, (rows, width)).astype(dtype)
        t = tandem.tensor(x)
        np.testing.assert_array_equal(t.flip(1).numpy(), x[:, ::-1])
        np.testing.assert_array_equal(t.flip(0, 1).numpy(), x[::-1, ::-1])
        np.testing.assert_array_equal(t[1:].flip(-1).numpy(), x[1:, ::-1])
        np.testing.assert_array_equal(t[:, 1:].flip(-1).numpy(), x[:, :0:-1])
        np.testing.assert_array_equal(t[None].flip(2).numpy(), x[None, :, ::-1])


def test_dims_of_numbers_move_nowhere():
    for x in (tandem.tensor(2.5), tandem.tensor(3)):
        for move in (tandem.movedim, tandem.moveaxis):
            assert move(x, 0, 0).item() == move(x, -1, 0).item() == move(x, (), ()).item() == x.item()
            with pytest.raises(IndexError, match="Dimension out of range"):
                move(x, 1, 0)


def test_blocks_have_the_dtype_of_their_promotion():
    small, number = tandem.tensor([1, 2], dtype=tandem.uint8), tandem.tensor(7)
    assert tandem.block_diag(small, number).dtype == tandem.uint8
    assert tandem.block_diag(small, number).tolist() == [[1, 2, 0], [0, 0, 7]]
    assert tandem.block_diag(number, tandem.tensor(1.5)).dtype == tandem.float32
    assert tandem.block_diag(small, number.reshape(1)).dtype == tandem.int64


def test_integrals_of_small_integers():
    y = tandem.tensor([200, 100, 250], dtype=tandem.uint8)
    assert tandem.trapezoid(y).item() == tandem.trapezoid(y, tandem.arange(3)).item() == 325
    assert tandem.cumulative_trapezoid(y).tolist() == [150, 325]


def test_a_number_is_its_own_transpose():
    x = tandem.tensor(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert x.mT.item() == x.mH.item() == x.adjoint().item() == x.H.item() == 3
    with pytest.raises(RuntimeError, match="Got 1-D tensor"):
        _ = tandem.ones(2).mT
    with pytest.raises(RuntimeError, match="Got 1-D tensor"):
        tandem.ones(2).adjoint()
    with pytest.raises(IndexError, match="has no dimensions"):
        x.unbind()


def test_a_reshape_that_copies_is_no_view(mode):
    x = tandem.arange(6.0).reshape(2, 3)
    assert run_in(mode, lambda: x.reshape(6))._base is not None
    for copy in (lambda: x.t().reshape(6), lambda: x.t().flatten()):
        assert run_in(mode, copy)._base is None
    tracked = tandem.ones(2, 3, requires_grad=True)
    y = tracked.t().reshape(6)
    y.mul_(tandem.arange(6.0))
    y.sum().backward()
    assert tracked.grad.tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("join", [tandem.cat, tandem.hstack])
def test_vectors_of_no_elements_that_are_left_out_get_gradients(join, mode):
    def step(none, x, again):
        y = join([none, x, again])
        return y, tandem.autograd.grad((y * y).sum(), [none, x, again])

    none, again = tandem.ones(0, requires_grad=True), tandem.ones(0, dtype=tandem.float64, requires_grad=True)
    for x in (tandem.rand(2, 3), tandem.rand(2, 3, 2, 2).to(memory_format=tandem.channels_last), tandem.rand(4)):
        y, grads = run_in(mode, step, none, x.requires_grad_(), again)
        assert y.dtype is tandem.float64 and y.equal(x.double()) and y.is_contiguous()
        assert grads[0].shape == grads[2].shape == (0,) and grads[0].dtype is tandem.float32
        assert grads[1].equal(2 * x.detach()) and grads[2].dtype is tandem.float64
    y, grads = run_in(mode, step, none, none, again)
    assert y.shape == (0,) and all(g.shape == (0,) for g in grads)
