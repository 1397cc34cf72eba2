"""Collective operations that return their results and have derivatives, of any order.

The loss of a program is the sum of its processes' losses here: the gradient that a process gets for its input is that
of the sum. All ranks go through the same operations in backward, in the same order.
"""

from __future__ import annotations

from typing import Any

import tandem
from tandem import distributed
from tandem._C import Tensor
from tandem._stand_in import lacking_functions
from tandem.distributed import ReduceOp

__all__ = ["all_gather", "all_reduce"]


class _AllReduce(tandem.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        total = x.contiguous().clone()
        distributed.all_reduce(total, ReduceOp.SUM, group)
        return total

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        return _AllReduce.apply(g, ctx.group), None


class _AllGather(tandem.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        every = tandem.empty(distributed.get_world_size(group), *x.shape, dtype=x.dtype, device=x.device)
        distributed.all_gather_into_tensor(every, x.contiguous(), group)
        return every

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        return _AllReduce.apply(g, ctx.group)[distributed.get_rank(ctx.group)], None


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum of the tensors of all ranks, in the order of ranks; of `distributed.all_reduce` with derivatives.

    Args:
        tensor: of the same shape and dtype on all ranks.
        op: ReduceOp.SUM; NotImplementedError for others.
        group: which processes take part; all if None.

    >>> import tandem
    >>> from tandem.distributed.nn.functional import all_reduce
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = tandem.ones(2, requires_grad=True)
    >>> all_reduce(x * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    if op is not ReduceOp.SUM:
        raise NotImplementedError(f"distributed.nn.functional.all_reduce has derivatives of ReduceOp.SUM, not of {op}")
    return _AllReduce.apply(tensor, group)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks; of `distributed.all_gather` with derivatives.

    Args:
        tensor: of the same shape and dtype on all ranks.
        group: which processes take part; all if None.

    >>> import tandem
    >>> from tandem.distributed.nn.functional import all_gather
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> all_gather(tandem.ones(2))
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    return tuple(_AllGather.apply(tensor, group).unbind(0))


globals().update(
    lacking_functions(__name__, "all_to_all all_to_all_single broadcast gather reduce reduce_scatter scatter")
)
