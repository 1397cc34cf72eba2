"""Bodies that read objects of classes of their own, as other projects hand them on: dicts by items, places and
attributes, copies of settings, signatures of functions. Calls are plans, and follow every change."""

from __future__ import annotations

import collections
import copy
import dataclasses
import inspect

import pytest
from compiling import Box, follows

import tandem


class Output(collections.OrderedDict):
    def __setattr__(self, name, value):
        super().__setitem__(name, value)
        super().__setattr__(name, value)


@dataclasses.dataclass
class Fields(collections.OrderedDict):
    logits: object = None
    extra: object = None

    def __post_init__(self):
        if self.logits is not None:
            self["logits"] = self.logits


class Registry(dict):
    def get(self, key):
        return super().get(str(key)) or {}


def results_are_dicts():
    def body(x):
        out = Output()
        out.double, out.more = x * 2, Fields(logits=x + 1)
        return out, Fields(x).logits

    return body, lambda i: None


class Indexed(collections.OrderedDict):
    """Items by key and by place."""

    def __getitem__(self, key):
        return tuple(self.values())[key] if isinstance(key, int) else super().__getitem__(key)


def dicts_indexed_by_place():
    def body(x):
        out = Indexed()
        out["double"] = x * 2
        out["more"] = x + 1
        return out[0] + out[1], out["more"]

    return body, lambda i: None


class Settings(collections.OrderedDict):
    """What a model was made with, as items and as attributes."""

    def __init__(self, **values):
        super().__init__(**values)
        for name, value in self.items():
            setattr(self, name, value)


class Doubled(dict):
    """Values that are computed when they are read."""

    def __init__(self, factor, **values):
        super().__init__(**values)
        self.factor = factor

    def __iter__(self):
        return iter(sorted(super().keys(), reverse=True))

    def __getitem__(self, key):
        return super().__getitem__(key) * self.factor


def dicts_of_classes_are_read():
    settings, doubled = Settings(scale=2.0, shift=3.0), Doubled(2.0, a=1.0, b=5.0)

    def body(x):
        parts = [x * v if k == "scale" else x + v for k, v in settings.items()]
        y = x * settings["scale"] * len(settings) * (1 if "shift" in settings else 2)
        return parts, y * dict(settings)["shift"], [x * doubled[k] for k in doubled]

    def before(i):
        if i == 2:
            settings.move_to_end("scale")
        if i == 3:
            settings["scale"] = 7.0
        if i == 4:
            doubled.factor = 3.0
        if i == 5:
            del settings["shift"]
            settings["shift"] = 1.0
            dict.__setitem__(doubled, "c", 4.0)

    return body, before


def classes_change_how_they_are_read():
    class Table(dict):
        pass

    held = Table(a=1.0, b=2.0)

    def body(x):
        return [x * held[k] for k in held], len(held), "a" in held

    def before(i):
        if i == 2:
            Table.__getitem__ = lambda self, key: 9.0
        if i == 3:
            Table.__iter__ = lambda self: iter(["b"])
        if i == 4:
            Table.__len__ = lambda self: 7
        if i == 5:
            Table.__contains__ = lambda self, key: False

    return body, before


def types_and_sizes_are_asked():
    return lambda x: x.type(tandem.float64) * (3 if x.type() == "tandem.FloatTensor" else 5) * (2 in x.shape), (
        lambda i: None
    )


def signatures():
    class Processor:
        def __call__(self, x, scale=2.0, *, shift: float = 0.0):
            return x * scale + shift

    def other(x, extra=1.0):
        return x

    held = [Processor(), other]

    def body(x):
        names = set(inspect.signature(held[0].__call__).parameters.keys())
        given = {k: 3.0 for k in ("scale", "extra", "shift") if k in names}
        found = inspect.signature(held[1]).parameters
        return held[0](x, **given) * len(found) * found["extra"].default, [*found], "extra" in found

    def before(i):
        if i == 2:
            other.__defaults__ = (7.0,)
        if i == 3:
            held[1] = lambda x, extra=5.0, more=None: x
        if i == 4:
            Processor.__call__ = lambda self, x, scale=1.0: x * scale
        if i == 5:
            held[1].__signature__ = inspect.signature(lambda extra=9.0: 0)

    return body, before


def registry():
    held = Registry(a=2)
    held.b = 7

    def before(i):
        if i == 3:
            held["a"] = 3
        if i == 4:
            held.b = 5

    return lambda x: x * held.get("a") * held.b * (1 + len(held.get("none"))), before


class Config:
    def __init__(self):
        self.rate, self.sizes, self.names = 2.0, [1.0, 2.0], {"k": 3.0}


class Frozen(Config):
    def __getstate__(self):
        return {"rate": 100.0}


def copies():
    held = [Config(), Frozen()]

    def body(x):
        plain, deep = copy.copy(held[0]), copy.deepcopy(held[0])
        plain.rate += 1
        deep.sizes.append(5.0)
        return x * plain.rate, [x * s for s in deep.sizes], x * deep.names["k"], plain.sizes is held[0].sizes

    def before(i):
        if i == 2:
            held[0].rate = 7.0
        if i == 3:
            held[0].sizes[1] = 8.0
        if i == 4:
            held[0].names["k"] = 9.0
        if i == 5:
            held[0] = Config()

    return body, before


def copies_that_a_class_decides():
    held = Box(made=Frozen())

    def before(i):
        held.made.rate = float(i)

    return lambda x: x * copy.copy(held.made).rate, before


CASES = {
    results_are_dicts: 1,
    dicts_indexed_by_place: 1,
    dicts_of_classes_are_read: 5,
    classes_change_how_they_are_read: 5,
    registry: 3,
    types_and_sizes_are_asked: 1,
    signatures: None,
    copies: 5,
    copies_that_a_class_decides: None,
}


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_calls_follow_every_change(make):
    follows(make, CASES[make])
