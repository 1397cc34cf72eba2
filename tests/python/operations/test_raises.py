"""Calls that PyTorch refuses or warns of: writes to one of several views, dtypes that differ, ranges of draws."""

from __future__ import annotations

import warnings

import pytest
from conftest import run_in

import tandem
from tandem.nn import functional as F

D = tandem.float64
M, V, PLACES = tandem.ones(2, 2), tandem.ones(2), tandem.tensor([0])
OUTS = {
    "mm": (lambda out: tandem.mm(M, M, out=out), (2, 2)),
    "addmm": (lambda out: tandem.addmm(M, M, M, out=out), (2, 2)),
    "bmm": (lambda out: tandem.bmm(M[None], M[None], out=out), (1, 2, 2)),
    "matmul": (lambda out: tandem.matmul(M, M, out=out), (2, 2)),
    "gather": (lambda out: tandem.gather(V, 0, PLACES, out=out), (1,)),
    "index_select": (lambda out: tandem.index_select(V, 0, PLACES, out=out), (1,)),
    "take": (lambda out: tandem.take(V, PLACES, out=out), (1,)),
    "tril": (lambda out: tandem.tril(M, out=out), (2, 2)),
    "amax": (lambda out: tandem.amax(V, 0, out=out), ()),
    "isposinf": (lambda out: tandem.isposinf(V, out=out), (2,)),
    "isneginf": (lambda out: tandem.isneginf(V, out=out), (2,)),
}


@pytest.mark.parametrize("name", OUTS)
def test_results_that_are_written_as_they_are(name):
    call, shape = OUTS[name]
    with pytest.raises(
        RuntimeError, match=rf"{name}\(\): Expected out tensor to have dtype .*, but got float64 instead"
    ):
        call(tandem.empty(shape, dtype=D))
    fitting = tandem.empty(shape, dtype=tandem.bool if name.startswith("is") else tandem.float32)
    assert call(fitting) is fitting


def test_results_of_several_parts_have_their_dtypes():
    places = tandem.empty(2, dtype=tandem.int64)
    with pytest.raises(RuntimeError, match=r"sort\(\): Expected out tensor to have dtype float32, but got float64"):
        tandem.sort(V, out=(tandem.empty(2, dtype=D), places))
    with pytest.raises(RuntimeError, match=r"max\(\): Expected out tensor to have dtype int64, but got int32"):
        tandem.max(M, 0, out=(tandem.empty(2), places.int()))
    assert tandem.add(V, 1, out=tandem.empty(2, dtype=D)).tolist() == [2, 2]  # element by element, it converts


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tandem.take_along_dim(V, PLACES.int(), 0), "dtype of indices should be Long but got Int"),
        (lambda: tandem.take_along_dim(V, V), "dtype of indices should be Long but got Float"),
        (lambda: tandem.zeros(3, dtype=tandem.uint8).random_(0, 300), "to - 1 is out of bounds for uint8"),
        (lambda: tandem.zeros(3, dtype=tandem.int8).random_(-200, 3), "from is out of bounds for int8"),
        (lambda: tandem.zeros(3, dtype=tandem.bool).random_(0, 3), "to - 1 is out of bounds for bool"),
        (lambda: tandem.zeros(3, dtype=tandem.float16).random_(0, 1 << 20), "to - 1 is out of bounds for float16"),
        (lambda: tandem.randint(0, 300, (3,), dtype=tandem.uint8), "out of bounds for uint8, got from=0 and to=300"),
        (lambda: tandem.randint(-1, 2, (3,), dtype=tandem.uint8), "from is out of bounds for uint8"),
        (lambda: tandem.add(V, V, alpha=True), "Boolean alpha only supported for Boolean results"),
        (lambda: tandem.sub(PLACES, 1, alpha=True), "Boolean alpha only supported for Boolean results"),
        (lambda: tandem.addcdiv(V, PLACES, PLACES), "Integer division with addcdiv is no longer supported"),
        (lambda: V.clone().addcdiv_(PLACES, PLACES), "Integer division with addcdiv is no longer supported"),
    ],
)
def test_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_what_fits_goes_on():
    assert tandem.zeros(9, dtype=tandem.uint8).random_(0, 256).max().item() < 256
    assert tandem.zeros(9, dtype=tandem.int8).random_(-128, 128).min().item() >= -128
    assert tandem.zeros(9, dtype=tandem.int8).random_().min().item() >= 0
    mask = tandem.tensor([True, False])
    assert tandem.add(mask, mask, alpha=True).tolist() == [True, False]
    assert tandem.addcdiv(V, PLACES, tandem.tensor([2.0])).tolist() == [1, 1]


def warned(call):
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in log]


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_losses_warn_of_sizes_that_differ(loss):
    (text,) = warned(lambda: loss(tandem.ones(2, 1), tandem.ones(2)))
    assert "Using a target size [2] that is different to the input size [2, 1]" in text
    assert warned(lambda: loss(tandem.ones(2), tandem.ones(2))) == []


def test_other_warnings(mode):
    mask = tandem.tensor([1, 0], dtype=tandem.uint8)
    (text,) = warned(lambda: V[mask])
    assert "indexing with dtype uint8 is deprecated" in text and warned(lambda: V[mask.bool()]) == []
    (text,) = warned(lambda: tandem.zeros(3).random_(0, (1 << 24) + 3))
    assert "float32 has not every integer" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="different to the input size"):
            run_in(mode, F.mse_loss, tandem.ones(2, 1), tandem.ones(2))
