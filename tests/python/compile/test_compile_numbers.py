"""Numbers that a body finds outside its arguments and that change between calls: an optimizer's rates read by code of
one's own, attributes, globals and variables of outer functions. The first value is a guard; a place where another float
was found is read anew at every call, as float arguments are."""

from __future__ import annotations

import math
import operator

import pytest
from compiling import Box, attempt, picture, same, vector
from conftest import assert_same_bits

import tandem
from tandem import nn, optim

RATE = 1.0
VALUES = (1.0, 0.5, 0.25, -3.0, 0.0, 7.0, 1e30, 1.0, 2.0)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 1.0
        self.line = nn.Linear(2, 2)

    @property
    def doubled(self):
        return self.scale * 2

    def forward(self, x):
        return self.line(x) * self.scale + self.doubled


class Descent(optim.Optimizer):
    """As users write them: rates by subscripts."""

    def __init__(self, params, lr=0.1, decay=0.01):
        super().__init__(params, {"lr": lr, "decay": decay})

    @tandem.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            lr = group["lr"]
            for p in group["params"]:
                if p.grad is not None:
                    p.mul_(1 - lr * group["decay"])
                    p.add_(p.grad, alpha=-lr)


def globals_change():
    def change(v):
        global RATE
        RATE = v

    return change, lambda x: x * RATE - RATE


def cells_change():
    rate = 1.0

    def change(v):
        nonlocal rate
        rate = v

    return change, lambda x: x * rate + 1


def attributes_change():
    box = Box(rate=1.0)
    return lambda v: setattr(box, "rate", v), lambda x: x * box.rate - (-box.rate)


def slots_change():
    kind = type("Slots", (), {"__slots__": ("rate",)})
    box = kind()
    return lambda v: setattr(box, "rate", v), lambda x: x * box.rate


def class_attributes_change():
    kind = type("Kind", (), {"rate": 1.0})
    return lambda v: setattr(kind, "rate", v), lambda x: x * kind.rate


def items_change():
    group = {"lr": 1.0}
    return lambda v: group.update(lr=v), lambda x: x * group["lr"]


def items_change_twice():
    """One float object in two places, of which one changes; the same number as a constant of the code."""
    rate = 1.0
    first, second = {"lr": rate}, {"lr": rate}
    return lambda v: first.update(lr=v), lambda x: x * first["lr"] + second["lr"] * 1.0 + rate


def items_of_lists_change():
    rates = [1.0, 2.0]
    return lambda v: rates.__setitem__(0, v), lambda x: x * rates[0] + rates[1]


def by_other_ways():
    box, group = Box(rate=1.0), {"lr": 1.0}

    def change(v):
        box.rate = group["lr"] = v

    return change, lambda x: x * getattr(box, "rate") + group.get("lr") + box.rate + group["lr"]  # noqa: B009


def then_by_other_ways():
    box, group = Box(rate=1.0), {"lr": 1.0}

    def change(v):
        box.rate = group["lr"] = v

    return change, lambda x: x * box.rate + group["lr"] + getattr(box, "rate") * group.get("lr")  # noqa: B009


def by_way_of_a_getter():
    kind = type("Kind", (), {"value": property(operator.attrgetter("rate")), "rate": 1.0})
    box = type("Derived", (kind,), {"again": property(lambda self: super(type(self), self).value)})()

    def change(v):
        box.rate = v

    return change, lambda x: x * box.rate + box.value + box.again


def decides():
    group = {"lr": 1.0}
    return lambda v: group.update(lr=v), lambda x: x * group["lr"] if group["lr"] > 0.4 else x - 1


def shown():
    group = {"lr": 1.0}
    return lambda v: group.update(lr=v), lambda x: (x, group["lr"], f"{group['lr']:.2f}", [group["lr"] + 1])


def raised():
    group = {"lr": 1.0}
    return lambda v: group.update(lr=v), lambda x: x ** group["lr"] + math.floor(group["lr"])


def divides():
    group = {"lr": 1.0}
    return lambda v: group.update(lr=v), lambda x: x * (1.0 / group["lr"])


def compared_by_identity():
    group = {"lr": 1.0}
    return lambda v: group.update(lr=v), lambda x: x if group["lr"] is group["lr"] else -x


def other_types():
    group = {"lr": 1.0}
    kinds = iter((1.0, 0.5, 2, True, tandem.tensor(3.0), 0.25, None, "a", 0.75))
    return lambda v: group.update(lr=next(kinds)), lambda x: x * group["lr"]


def removed():
    group = {"lr": 1.0}

    def change(v):
        if v == -3:
            return group.clear()
        group["lr"] = v

    return change, lambda x: x * group["lr"]


def written():
    group = {"lr": 1.0}

    def body(x):
        group["lr"] = group["lr"] * 0.5
        return x * group["lr"]

    return lambda v: group.update(lr=v), body


def optimizers_change():
    w = nn.Parameter(vector(1, 2))
    o = Descent([w])

    def body(x):
        o.zero_grad()
        loss = (w * x).square().sum()
        loss.backward()
        o.step()
        return loss, w.detach().clone()

    return lambda v: o.param_groups[0].update(lr=v / 1e30 if v > 10 else v / 100), body


def modules_change():
    net = Scaled()
    return lambda v: setattr(net, "scale", v), lambda x: net(x)


WORLDS = [
    globals_change,
    cells_change,
    attributes_change,
    slots_change,
    class_attributes_change,
    items_change,
    items_change_twice,
    items_of_lists_change,
    by_other_ways,
    then_by_other_ways,
    by_way_of_a_getter,
    decides,
    shown,
    raised,
    divides,
    compared_by_identity,
    other_types,
    removed,
    written,
    optimizers_change,
    modules_change,
]


@pytest.mark.parametrize("world", WORLDS, ids=lambda f: f.__name__)
def test_numbers_that_change(world):
    def run(wrap):
        change, body = world()
        f = wrap(body)
        for value in VALUES:
            change(value)
            for k in range(2):
                yield attempt(f, vector(k + 1, 2))

    same(run)


@pytest.mark.parametrize(
    ("world", "runs"),
    [
        (globals_change, 2),
        (cells_change, 2),
        (attributes_change, 2),
        (items_change, 2),
        (items_change_twice, 2),
        (optimizers_change, 3),
        (modules_change, 2),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_they_are_read_anew(world, runs):
    change, body = world()
    f = tandem.compile(body)
    for value in range(1, 30):
        change(float(value))
        f(vector(1, 2))
    assert f.runs <= runs


def test_an_object_and_its_dict():
    """The dict of an object is replaced, and one that had no dict gets one."""

    def run(wrap):
        box = Box(rate=1.0)
        f = wrap(lambda x: x * box.rate)
        for k in range(6):
            box.__dict__ = {"rate": float(k)}
            yield f(vector(1))
        del box.rate
        yield attempt(f, vector(1))

    same(run)


def test_the_holder_of_a_number_dies():
    holders = [Box(rate=1.0)]
    f = tandem.compile(lambda x: x * holders[0].rate)
    for k in range(6):
        holders[0].rate = float(k)
        assert f(vector(1)).tolist() == [k]
    holders[0] = Box(rate=9.0)
    for k in range(6):
        assert f(vector(1)).tolist() == [9 + k]
        holders[0].rate += 1


@pytest.mark.parametrize("dtype", [None, tandem.float16, tandem.bfloat16, tandem.float64])
@pytest.mark.parametrize("make", [tandem.tensor, tandem.as_tensor])
def test_a_tensor_of_a_number_that_its_dtype_cannot_hold_is_infinite(make, dtype):
    def body(x, number):
        return x + make(number, dtype=dtype)

    compiled, x = tandem.compile(body), tandem.ones(3)
    for number in (1.5, 2.5, -7e4, 1e300, float("nan"), -float("inf"), 3.0):
        assert_same_bits(compiled(x, number), body(x, number))


# ---- numbers of which the bits matter -------------------------------------------------------------------------------

NAN = float("nan")
ODD = (NAN, -NAN, 2.0, -0.0, 0.0, math.inf, -math.inf, 5e-324, -1e-40, 3.5e38, 1 / 3, 7.0)
SCALED = {
    "-s": lambda x, s: x + -s,
    "0 - s": lambda x, s: x * (0 - s),
    "s * -1": lambda x, s: x + s * -1.0,
    "-s, twice": lambda x, s: x * -operator.neg(s),
    "alpha": lambda x, s: tandem.add(x, x, alpha=s),
    "-alpha": lambda x, s: tandem.sub(x, x, alpha=-s),
    "alpha in place": lambda x, s: x.clone().add_(x, alpha=s),
    "rsub": lambda x, s: tandem.rsub(x, x, alpha=s),
    "addcmul": lambda x, s: tandem.addcmul(x, x, x, value=s),
    "lerp": lambda x, s: tandem.lerp(x, x + 1, s),
    "index_fill": lambda x, s: x.index_fill(0, tandem.tensor([0]), s),
    "full": lambda x, s: tandem.full_like(x, -s),
    "tensor": lambda x, s: tandem.tensor(s, dtype=x.dtype),
    "assignment": lambda x, s: operator.setitem(x, 0, s) or x,
}


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_arguments_that_are_nan_or_at_borders(name, dtype):
    """A first call with NaN says nothing of the next number, and the sign of NaN is changed by `-` alone."""
    f = SCALED[name]
    for first in ODD:
        compiled = tandem.compile(f)
        for s in (first, *ODD):
            x = tandem.tensor([1.5, -2.0, 0.0, 3.0, 1.0], dtype=getattr(tandem, dtype))
            expected = attempt(f, x.clone(), s)
            got = attempt(compiled, x.clone(), s)
            if isinstance(expected, tandem.Tensor):
                assert_same_bits(got, expected)
            else:
                assert (type(got), str(got)) == (type(expected), str(expected))


def test_numbers_computed_of_others_decide_where_indices_fall():
    """Indices are computed by themselves to be checked, of some of the call's numbers; the first are not among them."""

    def make(first, length):
        def body(x, o):
            y = tandem.ones(1)
            for j in range(first):
                y = y * (o.rate + 0.1 * j) + o.rate
            found = x[tandem.arange(length) + (o.n - 6 + 1)]
            o.n += 1
            o.rate += 0.25
            return found, y

        return body

    for first in range(4):
        for length in (1, 2, 6):
            plain, compiled = (Box(n=8, rate=0.5) for _ in range(2))
            body = make(first, length)
            run = tandem.compile(body)
            for k in range(5):
                x = tandem.arange(9.0 + k)
                assert picture(attempt(run, x, compiled)) == picture(attempt(body, x, plain))
            few = tandem.arange(3.0)  # in which there is no such place
            assert picture(attempt(run, few, compiled)) == picture(attempt(body, few, plain))
