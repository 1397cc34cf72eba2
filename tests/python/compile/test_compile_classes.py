"""What runs without an instruction of its own: special methods, getters and metaclasses that are C functions, which no
watch enters. What they read changes between calls, and compiled calls give what eager ones do."""

from __future__ import annotations

import abc
import collections.abc
import functools
import operator

import pytest
from compiling import attempt, same, vector
from conftest import assert_same_bits

import tandem


def getter(box):
    """A C function that takes what it is given and says what is in a box."""
    return staticmethod(functools.partial(operator.getitem, box, 0))


def holder(name, special):
    """An object whose class has a special method."""
    return type("Holder", (), {name: special})()


def by_property(box):
    return type("Holder", (), {"value": property(functools.partial(lambda b, o: b[0], box))})()


class Reached:
    """Its getter is a C function that reads an attribute of the object."""

    value = property(operator.attrgetter("inner"))
    other = property(lambda self: self.inner)
    inner = 0.0


class Inherits(Reached):
    value = Reached.value

    @property
    def again(self):
        return super().value


class Slotted:
    __slots__ = ("__len__", "__float__")


class Tuple(tuple):
    __slots__ = ()


def slotted(**values):
    made = Slotted()
    for name, value in values.items():
        setattr(made, name, value)
    return made


class Descriptor:
    def __init__(self, box):
        self.box = box

    def __get__(self, o, kind=None):
        return self.box[0]


def changed(box, value):
    box[0] = value


def reached(make):
    def case():
        o = make()
        return (lambda v: setattr(o, "inner", v)), o

    return case


def boxed(make):
    def case():
        box = [0.0]
        return (lambda v: changed(box, v)), make(box)

    return case


# How the world is changed and an object of it, and a body that uses that.
CASES = {
    "property of attrgetter": (reached(Reached), lambda o: lambda x: x * o.value),
    "property of attrgetter, inherited": (reached(Inherits), lambda o: lambda x: x * o.value + o.again),
    "property of a partial": (boxed(by_property), lambda o: lambda x: x * o.value),
    "property of a partial, through super": (
        boxed(lambda box: type("S", (type(by_property(box)),), {"go": lambda s: super(type(s), s).value})()),
        lambda o: lambda x: x * o.go(),
    ),
    "bool": (boxed(lambda box: holder("__bool__", staticmethod(functools.partial(bool.__call__, box)))), None),
    "len": (boxed(lambda box: holder("__len__", property(lambda s: [1] * int(box[0]).__len__))), None),
    "truth by len": (
        boxed(lambda box: holder("__len__", staticmethod(functools.partial(int, box[0])))),
        lambda o: lambda x: x if o else -x,
    ),
    "add": (boxed(lambda box: holder("__add__", getter(box))), lambda o: lambda x: x * (o + 1)),
    "radd": (boxed(lambda box: holder("__radd__", getter(box))), lambda o: lambda x: x * (1 + o)),
    "neg": (boxed(lambda box: holder("__neg__", getter(box))), lambda o: lambda x: x * -o),
    "eq": (boxed(lambda box: holder("__eq__", getter(box))), lambda o: lambda x: x if o == 3 else -x),
    "lt": (boxed(lambda box: holder("__lt__", getter(box))), lambda o: lambda x: x if o < 3 else -x),
    "getitem": (boxed(lambda box: holder("__getitem__", box.__getitem__)), lambda o: lambda x: x * o[0]),
    "contains": (
        boxed(lambda box: holder("__contains__", box.__contains__)),
        lambda o: lambda x: x if 2.0 in o else -x,
    ),
    "iter": (boxed(lambda box: holder("__iter__", box.__iter__)), lambda o: lambda x: [x * k for k in o]),
    "call": (boxed(lambda box: holder("__call__", getter(box))), lambda o: lambda x: x * o()),
    "float": (boxed(lambda box: holder("__float__", getter(box))), lambda o: lambda x: x * float(o)),
    "getattr": (
        boxed(lambda box: holder("__getattr__", staticmethod(lambda name, box=box: box[0]))),
        lambda o: lambda x: x * o.anything,
    ),
    "getattr in C": (boxed(lambda box: holder("__getattr__", getter(box))), lambda o: lambda x: x * o.anything),
    "getattribute in C": (boxed(lambda box: holder("__getattribute__", getter(box))), lambda o: lambda x: x * o.any),
    "a slot": (boxed(lambda box: slotted(__len__=box.__len__, __float__=box)), lambda o: lambda x: x if o else -x),
    "descriptor in Python": (
        boxed(lambda box: type("H", (), {"d": Descriptor(box)})()),
        lambda o: lambda x: x * o.d,
    ),
    "descriptor of a class": (
        boxed(lambda box: type("H", (), {"d": Descriptor(box)})),
        lambda o: lambda x: x * o.d,
    ),
    "descriptor in C": (
        boxed(lambda box: type("H", (), {"d": type("D", (), {"__get__": getter(box)})()})()),
        lambda o: lambda x: x * o.d,
    ),
    "descriptor in C, of a class": (
        boxed(lambda box: type("H", (), {"d": type("D", (), {"__get__": getter(box)})()})),
        lambda o: lambda x: x * o.d,
    ),
    "data descriptor in C": (
        boxed(lambda box: type("H", (), {"d": type("D", (), {"__get__": getter(box), "__set__": print})()})()),
        lambda o: lambda x: x * o.d,
    ),
    "metaclass": (
        boxed(lambda box: type("M", (type,), {"__getattr__": getter(box)})("C", (), {})),
        lambda o: lambda x: x * o.anything,
    ),
    "metaclass, property": (
        boxed(lambda box: type("M", (type,), {"d": property(functools.partial(operator.getitem, box))})("C", (), {})),
        lambda o: lambda x: attempt(lambda: x * o.d),
    ),
    "metaclass, bool": (
        boxed(lambda box: type("M", (type,), {"__len__": getter(box)})("C", (), {})),
        lambda o: lambda x: attempt(lambda: x if o else -x),
    ),
    "metaclass, instance": (
        boxed(lambda box: type("M", (type,), {"__instancecheck__": getter(box)})("C", (), {})),
        lambda o: lambda x: x if isinstance(3, o) else -x,
    ),
    "metaclass, call": (
        boxed(lambda box: type("M", (type,), {"__call__": getter(box)})("C", (), {})),
        lambda o: lambda x: x * o(),
    ),
    "tuple": (
        boxed(lambda box: type("T", (Tuple,), {"__slots__": (), "__add__": getter(box)})((1, 2))),
        lambda o: lambda x: x * (o + (1,)),
    ),
    "exception": (
        boxed(lambda box: type("E", (ValueError,), {"v": property(functools.partial(lambda b, e: b[0], box))})),
        lambda o: lambda x: x * o("a").v,
    ),
    "init": (
        boxed(lambda box: type("H", (), {"__init__": staticmethod(functools.partial(box.append)), "v": box})),
        lambda o: lambda x: attempt(lambda: o(1)) and x * o.v[0],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_c_code_of_classes(name):
    case, body = CASES[name]

    def run(wrap):
        change, o = case()
        f = wrap(body(o) if body is not None else lambda x: x if o else -x)
        for value in (1.0, 1.0, 2.0, 3.0, 0.0, 3.0):
            change(value)
            yield attempt(f, vector(1, 2))
            yield attempt(f, vector(1, 2))

    same(run)


def test_a_descriptor_whose_class_changes():
    def run(wrap):
        kind = type("D", (), {"__get__": lambda self, o, t=None: 2.0})
        o = type("H", (), {"d": kind()})()
        f = wrap(lambda x: x * o.d)
        for k in range(4):
            yield f(vector(1))
            kind.__get__ = lambda self, o, t=None, k=k: float(k)

    same(run)


def test_a_getter_whose_defaults_or_code_change():
    def run(wrap):
        def value(self, k=2.0):
            return k

        o = type("H", (), {"value": property(value)})()
        f = wrap(lambda x: x * o.value)
        for k in range(4):
            yield f(vector(1))
            value.__defaults__ = (float(k),)
        value.__code__ = (lambda self, k: k + 1).__code__
        yield f(vector(1))

    same(run)


def test_getters_in_python_and_of_attributes_are_understood():
    o = Inherits()
    f = tandem.compile(lambda x: x * o.value + o.again + o.other)
    for _ in range(4):
        assert f(vector(1)).tolist() == [0]
    assert f.runs == 1
    o.inner = 2.0
    assert f(vector(1)).tolist() == [6]


def test_a_class_that_is_registered_with_an_abstract_one_later():
    """Abstract classes keep what they answered until then; a hook that changes its mind is asked again with it."""

    class Plain:
        pass

    class Abstract(abc.ABC):  # noqa: B024
        pass

    class Hooked(abc.ABC):  # noqa: B024
        answer = False

        @classmethod
        def __subclasshook__(cls, other):
            return True if cls.answer else NotImplemented

    for kind in (Abstract, Hooked, collections.abc.Mapping):
        thing, calls = Plain(), []

        def body(x, thing=thing, kind=kind):
            return x + 1 if isinstance(thing, kind) else x - 1

        compiled = tandem.compile(body)
        x = tandem.ones(2)
        for _ in range(3):
            assert_same_bits(compiled(x), body(x))
        Hooked.answer = True
        Abstract.register(int)  # another class
        for _ in range(3):
            assert_same_bits(compiled(x), body(x))
        kind.register(Plain)
        for _ in range(3):
            calls.append(compiled(x))
            assert_same_bits(calls[-1], body(x))
        assert calls[0].tolist() == [2.0, 2.0]
