"""A recording follows the one that was made at the same place before: results are eager's whatever changed since."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from test_lazy_is_eager import plain

import tandem
from tandem import nn

STEPS = 8


def modes():
    def eager(body):
        return body

    def lazy(body):
        def run(k):
            with tandem.lazy():
                return body(k)

        return run

    def recorded(body):
        seen = []

        def run(k):
            seen.append(k)  # an effect, for which the body runs on every call
            return body(k)

        return tandem.compile(run)

    return {"eager": eager, "lazy": lazy, "recorded": recorded}


def numbers():
    x = tandem.arange(4.0)
    pairs = [(1.0, 2.0), (1.0, 2.0), (3.0, 4.0), (3.0, 3.0), (3.0, 3.0), (2.0, 3.0), (1, 2.0), (1.0, 2.0)]

    def body(k):
        a, b = pairs[k]
        return x * a + x * b, (x * a) * (x * b)

    return body


def kinds_of_numbers():
    x = tandem.arange(4)
    return lambda k: x * (2, 2, 2.0, 2.0, True, 2, 2, 2.0)[k] + 1


def shapes():
    return lambda k: (tandem.ones(k % 3 + 1, 2) * 2 + tandem.ones(2)).sum(0)


def dtypes():
    return lambda k: (tandem.ones(3, dtype=(tandem.float32, tandem.int64, tandem.float64)[k % 3]) * 2 + 1) / 2


def default_dtype():
    x = tandem.arange(4)

    def body(k):
        tandem.set_default_dtype(tandem.float64 if k % 3 == 1 else tandem.float32)
        try:
            return x / 2 + tandem.sin(x)
        finally:
            tandem.set_default_dtype(tandem.float32)

    return body


def length():
    x = tandem.ones(3)

    def body(k):
        y = x
        for i in range((3, 3, 2, 4, 4, 0, 3, 3)[k]):
            y = y * 1.5 + i
        return y

    return body


def order():
    x, y = tandem.ones(3), tandem.arange(3.0)

    def body(k):
        first, second = (x, y) if k % 2 else (y, x)
        a = first * 2
        b = second + 1
        return a - b, a.sum()

    return body


def operands_that_are_one():
    x, y = tandem.ones(3), tandem.arange(3.0)
    return lambda k: (x * (x if k in (2, 3, 6) else y) + x) * y


def values_read():
    x = tandem.arange(3.0)

    def body(k):
        y = x * k
        if y.sum().item() > 6:
            y = y - 1
        z = y.exp()
        return z, z.sum().item(), z * 2

    return body


def windows():
    x = tandem.arange(24.0).reshape(4, 6)
    return lambda k: (x[k % 3] * 2, x[:, k % 2 :: 2].sum(), x.t()[1:].contiguous() + k)


def writes():
    x = tandem.zeros(4, 3)

    def body(k):
        x[k % 4] += 1
        y = x * 2
        x.mul_(0.5) if k % 3 == 2 else x.add_(1)
        return x.clone(), y

    return body


def memory_that_is_replaced():
    held = [tandem.ones(3)]

    def body(k):
        if k in (2, 5):
            held[0] = tandem.arange(6.0)[k % 3 : k % 3 + 3]
        return held[0] * 2 + 1

    return body


def draws():
    generator = tandem.Generator()
    generator.manual_seed(3)

    def body(k):
        if k == 4:
            tandem.manual_seed(11)
        if k % 2:
            tandem.rand(2)
        return tandem.rand(3) * 2, tandem.randn(3, generator=generator), tandem.nn.functional.dropout(tandem.ones(8))

    return body


def indices():
    x = tandem.arange(6.0)

    def body(k):
        y = x * 2
        try:
            return y[tandem.tensor([k, 1])] + 1
        except IndexError as error:
            return str(error)

    return body


def integer_division():
    x = tandem.tensor([7, 8])

    def body(k):
        try:
            return x // tandem.tensor([k % 3, 1]) + 1
        except RuntimeError as error:
            return str(error)

    return body


def errors():
    x = tandem.ones(3)

    def body(k):
        y = x * 2
        try:
            return y + tandem.ones(3 if k % 3 else 2)
        except RuntimeError as error:
            return str(error), y * 3

    return body


def discarded():
    x = tandem.ones(3)

    def body(k):
        a, kept = ((True, True), (False, False), (False, True), (True, False), (True, True), (False, False))[k % 6]
        y = x + 5 if a else x * 3
        return y if kept else None

    return body


def errors_that_lose_all():
    x = tandem.ones(3)

    def body(k):
        y = x * 3 if k % 3 else x + 5
        if k % 3 == 1:
            y.expand(-1, 3)
        return y

    def caught(k):
        try:
            return body(k)
        except RuntimeError as error:
            return str(error)

    return caught


def exceptions():
    x = tandem.ones(3)

    def body(k):
        x.add_(1)
        if k in (3, 4):
            raise ValueError(k)
        return x * 2

    return body


def gradients():
    w = tandem.arange(3.0, requires_grad=True)

    def body(k):
        w.requires_grad_(k not in (2, 3))
        y = (w * w).sum() * k
        if w.requires_grad:
            w.grad = None if k % 2 else w.grad
            y.backward()
        return y.detach(), None if w.grad is None else w.grad.clone()

    return body


def second_derivatives():
    x = tandem.linspace(-1, 1, 5, requires_grad=True)

    def body(k):
        y = (x**3 if k != 4 else x.sin()).sum()
        (g,) = tandem.autograd.grad(y, x, create_graph=True)
        (h,) = tandem.autograd.grad(g.sum(), x)
        return g.detach(), h

    return body


def no_grad_in_between():
    w = tandem.ones(3, requires_grad=True)

    def body(k):
        with tandem.no_grad() if k % 3 == 0 else nullcontext():
            y = w * 2 + 1
        return y, y.requires_grad

    return body


def autocast():
    x = tandem.linspace(0, 1, 16).reshape(4, 4)

    def body(k):
        with tandem.autocast("cpu", dtype=tandem.bfloat16, enabled=k % 3 == 1):
            return x @ x + 1

    return body


def vmapped():
    x = tandem.arange(6.0).reshape(2, 3)

    def body(k):
        if k % 3 == 2:
            return tandem.vmap(lambda row: row * 2 + row.sum())(x)
        return x * 2 + x.sum()

    return body


def optimizers():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    made = [tandem.optim.Adam(model.parameters(), lr=0.1), tandem.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)]
    x = tandem.arange(6.0).reshape(2, 3)

    def body(k):
        optimizer = made[k in (3, 4)]
        optimizer.param_groups[0]["lr"] = 0.1 / (k + 1)
        optimizer.zero_grad(set_to_none=k % 2 == 0)
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach(), [p.detach().clone() for p in model.parameters()]

    return body


def composites():
    x = tandem.linspace(-2, 2, 20000)

    def body(k):
        y = x[: 20000 - 5000 * (k % 2)]
        return tandem.nn.functional.gelu(y), tandem.softmax(y.reshape(100, -1), (k // 2) % 2), y.std()

    return body


PROGRAMS = [
    numbers,
    kinds_of_numbers,
    shapes,
    dtypes,
    default_dtype,
    length,
    order,
    operands_that_are_one,
    values_read,
    windows,
    writes,
    memory_that_is_replaced,
    draws,
    indices,
    integer_division,
    errors,
    discarded,
    errors_that_lose_all,
    exceptions,
    gradients,
    second_derivatives,
    no_grad_in_between,
    autocast,
    vmapped,
    optimizers,
    composites,
]


@pytest.mark.parametrize("mode", ["lazy", "recorded"])
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda f: f.__name__)
def test_results_are_eagers(make, mode):
    def history(name):
        tandem.manual_seed(5)
        run = modes()[name](make())
        seen = []
        for k in range(STEPS):
            try:
                seen.append(plain(run(k)))
            except Exception as error:
                seen.append((type(error), str(error)))
        return seen, plain(tandem.get_rng_state())

    assert history(mode) == history("eager")


def test_blocks_are_told_apart():
    x = tandem.arange(3.0)
    for k in range(6):
        with tandem.lazy():
            a = x * 2 + k
        with tandem.lazy():
            b = (x - 1).sum()
        with tandem.lazy():
            c = a @ x
        assert a.tolist() == [k, 2.0 + k, 4.0 + k]
        assert b.item() == 0.0
        assert c.item() == 10.0 + 3 * k


def test_nothing_outlives_a_recording():
    import gc
    import weakref

    def run():
        x = tandem.ones(3)
        with tandem.lazy():
            y = x * 2
        return weakref.ref(x), weakref.ref(y)

    for _ in range(3):
        refs = run()
        gc.collect()
        assert [r() for r in refs] == [None, None]
