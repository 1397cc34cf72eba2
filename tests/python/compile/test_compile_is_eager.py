"""A compiled call is eager's call, whatever its body returns, asks of a number or reads: programs that run eagerly and
compiled, on worlds of their own, and must give the same results and leave the same state after every call. Tensors are
compared bit by bit, errors by type and text. Modules, gradients and copies: test_compile_is_eager_state.py."""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import os
import random
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest
from compiling import Box, attempt, same, vector

import tandem
from tandem import nn

F = nn.functional


@dataclasses.dataclass
class Losses:
    total: tandem.Tensor
    parts: list


class Output(collections.OrderedDict):
    """As of well-known libraries: a dict whose items are attributes."""

    def __getattr__(self, name):
        return self[name] if name in self else super().__getattribute__(name)


Pair = collections.namedtuple("Pair", "a b")


def x3(*values):
    return vector(*(values or (1, 2, 3)))


# ---- results -------------------------------------------------------------------------------------------------------

RESULTS = {
    "ordered dict": lambda x: collections.OrderedDict(a=x * 2, b=x + 1),
    "defaultdict": lambda x: collections.defaultdict(list, a=[x * 2]),
    "subclass of dict": lambda x: Output(loss=x.sum(), logits=x * 2),
    "dataclass": lambda x: Losses(x.sum(), [x * 2]),
    "object": lambda x: Box(x=x * 2, y=3),
    "set": lambda x: {t.sum().item() for t in (x, x * 2)},
    "deque": lambda x: collections.deque([x * 2, x], maxlen=3),
    "named tuple": lambda x: Pair(x * 2, (x, 1)),
    "numpy": lambda x: (x * 2).numpy(),
    "number": lambda x: (x.sum().item(), float(x.max()), int(x.sum())),
    "list": lambda x: x.tolist(),
    "text": lambda x: f"{x.sum().item():.2f}",
    "class": lambda x: type(x),
    "nothing": lambda x: None,
    "generator": lambda x: list(t * 2 for t in x),
    "iterator": lambda x: list(iter([x, x * 2])),
    "shapes": lambda x: (x.shape, x.size(), x.dtype, x.device, x.stride()),
    "module": lambda x: nn.Linear(2, 2, bias=False).requires_grad_(False).train(x.ndim == 1).training,
    "parameter": lambda x: nn.Parameter(x * 2),
    "one tensor twice": lambda x: (lambda y: [y, y, y is y])(x * 2),
    "an argument": lambda x: (x, x.view(-1)),
    "a mapping proxy": lambda x: dict(types.MappingProxyType({"a": x * 2})),
    "nested": lambda x: {"a": [(x, {"b": x * 2})], 3: None, (1, 2): x + 1},
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    f = RESULTS[name]

    def run(wrap):
        g = wrap(f)
        for k in range(4):
            yield g(vector(k, 2, -1))

    same(run)


class Anything:
    def __getattr__(self, name):
        return None


def test_results_that_answer_anything_or_hold_themselves():
    def itself(x):
        out = [x * 2]
        out.append(out)
        return out

    f, g = tandem.compile(itself), tandem.compile(lambda x: Anything())
    for _ in range(3):
        out = f(vector(1))
        assert out[1] is out and out[0].tolist() == [2] and isinstance(g(vector(1)), Anything)


# ---- floats, ints and what is asked of them ------------------------------------------------------------------------

NUMBERS = {
    "isinstance": lambda x, s: x * (2 if isinstance(s, float) else 3),
    "type": lambda x, s: x * (2 if type(s) is float else 3),
    "str": lambda x, s: {str(s): x * s},
    "repr": lambda x, s: [repr(s), x * s],
    "f-string": lambda x, s: {f"{s:.3f}": x},
    "format": lambda x, s: ["{:.1f}".format(s), "%.2f" % s, x],  # noqa: UP031, UP032
    "dict look-up": lambda x, s: x * {0.5: 1.0, 1.5: 7.0}.get(s, 3.0),
    "set look-up": lambda x, s: x * (s in {0.5, 2.5}),
    "power": lambda x, s: x**s + s**2 + 2**s,
    "floor": lambda x, s: x * (s // 0.7) + s % 0.7,
    "divmod": lambda x, s: x * divmod(s, 0.3)[0],
    "round": lambda x, s: x * round(s) + round(s, 1),
    "int": lambda x, s: x * int(s) + bool(s),
    "abs": lambda x, s: x * abs(-s),
    "min and max": lambda x, s: x * min(s, 1.0) + max(s, 1.0, 0.2),
    "sum": lambda x, s: x * sum([s, s, 1]),
    "tensor": lambda x, s: x[:1] + tandem.tensor([s, 1.0]),
    "full": lambda x, s: x + tandem.full((3,), s),
    "arange": lambda x, s: tandem.arange(0, s, 0.25),
    "range": lambda x, s: x * len(range(int(s * 4))),
    "standard deviation": lambda x, s: x.std(correction=s),
    "added number": lambda x, s: tandem.add(x, s, alpha=2),
    "filled places": lambda x, s: tandem.zeros(6).index_fill(0, tandem.tensor([1]), s),
    "standard deviation of draws": lambda x, s: tandem.normal(x, s),
    "compare": lambda x, s: x if 0.4 < s < 1.0 else -x,
    "truth": lambda x, s: x * 2 if s else x,
    "result": lambda x, s: (x, s, s * 2, -s),
    "hash": lambda x, s: x * (hash(s) % 5),
    "sorted": lambda x, s: x * sorted([1.0, s, 0.1])[1],
    "is_integer": lambda x, s: x * s.is_integer(),
    "complex": lambda x, s: x * (complex(s, 1) * 2).real,
    "default argument": lambda x, s: (lambda y, k=s: y * k)(x),
    "partial": lambda x, s: functools.partial(lambda a, b: a * b, s)(x),
    "list": lambda x, s: x * [s, 2.0][0] + [s, 2.0].index(2.0),
    "as a key": lambda x, s: {s: x},
    "numpy": lambda x, s: x * float(np.float32(s)),
    "kernel argument": lambda x, s: F.dropout(x, 0.0) + F.leaky_relu(-x, s) + F.softplus(x, beta=s + 1),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    f = NUMBERS[name]

    def run(wrap):
        g = wrap(f)
        for s in (0.5, 1.5, 0.5, 2.5, 0.0, -1.25, 1.0, True, 2, np.float64(0.75)):
            yield attempt(g, x3(), s)
            yield attempt(g, x3(4, 5, 6), s)

    same(run)


# ---- what a body reads: the world changes between the calls --------------------------------------------------------

GLOBAL = vector(1, 1, 1)


class Config:
    scale = 2.0
    names = ("a", "b")


class Scaled:
    def __init__(self, s):
        self._s = s

    @property
    def s(self):
        return self._s

    @staticmethod
    def twice(x):
        return x * 2

    @classmethod
    def of(cls, x):
        return x * cls.rate

    rate = 3.0

    def __getattr__(self, name):
        if name.startswith("made_"):
            return float(len(name))
        raise AttributeError(name)

    def __call__(self, x):
        return x * self._s

    def __getitem__(self, i):
        return self._s + i

    def __len__(self):
        return int(self._s)

    def __contains__(self, i):
        return i < self._s

    def __bool__(self):
        return self._s > 2

    def __eq__(self, other):
        return self._s == other

    def __hash__(self):
        return 0

    def __iter__(self):
        return iter([self._s, 1.0])


class Slotted:
    __slots__ = ("s",)


def set_global(v):
    global GLOBAL
    GLOBAL = v


def helper(x, k=2.0, *, z=0.0):
    return x * k + z


def world():
    box = Box(t=vector(1, 2, 3), s=2.0, n=3, inner=Box(s=1.0), f=lambda x: x + 1, kind="a")
    slotted = Slotted()
    slotted.s = 2.0
    local = threading.local()
    local.s = 2.0
    return Box(
        box=box,
        scaled=Scaled(2.0),
        slotted=slotted,
        local=local,
        list=[vector(1, 1, 1), 2.0, "a"],
        dict={"s": 2.0, "t": vector(2, 2, 2), 3: 1.0},
        default=collections.defaultdict(lambda: 1.5, a=2.0),
        ordered=collections.OrderedDict(a=1.0, b=2.0),
        deque=collections.deque([1.0, 2.0]),
        set={1, 2},
        array=np.array([1.0, 2.0, 3.0], dtype=np.float32),
        long=list(range(400)),
        many={i: float(i) for i in range(400)},
        config=type("Own", (Config,), {"scale": 2.0}),
        module=types.ModuleType("own"),
        helper=types.FunctionType(helper.__code__, globals(), "helper", (2.0,)),
        tensor=vector(1, 2, 3),
        text=io.StringIO("1\n2\n3\n4\n"),
        iterator=iter(range(1, 100)),
        random=random.Random(3),
        pair=Pair(1.0, 2.0),
        counter=[0],
        partial=functools.partial(helper, k=4.0),
    )


def twice(w):
    w.helper.__defaults__ = (5.0,)


# What the body computes from the world, and what happens to it between calls.
READS = {
    "attribute": (lambda w, x: x * w.box.s, lambda w: setattr(w.box, "s", 5.0)),
    "attribute that is an int": (lambda w, x: x * w.box.n, lambda w: setattr(w.box, "n", 4)),
    "attribute that is a tensor": (lambda w, x: x * w.box.t, lambda w: setattr(w.box, "t", vector(7, 8, 9))),
    "attribute of an attribute": (lambda w, x: x * w.box.inner.s, lambda w: setattr(w.box.inner, "s", 5.0)),
    "object replaced": (lambda w, x: x * w.box.inner.s, lambda w: setattr(w.box, "inner", Box(s=6.0))),
    "function in an attribute": (lambda w, x: w.box.f(x), lambda w: setattr(w.box, "f", lambda x: x - 1)),
    "text": (lambda w, x: x if w.box.kind == "a" else -x, lambda w: setattr(w.box, "kind", "b")),
    "deleted attribute": (lambda w, x: x * getattr(w.box, "s", 9.0), lambda w: delattr(w.box, "s")),
    "new attribute": (lambda w, x: x * getattr(w.box, "more", 9.0), lambda w: setattr(w.box, "more", 1.0)),
    "hasattr": (lambda w, x: x * (2 if hasattr(w.box, "more") else 3), lambda w: setattr(w.box, "more", 1.0)),
    "vars": (lambda w, x: x * len(vars(w.box)), lambda w: setattr(w.box, "more", 1.0)),
    "property": (lambda w, x: x * w.scaled.s, lambda w: setattr(w.scaled, "_s", 5.0)),
    "static method": (lambda w, x: w.scaled.twice(x), lambda w: setattr(w.scaled, "twice", lambda x: x * 9)),
    "class attribute": (lambda w, x: w.scaled.of(x), lambda w: setattr(w.scaled, "rate", 5.0)),
    "__getattr__": (lambda w, x: x * w.scaled.made_up, lambda w: setattr(w.scaled, "made_up", 5.0)),
    "__call__": (lambda w, x: w.scaled(x), lambda w: setattr(w.scaled, "_s", 5.0)),
    "__getitem__": (lambda w, x: x * w.scaled[1], lambda w: setattr(w.scaled, "_s", 5.0)),
    "__len__": (lambda w, x: x * len(w.scaled), lambda w: setattr(w.scaled, "_s", 5.0)),
    "__contains__": (lambda w, x: x * (3 in w.scaled), lambda w: setattr(w.scaled, "_s", 5.0)),
    "__bool__": (lambda w, x: x if w.scaled else -x, lambda w: setattr(w.scaled, "_s", 5.0)),
    "__eq__": (lambda w, x: x if w.scaled == 2.0 else -x, lambda w: setattr(w.scaled, "_s", 5.0)),
    "__iter__": (lambda w, x: x * sum(w.scaled), lambda w: setattr(w.scaled, "_s", 5.0)),
    "slot": (lambda w, x: x * w.slotted.s, lambda w: setattr(w.slotted, "s", 5.0)),
    "thread-local": (lambda w, x: x * w.local.s, lambda w: setattr(w.local, "s", 5.0)),
    "item of a list": (lambda w, x: x * w.list[1], lambda w: w.list.__setitem__(1, 5.0)),
    "tensor in a list": (lambda w, x: x * w.list[0], lambda w: w.list.__setitem__(0, vector(3, 3, 3))),
    "length of a list": (lambda w, x: x * len(w.list), lambda w: w.list.append(1)),
    "order of a list": (lambda w, x: x * w.long[3], lambda w: w.long.reverse()),
    "item of a long list": (lambda w, x: x * w.long[399], lambda w: w.long.__setitem__(399, -1)),
    "item of a dict": (lambda w, x: x * w.dict["s"], lambda w: w.dict.__setitem__("s", 5.0)),
    "get": (lambda w, x: x * w.dict.get("new", 3.0), lambda w: w.dict.__setitem__("new", 5.0)),
    "item of a large dict": (lambda w, x: x * w.many[399], lambda w: w.many.__setitem__(399, -1.0)),
    "keys": (lambda w, x: x * len([*w.dict]), lambda w: w.dict.pop("s")),
    "values": (lambda w, x: x * sum(w.ordered.values()), lambda w: w.ordered.__setitem__("a", 5.0)),
    "order of a dict": (lambda w, x: x * next(iter(w.ordered.values())), lambda w: w.ordered.move_to_end("a")),
    "defaultdict": (lambda w, x: x * w.default["new"], lambda w: w.default.__setitem__("new", 5.0)),
    "deque": (lambda w, x: x * w.deque[0], lambda w: w.deque.rotate()),
    "set": (lambda w, x: x * (2 in w.set), lambda w: w.set.discard(2)),
    "array": (lambda w, x: x + tandem.from_numpy(w.array), lambda w: w.array.__setitem__(0, 9)),
    "copied array": (lambda w, x: x + tandem.tensor(w.array), lambda w: w.array.__setitem__(0, 9)),
    "attribute of a class": (lambda w, x: x * w.config.scale, lambda w: setattr(w.config, "scale", 5.0)),
    "attribute of a base": (lambda w, x: x * len(w.config.names), lambda w: setattr(w.config, "names", ())),
    "module": (lambda w, x: x * getattr(w.module, "s", 2.0), lambda w: setattr(w.module, "s", 5.0)),
    "default argument": (lambda w, x: w.helper(x), twice),
    "keyword default": (
        lambda w, x: w.helper(x, z=w.box.s),
        lambda w: setattr(w.helper, "__kwdefaults__", {"z": 3.0}),
    ),
    "code of a function": (lambda w, x: w.helper(x), lambda w: setattr(w.helper, "__code__", _other.__code__)),
    "attribute of a function": (
        lambda w, x: x * getattr(w.helper, "s", 2.0),
        lambda w: setattr(w.helper, "s", 5.0),
    ),
    "partial": (lambda w, x: w.partial(x), lambda w: w.partial.keywords.__setitem__("k", 5.0)),
    "named tuple": (lambda w, x: x * w.pair.b, lambda w: setattr(w, "pair", Pair(3.0, 4.0))),
    "class of an object": (lambda w, x: x * len(type(w.box).__name__), lambda w: setattr(w.box, "__class__", Losses)),
    "global": (lambda w, x: x * GLOBAL, lambda w: set_global(vector(5, 5, 5))),
    "contents of a tensor": (lambda w, x: x * w.tensor, lambda w: w.tensor.fill_(3)),
    "data of a tensor": (lambda w, x: x * w.tensor, lambda w: setattr(w.tensor, "data", vector(4, 4, 4))),
    "shape of a tensor": (lambda w, x: x.sum() * w.tensor, lambda w: setattr(w.tensor, "data", vector(4, 4))),
    "dtype of a tensor": (lambda w, x: x * w.tensor, lambda w: setattr(w.tensor, "data", vector(4, 4, 4).double())),
    "strides of a tensor": (
        lambda w, x: x * w.tensor,
        lambda w: setattr(w.tensor, "data", tandem.arange(9.0).reshape(3, 3)[:, 1]),
    ),
    "emptied tensor": (lambda w, x: x.sum() + w.tensor.sum(), lambda w: setattr(w.tensor, "data", tandem.empty(0))),
    "part of a block": (
        lambda w, x: w.tensor.fill_(7),
        lambda w: setattr(w.tensor, "data", setattr(w, "block", tandem.zeros(6)) or w.block[1:4]),
    ),
    "tensor that requires a gradient": (lambda w, x: x * w.tensor, lambda w: w.tensor.requires_grad_()),
    "resized tensor": (lambda w, x: x.sum() * w.tensor, lambda w: w.tensor.resize_(2)),
    "tensor of other memory": (lambda w, x: x * w.tensor, lambda w: w.tensor.set_(tandem.arange(6.0), 1, (3,), (2,))),
    "attribute of a tensor": (lambda w, x: x * getattr(w.tensor, "s", 2.0), lambda w: setattr(w.tensor, "s", 5.0)),
    "file": (lambda w, x: x * float(w.text.readline()), lambda w: None),
    "iterator": (lambda w, x: x * next(w.iterator), lambda w: None),
    "random numbers of Python": (lambda w, x: x * w.random.random() + random.random(), lambda w: None),
    "random numbers of NumPy": (lambda w, x: x * float(np.random.rand()), lambda w: None),
    "random numbers": (lambda w, x: x * tandem.rand(3) + F.dropout(x), lambda w: tandem.manual_seed(3)),
    "generator": (lambda w, x: tandem.rand(3, generator=w.box.g) if hasattr(w.box, "g") else x, lambda w: None),
    "counter": (lambda w, x: _count(w) * x, lambda w: None),
    "counter attribute": (lambda w, x: _count_attribute(w) * x, lambda w: setattr(w.box, "n", 10)),
    "kept state": (lambda w, x: _keep(w, x), lambda w: None),
    "kept list": (lambda w, x: w.list.append(x * 2) or w.list[-1], lambda w: w.list.clear()),
    "cache": (lambda w, x: w.dict.setdefault("cache", x * 2) + x, lambda w: w.dict.pop("cache")),
    "added key": (lambda w, x: w.dict.update(last=x * 2) or x, lambda w: w.dict.pop("last")),
    "set member": (lambda w, x: (w.set.add(len(w.set)), x * len(w.set))[1], lambda w: w.set.clear()),
    "default dtype": (lambda w, x: tandem.ones(3) * x, lambda w: tandem.set_default_dtype(tandem.float64)),
    "grad mode": (lambda w, x: x * 2 if tandem.is_grad_enabled() else x, lambda w: tandem.set_grad_enabled(False)),
}


def _other(x, k=2.0, *, z=0.0):
    return x - k + z


def _count(w):
    w.counter[0] += 1
    return w.counter[0]


def _count_attribute(w):
    w.box.n += 1
    return w.box.n


def _keep(w, x):
    h = getattr(w, "state", None)
    w.state = x if h is None else tandem.tanh(h + x)
    return w.state


@pytest.mark.parametrize("name", READS)
def test_reads(name):
    body, change = READS[name]

    def run(wrap):
        w = world()
        f = wrap(lambda x: body(w, x))
        for k in range(6):
            if k == 3:
                change(w)
            yield attempt(f, x3(k + 1, 2, 3))
            yield {n: v for n, v in vars(w).items() if n not in ("text", "iterator", "random", "local", "module")}

    def once(wrap):
        try:
            yield from run(wrap)
        finally:
            set_global(vector(1, 1, 1))
            tandem.set_default_dtype(tandem.float32)
            tandem.set_grad_enabled(True)

    same(once)


# ---- why a body runs on every call (docs/compile.md) ---------------------------------------------------------------

KEPT = Box(text="", items=[], g=iter(range(1000)), t=vector(1, 2), generator=tandem.Generator())


class Square(tandem.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.twice = x * 2
        return x * x

    @staticmethod
    def backward(ctx, g):
        return ctx.twice * g


def hooked(x):
    x.register_hook(lambda g: g * 2)
    return x


def leaves_a_mode(x):
    tandem.set_grad_enabled(not tandem.is_grad_enabled())
    return x * 2


# The body, and what `explain` says of it.
REASONS = {
    "a value": (lambda x: x * x.sum().item(), "the value of a tensor is read"),
    "a branch on data": (lambda x: x if x.sum() > 0 else -x, "the value of a tensor is read"),
    "a list": (lambda x: KEPT.items.insert(0, 1) or x, "is changed in an object that was there before (list)"),
    "an attribute": (lambda x: setattr(KEPT, "text", KEPT.text + "a") or x, "an attribute of an object that was there"),
    "a clock": (lambda x: x * (time.time() > 0), "a call of time.time"),
    "NumPy": (lambda x: x * float(np.random.rand() < 2), "a call of"),
    "print": (lambda x: print(end="") or x * 2, "a call of builtins.print"),
    "an iterator": (lambda x: x * next(KEPT.g), "an iterator that was there before is advanced"),
    "a custom Function": (lambda x: Square.apply(x * 2), "a custom Function that keeps other things"),
    "a hook": (lambda x: hooked(x * 2), "holds hooks"),
    "a result that is an object": (
        lambda x: types.SimpleNamespace(x=x * 2),
        "a result is an object of type types.Simple",
    ),
    "a result that is a set": (lambda x: {1, x.ndim}, "a result is an object of type set"),
    "a mode": (leaves_a_mode, "it leaves a mode of the thread changed"),
}


@pytest.mark.parametrize("name", REASONS)
def test_reasons(name):
    body, words = REASONS[name]
    compiled = tandem.compile(body)
    x = vector(1, 2, requires_grad=name in ("a custom Function", "a hook"))
    with tandem.set_grad_enabled(True):
        assert words in compiled.explain(x), compiled.explain(x)
        for _ in range(3):
            compiled(x)
        assert compiled.runs >= 4
    with tandem.set_grad_enabled(True), pytest.raises(RuntimeError, match=r"test_compile_is_eager\.py:\d+") as caught:
        tandem.compile(body, fullgraph=True)(x)
    assert isinstance(caught.value, tandem.DataReadError) == ("value" in words)


def test_watched_threads_are_recorded():
    f = tandem.compile(lambda x: x * 2)
    before = sys.gettrace()
    sys.settrace(lambda *a: None)
    try:
        got = [f(vector(1, 2)).tolist() for _ in range(3)]
        text = f.explain(vector(1, 2))
    finally:
        sys.settrace(before)
    assert got == [[2, 4]] * 3 and f.runs == 4 and "profiler or coverage tool" in text


def test_the_log_of_guards():
    code = """if True:
        import tandem
        w = tandem.ones(2)
        f = tandem.compile(lambda x: x * w)
        f(w + 1), f(tandem.ones(2))
        w = tandem.zeros(2)
        f(tandem.ones(2))
        tandem.compile(lambda x: x * x.sum().item())(w)
        """
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "TANDEM_LOG": "guards"},
    )
    lines = out.stderr.splitlines()
    assert len(lines) == 4 and all(line.startswith("tandem guards: __main__.<lambda>: ") for line in lines), out.stderr
    for line, words in zip(
        lines, ("calls run the plan", "changed: ", "calls run the plan", "on every call: "), strict=True
    ):
        assert words in line


def test_memory_of_numpy_as_an_index():
    code = """if True:
        import numpy, tandem
        i = tandem.from_numpy(numpy.array([2, 1, 3, 0, 2, 1]))
        f = tandem.compile(lambda x, s: x.index_fill(0, i, s))
        assert f(tandem.zeros(4), 3.0).tolist() == [3.0] * 4
        """
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 0
