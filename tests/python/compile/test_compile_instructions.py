"""What the interpreter's instructions do in a compiled body, whichever version of it runs: calls need not run the body,
give what eager gives, and notice when something changes that an instruction read."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import contextlib
import math

import pytest

import tandem as td

RUN_NOT = "the body is not run"


class Base:
    factor = 3.0
    offset = 1.0

    def scale(self, x):
        return x * self.factor


class Derived(Base):
    def __init__(self):
        self.values = [1.0, 2.0, 3.0]
        self.named = {"a": 2.0}

    def scale(self, x):
        return super().scale(x) + super().offset

    def __getitem__(self, i):
        return self.values[i]

    @property
    def second(self):
        return self.values[1]


class Entered:
    def __enter__(self):
        return 2.0

    def __exit__(self, *what):
        return True


@contextlib.contextmanager
def entered():
    yield 4.0


def numbers(n):
    for i in range(n):  # noqa: UP028
        yield i


def delegated(n):
    yield from numbers(n)


def keywords(x, *more, a=1, **named):
    return x * a + len(more) + sum(named.values())


state = Derived()
number = 2.0
numbers_list = [1.0, 2.0, 3.0, 4.0]


def comprehensions(x):
    return sum([x * i for i in range(3)]) + len({i for i in range(4)}) + len({i: i for i in range(2)})


def shared_variable(x):
    t = 1.0

    def inner(y):
        nonlocal t
        t = t + 1
        return y * t

    return inner(x) + inner(x)


def closure_in_comprehension(x):
    return sum([(lambda: x * i)() for i in range(3)])


def bases_method(x):
    return state.scale(x)


def items_and_properties(x):
    return x * state[1] + state.second + state.named["a"]


def generator_expression(x):
    return sum(x * i for i in numbers(3))


def delegating_generator(x):
    return sum(x * i for i in delegated(3))


def thrown_into_generator(x):
    g = numbers(2)
    next(g)
    try:
        g.throw(ValueError)
    except ValueError:
        return x * 2


def suppressed_exception(x):
    with Entered() as c:
        y = x * c
        raise ValueError
    return y + 1


def context_manager(x):
    with entered() as c:
        return x * c


def handled_exception(x):
    try:
        raise KeyError("a")
    except ValueError:
        y = x
    except KeyError:
        y = x * 2
    finally:
        z = 1
    return y + z


def keyword_call(x):
    return keywords(x, 1, 2, a=3, b=4, c=5)


def starred_call(x):
    more, named = [1, 2], {"a": 3, "b": 4}
    return keywords(x, *more, **named) + keywords(*[x, 2, 3])


def slices(x):
    own = [1, 2, 3, 4]
    own[1:3] = [7]
    return x[0:2] * own[1] + sum(own[:2]) + sum(numbers_list[1:3])


def unpacking(x):
    a, *b, c = (1, 2, 3, 4)
    (d, e) = (5, 6)
    return x * a + sum(b) + c + d * e


def formatting(x):
    return x * len(f"{number} {1:>3} {'a'!r}")


def conditions(x):
    y = number or 3
    return x * (y if 1 < y < 3 and number is not None else 1)


def in_place_operators(x):
    own = [1]
    own += [2, 3]
    y = x * 1
    y += 1
    y = y * -number
    y = +y
    y @= td.ones(3, 3)
    return y + len(own) - 2**3 % 3 // 1


def imports(x):
    from math import floor

    return x * math.sqrt(floor(4.5))


def functions_made(x):
    def f(a, b=2, *, c=3) -> int:
        return a * b * c

    return f(x)


def deletions(x):
    a, b = 1, [1, 2]
    del a
    del b[0]
    return x * len(b)


def loops(x):
    i = 0
    while True:
        i += 1
        if i == 2:
            continue
        if i > 4:
            break
    for j in range(3):
        if j == 7:
            break
    else:
        i += 1
    return x * i


def recursion(x, n=3):
    return x if n == 0 else recursion(x * 2, n - 1)


def optional_argument(x, a=None):
    if a is None:
        a = 2
    if a is not None:
        x = x * a
    return x


LONG = [f"y = y + {i}.5" for i in range(300)]
exec(
    "def long_body(x):\n    y = x\n    "
    + "\n    ".join(LONG)
    + "\n    for i in range(2):\n        "
    + "\n        ".join(LONG[:40])
    + "\n    return y\n"
)

BODIES = [
    comprehensions, shared_variable, closure_in_comprehension, bases_method, items_and_properties,
    generator_expression, delegating_generator, thrown_into_generator, suppressed_exception, context_manager,
    handled_exception, keyword_call, starred_call, slices, unpacking, formatting, conditions, in_place_operators,
    imports, functions_made, deletions, loops, recursion, optional_argument, globals()["long_body"],
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda f: f.__name__)
def test_a_body_is_understood(body):
    x = td.randn(3, 3)
    compiled = td.compile(body)
    want = body(x)
    for _ in range(3):
        assert td.allclose(compiled(x), want)
    assert RUN_NOT in compiled.explain(x)


def set_global(name, value):
    globals()[name] = value


CHANGES = {
    "a base's attribute": (bases_method, lambda: setattr(Base, "offset", Base.offset + 1)),
    "a method": (bases_method, lambda: setattr(Base, "scale", lambda self, x: x * 7.0)),
    "an item": (items_and_properties, lambda: state.values.__setitem__(1, state.values[1] + 1)),
    "a dict's item": (items_and_properties, lambda: state.named.update(a=state.named["a"] + 1)),
    "an attribute": (items_and_properties, lambda: setattr(state, "values", [5.0, 6.0, 7.0])),
    "a slice": (slices, lambda: numbers_list.__setitem__(2, numbers_list[2] + 1)),
    "a text": (formatting, lambda: set_global("number", number * 1000)),
    "a condition": (conditions, lambda: set_global("number", number + 5)),
    "an operand": (in_place_operators, lambda: set_global("number", number + 5)),
    "a default": (recursion, lambda: setattr(recursion, "__defaults__", (recursion.__defaults__[0] + 1,))),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_noticed(what, monkeypatch):
    body, change = CHANGES[what]
    monkeypatch.setitem(globals(), "state", Derived())
    monkeypatch.setitem(globals(), "number", 2.0)
    monkeypatch.setitem(globals(), "numbers_list", [1.0, 2.0, 3.0, 4.0])
    monkeypatch.setattr(Base, "offset", 1.0)
    monkeypatch.setattr(Base, "scale", Base.scale)
    monkeypatch.setattr(recursion, "__defaults__", (3,))
    x = td.randn(3, 3)
    compiled = td.compile(body)
    for _ in range(3):
        before = compiled(x)
    assert RUN_NOT in compiled.explain(x)
    for _ in range(3):
        change()
        want = body(x)
        assert not td.allclose(want, before) or what == "a method"
        for _ in range(2):
            assert td.allclose(compiled(x), want)


def test_what_a_slice_is_assigned_to_is_not_forgotten():
    kept = [1, 2, 3]

    def body(x):
        kept[1:2] = [4, 5]
        return x * len(kept)

    compiled = td.compile(body)
    x = td.ones(2)
    assert [compiled(x)[0].item() for _ in range(3)] == [4.0, 5.0, 6.0]


def test_no_instruction_is_reported_when_the_body_ended():
    import sys

    def body(x):
        return x * sum(numbers(3))

    td.compile(body)(td.ones(2))
    assert sys.gettrace() is None
    assert [i for i in numbers(3)] == [0, 1, 2]
