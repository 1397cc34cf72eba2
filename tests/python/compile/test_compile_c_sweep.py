"""Every C function that is understood, and that takes containers or gives some, is given captured containers that hold
others: these change between calls, and what the functions give is read, and written to."""

from __future__ import annotations

import collections
import functools
import itertools
import operator

import pytest
from compiling import follows


class Group(list):
    """A list of a class of its own."""


class Named:
    """An object that gives what it holds."""

    table = {"k": [1.0]}

    def __init__(self, held):
        self.held = held

    def __getitem__(self, key):
        return self.held[key]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)

    def all(self):
        return self.held


Row = collections.namedtuple("Row", "first second")

# Captured containers, the innermost list, dict or set of each, and a key under which it, or what holds it, is found.
MADE = {
    "lists": lambda v: ([v, [2.0]], 0),
    "tuple": lambda v: ((v, [2.0]), 0),
    "dict": lambda v: ({"a": v, "b": [2.0]}, "a"),
    "ordered dict": lambda v: (collections.OrderedDict(a=v, b=[2.0]), "a"),
    "defaultdict": lambda v: (collections.defaultdict(list, {"a": v, "b": [2.0]}), "a"),
    "pairs": lambda v: ([("a", v), ("b", [2.0])], 0),
    "lists of pairs": lambda v: ([["a", v], ["b", [2.0]]], 0),
    "lists of lists": lambda v: ([[v, v], [[2.0], [3.0]]], 0),
    "named tuple": lambda v: (Row(v, [2.0]), 0),
    "object": lambda v: (Named([v, [2.0]]), 0),
}
# What is called with a container `c`, in which something is at `k`.
CALLS = {
    # constructors
    "list": lambda c, k: list(c),
    "tuple": lambda c, k: tuple(c),
    "dict": lambda c, k: dict(c),
    "dict of an iterator": lambda c, k: dict(iter(c)),
    "dict of a generator": lambda c, k: dict(row for row in c),
    "dict of a map": lambda c, k: dict(map(lambda row: row, c)),
    "dict of a map of an itemgetter": lambda c, k: dict(map(operator.itemgetter(0), [[row] for row in c])),
    "dict of reversed": lambda c, k: dict(reversed(c)),
    "dict of a chain": lambda c, k: dict(itertools.chain(c)),
    "dict of items": lambda c, k: dict(c.items()),
    "dict of filter": lambda c, k: dict(filter(None, c)),
    "dict of zip": lambda c, k: dict(zip("ab", c, strict=False)),
    "OrderedDict": lambda c, k: collections.OrderedDict(c),
    "defaultdict": lambda c, k: collections.defaultdict(list, c),
    "update": lambda c, k: [made := {}, made.update(c)],
    "fromkeys": lambda c, k: dict.fromkeys("ab", c),
    "set": lambda c, k: list(set(map(len, c))),
    "enumerate": lambda c, k: list(enumerate(c)),
    "zip": lambda c, k: list(zip(c, c, strict=True)),
    "zip of the rows": lambda c, k: list(zip(*c, strict=False)),
    "reversed": lambda c, k: list(reversed(c)),
    "sorted": lambda c, k: sorted(c),
    "sorted by length": lambda c, k: sorted(c, key=len),
    "sorted by an item": lambda c, k: sorted(c, key=operator.itemgetter(0)),
    "sorted by a function": lambda c, k: sorted(c, key=lambda row: row),
    "sorted by a tuple": lambda c, k: sorted(range(2), key=lambda i: (list(c)[i], 0)),
    "sorted by get": lambda c, k: sorted(c, key=c.get),
    "str": lambda c, k: str(c),
    "repr": lambda c, k: repr(c),
    "format": lambda c, k: f"{c}",
    "percent": lambda c, k: "%s" % (c,),  # noqa: UP031
    "str.format": lambda c, k: "{}".format(c),  # noqa: UP032
    "join": lambda c, k: ",".join(map(str, c)),
    "bool": lambda c, k: [bool(row) for row in c],
    # builtins
    "len": lambda c, k: list(map(len, c)),
    "sum of lists": lambda c, k: sum(c, []),
    "sum of lists, made": lambda c, k: sum([*c], []),
    "sum of tuples": lambda c, k: sum(map(tuple, c), ()),
    "max": lambda c, k: max(c),
    "min": lambda c, k: min(c, default=[]),
    "max by len": lambda c, k: max(c, key=len),
    "max by a function": lambda c, k: max(c, key=lambda row: row),
    "max by a tuple": lambda c, k: max([0, 1], key=lambda i: (list(c)[i],)),
    "max by an item": lambda c, k: max(c, key=operator.itemgetter(0)),
    "max of two": lambda c, k: max([5.0], list(c)[0]),
    "any": lambda c, k: any(c),
    "any of items": lambda c, k: any(map(bool, c)),
    "any of a function": lambda c, k: any(map(lambda row: row, c)),
    "all": lambda c, k: all([row for row in c]),
    "filter": lambda c, k: list(filter(None, c)),
    "filter by len": lambda c, k: list(filter(len, c)),
    "filter by bool": lambda c, k: list(filter(bool, c)),
    "filter by a function": lambda c, k: list(filter(lambda row: row, c)),
    "next": lambda c, k: next(iter(c)),
    "getattr": lambda c, k: getattr(c, "held", c),
    "divmod": lambda c, k: divmod(len(c), 2),
    # map
    "map of list": lambda c, k: list(map(list, c)),
    "map of tuple": lambda c, k: list(map(tuple, c)),
    "map of set": lambda c, k: list(map(sorted, map(set, c))),
    "map of set alone": lambda c, k: [len(row) for row in map(set, c)],
    "map of dict": lambda c, k: list(map(dict, c)),
    "map of dict in a list": lambda c, k: list(map(dict, [c])),
    "map of str": lambda c, k: list(map(str, c)),
    "map of bool": lambda c, k: list(map(bool, c)),
    "map of sorted": lambda c, k: list(map(sorted, c)),
    "map of sum": lambda c, k: list(map(sum, c)),
    "map of max": lambda c, k: list(map(max, c)),
    "map of iter": lambda c, k: [list(row) for row in map(iter, c)],
    "map of reversed": lambda c, k: [list(row) for row in map(reversed, c)],
    "map of enumerate": lambda c, k: [list(row) for row in map(enumerate, c)],
    "map of zip": lambda c, k: [list(row) for row in map(zip, c)],
    "map of map": lambda c, k: [list(row) for row in map(map, itertools.repeat(float), c)],
    "map of operator.add": lambda c, k: list(map(operator.add, c, c)),
    "map of operator.add with repeat": lambda c, k: list(map(operator.add, c, itertools.repeat([1.0]))),
    "map of operator.eq": lambda c, k: list(map(operator.eq, c, [[1.0], [2.0]])),
    "map of operator.contains": lambda c, k: list(map(operator.contains, c, [3.0, 2.0])),
    "map of operator.getitem": lambda c, k: list(map(operator.getitem, c, [0, 0])),
    "map of operator.iadd": lambda c, k: list(map(operator.iadd, c, [[1.0], [1.0]])),
    "map of itemgetter": lambda c, k: list(map(operator.itemgetter(-1), c)),
    "map of itemgetter, slice": lambda c, k: list(map(operator.itemgetter(slice(0, 2)), c)),
    "map of list.copy": lambda c, k: list(map(list.copy, c)),
    "map of list.pop": lambda c, k: list(map(list.pop, map(list, c))),
    "map of list.append": lambda c, k: list(map(list.append, c, [1.0, 1.0])),
    "map of append": lambda c, k: [made := [], list(map(made.append, c))],
    "map of get": lambda c, k: list(map(c.get, [k, "b"])),
    "map of a partial": lambda c, k: list(map(functools.partial(operator.add, [1.0]), c)),
    "map of a method": lambda c, k: list(map(Named(c).__getitem__, [k])),
    "map of a class": lambda c, k: [n.all() for n in map(Named, c)],
    "map of a function": lambda c, k: list(map(lambda row: row, c)),
    "map over a map": lambda c, k: list(map(list, map(list, c))),
    "map over a generator": lambda c, k: list(map(list, (row for row in c))),
    "map over zip": lambda c, k: list(map(list, zip(c, c, strict=True))),
    "map over items": lambda c, k: list(map(list, c.items())),
    "map over values": lambda c, k: list(map(list, c.values())),
    "map over enumerate": lambda c, k: list(map(list, enumerate(c))),
    "map over chain": lambda c, k: list(map(list, itertools.chain(c))),
    # functools
    "reduce of add": lambda c, k: functools.reduce(operator.add, c),
    "reduce of add, first": lambda c, k: functools.reduce(operator.add, [[1.0]], list(c)[0]),
    "reduce of a function": lambda c, k: functools.reduce(lambda a, b: [*a, *b], c),
    "reduce of or": lambda c, k: functools.reduce(operator.or_, [{1: 1}], dict(c)),
    "reduce of or, alone": lambda c, k: functools.reduce(operator.or_, [c]),
    "reduce of getitem": lambda c, k: functools.reduce(operator.getitem, [k], c),
    "reduce of getitem, deep": lambda c, k: functools.reduce(operator.getitem, [k, -1], c),
    "reduce of getitem, deeper": lambda c, k: functools.reduce(operator.getitem, [k, -1, 0], c),
    "reduce of get": lambda c, k: functools.reduce(dict.get, [k], c),
    "reduce of a bound get": lambda c, k: functools.reduce(c.get, [k, "b"]),
    "reduce of max": lambda c, k: functools.reduce(max, c),
    "reduce of eq": lambda c, k: functools.reduce(operator.eq, c),
    "reduce of contains": lambda c, k: functools.reduce(operator.contains, [3.0], list(c)[0]),
    "reduce of iadd": lambda c, k: functools.reduce(operator.iadd, c),
    "reduce of getattr": lambda c, k: functools.reduce(getattr, ["held"], c),
    "reduce of dict": lambda c, k: functools.reduce(lambda a, b: dict(a, v=b), c, {}),
    "partial": lambda c, k: functools.partial(list, c)(),
    "partial of a getter": lambda c, k: functools.partial(operator.getitem, c)(k),
    # itertools
    "chain": lambda c, k: list(itertools.chain(c, c)),
    "chain in a loop": lambda c, k: [row[-1] for row in itertools.chain(c)],
    "chain of the rows": lambda c, k: list(itertools.chain(*c)),
    "islice": lambda c, k: list(itertools.islice(c, 1)),
    "islice in a loop": lambda c, k: [row[0] for row in itertools.islice(c, 1)],
    "cycle": lambda c, k: list(itertools.islice(itertools.cycle(c), 3)),
    "repeat": lambda c, k: list(itertools.repeat(c, 2)),
    "product": lambda c, k: list(itertools.product(c, c)),
    "product of the rows": lambda c, k: list(itertools.product(*c)),
    "combinations": lambda c, k: list(itertools.combinations(c, 2)),
    "permutations": lambda c, k: [row[0] for row, _ in itertools.permutations(c, 2)],
    "zip_longest": lambda c, k: list(itertools.zip_longest(c, [1], fillvalue=0)),
    "pairwise": lambda c, k: [a[0] for a, b in itertools.pairwise(c)],
    "accumulate": lambda c, k: list(itertools.accumulate(c)),
    "accumulate with a first": lambda c, k: list(itertools.accumulate([[1.0]], initial=list(c)[0])),
    "accumulate of a function": lambda c, k: list(itertools.accumulate(c, lambda a, b: [*a, *b])),
    "accumulate of or": lambda c, k: list(itertools.accumulate([c, c], func=operator.or_)),
    "accumulate of max": lambda c, k: list(itertools.accumulate(c, max)),
    "starmap of a function": lambda c, k: list(itertools.starmap(lambda *row: row, c)),
    "starmap of max": lambda c, k: list(itertools.starmap(max, c)),
    "starmap of add": lambda c, k: list(itertools.starmap(operator.add, zip(c, c, strict=True))),
    "starmap of dict": lambda c, k: list(itertools.starmap(dict, [[c]])),
    "takewhile": lambda c, k: list(itertools.takewhile(bool, c)),
    "takewhile of a function": lambda c, k: list(itertools.takewhile(lambda row: row, c)),
    # operator
    "operator.getitem": lambda c, k: operator.getitem(c, k),
    "operator.getitem, slice": lambda c, k: operator.getitem(list(c)[0], slice(0, 3)),
    "operator.add": lambda c, k: operator.add(list(c)[0], [1.0]),
    "operator.mul": lambda c, k: operator.mul(list(c)[0], 2),
    "operator.or_": lambda c, k: operator.or_(c, {}),
    "operator.eq": lambda c, k: operator.eq(list(c)[0], [1.0]),
    "operator.lt": lambda c, k: operator.lt(list(c)[0], [3.0]),
    "operator.contains": lambda c, k: operator.contains(list(c)[0], 3.0),
    "operator.iadd": lambda c, k: operator.iadd(list(c)[0], [1.0]),
    "operator.imul": lambda c, k: operator.imul(list(c)[0], 2),
    "operator.truth": lambda c, k: operator.truth(list(c)[0]),
    "operator.not_": lambda c, k: operator.not_(list(c)[0]),
    "itemgetter": lambda c, k: operator.itemgetter(k)(c),
    "itemgetter of several": lambda c, k: operator.itemgetter(0, 1)(c),
    "attrgetter": lambda c, k: operator.attrgetter("held")(c),
    # methods
    "list.copy": lambda c, k: c.copy(),
    "list.index": lambda c, k: [*c].index([2.0]),
    "list.count": lambda c, k: [*c].count([1.0]),
    "list.__contains__": lambda c, k: list.__contains__(c, [1.0]),
    "list.__getitem__": lambda c, k: list.__getitem__(c, k),
    "list.extend": lambda c, k: [made := [], made.extend(c)],
    "list.insert": lambda c, k: [made := [], made.insert(0, c)],
    "list.sort": lambda c, k: [made := [*c], made.sort()],
    "list.sort by len": lambda c, k: [made := [*c], made.sort(key=len)],
    "list.remove": lambda c, k: [made := [*c], made.remove([2.0])],
    "list.pop": lambda c, k: [*c].pop(0),
    "list.reverse": lambda c, k: [made := [*c], made.reverse()],
    "tuple.index": lambda c, k: tuple(c).index([2.0]),
    "tuple.count": lambda c, k: tuple(c).count([1.0]),
    "get": lambda c, k: c.get(k),
    "get of a default": lambda c, k: c.get("z", c),
    "dict.get": lambda c, k: dict.get(c, k),
    "dict.__getitem__": lambda c, k: dict.__getitem__(c, k),
    "dict.__contains__": lambda c, k: dict.__contains__(c, "z"),
    "dict.keys": lambda c, k: list(c.keys()),
    "dict.values": lambda c, k: [row[0] for row in c.values()],
    "dict.items": lambda c, k: [row[0] for _, row in c.items()],
    "dict.__reversed__": lambda c, k: list(dict.__reversed__(c)),
    "dict.setdefault": lambda c, k: c.setdefault(k, []),
    "dict.setdefault, new": lambda c, k: {}.setdefault(k, list(c)[0]),
    "dict.pop": lambda c, k: dict(c).pop(k),
    "dict.popitem": lambda c, k: dict(c).popitem(),
    "dict | dict": lambda c, k: c | {},
    "list + list": lambda c, k: [*c] + [1.0],
    "list == list": lambda c, k: [*c] == [[1.0], [2.0]],
    "in": lambda c, k: [1.0] in c,
    "slice": lambda c, k: c[:1],
    "unpacking": lambda c, k: [(lambda a, b: a)(*c)],
    "unpacking by name": lambda c, k: (lambda **kw: kw)(**c),
    "a star": lambda c, k: [[*row] for row in c],
    "set.union": lambda c, k: sorted(set().union(*c)),
    "set.update": lambda c, k: [made := set(), made.update(*c), sorted(made)][2],
    "set.issuperset": lambda c, k: {1.0, 2.0}.issuperset(list(c)[0]),
    "set.isdisjoint": lambda c, k: {3.0}.isdisjoint(list(c)[0]),
    "class": lambda c, k: Named.table["k"],
    "a loop": lambda c, k: [row[0] for row in c],
}


def weight(o, depth=0):
    """A number that says what `o` holds."""
    if isinstance(o, (int, float)):
        return float(o)
    if isinstance(o, str):
        return float(len(o))
    if isinstance(o, dict):
        return sum(weight(v, depth + 1) * (i + 1.5) for i, v in enumerate(o.values()))
    if isinstance(o, (list, tuple, set)):
        return 0.25 + sum(weight(v, depth + 1) * (i + 1.5) for i, v in enumerate(o))
    return 1.0


def first(o, kind):
    """The first container of the kind in what is given."""
    if isinstance(o, kind):
        return o
    for v in o.values() if isinstance(o, dict) else o if isinstance(o, (list, tuple)) else ():
        if (found := first(v, kind)) is not None:
            return found
    return None


def innermost(o):
    """The last list or dict on the way along the first items."""
    found = None
    while isinstance(o, (list, dict, tuple)) and len(o) > 0:
        found = o if isinstance(o, (list, dict)) else found
        o = next(iter(o.values())) if isinstance(o, dict) else o[0]
    return o if isinstance(o, (list, dict)) else found


def read(make, call):
    def start():
        inner, Named.table["k"] = [1.0], [1.0]
        held, key = MADE[make](inner)

        def body(x):
            try:
                got = call(held, key)
            except (TypeError, AttributeError, ValueError, KeyError, IndexError):
                return x
            return x * weight(got)

        def before(i):
            if i == 2:
                inner.append(3.0)
            elif i == 3:
                inner.clear()
            elif i == 4:
                inner.extend([2.0, float(i)])

        return body, before

    return start


def written(make, call):
    def start():
        inner, Named.table["k"] = [1.0], [1.0]
        held, key = MADE[make](inner)

        def body(x):
            try:
                got = call(held, key)
            except (TypeError, AttributeError, ValueError, KeyError, IndexError):
                return x
            place = innermost(got)
            if isinstance(place, list):
                place.append(1.0)
                place[0] = 5.0
                place += [2.0]
                place[-1] += 1.0
            elif isinstance(place, dict):
                place["n"] = place.get("n", 1.0) + 1.0
                place["n"] += 1.0
            return x * weight(got) + len(inner)

        return body, lambda i: inner.append(3.0) if i == 3 else None

    return start


def counted(make, call):
    """Written to, and not read."""

    def start():
        inner, Named.table["k"] = [1.0], [1.0]
        held, key = MADE[make](inner)

        def body(x):
            try:
                got = call(held, key)
            except (TypeError, AttributeError, ValueError, KeyError, IndexError):
                return x
            place = innermost(got)
            if isinstance(place, list):
                place.append("x")
            elif isinstance(place, dict):
                place["n"] = x
            return x * 2

        return lambda x: body(x), lambda i: inner.clear() if i == 3 else None

    return start


@pytest.mark.parametrize("name", CALLS)
def test_what_is_in_containers_is_followed(name):
    for make in MADE:
        for how in (read, written, counted):
            try:
                follows(how(make, CALLS[name]), None)
            except AssertionError:
                raise AssertionError(f"{name} of {make}, {how.__name__}") from None
