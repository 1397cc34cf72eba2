"""cond and while_loop: the branch that the value chooses, in every mode."""

from __future__ import annotations

import pytest
from conftest import run_in

import tandem

MODES = ["eager", "lazy", "compiled"]


@pytest.mark.parametrize("mode", MODES)
def test_branches(mode):
    def f(x):
        return tandem.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,)) * 2

    x = tandem.tensor([1.0, 2.0])
    assert run_in(mode, f, x).equal((x.sin() + 1) * 2) and run_in(mode, f, -x).equal((x.cos() - 1) * 2)


def test_one_compiled_function_takes_both_branches():
    @tandem.compile
    def f(x):
        return tandem.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    x = tandem.ones(2)
    for sign in (1, 1, -1, 1, -1):
        assert f(x * sign).tolist() == [2 * sign] * 2


def test_branches_without_tensors():
    calls = []
    for pred, expected in ((True, 1), (0, 2), (2.5, 1), (tandem.tensor([0]), 2)):
        assert tandem.cond(pred, lambda: calls.append("t") or 1, lambda: calls.append("f") or 2) == expected
    assert calls == ["t", "f", "t", "f"]
    tree = {"a": [tandem.ones(1)]}
    assert tandem.cond(tandem.tensor(True), lambda t: t["a"][0] + 1, lambda t: t["a"][0], [tree]).item() == 2


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_the_branch_taken(mode):
    def f(x):
        return tandem.autograd.grad(tandem.cond(x.sum() > 0, lambda x: x * 3, lambda x: x * x, (x,)).sum(), x)[0]

    x = tandem.tensor([1.0, 2.0], requires_grad=True)
    y = tandem.tensor([-1.0, -2.0], requires_grad=True)
    assert run_in(mode, f, x).tolist() == [3, 3] and run_in(mode, f, y).tolist() == [-2, -4]


@pytest.mark.parametrize("mode", MODES)
def test_examples_choose_branches(mode):
    def both(x):
        return tandem.cond(
            x.sum() > 3, lambda x: {"y": x * x, "z": (x.sum(), 1)}, lambda x: {"y": -x, "z": (x[0], 1)}, (x,)
        )

    def f(x):
        out = tandem.vmap(lambda x: both(x)["y"] + both(x)["z"][0])(x)
        slopes = tandem.vmap(tandem.func.grad(lambda x: both(x)["y"].sum()))(x)
        return out, slopes

    out, slopes = run_in(mode, f, tandem.tensor([[1.0, 1.0], [2.0, 3.0]]))
    assert out.tolist() == [[0, 0], [9, 14]] and slopes.tolist() == [[-1, -1], [4, 6]]
    flags = tandem.tensor([True, False])
    x = tandem.arange(3.0)
    assert tandem.vmap(lambda p: tandem.cond(p, lambda: x, lambda: -x))(flags).equal(tandem.stack([x, -x]))
    for other in (lambda: x[:2], lambda: x.long(), lambda: (x,)):
        with pytest.raises(RuntimeError, match="expected both branches to return the same"):
            tandem.vmap(lambda p, other=other: tandem.cond(p, lambda: x, other))(flags)


def test_errors_of_branches():
    x, yes = tandem.ones(2), tandem.tensor(True)
    for args, words in (
        ((x > 0, abs, abs, (x,)), "single-element tensor, but got tensor"),
        (("a", abs, abs, (x,)), "Expected pred to be bool or tensor, but got a"),
        ((yes, 3, abs, (x,)), "Expect both branches to be callable"),
        ((yes, abs, abs, (x, 3)), "only consists of tensor leaves, but got"),
        ((yes, abs, abs, x), "only consists of tensor leaves, but got"),
    ):
        with pytest.raises(RuntimeError, match=words):
            tandem.cond(*args)


@pytest.mark.parametrize("mode", MODES)
def test_loops(mode):
    def f(n, x):
        return tandem.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2), (tandem.tensor(0), x))

    x = tandem.tensor([1.0, 3.0], requires_grad=True)
    for n in (3, 0, 1):
        i, y = run_in(mode, f, tandem.tensor(n), x)
        assert i.item() == n and y.tolist() == [2**n, 3 * 2**n] and y is not x
        assert tandem.autograd.grad(y.sum(), x)[0].tolist() == [2**n] * 2


def test_forms_of_loops():
    x = tandem.ones(2)
    assert tandem.while_loop(lambda i, x: i < 2, lambda i, x: [i + 1, x + i], [0, x])[1].tolist() == [2, 2]
    done = tandem.while_loop(lambda d: d["i"] < 3, lambda d: ({"i": d["i"] + 1},), ({"i": tandem.tensor(0)},))
    assert done[0]["i"].item() == 3
    assert tandem.while_loop(lambda x: x.sum() < 9, lambda x: x * 2, (x,))[0].tolist() == [8, 8]


def test_errors_of_loops():
    x = tandem.ones(3)
    for args, words in (
        ((3, abs, (x,)), "cond_fn and body_fn to be callable"),
        ((abs, abs, ("a", x)), "tensor or int leaves, but got"),
        ((lambda x: x < 3, lambda x: (x,), (x,)), r"a tensor of one element, but got shape \[3\]"),
        (
            (lambda x: True, lambda x: (x[:1],), (x,)),
            r"like carried_inputs, \(tandem.float32 \[3\]\), but got \(tandem.float32 \[1\]\)",
        ),
        ((lambda i, x: True, lambda i, x: (i,), (0, x)), r"\(int, tandem.float32 \[3\]\), but got \(int\)"),
    ):
        with pytest.raises(RuntimeError, match=words):
            tandem.while_loop(*args)


def test_whole_traces_refuse_a_branch_on_data():
    def f(x):
        return tandem.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    with pytest.raises(tandem.DataReadError):
        tandem.compile(f, fullgraph=True)(tandem.ones(2))
    with pytest.raises(Exception, match="value"):
        tandem.export.export(f, (tandem.ones(2),))

    def by_size(x):
        return tandem.cond(x.shape[0] > 1, lambda x: x + 1, lambda x: x - 1, (x,))

    assert tandem.compile(by_size, fullgraph=True)(tandem.ones(2)).tolist() == [2, 2]


def test_numbers():
    assert tandem.sym_max(3, 2.0) == 3 and type(tandem.sym_max(3, 2.0)) is float and type(tandem.sym_max(3, 2)) is int
    assert tandem.sym_min(3, 2.0) == 2 and tandem.sym_int(-2.7) == -2 and type(tandem.sym_float(2)) is float
    assert tandem.sym_not(0) is True and tandem.sym_sqrt(4) == 2 and tandem.sym_ite(True, 1, 2) == 1
    assert tandem.sym_sum((1, 2)) == tandem.sym_sum(1, 2) == 3 and tandem.sym_sum(()) == 0
    for call, words in (
        (lambda: tandem.sym_max("a", 2), "expected an int or a float, got <class 'str'>"),
        (lambda: tandem.sym_ite(True, 1, 2.0), "type mismatch: <class 'int'> vs <class 'float'>"),
        (lambda: tandem.sym_ite(1, 1, 2), "expected bool, got <class 'int'>"),
    ):
        with pytest.raises(AssertionError, match=words):
            call()
    with pytest.raises(ValueError):
        tandem.sym_sqrt(-1)
