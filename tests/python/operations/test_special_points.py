"""Gradients at bounds, ties, zeros, infinities and NaN are PyTorch's (special_points.py).

A second derivative that PyTorch's formula leaves without a value (NaN) may have one here.
"""

from __future__ import annotations

import math
from math import inf, nan

import pytest
from conftest import run_in
from special_points import ONE, PAIRS, POINTS, TWO

import tandem
from tandem.nn import functional as F

LETTERS = {0.0: "0", 1.0: "1", -1.0: "m", 0.5: "h", inf: "i", -inf: "j"}
FIRST = [p for p in PAIRS for _ in PAIRS]
SECOND = [q for _ in PAIRS for q in PAIRS]

# Where a product of all others replaces PyTorch's quotient, or a series its limit, a point has a value of its own.
OURS = {
    'F.huber_loss(a, b, reduction="none")': "where the error is NaN the second derivative is still that of the square",
    'F.smooth_l1_loss(a, b, reduction="none")': "as above",
    "T.sinc(x)": "the second derivative at 0 is -pi^2 / 3",
    "F.softplus(x, 2.0, 10.0)": "at the threshold itself the second derivative is still that of the logarithm",
}


def letter(v):
    if math.isnan(v):
        return "n"
    return next((name for number, name in LETTERS.items() if v == number or abs(v - number) < 1e-7), "f")


def text(g):
    return "" if g is None else "".join(letter(v) for v in g.tolist())


def derivatives(expression, **values):
    xs = [tandem.tensor(v, dtype=tandem.float64, requires_grad=True) for v in values.values()]
    y = eval(expression, {"T": tandem, "F": F, "inf": inf, "nan": nan, **dict(zip(values, xs, strict=True))})
    first = tandem.autograd.grad(y.sum(), xs, create_graph=True, allow_unused=True)
    second = []
    for g in first:
        some = g is not None and g.requires_grad
        second += tandem.autograd.grad(g.sum(), xs, allow_unused=True, retain_graph=True) if some else [None] * len(xs)
    return [text(g) for g in first], [text(g) for g in second]


def agrees(ours, theirs, order):
    if order == 2 and not (ours and theirs):
        return set(ours + theirs) <= set("0n")  # none, and zeros
    return all(a == b or (order == 2 and b == "n") for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("row", ONE, ids=[row[0] for row in ONE])
def test_gradients_by_one(row):
    expression, first, second = row
    ours = derivatives(expression, x=POINTS)
    assert agrees(ours[0][0], first, 1), f"{ours[0][0]} {first}"
    if expression not in OURS:
        assert agrees(ours[1][0], second, 2), f"{ours[1][0]} {second}"


@pytest.mark.parametrize("row", TWO, ids=[row[0] for row in TWO])
def test_gradients_by_two(row):
    expression, theirs = row
    first, second = derivatives(expression, a=FIRST, b=SECOND)
    for ours, expected in zip(first, theirs[:2], strict=True):
        assert agrees(ours, expected, 1), f"{ours} {expected}"
    for ours, expected in zip(second, theirs[2:], strict=True):
        assert expression in OURS or agrees(ours, expected, 2), f"{ours} {expected}"


def test_quantiles_between_infinities(mode):
    """Interpolated from the nearer end, as `lerp` does: that of an infinity is NaN from the other side."""
    for row, level, wanted in (
        ([1.0, -inf], 0.5, -inf),
        ([1.0, -inf], 0.3, nan),
        ([1.0, inf], 0.3, inf),
        ([1.0, inf], 0.7, nan),
        ([1.0, inf], 1.0, inf),
        ([-inf, inf], 0.5, nan),
    ):
        x = tandem.tensor(row)
        for of in (tandem.quantile, tandem.nanquantile):
            found = run_in(mode, lambda of=of, x=x, level=level: of(x, level)).item()
            assert found == wanted or (math.isnan(found) and math.isnan(wanted)), (row, level)
