"""Groups of Gloo whose tensors are on a GPU: by way of the host, with the CPU's bits, done for every stream."""

from __future__ import annotations

import pytest
from gpu_here import MARKS, late
from test_nccl import on_gpus

pytestmark = MARKS


def test_data_parallel_training_has_the_cpus_bits():
    """Of elementwise models, whose numbers are the CPU's: eager and compiled, with buffers, gradients that are added up
    and a parameter without one."""
    on_gpus(
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(tandem.randn(3000))
                self.bias = nn.Parameter(tandem.randn(5))
                self.unused = nn.Parameter(tandem.ones(2))
                self.register_buffer("seen", tandem.zeros(5))

            def forward(self, x):
                self.seen.add_(x.detach())
                return (self.weight[:5] * x).tanh() + self.bias

        def trained(place, compiled):
            tandem.manual_seed(rank)
            model = Model().to(place)
            parallel = nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
            forward = tandem.compile(parallel) if compiled else parallel
            optimizer = tandem.optim.SGD(model.parameters(), lr=0.1)
            for k in range(3):
                optimizer.zero_grad()
                with parallel.no_sync():
                    forward(tandem.full((5,), 0.1 * k + rank).to(place)).square().sum().backward()
                forward(tandem.full((5,), 0.2 * k - rank).to(place)).square().sum().backward()
                assert model.unused.grad is None
                optimizer.step()
            return [*model.parameters(), model.seen]

        want = [bits(t) for t in trained("cpu", False)]
        for compiled in (False, True):
            found = trained(CUDA, compiled)
            assert all(t.is_cuda for t in found) and [bits(t) for t in found] == want, compiled
        dist.destroy_process_group()
        """,
        2,
        'begin("gloo")',
    )


@late
def test_streams():
    on_gpus(
        """
        stream, x = tandem.cuda.Stream(), tandem.zeros(4000, device=CUDA)
        with tandem.cuda.stream(stream):
            stream.wait_stream(tandem.cuda.default_stream())
            x.add_(rank + 1)
            work = dist.all_reduce(x, async_op=True)
            y = x.new_ones(3)
        assert work.wait() and work.is_success()
        assert x.tolist() == [3] * 4000  # on the default stream, without waiting for the other one
        dist.broadcast(y, 0)
        dist.barrier()
        graph = tandem.cuda.CUDAGraph()
        with tandem.cuda.graph(graph):
            raises(RuntimeError, "operations between processes cannot be captured", dist.all_reduce, x)
        dist.destroy_process_group()
        """,
        2,
        'begin("gloo")',
    )


def test_messages_from_any_rank():
    on_gpus(
        """
        x = tandem.full((3,), float(rank), device=CUDA)
        if rank == 0:
            for _ in range(2):
                y = tandem.zeros(3, device=CUDA)
                source = dist.recv(y)
                assert y.is_cuda and y.tolist() == [source] * 3
        else:
            dist.send(x, 0)
        group = dist.new_group(backend="cpu:gloo,cuda:gloo")
        assert dist.get_backend(group) == "gloo"
        dist.all_reduce(x, group=group)
        assert x.tolist() == [3] * 3
        objects = [None] * world
        dist.all_gather_object(objects, {"rank": rank, "x": x})
        assert [o["rank"] for o in objects] == [0, 1, 2] and all(o["x"].is_cuda for o in objects)
        dist.destroy_process_group()
        """,
        3,
        'begin("gloo")',
    )


@pytest.mark.parametrize("place", ["CUDA", "'cpu'"])
def test_ranks_that_differ(place):
    on_gpus(
        f"""
        x = tandem.ones(2 + rank, device={place})
        raises(dist.DistBackendError, "the ranks do not agree", dist.all_reduce, x)
        """,
        2,
        'begin("gloo")',
    )
