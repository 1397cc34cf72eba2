"""The collective operations on tensors. Every rank of the group calls the same ones in the same order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.distributed import _rank_order as bodies
from tandem.distributed._checks import alike, beside, one, rank_of, several, stacked, told
from tandem.distributed._process_group import ProcessGroup, Work, count_write, flat
from tandem.distributed._rank_order import ReduceOp, check_op, then
from tandem.distributed._world import member_of

__all__ = [
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
]


def _seconds(group: ProcessGroup) -> float:
    return group.timeout.total_seconds()


def _staged(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of tensors of one dtype behind each other."""
    with tandem.no_grad():
        joined = tandem.cat([t.detach().view(-1) for t in tensors])
    joined.data_ptr()
    return joined


def _into(tensors: Sequence[Tensor], memory: Tensor) -> Any:
    """What copies flat memory to tensors, behind each other, whose writes are counted here."""
    views = [count_write(t) for t in tensors]

    def copy() -> None:
        at = 0
        for view in views:
            view.copy_(memory[at : at + view.numel()])
            at += view.numel()

    return copy


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all ranks, element by element, into the tensor of each.

    Sums are x0 + x1 + ... in the order of ranks, whatever the shape: a run is repeatable to the bit.

    Args:
        tensor: of the same shape and dtype on all ranks; written.
        op: a `ReduceOp`.
        group: which processes take part; all if None.
        async_op: return a `Work` to wait for, and let `tensor` alone until then.

    TypeError, ValueError, RuntimeError for what cannot be sent or reduced, before anything is; DistBackendError on
    every rank if the ranks call different operations, or one is lost or late.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = tandem.ones(2)
    >>> dist.all_reduce(x, dist.ReduceOp.SUM)
    >>> x  # of one rank
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "all_reduce")
    if at is None:
        return None
    one(tensor, "tensor", "all_reduce", at)
    check_op(op, tensor.dtype, "all_reduce")
    body = bodies.all_reduce(at, count_write(tensor), op, _seconds(at))
    return at.run("all_reduce", f"all_reduce {op.name} of {told(tensor)}", body, async_op, on=tensor, outcome=[tensor])


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce the tensors of all ranks into the tensor of one; sums and errors as of `all_reduce`.

    Args:
        tensor: of the same shape and dtype on all ranks; written on rank `dst` alone.
        dst: the rank, among all processes, that gets the result.
        op, group, async_op: as of `all_reduce`.
        group_dst: instead of `dst`, its rank in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.reduce(tandem.ones(2), 0)
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "reduce")
    if at is None:
        return None
    root = rank_of(at, "dst", dst, group_dst, "reduce")
    one(tensor, "tensor", "reduce", at)
    check_op(op, tensor.dtype, "reduce")
    data = count_write(tensor) if at.rank() == root else flat(tensor)
    body = bodies.reduce(at, data, root, op, _seconds(at))
    return at.run(
        "reduce", f"reduce {op.name} to {root} of {told(tensor)}", body, async_op, on=tensor, outcome=[tensor]
    )


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Copy the tensor of one rank to the tensors of all; errors as of `all_reduce`.

    Args:
        tensor: of the same shape and dtype on all ranks; written where this is not rank `src`.
        src: the rank, among all processes, whose tensor it is.
        group, async_op: as of `all_reduce`.
        group_src: instead of `src`, its rank in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.broadcast(tandem.ones(2), src=0)
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "broadcast")
    if at is None:
        return None
    root = rank_of(at, "src", src, group_src, "broadcast")
    one(tensor, "tensor", "broadcast", at)
    data = flat(tensor) if at.rank() == root else count_write(tensor)
    body = bodies.broadcast(at, data, root, _seconds(at))
    return at.run("broadcast", f"broadcast from {root} of {told(tensor)}", body, async_op, on=tensor, outcome=[tensor])


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Copy the tensors of all ranks to every rank.

    Args:
        tensor_list: a tensor for each rank, of the shape and dtype of `tensor`; written.
        tensor: of the same shape and dtype on all ranks.
        group, async_op: as of `all_reduce`; errors too.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> parts = [tandem.zeros(2)]
    >>> dist.all_gather(parts, tandem.ones(2))
    >>> parts
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "all_gather")
    if at is None:
        return None
    one(tensor, "tensor", "all_gather", at)
    outs = several(tensor_list, "tensor_list", "all_gather", at)
    alike(outs, "tensor_list", tensor, "tensor", "all_gather")
    memory = tandem.empty(at.size() * tensor.numel(), dtype=tensor.dtype, device=tensor.device)
    body = then(bodies.all_gather(at, flat(memory), flat(tensor), _seconds(at)), _into(outs, memory))
    return at.run("all_gather", f"all_gather of {told(tensor)}", body, async_op, on=tensor, outcome=outs)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy the tensors of all ranks into one tensor of every rank.

    Args:
        output_tensor: [ranks * n, ...] or [ranks, n, ...], of the dtype of `input_tensor`; written.
        input_tensor: [n, ...], of the same shape and dtype on all ranks.
        group, async_op: as of `all_reduce`; errors too.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> out = tandem.zeros(1, 2)
    >>> dist.all_gather_into_tensor(out, tandem.ones(2))
    >>> out
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """
    name = "all_gather_into_tensor"
    at = member_of(group, name)
    if at is None:
        return None
    one(output_tensor, "output_tensor", name, at)
    one(input_tensor, "input_tensor", name, at)
    stacked(output_tensor, "output_tensor", input_tensor, "input_tensor", name, at)
    body = bodies.all_gather(at, count_write(output_tensor), flat(input_tensor), _seconds(at))
    return at.run(name, f"{name} of {told(input_tensor)}", body, async_op, on=input_tensor, outcome=[output_tensor])


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Copy the tensors of all ranks to one.

    Args:
        tensor: of the same shape and dtype on all ranks.
        gather_list: on rank `dst` a tensor for each rank, of the shape and dtype of `tensor`; written. None elsewhere.
        dst: the rank, among all processes, that gets them; 0 if neither it nor `group_dst` is given.
        group, async_op: as of `all_reduce`; errors too.
        group_dst: instead of `dst`, its rank in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> parts = [tandem.zeros(2)]
    >>> dist.gather(tandem.ones(2), parts, dst=0)
    >>> parts
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "gather")
    if at is None:
        return None
    root = rank_of(at, "dst", 0 if dst is None and group_dst is None else dst, group_dst, "gather")
    one(tensor, "tensor", "gather", at)
    here = at.rank() == root
    if not here and gather_list:
        raise ValueError("gather: gather_list is for the rank dst alone")
    outs = several(gather_list, "gather_list", "gather", at) if here else []
    alike(outs, "gather_list", tensor, "tensor", "gather")
    memory = tandem.empty(len(outs) * tensor.numel(), dtype=tensor.dtype, device=tensor.device)
    body = then(bodies.gather(at, flat(memory), flat(tensor), root, _seconds(at)), _into(outs, memory))
    return at.run("gather", f"gather to {root} of {told(tensor)}", body, async_op, on=tensor, outcome=outs)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy a tensor of one rank to each.

    Args:
        tensor: of the same shape and dtype on all ranks; written.
        scatter_list: on rank `src` a tensor for each rank, of the shape and dtype of `tensor`. None elsewhere.
        src: the rank, among all processes, that has them; 0 if neither it nor `group_src` is given.
        group, async_op: as of `all_reduce`; errors too.
        group_src: instead of `src`, its rank in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = tandem.zeros(2)
    >>> dist.scatter(x, [tandem.ones(2)], src=0)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "scatter")
    if at is None:
        return None
    root = rank_of(at, "src", 0 if src is None and group_src is None else src, group_src, "scatter")
    one(tensor, "tensor", "scatter", at)
    here = at.rank() == root
    if not here and scatter_list:
        raise ValueError("scatter: scatter_list is for the rank src alone")
    parts = several(scatter_list, "scatter_list", "scatter", at) if here else []
    alike(parts, "scatter_list", tensor, "tensor", "scatter")
    data = _staged(parts) if here else tandem.empty(0, dtype=tensor.dtype, device=tensor.device)
    body = bodies.scatter(at, count_write(tensor), data, root, _seconds(at))
    return at.run("scatter", f"scatter from {root} of {told(tensor)}", body, async_op, on=tensor, outcome=[tensor])


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce tensor r of all ranks into the tensor of rank r; sums as of `all_reduce`.

    Args:
        output: of the same shape and dtype on all ranks; written.
        input_list: a tensor for each rank, of the shape and dtype of `output`.
        op, group, async_op: as of `all_reduce`; errors too.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = tandem.zeros(2)
    >>> dist.reduce_scatter(x, [tandem.ones(2)])
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    name = "reduce_scatter"
    at = member_of(group, name)
    if at is None:
        return None
    one(output, "output", name, at)
    parts = several(input_list, "input_list", name, at)
    alike(parts, "input_list", output, "output", name)
    check_op(op, output.dtype, name)
    body = bodies.reduce_scatter(at, count_write(output), _staged(parts), op, _seconds(at))
    return at.run(name, f"{name} {op.name} of {told(output)}", body, async_op, on=output, outcome=[output])


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce part r of a tensor of all ranks into the tensor of rank r; sums as of `all_reduce`.

    Args:
        output: [n, ...], of the same shape and dtype on all ranks; written.
        input: [ranks * n, ...] or [ranks, n, ...], of the dtype of `output`.
        op, group, async_op: as of `all_reduce`; errors too.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = tandem.zeros(2)
    >>> dist.reduce_scatter_tensor(x, tandem.ones(1, 2))
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    name = "reduce_scatter_tensor"
    at = member_of(group, name)
    if at is None:
        return None
    one(output, "output", name, at)
    one(input, "input", name, at)
    stacked(input, "input", output, "output", name, at)
    check_op(op, output.dtype, name)
    body = bodies.reduce_scatter(at, count_write(output), flat(input), op, _seconds(at))
    return at.run(name, f"{name} {op.name} of {told(output)}", body, async_op, on=output, outcome=[output])


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy tensor j of rank i to tensor i of rank j.

    Args:
        output_tensor_list: a tensor for each rank, of the shape and dtype of what comes from it; written.
        input_tensor_list: a tensor for each rank. All tensors have one dtype; shapes may differ.
        group, async_op: as of `all_reduce`; errors too.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> out = [tandem.zeros(2)]
    >>> dist.all_to_all(out, [tandem.ones(2)])
    >>> out
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    name = "all_to_all"
    at = member_of(group, name)
    if at is None:
        return None
    outs = several(output_tensor_list, "output_tensor_list", name, at)
    parts = several(input_tensor_list, "input_tensor_list", name, at)
    for what, tensors in (("output_tensor_list", outs), ("input_tensor_list", parts)):
        for i, t in enumerate(tensors):
            if t.dtype != parts[0].dtype:
                raise ValueError(f"{name}: {what}[{i}] is {told(t)}, and input_tensor_list[0] {told(parts[0])}")
    beside(outs[0], "output_tensor_list[0]", parts[0], "input_tensor_list[0]", name)
    own = at.rank()
    if outs[own].shape != parts[own].shape:
        raise RuntimeError(
            f"{name}: the tensor for this rank itself is {told(parts[own])}, and its place {told(outs[own])}"
        )
    memory = tandem.empty(sum(t.numel() for t in outs), dtype=parts[0].dtype, device=parts[0].device)
    counts = [t.numel() for t in outs], [t.numel() for t in parts]
    moved = bodies.all_to_all(at, flat(memory), counts[0], _staged(parts), counts[1], _seconds(at))
    said = [f"{name} of {told(t)}" for t in parts], [f"{name} of {told(t)}" for t in outs]
    return at.run(name, said, then(moved, _into(outs, memory)), async_op, on=memory, outcome=outs)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Copy part j of rank i's tensor to part i of rank j's, both cut along their first dim.

    Args:
        output: [n, ...]; written.
        input: [m, ...], of the dtype of `output`.
        output_split_sizes: how much of the first dim comes from each rank; equal parts if None.
        input_split_sizes: how much of it goes to each rank; equal parts if None.
        group, async_op: as of `all_reduce`; errors too.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = tandem.zeros(2)
    >>> dist.all_to_all_single(x, tandem.ones(2))
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    name = "all_to_all_single"
    at = member_of(group, name)
    if at is None:
        return None
    one(output, "output", name, at)
    one(input, "input", name, at)
    if output.dtype != input.dtype or output.dim() < 1 or input.dim() < 1 or output.shape[1:] != input.shape[1:]:
        wrong = RuntimeError if output.dtype == input.dtype else ValueError
        raise wrong(
            f"{name}: output is {told(output)}, and input {told(input)}: they may differ in the first dim alone"
        )
    beside(output, "output", input, "input", name)
    n, width = at.size(), math.prod(input.shape[1:])

    def splits(what: str, tensor: Tensor, sizes: Sequence[int] | None) -> list[int]:
        length = tensor.shape[0]
        if sizes:
            if len(sizes) != n or sum(sizes) != length or min(sizes) < 0:
                raise RuntimeError(f"{name}: {what}_split_sizes {list(sizes)} do not cut {told(tensor)} for {n} ranks")
            return list(sizes)
        if length % n:
            raise RuntimeError(f"{name}: {what} is {told(tensor)}, whose first dim does not divide among {n} ranks")
        return [length // n] * n

    takes, gives = splits("output", output, output_split_sizes), splits("input", input, input_split_sizes)
    if takes[at.rank()] != gives[at.rank()]:
        raise RuntimeError(f"{name}: this rank sends itself {gives[at.rank()]} rows and expects {takes[at.rank()]}")
    kind = f"{name} of {str(input.dtype).partition('.')[2]}"
    rest = list(input.shape[1:])
    said = [f"{kind} {[k, *rest]}" for k in gives], [f"{kind} {[k, *rest]}" for k in takes]
    counts = [k * width for k in takes], [k * width for k in gives]
    body = bodies.all_to_all(at, count_write(output), counts[0], flat(input), counts[1], _seconds(at))
    return at.run(name, said, body, async_op, on=input, outcome=[output])


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """Wait until all ranks have come here; errors as of `all_reduce`. `device_ids` and `timeout` have no effect: the
    timeout is the group's.

    On a GPU they have come when what the current stream has is done.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.barrier()
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "barrier")
    if at is None:
        return None
    if at.gpu is None or at.gpu.index is None:
        return at.run("barrier", "barrier", lambda tag: None, async_op)
    here = tandem.cuda.current_stream(at.gpu.index).record_event()

    def meet(tag: int) -> None:
        here.synchronize()
        at.transport.texts(tag, ["here"] * at.size(), _seconds(at))

    return at.run("barrier", "barrier on cuda", meet, async_op)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """A barrier with a timeout of its own, whose error names the ranks that did not come.

    `wait_all_ranks` has no effect: all of them are named.

    >>> import tandem, datetime
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.monitored_barrier(timeout=datetime.timedelta(seconds=5))
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "monitored_barrier")
    if at is not None:
        at.run("monitored_barrier", "monitored_barrier", lambda tag: None, False, timeout)
