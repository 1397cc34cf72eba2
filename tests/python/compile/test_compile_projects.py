"""What code of other projects does on the way to its operations: cached functions, enumerations, context variables,
attributes that are changed for a while. Calls are plans, and follow every change."""

from __future__ import annotations

import contextvars
import copy
import enum
import functools
import pickle

import pytest
from compiling import CHECKED, follows

import tandem
from tandem import nn

# ---- cached functions: (the body, what happens before call i) --------------------------------------------------------


def cache_is_cleared():
    factor = [1.0]
    cached = functools.lru_cache(lambda a: a * factor[0])

    def before(i):
        if i == 3:
            factor[0] = 5.0  # what is kept stays as it is
        if i == 4:
            cached.cache_clear()

    return lambda x: x * cached(2), before


def result_is_dropped():
    calls = []

    @functools.lru_cache(maxsize=2)
    def cached(a):
        calls.append(a)
        return a, len(calls)

    def before(i):
        if i in (2, 4):
            for k in range(5):
                cached(100 + k + i)

    return lambda x: x * cached(1)[1], before


def keywords():
    @functools.lru_cache
    def cached(*args, **kwargs):
        return args, tuple(sorted(kwargs.items()))

    def body(x):
        return x * len(cached(1, b=2)) * cached(3)[0][0] * cached(*(1, 2), **{"z": 3})[1][0][1]

    return body, lambda i: None


def cached_tensor():
    buffer = functools.cache(lambda n: tandem.zeros(n))

    def body(x):
        b = buffer(2)
        b.add_(x)
        return b.clone()

    return body, lambda i: None


def cached_list():
    cached = functools.cache(lambda n: [1])

    def before(i):
        if i == 3:
            cached(2).append(4)

    return lambda x: x * len(cached(2)), before


def of_an_object():
    """An object that equals no other: what is kept is kept for it."""

    @functools.lru_cache
    def made(a):
        return Plain(v=a)

    @functools.lru_cache
    def cached(o, a):
        return o.v * a

    def before(i):
        if i == 3:
            made(7).v = 9  # what was kept of it stays
        if i == 4:
            cached.cache_clear()

    return lambda x: x * cached(made(7), 2), before


def methods_whose_results_are_kept():
    class Sizes:
        def __init__(self, scale):
            self.scale = scale

        @functools.lru_cache  # noqa: B019
        def of(self, n):
            return self.scale * n

    held = [Sizes(2)]

    def before(i):
        if i == 3:
            held[0].scale = 5  # what was kept of it stays
        if i == 4:
            held[0] = Sizes(7)

    return lambda x: x * held[0].of(3), before


def calls_the_compiled_function():
    again, inside = [None], []

    @functools.lru_cache
    def cached(a):
        if again[0] is not None and not inside:
            inside.append(a)
            again[0](tandem.ones(3))
            inside.clear()
        return a

    def body(x):
        return x * cached(3)

    def before(i):
        again[0] = again[0] or tandem.compile(body)
        if i % 2:
            cached.cache_clear()

    return body, before


# ---- enumerations ---------------------------------------------------------------------------------------------------


class Plain:
    def __init__(self, **values):
        self.__dict__.update(values)


class Kind(enum.Enum):
    FIRST = 1.5
    SECOND = 2.5


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Text(str, enum.Enum):
    A = "a"
    B = "b"


def members():
    held = [Kind.FIRST, Number.ONE, Text.A]

    def body(x):
        y = x * (2 if held[0] is Kind.FIRST else 3) * (4 if held[1] == Number.ONE else 5) * held[0].value
        return y * (6 if held[2] == "a" else 7) * (1 if held[2] in (Text.A,) else 8), held[2].name, held[0]

    def before(i):
        held[:] = [[*Kind][i // 3], [*Number][i // 4], [*Text][i // 5]]

    return body, before


def members_by_value_and_as_keys():
    held, table = [1], {Number.ONE: 2.0, Text.A: 3.0, Kind.FIRST: 4.0, Kind.SECOND: 5.0}

    def body(x):
        number = Number(held[0])
        return x * number.value * table[Number.ONE] * table[Text.A] * table[Kind(1.5)] * (Text("b") == "b"), number

    def before(i):
        held[0] = 1 + i // 3
        if i == 2:
            table[Text.A] = 7.0
        if i == 4:
            table[Kind.FIRST] = 8.0

    return body, before


def class_gets_an_attribute():
    class Own(enum.Enum):
        ONE = 1

    def before(i):
        if i == 3:
            Own.scale = 5

    return lambda x: x * Own.ONE.value * getattr(Own, "scale", 1), before


# ---- changed for a while --------------------------------------------------------------------------------------------


def attributes_for_a_while():
    o = Plain(depth=0, flag=False)

    def body(x):
        o.depth += 1
        o.flag = True
        y = x * o.depth if o.flag else x
        o.depth -= 1
        o.flag = False
        return y

    def before(i):
        if i == 3:
            o.depth = 5

    return body, before


def item_for_a_while():
    held = {"depth": 0}

    def body(x):
        held["depth"] += 1
        y = x * held["depth"]
        held["depth"] -= 1
        return y, held["depth"]

    def before(i):
        if i == 3:
            held["depth"] = 5

    return body, before


def rate_for_a_while():
    w = nn.Parameter(tandem.ones(2))
    optimizer = tandem.optim.SGD([w], lr=0.5)

    def body(x):
        (w * x).sum().backward()
        group = optimizer.param_groups[0]
        rate = group["lr"]
        group["lr"] = rate * 0.1
        optimizer.step()
        group["lr"] = rate
        optimizer.zero_grad()
        return w.detach().clone()

    def before(i):
        if i == 3:
            optimizer.param_groups[0]["lr"] = 2.0

    return body, before


def variable_is_read():
    variable = contextvars.ContextVar("variable", default=2)

    def before(i):
        if i == 3:
            variable.set(9)

    return lambda x: x * variable.get(), before


def variable_for_a_while():
    variable = contextvars.ContextVar("variable", default=2)

    def body(x):
        token = variable.set(7)
        y = x * variable.get()
        variable.reset(token)
        return y * variable.get()

    def before(i):
        if i == 3:
            variable.set(9)

    return body, before


# ---- dicts of other classes -----------------------------------------------------------------------------------------


def names_that_are_absent():
    functional = nn.functional

    def before(i):
        if i == 3:
            functional.no_such_name = 5
        if i == 5:
            del functional.no_such_name

    return lambda x: x * (getattr(functional, "no_such_name", 2) + hasattr(tandem, "no_other_name")), before


def names_of_code():
    def one(a):
        return a

    def two(a, b):
        return a

    held = [one]

    def before(i):
        if i == 3:
            held[0] = two

    return lambda x: x * len(held[0].__code__.co_varnames) * (2 if callable(held[0]) else 3), before


CASES = {
    cache_is_cleared: 3,
    result_is_dropped: 4,
    keywords: 2,
    cached_tensor: 2,
    cached_list: 3,
    of_an_object: None,
    methods_whose_results_are_kept: None,
    calls_the_compiled_function: None,
    members: 4,
    members_by_value_and_as_keys: 4,
    class_gets_an_attribute: 2,
    attributes_for_a_while: 2,
    item_for_a_while: 2,
    rate_for_a_while: None,
    variable_is_read: 2,
    variable_for_a_while: 2,
    names_that_are_absent: None,
    names_of_code: 2,
}


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_calls_follow_every_change(make):
    follows(make, CASES[make])


def test_what_stays_changed_is_refused():
    o, variable = Plain(text=""), contextvars.ContextVar("variable", default=0)

    def counts(x):
        o.text += "1"
        return x * len(o.text)

    def sets(x):
        variable.set(variable.get() + 1)
        return x * variable.get()

    for body, reason in (
        (counts, r"is assigned \(text\)|changes what it reads"),
        (sets, "is left with another value"),
    ):
        f = tandem.compile(body)
        assert [f(tandem.ones(1)).item() for _ in range(4)] == [1, 2, 3, 4]
        assert f.runs == 4 or CHECKED
        with pytest.raises(RuntimeError, match=reason):
            tandem.compile(body, fullgraph=True)(tandem.ones(1))


def test_attributes_of_arguments():
    f = tandem.compile(lambda x: x * (2 if hasattr(x, "mark") else 3))
    for i in range(6):
        x = tandem.ones(1)
        if i in (2, 4):
            x.mark = 1
        assert f(x).item() == (2 if i in (2, 4) else 3)


def test_functions_that_call_cached_ones_can_be_saved():
    plan = functools.lru_cache(lambda pattern, rank: [*range(rank)][::-1] if pattern == "turned" else None)
    program = tandem.export.export(
        lambda x: x.permute(*plan("turned", x.dim())) * Kind.FIRST.value, (tandem.ones(2, 3),)
    )
    x = tandem.arange(6.0).reshape(2, 3)
    assert program(x).tolist() == (x.t() * 1.5).tolist()


@pytest.mark.parametrize("look", [pickle.dumps, copy.deepcopy, vars], ids=["pickle", "deepcopy", "vars"])
def test_arguments_whose_attributes_were_looked_at(look):
    """An optimizer that is saved and goes on: its state has no attributes, whoever asked for them."""

    def body(x, factors):
        order = x.dim()
        return [x * f if f.dim() == order else x + f for f in factors], getattr(x, "extra", 0)

    run = tandem.compile(body, fullgraph=True)
    x, factors = tandem.arange(4.0), [tandem.ones(4), tandem.tensor(2.0)]
    run(x, factors)
    for t in (x, *factors):
        look(t)
    for _ in range(2):
        got, extra = run(x, factors)
        assert [t.tolist() for t in got] == [[0, 1, 2, 3], [2, 3, 4, 5]] and extra == 0
    x.extra = 3
    again = tandem.compile(body)
    assert [again(x, factors)[1] for _ in range(2)] == [3, 3]
    del x.extra
    assert again(x, factors)[1] == 0
    x.extra = 4
    assert again(x, factors)[1] == 4
