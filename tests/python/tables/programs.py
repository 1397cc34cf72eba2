"""Random programs of views, in-place writes and arithmetic, and how to run one in every mode.

A program is a list of steps that Hypothesis draws and shrinks; each step applies to values made before, chosen by
number. A step that does not fit its values (a dim beyond the rank, shapes that do not broadcast) is left out, in every
mode alike, since only shapes decide. Where eager refuses (a saved value was written), all modes have to.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from compiling import CHECKED
from conftest import bits
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import tandem
from tandem import nn

SHAPES = [(3, 4), (4,), (3, 1), (), (5, 3, 4), (1, 4), (130, 4), (0, 4)]


@dataclass(frozen=True)
class Step:
    """An operation by name, the values it takes, and a number from which it derives dims and bounds."""

    name: str
    first: int
    second: int
    number: int

    def __str__(self) -> str:
        return f"{self.name}({self.first}, {self.second}; {self.number})"


class Skip(Exception):
    """The step does not fit its values."""


def need(condition: bool) -> None:
    if not condition:
        raise Skip


def dim_of(x: tandem.Tensor, n: int) -> int:
    need(x.dim() > 0)
    return n % x.dim()


def broadcasts(x: tandem.Tensor, y: tandem.Tensor) -> None:
    numel = 1
    for d in range(1, max(x.dim(), y.dim()) + 1):
        a, b = (t.shape[-d] if d <= t.dim() else 1 for t in (x, y))
        need(a == b or a == 1 or b == 1)
        numel *= b if a == 1 else a
    need(numel < 100_000)


def fits_into(value: tandem.Tensor, target: tandem.Tensor) -> None:
    need(value.dim() <= target.dim())
    for d in range(1, value.dim() + 1):
        need(value.shape[-d] in (1, target.shape[-d]))


def window(x: tandem.Tensor, n: int) -> tandem.Tensor:
    d = dim_of(x, n)
    size = x.shape[d]
    start = n // 3 % (size + 1)
    return x[(slice(None),) * d + (slice(start, None, 1 + n % 2),)]


def product(x: tandem.Tensor, y: tandem.Tensor) -> tandem.Tensor:
    need(x.dim() == 2)
    return (x @ (y if y.dim() == 2 and y.shape[0] == x.shape[1] else x.t())) * 0.1


def selected(x: tandem.Tensor, n: int) -> tandem.Tensor:
    d = dim_of(x, n)
    need(x.shape[d] > 0)
    return x.index_select(d, tandem.tensor([n % x.shape[d], 0, (n // 2) % x.shape[d]]))


def joined(x: tandem.Tensor, y: tandem.Tensor, n: int) -> tandem.Tensor:
    d = dim_of(x, n)
    same = x.dim() == y.dim() and all(a == b for i, (a, b) in enumerate(zip(x.shape, y.shape, strict=True)) if i != d)
    return tandem.cat([x, y if same else x * 2], d)


def largest(x: tandem.Tensor, n: int) -> tandem.Tensor:
    d = dim_of(x, n)
    need(x.shape[d] > 0)
    return x.max(d, keepdim=bool(n & 8))[0] if n & 4 else x.amax(d, keepdim=bool(n & 8))


def write(target: tandem.Tensor, value: tandem.Tensor, shared: bool, n: int) -> None:
    """An in-place operation on a window, or on all, of a value. Operands that overlap what is written are refused
    unless they are the same: values that share memory are left out."""
    part = window(target, n // 5) if n % 3 and target.dim() else target
    if n % 4 == 0:
        part.mul_(0.5)
    elif n % 4 == 1:
        part.add_(1.0)
    else:
        fits_into(value, part)
        need(not shared)
        part.copy_(value) if n % 4 == 2 else part.add_(value)


UNARY: dict[str, Callable[[tandem.Tensor], tandem.Tensor]] = {
    "neg": lambda x: -x,
    "tanh": tandem.tanh,
    "exp": lambda x: tandem.exp(-x.abs()),
    "log": lambda x: tandem.log(x.abs() + 0.5),
    "sqrt": lambda x: tandem.sqrt(x * x + 0.25),
    "sigmoid": tandem.sigmoid,
    "relu": tandem.relu,
    "sin": tandem.sin,
    "gelu": nn.functional.gelu,
    "cube": lambda x: x**3 * 0.1,
    "narrow type": lambda x: (x.bfloat16() * 1.5).float(),
    "wide type": lambda x: (x.double() * 1.5 + 0.1).float(),
    "whole numbers": lambda x: x * ((x * 8).long() % 3).float(),
    "detach": lambda x: x.detach() * 2,
    "clone": lambda x: x.clone(),
}
BINARY: dict[str, Callable[[tandem.Tensor, tandem.Tensor], tandem.Tensor]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y * y + 1),
    "maximum": tandem.maximum,
    "where": lambda x, y: tandem.where(x > y, x * 0.5, y - 1),
    "lerp": lambda x, y: x + (y - x) * 0.25,
}
VIEWS: dict[str, Callable[[tandem.Tensor, int], tandem.Tensor]] = {
    "window": window,
    "transpose": lambda x, n: x.transpose(dim_of(x, n), dim_of(x, n // 2)),
    "flatten": lambda x, n: x.reshape(-1),
    "unsqueeze": lambda x, n: x.unsqueeze(n % (x.dim() + 1)),
    "select": lambda x, n: (need(x.dim() > 0 and x.shape[0] > 0), x[n % x.shape[0]])[1],
    "expand": lambda x, n: x.unsqueeze(0).expand([2, *x.shape]),
}
REDUCTIONS: dict[str, Callable[[tandem.Tensor, int], tandem.Tensor]] = {
    "sum": lambda x, n: x.sum(dim_of(x, n), keepdim=bool(n & 4)),
    "sum of all": lambda x, n: x.sum(),
    "mean": lambda x, n: (need(x.numel() > 0), x.mean(dim_of(x, n), keepdim=bool(n & 4)))[1],
    "largest": largest,
    "softmax": lambda x, n: tandem.softmax(x, dim_of(x, n)),
    "cumsum": lambda x, n: x.cumsum(dim_of(x, n)) * 0.25,
    "selected": selected,
    "random": lambda x, n: x + tandem.rand(list(x.shape)) * 0.1,
    "dropout": lambda x, n: nn.functional.dropout(x, 0.25),
}
NAMES = [*UNARY, *BINARY, *VIEWS, *REDUCTIONS, "matmul", "cat", *["write"] * 6, "write argument", "write buffer"]

steps = st.builds(Step, st.sampled_from(NAMES), st.integers(0, 7), st.integers(0, 7), st.integers(0, 59))
programs = st.lists(steps, min_size=2, max_size=9)
inputs = st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3)


def apply(
    step: Step,
    values: list[tandem.Tensor],
    memory: list[int],
    leaves: int,
    state: tandem.Tensor,
    buffer: tandem.Tensor,
) -> tandem.Tensor:
    """The next value. `memory`: of which value each may be a view; the first `leaves` of them are leaves."""
    x, y = values[step.first % len(values)], values[step.second % len(values)]
    n = step.number
    need(x.numel() < 100_000)
    if step.name in UNARY:
        return UNARY[step.name](x)
    if step.name in BINARY:
        broadcasts(x, y)
        return BINARY[step.name](x, y)
    if step.name in VIEWS:
        return VIEWS[step.name](x, n)
    if step.name in REDUCTIONS:
        return REDUCTIONS[step.name](x, n)
    if step.name == "matmul":
        return product(x, y)
    if step.name == "cat":
        return joined(x, y, n)
    if step.name == "write argument":
        write(state, y.detach().sum(), False, n)
        return x + state.sum() * 0.1
    if step.name == "write buffer":
        buffer.mul_(0.5).add_(x.detach().sum() * 0.1)
        return x * buffer[0]
    # Leaves and their views cannot be written, nor what holds an element twice: a copy is.
    first, second = memory[step.first % len(values)], memory[step.second % len(values)]
    target = x.clone() if first < leaves or 0 in x.stride() else x
    write(target, y, target is x and first == second, n)
    return target


def forward(program: list[Step], buffer: tandem.Tensor) -> Callable[..., list[tandem.Tensor]]:
    """The program as a function of its inputs and an argument that it writes, giving its last values."""

    def run(xs: list[tandem.Tensor], state: tandem.Tensor) -> list[tandem.Tensor]:
        values = list(xs)
        memory = list(range(len(xs)))
        for step in program:
            try:
                made = apply(step, values, memory, len(xs), state, buffer)
            except Skip:
                continue
            first = step.first % len(values)
            shared = step.name in VIEWS or made is values[first]
            memory.append(memory[first] if shared else len(values))
            values.append(made)
        return [values[i] for i in range(max(0, len(values) - 3), len(values))]

    return run


def with_derivatives(results: list[tandem.Tensor], xs: list[tandem.Tensor], order: int) -> list[tandem.Tensor]:
    """Results, then the derivatives of a scalar of them, then those of the squared norm of these."""
    total = sum((v * v).sum() * 0.1 for v in results)
    found: list[Any] = []
    if order and total.requires_grad:
        grads = tandem.autograd.grad(total, xs, create_graph=order > 1, allow_unused=True)
        found = [g for g in grads if g is not None]
        again = [g for g in found if g.requires_grad]
        if order > 1 and again:
            second = tandem.autograd.grad(sum((g * g).sum() for g in again), xs, allow_unused=True)
            found += [g for g in second if g is not None]
    return [*results, *found]


def arguments_of(shapes: list[tuple[int, ...]]) -> tuple[list[tandem.Tensor], tandem.Tensor]:
    """The inputs and the argument that is written, the same for the same shapes; seeds the generator."""
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    tandem.manual_seed(9)
    return [tandem.tensor(a).requires_grad_() for a in arrays], tandem.arange(4.0)


def execute(mode: str, program: list[Step], shapes: list[tuple[int, ...]], order: int) -> list[np.ndarray] | str:
    """The bits of all results, of the written argument and of the captured buffer; or that it was refused."""
    buffer = tandem.ones(3)
    run = forward(program, buffer)

    def arguments() -> tuple[list[tandem.Tensor], tandem.Tensor]:
        buffer.fill_(1)
        return arguments_of(shapes)

    def whole(xs: list[tandem.Tensor], state: tandem.Tensor) -> list[tandem.Tensor]:
        return with_derivatives(run(xs, state), xs, order)

    def call(xs: list[tandem.Tensor], state: tandem.Tensor) -> list[tandem.Tensor]:
        if mode == "lazy":
            with tandem.lazy():
                return whole(xs, state)
        if mode == "compiled forward":
            return with_derivatives(function(xs, state), xs, order)
        return function(xs, state)

    function = whole if mode in ("eager", "lazy") else tandem.compile(run if mode == "compiled forward" else whole)
    try:
        if mode in ("compiled again", "compiled forward"):
            for _ in range(2):
                call(*arguments())
            before = function.runs
        xs, state = arguments()
        results = call(xs, state)
        if mode in ("compiled again", "compiled forward"):
            assert CHECKED or function.runs == before, (
                f"the Python body ran again: {function.explain(*arguments())[:300]}"
            )
    except RuntimeError as e:
        if "inplace operation" not in str(e):
            raise
        return "refused"
    return [bits(t) for t in (*results, state, buffer)]


def differences(a: list[np.ndarray] | str, b: list[np.ndarray] | str) -> str | None:
    if isinstance(a, str) or isinstance(b, str):
        return None if a is b or (isinstance(a, str) and isinstance(b, str)) else f"{a!r:.40} against {b!r:.40}"
    if len(a) != len(b):
        return f"{len(a)} results against {len(b)}"
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"result {i}: {x.dtype}{x.shape} against {y.dtype}{y.shape}"
        if not np.array_equal(x, y):
            return f"result {i}: {int((x != y).sum())} of {x.size} elements differ"
    return None


# The same programs in every run; TANDEM_SLOW=1 draws twenty times as many, others each time.
SLOW = bool(os.environ.get("TANDEM_SLOW"))
WITHOUT_A_PASS = bool(os.environ.get("TANDEM_DISABLE"))


def examples(count: int) -> settings:
    return settings(
        max_examples=count * 20 if SLOW else count // 4 if WITHOUT_A_PASS else count,
        # Explaining traces the interpreter; a function that is compiled then is recorded on every call.
        phases=[p for p in Phase if p is not Phase.explain],
        deadline=None,
        derandomize=not SLOW,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def check(program: list[Step], shapes: list[tuple[int, ...]], order: int, modes: tuple[str, ...]) -> None:
    expected = execute("eager", program, shapes, order)
    for mode in modes:
        try:
            found = differences(execute(mode, program, shapes, order), expected)
        except Exception as e:
            raise AssertionError(f"{mode}: {type(e).__name__}: {e}") from e
        assert found is None, f"{mode}: {found}"
