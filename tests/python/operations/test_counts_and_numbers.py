"""Counts that no memory holds, and numbers that no element of a dtype holds: errors at once, never a hang, a crash or
another number. Offsets of bags and indices with two ellipses, which were taken for something else."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import run_in

import tandem
from tandem import nn
from tandem.nn import functional as F

MOST, LEAST = 2**63 - 1, -(2**63)
X = tandem.arange(6.0)
IMAGE = X.view(1, 1, 6)
EIGHT, BYTES = tandem.zeros(2, dtype=tandem.int8), tandem.zeros(2, dtype=tandem.uint8)
MASK, PLACE = tandem.tensor([True, False]), tandem.tensor([0])

COUNTS = {
    "tensor_split": (lambda n: tandem.tensor_split(X, n), (2**62, MOST, 2**40), tandem.OutOfMemoryError),
    "chunk of nothing": (lambda n: tandem.zeros(0).chunk(n), (2**62, MOST, 2**40), tandem.OutOfMemoryError),
    "split_sizes": (lambda n: X.split([n, n, 6]), (2**62, MOST), RuntimeError),
    "fold": (lambda n: F.fold(tandem.ones(1, 4, 4), 3, n), (2**62, MOST, 2**40, 2**32), RuntimeError),
    "fold, padding": (lambda n: F.fold(tandem.ones(1, 4, 4), 3, 2, padding=n), (2**62, MOST), RuntimeError),
    "unfold": (lambda n: F.unfold(tandem.ones(1, 1, 4, 4), 2, padding=n), (2**62, MOST), RuntimeError),
    "unfold, dilation": (lambda n: F.unfold(tandem.ones(1, 1, 4, 4), 3, dilation=n), (2**62, MOST), RuntimeError),
    "pad": (lambda n: F.pad(X, (n, n)), (LEAST, MOST, 2**62, -(2**62)), RuntimeError),
    "reflect": (lambda n: F.pad(IMAGE, (n, 1), mode="reflect"), (LEAST, MOST, -(2**62)), RuntimeError),
    "replicate": (lambda n: F.pad(IMAGE, (n, 1), mode="replicate"), (LEAST, MOST, -(2**62)), RuntimeError),
    "circular": (lambda n: F.pad(IMAGE, (n, 1), mode="circular"), (LEAST, MOST, -(2**62)), RuntimeError),
    "ctc_loss": (
        lambda n: F.ctc_loss(tandem.zeros(4, 1, 3), tandem.tensor([[1, 2]]), tandem.tensor([4]), tandem.tensor([n])),
        (LEAST, MOST, -1),
        RuntimeError,
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    call, counts, error = COUNTS[name]
    for count in counts:
        with pytest.raises(error):
            call(count)


def test_chunks():
    assert [c.tolist() for c in X.chunk(MOST)] == [[v] for v in X.tolist()]
    assert [c.tolist() for c in X.split(MOST)] == [X.tolist()]
    assert [tuple(c.shape) for c in tandem.zeros(0, 2).chunk(3)] == [(0, 2)] * 3


def test_least_power():
    program = "import tandem; print(tandem.matrix_power(tandem.tensor([[0.5]]), -2**63).tolist())"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0 and "inf" in out.stdout, out.stderr
    assert tandem.matrix_power(tandem.eye(2) * 2, -3).tolist() == [[0.125, 0.0], [0.0, 0.125]]


FILLS = {
    "full": lambda n: tandem.full((2,), n, dtype=tandem.int8),
    "full_like": lambda n: tandem.full_like(EIGHT, n),
    "new_full": lambda n: EIGHT.new_full((2,), n),
    "fill_": lambda n: EIGHT.clone().fill_(n),
    "fill": lambda n: tandem.fill(EIGHT, n),
    "masked_fill": lambda n: EIGHT.masked_fill(MASK, n),
    "masked_fill_": lambda n: EIGHT.clone().masked_fill_(MASK, n),
    "index_fill": lambda n: EIGHT.index_fill(0, PLACE, n),
    "scatter": lambda n: EIGHT.scatter(0, PLACE, n),
    "pad": lambda n: F.pad(EIGHT, (1, 1), value=n),
    "threshold": lambda n: F.threshold(EIGHT, 1, n),
    "fill_diagonal_": lambda n: EIGHT.clone().view(1, 2).fill_diagonal_(n),
    "x[0] =": lambda n: EIGHT.clone().__setitem__(0, n),
    "x[mask] =": lambda n: EIGHT.clone().__setitem__(MASK, n),
    "x[places] =": lambda n: EIGHT.clone().__setitem__(PLACE, n),
}


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
@pytest.mark.parametrize("name", FILLS)
def test_numbers_that_no_element_holds(name, mode):
    for number in (128, -129, 300, 2**40, 128.5, -129.5, float("inf"), float("nan")):
        with pytest.raises(RuntimeError, match="cannot be converted to int8 without overflow"):
            run_in(mode, lambda number=number: FILLS[name](number))
    for number in (127, -128, 1.75, True):
        run_in(mode, lambda number=number: FILLS[name](number))
    assert EIGHT.tolist() == [0, 0]


def test_bounds_that_no_element_holds():
    for call in (lambda n: EIGHT.clamp(max=n), lambda n: EIGHT.clone().clamp_(min=n), lambda n: EIGHT.clamp(0, n)):
        for number in (128, -129, 2**40):
            with pytest.raises(RuntimeError, match="clamp: value .* cannot be converted to int8 without overflow"):
                call(number)
    assert EIGHT.clamp(max=300.0).tolist() == [0.0, 0.0]  # of the default dtype


def test_numbers_of_unsigned_and_wide_dtypes():
    assert BYTES.clone().fill_(-255).tolist() == [1, 1]  # as PyTorch wraps
    for number in (256, -256, -1.5, float("nan")):
        with pytest.raises(RuntimeError, match="fill_: value .* cannot be converted to uint8 without overflow"):
            BYTES.clone().fill_(number)
    whole = tandem.zeros(2, dtype=tandem.int64)
    assert whole.masked_fill(MASK, MOST).tolist() == [MOST, 0]
    assert whole.masked_fill(MASK, -(2.0**63)).tolist() == [LEAST, 0]
    for number in (2.0**63, float("-inf")):
        with pytest.raises(RuntimeError, match="masked_fill: value .* cannot be converted to int64"):
            whole.masked_fill(MASK, number)
    assert tandem.zeros(2, dtype=tandem.bool).fill_(300).tolist() == [True, True]
    assert tandem.zeros(1, dtype=tandem.float16).fill_(1e6).tolist() == [float("inf")]


def test_a_compiled_number_that_does_not_fit_later():
    f = tandem.compile(lambda x, s: x.masked_fill(MASK, s))
    for s in (1.0, 2.0, 3.0):
        assert f(EIGHT, s).tolist() == [int(s), 0]
    with pytest.raises(RuntimeError, match="cannot be converted to int8"):
        f(EIGHT, 300.0)
    assert f(EIGHT, 4.0).tolist() == [4, 0]


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
@pytest.mark.parametrize("kind", ["sum", "mean", "max"])
def test_offsets_of_bags(mode, kind):
    rows = tandem.tensor([[1.0], [2.0], [3.0]])

    def bags(offsets, last=False):
        at = tandem.tensor(offsets, dtype=tandem.int64)
        places = tandem.tensor([0, 1, 2])
        return run_in(mode, lambda: F.embedding_bag(places, rows, at, mode=kind, include_last_offset=last).clone())

    for offsets in ([1, 2], [0, 4], [0, 3, 2], [0, -1]):
        for last in (False, True):
            with pytest.raises(RuntimeError, match="embedding_bag: offsets must begin with 0, not decrease"):
                bags(offsets, last)
    two = {"sum": [[3.0], [3.0]], "mean": [[1.5], [3.0]], "max": [[2.0], [3.0]]}[kind]
    assert bags([0, 2]).tolist() == two
    assert bags([0, 2, 3], True).tolist() == two
    assert bags([0, 2], True).tolist() == two[:1]  # the last row is in no bag
    assert bags([0, 0], True).tolist() == [[0.0]]


def test_two_ellipses():
    x = tandem.ones(2, 3, 4)
    assert x[..., ...].shape == x.shape and x[0, ..., ...].shape == (3, 4)
    for index in ((..., 0, ..., 0), (..., slice(1), ..., PLACE)):
        with pytest.raises(IndexError, match=r"an index can only have a single ellipsis \('...'\)"):
            x[index]
        with pytest.raises(IndexError, match="single ellipsis"):
            x[index] = 1.0


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_layers_of_nothing(kind):
    with pytest.raises(ValueError, match="input_size must be greater than zero"):
        kind(0, 2)
