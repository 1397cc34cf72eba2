"""Plans as CUDA graphs: captured once, launched as one, and as eager where a graph cannot be made."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Callable

import devices
import pytest
from emulated import DEVICE

import tandem
from tandem import nn


def counted(call: Callable[[], object]) -> tuple[int, int]:
    """How many launches of kernels and of graphs a call makes."""
    before = tandem.counters()
    call()
    after = tandem.counters()
    return after["kernel_launches"] - before["kernel_launches"], after["graph_launches"] - before["graph_launches"]


def chain(x: tandem.Tensor, y: tandem.Tensor) -> tandem.Tensor:
    """Several kernels: each softmax is one."""
    for dim in (0, 1, 0, 1, 0):
        x = tandem.softmax(x * y, dim)
    return x


def test_one_launch_a_call():
    compiled = tandem.compile(chain)
    x, y = tandem.randn(8, 40, device=DEVICE), tandem.randn(8, 40, device=DEVICE)
    want = chain(x, y).cpu()
    found, launches = [], []
    for _ in range(6):
        launches.append(counted(lambda: found.append(compiled(x, y).cpu())))
    assert all(tandem.equal(f, want) for f in found)
    assert launches[0][0] >= 5 and launches[0][1] == 0, launches
    assert launches[-3:] == [(0, 1)] * 3, launches


def test_inputs_that_lie_elsewhere():
    """The parameters of the kernels that read them are set in the graph; earlier results stay."""
    compiled = tandem.compile(chain)
    kept = []
    for k in range(8):
        x, y = tandem.randn(8, 40, device=DEVICE), tandem.full((8, 40), 1.0 + k, device=DEVICE)
        kept.append((x, y, compiled(x, y)))
    for x, y, got in kept:
        assert tandem.equal(got.cpu(), chain(x.cpu(), y.cpu()))
    x, y, _ = kept[0]
    assert counted(lambda: compiled(x, y)) == (0, 1)


def test_counts_go_on():
    """What a body counts is an argument of the graph's kernels, an int as one."""

    class Average:
        def __init__(self, device):
            self.steps, self.mean = 0, tandem.zeros(8, 40, device=device)

        def __call__(self, x):
            self.steps += 1
            self.mean = self.mean + (tandem.softmax(x, 0) - self.mean) / self.steps
            rate = 1 - 0.9**self.steps if self.steps > 2 else 1.0
            return tandem.softmax(self.mean, 1) / rate, x.long() * self.steps

    on_gpu, on_cpu = Average(DEVICE), Average("cpu")
    compiled = tandem.compile(on_gpu)
    for k in range(10):
        x = tandem.randn(8, 40)
        for got, want in zip(compiled(x.to(DEVICE)), on_cpu(x), strict=True):
            assert tandem.equal(got.cpu(), want), k
    assert on_gpu.steps == 10 and compiled.runs <= 4


def test_numbers_and_draws_change():
    @tandem.compile
    def step(x, scale: float):
        for dim in (0, 1, 0, 1):
            x = tandem.softmax(x * scale + tandem.rand(8, 40, device=DEVICE), dim)
        return x

    x = tandem.randn(8, 40, device=DEVICE)
    tandem.manual_seed(3)
    got = [step(x, 0.5 + k).cpu() for k in range(6)]
    tandem.manual_seed(3)
    for k, g in enumerate(got):
        want = x.cpu()
        for dim in (0, 1, 0, 1):
            want = tandem.softmax(want * (0.5 + k) + tandem.rand(8, 40), dim)
        assert tandem.equal(g, want), k


def test_other_shapes_are_other_plans():
    compiled = tandem.compile(chain)
    for n in (40, 33, 40, 33, 40, 33, 40):
        x, y = tandem.randn(8, n, device=DEVICE), tandem.randn(8, n, device=DEVICE)
        assert tandem.equal(compiled(x, y).cpu(), chain(x.cpu(), y.cpu()))


def test_a_training_step():
    def losses(mode):
        tandem.manual_seed(1)
        model = nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4)).to(DEVICE)
        optimizer = tandem.optim.AdamW(model.parameters(), lr=1e-2)

        def step(x, target):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            return loss

        run = tandem.compile(step) if mode == "compiled" else step
        found, launches = [], []
        for _ in range(7):
            x, target = tandem.randn(10, 12).to(DEVICE), tandem.randint(0, 4, (10,)).to(DEVICE)
            launches.append(counted(lambda x=x, target=target: found.append(run(x, target).item())))
        return found, launches

    compiled, launches = losses("compiled")
    assert compiled == losses("eager")[0]
    assert launches[-1] == (0, 1), launches


def test_products_whose_operands_lie_elsewhere():
    """Those of another library, which a graph cannot be told: they take copies."""
    w = tandem.randn(40, 40, device=DEVICE)
    compiled = tandem.compile(lambda x, y: tandem.softmax(chain(x, y) @ w, 1) + x @ w)
    kept, launches = [], []
    for k in range(8):
        x, y = tandem.randn(8, 40, device=DEVICE), tandem.randn(8, 40, device=DEVICE)
        kept.append((x, y))
        want = (tandem.softmax(chain(x, y) @ w, 1) + x @ w).cpu()
        got = []
        launches.append(counted(lambda: got.append(compiled(x, y).cpu())))  # noqa: B023
        assert tandem.equal(got[0], want), k
    assert launches[-2:] == [(0, 1)] * 2, launches


def test_what_waits_is_not_captured():
    """A size that depends on data is waited for in the middle of the plan."""

    @tandem.compile
    def selected(x):
        for dim in (0, 1, 0, 1):
            x = tandem.softmax(x, dim)
        return x[x > 0.02] * 2

    x = tandem.randn(8, 40, device=DEVICE)
    want = None
    for _ in range(5):
        got = selected(x).cpu()
        assert want is None or tandem.equal(got, want)
        want = got
    assert counted(lambda: selected(x))[1] == 0


def test_on_a_stream_that_the_program_captures():
    compiled = tandem.compile(chain)
    x, y = tandem.randn(8, 40, device=DEVICE), tandem.randn(8, 40, device=DEVICE)
    for _ in range(4):
        compiled(x, y)
    if not hasattr(tandem.cuda, "graph") or not tandem.cuda.is_available():
        pytest.skip("no graphs in Python yet")
    graph = tandem.cuda.CUDAGraph()
    with tandem.cuda.graph(graph):
        out = compiled(x, y)
    x.copy_(tandem.randn(8, 40))
    graph.replay()
    assert tandem.equal(out.cpu(), chain(x.cpu(), y.cpu()))


emulated = pytest.mark.skipif(devices.REAL, reason="only the emulation refuses what it is told to")
NO_MEMORY, UNSUPPORTED = 2, 801
WIDTHS = itertools.count(50)  # plans of equal programs are one plan
MAKING = ["cuStreamBeginCapture", "cuGraphInstantiate"]


def refuse(function: str, times: int, result: int = UNSUPPORTED) -> None:
    """Has the driver refuse the next calls of the function."""
    driver = ctypes.CDLL(os.environ["TANDEM_CUDA_DRIVER"])
    assert driver.tandemEmulatedRefuse(function.encode(), result, times) == 0


@emulated
@pytest.mark.parametrize("result", [UNSUPPORTED, NO_MEMORY])
@pytest.mark.parametrize("when", [1, 4], ids=["first", "later"])
@pytest.mark.parametrize("function", [*MAKING, "cuGraphExecKernelNodeSetParams", "cuGraphLaunch"])
def test_a_driver_that_refuses(function, when, result):
    """The plan's work is queued as it comes from then on, and once: in-place writes are not made twice."""

    @tandem.compile
    def step(x, total):
        total.add_(chain(x, x))
        return total * 2

    width = next(WIDTHS)
    total, want = tandem.zeros(8, width, device=DEVICE), tandem.zeros(8, width)
    kept = []
    for k in range(8):
        x = tandem.randn(8, width)
        kept.append(x.to(DEVICE))  # elsewhere each time
        if k == when:
            refuse(function, 1, result)
        launches = counted(lambda: step(kept[-1], total))
        want.add_(chain(x, x))
        assert tandem.equal(total.cpu(), want), k
    refuse(function, 0)
    asked = when == 1 or function not in MAKING  # which a plan asks for once
    assert (launches[1] == 0) == asked, launches


@emulated
@pytest.mark.parametrize("function", MAKING)
def test_a_graph_of_the_program_that_is_refused(function):
    """An error; nothing is left of the capture, and the next one is made."""
    compiled = tandem.compile(chain)
    x, y = tandem.randn(8, 40, device=DEVICE), tandem.randn(8, 40, device=DEVICE)
    for _ in range(3):
        want = compiled(x, y).cpu()
    before = tandem.cuda.current_stream()
    graph = tandem.cuda.CUDAGraph()
    refuse(function, 1)
    with pytest.raises(RuntimeError, match="captur"), tandem.cuda.graph(graph):
        compiled(x, y)
    assert tandem.cuda.current_stream() == before and not tandem.cuda.is_current_stream_capturing()
    assert tandem.equal(compiled(x, y).cpu(), want)
    graph = tandem.cuda.CUDAGraph()
    with tandem.cuda.graph(graph):
        out = compiled(x, y)
    graph.replay()
    assert tandem.equal(out.cpu(), want)


@emulated
def test_a_replay_that_is_refused():
    """An error, and the graph is there for the next one."""
    x = tandem.ones(8, device=DEVICE)
    graph = tandem.cuda.CUDAGraph()
    with tandem.cuda.graph(graph):
        x.add_(1)
    refuse("cuGraphLaunch", 1, NO_MEMORY)
    with pytest.raises(RuntimeError, match="launching a graph"):
        graph.replay()
    graph.replay()
    assert x.tolist() == [2.0] * 8


def test_a_plan_is_captured_where_the_program_captures_another_stream():
    """Its own graph is made meanwhile, and is no part of the program's."""
    compiled = tandem.compile(chain)
    x, y = tandem.randn(8, 40, device=DEVICE), tandem.randn(8, 40, device=DEVICE)
    other, graph = tandem.cuda.Stream(), tandem.cuda.CUDAGraph()
    compiled(x, y)
    z = tandem.ones(8, device=DEVICE)
    tandem.cuda.synchronize()
    with tandem.cuda.graph(graph):
        z.add_(1)
        with tandem.cuda.stream(other):
            found = [compiled(x, y) for _ in range(4)]
        z.mul_(3)
    tandem.cuda.synchronize()
    assert all(tandem.equal(f.cpu(), chain(x.cpu(), y.cpu())) for f in found)
    graph.replay()
    assert z.tolist() == [6.0] * 8
