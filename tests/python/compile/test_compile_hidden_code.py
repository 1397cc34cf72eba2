"""Code that no instruction of the body names: what C enters or reads for it. Which code that is, and what C reads, is
guarded or refused: indices, searches, hooks, what modules, classes and `partial` answer, sorting, warnings."""

from __future__ import annotations

import functools
import types
import warnings

import numpy as np
import pytest
from compiling import Box, attempt, same, vector

import tandem
from tandem import nn


class Place:
    def __index__(self):
        return 0


class Plain:
    pass


def deleted(values, k):
    del values[k]
    return values[0]


def stored(values, k):
    values[k] = 5.0
    return values[0]


def popped(values, k):
    return values.pop(k)


def inserted(values, k):
    values.insert(k, 7.0)
    return values[0]


PLACES = [
    lambda x, k: x * [2.0, 3.0, 4.0][k],
    lambda x, k: x * (2.0, 3.0, 4.0)[k],
    lambda x, k: x * [2.0, 3.0, 4.0][k:][0],
    lambda x, k: x * len("abc"[k:]),
    lambda x, k: x * range(2, 5)[k],
    lambda x, k: x * x.shape[k:].numel(),
    lambda x, k: x * stored([2.0, 3.0], k),
    lambda x, k: x * deleted([2.0, 3.0], k),
    lambda x, k: x * popped([2.0, 3.0], k),
    lambda x, k: x * inserted([2.0, 3.0], k),
]


def places_in_numpy_memory(wrap):
    k = np.array(0)
    functions = [wrap(lambda x, body=body: body(x, k)) for body in PLACES]
    for where in (0, 0, 1):
        k[...] = where
        for f in functions:
            yield f(vector(1, 2))


def places_of_objects(wrap):
    for change in ("another function", "other code"):
        k, first = Place(), Place.__index__
        code = first.__code__
        functions = [wrap(lambda x, body=body, k=k: body(x, k)) for body in PLACES]
        try:
            for where in (0, 0, 1):
                if where and change == "other code":
                    first.__code__ = (lambda self: 1).__code__
                elif where:
                    Place.__index__ = lambda self: 1
                for f in functions:
                    yield f(vector(1, 2))
        finally:
            first.__code__, Place.__index__ = code, first


def searches(wrap):
    number, other = np.array(2), Plain()
    for held in (number, other):
        values = [held, 3]
        bodies = [
            lambda x, values=values: x * (2 if 3 in values[:1] else 5),
            lambda x, values=values: x * values.index(3),
            lambda x, values=values: x * tuple(values).count(3),
            lambda x, values=values: x * ([*values].remove(3) or 1) * len(values),
            lambda x, values=values: x * (2 if 3 in {"a": values[0]}.values() else 5),
        ]
        functions = [wrap(body) for body in bodies]
        for _ in range(2):
            for f in functions:
                yield f(vector(1))
        number[...] = 3
        Plain.__eq__ = lambda self, o: o == 3
        try:
            for f in functions:
                yield f(vector(1))
        finally:
            number[...] = 2
            del Plain.__eq__


def orders(wrap):
    a, b = np.array(1.0), np.array(2.0)

    def sorts(x):
        values = [a, b]
        values.sort()
        return x * 2 if values[0] is a else x * 3

    bodies = [
        sorts,
        lambda x: x * sorted([5, 7], key=lambda n: a if n == 5 else b)[0],
        lambda x: x * min([5, 7], key=lambda n: a if n == 5 else b),
    ]
    functions = [wrap(body) for body in bodies]
    for value in (1.0, 1.0, 9.0):
        a[...] = value
        for f in functions:
            yield f(vector(1))


def lists_are_extended(wrap):
    for source, change in (
        ({2.0}, lambda s: s.add(5.0)),
        ({2.0: 1}, lambda s: s.update({5.0: 1})),
        ([2.0], lambda s: s.append(5.0)),
        (iter([1.0, 2.0, 3.0]), lambda s: None),
    ):

        def body(x, source=source):
            values = [1.0]
            values.extend(source)
            return x * sum(values)

        f = wrap(body)
        yield f(vector(1))
        yield f(vector(1))
        change(source)
        yield f(vector(1))


def modules(wrap):
    module = types.ModuleType("module")
    module.scale = 2.0

    class Lazy(types.ModuleType):
        kind = 3.0

        @property
        def scale(self):
            return 5.0

    lazy = Lazy("lazy")
    lazy.factor = 4.0
    bodies = [lambda x: x * module.scale, lambda x: x * lazy.factor, lambda x: x * lazy.kind, lambda x: x * lazy.scale]
    functions = [wrap(body) for body in bodies]

    def again():
        return [attempt(f, vector(1)) for f in functions for _ in range(2)]

    yield again()
    lazy.factor, Lazy.kind = 6.0, 7.0
    yield again()
    module.__class__ = Lazy
    yield again()
    Lazy.scale = property(lambda self: 9.0)
    yield again()
    module.__class__ = types.ModuleType
    del module.scale
    yield again()
    module.__getattr__ = lambda name: 11.0
    yield again()
    module.__getattr__ = answer = lambda name: 12.0
    yield again()
    answer.__code__ = (lambda name: 13.0).__code__
    yield again()


def classes(wrap):
    class Base:
        def apply(self, x):
            return x

    class First(Base):
        def apply(self, x):
            return super().apply(x)

    class Double(Base):
        def apply(self, x):
            return x * 2

    class Triple(Base):
        def apply(self, x):
            return x * 3

    one, two = type("One", (First, Double), {}), type("Two", (First, Triple), {})
    o = one()
    f, g = wrap(lambda x: First.apply(o, x)), wrap(First.apply)
    h = wrap(lambda x: x * 2 if issubclass(one, Double) else x * 3)
    for cls in (one, one, two, one):
        o.__class__ = cls
        yield f(vector(1)), g(o, vector(1)), h(vector(1))
    one.__bases__ = (First, Triple)
    yield f(vector(1)), g(o, vector(1)), h(vector(1))


def answers_of_metaclasses(wrap):
    class Meta(type):
        def __instancecheck__(cls, o):
            return False

    class Asked(metaclass=Meta):
        pass

    f = wrap(lambda x: x * 2 if isinstance(3, Asked) else x * 3)
    g = wrap(lambda x: x * 2 if isinstance(3, (str, (Asked, list))) else x * 3)
    h = wrap(lambda x: x * 2 if isinstance(3, Asked | None) else x * 3)
    for answer in (None, None, lambda cls, o: True, lambda cls, o: False):
        if answer is not None:
            Meta.__instancecheck__.__code__ = answer.__code__
        yield [k(vector(1)) for k in (f, g, h) for _ in range(2)]


def partials_and_aliases(wrap):
    def scaled(x, k=2.0):
        return x * k

    partial = functools.partial(scaled, k=3.0)
    partial.own = 2.0

    class Origin:
        scale = 2.0

    alias = types.GenericAlias(Origin, (int,))
    first, second = (lambda: 2.0), (lambda: 3.0)
    filled = __import__("collections").defaultdict(first)
    bodies = [
        lambda x: partial(x),
        lambda x: x * partial.own,
        lambda x: x * partial.keywords["k"],
        lambda x: x * alias.scale,
        lambda x: x * filled.default_factory(),
    ]
    functions = [wrap(body) for body in bodies]
    yield [f(vector(1)) for f in functions for _ in range(2)]
    partial.own, Origin.scale, filled.default_factory = 5.0, 6.0, second
    yield [f(vector(1)) for f in functions]
    partial.__setstate__((scaled, (), {"k": 7.0}, {"own": 8.0}))
    yield [f(vector(1)) for f in functions]


def globals_of_another_kind(wrap):
    class Names(dict):
        def __getitem__(self, name):
            return 2.0 if name == "scale" else dict.__getitem__(self, name)

    names = Names(scale=1.0)
    exec("def body(x): return x * scale", names)
    f = wrap(names["body"])
    yield f(vector(1)), f(vector(1))
    Names.__getitem__ = lambda self, name: 5.0 if name == "scale" else dict.__getitem__(self, name)
    yield f(vector(1)), f(vector(1))


def hooks(wrap):
    def scaled(g, k=2.0):
        return g * k

    seen: list = []
    partial = functools.partial(scaled, k=3.0)
    changes = [
        (scaled, lambda: setattr(scaled, "__code__", (lambda g, k=2.0: g * k * 5).__code__)),
        (scaled, lambda: setattr(scaled, "__defaults__", (7.0,))),
        (partial, lambda: partial.keywords.update(k=9.0)),
        (seen.append, lambda: None),
    ]
    for hook, change in changes:
        p = nn.Parameter(vector(1, 2))
        p.register_hook(hook)

        def body(x, p=p):
            p.grad = None
            (p * x).sum().backward()
            return p.grad.clone()

        f = wrap(body)
        for k in range(5):
            if k == 3:
                change()
            yield f(vector(3, 4)), len(seen)


def hooks_after_accumulation(wrap):
    p, seen = nn.Parameter(vector(1, 2)), []
    f = wrap(lambda x: (p * x).sum().backward())

    def triple(t):
        t.grad.mul_(3)

    def quintuple(t):
        t.grad.mul_(5)

    for hook in (seen.append, triple, quintuple):
        handle = p.register_post_accumulate_grad_hook(hook)
        for _ in range(3):
            f(vector(3, 4))
            yield p.grad, len(seen)
        handle.remove()
    for _ in range(20):  # numbers of hooks of one kind are not those of another
        handle = p.register_hook(lambda g: g * 7)
        f(vector(3, 4))
        yield p.grad
        handle.remove()


def backward_functions_get_other_code(wrap):
    class Scale(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    p = nn.Parameter(vector(1, 2))

    def body(x):
        p.grad = None
        (Scale.apply(p) * x).sum().backward()
        return p.grad.clone()

    f = wrap(body)
    for k in range(5):
        if k == 3:
            Scale.backward.__code__ = (lambda ctx, g: g * 9).__code__
        yield f(vector(3, 4))


def warnings_at_every_call(wrap):
    f = wrap(lambda x: nn.functional.mse_loss(x, tandem.ones(2, 1)))
    for how in ("ignore", "ignore", "always", "always", "error"):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter(how)
            yield attempt(f, vector(1, 2))
        yield len(shown)


def what_a_scope_begins_with(wrap):
    kept, dtype = tandem.is_autocast_cache_enabled(), tandem.get_autocast_dtype("cpu")

    def body(x):
        with tandem.autocast("cpu"):
            y = x @ x
            return y.float(), str(y.dtype), tandem.is_autocast_cache_enabled()

    f, x = wrap(body), tandem.full((3, 3), 1.01)
    try:
        for other in (dtype, dtype, tandem.float16, dtype):
            tandem.set_autocast_dtype("cpu", other)
            yield f(x)
        for other in (False, True):
            tandem.set_autocast_cache_enabled(other)
            yield f(x)
    finally:
        tandem.set_autocast_cache_enabled(kept)
        tandem.set_autocast_dtype("cpu", dtype)


def what_changes_is_assigned(wrap):
    """A number that is read anew at every call, in a place that has it already at one."""
    numbers, box = {"a": 1.5}, Box(k=0.0)

    def body(x):
        box.k = numbers["a"]
        return x

    f = wrap(body)
    for value in (1.5, 0.5, 0.5, 2.5, 2.5, 3.5, 0.5, 4.5):
        numbers["a"] = value
        f(vector(1))
        f(vector(1))
        yield box.k


PROGRAMS = [
    places_in_numpy_memory,
    places_of_objects,
    searches,
    orders,
    lists_are_extended,
    modules,
    classes,
    answers_of_metaclasses,
    partials_and_aliases,
    globals_of_another_kind,
    hooks,
    hooks_after_accumulation,
    backward_functions_get_other_code,
    warnings_at_every_call,
    what_a_scope_begins_with,
    what_changes_is_assigned,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs(program):
    same(program)
