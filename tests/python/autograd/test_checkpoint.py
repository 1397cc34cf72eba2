"""Checkpointing: same gradients, nothing kept but the arguments, the same random numbers."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same_bits

import tandem
from tandem.utils import checkpoint as module
from tandem.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

both = pytest.mark.parametrize("reentrant", [False, True])


def network():
    nn = tandem.nn
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))


@both
def test_same_gradients(reentrant):
    net = network()
    x = tandem.randn(5, 4, requires_grad=True)

    def gradients(f):
        net.zero_grad()
        x.grad = None
        tandem.manual_seed(3)
        f(x).sum().backward()
        return [x.grad, *(p.grad for p in net.parameters())]

    plain = gradients(net)
    for f in (
        lambda x: checkpoint(net, x, use_reentrant=reentrant),
        lambda x: checkpoint_sequential(net, 3, x, use_reentrant=reentrant),
    ):
        for got, want in zip(gradients(f), plain, strict=True):
            assert_same_bits(got, want)


def test_nothing_is_kept():
    x = tandem.ones(3, requires_grad=True)
    runs = []

    def f(x):
        runs.append(1)
        return x.exp().sin().exp()

    kept = []
    with tandem.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        y = checkpoint(f, x, use_reentrant=False)
    assert not kept and len(runs) == 1
    y.sum().backward()
    assert len(runs) == 2


def test_random_numbers():
    x = tandem.ones(1000, requires_grad=True)
    f = lambda x: tandem.nn.functional.dropout(x, 0.5) * 3  # noqa: E731
    y = checkpoint(f, x, use_reentrant=False)
    state = tandem.get_rng_state()
    y.sum().backward()
    assert_same_bits(x.grad, y.detach())
    assert tandem.get_rng_state().equal(state)


def test_grad_and_higher_orders():
    x = tandem.randn(4, dtype=tandem.float64, requires_grad=True)
    y = checkpoint(lambda x: (x**3).sum(), x, use_reentrant=False)
    (g,) = tandem.autograd.grad(y, x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), 3 * x.detach().numpy() ** 2)
    (h,) = tandem.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), 6 * x.detach().numpy())


def test_backward_twice_and_nested():
    x = tandem.ones(3, requires_grad=True)
    inner = lambda x: checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False) * 2  # noqa: E731
    y = checkpoint(inner, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert_same_bits(x.grad, first * 2)
    want = 2 * np.cos(np.e) * np.e
    np.testing.assert_allclose(first.numpy(), want, rtol=1e-5)


def test_keywords_containers_and_autocast():
    x = tandem.randn(2, 3, requires_grad=True)
    w = tandem.randn(3, 3, requires_grad=True)
    seen = []

    def f(d, *, scale):
        y = d["x"] @ d["w"]
        seen.append(y.dtype)
        return (y * scale).float().exp()

    with tandem.autocast("cpu", dtype=tandem.bfloat16):
        y = checkpoint(f, {"x": x, "w": w}, scale=2.0, use_reentrant=False)
    y.sum().backward()
    assert seen == [tandem.bfloat16] * 2 and w.grad.dtype is tandem.float32


def test_inside_compile():
    w = tandem.randn(3, 3, requires_grad=True)
    f = lambda x: checkpoint(lambda x: (x @ w).tanh(), x, use_reentrant=False)  # noqa: E731
    x = tandem.randn(2, 3)
    compiled = tandem.compile(f)
    compiled(x)
    (got,) = tandem.autograd.grad(compiled(x).sum(), w)
    (want,) = tandem.autograd.grad(f(x).sum(), w)
    assert_same_bits(got, want)


def test_in_lazy():
    w = tandem.randn(3, 3, requires_grad=True)
    x = tandem.randn(2, 3)
    f = lambda x: checkpoint(lambda x: (x @ w).tanh(), x, use_reentrant=False).sum()  # noqa: E731
    with tandem.lazy():
        (got,) = tandem.autograd.grad(f(x), w)
    (want,) = tandem.autograd.grad(f(x), w)
    assert_same_bits(got, want)


def test_errors_and_warnings():
    x = tandem.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(tandem.exp, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(tandem.exp, x.detach(), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(tandem.exp, x, use_reentrant=True, scale=2)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(tandem.exp, x, use_reentrant=True, debug=True)
    runs = []

    def changing(x):
        runs.append(1)
        return x.exp() if len(runs) == 1 else x.double().exp()

    y = checkpoint(changing, x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="different metadata"):
        y.sum().backward()

    def shorter(x):
        runs.append(1)
        return x.exp().sin() if len(runs) == 3 else x.exp()

    y = checkpoint(shorter, x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        y.sum().backward()
    z = tandem.ones(2)
    y = checkpoint(lambda z: (z * x).exp(), z, use_reentrant=False)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_contexts_and_early_stop():
    x = tandem.ones(2, requires_grad=True)
    entered = []

    class Note:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *exc):
            return None

    ends = []

    def f(x):
        y = x.exp()
        ends.append(1)
        return y + 1

    checkpoint(f, x, use_reentrant=False, context_fn=lambda: (Note("first"), Note("second"))).sum().backward()
    assert entered == ["first", "second"] and len(ends) == 1
    with module.set_checkpoint_early_stop(False):
        y = checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    assert len(ends) == 3


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.filterwarnings("ignore:None of the inputs")
def test_whole_traces_reach_the_parameters_that_eager_reaches(required):
    """A reentrant call whose inputs require no gradient has no history, in a trace as in eager."""
    inner, outer = tandem.nn.Linear(3, 3), tandem.nn.Linear(3, 1)

    def gradients(compile):
        for p in (*inner.parameters(), *outer.parameters()):
            p.grad = None

        def step(x):
            outer(checkpoint(inner, x, use_reentrant=True)).sum().backward()

        call = compile(step)
        for _ in range(2):
            call(tandem.ones(2, 3, requires_grad=required))
        return [None if p.grad is None else p.grad.tolist() for p in (*inner.parameters(), *outer.parameters())]

    eager = gradients(lambda f: f)
    assert (eager[0] is None) is not required
    assert gradients(lambda f: tandem.compile(f, fullgraph=True)) == eager


@both
def test_arguments_that_are_returned(reentrant):
    x, y = tandem.ones(2, requires_grad=True), tandem.ones(2)
    out = checkpoint(lambda a, b: (a, b, a * 3), x, y, use_reentrant=reentrant)
    (out[0] + out[2]).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_reentrant_calls_refuse_named_tensors():
    # Their own backward would go to `w` too, whose gradient no one asked for.
    x, w = tandem.ones(2, requires_grad=True), tandem.ones(2, requires_grad=True)
    for ask in (lambda y: tandem.autograd.grad(y, [x]), lambda y: y.backward(inputs=[x])):
        with pytest.raises(RuntimeError, match="incompatible with .grad()"):
            ask(checkpoint(lambda a: a * w, x, use_reentrant=True).sum())
        assert w.grad is None
    inner = lambda a: checkpoint(lambda b: b * w, a, use_reentrant=True)  # noqa: E731
    checkpoint(inner, x, use_reentrant=True).sum().backward()
    assert w.grad.tolist() == [1, 1]


@both
@pytest.mark.parametrize("nested", [False, True])
def test_functions_that_vmap(reentrant, nested):
    # The second run's vmap is another one, whose examples the nodes of the first know by the axes of the first.
    def loss(x):
        def one(a):
            return (tandem.softmax(a, 0) * a @ a).exp()

        return tandem.vmap(tandem.vmap(one) if nested else one)(x).sum()

    x = tandem.rand(2, 3, 3, 3) if nested else tandem.rand(2, 3, 3)
    plain, again = x.clone().requires_grad_(), x.clone().requires_grad_()
    loss(plain).backward()
    checkpoint(loss, again, use_reentrant=reentrant).backward()
    assert_same_bits(again.grad, plain.grad)
