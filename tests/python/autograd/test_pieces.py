"""Gradients of what split, chunk, unbind and iteration give: views with one history."""

from __future__ import annotations

import pytest
from conftest import assert_same_bits, run_in

import tandem

CUTS = {
    "split": (lambda x: x.split(2, 1), "SplitBackward0"),
    "chunk": (lambda x: x.chunk(3, -1), "SplitBackward0"),
    "sizes": (lambda x: x.split([1, 0, 4], 1), "SplitWithSizesBackward0"),
    "split_with_sizes": (lambda x: x.split_with_sizes([4, 1], 1), "SplitWithSizesBackward0"),
    "unbind": (lambda x: x.unbind(1), "UnbindBackward0"),
    "iteration": (lambda x: tuple(x), "UnbindBackward0"),
    "turned": (lambda x: x.t().unbind(0), "UnbindBackward0"),
}


def values(dtype=tandem.float64):
    tandem.manual_seed(3)
    return tandem.randn(3, 5, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("name", CUTS)
def test_pieces_have_one_history(name):
    cut, backward = CUTS[name]
    x = values()
    pieces = cut(x * 1)
    assert len({id(p.grad_fn) for p in pieces}) == 1
    assert pieces[0].grad_fn.name() == backward
    assert all(p._is_view() for p in pieces)


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("dtype", [tandem.float64, tandem.bfloat16])
def test_gradients_of_pieces(name, dtype, mode):
    """Of all, of some and of one that is used again and again, and of their gradients."""
    cut = CUTS[name][0]

    def used(x, which):
        pieces = cut(x * 1)
        found = sum((p.exp() * (i + 1)).sum() for i, p in enumerate(pieces) if i in which)
        return found + (pieces[0] ** 3).sum()

    for which in ((), (0,), (1,), (0, 1, 2, 3, 4)):
        x = values(dtype)
        (wanted,) = tandem.autograd.grad(used(x, which), x)
        # The same by elements: which piece each belongs to.
        number = tandem.zeros(3, 5)
        for i, p in enumerate(cut(number)):
            p.fill_(i + 1)
        factor = sum(tandem.where(number == i + 1, float(i + 1), 0.0) for i in which) if which else tandem.zeros(3, 5)
        v = x.detach().double()
        expected = v.exp() * factor + tandem.where(number == 1, 3 * v * v, 0.0)
        tandem.testing.assert_close(
            wanted.double(), expected.double(), rtol=3e-2 if dtype != tandem.float64 else 1e-12, atol=0
        )
        assert_same_bits(run_in(mode, lambda x, w=which: tandem.autograd.grad(used(x, w), x)[0], values(dtype)), wanted)

    def twice(x):
        (g,) = tandem.autograd.grad(used(x, (0, 2)), x, create_graph=True)
        return tandem.autograd.grad((g * g).sum(), x)[0]

    if dtype == tandem.float64:
        tandem.autograd.gradgradcheck(lambda x: used(x, (0, 2)), [values()])
        assert_same_bits(run_in(mode, twice, values()), twice(values()))


def test_transforms_of_pieces():
    x = values()
    for cut, _ in CUTS.values():
        f = lambda row, cut=cut: sum((p * (i + 1)).square().sum() for i, p in enumerate(cut(row)))  # noqa: E731
        each = tandem.func.vmap(tandem.func.grad(f))(tandem.stack([x.detach(), 2 * x.detach()]))
        assert_same_bits(each[0], tandem.func.grad(f)(x.detach()))
        _, tangent = tandem.func.jvp(f, (x.detach(),), (tandem.ones(3, 5, dtype=tandem.float64),))
        tandem.testing.assert_close(tangent, tandem.func.grad(f)(x.detach()).sum())


def test_pieces_of_what_is_written_later():
    x = values()
    y = x * 1
    a, b = y.split([2, 3], 1)
    y.mul_(2)
    (g,) = tandem.autograd.grad((a * b[:, :2]).sum(), x)
    v = x.detach()
    expected = tandem.cat([4 * v[:, 2:4], 4 * v[:, :2], tandem.zeros(3, 1, dtype=tandem.float64)], 1)
    tandem.testing.assert_close(g, expected)


def test_a_gradient_of_pieces_lies_as_images_lie():
    x = tandem.randn(2, 6, 4, 4).to(memory_format=tandem.channels_last).requires_grad_()
    a, b = (x * 1).chunk(2, 1)
    (g,) = tandem.autograd.grad((a * b).sum(), x)
    assert g.is_contiguous(memory_format=tandem.channels_last)


def test_pieces_without_gradients():
    x = values()
    with tandem.no_grad():
        assert all(not p.requires_grad for p in x.unbind(0))
    assert all(p.grad_fn is None for p in tandem.arange(4).unbind(0))
    assert tandem.zeros(0, 3, requires_grad=True).unbind(0) == ()
