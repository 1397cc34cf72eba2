"""`match`, lists of classes of their own, namespaces, getters of several things, text of shapes: what they read is
followed, and they have plans."""

from __future__ import annotations

import dataclasses
import itertools
import operator
import types

import pytest
from compiling import follows

import tandem


@dataclasses.dataclass
class Point:
    x: float = 1.0
    y: object = None


@dataclasses.dataclass(slots=True)
class Slotted:
    x: float = 1.0
    rows: list = dataclasses.field(default_factory=lambda: [1.0])


class Processors(list):
    """A list that is called, as those of text generation are."""

    def __call__(self, x):
        for f in self:
            x = f(x)
        return x


class Counted(list):
    def __len__(self):
        return 7


class Reversing(list):
    def __iter__(self):
        return iter([3.0, 4.0])


class Mapped(dict):
    pass


def mapping(x, given):
    match given:
        case {"kind": "scale", "by": by}:
            return x * by
        case {"kind": "shift", **rest}:
            return x + rest["by"]
        case {}:
            return x * 0
    return x - 1


def sequence(x, given):
    match given:
        case [a, b]:
            return x * a + b
        case [a, *rest] if len(rest) > 1:
            return x * a - rest[-1]
        case []:
            return x
    return x - 1


def classes(x, given):
    match given:
        case Point(x=0.0):
            return x
        case Point(v, Point(w)):
            return x * v * w
        case Point(v):
            return x + v
        case Slotted(x=v, rows=[a, *_]):
            return x * v * a
        case int(n) | float(n):
            return x * n
        case str():
            return x * len(given)
        case tandem.Tensor():
            return x + given
        case [Point() as p, *_]:
            return x * p.x
    return x - 1


def held(value):
    """A place that holds what each call looks at."""
    place = types.SimpleNamespace(value=value)
    return place, lambda new: setattr(place, "value", new)


def matched(function, *values):
    def make():
        place, put = held(values[0])
        return lambda x: function(x, place.value), lambda i: put(values[i // 2 % len(values)])

    return make


def inside(make, body, change):
    def start():
        it = make()
        return lambda x: body(x, it), lambda i: change(it, i)

    return start


FOLLOWED = {
    "mapping": matched(mapping, {"kind": "scale", "by": 2.0}, {"kind": "shift", "by": 3.0}, {}, 4),
    "mapping of an ordered dict": matched(mapping, Mapped(kind="scale", by=2.0), {"kind": "shift", "by": 1.0}),
    "sequence": matched(sequence, [1.0, 2.0], (2.0, 3.0, 4.0), [], "ab"),
    "classes": matched(classes, Point(), Point(2.0, Point(3.0)), Slotted(), 4, "abc", [Point(5.0)], tandem.ones(2)),
    "a key of a mapping": inside(
        lambda: {"kind": "scale", "by": 1.0},
        mapping,
        lambda it, i: it.update(by=float(i), kind=["scale", "shift"][i % 2]),
    ),
    "an item of a sequence": inside(lambda: [1.0, 2.0], sequence, lambda it, i: it.append(float(i)) if i > 1 else None),
    "an attribute of a class": inside(lambda: Point(), classes, lambda it, i: setattr(it, "x", float(i))),
    "an attribute of an attribute": inside(
        lambda: Point(2.0, Point()), classes, lambda it, i: setattr(it.y, "x", float(i))
    ),
    "a slot": inside(lambda: Slotted(), classes, lambda it, i: it.rows.__setitem__(0, float(i))),
    "a slot read": inside(lambda: Slotted(), lambda x, it: x * it.x, lambda it, i: setattr(it, "x", float(i))),
    "a called list": inside(
        lambda: Processors([lambda x: x * 2]), lambda x, it: it(x), lambda it, i: it.append(lambda x: x + 1)
    ),
    "a length": inside(lambda: Processors([1]), lambda x, it: x * len(it), lambda it, i: it.append(1)),
    "a truth": inside(
        lambda: Processors([1]), lambda x, it: x * (2 if it else 3), lambda it, i: it.clear() if i == 3 else 0
    ),
    "a length of its own": inside(lambda: Counted([1]), lambda x, it: x * len(it), lambda it, i: it.append(1)),
    "an iteration of its own": inside(lambda: Reversing([1]), lambda x, it: x * [*it][0], lambda it, i: it.append(1)),
    "an index": inside(lambda: Processors([1.0]), lambda x, it: x * it[0], lambda it, i: it.__setitem__(0, float(i))),
    "a slice": inside(
        lambda: Processors([1.0]), lambda x, it: x * it[:1][0], lambda it, i: it.__setitem__(0, float(i))
    ),
    "a list that is written": inside(
        lambda: Processors([1.0]), lambda x, it: (it.append(1.0), x * len(it))[1], lambda it, i: 0
    ),
    "a list whose item is set": inside(
        lambda: Processors([1.0]), lambda x, it: (operator.iadd(it, [1.0]), x * len(it))[1], lambda it, i: 0
    ),
    "a namespace": inside(
        lambda: types.SimpleNamespace(a=1.0, b=types.SimpleNamespace(c=[1.0])),
        lambda x, it: x * it.a * it.b.c[0],
        lambda it, i: it.b.c.__setitem__(0, float(i)) if i < 3 else setattr(it, "b", types.SimpleNamespace(c=[2.0])),
    ),
    "a namespace that is written": inside(
        lambda: types.SimpleNamespace(n=0), lambda x, it: (setattr(it, "n", it.n + 1), x * it.n)[1], lambda it, i: None
    ),
    "a namespace that keeps a tensor": inside(
        lambda: types.SimpleNamespace(h=tandem.zeros(2)),
        lambda x, it: (setattr(it, "h", it.h + x), it.h)[1],
        lambda it, i: 0,
    ),
    "attributes of attributes": inside(
        lambda: types.SimpleNamespace(b=types.SimpleNamespace(c=1.0)),
        lambda x, it: x * operator.attrgetter("b.c")(it),
        lambda it, i: setattr(it.b, "c", float(i)),
    ),
    "several items": inside(
        lambda: [[1.0], [2.0]],
        lambda x, it: x * operator.itemgetter(0, 1)(it)[1][0],
        lambda it, i: it[1].insert(0, float(i)),
    ),
    "rows in a chain": inside(
        lambda: [[1.0], [2.0]],
        lambda x, it: x * sum([*itertools.chain.from_iterable(it)]),
        lambda it, i: it[1].insert(0, float(i)),
    ),
    "what is in rows in a chain": inside(
        lambda: [[[1.0]]],
        lambda x, it: x * [*itertools.chain.from_iterable(it)][0][0],
        lambda it, i: it[0][0].insert(0, float(i)),
    ),
    "rows of an iterator in a chain": inside(
        lambda: [[1.0], [2.0]],
        lambda x, it: x * sum([*itertools.chain.from_iterable(reversed(it))]),
        lambda it, i: it[1].insert(0, float(i)),
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_is_read_is_followed(name):
    follows(FOLLOWED[name], None)


point, slotted, processors = Point(2.0, Point(3.0)), Slotted(), Processors([lambda x: x * 2, lambda x: x + 1])
space = types.SimpleNamespace(a=2.0, b=types.SimpleNamespace(c=3.0))
WITH_PLANS = {
    "mapping": lambda x: mapping(x, {"kind": "shift", "by": 2.0}),
    "sequence": lambda x: sequence(x, [1, 2, x]),
    "a class": lambda x: classes(x, point),
    "a class of tensors": lambda x: classes(x, x),
    "a slot": lambda x: x * slotted.x,
    "a called list": lambda x: processors(x) * len(processors),
    "an item of a list": lambda x: processors[0](x),
    "a namespace": lambda x: x * space.a * space.b.c,
    "a namespace made inside": lambda x: types.SimpleNamespace(y=x * 2).y,
    "attrgetter of a path": lambda x: x * operator.attrgetter("b.c")(space),
    "attrgetter of several": lambda x: x * operator.attrgetter("a", "b.c")(space)[1],
    "itemgetter of several": lambda x: operator.itemgetter(0, 1)([x, x * 2]),
    "chain.from_iterable": lambda x: list(itertools.chain.from_iterable([[x], (x, x)])),
    "text": lambda x: {f"{x.shape} {x.dtype} {x.device}": x},
    "str of a shape": lambda x: {str(x.shape) + str(x.device) + "{}".format(x.dtype): x},  # noqa: UP032
}


@pytest.mark.parametrize("name", WITH_PLANS)
def test_these_have_plans(name):
    follows(lambda: (WITH_PLANS[name], lambda i: None), 1)


def test_text_of_a_shape_is_that_of_each_call():
    f = tandem.compile(lambda x: {f"{x.shape} {x.dtype}": x * 2})
    for x in (
        tandem.ones(2),
        tandem.ones(3),
        tandem.ones(3).double(),
        tandem.ones(2, 2),
        tandem.ones(4),
        tandem.ones(2),
    ):
        assert [*f(x)] == [f"{x.shape} {x.dtype}"]
