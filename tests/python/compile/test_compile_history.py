"""Compiled functions whose results require gradients, with bodies that hold what operations do not make: hooks, kept
gradients, Functions of the user's own. Every call has eager's history, to every order, and eager's bits."""

import numpy as np
import pytest
from compiling import counting

import tandem
from tandem import autograd


class Cube(autograd.Function):
    """Saves an input, a result, a value of neither; keeps tensors and others as attributes."""

    @staticmethod
    def forward(ctx, x, factor):
        square = x * x
        result = square * x * factor
        ctx.save_for_backward(x, None, result, square)
        ctx.factor, ctx.extra = factor, {"squares": [square + 1, "name"]}
        return result

    @staticmethod
    def backward(ctx, g):
        x, nothing, result, square = ctx.saved_tensors
        assert nothing is None and ctx.needs_input_grad == (True, False)
        ones = ctx.extra["squares"][0] - square
        return 3 * x * x * g * ctx.factor * ones + 0 * result, None


def orders(f, inputs):
    """Results, gradients, gradients of those, and once more."""
    out = [*f(*inputs)]
    found, last = list(out), out
    for _ in range(3):
        total = sum((t * t).sum() for t in last)
        last = [g for g in autograd.grad(total, inputs, create_graph=True) if g is not None]
        found += last
    return [t.detach().numpy() for t in found]


def assert_eagers(f, calls=3):
    compiled = tandem.compile(f)
    for seed in range(calls):
        tandem.manual_seed(seed)
        inputs = [tandem.randn(4).requires_grad_(), tandem.randn(4).requires_grad_()]
        for got, wanted in zip(orders(compiled, inputs), orders(f, inputs), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_a_function_of_the_users_own():
    assert_eagers(lambda x, w: (Cube.apply(tandem.tanh(x * w), 3), Cube.apply(x, 2) + w))


def test_the_backward_reads_the_tensors_of_its_own_call():
    f = tandem.compile(lambda x: Cube.apply(x * 1, 1))
    inputs = [tandem.tensor([float(v)], requires_grad=True) for v in (1, 2, 3)]
    results = [f(x) for x in inputs]
    for x, y in zip(inputs, results):
        y.backward()
        assert x.grad.item() == 3 * x.item() ** 2


def test_saved_tensors_are_released_and_checked():
    f = tandem.compile(lambda x: Cube.apply(x * 1, 1) * 2)
    for _ in range(2):
        x = tandem.ones(2, requires_grad=True)
        y = f(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(RuntimeError, match="a second time"):
            y.backward()


def test_hooks_run_at_every_call():
    class Seen:
        shapes = []

    def f(x, w):
        h = tandem.tanh(x * w)
        h.register_hook(lambda g: g * 2)
        h.register_hook(lambda g: Seen.shapes.append(g.shape))
        return h.exp(), h * x

    assert_eagers(f)
    assert len(Seen.shapes) >= 6 and set(Seen.shapes) == {(4,)}


def test_node_hooks_run_at_every_call():
    def f(x, w):
        h = (x * w).sin()
        h.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
        h.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1,))
        return (h * w,)

    assert_eagers(f)


def test_gradients_of_results_are_retained():
    def f(x):
        y = x.exp()
        y.retain_grad()
        return y

    compiled = tandem.compile(f)
    for _ in range(2):
        x = tandem.ones(3, requires_grad=True)
        y = compiled(x)
        (y * y).sum().backward()
        np.testing.assert_array_equal(y.grad.numpy(), 2 * y.detach().numpy())


def test_a_hook_that_keeps_a_computed_tensor():
    def f(x):
        h = x.exp()
        h.register_hook(lambda g: g * h)
        return h * 2

    compiled = tandem.compile(f)
    step = tandem.compile(lambda x: autograd.grad(f(x).sum(), x)[0])
    for v in (1.0, 2.0, 3.0):
        x = tandem.tensor([v], requires_grad=True)
        wanted = autograd.grad(f(x).sum(), x)[0].numpy()
        np.testing.assert_array_equal(autograd.grad(compiled(x).sum(), x)[0].numpy(), wanted)
        np.testing.assert_array_equal(step(x).numpy(), wanted)


def launches(f):
    before = tandem.counters()["kernel_launches"]
    f()
    return tandem.counters()["kernel_launches"] - before


def chain(x, w):
    h = tandem.nn.functional.layer_norm(x, (256,), w)
    return ((h.tanh() * 2 + x).sigmoid() * w, h.exp().mean(0))


def test_large_regions_run_their_backward_fused():
    x, w = tandem.randn(256, 256).requires_grad_(), tandem.rand(256).requires_grad_()
    compiled = counting(chain)
    count = {}
    for name, f in (("eager", chain), ("compiled", compiled)):
        f(x, w)
        y, z = f(x, w)
        total = y.sum() + z.sum()
        total.backward(retain_graph=True)
        count[name] = launches(total.backward)
    assert count["compiled"] <= count["eager"] / 2
    tandem.manual_seed(1)
    for got, wanted in zip(orders(compiled, [x, w]), orders(chain, [x, w]), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_hook_may_read_values_within_a_large_region():
    def f(x):
        h = x.tanh() * 2
        h.register_hook(lambda g: g * float(g.sum().item() > 0))
        return h.exp() * x

    compiled = tandem.compile(f)
    for seed in range(2):
        tandem.manual_seed(seed)
        x = tandem.randn(256, 256).requires_grad_()
        got, wanted = (autograd.grad(run(x).sum(), x)[0].numpy() for run in (compiled, f))
        np.testing.assert_array_equal(got, wanted)
