"""Communication hooks, futures of operations and `join` of models on a GPU, by either backend."""

from __future__ import annotations

import textwrap

import pytest
from gpu_here import MARKS
from test_nccl import MODEL, on_gpus

pytestmark = MARKS


@pytest.mark.parametrize("backend", ["gloo", "nccl"])
def test_hooks_and_futures(backend):
    on_gpus(
        MODEL
        + textwrap.dedent(
            """
            from tandem.distributed.algorithms.ddp_comm_hooks import default_hooks
            x = tandem.full((4,), float(rank + 1), device=CUDA)
            future = dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
            assert future.wait().tolist() == [2.0 * sum(range(1, world + 1))] * 4 and future.done()

            def gradients(hook, joined=False):
                tandem.manual_seed(3)
                model = DDP(Net().to(CUDA), bucket_cap_mb=0.0001)
                if hook is not None:
                    model.register_comm_hook(None, hook)
                with model.join(enable=joined):
                    for k in range(1 + rank * joined):
                        model.zero_grad()
                        (model(tandem.full((2, 6), rank + 0.5, device=CUDA)) ** 2).mean().backward()
                if joined:
                    return [bits(p) for p in model.parameters()]
                return [bits(p.grad) for p in model.parameters()]

            plain = gradients(None)
            assert gradients(default_hooks.allreduce_hook) == plain
            assert gradients(default_hooks.fp16_compress_hook) != plain
            assert gradients(None, joined=True) == gradients(default_hooks.allreduce_hook, joined=True)
            dist.destroy_process_group()
            """
        ),
        2,
        f'begin("{backend}")',
    )
