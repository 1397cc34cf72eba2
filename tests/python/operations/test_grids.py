"""Functions of values on grids: gradient, histogram, histogramdd, unravel_index, segment_reduce, windows."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import run_in

import tandem
from tandem import tensor
from tandem.autograd import gradcheck, gradgradcheck

RNG = np.random.default_rng(5)
X = RNG.normal(size=(4, 5, 3))
POINTS = [np.sort(RNG.uniform(0, 9, size=n)) for n in X.shape]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dims", [(0, 1, 2), (1,), (2, -3)])
@pytest.mark.parametrize("kind", ["none", "number", "numbers", "coordinates"])
def test_gradient(kind, dims, order, mode):
    numbers = [0.5, 2.0, 3.0]
    each = {
        "none": [1.0] * len(dims),
        "number": [0.25] * len(dims),
        "numbers": [numbers[d] for d in dims],
        "coordinates": [POINTS[d] for d in dims],
    }[kind]
    spacing = {"none": None, "number": 0.25}.get(kind, [tensor(e) if kind == "coordinates" else e for e in each])
    got = run_in(mode, lambda x: tandem.gradient(x, spacing=spacing, dim=dims, edge_order=order), tensor(X))
    want = np.gradient(X, *each, axis=dims, edge_order=order)
    assert isinstance(got, tuple) and len(got) == len(dims)
    for g, w in zip(got, [want] if len(dims) == 1 else want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-12)


def test_gradient_dtypes_and_its_derivatives():
    (whole,) = tandem.gradient(tensor([1, 4, 9, 16]), spacing=tensor(2))
    assert whole.dtype is tandem.float32 and whole.tolist() == [1.5, 2.0, 3.0, 3.5]
    assert tandem.gradient(tensor([1.0, 4.0]).half())[0].dtype is tandem.float16
    assert tandem.gradient(tensor(1.0)) == () == tandem.gradient(tensor(X), dim=())
    x, p = tensor(X[:, :, 0]).requires_grad_(), tensor(POINTS[1]).requires_grad_()
    assert gradcheck(lambda x, p: tandem.gradient(x, spacing=[p], dim=1, edge_order=2), (x, p))
    assert gradgradcheck(lambda x: tandem.gradient(x.square(), edge_order=2), (x,))


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
def test_histogram(dtype, mode):
    x = tensor(RNG.normal(size=(50, 4))).to(dtype)
    weight = tensor(RNG.uniform(size=(50, 4))).to(dtype)
    edges = tandem.linspace(-1, 2, 9, dtype=dtype)
    for kwargs in ({}, {"density": True}, {"weight": weight, "density": True}, {"weight": weight}):
        own = {"density": kwargs.get("density", False), "weights": weight.numpy() if "weight" in kwargs else None}
        for bins, limits in ((7, None), (5, (-1.0, 0.5)), (edges, None)):
            given = kwargs if limits is None else {**kwargs, "range": limits}
            hist, at = run_in(mode, lambda x, b=bins, g=given: tuple(tandem.histogram(x, b, **g)), x)
            want, ends = np.histogram(x.numpy(), bins if isinstance(bins, int) else bins.numpy(), limits, **own)
            assert hist.dtype is at.dtype is dtype
            np.testing.assert_allclose(hist, want, rtol=1e-5)
            np.testing.assert_allclose(at, ends, rtol=1e-6, atol=1e-6)


def test_edges_of_histograms():
    x = tensor([0.0, 1.0, 2.0, float("nan"), float("inf"), -1.0])
    assert tandem.histogram(x, tensor([0.0, 1.0, 2.0])).hist.tolist() == [1.0, 2.0]
    assert tandem.histogram(tandem.ones(3), 2).bin_edges.tolist() == [0.5, 1.0, 1.5]
    empty = tandem.histogram(tandem.zeros(0), 2)
    assert empty.hist.tolist() == [0.0, 0.0] and empty.bin_edges.tolist() == [0.0, 0.5, 1.0]
    out = (tandem.zeros(2), tandem.zeros(3))
    given = tandem.histogram(tensor([0.0, 1.0, 1.0]), 2, out=out)
    assert out[0].tolist() == [1.0, 2.0] and given.hist is out[0] and given.bin_edges is out[1]
    # An element at an edge counts where the edge that is returned says.
    tenths = tandem.arange(11.0) / 10
    hist, edges = tandem.histogram(tenths, 10)
    assert hist.tolist() == np.histogram(tenths.numpy(), edges.numpy())[0].tolist()
    assert not tandem.histogram(tandem.rand(3).requires_grad_(), 2).hist.requires_grad


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("count", [1, 10, 333])
def test_histogram_of_many_points(dtype, count, mode):
    """Bins of one width are computed, and are those between the edges that are returned."""
    x = tensor(RNG.normal(size=70000)).to(dtype)
    x[:4000] = (x[:4000] * 100).round() / 100
    weight = tensor(RNG.uniform(size=70000)).to(dtype)
    odd = x.clone()
    odd[::100], odd[5], odd[7] = float("nan"), float("inf"), -float("inf")
    for points, limits in ((x, None), (x, (-1.0, 0.5)), (odd, (-1.0, 2.0)), (x, (0.5, 0.5))):
        given = {} if limits is None else {"range": limits}
        for kwargs in ({}, {"weight": weight}):
            hist, edges = run_in(mode, lambda x, k=kwargs, g=given: tuple(tandem.histogram(x, count, **k, **g)), points)
            ends = edges.numpy()
            inside = (points.numpy() >= ends[0]) & (points.numpy() <= ends[-1])
            weights = weight.double().numpy()[inside] if kwargs else None
            want = np.histogram(points.numpy()[inside], ends, weights=weights)[0]
            np.testing.assert_allclose(hist.numpy(), want, rtol=1e-4 if kwargs else 0)


def test_histogramdd(mode):
    x, weight = tensor(RNG.normal(size=(6, 20, 3))), tensor(RNG.uniform(size=(6, 20)))
    flat = x.numpy().reshape(-1, 3)
    cases = [
        ({"bins": 4}, {"bins": 4}),
        ({"bins": [2, 3, 4], "density": True}, {"bins": [2, 3, 4], "density": True}),
        (
            {"bins": 3, "weight": weight, "range": (-1.0, 1.0, -2.0, 0.0, 0.0, 3.0)},
            {"bins": 3, "weights": weight.numpy().ravel(), "range": [(-1.0, 1.0), (-2.0, 0.0), (0.0, 3.0)]},
        ),
        ({"bins": [tensor(p) - 4 for p in POINTS]}, {"bins": [p - 4 for p in POINTS]}),
    ]
    for ours, theirs in cases:
        hist, *edges = run_in(mode, lambda x, k=ours: (lambda h: (h.hist, *h.bin_edges))(tandem.histogramdd(x, **k)), x)
        want, ends = np.histogramdd(flat, **theirs)
        np.testing.assert_allclose(hist, want, rtol=1e-9, atol=1e-12)
        for e, w in zip(edges, ends, strict=True):
            np.testing.assert_allclose(e, w, rtol=1e-12, atol=1e-12)


def test_unravel_index(mode):
    places = tandem.arange(24).reshape(4, 6)
    for shape in ((2, 3, 4), (24,), (1, 24, 1)):
        got = run_in(mode, lambda p, s=shape: tandem.unravel_index(p, s), places)
        for g, w in zip(got, np.unravel_index(places.numpy(), shape), strict=True):
            assert g.dtype is tandem.int64 and g.tolist() == w.tolist()
    assert [t.item() for t in tandem.unravel_index(tensor(7, dtype=tandem.int8), tandem.zeros(3, 4).shape)] == [1, 3]
    assert tandem.unravel_index(tensor(3), 8)[0].item() == 3 and tandem.unravel_index(tensor(0), ()) == ()
    assert tandem.unravel_index(tandem.zeros(0, dtype=tandem.int64), (0, 2))[1].shape == (0,)


FUNCTIONS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
LENGTHS = [[2, 3], [0, 5], [5, 0], [1, 4]]


@pytest.mark.parametrize("initial", [None, 0.75])
@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_segment_reduce(kind, initial, mode):
    nothing = {"sum": 0.0, "mean": np.nan, "max": -np.inf, "min": np.inf, "prod": 1.0}[kind]
    want = np.empty((4, 2, 3))
    for row, lengths in enumerate(LENGTHS):
        for s, part in enumerate(np.split(X[row], [lengths[0]])):
            if kind == "mean":
                total = part.sum(0) + (initial or 0.0)
                want[row, s] = total / len(part) if len(part) else (nothing if initial is None else initial)
            elif initial is None:
                want[row, s] = FUNCTIONS[kind](part, 0) if len(part) else nothing
            else:
                want[row, s] = FUNCTIONS[kind](np.concatenate([part, np.full((1, 3), initial)]), 0)
    lengths = tensor(LENGTHS)
    offsets = tandem.cat((tandem.zeros(4, 1, dtype=tandem.int64), lengths.cumsum(1)), 1)
    for given in ({"lengths": lengths}, {"lengths": lengths.int()}, {"offsets": offsets}):

        def body(x, given=given):
            return tandem.segment_reduce(x, kind, axis=1, initial=initial, **given)

        np.testing.assert_allclose(run_in(mode, body, tensor(X)), want, rtol=1e-10)
    filled = tensor([[2, 3], [1, 4], [4, 1], [1, 4]])
    x = tensor(X).requires_grad_()
    assert gradcheck(lambda x: tandem.segment_reduce(x, kind, axis=1, initial=initial, lengths=filled), (x,))


def test_gaps_between_segments():
    x = tandem.arange(6.0)
    assert tandem.segment_reduce(x, "sum", offsets=tensor([1, 3, 5])).tolist() == [3.0, 7.0]
    assert tandem.segment_reduce(x, "sum", lengths=tensor([2, 1]), unsafe=True).tolist() == [1.0, 2.0]
    assert tandem._segment_reduce(x, "amax", offsets=tensor([1, 3, 5])).tolist() == [2.0, 4.0]
    halves = tandem.full((4096,), 0.5, dtype=tandem.float16)
    total = tandem.segment_reduce(halves, "sum", lengths=tensor([4096]))
    assert total.dtype is tandem.float16 and total.item() == 2048.0
    for dtype in (tandem.float32, tandem.float64, tandem.bfloat16):
        rows = tandem.ones(2, 4, 3, dtype=dtype)
        assert tandem.segment_reduce(rows, "sum", axis=1, lengths=tensor([[1, 3], [2, 2]])).is_contiguous()
    nan = tandem.segment_reduce(tensor([1.0, float("nan"), 2.0]), "max", lengths=tensor([2, 1]), initial=1.5)
    assert np.isnan(nan[0].item()) and nan[1].item() == 2.0


def test_kaiser_window(mode):
    for length in (1, 2, 7, 64):
        for beta in (0.0, 5.5, 12.0, 900.0):
            own = run_in(mode, lambda n=length, b=beta: tandem.kaiser_window(n, False, b, dtype=tandem.float64))
            if beta < 700:
                np.testing.assert_allclose(own, np.kaiser(length, beta), rtol=1e-11, atol=1e-15)
            assert own.isfinite().all()
            longer = tandem.kaiser_window(length + 1, False, beta, dtype=tandem.float64)
            if length > 1:
                assert tandem.equal(tandem.kaiser_window(length, beta=beta, dtype=tandem.float64), longer[:-1])
    assert tandem.kaiser_window(0).shape == (0,) and tandem.kaiser_window(3, requires_grad=True).requires_grad
    assert tandem.kaiser_window(3).dtype is tandem.float32


WINDOWS = [
    *((name, {}, ()) for name in "bartlett blackman cosine hamming hann nuttall".split()),
    ("exponential", {"tau": 3.0}, (None, 3.0)),
    ("gaussian", {"std": 2.5}, (2.5,)),
    ("kaiser", {"beta": 4.0}, (4.0,)),
    ("general_cosine", {"a": [0.3, 0.4, 0.1]}, ([0.3, 0.4, 0.1],)),
    ("general_hamming", {"alpha": 0.75}, (0.75,)),
]


@pytest.mark.parametrize(("name", "options", "more"), WINDOWS, ids=[w[0] for w in WINDOWS])
def test_signal_windows(name, options, more, mode):
    windows = pytest.importorskip("scipy.signal.windows")
    ours = getattr(tandem.signal.windows, name)
    for length in (0, 1, 2, 6, 7):
        for sym in (True, False):
            got = run_in(mode, lambda n=length, s=sym: ours(n, sym=s, dtype=tandem.float64, **options))
            want = getattr(windows, name)(length, *more, sym=sym)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
            single = ours(length, sym=sym, **options)
            assert single.dtype is tandem.float32 and tandem.equal(single, got.float())
    assert ours(3, requires_grad=True, **options).requires_grad
    with pytest.raises(ValueError, match="non-negative window length, got M=-1"):
        ours(-1, **options)
    with pytest.raises(ValueError, match="float32 or float64 dtypes, got: tandem.int64"):
        ours(3, dtype=tandem.int64, **options)


def test_vandermonde_matrices(mode):
    for x in (X[:, :, 0], X[0, 0], np.array([[2, -3], [0, 1]], np.int8)):
        got = run_in(mode, lambda x: tandem.linalg.vander(x, N=4), tensor(x))
        np.testing.assert_allclose(got, x[..., None].astype(got.numpy().dtype) ** np.arange(4), rtol=1e-12)
        assert got.dtype is (tandem.float64 if x.dtype == np.float64 else tandem.int64)
    assert tandem.linalg.vander(tensor(X)).shape == (4, 5, 3, 3)
    assert tandem.linalg.vander(tensor(3.0), N=3).tolist() == [[1.0, 3.0, 9.0]]
    assert gradcheck(lambda x: tandem.linalg.vander(x, N=3), (tensor(X[0]).requires_grad_(),))


V = tandem.arange(4.0)
ERRORS = [
    (lambda: tandem.gradient(V.to(tandem.uint8)), RuntimeError, "does not support uint8"),
    (lambda: tandem.gradient(V.bool()), RuntimeError, "bool"),
    (lambda: tandem.gradient(tandem.ones(3, 3), spacing=[1.0]), RuntimeError, "but got a list of length 1"),
    (lambda: tandem.gradient(tandem.ones(3, 3), spacing=[1.0], dim=(0, 1)), RuntimeError, "a dim argument of length 2"),
    (lambda: tandem.gradient(V, edge_order=3), RuntimeError, "edge_order=1 and edge_order=2"),
    (lambda: tandem.gradient(V[:2], edge_order=2), RuntimeError, "at least edge_order"),
    (lambda: tandem.gradient(V, dim=1), IndexError, "Dimension out of range"),
    (lambda: tandem.gradient(V, dim=(0, -1)), RuntimeError, "dim 0 appears multiple times"),
    (lambda: tandem.gradient(V, spacing=[V[:3]]), RuntimeError, "in dimension 0, 4, but got 3"),
    (lambda: tandem.gradient(V, spacing=[tandem.ones(4, 1)]), RuntimeError, "an element with 2 dimensions"),
    (lambda: tandem.gradient(V, spacing=V), TypeError, "a tensor of shape"),
    (lambda: tandem.gradient(tandem.ones(3, 3), spacing=[V[:3], 1.0]), TypeError, "all of them tensors"),
    (lambda: tandem.histogram(V, 0), RuntimeError, "bins must be > 0, but got 0 for dimension 0"),
    (lambda: tandem.histogram(V.long(), 2), NotImplementedError, "not implemented for int64"),
    (lambda: tandem.histogram(V, V.double()), RuntimeError, "should have the same dtype"),
    (lambda: tandem.histogram(V, V[:1]), RuntimeError, "bins must be > 0, but got 0"),
    (lambda: tandem.histogram(V, V, range=(0.0, 1.0)), TypeError, "'range' cannot be given"),
    (lambda: tandem.histogram(V, 2, range=(2.0, 1.0)), RuntimeError, "min 2.0 max 1.0"),
    (lambda: tandem.histogram(V, 2, range=(1.0,)), RuntimeError, "should have 2 elements, but got 1"),
    (lambda: tandem.histogram(V / 0, 2), RuntimeError, "is not finite"),
    (lambda: tandem.histogram(V, 2, weight=V[:2]), RuntimeError, r"weight with shape \[2\]"),
    (lambda: tandem.histogram(V, 2, weight=V.double()), RuntimeError, "should have the same dtype"),
    (lambda: tandem.histogramdd(V, 2), RuntimeError, "at least 2 dimensions"),
    (lambda: tandem.histogramdd(V.reshape(2, 2), (2,)), RuntimeError, "innermost dimension of the input"),
    (lambda: tandem.unravel_index(V, (2, 2)), TypeError, "integer dtype, but got tandem.float32"),
    (lambda: tandem.unravel_index(V.long(), (2.0, 2)), TypeError, "only contain ints"),
    (lambda: tandem.unravel_index(V.long(), 2.0), TypeError, "int or sequence of ints"),
    (lambda: tandem.unravel_index(V.long(), (2, -2)), ValueError, "negative values"),
    (lambda: tandem.unravel_index(V.long(), (2, 0)), RuntimeError, "no elements"),
    (lambda: tandem.segment_reduce(V, "median", lengths=tensor([4])), RuntimeError, "but got median"),
    (lambda: tandem.segment_reduce(V, "sum"), RuntimeError, "lengths or offsets must be defined"),
    (lambda: tandem.segment_reduce(V, "sum", indices=tensor([4])), RuntimeError, "not supported yet"),
    (lambda: tandem.segment_reduce(V, "sum", lengths=tensor([3])), RuntimeError, "to sum to data.size"),
    (lambda: tandem.segment_reduce(V, "sum", lengths=tensor([5, -1])), RuntimeError, "negative value"),
    (lambda: tandem.segment_reduce(V, "sum", offsets=tensor([0, 5])), RuntimeError, r"offsets in \[0, 4\]"),
    (lambda: tandem.segment_reduce(V, "sum", offsets=tensor([0, 3, 2])), RuntimeError, "ascending"),
    (lambda: tandem.segment_reduce(V, "sum", lengths=tensor([[4]])), RuntimeError, "last dimension of lengths"),
    (lambda: tandem.segment_reduce(V.long(), "sum", lengths=tensor([4])), NotImplementedError, "floating data"),
    (lambda: tandem.segment_reduce(V, "sum", lengths=tensor([4.0])), NotImplementedError, "int32 or int64"),
    (lambda: tandem.kaiser_window(-1), RuntimeError, "window_length=-1"),
    (lambda: tandem.kaiser_window(3, dtype=tandem.int64), RuntimeError, "floating point dtypes"),
    (lambda: tandem.kaiser_window(3, 12.0), TypeError, "'periodic' must be bool, not float"),
    (lambda: tandem.signal.windows.exponential(3, center=1.0), ValueError, "None for symmetric windows"),
    (lambda: tandem.signal.windows.exponential(3, tau=0.0), ValueError, "Tau must be positive"),
    (lambda: tandem.signal.windows.gaussian(3, std=0.0), ValueError, "deviation must be positive"),
    (lambda: tandem.signal.windows.kaiser(3, beta=-1.0), ValueError, "beta must be non-negative"),
    (lambda: tandem.signal.windows.general_cosine(3, a=[]), ValueError, "cannot be empty"),
    (lambda: tandem.signal.windows.hann(3.0), TypeError, "'M' must be int, not float"),
    (lambda: tandem.linalg.vander(V, N=1), RuntimeError, "N must be greater than 1"),
    (lambda: tandem.linalg.vander(V.bool()), RuntimeError, "Bool"),
    (lambda: tandem.linalg.vander(tensor(1.0)), RuntimeError, "N must be greater than 1"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    call, error, words = ERRORS[case]
    with pytest.raises(error, match=words):
        call()


def test_histogram_method():
    x = tandem.tensor([1.0, 2.0, 1.0])
    for got, want in zip(x.histogram(4, range=(0.0, 3.0)), tandem.histogram(x, 4, range=(0.0, 3.0)), strict=True):
        assert tandem.equal(got, want)
    assert x.histogram(tandem.tensor([0.0, 1.5, 3.0]), weight=x, density=True).hist.tolist() == pytest.approx(
        [1 / 3] * 2
    )
    # The least and the greatest point are in a bin, whatever the edges between them are rounded to.
    y = tandem.tensor([0.1, 0.7, 3.3], dtype=tandem.float64).repeat(5)
    assert y.histogram(7).hist.sum() == 15 and y.float().histogram(7).hist.sum() == 15
    points = tandem.stack([y, y * 3], 1)
    found = tandem.histogramdd(points, [tandem.tensor([0.5, 1.0, 2.0], dtype=tandem.float64), 2])
    assert found.hist.tolist() == [[5, 0], [0, 0]]
    assert x.to_dense() is x and x.to_dense(tandem.float64).dtype == tandem.float64
