"""Random programs on several streams, which events alone order: in-place and new work, memory that other streams use
and that is freed, captured graphs between; streams are late, and what is cached is given back now and then. The results
are those of the same steps on the CPU."""

from __future__ import annotations

import random

import pytest
from gpu_here import MARKS
from same_bits import assert_same_bits

import tandem

pytestmark = MARKS

TENSORS, STEPS = 6, 40
fused = tandem.compile(lambda a, b: ((a * b).clamp(-50, 50).flip(0) + a).cumsum(0) / 8)


class Program:
    """Tensors on the GPU beside the CPU's, and the last event of each."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.streams = [*(tandem.cuda.Stream() for _ in range(4)), tandem.cuda.default_stream()]
        self.here = [tandem.linspace(-k, k + 1, 70) for k in range(TENSORS)]
        self.there = [t.cuda() for t in self.here]
        self.last: list[tandem.cuda.Event | None] = [None] * TENSORS
        tandem.cuda.synchronize()

    def step(self) -> None:
        stream = self.r.choice(self.streams)
        i, j = self.r.randrange(TENSORS), self.r.randrange(TENSORS)
        with tandem.cuda.stream(stream):
            for k in sorted({i, j}):
                if (event := self.last[k]) is not None:
                    stream.wait_event(event)
                self.there[k].record_stream(stream)
            what = self.r.randrange(6)
            for tensors in (self.there, self.here):
                self.do(what, tensors, i, j)
            event = tandem.cuda.Event()
            event.record(stream)
            self.last[i] = self.last[j] = event
        if self.r.random() < 0.1:
            self.r.choice(self.streams).synchronize()
        if self.r.random() < 0.1:
            tandem.cuda.empty_cache()

    @staticmethod
    def do(what: int, tensors: list[tandem.Tensor], i: int, j: int) -> None:
        if what == 0:
            tensors[i].add_(tensors[j]).clamp_(-50, 50)
        elif what == 1:
            tensors[i].mul_(0.5)
        elif what == 2:
            tensors[i] = tensors[j].sort(descending=True)[0] - 1
        elif what == 3:
            tensors[i] = (tensors[i] - tensors[j]).clamp(-50, 50)
        elif what == 4:
            tensors[i] = fused(tensors[i], tensors[j])
        else:
            tensors[i][:35].copy_(tensors[j][35:].clone())

    def check(self) -> None:
        tandem.cuda.synchronize()
        for found, expected in zip(self.there, self.here, strict=True):
            assert_same_bits(found.cpu(), expected)


@pytest.mark.parametrize("seed", range(8))
def test_events_alone_order_it(seed):
    program = Program(seed)
    for _ in range(STEPS):
        program.step()
    program.check()


@pytest.mark.parametrize("seed", range(4))
def test_graphs_between(seed):
    """Graphs that are captured in the middle and replayed on any stream, with the cache emptied while they live."""
    program = Program(seed)
    graphs = []
    for k in range(STEPS):
        program.step()
        if k % 10 == 3:
            tandem.cuda.synchronize()
            x = tandem.ones(70, device="cuda")
            graph = tandem.cuda.CUDAGraph()
            with tandem.cuda.graph(graph):
                y = (x * 3 - 1).cumsum(0) + x
            graphs.append((graph, x, y))
        for n, (graph, x, y) in enumerate(graphs):
            stream = program.r.choice(program.streams)
            with tandem.cuda.stream(stream):
                x.fill_(k + n)
                graph.replay()
                result = y * 2
            stream.synchronize()
            want = tandem.full((70,), float(k + n))
            assert_same_bits(result.cpu(), ((want * 3 - 1).cumsum(0) + want) * 2)
    program.check()
