"""Numbers that compiled bodies read, compute with, compare and leave somewhere (`self.steps += 1`): plans count on as
the body would, in Python's arithmetic, and each way that a comparison goes has a plan of its own."""

from __future__ import annotations

import math

import pytest
from compiling import CHECKED, Box, counting, picture, runs_of, vector

import tandem
from tandem import nn

# ---- forms, each a plan from its third call on -----------------------------------------------------------------------


def an_attribute():
    box = Box(steps=0)

    def body(x):
        box.steps += 1
        return x * box.steps, x / (1 - 0.9**box.steps)

    return body, lambda: box.steps


def a_float():
    box = Box(rate=1.0)

    def body(x):
        box.rate *= 0.5
        return x * box.rate

    return body, lambda: box.rate


def an_item_of_a_dict():
    counts = {"n": 3}

    def body(x):
        counts["n"] -= 1
        return x + counts["n"]

    return body, lambda: counts


def an_item_of_a_list():
    counts = [1, 2.5, 7]

    def body(x):
        counts[0] += 1
        counts[-1] = counts[0] // 2
        return x.sub(counts[1], alpha=2) * counts[0]

    return body, lambda: counts


def with_a_default():
    counts, box = {}, Box(n=1)

    def body(x):
        counts["n"] = counts.get("n", 0) + 1
        setattr(box, "n", getattr(box, "n") * 3 % 11)  # noqa: B009, B010
        return x * counts["n"] + box.n

    return body, lambda: (counts, box.n)


def a_variable():
    n = 0

    def body(x):
        nonlocal n
        n = n + 1
        return x * n

    return body, lambda: n


total = 0


def a_global(x):
    global total  # noqa: PLW0603
    total += 2
    return x.pow(2) * total


def counted_and_returned():
    box = Box(n=0)

    def body(x):
        box.n += 1
        return x, box.n, [box.n * 0.5, {"n": box.n - 1}]

    return body, lambda: box.n


def logged():
    box, log = Box(n=0), []

    def body(x):
        box.n += 3
        log.append(box.n / 2)
        return x * box.n

    return body, lambda: log


def warmed_up():
    box = Box(n=0)

    def body(x):
        box.n += 1
        rate = min(1.0, box.n / 4) * 0.5 * (1 + math.cos(math.pi * min(box.n, 6) / 6))
        return x * rate

    return body, lambda: box.n


def now_and_then():
    box = Box(n=0, kept=vector(0, 0))

    def body(x):
        box.n += 1
        if box.n % 3 == 0:
            box.kept = box.kept + x
        return box.kept * 1

    return body, lambda: (box.n, box.kept)


def around_a_ring():
    box = Box(at=0, items=tandem.zeros(3, 2))

    def body(x):
        box.items[box.at] = x
        box.at = (box.at + 1) % 3
        return box.items.sum(0)

    return body, lambda: (box.at, box.items)


def of_a_module():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x + self.calls

    model = Counts()
    return model, lambda: model.calls


def set_anew():
    box = Box(n=0, last=0)

    def body(x):
        box.last = box.n
        box.n = 5
        return x + box.last

    return body, lambda: (box.n, box.last)


def of_groups():
    w = tandem.zeros(2, requires_grad=True)
    optimizer = tandem.optim.SGD([w], lr=1.0)

    def body(x):
        (w * x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        for group in optimizer.param_groups:
            group["lr"] *= 0.5
        return w.detach() * 1

    return body, lambda: optimizer.param_groups[0]["lr"]


def of_ints():
    box = Box(n=1)

    def body(x):
        box.n = box.n * 3 % 7
        return x.long() * box.n, x.long() + tandem.tensor(box.n), x.to(tandem.float16) * box.n, box.n > x.long()

    return body, lambda: box.n


def with_a_gradient():
    box = Box(n=0)

    def body(x):
        box.n += 1
        w = x.detach().requires_grad_()
        (grad,) = tandem.autograd.grad((w**2).sum() * box.n, w)
        return grad

    return body, lambda: box.n


def metrics():
    box, losses = Box(loss=0.0, right=0, seen=0, mean=0.0), []

    def body(x):
        error = (x - 1) ** 2
        box.loss += error.mean().item() * x.numel()
        box.right += (x > 0).sum().item()
        box.seen += x.shape[0]
        box.mean = box.right / box.seen
        losses.append(error.sum().item() / 2 - 1)
        return box.loss / box.seen, error

    return body, lambda: (vars(box), losses)


# How often the body runs in eight calls.
FORMS = {
    "an attribute": (an_attribute, 2),
    "a float": (a_float, 2),
    "an item of a dict": (an_item_of_a_dict, 2),
    "an item of a list": (an_item_of_a_list, 2),
    "with a default": (with_a_default, 3),
    "a variable": (a_variable, 2),
    "a global": (lambda: (a_global, lambda: total), 2),
    "counted and returned": (counted_and_returned, 2),
    "logged": (logged, 2),
    "warmed up": (warmed_up, 4),
    "now and then": (now_and_then, 5),
    "around a ring": (around_a_ring, 4),
    "of a module": (of_a_module, 2),
    "set anew": (set_anew, 2),
    "of groups": (of_groups, 4),
    "of ints": (of_ints, 2),
    "with a gradient": (with_a_gradient, 2),
    "metrics": (metrics, 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers(form):
    def begin():
        global total  # noqa: PLW0603
        total = 0

    make, most = FORMS[form]
    ran = runs_of(make, lambda k: vector(1.5, k - 3), begin)
    assert CHECKED or ran <= most


# ---- what others do between calls ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [7, 2.5, True, 10**25, 2**62, -1, float("nan"), -0.0, None, "text"], ids=lambda value: repr(value)[:8]
)
def test_another_kind_of_number(other):
    def told(wrap):
        box = Box(n=1)

        def body(x):
            box.n = box.n * 2
            return x, box.n

        call = wrap(body)
        found = []
        for k in range(9):
            if k == 5:
                box.n = other
            try:
                found.append(picture((call(vector(1, 2)), box.n)))
            except TypeError as error:
                found.append(type(error))
        return repr(found)

    assert told(lambda f: f) == told(tandem.compile)


def test_ints_beyond_64_bits():
    box = Box(n=2**60)

    @tandem.compile
    def body(x):
        box.n *= 2
        return x * 1

    for _ in range(8):
        body(vector(1))
    assert box.n == 2**68


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("n ** k", [(2.0, 3.0), (10.0, 400.0), (-8.0, 1 / 3), (0.0, -1.0), (0.0, 0.0), (math.inf, 2.0)]),
        ("n // k", [(7.0, 2.0), (-7.5, 2.0), (5.0, -0.3), (1.0, 0.0), (math.nan, 1.0), (-0.0, 3.0), (1e300, 1e-300)]),
        ("n % k", [(7.0, 2.0), (-7.5, 2.0), (5.0, -0.3), (1.0, 0.0), (math.inf, 3.0), (3.0, math.inf)]),
        ("n / k", [(7.0, 2.0), (1.0, 0.0), (-1.0, 3.0)]),
        ("math.exp(n) + math.log(k)", [(1.0, 2.0), (800.0, 1.0), (1.0, 0.0), (1.0, -1.0)]),
        ("math.sqrt(n) * math.cos(k)", [(2.0, 1.0), (-1.0, 1.0), (4.0, math.inf)]),
        ("-n", [(1.0, 0.0), (0.0, 0.0), (-2.5, 0.0)]),
        ("max(n, k)", [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (math.nan, 1.0), (1.0, math.nan), (0.0, -0.0)]),
    ],
)
def test_arithmetic_of_arguments(expression, values):
    body = eval(f"lambda x, n, k: (x * ({expression}), {expression})", {"math": math, "max": max})
    compiled = tandem.compile(body)

    def told(f, n, k):
        try:
            return repr(picture(f(vector(1, -2), n, k)))
        except (ArithmeticError, ValueError, TypeError) as error:
            return type(error)

    for n, k in values * 2:
        assert told(compiled, n, k) == told(body, n, k), (n, k)


def test_a_branch_has_a_plan_for_each_way():
    body = counting(lambda x, n: x + n if 0.5 < n <= 2 else x - n)
    values = [0.1, 0.2, 1.0, 1.5, 0.3, 3.0, 4.0, 2.0, 0.5, 2.5]
    assert [body(vector(0), n).item() for n in values] == pytest.approx([n if 0.5 < n <= 2 else -n for n in values])
    assert body.runs <= 3 or CHECKED


def test_an_int_that_is_another_one_at_each_call():
    body = counting(lambda x, step, *, size=1: x / (1 - 0.5**step) + size)
    steps = [1, 2, 3, 4, 7, 100, 3, -2]
    expected = [1 / (1 - 0.5**step) + 1 for step in steps]
    assert [body(vector(1), step).item() for step in steps] == pytest.approx(expected)
    assert [body(vector(1), step=step, size=1).item() for step in steps] == pytest.approx(expected)
    assert body.runs <= 6 or CHECKED
    for value in (True, 2.0, 2**62, 10**30):
        assert body(vector(1), value).item() == pytest.approx(1 / (1 - 0.5**value) + 1)


def test_an_int_that_is_a_size_counts_by_value():
    body = counting(lambda x, n, k: x[:n].sum() * n if k > 3 else x[:k].sum())
    calls = [(n, k) for n in range(1, 7) for k in (1, 5, 6)] * 2
    for n, k in calls:
        expected = n * n if k > 3 else k
        assert body(tandem.ones(8), n, k).item() == expected
    assert body.runs <= len(calls) // 2 + 8 or CHECKED


def test_what_never_comes_again_is_not_kept():
    """An index is no number of a plan: each has its own, and those that no call meets again are dropped."""
    box = Box(at=0, items=tandem.zeros(100))

    def body(x):
        box.items[box.at] = x
        box.at += 1
        return x + box.at

    call = tandem.compile(body)
    assert [call(tandem.tensor(float(k))).item() for k in range(100)] == [2 * k + 1 for k in range(100)]
    assert box.items.tolist() == list(range(100))
