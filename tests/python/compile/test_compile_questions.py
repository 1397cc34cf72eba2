"""Numbers whose values differ between calls (float arguments, and what `.item()` gives), looked at by C code of the
interpreter: sorting, hashing, adding, comparing, indexing. Each call must answer for its own number."""

from __future__ import annotations

import functools
import itertools
import math
import operator

import pytest
from conftest import assert_same_bits

import tandem


class Answers:
    """An object that answers C's questions with a number."""

    def __init__(self, number):
        self.number = number

    def __float__(self):
        return self.number

    def __lt__(self, other):
        return self.number - 1.0

    def __eq__(self, other):
        return self.number - 1.0

    def __contains__(self, other):
        return self.number - 1.0

    __hash__ = object.__hash__


def removed(n):
    items = [1.0, 2.0]
    try:
        items.remove(n)
    except ValueError:
        pass
    return len(items)


def added_to_set(n):
    s = {1.0}
    s.add(n)
    s.discard(2.0)
    return len(s)


def set_default(n):
    d = {}
    d.setdefault(n, 1)
    return d.setdefault(1.0, 2)


def deleted(n):
    d = {1.0: 2}
    try:
        del d[n]
    except KeyError:
        pass
    return len(d)


def set_item(n):
    d = {1.0: 2}
    d.__setitem__(n, 3)
    d[n] = 4
    return len(d), d[1.0]


def sorted_in_place(n):
    items = [1.5, n]
    items.sort()
    return items[0]


def sorted_by_key(n):
    items = [1.0, 2.0]
    items.sort(key=lambda v: v * n)
    return items[0]


def caught(n):
    try:
        raise ValueError(n)
    except ValueError as e:
        return str(e)


QUESTIONS = {
    "sorted": lambda n: sorted([1.5, n])[0],
    "key of sorted": lambda n: sorted([1.0, 2.0], key=lambda v: v * n)[0],
    "key of sort": sorted_by_key,
    "sort": sorted_in_place,
    "tuples sorted": lambda n: sorted([(1.0, n), (1.0, 1.5)])[0][1],
    "max": lambda n: max(1.5, n),
    "key of max": lambda n: max([1.0, 2.0], key=lambda v: v * n),
    "max of a map": lambda n: max(map(lambda v: v * n, [1.0, 2.0])),
    "max of an iterator": lambda n: max(iter([1.5, n])),
    "max of reversed": lambda n: max(reversed([1.5, n])),
    "max of tuples": lambda n: max((1.0, n), (1.0, 1.5))[1],
    "sum": lambda n: sum([n, n]),
    "sum of a map": lambda n: sum(map(lambda v: v * n, [1.0, 2.0])),
    "sum of a generator": lambda n: sum(v * n for v in [1.0, 2.0]),
    "fsum": lambda n: math.fsum([n, 1.0]),
    "fsum of a map": lambda n: math.fsum(map(lambda v: v * n, [1.0, 2.0])),
    "prod of a map": lambda n: math.prod(map(lambda v: v * n, [1.0, 2.0])),
    "reduce": lambda n: functools.reduce(lambda a, v: a + v * n, [1.0, 2.0]),
    "reduce by C": lambda n: functools.reduce(operator.add, [n, 2.0]),
    "accumulate": lambda n: list(itertools.accumulate([2.0, 1.0], lambda a, b: a * n + b))[-1],
    "takewhile": lambda n: len(list(itertools.takewhile(lambda v: v * n - 2.0, [2.0, 1.0]))),
    "filter": lambda n: list(filter(lambda v: v * n - 1.0, [1.0, 2.0])),
    "any of a map": lambda n: any(map(lambda v: n - v, [1.0, 1.0])),
    "set": lambda n: len({n, 1.0}),
    "set of an iterator": lambda n: len(set(iter([n, 1.0]))),
    "set of pairs": lambda n: len(set(zip([n, 1.0], "aa"))),
    "set of tuples": lambda n: len({(1.0, n), (1.0, 2.0)}),
    "frozenset": lambda n: len(frozenset((n, 1.0))),
    "added to a set": added_to_set,
    "set updated": lambda n: len(set().union([n, 1.0])),
    "key of a dict": lambda n: len({n: 1, 1.0: 2}),
    "tuple as key": lambda n: len({(n,): 1, (1.0,): 2}),
    "dict of pairs": lambda n: len(dict([(n, 3), (1.0, 4)])),
    "dict of a zip": lambda n: len(dict(zip([n, 1.0], "ab"))),
    "dict from keys": lambda n: len(dict.fromkeys([n, 1.0])),
    "get": lambda n: {1.0: 3}.get(n, 5),
    "pop": lambda n: {1.0: 3}.pop(n, 5),
    "setdefault": set_default,
    "deleted": deleted,
    "set item": set_item,
    "removed": removed,
    "counted": lambda n: [1.0, 2.0, 1.0].count(n),
    "contained": lambda n: n in [1.0, 2.0],
    "contained in a set": lambda n: (1.0, n) in {(1.0, 2.0)},
    "equal lists": lambda n: [[n]] == [[1.0]],
    "less": lambda n: [n] < [1.5],
    "truth": lambda n: 1 if n - 1.0 else 2,
    "or": lambda n: (n - 1.0) or 3,
    "hash": lambda n: hash((1.0, n)),
    "round": lambda n: round(n, 1),
    "divmod": lambda n: divmod(n, 0.75),
    "power": lambda n: n**2,
    "text": lambda n: f"{n:.2f} {n}" + str([n, 1]) if n is not None else "",
    "text of an exception": caught,
    "hexadecimal": lambda n: n.hex(),
    "class": lambda n: (type(n) is float, n.__class__ is float, isinstance(n, float), n + 0),
    "identity": lambda n: (n is None, n is not None, [n][0] is n),
    "float": lambda n: float(n) * 2,
    "sine": lambda n: math.sin(n),
    "float of an object": lambda n: math.sin(Answers(n)),
    "less of objects": lambda n: 1 if Answers(n) < Answers(n) else 2,
    "objects sorted": lambda n: len(sorted([Answers(n), Answers(n)])),
    "equal objects": lambda n: 1 if Answers(n) in [Answers(n)] else 2,
    "object contains": lambda n: 1 if 3 in Answers(n) else 2,
    "sign": lambda n: (-n, +n, abs(n)),
    "tensor": lambda n: tandem.tensor([n, 1.0]).tolist(),
    "operand": lambda n: (tandem.ones(2) * n).tolist(),
}
VALUES = (1.0, 2.0, 1.5, -1.0, 1.0)


def told(question, number):
    try:
        return question(number)
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("read", [False, True], ids=["argument", "read"])
def test_each_call_answers_for_its_number(name, read):
    question = QUESTIONS[name]
    f = tandem.compile(lambda x, n: (told(question, x.sum().item() if read else n), x * 2))
    for v in VALUES:
        x = tandem.tensor([v - 0.5, 0.5])
        for _ in range(2):
            answer, doubled = f(x, v)
            assert repr(answer) == repr(told(question, v))
            assert_same_bits(doubled, x * 2)


def inserted(n):
    items = list("abcdef")
    items.insert(n, "z")
    return items


def slice_stored(n):
    items = list(range(9))
    items[:n] = [-1]
    items[n] = -2
    del items[-n]
    return items


INDICES = {
    "item": lambda n: "abcdef"[n],
    "item of a list": lambda n: [1, 2, 3, 4][n],
    "slice": lambda n: [1, 2, 3, 4, 5][:n],
    "slice of a text": lambda n: "abcdef"[n:],
    "slice object": lambda n: (1, 2, 3, 4)[slice(n)],
    "step": lambda n: list(range(9))[::n],
    "stored": slice_stored,
    "popped": lambda n: list(range(9)).pop(n),
    "inserted": inserted,
    "range": lambda n: list(range(n)),
    "repeated": lambda n: [0] * n,
    "repeated text": lambda n: "ab" * n,
    "islice": lambda n: list(itertools.islice(range(9), n)),
    "repeat": lambda n: list(itertools.repeat(0, n)),
    "enumerate": lambda n: list(enumerate("ab", n)),
    "shift": lambda n: (1 << n, 100 >> n, n & 1, n | 8, n ^ 3, ~n),
    "bits": lambda n: n.bit_length(),
    "shape": lambda n: tandem.ones(n, 2).shape,
    "view": lambda n: tandem.ones(6).view(n, -1).shape,
    "rows": lambda n: tandem.arange(6)[n].item(),
    "rows from": lambda n: tandem.arange(6)[n:].tolist(),
    "dim": lambda n: tandem.ones(2, 3, 4, 5).sum(n).shape,
    "chr": lambda n: chr(n + 64),
    "center": lambda n: "a".center(n * 2, "*"),
    "key": lambda n: {1: "a", 2: "b"}.get(n),
    "class": lambda n: (type(n) is int, isinstance(n, int), isinstance(n, bool), int(n) + 0),
    "equal to a constant": lambda n: (n == 2, n is None, [1, 2].count(n)),
    "shared": lambda n: (n, 2, 2 - n, n + 0),
}


@pytest.mark.parametrize("name", INDICES)
def test_each_call_answers_for_its_int(name):
    question = INDICES[name]
    f = tandem.compile(lambda x: (told(question, x.sum().item()), told(question, int(x.sum())), x * 2))
    for v in (1, 2, 3, 2, 1):
        x = tandem.tensor([v - 1, 1])
        for _ in range(2):
            answer, converted, doubled = f(x)
            assert repr(answer) == repr(converted) == repr(told(question, v))
            assert_same_bits(doubled, x * 2)
