"""Values that operations refuse: the error in every mode, and none where values are good."""

from __future__ import annotations

import pytest
from conftest import run_in

import tandem
from tandem import tensor
from tandem.nn import functional as F

T = tandem
PROBABILITY = "should be between 0 and 1"

# A function, arguments that it takes, arguments that it refuses, the error and its text.
CASES = {
    "floor_divide": (lambda x: 7 // x, tensor([2, 3]), tensor([1, 0]), RuntimeError, "ZeroDivisionError"),
    "remainder": (lambda x: T.remainder(x + 5, x), tensor([2, 3]), tensor([1, 0]), RuntimeError, "ZeroDivisionError"),
    "fmod": (lambda x: T.fmod(x + 5, x), tensor([2, 3]), tensor([1, 0]), RuntimeError, "ZeroDivisionError"),
    "div": (
        lambda x: T.div(x + 5, x, rounding_mode="trunc"),
        tensor([2, 3]),
        tensor([1, 0]),
        RuntimeError,
        "ZeroDivisionError",
    ),
    "in_place": (lambda x: (x + 5).remainder_(x), tensor([2, 3]), tensor([1, 0]), RuntimeError, "ZeroDivisionError"),
    "gather": (lambda i: T.arange(3).gather(0, i), tensor([2]), tensor([3]), RuntimeError, "index 3 is out of bounds"),
    "scatter": (lambda i: T.arange(3).scatter(0, i, 1), tensor([2]), tensor([-1]), RuntimeError, "index -1 is out of"),
    "select": (lambda i: T.arange(3).index_select(0, i), tensor([2]), tensor([-1]), IndexError, "out of range in self"),
    "take": (lambda i: T.arange(3).take(i), tensor([-3]), tensor([-4]), IndexError, "access index -4 on a tensor of 3"),
    "embedding": (lambda i: F.embedding(i, T.ones(3, 2)), tensor([2]), tensor([3]), IndexError, "out of range in self"),
    "nll_loss": (lambda t: F.nll_loss(T.ones(2, 3), t), tensor([-100, 2]), tensor([0, 7]), IndexError, "Target 7 is"),
    "cross_entropy": (
        lambda t: F.cross_entropy(T.ones(2, 3), t),
        tensor([0, 2]),
        tensor([0, -1]),
        IndexError,
        "Target -1",
    ),
    "margin": (
        lambda t: F.multi_margin_loss(T.ones(2, 3), t),
        tensor([0, 2]),
        tensor([0, 3]),
        RuntimeError,
        "out of range",
    ),
    "one_hot": (lambda t: F.one_hot(t, 3), tensor([0, 2]), tensor([0, 3]), RuntimeError, "smaller than num_classes"),
    "one_hot_sign": (lambda t: F.one_hot(t, 3), tensor([0, 2]), tensor([0, -1]), RuntimeError, "must be non-negative"),
    "bce": (lambda p: F.binary_cross_entropy(p, p), tensor([0.0, 1.0]), tensor([0.5, 1.5]), RuntimeError, PROBABILITY),
    "bernoulli": (T.bernoulli, tensor([0.0, 1.0]), tensor([0.5, -0.5]), RuntimeError, "p_in >= 0 && p_in <= 1"),
    "multinomial": (
        lambda p: T.multinomial(p, 1),
        tensor([0.0, 1.0]),
        tensor([1.0, -1.0]),
        RuntimeError,
        "element < 0",
    ),
    "multinomial_sum": (lambda p: T.multinomial(p, 1), tensor([0.0, 1.0]), tensor([0.0, 0.0]), RuntimeError, "<= 0"),
    "normal": (lambda s: T.normal(0.0, s), tensor([0.0, 1.0]), tensor([1.0, -1.0]), RuntimeError, "std >= 0.0"),
    "poisson": (T.poisson, tensor([0.0, 1.0]), tensor([1.0, -1.0]), RuntimeError, "rate to be non-negative"),
    "quantile": (lambda q: T.quantile(T.ones(3), q), tensor([0.0, 1.0]), tensor([0.5, 2.0]), RuntimeError, "range"),
    "masked_scatter": (
        lambda m: T.zeros(3).masked_scatter(m, T.ones(2)),
        tensor([True, False, True]),
        tensor([True, True, True]),
        RuntimeError,
        "Number of elements of source < number of ones in mask",
    ),
    "repeat_interleave": (
        lambda r: T.ones(2).repeat_interleave(r, output_size=3),
        tensor([1, 2]),
        tensor([2, 2]),
        RuntimeError,
        "allocated size does not match required size",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_that_are_refused(name, mode):
    function, good, bad, error, text = CASES[name]
    run_in(mode, function, good)
    with pytest.raises(error, match=text):
        run_in(mode, function, bad)


@pytest.mark.parametrize("name", CASES)
def test_a_compiled_function_refuses_what_it_meets_later(name):
    function, good, bad, error, text = CASES[name]
    compiled = tandem.compile(function)
    compiled(good)
    with pytest.raises(error, match=text):
        compiled(bad)
    compiled(good)


def test_gradients_pass_a_check(mode):
    def loss(p):
        p = p.detach().requires_grad_()
        F.binary_cross_entropy(p, T.ones(2)).backward()
        return p.grad

    assert run_in(mode, loss, tensor([0.5, 0.25])).tolist() == [-1.0, -2.0]


def test_checks_of_many_examples():
    targets = tensor([[0, 1], [2, 1]])
    losses = tandem.func.vmap(lambda t: F.nll_loss(T.ones(2, 3), t))(targets)
    assert losses.tolist() == [-1.0, -1.0]
    with pytest.raises(IndexError, match="Target 3"):
        tandem.func.vmap(lambda t: F.nll_loss(T.ones(2, 3), t))(targets + 1)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_checked_where_a_recording_is_followed(weighted, smoothing):
    # The indices that the loss gathers at are known to be classes; the labels themselves are looked at each time.
    x = tandem.arange(12.0).reshape(4, 3).sin().requires_grad_()
    weight = tensor([0.5, 1.0, 2.0]) if weighted else None

    def grad(labels):
        loss = F.cross_entropy(x, labels, weight, ignore_index=5, label_smoothing=smoothing)
        return tandem.autograd.grad(loss, x)[0]

    for labels in ([0, 1, 2, 5], [2, 1, 0, 0], [5, 1, 1, 0], [0, 1, 3, 5], [0, 7, 2, -1], [1, 1, 5, 2]):
        target = tensor(labels)
        wrong = next((k for k in labels if k not in (0, 1, 2, 5)), None)
        if wrong is None:
            wanted = grad(target)
        with tandem.lazy():
            if wrong is not None:
                with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
                    grad(target)
                continue
            got = grad(target)
        assert got.tolist() == wanted.tolist()


def updates_after(check):
    """A function that computes with `check`, then adds its argument to a tensor of its own: all is there for that when
    it begins."""
    seen = T.ones(3, 3)

    def function(*args):
        out = check(*args)
        seen.add_(args[0])
        return out

    return function, seen


FAIL_BEFORE_UPDATES = {
    "factor": (lambda a: T.linalg.cholesky(a), T.eye(3), -T.eye(3)),
    "index": (lambda a, i: a[i], (T.eye(3), tensor([2])), (T.eye(3), tensor([3]))),
    "index read before in what is larger": (
        lambda a, i: T.arange(5).index_select(0, i).sum() + a.index_add(0, i, T.ones(1, 3)),
        (T.eye(3), tensor([2])),
        (T.eye(3), tensor([4])),
    ),
    "class": (lambda a, t: F.cross_entropy(a, t), (T.eye(3), tensor([0, 1, 2])), (T.eye(3), tensor([0, 1, 3]))),
}


@pytest.mark.parametrize("name", FAIL_BEFORE_UPDATES)
def test_what_fails_comes_before_what_changes_tensors(name):
    check, good, bad = FAIL_BEFORE_UPDATES[name]
    good, bad = ((a,) if isinstance(a, tandem.Tensor) else a for a in (good, bad))
    states = []
    for wrap in (lambda f: f, tandem.compile):
        function, seen = updates_after(check)
        function = wrap(function)
        function(*good), function(*good)
        with pytest.raises(Exception) as raised:  # noqa: PT011 - whichever eager raises
            function(*bad)
        states.append((raised.type, seen.tolist()))
        function(*good)
        states[-1] += (seen.tolist(),)
    assert states[0] == states[1]


def test_sizes_that_were_the_same_by_chance():
    # At first the indices are read in two tensors of one size, so that the second reading cannot fail.
    w, seen = T.zeros(6, 3), T.zeros(3, 3)

    @tandem.compile
    def function(x, i):
        rows = x.index_select(0, i)
        seen.add_(x.mT @ x)
        return w.index_add(0, i, rows)

    for size in (6, 6, 5):
        function(T.ones(size, 3), tensor([4]))
    before = seen.tolist()
    with pytest.raises(IndexError):
        function(T.ones(9, 3), tensor([8]))
    assert seen.tolist() == (T.tensor(before) + 9).tolist()  # as in eager, which changes it first
    function(T.ones(9, 3), tensor([4]))
    with pytest.raises(IndexError):
        function(T.ones(9, 3), tensor([8]))
    assert seen.tolist() == (T.tensor(before) + 27).tolist()
