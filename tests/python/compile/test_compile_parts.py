"""Parts of values in compiled functions: results that are small views of large values, of which only the part is
computed, and stretches of repeated elements (cotangents of slices), which are never written out."""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem


def test_only_the_part_that_is_returned_is_computed():
    x, y = tandem.rand(3000, 1), tandem.rand(3000)

    def f(x, y):
        return ((x + y).exp() * 2.0).reshape(-1)[3000:3500], (x * y)[7]

    wanted = f(x, y)
    compiled = tandem.compile(f)
    for _ in range(2):
        for a, b in zip(compiled(x, y), wanted, strict=True):
            assert_same_bits(a, b)
    spaces = re.findall(r"\[([0-9, ]+)\]", compiled.explain(x, y))
    assert spaces and max(np.prod([int(n) for n in s.split(",")]) for s in spaces) == 3000


def test_results_that_share_memory_still_do():
    def f(x):
        y = x * 2.0
        return y[1:3], y[2], x + 1.0

    compiled = tandem.compile(f)
    for call in (f, compiled, compiled):
        a, b, _ = call(tandem.arange(40.0).reshape(10, 4))
        b.fill_(-1.0)
        assert a.tolist() == [[8.0, 10.0, 12.0, 14.0], [-1.0] * 4]


def test_what_was_kept_outside_shares_memory_with_the_result():
    kept = []

    def f(x):
        y = x * 2.0
        kept.append(y)
        return y[0]

    tandem.compile(f)(tandem.arange(6.0).reshape(3, 2)).fill_(9.0)
    assert kept[0].tolist() == [[9.0, 9.0], [4.0, 6.0], [8.0, 10.0]]


@pytest.mark.parametrize("op", ["mul", "exp", "view"])
def test_gradients_of_a_part(op):
    def f(x):
        y = {"mul": lambda: x * x, "exp": x.exp, "view": lambda: (x + 1.0).t()}[op]()
        return y.reshape(-1)[2:5]

    def gradients(f):
        x = tandem.arange(24.0).div(10).reshape(4, 6).requires_grad_()
        out = f(x)
        (first,) = tandem.autograd.grad((out * out).sum(), x, create_graph=True)
        return [out, first, *tandem.autograd.grad(first.square().sum(), x, allow_unused=True)]

    compiled = tandem.compile(f)
    wanted = gradients(f)
    for _ in range(2):
        for a, b in zip(gradients(compiled), wanted, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert_same_bits(a, b)


@pytest.mark.parametrize(
    "dtype", [tandem.float32, tandem.float64, tandem.bfloat16, tandem.int64, tandem.int8, tandem.bool], ids=str
)
@pytest.mark.parametrize(
    ("shape", "begin", "end"),
    [((7, 40), 3, 200), ((300, 70), 5, 19), ((5, 6, 7), 100, 103), ((1000,), 999, 1000), ((3, 5000), 4000, 13000)],
    ids=str,
)
def test_stretches_of_repeated_elements(mode, dtype, shape, begin, end):
    value = (tandem.arange(end - begin) % 5 + 1).to(dtype)
    other = (tandem.arange(int(np.prod(shape))) % 7).reshape(shape).to(dtype)

    def f(value, other):
        framed = tandem.full(shape, dtype is not tandem.bool and 3, dtype=dtype)
        framed.view(-1)[begin:end] = value
        product = framed & other if dtype is tandem.bool else framed * other
        wide = product.to(tandem.float32)
        return [framed, product, product.sum(0), product.sum(-1), wide.sum(), wide.amax(0), wide - wide.mean()]

    for a, b in zip(run_in(mode, f, value, other), f(value, other), strict=True):
        assert_same_bits(a, b)


def test_cotangents_of_slices_are_added_in_one_kernel():
    def f(x):
        return tandem.autograd.grad(sum((x[3 * i : 3 * i + 4] * float(i + 1)).sum() for i in range(6)), x)[0]

    x = tandem.rand(20, 900).requires_grad_()
    compiled = tandem.compile(f)
    assert_same_bits(compiled(x), f(x))
    assert_same_bits(compiled(x), f(x))
    assert re.search(r"over \[20, 900\]: .*\n.*framed", compiled.explain(x))
    assert compiled.explain(x).count("over [20, 900]") == 1
