"""Bodies that read elements of tensors and only hand them on: their calls are plans, and each gives its own numbers."""

from __future__ import annotations

import dataclasses
import math
import typing

import pytest
from compiling import CHECKED, counting

import tandem
import tandem.nn.functional as F
from tandem import nn


class Pair(typing.NamedTuple):
    loss: float
    right: int


@dataclasses.dataclass
class Report:
    loss: float
    right: int = 0


class Box:
    def __repr__(self):
        return repr(self.__dict__)


def appended(loss, out, right):
    numbers = []
    numbers.append(loss.item())
    numbers.append(right.item())
    return numbers


def filled(loss, out, right):
    numbers = {"n": right.item()}
    numbers["loss"] = loss.item()
    return numbers


def boxed(loss, out, right):
    box = Box()
    box.loss, box.right = loss.item(), [right.item()]
    return box


HANDED_ON = {
    "item": lambda loss, out, right: loss.item(),
    "an int": lambda loss, out, right: right.item(),
    "float": lambda loss, out, right: float(loss),
    "int": lambda loss, out, right: int(right),
    "float of an item": lambda loss, out, right: float(loss.item()),
    "detached": lambda loss, out, right: loss.detach().cpu().item(),
    "tuple": lambda loss, out, right: (loss.item(), right.item(), out.detach()),
    "dict": lambda loss, out, right: {"loss": loss.item(), "right": int(right), "of": 5},
    "appended": appended,
    "filled": filled,
    "comprehension": lambda loss, out, right: [t.item() for t in out[0]],
    "named tuple": lambda loss, out, right: Pair(loss.item(), right.item()),
    "dataclass": lambda loss, out, right: Report(loss.item(), right.item()),
    "object": boxed,
    "twice": lambda loss, out, right: (loss.item(), loss.item(), right.item()),
    "is it None": lambda loss, out, right: loss.item() if loss.item() is not None else 0,
    "is it a float": lambda loss, out, right: loss.item() if isinstance(loss.item(), float) else 0,
}


def training(numbers):
    """A step that returns what `numbers` makes of its loss, its results and how many are right."""
    tandem.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
    optimizer = tandem.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        with tandem.no_grad():
            return numbers(loss, out, (out.argmax(1) == y).sum())

    return step


def trained(numbers, count):
    """The compiled step, a batch and what the calls gave, which is what eager ones give."""
    steps = training(numbers), counting(training(numbers))
    batches = [(tandem.randn(5, 4), tandem.randint(0, 3, (5,))) for _ in range(count)]
    results = []
    for step in steps:
        tandem.manual_seed(1)
        results.append([repr(step(*batch)) for batch in batches])
    assert results[0] == results[1]
    return steps[1], batches[0], results[0]


@pytest.mark.parametrize("name", HANDED_ON)
def test_steps_that_return_numbers_are_plans(name):
    compiled, _, results = trained(HANDED_ON[name], 6)
    assert len(set(results)) > 1
    assert compiled.runs == 2 or CHECKED


def test_what_is_read_is_what_it_was_then():
    def body(x):
        y = x.sum()
        before = y.item()
        y.mul_(2)
        between = y.item()
        y.zero_()
        return before, between, y.item()

    f = counting(body)
    for k in range(4):
        assert f(tandem.ones(3) * k) == (3.0 * k, 6.0 * k, 0.0)
    assert f.runs == 1 or CHECKED


def test_arguments_captured_tensors_and_draws():
    state = tandem.zeros(())

    def body(x):
        state.add_(x[0])
        return state.item(), x[1].item(), tandem.rand(()).item(), tandem.randint(0, 1000, ()).item()

    results = []
    f = counting(body)
    for g in (body, f):
        state.zero_()
        tandem.manual_seed(3)
        results.append([g(tandem.arange(2.0) + k) for k in range(5)])
    assert results[0] == results[1]
    assert f.runs == 1 or CHECKED


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64"]
)
def test_dtypes(dtype):
    f = counting(lambda x: (x.max().item(), x[0].item(), x.sum().item()))
    for k in range(4):
        x = (tandem.arange(4) * 7 + k).to(getattr(tandem, dtype))
        assert repr(f(x)) == repr((x.max().item(), x[0].item(), x.sum().item()))
    assert f.runs == 1 or CHECKED


def test_extreme_values():
    f = counting(lambda x: x.max().item())
    for v in (0, -1, 2**62, -(2**62), 2**63 - 1, -(2**63)):
        assert f(tandem.tensor([v])) == v
    g = counting(lambda x: (x.sum() / 0).item())
    assert [g(tandem.ones(1) * s) for s in (1, -1)] == [math.inf, -math.inf]
    assert math.isnan(g(tandem.zeros(1)))
    assert f.runs == g.runs == 1 or CHECKED


def test_attributes_are_assigned_and_counts_are_read():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.line = nn.Linear(2, 1)
            self.register_buffer("calls", tandem.zeros((), dtype=tandem.int64))
            self.last = 0.0

        def forward(self, x):
            self.calls += 1
            y = self.line(x).sum()
            self.last = y.item()
            return y, self.calls.item()

    module = Counting()
    f = counting(lambda x: module(x))
    for k in range(4):
        y, calls = f(tandem.ones(3, 2) * k)
        assert module.last == y.item() and calls == k + 1
    assert f.runs == 1 or CHECKED


USED = {
    "compared": lambda loss, out, right: loss.item() > 1.1,
    "a divisor": lambda loss, out, right: 5 / loss.item(),
    "rounded": lambda loss, out, right: round(loss.item(), 2),
    "an operand": lambda loss, out, right: out.detach() * loss.item(),
    "a tensor": lambda loss, out, right: tandem.tensor(loss.item()),
    "formatted": lambda loss, out, right: f"{loss.item():.3f}",
    "its truth": lambda loss, out, right: 1 if right.item() else 2,
    "a bool": lambda loss, out, right: (loss > 1.1).item(),
}


@pytest.mark.parametrize("name", USED)
def test_steps_that_use_numbers_run(name):
    compiled, batch, _ = trained(USED[name], 4)
    assert compiled.runs == 4 or CHECKED
    assert "the value of a tensor is read" in compiled.compiled.explain(*batch)


COMPUTED = {
    "in arithmetic": lambda loss, out, right: loss.item() * 2,
    "right of five": lambda loss, out, right: right.item() / 5,
    "with another": lambda loss, out, right: [1 - loss.item() * right.item(), float(loss.item() + 1)],
}


@pytest.mark.parametrize("name", COMPUTED)
def test_arithmetic_of_numbers_waits_for_the_plan(name):
    compiled, _, results = trained(COMPUTED[name], 6)
    assert len(set(results)) > 1
    assert compiled.runs == 2 or CHECKED


def test_with_fullgraph_numbers_may_be_returned_and_not_used():
    f = tandem.compile(lambda x: (x * 2, x.sum().item()), fullgraph=True)
    assert [f(tandem.ones(2) * k)[1] for k in range(3)] == [0.0, 2.0, 4.0]
    assert f.runs == 1 or CHECKED
    for body in (lambda x: x * x.sum().item(), lambda x: x.sum().item() > 1, lambda x: {x.sum().item()}):
        with pytest.raises(tandem.DataReadError, match=r"test_compile_reads.py:\d+: the value of a tensor is read"):
            tandem.compile(body, fullgraph=True)(tandem.ones(2))


def test_outer_lists_and_failing_calls():
    history = []

    def body(x, index):
        history.append(x[index].sum().item())
        return len(history)

    f = tandem.compile(body)
    for k in range(4):
        assert f(tandem.ones(3), tandem.tensor([k % 2])) == k + 1
    with pytest.raises(IndexError):
        f(tandem.ones(3), tandem.tensor([7]))
    assert history == [1.0] * 4
    g = tandem.compile(lambda x, index: x[index].sum().item())
    assert g(tandem.ones(3), tandem.tensor([1])) == 1.0
    for _ in range(2):
        with pytest.raises(IndexError):
            g(tandem.ones(3), tandem.tensor([7]))
    assert g(tandem.ones(3) * 2, tandem.tensor([2])) == 2.0


def test_very_many_elements():
    f = tandem.compile(lambda x: [t.item() for t in x])
    for k in range(3):
        assert f(tandem.arange(40.0) + k) == [float(i + k) for i in range(40)]


def test_numbers_made_while_tracing_are_constants():
    f = counting(lambda x: x * tandem.tensor(3.0).item())
    assert [f(tandem.ones(1) * k).item() for k in range(3)] == [0.0, 3.0, 6.0]
    assert f.runs == 1 or CHECKED
