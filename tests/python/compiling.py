"""What the tests of `compile` share: a compiled function that counts its runs, a small vector, a small network, and the
comparison of a program run with `compile` and without."""

from __future__ import annotations

import collections
import contextvars
import os
import random

import numpy as np

import tandem
from tandem import nn

# Do the bodies run once more for every call that ran a plan? Then how often they ran says nothing.
CHECKED = os.environ.get("TANDEM_CHECK_COMPILED", "0") not in ("", "0")


class counting:  # noqa: N801
    """A function, compiled; `runs` says how often its Python body ran."""

    def __init__(self, function, **options):
        self.compiled = tandem.compile(function, **options)

    @property
    def runs(self):
        return self.compiled.runs

    def __call__(self, *args, **kwargs):
        return self.compiled(*args, **kwargs)


def runs_of(make, argument, begin):
    """How often the compiled body of `make` runs in eight calls, each of which tells, with what it leaves, what eager's
    does. `make` gives a body and what looks at its state; `begin` comes before it."""
    told = []
    for wrap in (lambda f: f, counting):
        begin()
        body, look = make()
        call = wrap(body)
        told.append([picture((call(argument(k)), look())) for k in range(8)])
    assert told[0] == told[1]
    return call.compiled._compiled.runs if isinstance(body, nn.Module) else call.runs


def vector(*values, **options):
    return tandem.tensor([float(v) for v in values], **options)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.drop, self.second = nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3)
        self.register_buffer("calls", tandem.zeros(1))
        self.slope = 2

    def forward(self, x):
        self.calls.add_(1)
        return self.second(self.drop(tandem.tanh(self.first(x)))) * self.slope


def picture(o, depth=0):
    """Something comparable that shows all of `o`."""
    if isinstance(o, tandem.Tensor):
        flat = o.detach().contiguous()
        return (
            "tensor",
            str(o.dtype),
            tuple(o.shape),
            o.requires_grad,
            flat.numpy().tobytes(),
            str(flat.tolist())[:80],
        )
    if isinstance(o, np.ndarray):
        return ("array", o.dtype, o.shape, o.tobytes())
    if isinstance(o, float):
        return ("float", o.hex())
    if isinstance(o, dict):
        return (type(o).__name__, [(k, picture(v, depth + 1)) for k, v in o.items()])
    if isinstance(o, (list, tuple, collections.deque)):
        return (type(o).__name__, [picture(v, depth + 1) for v in o])
    if isinstance(o, (set, frozenset)):
        return (type(o).__name__, sorted(str(picture(v)) for v in o))
    if isinstance(o, BaseException):
        return (type(o).__name__, str(o).split("\n")[0])  # pytest adds addresses
    if hasattr(o, "__dict__") and depth < 6:
        return (type(o).__name__, picture(vars(o), depth + 1))
    return (type(o).__name__, str(o) if isinstance(o, (str, int, bool, type(None))) else "")


def attempt(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except Exception as e:
        return e


def seen(run, wrap):
    """Pictures of what a generator function of `wrap`, by which it may compile, yields."""
    tandem.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    return [picture(o) for o in run(wrap)]


def same(run):
    assert seen(run, tandem.compile) == seen(run, lambda f: f)


class Box:
    """A plain object."""

    def __init__(self, **values):
        self.__dict__.update(values)


def shown(value):
    """Types, values, items and attributes of what a call gives."""
    if isinstance(value, tandem.Tensor):
        return "tensor", value.tolist()
    if isinstance(value, dict):
        return type(value), [(k, shown(v)) for k, v in value.items()], [*getattr(value, "__dict__", {})]
    if isinstance(value, (list, tuple)):
        return type(value), [shown(v) for v in value]
    return type(value), repr(value)


def follows(make, most):
    """Six calls of the body that `make` gives, beside what it gives to happen before call i, are eager's; the body runs
    `most` times, if that is said."""

    def told(compile):
        def run():
            body, before = make()
            function = compile(body)
            results = []
            for i in range(6):
                before(i)
                results.append(shown(function(tandem.ones(2) * (i + 1))))
            return results, getattr(function, "runs", None)

        return contextvars.copy_context().run(run)

    expected, _ = told(lambda f: f)
    got, runs = told(tandem.compile)
    assert got == expected
    assert most in (None, runs) or CHECKED
