"""Elementwise work with a reshape between it and a reduction: one kernel with it, with the bits of eager."""

from __future__ import annotations

import itertools

import pytest
from same_bits import assert_same_bits

import tandem
from tandem.nn import functional as F


def loss(x, t):
    """Of logits in a half type, with the gradient."""
    value = F.cross_entropy(x.float().reshape(-1, x.shape[-1]), t)
    return value, tandem.autograd.grad(value, x)[0]


def biased(x, w, b):
    return (F.gelu(x * w + b) - 1).view(-1, x.shape[-1]).softmax(-1)


def split(x):
    """Into more dims than it was computed in."""
    return (x * 2 + 1).exp().view(-1, 3, x.shape[-1] // 2, 2).sum((2, 3))


def behind(x):
    return tandem.softmax(x.flatten(0, 1), -1).view_as(x).half()


def twice(x):
    """What moves reads, a second time, a reshape that moved: with what is reduced of it."""
    a = (x + 1).reshape(-1, 4, x.shape[-1])
    b = a + a.sum(-1, keepdim=True)
    return b.reshape(-1, 2, 2, x.shape[-1]).sum(-1)


def columns(x):
    return (x.square() + 1).view(-1, x.shape[-1]).amax(0)


CASES = {
    "loss": (
        loss,
        lambda n: (tandem.randn(2, n, 10 + n).bfloat16().requires_grad_(), tandem.randint(0, 10 + n, (2 * n,))),
    ),
    "biased": (biased, lambda n: (tandem.randn(2, n, 6), tandem.randn(6), tandem.randn(1, 1, 1))),
    "split": (split, lambda n: (tandem.randn(3 * n, 8),)),
    "behind": (behind, lambda n: (tandem.randn(2, n, 7),)),
    "twice": (twice, lambda n: (tandem.arange(48.0 * n).reshape(-1, 2, 2, 2 * n),)),
    "columns": (columns, lambda n: (tandem.randn(2, n, 5),)),
}


def tensors(result):
    return result if isinstance(result, tuple) else (result,)


def kernels(compiled, *arguments) -> list[str]:
    return [line.strip() for line in str(compiled.explain(*arguments)).splitlines() if "{" in line]


@pytest.mark.parametrize("name", CASES)
def test_it_has_eagers_bits_and_other_sizes_need_no_pass(name):
    function, arguments = CASES[name]
    compiled = tandem.compile(function)
    builds = []
    for n in (4, 5, 6, 9):
        given = arguments(n)
        before = tandem.counters()["plan_builds"]
        found = tensors(compiled(*given))
        builds.append(tandem.counters()["plan_builds"] - before)
        for a, b in zip(found, tensors(function(*given)), strict=True):
            assert a.dtype is b.dtype and a.shape == b.shape
            assert_same_bits(a, b)
    assert builds[2:] == [0, 0]


@pytest.mark.parametrize("name", ["biased", "split", "behind", "columns"])
def test_it_is_one_kernel(name):
    function, arguments = CASES[name]
    compiled = tandem.compile(function)
    given = arguments(8)
    compiled(*given)
    assert len(kernels(compiled, *given)) == 1


def test_logits_are_read_in_their_own_type():
    function, arguments = CASES["loss"]
    compiled = tandem.compile(function)
    given = arguments(8)
    compiled(*given)
    rows = [k for k in kernels(compiled, *given) if "exp_sub" in k]
    assert len(rows) == 1 and "bf16" in rows[0]
    assert not [k for k in kernels(compiled, *given) if "row0(bf16" in k]


def test_what_others_read_stays_where_it_is():
    """The value before the reshape is a result, too; and reshapes of strided memory that no strides describe."""
    for transposed, kept in itertools.product((False, True), repeat=2):

        def function(x, transposed=transposed, kept=kept):
            y = (x.mT if transposed else x) * 2 + 1
            z = y.reshape(-1, y.shape[-1]).softmax(-1)
            return (y, z) if kept else (z,)

        x = tandem.randn(3, 4, 5)
        compiled = tandem.compile(function)
        for _ in range(2):
            for a, b in zip(compiled(x), function(x), strict=True):
                assert_same_bits(a, b)
