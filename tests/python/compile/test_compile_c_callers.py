"""Containers that C functions look into, or make: `map(list, ...)`, `reduce` of an operator, `defaultdict(list)`. What
they look at is followed, and what a body writes to a container that was made so is the body's own."""

from __future__ import annotations

import collections
import functools
import itertools
import operator

import pytest
from compiling import follows

import tandem

# ---- looked into: (the body, what happens before call i) -------------------------------------------------------------


def nested_setting(get):
    settings = {"a": {"b": 1.0}}
    return lambda x: x * functools.reduce(get, ["a", "b"], settings), lambda i: settings["a"].update(b=float(i))


def nested_list():
    rows = [[1.0, 2.0]]
    return lambda x: x * functools.reduce(operator.getitem, [0, 1], rows), lambda i: rows[0].__setitem__(1, float(i))


def items_of(make):
    row = [1.0]
    return lambda x: x * len(make(row)), lambda i: row.append(float(i))


def joined(make):
    items = {"z": 1}
    return lambda x: x * len(make(items)), lambda i: items.update({str(i): i})


def pairs(make):
    rows = [["a", 1.0]]
    return lambda x: x * make(rows), lambda i: rows[0].__setitem__(1, float(i))


def updated(rows):
    made = {}
    made.update(rows)
    return made["a"]


def emptied(make):
    row = [1.0]
    return lambda x: x * make(row), lambda i: row.clear() if i == 3 else None


def added_to(make):
    items = [1]
    return lambda x: (make(items), x * len(list(items)))[1], lambda i: None


LOOKED_INTO = {
    "reduce of operator.getitem": lambda: nested_setting(operator.getitem),
    "reduce of dict.get": lambda: nested_setting(dict.get),
    "reduce of dict.__getitem__": lambda: nested_setting(dict.__getitem__),
    "reduce of operator.getitem, lists": nested_list,
    "reduce of operator.add": lambda: items_of(lambda row: functools.reduce(operator.add, [row, [2]])),
    "reduce of operator.add, the first": lambda: items_of(lambda row: functools.reduce(operator.add, [[2]], row)),
    "reduce of operator.or_": lambda: joined(lambda items: functools.reduce(operator.or_, [items, {}])),
    "reduce of operator.or_, the first": lambda: joined(lambda items: functools.reduce(operator.or_, [{}], items)),
    "map of list": lambda: items_of(lambda row: next(map(list, [row]))),
    "map of tuple": lambda: items_of(lambda row: next(map(tuple, [row]))),
    "map of set": lambda: items_of(lambda row: next(map(set, [row]))),
    "map of dict": lambda: joined(lambda items: next(map(dict, [items]))),
    "map of str": lambda: items_of(lambda row: next(map(str, [row]))),
    "map of bool": lambda: emptied(lambda row: next(map(bool, [row]))),
    "map of operator.add": lambda: items_of(lambda row: next(map(operator.add, [row], [[2]]))),
    "accumulate": lambda: items_of(lambda row: list(itertools.accumulate([row, [2]]))[1]),
    "dict of lists": lambda: pairs(lambda rows: dict(rows)["a"]),
    "OrderedDict of lists": lambda: pairs(lambda rows: collections.OrderedDict(rows)["a"]),
    "dict of an iterator of lists": lambda: pairs(lambda rows: dict(iter(rows))["a"]),
    "dict.update by lists": lambda: pairs(updated),
    "starmap of lists": lambda: pairs(lambda rows: next(itertools.starmap(lambda _, v: v, rows))),
    "reduce of operator.iadd": lambda: added_to(lambda items: functools.reduce(operator.iadd, [[2], [3]], items)),
    "map of operator.iadd": lambda: added_to(lambda items: list(map(operator.iadd, [items], [[2]]))),
}


@pytest.mark.parametrize("name", LOOKED_INTO)
def test_what_c_functions_look_at_is_followed(name):
    follows(LOOKED_INTO[name], None)


class Weighted:
    weight = tandem.ones(2)


def handed_on(take):
    rows = [[1.0, 2.0], [0.5]]

    def body(x):
        take(rows).append(1.0)
        return x * len(rows[0])

    return body, lambda i: None


def looped(items):
    row = [1.0]

    def body(x):
        for r in items(row):
            x = x * r[0]
        return x

    return body, lambda i: row.__setitem__(0, float(i))


def weighed(choose):
    rows = [[[1.0]], [[2.0]]]
    return lambda x: x * choose(rows), lambda i: rows[0][0].__setitem__(0, float(i))


def after_others(rows):
    """Where an iterator of new lists lay, another one may lie."""
    len(list(map(list, rows)))
    return next(iter(map(operator.itemgetter(0), [rows])))


HANDED_ON = {
    "an item by a slice of it": lambda: handed_on(lambda rows: max(rows, key=operator.itemgetter(slice(0, 1)))),
    "after others": lambda: handed_on(after_others),
    "chain": lambda: handed_on(lambda rows: next(r for r in itertools.chain(rows))),
    "a loop over chain": lambda: looped(lambda row: itertools.chain([row])),
    "a loop over islice": lambda: looped(lambda row: itertools.islice([row], 1)),
    "a loop over repeat": lambda: looped(lambda row: itertools.repeat(row, 2)),
    "a loop over the values of an OrderedDict": lambda: looped(lambda row: collections.OrderedDict(a=row).values()),
    "the greatest of lists of lists": lambda: weighed(lambda rows: max(range(2), key=lambda i: rows[i])),
    "the greatest of what is yielded": lambda: weighed(lambda rows: max(r for r in rows)[0][0]),
    "sorted by lists of lists": lambda: weighed(lambda rows: sorted(range(2), key=lambda i: (rows[i],))[0]),
}


@pytest.mark.parametrize("name", HANDED_ON)
def test_what_c_functions_hand_on_is_followed(name):
    follows(HANDED_ON[name], None)


def test_a_tensor_of_the_class_of_an_object_made_inside():
    def make():
        Weighted.weight = tandem.ones(2)

        def body(x):
            y = Weighted().weight * x
            return y, y.requires_grad

        return body, lambda i: Weighted.weight.requires_grad_() if i == 3 else None

    follows(make, 2)


# ---- made by C functions, and written to -----------------------------------------------------------------------------

# Of these it is not known.
NO_PLAN = {"accumulate", "annotations", "keywords of a partial", "of an exception"}
MADE_LISTS = {
    "defaultdict": lambda: collections.defaultdict(list)["k"],
    "map": lambda: list(map(list, [[1], [2]]))[0],
    "map of pairs": lambda: list(map(list, zip([1], [2], strict=True)))[0],
    "sum": lambda: sum([[1], [2]], []),
    "reduce": lambda: functools.reduce(operator.add, [[1], [2]]),
    "operator.add": lambda: operator.add([1], [2]),
    "operator.mul": lambda: operator.mul([1], 2),
    "operator.getitem": lambda: operator.getitem([1, 2], slice(0, 1)),
    "accumulate": lambda: [*itertools.accumulate([[1], [2]])][1],
    "partial": lambda: functools.partial(operator.add, [1])([2]),
}
MADE_DICTS = {
    "defaultdict": lambda: collections.defaultdict(dict)["k"],
    "map": lambda: list(map(dict, [[("a", 1)]]))[0],
    "operator.or_": lambda: operator.or_({}, {"a": 1}),
    "starmap": lambda: next(itertools.starmap(dict, [([("a", 1)],)])),
    "annotations": lambda: (lambda: 0).__annotations__,
    "keywords of a partial": lambda: functools.partial(len, a=1).keywords,
    "of an exception": lambda: ValueError(1).__dict__,
}


@pytest.mark.parametrize("name", MADE_LISTS)
def test_lists_that_c_functions_made_are_the_bodys(name):
    def appended(x):
        made = MADE_LISTS[name]()
        made.append(x)
        return x * 2

    def counted(x):
        made = [0, *MADE_LISTS[name]()] and MADE_LISTS[name]()
        made += [1]
        made[0] = 5
        made[0] += 1
        return x * made[0]

    for body in (appended, counted):
        follows(lambda body=body: (body, lambda i: None), None if name in NO_PLAN else 1)


@pytest.mark.parametrize("name", MADE_DICTS)
def test_dicts_that_c_functions_made_are_the_bodys(name):
    def assigned(x):
        made = MADE_DICTS[name]()
        made["z"] = x
        return x * 2

    def counted(x):
        made = MADE_DICTS[name]()
        made["n"] = 1
        made["n"] += 1
        return x * made["n"]

    for body in (assigned, counted):
        follows(lambda body=body: (body, lambda i: None), None if name in NO_PLAN else 1)


# ---- what has a plan -------------------------------------------------------------------------------------------------

settings, rows = {"a": {"b": 2.0}, "c": {"b": 3.0}}, [[1.0, 2.0], [3.0]]


def taken_apart(x):
    a, b = map(list, zip([1, 2], [3, 4], strict=True))
    a.append(x)
    b.append(x * 2)
    return a, b


WITH_PLANS = {
    "reduce of operator.getitem": lambda x: x * functools.reduce(operator.getitem, ["a", "b"], settings),
    "reduce of dict.get": lambda x: x * functools.reduce(dict.get, ["a", "b"], settings),
    "reduce of operator.add": lambda x: x * len(functools.reduce(operator.add, rows)),
    "reduce of tensors": lambda x: functools.reduce(operator.add, [x, x, x]),
    "reduce of a partial": lambda x: functools.reduce(functools.partial(tandem.add, alpha=2), [x, x]),
    "map of list": lambda x: x * sum(map(len, list(map(list, rows)))),
    "map of list in a loop": lambda x: [(row.append(x), row)[1] for row in map(list, zip([1, 2], [3, 4], strict=True))],
    "map of list, taken apart": taken_apart,
    "map of a method": lambda x: list(map(x.add, [1, 2])),
    "map of int": lambda x: x * sum(map(int, ["1", "2"])),
    "map of str": lambda x: {k: x for k in map(str, range(2))},
    "starmap": lambda x: list(itertools.starmap(lambda a, b: x * a * b, [(1, 2), (3, 4)])),
    "accumulate": lambda x: x * list(itertools.accumulate([1, 2, 3]))[2],
    "accumulate of tensors": lambda x: list(itertools.accumulate([x, x], initial=x)),
    "greatest by length": lambda x: x * max(rows, key=len)[0],
    "greatest by an item": lambda x: {max(zip("ab", [1, 2], strict=True), key=lambda p: p[1])[0]: x},
    "greatest by get": lambda x: {max(["a", "c"], key={"a": 1, "c": 2}.get): x},
    "sorted by an item": lambda x: x * sorted(rows, key=operator.itemgetter(0))[0][0],
    "sorted by length": lambda x: x * sorted(rows, key=len)[0][0],
    "dict of pairs": lambda x: x * dict([["a", 2.0], ("b", 3.0)])["a"],
    "dict of zip": lambda x: dict(zip("ab", [x, x], strict=True)),
    "dict of a map": lambda x: dict(map(lambda kv: (kv[0], x * kv[1]["b"]), settings.items())),
    "a defaultdict of tuples": lambda x: (
        groups := collections.defaultdict(list),
        groups[0, 1].append(x),
        groups[0, 1].append(x),
        groups,
    )[1:3],
    "flat": lambda x: sum([[x], [x, x]], []),
}


@pytest.mark.parametrize("name", WITH_PLANS)
def test_what_c_functions_do_with_items_has_a_plan(name):
    follows(lambda: (WITH_PLANS[name], lambda i: None), 1)


def test_grouping_by_a_defaultdict():
    def body(x):
        groups = collections.defaultdict(list)
        for i in range(4):
            groups[i % 2].append(x * i)
        return {k: tandem.stack(v) for k, v in groups.items()}

    follows(lambda: (body, lambda i: None), None)
