"""What is told apart by what it is and not by what it holds: arguments that are one object or share memory with
another, tensors as keys, containers that took the place of others in memory, gradients that lie in one memory."""

from __future__ import annotations

import pytest
from compiling import Box, attempt, counting, same, vector

import tandem
from tandem import nn


def double(value, x):
    return x * 2 if value else x * 3


def containers(wrap):
    for make in (lambda: [1], dict, lambda: ([1],)):
        f = wrap(lambda x, a, b: double(a is b, x))
        a, b = make(), make()
        for left, right in ((a, b), (a, b), (a, a), (a, a), (a, b)):
            yield f(vector(1, 2), left, right)


def containers_in_containers(wrap):
    f = wrap(lambda x, a: double(a[0] is a[1], x))
    one = [1]
    for a in ([[1], [1]], [[1], [1]], [one, one], [[1], [1]]):
        yield f(vector(1, 2), a)


def a_container_that_is_captured(wrap):
    known = [1]
    for order in ([1], known, [1]), (known, [1], known):
        f = wrap(lambda x, a: double(a is known, x))
        for a in order:
            yield f(vector(1, 2), a)
            yield f(vector(1, 2), a)


def beside(wrap, bodies, known):
    """Calls with another tensor and with `known`, by either first, twice each."""
    for body in bodies:
        for order in (vector(1, 2), known, vector(1, 2)), (known, vector(1, 2), known):
            f = wrap(body)
            for x in order:
                yield f(x)
                yield f(x)


def a_tensor_that_is_captured(wrap):
    known = vector(5, 6)
    bodies = [
        lambda x: double(x is known, x),
        lambda x: double(x is not known, x),
        lambda x: double(x in {known}, x),
        lambda x: double(x in {known: 1}, x),
        lambda x: double(x in {known: 1}.keys(), x),
        lambda x: x * {known: 5}.get(x, 1),
        lambda x: x * len({known, x}),
        lambda x: x * len({known: 1, x: 2}),
        lambda x: x * len({t for t in (known, x)}),
        lambda x: x * len({t: 1 for t in (known, x)}),
        lambda x: x * len(dict([(known, 1), (x, 2)])),
        lambda x: x * len(set([known, x])),
        lambda x: double((x, 1) in {(known, 1)}, x),
        lambda x: double(hash(x) == hash(known), x),
        lambda x: double(object.__hash__(x) == object.__hash__(known), x),
    ]
    yield from beside(wrap, bodies, known)


def a_tensor_among_captured_keys(wrap):
    known = vector(5, 6)
    table, members, listed = {known: 5}, {known}, [(known, 5)]
    bodies = [
        lambda x: x * table.get(x, 1),
        lambda x: double(x in table, x),
        lambda x: double(x in table.keys(), x),
        lambda x: double(x in members, x),
        lambda x: double(members.__contains__(x), x),
        lambda x: double(members.isdisjoint([x]), x),
        lambda x: x * dict(listed).get(x, 1),
    ]
    yield from beside(wrap, bodies, known)


def tuples_that_took_the_place_of_others(wrap):
    places = {"t": (1.0, 2.0)}
    box = Box(t=(KeyError, ValueError))

    def caught(x):
        try:
            raise KeyError(1)
        except box.t:
            return x * 2
        except LookupError:
            return x * 3

    f, g = wrap(lambda x: (x, places["t"])), wrap(caught)
    for k in range(6):
        yield f(vector(1)), g(vector(1))
        del places["t"], box.t
        places["t"] = tuple([float(k), 4.0])
        box.t = tuple([IndexError, ValueError])


def containers_that_took_the_place_of_others(wrap):
    def in_place_of(o, make):
        """One where `o`, which is let go, was; or, if there is none, another."""
        at = id(o)
        spare = [[] for _ in range(200)]  # lists that died are used again for lists first
        del spare, o
        made = []
        for _ in range(2000):
            made.append(make(len(made)))
            if id(made[-1]) == at:
                break
        return made[-1]

    places: dict = {}
    for body in (lambda x: double(isinstance(places["a"], list), x), lambda x: x * places["a"][1]):
        for make in (lambda n: {0: 1, 1: 5}, lambda n: (1, 7, n)):
            places["a"] = [1, 2]
            f = wrap(body)
            yield f(vector(1))
            yield f(vector(1))
            places["a"] = in_place_of(places.pop("a"), make)
            yield f(vector(1))


def arguments_that_share_memory_with_what_is_captured(wrap):
    w = vector(1, 2)
    part = w[:1]

    def body(x, y):
        part.add_(0.25)
        return x * 2, y

    f = wrap(body)
    for x in (w, w, vector(1, 2), vector(1, 2), w[:], w.detach(), vector(3, 4), w):
        yield f(x, x)
        yield w


def gradients_in_one_memory(wrap):
    a, b = nn.Parameter(vector(1, 2)), nn.Parameter(vector(3, 4))

    def body(x):
        (a * x + b * b * x).sum().backward()

    f, x = wrap(body), vector(1, 2)
    one, flat, lapped = vector(0, 0), vector(0, 0, 0, 0), vector(0, 0, 0)
    pairs = [(vector(0, 0), vector(0, 0)), (one, one), (flat[:2], flat[2:]), (flat[2:], flat[:2])]
    for left, right in [*pairs, (lapped[:2], lapped[1:]), (a.data, vector(0, 0)), *pairs]:
        a.grad, b.grad = left, right
        f(x)
        yield a.grad, b.grad
        f(x)
        yield a.grad, b.grad, a, b


def a_gradient_that_is_a_column_of_another(wrap):
    """What ends the recording is noticed in a backward pass, which works without the interpreter's lock."""
    w, bias = nn.Parameter(tandem.ones(4, 3)), nn.Parameter(tandem.ones(4))

    def body(x):
        (x @ w.t() + bias).sum().backward()

    f = wrap(body)
    for _ in range(3):
        f(tandem.ones(2, 3))
    w.grad = w.detach().clone()
    bias.grad = w.grad[:, 0]
    for _ in range(3):
        f(tandem.ones(2, 3))
        yield w.grad, bias.grad


def strides_that_reach_nothing(wrap):
    f = wrap(lambda x: (x.stride(), x.t().stride(), x * 2))
    memory = tandem.arange(40.0)
    for shape, strides in [((1, 3), (3, 1)), ((1, 3), (7, 1)), ((0, 3), (3, 1)), ((0, 3), (9, 2)), ((3, 1), (1, 5))]:
        for _ in range(2):
            yield f(memory.as_strided(shape, strides))


def texts_with_surrogates(wrap):
    names = {"\ud800": 2.0}
    lengths, read = wrap(lambda x, s: x * len(s)), wrap(lambda x: x * names["\ud800"])

    def assign(x):
        names["\udfff"] = x

    write = wrap(assign)
    for s in ("\ud800", "\ud800", "\ud801b", {"\ud800": 1}, {"\ud801": 1, "a": 2}):
        yield lengths(vector(1), s)
    for value in (2.0, 2.0, 3.0, 4.0, 5.0):
        names["\ud800"] = value
        yield read(vector(1))
        write(vector(value))
        yield names["\udfff"]


def values_that_differ_from_themselves(wrap):
    nan = float("nan")
    f = wrap(lambda x, s, values: double(s in values, x))
    for s, values in ((nan, [nan]), (nan, [nan]), (nan, [float("nan")]), (1.0, [nan, 1.0])):
        yield f(vector(1), s, values)


def numbers_that_are_one_object(wrap):
    none, other = float("nan"), float("nan")

    def body(x, s, t):
        def inner():
            return s is none, s is not other, t is none, t is other

        return x * sum((s is none, 2 * (t is none), 4 * (s is t))), inner()

    f = wrap(body)
    for s, t in ((none, other), (none, other), (other, none), (none, none), (1.0, none), (1.0, 1.0)):
        yield f(vector(1), s, t)


PROGRAMS = [
    containers,
    containers_in_containers,
    a_container_that_is_captured,
    a_tensor_that_is_captured,
    a_tensor_among_captured_keys,
    tuples_that_took_the_place_of_others,
    containers_that_took_the_place_of_others,
    arguments_that_share_memory_with_what_is_captured,
    gradients_in_one_memory,
    a_gradient_that_is_a_column_of_another,
    strides_that_reach_nothing,
    texts_with_surrogates,
    values_that_differ_from_themselves,
    numbers_that_are_one_object,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program):
    same(program)


def test_lists_without_end():
    """The signature of what holds itself twice has no end, and lists of lists of lists are long."""
    endless: list = []
    endless += [endless, endless]
    deep: list = [1]
    for _ in range(60):
        deep = [deep, deep]
    f = counting(lambda x, a: x * len(a))
    for a in (endless, deep):
        for _ in range(2):
            assert f(vector(1), a).tolist() == [2.0]


def test_what_is_asked_of_arguments_alone_is_known():
    """The signature says which tensors are one."""
    f = counting(lambda x, y: x * len({x, y}) if x is not y else y)
    a, b = vector(1), vector(2)
    for x, y in ((a, b), (a, b), (a, a), (a, a)):
        assert f(x, y).tolist() == [x.item() * (1 if x is y else 2)]
    assert f.runs <= 4
    assert attempt(f, a, None) is not None
