"""`TANDEM_CHECK_COMPILED=1`: compiled calls are made again by the body, and all bits are compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """if True:
    import tandem
    from tandem import nn

    tandem.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    optimizer = tandem.optim.Adam(net.parameters(), lr=0.01)
    kept = tandem.zeros(3)

    @tandem.compile
    def step(x, scale):
        optimizer.zero_grad()
        loss = (net(x) * scale).square().mean()
        loss.backward()
        optimizer.step()
        kept.add_(1)
        return loss, {"twice": loss * 2, "rows": net[0].weight[:2]}

    losses = [step(tandem.randn(5, 4), float(k))[0].item() for k in range(6)]
    print(losses, kept.tolist(), step.runs)
"""


def run(code: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    command, env = [sys.executable, "-c", code], {**os.environ, **environment}
    return subprocess.run(command, input=given, env=env, capture_output=True, text=True, timeout=120)


def test_a_right_program_gives_the_same_under_the_check():
    plain, checked = run(PROGRAM), run(PROGRAM, TANDEM_CHECK_COMPILED="1")
    assert plain.returncode == checked.returncode == 0, checked.stderr
    losses, runs = plain.stdout.rsplit(" ", 1)
    again, checked_runs = checked.stdout.rsplit(" ", 1)
    assert losses == again
    assert int(runs) <= 3 and int(checked_runs) == 6, "the body runs again for every call that ran the plan"


def test_a_difference_is_an_error_that_names_the_value():
    # A constant of the code is changed in its memory, which no guard sees and no program may do.
    code = """if True:
        import ctypes, tandem
        body = lambda x: x * 2.5
        f = tandem.compile(body)
        print(f(tandem.ones(2)).tolist(), f(tandem.ones(2)).tolist())
        number = next(k for k in body.__code__.co_consts if isinstance(k, float))
        ctypes.c_double.from_address(id(number) + object.__basicsize__).value = 3.0
        f(tandem.ones(2))
        """
    found = run(code, TANDEM_CHECK_COMPILED="1")
    assert found.stdout.strip() == "[2.5, 2.5] [2.5, 2.5]"
    assert "TANDEM_CHECK_COMPILED: a bit of result differs from the eager call's" in found.stderr


# What a call returns, what the body returns when it is run again, and what is said.
KINDS = {
    "tensor": ("x * 2.5", "x * 3", "a bit of result"),
    "number": ("2.5", "3.5", "the value of result"),
    "tuple, list and dict": ("(1, [{'a': x * 2}])", "(1, [{'a': x * 3}])", "a bit of result[1][0]['a']"),
    "named tuple": ("Row(x, x * 2)", "Row(x, x * 3)", "a bit of result[1]"),
    "attribute of a named tuple": ("put(Labelled(x, 1), x * 2)", "put(Labelled(x, 1), x * 3)", "a bit of result.label"),
    "dataclass": ("Losses(x, [x * 2])", "Losses(x, [x * 3])", "a bit of result.parts[0]"),
    "number in a dataclass": ("Losses(x, [2])", "Losses(x, [3])", "the value of result.parts[0]"),
    "slots": ("Slotted(x * 2)", "Slotted(x * 3)", "a bit of result.a"),
    "ordered dict": ("OrderedDict(a=x, b=x * 2)", "OrderedDict(a=x, b=x * 3)", "a bit of result['b']"),
    "pytree node": ("Pair(x, [x * 2])", "Pair(x, [x * 3])", "a bit of result.right[0]"),
    "object in an object": ("Losses(x, [Slotted(x * 2)])", "Losses(x, [Slotted(x * 3)])", "a bit of result.parts[0].a"),
    "one object twice": ("(lambda s: (s, s))(Slotted(x))", "(Slotted(x), Slotted(x))", "the value of result[1]"),
    "one tensor twice": ("(lambda y: (y, y))(x * 2)", "(x * 2, x * 2)", "the type of result[1]"),
    "another class": ("Row(x * 2, 1)", "Labelled(x * 2, 1)", "the type of result"),
    "another type of number": ("(x, 1)", "(x, True)", "the type of result[1]"),
    "another order": ("dict(a=x, b=x * 2)", "dict(b=x * 2, a=x)", "the place of result['a']"),
    "an attribute more": ("(Labelled(x, 1),)", "(put(Labelled(x, 1), 1),)", "the place of the memory of input 0"),
    "an element more": ("[x * 2]", "[x * 2, x]", "the place of the memory of input 0"),
}
CLASSES = """
import ctypes, dataclasses, tandem
from collections import OrderedDict
from typing import NamedTuple
from tandem.utils import _pytree

@dataclasses.dataclass
class Losses:
    total: tandem.Tensor
    parts: list

class Slotted:
    __slots__ = ("a",)
    def __init__(self, a):
        self.a = a

class Row(NamedTuple):
    a: tandem.Tensor
    b: object

class Labelled(Row):
    label = None

def put(row, label):
    row.label = label
    return row

class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right

_pytree.register_pytree_node(Pair, lambda p: ((p.left, p.right), None), lambda c, _: Pair(*c))
"""


# A constant is exchanged in the tuple of the code's constants, which no guard sees and no program may do.
WRONG = """
import json, sys
other = 0.75
for kind, (ours, theirs, _) in json.load(sys.stdin).items():
    body = eval(f"lambda x: ({ours}) if 0.25 < 0.5 else ({theirs})")
    f = tandem.compile(body)
    x = tandem.ones(2)
    f(x), f(x)
    assert f.runs == 2, tandem.compile(body).explain(x)  # the first call's, and that of the check
    constants = body.__code__.co_consts
    place = id(constants) + tuple.__basicsize__ + constants.index(0.25) * ctypes.sizeof(ctypes.c_void_p)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(other))
    ctypes.c_void_p.from_address(place).value = id(other)
    try:
        f(x)
        print(json.dumps([kind, "nothing"]))
    except Exception as e:
        print(json.dumps([kind, str(e)]))
"""


@pytest.fixture(scope="module")
def said():
    found = run(CLASSES + WRONG, json.dumps(KINDS), TANDEM_CHECK_COMPILED="1")
    assert found.returncode == 0, found.stderr
    return dict(json.loads(line) for line in found.stdout.splitlines())


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_replay_is_caught_inside_what_it_rebuilds(said, kind):
    assert said[kind] == f"TANDEM_CHECK_COMPILED: {KINDS[kind][2]} differs from the eager call's"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random_programs", "compile_programs", "compile_steps", "compile_fast_path"])
def test_programs_under_the_check(name):
    """Random programs with and without Python's state, the steps of examples and scripts, a model of every module and
    a step of every optimizer: each call that runs a plan is compared with the body's."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{name}.py"]
    environment = {**os.environ, "TANDEM_CHECK_COMPILED": "1"}
    done = subprocess.run(
        command, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == 0, done.stdout[-5000:]
