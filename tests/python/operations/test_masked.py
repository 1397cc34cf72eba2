"""`tandem.masked`: what NumPy's masked arrays give, in every mode, gradients, dtypes, and results of no elements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import run_in

import tandem
from tandem import masked, tensor
from tandem.autograd import gradcheck

X = np.random.default_rng(3).normal(size=(3, 4, 2))
MASK = np.random.default_rng(4).random((3, 4, 2)) > 0.4
MASK[:, :2] = MASK[:2, :, 0] = True
INF, NAN = math.inf, math.nan

REDUCTIONS = {
    "sum": lambda a, axis: a.sum(axis),
    "prod": lambda a, axis: a.prod(axis),
    "amax": lambda a, axis: a.max(axis),
    "amin": lambda a, axis: a.min(axis),
    "mean": lambda a, axis: a.mean(axis),
    "var": lambda a, axis: a.var(axis, ddof=1),
    "std": lambda a, axis: a.std(axis, ddof=1),
    "norm": lambda a, axis: np.sqrt((a * a).sum(axis)),
    "logsumexp": lambda a, axis: np.log(np.exp(a).sum(axis)),
}


@pytest.mark.parametrize("dim", [None, (), 1, -2, (0, 1), [1, 0]])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dim, mode):
    function = getattr(masked, name)
    keyword = {"dim": dim}
    array = np.ma.masked_array(X, ~MASK)
    axis = None if dim is None or dim == () else tuple(dim) if isinstance(dim, list) else dim
    want = np.ma.getdata(REDUCTIONS[name](array, axis))
    got = run_in(mode, lambda x, m: function(x, mask=m, **keyword), tensor(X), tensor(MASK))
    np.testing.assert_allclose(got, want, rtol=1e-12)
    kept = function(tensor(X), mask=tensor(MASK), keepdim=True, **keyword)
    assert kept.shape == tuple(1 if axis is None or d in np.atleast_1d(axis) % 3 else n for d, n in enumerate(X.shape))
    x = tensor(X).requires_grad_()
    assert gradcheck(lambda x: function(x, mask=tensor(MASK), **keyword), (x,))
    (g,) = tandem.autograd.grad(function(x, mask=tensor(MASK), **keyword).sum(), x)
    assert not g[tensor(~MASK)].any()
    np.testing.assert_allclose(function(tensor(X), **keyword), REDUCTIONS[name](X, axis), rtol=1e-12)


ROWS = tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0], [7.0, 8.0, 9.0]])
ROW_MASK = tensor([[True, False, True], [True, True, False], [False, False, False]])


@pytest.mark.parametrize(
    ("call", "want"),
    [
        (lambda x, m: masked.argmax(x, 1, mask=m), [0, 0, 0]),
        (lambda x, m: masked.argmin(x, 1, mask=m, dtype=tandem.int64), [2, 1, 0]),
        (lambda x, m: masked.median(x, 1, mask=m), [2, 4, NAN]),
        (lambda x, m: masked.cumsum(x, 1, mask=m), [[3, 3, 5], [5, 9, 9], [0, 0, 0]]),
        (lambda x, m: masked.cumprod(x, -1, mask=m), [[3, 3, 6], [5, 20, 20], [1, 1, 1]]),
        (lambda x, m: masked.softmax(x, 1, mask=m), [[0.731059, 0, 0.268941], [0.731059, 0.268941, 0], [NAN] * 3]),
        (lambda x, m: masked.softmin(x, 1, mask=m), [[0.268941, 0, 0.731059], [0.268941, 0.731059, 0], [NAN] * 3]),
        (
            lambda x, m: masked.log_softmax(x, 1, mask=m)[:2],
            [[-0.313262, -INF, -1.313262], [-0.313262, -1.313262, -INF]],
        ),
        (lambda x, m: masked.normalize(x, 1.0, 1, mask=m), [[0.6, 0, 0.4], [5 / 9, 4 / 9, 0], [0, 0, 0]]),
        (lambda x, m: masked.norm(x, -INF, 1, mask=m), [2, 4, INF]),
        (lambda x, m: masked.norm(x, None, 1, mask=m), [13**0.5, 41**0.5, 0]),
        (lambda x, m: masked.logaddexp(x, x, input_mask=m)[2], [7, 8, 9]),
        (lambda x, m: masked.var(x, 1, False, mask=m), [0.25, 0.25, NAN]),
        (lambda x, m: masked.std(x, 1, correction=0.5, mask=m), [(1 / 3) ** 0.5, (1 / 3) ** 0.5, NAN]),
        (lambda x, m: masked.amax(x, 1, mask=m), [3, 5, -INF]),
        (lambda x, m: masked.mean(x, 1, mask=m), [2.5, 4.5, NAN]),
        # A mask of fewer dims, and one that is no bool.
        (lambda x, m: masked.sum(x, 1, mask=m[0]), [5, 11, 16]),
        (lambda x, m: masked.prod(x, mask=m.to(tandem.int32)), 120),
    ],
)
def test_rows(call, want, mode):
    got = run_in(mode, call, ROWS, ROW_MASK)
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_dtypes():
    """Integers are added in int64, unless another dtype is asked for, and compared in their own."""
    x, none = tensor([3, 7, 5], dtype=tandem.int8), tensor(False)
    assert [f(x).dtype for f in (masked.sum, masked.prod)] == [tandem.int64, tandem.int64]
    assert masked.sum(x, dtype=tandem.float32).dtype is tandem.float32
    assert (masked.amax(x, mask=none).item(), masked.amin(x, mask=none).item()) == (-128, 127)
    assert masked.argmax(x).dtype is tandem.int8 and masked.cumsum(x, 0).dtype is tandem.int8
    assert masked.median(x).item() == 5 and masked.median(x).dtype is tandem.int8
    assert masked.var(x).dtype is tandem.float32 and masked.var(x).item() == 4
    assert masked.sum(tensor([True, True, False]), mask=tensor([True, False, True])).item() == 1
    half = masked.mean(tensor([1.0, 2.0]).half())
    assert half.dtype is tandem.float16 and half.item() == 1.5


def test_what_is_refused():
    with pytest.raises(IndexError, match=r"a mask of shape \[3, 3\] and an input of shape \[3\]"):
        masked.sum(ROWS[0], mask=ROW_MASK)
    with pytest.raises(RuntimeError, match="dim=1 appears multiple times"):
        masked.sum(ROWS, (1, 1))
    with pytest.raises(IndexError, match="but got 2"):
        masked.amax(ROWS, 2)
    with pytest.raises(ValueError, match="Input dtype must be either a floating point or complex dtype"):
        masked.mean(tensor([1, 2]))
    with pytest.raises(ValueError, match="no fully masked out rows"):
        masked.median(tensor([1, 2]), mask=tensor(False))
    with pytest.raises(NotImplementedError, match=r"identity of amax on tandem\.bool"):
        masked.amax(tensor([True]), mask=tensor([True]))
    with pytest.raises(AssertionError, match="Only one of unbiased and correction"):
        masked.var(ROWS, unbiased=True, correction=1)
    assert not masked.is_masked_tensor(ROWS)
    for absent in (masked.MaskedTensor, masked.masked_tensor, masked.as_masked_tensor):
        with pytest.raises(NotImplementedError, match="is not part of Tandem. Use tensors beside a mask"):
            absent(ROWS, ROW_MASK)
