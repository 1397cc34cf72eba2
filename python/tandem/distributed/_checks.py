"""What the arguments of operations must be, checked where they are called, before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem._C import Tensor
from tandem.distributed._process_group import ProcessGroup
from tandem.distributed._world import default_group


def told(tensor: Tensor) -> str:
    """A tensor as errors and agreements name it: `float32 [2, 3]`."""
    return f"{str(tensor.dtype).partition('.')[2]} {list(tensor.shape)}"


def one(tensor: Any, name: str, operation: str, group: ProcessGroup) -> Tensor:
    """A tensor that the group's transport can send or fill."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{operation}: expected {name} to be a Tensor, got {type(tensor).__name__}")
    if tensor.device.type not in group.backends:
        raise ValueError(
            f"{operation}: {name} is {told(tensor)} on {tensor.device}, and the backend {group.backend} is for tensors "
            f"on {' and '.join(group.backends)}"
        )
    if group.gpu is not None and tensor.device.type != "cpu" and group.gpu.index not in (None, tensor.device.index):
        raise ValueError(
            f"{operation}: {name} is {told(tensor)} on {tensor.device}, and the group's GPU in this process is "
            f"cuda:{group.gpu.index}, that of its first tensor or of device_id"
        )
    if not tensor.is_contiguous():
        raise ValueError(
            f"{operation}: {name} is {told(tensor)} with strides {list(tensor.stride())}, and must be contiguous: use "
            f"{name}.contiguous()"
        )
    return tensor


def several(tensors: Any, name: str, operation: str, group: ProcessGroup) -> list[Tensor]:
    """Such tensors, one for each rank of the group."""
    if tensors is None:
        raise ValueError(f"{operation}: {name} must be given on this rank: a list of {group.size()} tensors")
    if not isinstance(tensors, Sequence) or isinstance(tensors, Tensor):
        raise TypeError(f"{operation}: expected {name} to be a list of tensors, got {type(tensors).__name__}")
    if len(tensors) != group.size():
        raise RuntimeError(f"{operation}: {name} has {len(tensors)} tensors, and the group {group.size()} ranks")
    checked = [one(t, f"{name}[{i}]", operation, group) for i, t in enumerate(tensors)]
    for i, t in enumerate(checked):
        beside(t, f"{name}[{i}]", checked[0], f"{name}[0]", operation)
    return checked


def beside(tensor: Tensor, name: str, other: Tensor, other_name: str, operation: str) -> None:
    """Both are on one device."""
    if tensor.device != other.device:
        raise ValueError(
            f"{operation}: {name} is on {tensor.device}, and {other_name} on {other.device}: they must be on one device"
        )


def alike(tensors: Sequence[Tensor], name: str, to: Tensor, of: str, operation: str) -> None:
    """All have the shape and the dtype of another: RuntimeError or ValueError where they have not."""
    for i, t in enumerate(tensors):
        if t.dtype != to.dtype or t.shape != to.shape:
            kind = RuntimeError if t.dtype == to.dtype else ValueError
            raise kind(f"{operation}: {name}[{i}] is {told(t)}, and {of} {told(to)}: they must be alike")
        beside(t, f"{name}[{i}]", to, of, operation)


def stacked(whole: Tensor, whole_name: str, part: Tensor, part_name: str, operation: str, group: ProcessGroup) -> None:
    """Is `whole` the group's `part`s, one behind the other or with a dim of their own?"""
    n = group.size()
    shape = list(part.shape)
    fitting = [[n, *shape]] + ([[n * shape[0], *shape[1:]]] if shape else [[n]])
    if whole.dtype != part.dtype or list(whole.shape) not in fitting:
        raise RuntimeError(
            f"{operation}: {whole_name} is {told(whole)}, and {part_name} {told(part)}; of {n} ranks it must be "
            f"{' or '.join(map(str, fitting))} of one dtype"
        )
    beside(whole, whole_name, part, part_name, operation)


def rank_of(group: ProcessGroup, name: str, rank: int | None, group_rank: int | None, operation: str) -> int:
    """The rank in the group of the one that is named, by its rank among all processes or in the group."""
    if (rank is None) == (group_rank is None):
        raise ValueError(f"{operation}: give {name} or group_{name}, and not both")
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise RuntimeError(f"{operation}: group_{name} is {group_rank}, and the group has {group.size()} ranks")
        return group_rank
    assert rank is not None
    if rank not in group.ranks:
        # A rank that there is not, or one that is not in the group.
        kind = RuntimeError if group.transport is default_group().transport else ValueError
        raise kind(f"{operation}: {name} is {rank}, and the group has the ranks {group.ranks}")
    return group.ranks.index(rank)
