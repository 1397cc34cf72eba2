"""Results that are objects, and library code that changes something for a while: what is rebuilt is what the body would
have returned, also when classes and the world change between calls."""

from __future__ import annotations

import collections
import dataclasses
import weakref
from typing import NamedTuple

import pytest
from compiling import attempt, picture, same, vector

import tandem
from tandem import func, nn

F = nn.functional


@dataclasses.dataclass
class Losses:
    total: tandem.Tensor
    parts: list
    weight: float = 1.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    total: tandem.Tensor
    name: str = "frozen"


@dataclasses.dataclass
class Computed:
    total: tandem.Tensor
    made: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.made.append(self.total * 2)
        self.rank = self.total.ndim


@dataclasses.dataclass
class Slotted:
    __slots__ = ("a", "b")
    a: tandem.Tensor
    b: object


class Half(Slotted):
    """Slots of the base, attributes of its own."""

    def __init__(self, a):
        self.a = a
        self.c = [a, a + 1]


class Row(NamedTuple):
    a: tandem.Tensor
    b: int


class Labelled(Row):
    """A named tuple with attributes."""

    label = None


class Node:
    def __init__(self, value, other=None):
        self.value, self.other = value, other

    def __eq__(self, o):
        return self.value is o.value


class Singular:
    """One object, whoever asks."""

    one = None

    def __new__(cls, x):
        if cls.one is None:
            cls.one = object.__new__(cls)
        return cls.one

    def __init__(self, x):
        self.x = x


class Proxy:
    def __getattr__(self, name):
        return 3


class Counting:
    alive = 0

    def __init__(self, x):
        self.x = x
        Counting.alive += 1


def labelled(x):
    r = Labelled(x * 2, 1)
    r.label = x.ndim
    return r


def shared(x):
    n = Node(x * 2)
    return n, [n, Node(n, n)], {"n": n}


def cyclic(x):
    n = Node(x * 2)
    n.other = n
    return n


def bound(x):
    n = Node(x)
    n.other = n.__eq__
    return n


def holds_a_module(x):
    n = Node(x * 2)
    n.other = LINE
    return n


LINE = nn.Linear(2, 2)
KEPT = Node(3)

RESULTS = {
    "dataclass": lambda x, s: Losses(x.sum(), [x * 2, (x,)], s),
    "frozen dataclass": lambda x, s: Frozen(x * s),
    "post_init": lambda x, s: Computed(x * s),
    "slots": lambda x, s: Slotted(x * s, {"a": x}),
    "a slot that is empty": lambda x, s: Half(x * s),
    "named tuple with attributes": lambda x, s: labelled(x * s),
    "one object several times": lambda x, s: shared(x * s),
    "holds itself": lambda x, s: attempt(lambda: cyclic(x)),
    "holds a method of itself": lambda x, s: bound(x),
    "holds a module": lambda x, s: holds_a_module(x),
    "an object that was there": lambda x, s: (x * 2, KEPT),
    "a number of the call": lambda x, s: Node(s * 2, f"{s:.2f}"),
    "made by __new__": lambda x, s: Singular(x * s),
    "answers anything": lambda x, s: (Proxy(), x * 2),
    "counts its objects": lambda x, s: Counting(x * s),
    "ordered dict": lambda x, s: collections.OrderedDict(b=x * s, a=x),
    "ordered dict, moved": lambda x, s: (lambda d: d.move_to_end("b") or d)(collections.OrderedDict(b=x * s, a=x)),
    "defaultdict": lambda x, s: collections.defaultdict(list, a=[x]),
    "dict with odd keys": lambda x, s: {Frozen(1): x},
    "values of max": lambda x, s: (x.max(0).values * s, x.max(0).indices, x.max(0)),
    "attributes of results": lambda x, s: (lambda r: r.total * r.weight + r.parts[0])(Losses(x * 2, [x], s)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    body = RESULTS[name]

    def run(wrap):
        Singular.one, Counting.alive = None, 0
        f = wrap(body)
        for k in range(6):
            out = attempt(f, vector(k, 2), float(k % 3 + 1))
            yield picture(out)
            yield [type(out).__name__, Counting.alive]
            if isinstance(out, Losses):
                out.parts.append(3)
                out.total.mul_(5)
            if isinstance(out, collections.OrderedDict):
                yield [list(out), list(reversed(out)), out.pop("a", None)]

    same(run)


FAST = ["dataclass", "frozen dataclass", "post_init", "slots", "ordered dict", "ordered dict, moved", "values of max",
        "named tuple with attributes", "one object several times", "holds a module"]  # fmt: skip


@pytest.mark.parametrize("name", FAST)
def test_these_are_rebuilt(name):
    f = tandem.compile(RESULTS[name])
    for _ in range(4):
        f(vector(1, 2), 2.0)
    assert f.runs == 1, f.explain(vector(1, 2), 2.0)


def test_rebuilt_objects_are_those_of_eager():
    f = tandem.compile(shared)
    for _ in range(3):
        n, (again, outer), d = f(vector(1))
        assert n is again and d["n"] is n and outer.value is n and outer.other is n and type(outer) is Node
    first, second = f(vector(1)), f(vector(1))
    assert first[0] is not second[0] and first[0].value is not second[0].value
    with pytest.raises(dataclasses.FrozenInstanceError):
        tandem.compile(RESULTS["frozen dataclass"])(vector(1), 1.0).total = 3
    half = tandem.compile(lambda x: Half(x))
    for _ in range(3):
        out = half(vector(1))
        assert out.c[0] is out.a and not hasattr(out, "b")


def test_classes_of_results_change():
    def run(wrap):
        kind = type("Kind", (), {"__init__": lambda self, x: setattr(self, "x", x)})
        f = wrap(lambda x: kind(x * 2))
        for k in range(3):
            yield vars(f(vector(k)))
        kind.__init__ = lambda self, x: self.__dict__.update(y=x, z=1)
        for k in range(3):
            yield vars(f(vector(k)))
        kind.__new__ = staticmethod(lambda cls, x: [x])
        for k in range(3):
            yield f(vector(k))

    same(run)


def test_results_and_their_classes_die():
    kind = type("Kind", (), {"__init__": lambda self, x: setattr(self, "x", x)})
    f = tandem.compile(lambda x: kind(x * 2))
    for k in range(3):
        ref = weakref.ref(f(vector(k)))
        assert ref() is None


# ---- modules that are lent tensors ---------------------------------------------------------------------------------


class Reading(nn.Module):
    """Reads its parameters in several ways."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(vector(1, 2))
        self.register_buffer("shift", vector(1, 1))
        self.inner = nn.Linear(2, 2)

    def forward(self, x, how):
        if how == "items":
            return sum(p.sum() for p in self._parameters.values()) * x
        if how == "named":
            return sum(p.sum() for _, p in self.named_parameters()) * x
        if how == "writes":
            self.shift.add_(1)
            return x * self.shift
        if how == "fails":
            raise ValueError("no")
        return self.inner(x) * self.weight + self.shift


@pytest.mark.parametrize("how", ["", "items", "named", "writes", "fails"])
@pytest.mark.parametrize("changes", ["nothing", "parameter", "replaced", "frozen", "added"])
def test_functional_call(how, changes):
    def run(wrap):
        tandem.manual_seed(1)
        net = Reading()
        f = wrap(lambda w, x: func.functional_call(net, {"weight": w, "inner.bias": w * 2}, (x, how)))
        g = wrap(lambda x: func.functional_call(net, {"shift": x.clone()}, (x, how)))
        h = wrap(lambda w, x: func.grad(lambda w: func.functional_call(net, {"weight": w}, (x, how)).sum())(w))
        for k in range(6):
            yield attempt(f, vector(k, 1), vector(2, 3))
            yield attempt(g, vector(k, 1))
            yield attempt(h, vector(k, 1), vector(1, 2))
            yield attempt(net, vector(1, 2), how)
            yield dict(net.state_dict())
            if k == 2 and changes == "parameter":
                with tandem.no_grad():
                    net.weight.mul_(3)
                    net.inner.weight.mul_(3)
            if k == 2 and changes == "replaced":
                net.weight = nn.Parameter(vector(7, 7))
                net.inner = nn.Linear(2, 2)
            if k == 2 and changes == "frozen":
                net.requires_grad_(False)
            if k == 2 and changes == "added":
                net.extra = nn.Parameter(vector(1, 1))

    same(run)


def test_functional_call_is_understood():
    net = Reading()
    f = tandem.compile(lambda w, x: func.functional_call(net, {"weight": w, "inner.bias": w * 2}, (x, "")))
    for k in range(4):
        f(vector(k, 1), vector(2, 3))
    assert f.runs == 1


def test_what_is_lent_and_kept_is_refused():
    kept = {"a": vector(1)}

    def body(x):
        tandem._C._lend(kept, "a", x)
        return kept["a"] * 2

    f = tandem.compile(body)
    for k in range(4):
        kept["a"] = vector(9)
        assert f(vector(k)).tolist() == [2 * k] and kept["a"].tolist() == [k]


# ---- exceptions and comparisons ------------------------------------------------------------------------------------


def told(x, s):
    try:
        if s > 1:
            raise KeyError("a", s)
        if x.ndim == 1:
            raise ValueError(f"{s:.1f}")
    except (ValueError, KeyError) as e:
        return {str(e): x, "again": [x * len(e.args)]}


def unknown(x, s):
    try:
        raise ValueError(x, s)
    except ValueError as e:
        return [str(e.args[1]), e.args[0] * 2, len(str(e)) > 3]


def of_another_class(x, s):
    class Mine(ValueError):
        def __str__(self):
            return f"mine {s}"

    try:
        raise Mine(1)
    except ValueError as e:
        return [str(e), x * 2]


BODIES = {
    "told": told,
    "unknown": unknown,
    "of another class": of_another_class,
    "an error of an operation": lambda x, s: attempt(lambda: x @ vector(1, 2, 3)),
    "tuples with objects": lambda x, s: x if (Node(1), [2, int]) == (Node(1), [2, int]) else -x,
    "tuples with numbers": lambda x, s: x if (1, (s, [2.0])) == (1, (2.0, [2.0])) else -x,
    "lists of tensors": lambda x, s: attempt(lambda: [x, s] == [x * 1, s]),
    "dicts of numbers": lambda x, s: x if {"a": s, "b": [1]} == {"a": 2.0, "b": [1]} else -x,
    "dicts of objects": lambda x, s: x if {"a": KEPT} == {"a": KEPT} else -x,
    "sorted pairs": lambda x, s: [v * k for k, v in sorted([(s, x), (2.5, x + 1), (0.5, x + 2)], key=lambda p: p[0])],
    "sorted items": lambda x, s: [v for k, v in sorted({"b": x, "a": x + 1}.items())],
    "sorted by tensors": lambda x, s: attempt(lambda: sorted([(1, x), (1, x + 1)])),
    "len": lambda x, s: x * len(BOXED),
}
BOXED = [1, 2]


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name):
    def run(wrap):
        BOXED[:] = [1, 2]
        f = wrap(BODIES[name])
        for k in range(8):
            yield attempt(f, vector(k, 2), (1.0, 2.0, 2.5)[k % 3])
            BOXED[0] = k
            if k == 4:
                BOXED.append(3)

    same(run)


def test_len_is_no_guard_of_items():
    items = [1, 2]
    f = tandem.compile(lambda x: x * len(items))
    for k in range(4):
        items[0] = k
        assert f(vector(1)).tolist() == [2]
    assert f.runs == 1


def test_aliases_of_captured_tensors_that_nothing_reads():
    """The memory alone is handed on, by another tensor each time."""
    x, w = tandem.arange(4.0), tandem.ones(3, requires_grad=True)
    bodies = (lambda: x.detach(), lambda: w.detach(), lambda: (x.detach(), x), lambda: (x.detach()[1:], x + 1))
    for body in bodies:
        f = tandem.compile(body, fullgraph=True)
        f()
        results, expected = f(), body()
        assert f.runs == 1
        for got, want in zip(*(r if isinstance(r, tuple) else (r,) for r in (results, expected)), strict=True):
            assert got.tolist() == want.tolist() and got.requires_grad == want.requires_grad
            assert (got is x) == (want is x)
    tandem.compile(bodies[0])().add_(1)
    assert x.tolist() == [1, 2, 3, 4]


def test_views_without_elements():
    """A view of no elements has eager's strides and flags at every call, as any other view has."""

    def body(x):
        y = x + 1
        return y[:, 3:3], y[1:1].transpose(0, 2), y[..., 1:1], y[2:].detach()

    with tandem.inference_mode():
        frozen = tandem.compile(lambda x: (x + 1)[:0])
        assert [frozen(tandem.ones(2, 4, 3)).is_inference() for _ in range(3)] == [True] * 3
    f = tandem.compile(body)
    for k in range(3):
        x = tandem.full((2, 4, 3), float(k))
        for eager, compiled in zip(body(x), f(x), strict=True):
            assert (compiled.shape, compiled.stride()) == (eager.shape, eager.stride())
    assert f.runs == 1
