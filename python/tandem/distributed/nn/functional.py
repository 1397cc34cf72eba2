"""Collective operations that return their results and have derivatives, of any order.

The loss of a program is the sum of its processes' losses here: the gradient that a process gets for its input is that
of the sum. All ranks go through the same operations in backward, in the same order. Each operation is linear, and its
derivative is the one that moves values the other way: broadcast and reduce, gather and scatter, all_gather and
reduce_scatter, all_to_all and all_reduce with themselves. What a rank does not get is zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tandem
from tandem import distributed
from tandem._C import Tensor
from tandem.distributed import ReduceOp

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


def _check_sum(op: ReduceOp, name: str) -> None:
    if op is not ReduceOp.SUM:
        raise NotImplementedError(f"distributed.nn.functional.{name} has derivatives of ReduceOp.SUM, not of {op.name}")


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
    """[...] of each rank -> [ranks, ...]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        every = tandem.empty(distributed.get_world_size(group), *x.shape, dtype=x.dtype, device=x.device)
        distributed.all_gather_into_tensor(every, x.contiguous(), group)
        return every

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        return _ReduceScatter.apply(g, ctx.group), None


class _ReduceScatter(tandem.autograd.Function):
    """[ranks, ...] of each rank -> [...]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        own = tandem.empty(x.shape[1:], dtype=x.dtype, device=x.device)
        distributed.reduce_scatter_tensor(own, x.contiguous(), ReduceOp.SUM, group)
        return own

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        return _AllGather.apply(g, ctx.group), None


class _Broadcast(tandem.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, root: int, group: Any) -> Tensor:
        ctx.root, ctx.group = root, group
        out = x.contiguous().clone()
        distributed.broadcast(out, root, group)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        return _Reduce.apply(g, ctx.root, ctx.group), None, None


class _Reduce(tandem.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, root: int, group: Any) -> Tensor:
        ctx.root, ctx.group = root, group
        out = x.contiguous().clone()
        distributed.reduce(out, root, ReduceOp.SUM, group)
        return out if distributed.get_rank() == root else out.zero_()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        return _Broadcast.apply(g, ctx.root, ctx.group), None, None


class _Gather(tandem.autograd.Function):
    """[...] of each rank -> [ranks, ...] of one."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, root: int, group: Any) -> Tensor:
        ctx.root, ctx.group = root, group
        every = tandem.zeros(distributed.get_world_size(group), *x.shape, dtype=x.dtype, device=x.device)
        parts = list(every.unbind(0)) if distributed.get_rank() == root else None
        distributed.gather(x.contiguous(), parts, root, group)
        return every

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        return _Scatter.apply(g, ctx.root, ctx.group), None, None


class _Scatter(tandem.autograd.Function):
    """[ranks, ...] of one rank -> [...] of each."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, root: int, group: Any) -> Tensor:
        ctx.root, ctx.group = root, group
        own = tandem.empty(x.shape[1:], dtype=x.dtype, device=x.device)
        parts = list(x.contiguous().unbind(0)) if distributed.get_rank() == root else None
        distributed.scatter(own, parts, root, group)
        return own

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        return _Gather.apply(g, ctx.root, ctx.group), None, None


class _AllToAll(tandem.autograd.Function):
    """Rows of each rank -> those that ranks sent to this one; how many go to each, and come from each."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gives: Sequence[int] | None, takes: Sequence[int] | None, group: Any) -> Tensor:
        ctx.gives, ctx.takes, ctx.group = gives, takes, group
        rows = sum(takes) if takes else x.shape[0]
        out = tandem.empty(rows, *x.shape[1:], dtype=x.dtype, device=x.device)
        distributed.all_to_all_single(out, x.contiguous(), takes, gives, group)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        return _AllToAll.apply(g, ctx.takes, ctx.gives, ctx.group), None, None, None


def _fill(output: Tensor, result: Tensor) -> None:
    with tandem.no_grad():
        output.copy_(result)


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
    _check_sum(op, "all_reduce")
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


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of one rank; of `distributed.broadcast` with derivatives.

    Args:
        tensor: of the same shape and dtype on all ranks.
        src: the rank, among all processes, whose tensor it is.
        group: which processes take part; all if None.

    >>> import tandem
    >>> from tandem.distributed.nn.functional import broadcast
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> broadcast(tandem.ones(2), src=0)
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _Broadcast.apply(tensor, src, group)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum of the tensors of all ranks on one, zeros on others; of `distributed.reduce` with derivatives.

    Args:
        tensor: of the same shape and dtype on all ranks.
        dst: the rank, among all processes, that gets the sum.
        op: ReduceOp.SUM; NotImplementedError for others.
        group: which processes take part; all if None.

    >>> import tandem
    >>> from tandem.distributed.nn.functional import reduce
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> reduce(tandem.ones(2), dst=0)
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _check_sum(op, "reduce")
    return _Reduce.apply(tensor, dst, group)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks on one, zeros on others; of `distributed.gather` with derivatives.

    Args:
        tensor: of the same shape and dtype on all ranks.
        dst: the rank, among all processes, that gets them.
        group: which processes take part; all if None.

    >>> import tandem
    >>> from tandem.distributed.nn.functional import gather
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> gather(tandem.ones(2))
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    return tuple(_Gather.apply(tensor, dst, group).unbind(0))


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """A tensor of one rank for each; of `distributed.scatter` with derivatives.

    Args:
        tensors: one for each rank, of the same shape and dtype on all ranks; their values count on rank `src` alone.
        src: the rank, among all processes, that has them.
        group: which processes take part; all if None.

    >>> import tandem
    >>> from tandem.distributed.nn.functional import scatter
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> scatter([tandem.ones(2)])
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _Scatter.apply(tandem.stack(list(tensors)), src, group)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The sum of tensor r of all ranks, on rank r; of `distributed.reduce_scatter` with derivatives.

    Args:
        output: written, without derivatives, with what is returned.
        input_list: a tensor for each rank, of the shape and dtype of `output`.
        op: ReduceOp.SUM; NotImplementedError for others.
        group: which processes take part; all if None.

    >>> import tandem
    >>> from tandem.distributed.nn.functional import reduce_scatter
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> reduce_scatter(tandem.zeros(2), [tandem.ones(2)])
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _check_sum(op, "reduce_scatter")
    result = _ReduceScatter.apply(tandem.stack(list(input_list)), group)
    _fill(output, result)
    return result


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """The tensors that the ranks have for this one; of `distributed.all_to_all` with derivatives.

    Args:
        output_tensor_list: of the shapes of what comes from each rank; written, without derivatives, with what is
            returned.
        input_tensor_list: what goes to each rank.
        group: which processes take part; all if None.

    >>> import tandem
    >>> from tandem.distributed.nn.functional import all_to_all
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> all_to_all([tandem.zeros(2)], [tandem.ones(2)])
    (tensor([1., 1.]),)
    >>> dist.destroy_process_group()
    """
    gives, takes = [[t.numel() for t in tensors] for tensors in (input_tensor_list, output_tensor_list)]
    moved = _AllToAll.apply(tandem.cat([t.reshape(-1) for t in input_tensor_list]), gives, takes, group)
    results = tuple(part.view(out.shape) for part, out in zip(moved.split(takes), output_tensor_list))
    for out, result in zip(output_tensor_list, results):
        _fill(out, result)
    return results


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """The rows that the ranks have for this one; of `distributed.all_to_all_single` with derivatives.

    Args:
        output: of the shape of what comes; written, without derivatives, with what is returned.
        input: its first dim is what goes to each rank, one after another.
        output_split_sizes, input_split_sizes: how many rows come from each rank and go to each; equal parts if None.
        group: which processes take part; all if None.

    >>> import tandem
    >>> from tandem.distributed.nn.functional import all_to_all_single
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> all_to_all_single(tandem.zeros(2), tandem.ones(2))
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    result = _AllToAll.apply(input, input_split_sizes or None, output_split_sizes or None, group)
    _fill(output, result)
    return result
