"""What is gathered from elementwise work on memory: the work is done on what was gathered, with the bits of eager."""

from __future__ import annotations

import re

import pytest
from same_bits import assert_same_bits

import tandem
from tandem.nn import functional as F


def loss(x, t):
    value = F.cross_entropy(x.float().flatten(0, 1), t)
    return value, tandem.autograd.grad(value, x)[0]


def chain(x, t):
    """Of several operations, through a window."""
    return ((x.flatten(0, 1).double() * 2 - 1).tanh().gather(1, t[:, None]),)


def rows(x, t):
    return (x.flatten(0, 1).float().exp().index_select(0, t[: len(t) // 2]),)


def places(x, t):
    y = x.flatten(0, 1).float().exp()
    return (y[tandem.arange(len(t)), t],)


def read_elsewhere(x, t):
    y = x.flatten(0, 1).float().sigmoid()
    return y.gather(1, t[:, None]), y.sum(1), y


def computed(x, t):
    """Of two operands: stays."""
    return ((x.flatten(0, 1) + t[:, None]).exp().gather(1, t[:, None]),)


def most(x, t):
    """Of more than half the elements: stays."""
    y = x.flatten(0, 1)
    return (y.float().exp().gather(1, tandem.zeros(y.shape, dtype=tandem.int64)),)


CASES = {f.__name__: f for f in (loss, chain, rows, places, read_elsewhere, computed, most)}


def arguments(n):
    return tandem.randn(2, n, 10 + n).bfloat16().requires_grad_(), tandem.randint(0, 2 * n, (2 * n,)) % 10


@pytest.mark.parametrize("name", CASES)
def test_bits_and_other_sizes(name):
    function = CASES[name]
    compiled = tandem.compile(function)
    builds = []
    for n in (4, 5, 6, 9):
        given = arguments(n)
        before = tandem.counters()["plan_builds"]
        found = compiled(*given)
        builds.append(tandem.counters()["plan_builds"] - before)
        for a, b in zip(found, function(*given), strict=True):
            assert a.dtype is b.dtype and a.shape == b.shape
            assert_same_bits(a.detach(), b.detach())
    assert builds[2:] == [0, 0]


@pytest.mark.parametrize("name", ["loss", "chain", "rows", "places"])
def test_nothing_of_the_size_of_what_is_read_is_stored(name):
    x, t = tandem.randn(8, 64, 640).bfloat16().requires_grad_(), tandem.randint(0, 500, (512,))
    plan = str(tandem.compile(CASES[name]).explain(x, t))
    assert int(re.search(r"(\d+) bytes of temporaries", plan)[1]) < x.nbytes / 4 + (name == "rows") * x.nbytes


def test_a_place_out_of_range_is_refused():
    x = tandem.randn(4, 5).bfloat16()
    with pytest.raises(RuntimeError, match="index 5 is out of bounds"):
        tandem.compile(lambda x, i: x.float().gather(1, i))(x, tandem.full((4, 1), 5))
