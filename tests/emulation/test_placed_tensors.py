"""Tensors on the CPU that compiled functions use on a GPU: calls run the plan, which reads a copy on the device that is
kept while the elements are those of the last call. Whatever was done to the tensor in between, results are eager's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulated import DEVICE

import tandem
from tandem import nn


def made(*shape: int) -> tandem.Tensor:
    return tandem.arange(float(np.prod(shape))).reshape(shape)


def allocations() -> int:
    return tandem.cuda.memory_stats()["allocation.all.allocated"]


class Checked:
    """A function beside its compiled form, which is to run its body once."""

    def __init__(self, f: Callable[..., Any], runs: int | None = 1) -> None:
        self.f, self.runs, self.compiled = f, runs, tandem.compile(f)

    def __call__(self, *args: Any) -> Any:
        got, want = self.compiled(*args), self.f(*args)
        assert got.device == want.device == DEVICE
        assert got.shape == want.shape and tandem.equal(got.cpu(), want.cpu()), (got, want)
        if self.runs is not None:
            assert self.compiled.runs == self.runs, self.compiled.explain(*args)
        return got


@pytest.fixture
def x() -> tandem.Tensor:
    return tandem.randn(4, 3, device=DEVICE)


class Holder(nn.Module):
    def __init__(self, value: tandem.Tensor) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: tandem.Tensor) -> tandem.Tensor:
        return x * self.value.to(x.device)


USES: dict[str, Callable[[tandem.Tensor, tandem.Tensor], tandem.Tensor]] = {
    "cuda": lambda x, t: x * t.cuda(),
    "to": lambda x, t: x + t.to(x.device),
    "type_as": lambda x, t: x + t.type_as(x),
    "first": lambda x, t: x + t[0, 0],  # of no dims
    "rows": lambda x, t: x[:2] + t[2:].to(x.device),
    "transposed": lambda x, t: x.t() + t.t().to(x.device),
    "strided": lambda x, t: x[::2, ::2] + t[::2, ::2].to(x.device),
    "twice": lambda x, t: x * t.cuda() + t[1].cuda() + t.cuda(),
    "index": lambda x, t: x[tandem.tensor([1, 0])] + t[:2].cuda(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_is_written_is_seen(x, use):
    t = made(4, 3)
    captured, passed = Checked(lambda x: use(x, t)), Checked(use)
    aliased = t.numpy()

    def both() -> None:
        captured(x)
        passed(x, t)

    for _ in range(3):
        both()
    t.add_(1)
    both()
    t[1] = -1
    both()
    t.data.mul_(2)  # no version counts it
    both()
    aliased[0, 0] = 17
    aliased[2] = 5
    both()
    t.detach().view(-1)[3:].zero_()
    both()
    t.copy_(tandem.full((4, 3), float("nan")))
    t.nan_to_num_(3.0)
    both()


def test_copies_are_kept_while_elements_are_the_same(x):
    t = made(4, 3)
    f = Checked(lambda x: x * t.cuda())
    for _ in range(3):
        f(x)

    def made_by_a_call() -> int:
        before = allocations()
        f.compiled(x)
        return allocations() - before

    assert made_by_a_call() == 1  # the result
    t.add_(1)
    assert made_by_a_call() == 2
    t.add_(0)
    assert made_by_a_call() == 1
    f(x)


def test_the_copy_goes_with_the_function(x):
    t = made(4, 3)
    f = tandem.compile(lambda x: x * t.cuda())
    before = tandem.cuda.memory_allocated()
    for _ in range(3):
        f(x)
    assert tandem.cuda.memory_allocated() > before
    del f
    assert tandem.cuda.memory_allocated() == before


def test_replaced_freed_and_resized(x):
    holder = Holder(made(4, 3))
    f = tandem.compile(holder)

    def check() -> None:
        assert tandem.equal(f(x).cpu(), holder(x).cpu())

    for _ in range(3):
        check()
    for k in range(6):  # memory that was freed is handed out again
        holder.value = None
        holder.value = made(4, 3) + k
        check()
    holder.value = made(4, 1)
    check()
    holder.value = made(4, 3)
    check()
    holder.value.resize_(2, 3).fill_(9)
    holder.value.resize_(1, 3)
    check()
    holder.value = made(5, 3)[1:]
    check()
    holder.value.set_(made(40)[3:], 1, (4, 3), (3, 1))
    check()
    holder.value.data = made(4, 3).double()
    check()
    holder.value = made(4, 3).requires_grad_()
    check()
    assert holder(x).requires_grad and f(x).requires_grad


def test_arguments_of_other_memory(x):
    f = Checked(lambda x, t: x * t.cuda(), runs=None)
    for k in range(6):
        f(x, made(4, 3) * k)
    t = made(4, 3)
    f(x, t)
    Checked(lambda x, a, b: x * a.cuda() + b.cuda())(x, t, t)


@pytest.mark.parametrize("size", [64 * 64, 300 * 300])
def test_of_many_elements(size):
    x, t = tandem.randn(size, device=DEVICE), made(size)
    f = Checked(lambda x: x * t.cuda())
    for k in (0, size - 1, size // 2):
        f(x)
        t[k] = -3
        f(x)


def test_a_copy_that_is_a_result_is_the_callers(x):
    t = made(4, 3)
    for use in (lambda x: t.cuda(), lambda x: t.cuda()[1:], lambda x: t.cuda().t()):
        f = Checked(use)
        first = f(x)
        second = f(x)
        second.add_(100)
        assert tandem.equal(first.cpu(), use(x).cpu())
        f(x)


def test_of_no_elements(x):
    holder = Holder(made(0, 3))
    holder.forward = lambda x: tandem.cat([x, holder.value.to(x.device)])
    f = Checked(holder.forward)
    f(x), f(x)
    more = Checked(holder.forward, runs=None)
    for rows in (0, 2, 0, 1):
        holder.value.resize_(rows, 3).fill_(rows)
        more(x)
        holder.value = made(rows, 3)
        more(x)


def test_windows_of_the_cpu_that_are_results(x):
    t = made(4, 3)

    def windows(x):
        return t[1:], x + t[0].to(x.device), t.t()

    f = tandem.compile(windows)
    for k in range(4):
        t[1, 1] = k
        for got, want in zip(f(x), windows(x), strict=True):
            assert got.device == want.device and tandem.equal(got.cpu(), want.cpu())
            if got.device.type == "cpu":
                assert got.data_ptr() == want.data_ptr()


def test_writes_to_windows_of_the_cpu(x):
    def write(x, t):
        y = x + t[0].to(x.device)
        t[0].add_(1)
        return y + t[0].to(x.device)

    a, b = made(4, 3), made(4, 3)
    f = tandem.compile(write)
    for _ in range(4):
        assert tandem.equal(f(x, a).cpu(), write(x, b).cpu()) and tandem.equal(a, b)


def test_a_copy_that_is_written_to(x):
    t = made(4, 3)

    def write(x):
        y = t.cuda()
        y += x
        y[0] = 1
        return y * 2

    f = Checked(write)
    for _ in range(4):
        f(x)


def test_memory_that_the_body_shares_with_numpy(x):
    """Between two uses the body writes to it past all that records: it runs on every call."""
    t = made(4, 3)
    shared = t.numpy()

    def body(x):
        shared[0, 0] += 1
        y = x * t.cuda()
        shared[0, 0] += 1
        return y + t.cuda()

    f = tandem.compile(body)
    for k in range(4):
        t[0, 0] = k
        want = body(x).cpu()
        t[0, 0] = k
        assert tandem.equal(f(x).cpu(), want) and t[0, 0] == k + 2


def test_values_that_are_read(x):
    t = made(4, 3)
    f = Checked(lambda x: x * t.cuda().sum().item() if t.cuda()[0, 0] < 5 else -x, runs=None)
    for value in (0.0, 1.0, 10.0, 2.0):
        t[0, 0] = value
        f(x)


def test_sizes_that_depend_on_it(x):
    mask = tandem.tensor([True, False, True, True])
    f = Checked(lambda x: x[mask], runs=None)
    for k in range(4):
        f(x)
        mask[k] = not mask[k]
    f(x)


def test_an_index_that_is_out_of_range(x):
    i = tandem.tensor([1, 3])
    f = Checked(lambda x: x[i])
    f(x), f(x)
    i[0] = 4
    with pytest.raises(IndexError, match="out of"):
        f.compiled(x).cpu()
    i[0] = -4
    f(x)


def test_gradients(x):
    t = made(4, 3)

    def loss(x):
        y = x.clone().requires_grad_()
        ((y * t.cuda()).square() * t.cuda()).sum().backward()
        return y.grad

    f = Checked(loss)
    for _ in range(3):
        f(x)
        t.add_(1)
    # The tape of an earlier call keeps what it saw.
    w = x.clone().requires_grad_()
    g = tandem.compile(lambda w: (w * t.cuda()).sum())
    g(w)
    first = g(w)
    want = t.clone()
    t.mul_(-2)
    g(w)
    first.backward()
    assert tandem.equal(w.grad.cpu(), want)


def test_streams(x):
    t = made(4, 3)
    f = Checked(lambda x: x * t.cuda())
    streams = [tandem.cuda.Stream() for _ in range(3)]
    for k in range(9):
        with tandem.cuda.stream(streams[k % 3]):
            streams[k % 3].wait_stream(tandem.cuda.default_stream())
            f(x)
        if k == 4:
            t.add_(1)
    f(x)


def test_captured_graphs(x):
    """A graph keeps the elements of its capture, and the function the copies of its calls."""
    t = made(4, 3)
    f = tandem.compile(lambda x: x * t.cuda())
    graph = tandem.cuda.CUDAGraph()
    side = tandem.cuda.Stream()
    side.wait_stream(tandem.cuda.current_stream())
    with tandem.cuda.stream(side):
        f(x), f(x)
        with tandem.cuda.graph(graph, stream=side):
            y = f(x)
    want = (x * t.cuda()).cpu()
    t.mul_(3)
    assert tandem.equal(f(x).cpu(), (x * t.cuda()).cpu())
    graph.replay()
    tandem.cuda.synchronize()
    assert tandem.equal(y.cpu(), want)
    assert tandem.equal(f(x).cpu(), (x * t.cuda()).cpu())


def test_threads(x):
    t = made(4, 3)
    f = tandem.compile(lambda x: x * t.cuda())
    want = f(x).cpu()
    wrong = []

    def run() -> None:
        for _ in range(20):
            if not tandem.equal(f(x).cpu(), want):
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_transforms_and_modes(x):
    t, c = made(3), tandem.tensor(2.0)
    mapped = Checked(lambda x: tandem.func.vmap(lambda row: row * t.cuda())(x), runs=None)
    sloped = Checked(lambda x: tandem.func.grad(lambda v: (v * t.to(v.device)).square().sum())(x), runs=None)
    by_number = Checked(tandem.func.vmap(lambda row, c: row * c, in_dims=(0, None)), runs=None)
    masked = Checked(lambda x: x.masked_fill((t > 1).to(x.device), 3.0), runs=None)

    def low(x):
        with tandem.autocast("cuda", dtype=tandem.float16):
            return x @ t.expand(3, 3).cuda()

    lowered = Checked(low, runs=None)
    for _ in range(3):
        mapped(x), sloped(x), by_number(x, c), masked(x), lowered(x)
        t.add_(1), c.add_(1)
    with tandem.inference_mode():
        mapped(x)


def test_a_training_step():
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.places, self.scale = nn.Linear(6, 6).cuda(), made(10, 6) / 60, tandem.tensor(0.5)

        def forward(self, x: tandem.Tensor) -> tandem.Tensor:
            return self.linear(x + self.places[: x.shape[0]].to(x.device)) * self.scale

    def losses(compiled: bool) -> list[float]:
        tandem.manual_seed(0)
        net = Net()
        optimizer = tandem.optim.Adam(net.parameters(), lr=0.1)

        def step(x: tandem.Tensor) -> tandem.Tensor:
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run, found = tandem.compile(step) if compiled else step, []
        for k in range(8):
            found.append(run(tandem.full((3 + k % 3, 6), float(k), device=DEVICE)).item())
            if k == 4:
                net.scale.fill_(2.0)
                net.places[0] = 7
        return found

    assert losses(True) == losses(False)
