"""Communication hooks: what averages a bucket of gradients, in their dtype or in a narrower one on the way.

The state that a hook is registered with is the group, or None for that of all processes. Sums are in the order of
ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.distributed._collectives import all_reduce
from tandem.distributed._gradients import GradBucket
from tandem.distributed._rank_order import ReduceOp
from tandem.futures import Future

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def _average(group: Any, sent: Tensor) -> Future[Any]:
    work = all_reduce(sent, ReduceOp.AVG, group, async_op=True)
    if work is None:
        raise ValueError("a communication hook needs a group that this process is in")
    return work.get_future()


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The average of the ranks' gradients: what is done without a hook.

    Example:
        >>> import tandem
        >>> from tandem.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
        >>> dist = tandem.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = tandem.nn.parallel.DistributedDataParallel(tandem.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, allreduce_hook)
        >>> model(tandem.ones(3, 2)).sum().backward()
        >>> model.module.bias.grad
        tensor([3.])
        >>> dist.destroy_process_group()
    """
    return _average(process_group, bucket.buffer()).then(lambda future: future.value()[0])


def _narrowed(dtype: tandem.dtype, process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    buffer = bucket.buffer()
    return _average(process_group, buffer.to(dtype)).then(lambda future: buffer.copy_(future.value()[0]))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """The average of the ranks' gradients, each rounded to float16 on the way; so is the average.

    Example:
        >>> import tandem
        >>> from tandem.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
        >>> dist = tandem.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = tandem.nn.parallel.DistributedDataParallel(tandem.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, fp16_compress_hook)
        >>> (model(tandem.ones(1, 2)) * 0.1).sum().backward()
        >>> model.module.bias.grad
        tensor([0.1000])
        >>> dist.destroy_process_group()
    """
    return _narrowed(tandem.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """As `fp16_compress_hook`, in bfloat16.

    Example:
        >>> import tandem
        >>> from tandem.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
        >>> dist = tandem.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = tandem.nn.parallel.DistributedDataParallel(tandem.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, bf16_compress_hook)
        >>> (model(tandem.ones(1, 2)) * 0.1).sum().backward()
        >>> model.module.bias.grad
        tensor([0.1001])
        >>> dist.destroy_process_group()
    """
    return _narrowed(tandem.bfloat16, process_group, bucket)


def _wrapped(dtype: tandem.dtype, hook: Hook) -> Hook:
    def wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[Tensor]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(hook_state, bucket).then(lambda future: buffer.copy_(future.value()))

    return wrapper_hook


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that calls `hook` with a bucket in float16, and converts what it makes of it.

    Example:
        >>> from tandem.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> hook = default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)  # the same as fp16_compress_hook
    """
    return _wrapped(tandem.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that calls `hook` with a bucket in bfloat16, and converts what it makes of it.

    Example:
        >>> from tandem.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> hook = default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook)  # the same as bf16_compress_hook
    """
    return _wrapped(tandem.bfloat16, hook)
