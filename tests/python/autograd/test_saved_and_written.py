"""What may be written to after it was saved, what counts as a write, and graphs that are used again or turned off."""

from __future__ import annotations

import contextlib

import pytest
from conftest import assert_same_bits, run_in

import tandem

STALE = "has been modified by an inplace operation|modified by an inplace"


def test_data_counts_its_own_writes():
    x = tandem.ones(3, requires_grad=True)
    data = x.data
    view, detached = data[:2], data.detach()
    data.add_(1)
    view.mul_(2)
    assert (x._version, data._version, view._version, detached._version) == (0, 2, 2, 2)
    (x * 1).detach_()
    with tandem.no_grad():
        x.add_(1)
    assert (x._version, data._version, x.data._version) == (1, 2, 0)


@pytest.mark.parametrize("write", ["itself", "view", "detached"])
def test_data_that_was_saved_and_written_to(write):
    """The product keeps `data`, whose values the gradient needs."""
    w, data = tandem.ones(3, requires_grad=True), tandem.ones(3).data
    y = (w * data).sum()
    {"itself": data, "view": data[:1], "detached": data.detach()}[write].add_(1)
    with pytest.raises(RuntimeError, match=STALE):
        y.backward()


def test_data_hides_its_writes_from_the_tensor():
    x, w = tandem.ones(3), tandem.ones(3, requires_grad=True)
    y = (w * x).sum()
    x.data.add_(1)
    y.backward()
    assert w.grad.tolist() == [2, 2, 2]
    y = (w * x.data).sum()
    x.add_(1)
    y.backward()
    assert w.grad.tolist() == [5, 5, 5]


def test_views_of_data_follow_its_history():
    w, data = tandem.tensor(3.0, requires_grad=True), tandem.ones(2, 2, requires_grad=True).data
    row = data[0]
    data[:, 0].mul_(w)
    assert row.requires_grad
    row.sum().backward()
    assert w.grad.item() == 1


@pytest.mark.parametrize("mode", ["lazy", "compile"])
def test_data_counts_in_every_mode(mode):
    w, data = tandem.ones(3, requires_grad=True), tandem.ones(3).data

    def write(data):
        data.add_(1)
        data[:1].mul_(2)
        return data * 2

    write = tandem.compile(write) if mode == "compile" else write
    for _ in range(3):
        y = (w * data).sum()
        before = data._version
        run_in(mode, lambda: write(data)) if mode == "lazy" else write(data)
        assert data._version == before + 2
        with pytest.raises(RuntimeError, match=STALE):
            y.backward()


def test_programs_write_through_data(tmp_path):
    """A compiled or saved function that writes to an argument through `.data` writes to it at every call."""

    def step(x):
        x.data.mul_(3)
        return x + 1

    tandem.export.export(step, (tandem.ones(2),)).save(tmp_path / "step.tandem")
    saved = tandem.export.load(tmp_path / "step.tandem")
    compiled = tandem.compile(step)
    for function in (compiled, compiled, saved):
        x = tandem.ones(2)
        y = function(x)
        assert x.tolist() == [3, 3] and y.tolist() == [4, 4]


@pytest.mark.parametrize("turn", [lambda x: x.requires_grad_(False), lambda x: x.detach_()])
def test_leaves_turned_off_take_no_gradient(turn):
    x, y = tandem.ones(2, requires_grad=True), tandem.ones(2, requires_grad=True)
    z = (x * y).sum()
    turn(x)
    z.backward()
    assert x.grad is None and y.grad.tolist() == [1, 1]


@pytest.mark.parametrize("mode", ["lazy", "compile"])
@pytest.mark.parametrize("write", ["mul_", "add_", "unfold", "data"])
def test_what_was_read_before_memory_with_several_places_is_written(mode, write):
    def function(x):
        before, row = x * 1, x[:2] * 3
        picked = x.gather(0, tandem.zeros(4, dtype=tandem.int64))
        window = x.unfold(0, 2, 1) if write == "unfold" else x.as_strided((2, 2), (1, 1))
        window = window.data if write == "data" else window
        window.add_(1) if write == "add_" else window.mul_(2)
        return before, row, picked, x * 1

    expected = function(tandem.arange(6.0))
    x = tandem.arange(6.0)
    with tandem.lazy() if mode == "lazy" else contextlib.nullcontext():
        found = (tandem.compile(function) if mode == "compile" else function)(x)
    for a, b in zip(expected, found):
        assert_same_bits(a, b)


@pytest.mark.parametrize("name", ["tril", "triu", "affine_grid", "lu_unpack"])
def test_backward_again_of_what_saves_nothing(name):
    """Derivatives that need no tensor, so that there is none to be freed."""
    x = tandem.arange(12.0).reshape(2, 2, 3).requires_grad_()
    y = {
        "tril": lambda: x.tril(),
        "triu": lambda: x.triu(1),
        "affine_grid": lambda: tandem.nn.functional.affine_grid(x, [2, 1, 2, 2], align_corners=True),
        "lu_unpack": lambda: tandem.lu_unpack(x, tandem.ones(2, 2, dtype=tandem.int32)).L,
    }[name]()
    y.sum().backward()
    first = x.grad.clone()
    y.sum().backward()
    assert tandem.equal(x.grad, 2 * first)
