"""A long life in one process: shapes that change, closures, modules and compiled functions made and dropped, threads,
errors in the middle of recordings, files. Memory and open files are printed each half-minute, and have to be flat after
the first minute: exit 1 if not.

    .venv/bin/python benchmarks/soak.py [--minutes 10] [--only NAME ...] [--tolerance MIB]

Memory is what is resident without what the allocator keeps for use again, which follows the sizes in use. Flat means
that the mean of its last three samples is no more than the tolerance (32 MiB by default) above the mean of those of the
second minute, the open files no more at all, and what is kept no more than 1.6 times what was ever in use at once, or
64 MiB. The workloads take turns, in an order that a fixed seed decides; each of them by itself: `--only`.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tandem
from tandem import nn
from tandem.nn import functional as F

SAMPLE_SECONDS = 30
FILL_SECONDS = 45
WORKLOADS: dict[str, Callable[[random.Random], None]] = {}


def workload(function: Callable[[random.Random], None]) -> Callable[[random.Random], None]:
    WORKLOADS[function.__name__] = function
    return function


class Block(nn.Module):
    """A transformer's layer with a convolution in front: of every kind of kernel some."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.front = nn.Conv1d(width, width, 3, padding=1)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.tail = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, 1))

    def forward(self, x: tandem.Tensor) -> tandem.Tensor:
        x = self.front(x.transpose(1, 2)).transpose(1, 2)
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return self.tail(x).squeeze(-1)


def loss_of(model: Callable[[tandem.Tensor], tandem.Tensor], x: tandem.Tensor) -> tandem.Tensor:
    return F.mse_loss(model(x), x.mean(-1))


LASTING = Block(32)
COMPILED = tandem.compile(lambda x: loss_of(LASTING, x))


def ragged(rng: random.Random) -> tandem.Tensor:
    return tandem.randn(rng.randrange(1, 9), rng.randrange(2, 130), 32)


# ---- shapes that change ---------------------------------------------------------------------------------------------


@workload
def ragged_eager(rng: random.Random) -> None:
    for _ in range(5):
        LASTING.zero_grad()
        loss_of(LASTING, ragged(rng)).backward()


@workload
def ragged_lazy(rng: random.Random) -> None:
    for _ in range(3):
        LASTING.zero_grad()
        with tandem.lazy():
            loss = loss_of(LASTING, ragged(rng))
            loss.backward()
        loss.item()


@workload
def ragged_compiled(rng: random.Random) -> None:
    for _ in range(3):
        LASTING.zero_grad()
        COMPILED(ragged(rng)).backward()


@workload
def large_shapes(rng: random.Random) -> None:
    """Temporary results of up to 32 MiB, never twice of one size."""
    x = tandem.randn(rng.randrange(1 << 16, 1 << 23))
    y = ((x * 2).sin() + x).sort()[0]
    tandem.cat([y, x])[: len(x)].sum().item()


@workload
def sizes_of_data(rng: random.Random) -> None:
    """Sizes that the values decide."""
    x = tandem.randn(rng.randrange(10, 5000))
    select = tandem.compile(lambda t: t[t > 0.3].sum() + t.unique().numel())
    for _ in range(2):
        select(x)


# ---- what is made and dropped ---------------------------------------------------------------------------------------


@workload
def closures(rng: random.Random) -> None:
    """Functions compiled over tensors of their own."""
    for _ in range(3):
        weight = tandem.randn(40, rng.randrange(30, 40), requires_grad=True)
        function = tandem.compile(lambda x, w=weight: (x @ w).relu().sum())
        for _ in range(3):
            function(tandem.randn(8, 40)).backward()


@workload
def modules(rng: random.Random) -> None:
    """Modules trained some steps, with a function compiled over themselves."""
    model = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 8))
    optimizer = rng.choice((tandem.optim.Adam, tandem.optim.AdamW, tandem.optim.RMSprop))(model.parameters(), lr=1e-3)

    def step(x: tandem.Tensor) -> tandem.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    model.step = tandem.compile(step)
    for _ in range(4):
        model.step(tandem.randn(16, 64))
    step(tandem.randn(16, 64))


class OwnMethod(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(100, 100)
        self.forward = tandem.compile(self.forward)

    def forward(self, x: tandem.Tensor) -> tandem.Tensor:
        return self.inner(x).tanh()


@workload
def compiled_methods(rng: random.Random) -> None:
    model = OwnMethod()
    for _ in range(3):
        model(tandem.randn(rng.randrange(2, 5), 100)).sum().backward()


@workload
def dropped_graphs(rng: random.Random) -> None:
    """Histories that no backward goes through, second derivatives, hooks; those of a leaf refer to the leaf."""
    x = tandem.randn(rng.randrange(10, 400), 16, requires_grad=True)
    x.register_hook(lambda g: g * x.detach())
    x.register_post_accumulate_grad_hook(lambda leaf: x.grad.zero_())
    y = (x.sin() * x).exp()
    y.register_hook(lambda g: g * x.detach())
    z = tandem.func.vmap(tandem.func.grad(lambda t: t.square().sum().sin()))(x)
    (g,) = tandem.autograd.grad(y.sum() + z.sum(), x, create_graph=True)
    if rng.random() < 0.5:
        g.square().sum().backward()


class Cube(tandem.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.itself = ctx
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


@workload
def custom_functions(rng: random.Random) -> None:
    x = tandem.randn(rng.randrange(1, 300), requires_grad=True)
    Cube.apply(x).sum().backward()
    tandem.compile(lambda t: Cube.apply(t * 2).sum())(x).backward()


# ---- errors in the middle -------------------------------------------------------------------------------------------


class Interruption(Exception):
    pass


@workload
def errors_in_recordings(rng: random.Random) -> None:
    """In a recorded block, in a compiled body, at its first and at a later call, in backward."""
    x = tandem.randn(rng.randrange(2, 50), 8, requires_grad=True)
    try:
        with tandem.lazy():
            y = (x * 2).exp()
            y.sum().backward()
            raise Interruption
    except Interruption:
        pass
    try:
        tandem.compile(lambda t: (t + 1) @ tandem.ones(7, 7))(x)
    except RuntimeError:
        pass

    def fails(t: tandem.Tensor, late: bool) -> tandem.Tensor:
        z = t.sin()
        if late:
            raise Interruption
        return z.sum()

    function = tandem.compile(fails)
    for late in (False, True, False):
        try:
            function(x, late).backward()
        except Interruption:
            pass

    def interrupt(g: tandem.Tensor) -> None:
        raise Interruption

    z = x * 3
    z.register_hook(interrupt)
    try:
        z.sum().backward()
    except Interruption:
        pass


# ---- threads and files ----------------------------------------------------------------------------------------------


@workload
def threads(rng: random.Random) -> None:
    """New threads each time: eager calls, a block, a function compiled here and one that all share."""
    shapes = [ragged(rng) for _ in range(3)]

    def run(x: tandem.Tensor) -> None:
        loss_of(LASTING, x).item()
        with tandem.lazy():
            (x * 2).sum().item()
        with tandem.no_grad():
            COMPILED(x)
        tandem.compile(lambda t: (t.cos() * 2).sum())(x)

    started = [threading.Thread(target=run, args=(x,)) for x in shapes]
    for t in started:
        t.start()
    for t in started:
        t.join()


@workload
def files(rng: random.Random) -> None:
    """State saved and loaded, read whole and mapped."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.pt"
        tandem.save(LASTING.state_dict(), path)
        LASTING.load_state_dict(tandem.load(path, mmap=rng.random() < 0.5))


@workload
def loaders(rng: random.Random) -> None:
    data = tandem.utils.data.TensorDataset(tandem.randn(rng.randrange(20, 60), 4))
    for (x,) in tandem.utils.data.DataLoader(data, batch_size=8, shuffle=True):
        x.sum().item()


# ---- measuring ------------------------------------------------------------------------------------------------------


@dataclass
class Sample:
    seconds: float
    resident: float  # MiB, without those kept
    kept: float
    peak: float  # in use by tensors at once
    files: int
    threads: int
    rounds: int

    def __str__(self) -> str:
        minutes, seconds = divmod(round(self.seconds), 60)
        return (
            f"{minutes:3d}:{seconds:02d}  {self.resident:8.1f} MiB + {self.kept:6.1f} kept  {self.files:3d} files"
            f"  {self.threads:3d} threads  {self.rounds:7d} rounds"
        )


def sample(start: float, rounds: int) -> Sample:
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    count = {name: len(os.listdir(f"/proc/self/{name}")) for name in ("fd", "task")}
    memory = tandem._C._memory_stats()
    kept, peak = memory["bytes_cached"] / 2**20, memory["peak_bytes"] / 2**20
    return Sample(time.monotonic() - start, resident - kept, kept, peak, count["fd"], count["task"], rounds)


def verdict(samples: list[Sample], tolerance: float) -> tuple[bool, str]:
    """Is it flat after the first minute, and in what words?"""
    later = [s for s in samples if s.seconds > 60]
    early = [s for s in later if s.seconds <= 130] or later[:1]
    last = later[-3:]
    if len(later) < 2:
        return True, "too short to say: --minutes 3 or more"
    grown = statistics.mean(s.resident for s in last) - statistics.mean(s.resident for s in early)
    files = last[-1].files - max(s.files for s in early)
    # The allocator's bound, with a little for what threads hold, which it counts as in use.
    most_kept = max(64, 1.6 * last[-1].peak)
    kept = max(s.kept for s in samples)
    flat = grown <= tolerance and files <= 0 and kept <= most_kept
    what = f"{grown:+.1f} MiB (at most {tolerance:g}), {kept:.0f} MiB kept (at most {most_kept:.0f})"
    what += f", {files:+d} open files"
    return flat, f"{'flat' if flat else 'NOT flat'} after the first minute: {what}"


def soak(minutes: float, names: list[str], tolerance: float) -> int:
    rng = random.Random(0)
    tandem.manual_seed(0)
    start = due = time.monotonic()
    samples: list[Sample] = []
    rounds = 0
    while (now := time.monotonic()) - start < minutes * 60:
        if now >= due:
            samples.append(sample(start, rounds))
            print(samples[-1], flush=True)
            due += SAMPLE_SECONDS
        # Those with ever new shapes fill the cache of plans first, which mixed with others would take minutes.
        filling = [n for n in names if n.startswith("ragged")] if now - start < FILL_SECONDS else []
        WORKLOADS[rng.choice(filling or names)](rng)
        rounds += 1
    samples.append(sample(start, rounds))
    print(samples[-1])
    flat, words = verdict(samples, tolerance)
    print(words)
    return 0 if flat else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", nargs="+", choices=sorted(WORKLOADS), default=sorted(WORKLOADS))
    parser.add_argument("--tolerance", type=float, default=32, help="MiB")
    options = parser.parse_args()
    return soak(options.minutes, options.only, options.tolerance)


if __name__ == "__main__":
    sys.exit(main())
