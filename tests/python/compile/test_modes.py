"""Lazy recording, and what must be the same in eager, lazy and compiled runs beside the table of operations."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem import nn

# ---- when recorded work runs ----------------------------------------------------------------------------------------


def launches():
    return tandem.counters()["kernel_launches"]


def test_nothing_runs_until_a_value_is_needed():
    x = tandem.randn(50)
    with tandem.lazy():
        before = launches()
        y = tandem.tanh(x) * 2 + 1
        z = y.sum()
        assert (y.shape, y.dtype, z.shape) == ((50,), tandem.float32, ())
        assert launches() == before
        value = z.item()
        assert launches() > before
    assert value == (tandem.tanh(x) * 2 + 1).sum().item()


READERS = {
    "item": lambda t: t[0].item(),
    "bool": lambda t: bool(t[0] > 0),
    "int": lambda t: int(t[0]),
    "float": lambda t: float(t[0]),
    "tolist": lambda t: t.tolist(),
    "numpy": lambda t: t.numpy(),
    "repr": lambda t: repr(t),
    "dlpack": lambda t: np.from_dlpack(t),
    "iteration": lambda t: [v.item() for v in t],
    "index": lambda t: [7, 8, 9][t[0].long()],
    "eval": lambda t: tandem.eval(t),
    "equal": lambda t: tandem.equal(t, tandem.ones(2)),
}


@pytest.mark.parametrize("reader", READERS)
def test_reading_flushes(reader):
    def f(x):
        return x * 2 + 1

    x = tandem.tensor([0.5, 1.0])
    expected = READERS[reader](f(x))
    with tandem.lazy():
        y = f(x)
        got = READERS[reader](y)
        z = y * 2
    np.testing.assert_equal(got, expected)
    assert z.tolist() == [4.0, 6.0]


def test_eval_of_everything():
    with tandem.lazy():
        x = tandem.ones(3) * 2
        y = x + 1
        before = launches()
        tandem.eval(y)
        assert launches() > before
        z = y * 3
        tandem.eval()
        before = launches()
        assert z.tolist() == [9.0, 9.0, 9.0] and y.tolist() == [3.0, 3.0, 3.0]
        assert launches() == before


def test_the_end_of_the_block_flushes():
    with tandem.lazy():
        y = tandem.ones(3) + 1
    before = launches()
    assert y.tolist() == [2, 2, 2]
    assert launches() == before


def test_what_nobody_holds_is_not_computed():
    x = tandem.randn(20)
    with tandem.lazy():
        tandem.eval()
        before = launches()
        for _ in range(10):
            tandem.exp(x)
    assert launches() == before


def test_blocks_nest():
    with tandem.lazy():
        x = tandem.ones(2) * 3
        with tandem.lazy():
            y = x + 1
        z = x + y
    assert (x.tolist(), y.tolist(), z.tolist()) == ([3, 3], [4, 4], [7, 7])


def test_an_exception_inside_the_block():
    x = tandem.ones(3)
    with pytest.raises(KeyError):
        with tandem.lazy():
            x.add_(1)
            y = x * 2
            raise KeyError("mine")
    assert x.tolist() == [2, 2, 2] and y.tolist() == [4, 4, 4]
    assert (x + 1).tolist() == [3, 3, 3]


def test_errors_are_raised_at_once_and_leave_the_block_working():
    with tandem.lazy():
        x = tandem.ones(2, 3)
        y = x * 2
        with pytest.raises(RuntimeError, match=r"2x3|\[2, 3\]"):
            x @ y
        with pytest.raises(IndexError):
            x.sum(5)
        z = y + 1
    assert z.tolist() == [[3, 3, 3]] * 2


def test_errors_that_depend_on_values_are_raised_at_once():
    x, i, reached = tandem.ones(3), tandem.tensor([0, 9]), []
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        with tandem.lazy():
            x.add_(1)
            x.index_select(0, i)
            reached.append(x)
    assert x.tolist() == [2, 2, 2] and not reached


def test_recording_belongs_to_its_thread():
    seen = []

    def other():
        before = launches()
        seen.append((tandem.ones(3) + 1).tolist())
        seen.append(launches() > before)

    with tandem.lazy():
        x = tandem.ones(2) * 2
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        y = x + 1
    assert seen == [[2, 2, 2], True] and y.tolist() == [3, 3]


def test_one_tensor_recorded_twice_owns_two_storages():
    with tandem.lazy():
        a, b = tandem.ones(3) * 2, tandem.ones(3) * 2
    a.add_(1)
    assert (a.tolist(), b.tolist()) == ([3, 3, 3], [2, 2, 2])


def test_views_and_writes_in_a_block():
    x = tandem.arange(6.0).reshape(2, 3)
    with tandem.lazy():
        row = x[0]
        row.add_(10)
        x.t()[1].mul_(2)
        copy = row.clone()
        x[1, 2] = -1
    assert x.tolist() == [[10, 22, 12], [3, 8, -1]]
    assert row.tolist() == [10, 22, 12] and copy.tolist() == [10, 22, 12]
    assert row.data_ptr() == x.data_ptr()


def test_values_written_after_the_block_stay_apart():
    x = tandem.zeros(3)
    with tandem.lazy():
        y = x + 1
        x.add_(5)
        z = x + 1
    x.add_(100)
    assert (y.tolist(), z.tolist(), x.tolist()) == ([1] * 3, [6] * 3, [105] * 3)


def test_writes_from_outside_reach_a_block_that_goes_on():
    x = tandem.zeros(2)
    with tandem.lazy():
        y = x + 1
        tandem.eval(y)
        x.numpy()[0] = 7
        z = x + 1
    assert (y.tolist(), z.tolist()) == ([1, 1], [8, 1])


def test_long_recordings():
    x = tandem.zeros(4)
    with tandem.lazy():
        for _ in range(20000):
            x = x + 1
    assert x.tolist() == [20000.0] * 4


def test_gradients_in_a_block():
    w = tandem.tensor([1.0, 2.0], requires_grad=True)
    with tandem.lazy():
        loss = (w * w).sum()
        loss.backward()
        (again,) = tandem.autograd.grad((w**3).sum(), w, create_graph=True)
        (second,) = tandem.autograd.grad(again.sum(), w)
    assert w.grad.tolist() == [2, 4] and second.tolist() == [6, 12]
    assert loss.item() == 5
    (w * 2).sum().backward()
    assert w.grad.tolist() == [4, 6]


def test_a_graph_made_lazily_is_differentiated_eagerly():
    w = tandem.randn(4, requires_grad=True)
    with tandem.lazy():
        y = tandem.tanh(w) * w
    (g,) = tandem.autograd.grad(y.sum(), w, create_graph=True)
    (h,) = tandem.autograd.grad(g.sum(), w)
    z = tandem.tanh(w) * w
    (g2,) = tandem.autograd.grad(z.sum(), w, create_graph=True)
    assert_same_bits(g, g2)
    assert_same_bits(h, tandem.autograd.grad(g2.sum(), w)[0])


# ---- the same in all modes ------------------------------------------------------------------------------------------


def test_random_numbers(mode):
    def f(p):
        a = tandem.rand(3, 5)
        tandem.randn(7)  # nobody looks at it, and it counts
        return [
            a,
            tandem.randn(11),
            tandem.randint(0, 100, (13,)),
            tandem.randperm(9),
            tandem.bernoulli(p),
            nn.functional.dropout(p, 0.3),
        ]

    def run(mode):
        p = tandem.full((40,), 0.5)
        compiled = tandem.compile(f)
        compiled(p)
        tandem.manual_seed(123)
        if mode == "compiled":
            results = compiled(p)
        else:
            results = run_in(mode, f, p)
        return [*results, tandem.rand(4)]

    for a, b in zip(run(mode), run("eager"), strict=True):
        assert_same_bits(a, b)


def test_a_seed_set_inside(mode):
    def f(x):
        tandem.manual_seed(4)
        return x + tandem.rand(3)

    x = tandem.zeros(3)
    expected = f(x)
    tandem.manual_seed(99)
    assert_same_bits(run_in(mode, f, x), expected)


def test_the_moments_of_random_numbers():
    n = 200_000
    for y, mean, std in (
        (tandem.rand(n), 0.5, 12**-0.5),
        (tandem.randn(n), 0.0, 1.0),
        (tandem.randint(0, 10, (n,)).double(), 4.5, (99 / 12) ** 0.5),
    ):
        assert y.mean().item() == pytest.approx(mean, abs=4 * std / n**0.5)
        assert y.std().item() == pytest.approx(std, rel=0.01)
    assert (tandem.rand(n) < 1).all()


def train(mode, steps=6):
    tandem.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 16),
        nn.GELU(),
        nn.Dropout(0.2),
        nn.LayerNorm(16),
        nn.Linear(16, 5),
    )
    optimizer = tandem.optim.AdamW(net.parameters(), lr=1e-2)
    data = [(tandem.randn(8, 1, 8, 8), tandem.randint(0, 5, (8,))) for _ in range(3)]

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    compiled = tandem.compile(step)
    losses = []
    for i in range(steps):
        if mode == "eager":
            losses.append(step(*data[i % 3]))
        elif mode == "lazy":
            with tandem.lazy():
                losses.append(step(*data[i % 3]))
        else:
            losses.append(compiled(*data[i % 3]))
    return losses + [p.detach() for p in net.parameters()]


def test_training(mode):
    """A convolutional network, its gradients clipped, over several steps: losses and weights."""
    for i, (a, b) in enumerate(zip(train(mode), train("eager"), strict=True)):
        try:
            assert_same_bits(a, b)
        except AssertionError as e:
            raise AssertionError(f"result {i}: {e}") from None


def test_hooks_and_functions(mode):
    class Twice(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 + x * 0

    def f(x):
        y = Twice.apply(x) * x
        y.register_hook(lambda g: g * 10)
        (g,) = tandem.autograd.grad(y.sum(), x)
        return y, g

    x = tandem.tensor([1.0, -2.0], requires_grad=True)
    y, g = run_in(mode, f, x)
    assert y.tolist() == [2, 8] and g.tolist() == [40, -80]


def test_default_dtype_is_part_of_a_trace():
    f = tandem.compile(lambda x: tandem.ones(2) + x)
    x = tandem.tensor([1, 2])
    assert f(x).dtype is tandem.float32
    tandem.set_default_dtype(tandem.float64)
    try:
        assert f(x).dtype is tandem.float64
    finally:
        tandem.set_default_dtype(tandem.float32)
    assert f(x).dtype is tandem.float32


def test_inference_mode(mode):
    w = tandem.ones(2, requires_grad=True)
    with tandem.inference_mode():
        y = run_in(mode, lambda x: x * w + 1, tandem.ones(2))
    assert y.tolist() == [2, 2] and not y.requires_grad and y.is_inference()
