"""Functions that get other code in place, as those of a module do that is reloaded, and what functions and classes say
of themselves: a compiled call sees the change, and a body that uses them runs without Python all the same."""

from __future__ import annotations

import pytest
from compiling import vector

import tandem


def number():
    """An object of a new class, whose special methods speak of its value."""

    class Number:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            return self.v + other

        def __rmul__(self, other):
            return other * self.v

        def __bool__(self):
            return self.v > 0

        def __getitem__(self, k):
            return self.v * k

        def __call__(self, x):
            return x * self.v

        def __eq__(self, other):
            return self.v == other

        __hash__ = None

        def __lt__(self, other):
            return self.v < other

        def __neg__(self):
            return -self.v

        def __len__(self):
            return int(self.v)

        def __iter__(self):
            return iter([self.v])

        def __contains__(self, k):
            return k == self.v

        def __enter__(self):
            return self.v

        def __exit__(self, *args):
            return None

        def __getattr__(self, name):
            return 5.0

        def __float__(self):
            return float(self.v)

        def __index__(self):
            return int(self.v)

    return Number(2.0)


def inside(n, x):
    with n as value:
        return x * value


# By special method: a body that reaches it, and what takes the place of its code.
SPECIAL = {
    "__add__": (lambda n, x: x * (n + 1.0), lambda self, other: 100.0),
    "__rmul__": (lambda n, x: x * (3.0 * n), lambda self, other: 33.0),
    "__bool__": (lambda n, x: x if n else -x, lambda self: False),
    "__getitem__": (lambda n, x: x * n[2], lambda self, k: 7.0),
    "__call__": (lambda n, x: n(x), lambda self, x: x * 9),
    "__eq__": (lambda n, x: x if n == 2.0 else -x, lambda self, other: False),
    "__lt__": (lambda n, x: x if n < 9 else -x, lambda self, other: False),
    "__neg__": (lambda n, x: x * (-n), lambda self: 11.0),
    "__len__": (lambda n, x: x * len(n), lambda self: 4),
    "__iter__": (lambda n, x: x * next(iter([v for v in n])), lambda self: iter([6.0])),
    "__contains__": (lambda n, x: x if 2.0 in n else -x, lambda self, k: False),
    "__enter__": (inside, lambda self: 8.0),
    "__getattr__": (lambda n, x: x * n.other, lambda self, name: 6.0),
    "__float__": (lambda n, x: x * float(n), lambda self: 3.5),
    "__index__": (lambda n, x: x * range(10)[n], lambda self: 4),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_methods(name):
    body, other = SPECIAL[name]
    n, x = number(), vector(1, 2)
    f = tandem.compile(lambda x: body(n, x))
    before = [f(x).tolist() for _ in range(4)][-1]
    getattr(type(n), name).__code__ = other.__code__
    assert f(x).tolist() == body(n, x).tolist() != before


def test_makers():
    class Made:
        def __init__(self, v=1.0):
            self.v = v

    f = tandem.compile(lambda x: x * Made().v)
    for _ in range(3):
        assert f(vector(1)).tolist() == [1]
    assert f.runs == 1
    Made.__init__.__defaults__ = (9.0,)
    assert f(vector(1)).tolist() == [9]
    Made.__init__.__code__ = (lambda self, v=0: setattr(self, "v", 5.0)).__code__
    assert f(vector(1)).tolist() == [5]


def described():
    def function():
        """Short."""

    class Class:
        """Short."""

    return function, Class


@pytest.mark.parametrize("which", [0, 1], ids=["function", "class"])
@pytest.mark.parametrize("name", ["__name__", "__qualname__", "__doc__", "__module__"])
def test_what_they_say_of_themselves(which, name):
    o = described()[which]
    f = tandem.compile(lambda x: x * len(getattr(o, name)))
    for _ in range(3):
        f(vector(1))
    setattr(o, name, "something that is longer than it was, whatever that may have been")
    assert f(vector(1)).tolist() == [len(getattr(o, name))]
