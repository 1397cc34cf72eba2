"""Which calls PyTorch refuses, and the dtype of the rest, for operands and outs of every dtype; and which writes it
refuses because of the memory they go to (recorded_calls.py).
"""

from __future__ import annotations

import warnings

import pytest
from recorded_calls import DTYPES, ONE, OUT, PAIRS, SHARED, TWO, WINDOWS, WRITES

import tandem
from tandem.nn import functional as F

BASE = {"T": tandem, "F": F}


def called(expression, **names):
    """The letter of the result's dtype; o for another result, - for an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(expression, {**BASE, **names})
        except Exception:
            return "-"
    if isinstance(result, (tuple, list)):
        result = result[0]
    if not isinstance(result, tandem.Tensor):
        return "o"
    return {dtype: letter for letter, dtype in DTYPES.items()}[str(result.dtype).removeprefix("tandem.")]


def ones(letter, *shape):
    return tandem.ones(*shape).to(getattr(tandem, DTYPES[letter]))


K = tandem.tensor([0, 1])


@pytest.mark.parametrize("expression", TWO)
def test_dtypes_of_two(expression):
    got = [
        called(expression, k=K, x=ones(a, 2), y=ones(b, 2), m=ones(a, 2, 2), n=ones(b, 2, 2))
        for a in DTYPES
        for b in DTYPES
    ]
    assert "".join(got) == TWO[expression]


@pytest.mark.parametrize("expression", ONE)
def test_dtypes_of_one(expression):
    assert "".join(called(expression, k=K, x=ones(a, 2), m=ones(a, 2, 2)) for a in DTYPES) == ONE[expression]


@pytest.mark.parametrize("expression", OUT)
def test_dtypes_of_outs(expression):
    got = [called(expression, k=K, e=ones("f", 2), E=ones("f", 2, 2), o=ones(a, 0)) for a in DTYPES]
    assert "".join(got) == OUT[expression]


@pytest.mark.parametrize("expression", WRITES)
def test_writes_to_windows_that_repeat_elements(expression):
    got = [called(expression, x=eval(window, BASE)) for window in WINDOWS]
    assert "".join("-" if letter == "-" else "o" for letter in got) == WRITES[expression]


@pytest.mark.parametrize("expression", SHARED)
def test_writes_that_share_memory_with_what_is_read(expression):
    got = ""
    for pair in PAIRS:
        a, b = eval(pair, {**BASE, "x": tandem.arange(1.0, 7)})
        got += called(expression, a=a, b=b, c=tandem.ones(a.shape), i=tandem.arange(a.shape[0])).replace("f", "o")
    assert got == SHARED[expression]
