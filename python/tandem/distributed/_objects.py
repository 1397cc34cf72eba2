"""Collective operations on objects of Python, which are pickled: only for processes that trust each other."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.distributed import _collectives as on_tensors
from tandem.distributed._checks import rank_of
from tandem.distributed._point_to_point import recv, send
from tandem.distributed._process_group import ProcessGroup
from tandem.distributed._world import member_of

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _pickled(obj: Any) -> Tensor:
    return tandem.frombuffer(bytearray(pickle.dumps(obj)), dtype=tandem.uint8).to("cpu")


def _bytes(count: int) -> Tensor:
    return tandem.empty(count, dtype=tandem.uint8, device="cpu")


def _numbers(values: Sequence[int]) -> Tensor:
    return tandem.tensor(list(values), dtype=tandem.int64, device="cpu")


def _object(data: Tensor) -> Any:
    return pickle.loads(data.numpy().tobytes())


def _sizes(group: ProcessGroup, size: int) -> list[int]:
    """What every rank says."""
    sizes = _numbers([0] * group.size())
    on_tensors.all_gather_into_tensor(sizes, _numbers([size]), group)
    return [int(s) for s in sizes.tolist()]


def _gathered(group: ProcessGroup, obj: Any, root: int | None) -> list[Any]:
    """The objects of all ranks: on every rank, or on one."""
    group = group.on_host()
    data, me = _pickled(obj), group.rank()
    sizes = _sizes(group, data.numel())
    here = root is None or me == root
    out = _bytes(sum(sizes) if here else 0)
    gives = [data.numel() if root is None or r == root else 0 for r in range(group.size())]
    takes = sizes if here else [0] * group.size()
    # What goes to several ranks is one stretch for each.
    sent = tandem.cat([data] * sum(1 for k in gives if k)) if any(gives) else data
    on_tensors.all_to_all_single(out, sent, takes, gives, group)
    return [_object(part) for part in out.split(sizes)] if here else []


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Copy the objects of all ranks to every rank.

    Args:
        object_list: a list with a place for each rank; written.
        obj: an object that can be pickled.
        group: which processes take part; all if None.

    ValueError if the list has another length; errors as of `all_reduce`.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> objects = [None]
    >>> dist.all_gather_object(objects, {"loss": 0.5})
    >>> objects
    [{'loss': 0.5}]
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "all_gather_object")
    if at is None:
        return
    at = at.on_host()
    _check_places(object_list, "object_list", "all_gather_object", at)
    object_list[:] = _gathered(at, obj, None)


def _check_places(places: Any, name: str, operation: str, group: ProcessGroup) -> None:
    if not isinstance(places, list) or len(places) != group.size():
        what = f"{len(places)} elements" if isinstance(places, list) else f"type {type(places).__name__}"
        raise ValueError(
            f"{operation}: {name} should be a list with a place for each of {group.size()} ranks, not of {what}"
        )


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Copy the objects of all ranks to one.

    Args:
        obj: an object that can be pickled.
        object_gather_list: on rank `dst` a list with a place for each rank; written. None elsewhere.
        dst: the rank, among all processes, that gets them; 0 if neither it nor `group_dst` is given.
        group: which processes take part; all if None.
        group_dst: instead of `dst`, its rank in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> objects = [None]
    >>> dist.gather_object("here", objects)
    >>> objects
    ['here']
    >>> dist.destroy_process_group()
    """
    at = member_of(group, "gather_object")
    if at is None:
        return
    at = at.on_host()
    root = rank_of(at, "dst", 0 if dst is None and group_dst is None else dst, group_dst, "gather_object")
    if at.rank() == root:
        _check_places(object_gather_list, "object_gather_list", "gather_object", at)
    elif object_gather_list:
        raise ValueError("gather_object: object_gather_list is for the rank dst alone")
    found = _gathered(at, obj, root)
    if object_gather_list is not None and at.rank() == root:
        object_gather_list[:] = found


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Copy a list of objects of one rank to all.

    Args:
        object_list: a list of the same length on all ranks; written where this is not rank `src`.
        src: the rank, among all processes, whose objects they are; 0 if neither it nor `group_src` is given.
        group: which processes take part; all if None.
        device: taken, without effect.
        group_src: instead of `src`, its rank in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> objects = ["seed", 17]
    >>> dist.broadcast_object_list(objects, src=0)
    >>> objects
    ['seed', 17]
    >>> dist.destroy_process_group()
    """
    name = "broadcast_object_list"
    at = member_of(group, name)
    if at is None:
        return
    at = at.on_host()
    root = rank_of(at, "src", 0 if src is None and group_src is None else src, group_src, name)
    if not isinstance(object_list, list) or not object_list:
        raise ValueError(f"{name}: object_list should be a list that is not empty")
    here = at.rank() == root
    data = _pickled(list(object_list)) if here else _bytes(0)
    size = _numbers([data.numel(), len(object_list)])
    on_tensors.broadcast(size, group=at, group_src=root)
    length, count = (int(k) for k in size.tolist())
    if count != len(object_list):
        raise ValueError(f"{name}: object_list has {len(object_list)} elements, and that of rank {root} {count}")
    if not here:
        data = _bytes(length)
    on_tensors.broadcast(data, group=at, group_src=root)
    if not here:
        object_list[:] = _object(data)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy an object of one rank to each.

    Args:
        scatter_object_output_list: a list whose first place gets the object; written.
        scatter_object_input_list: on rank `src` an object for each rank. None elsewhere.
        src: the rank, among all processes, that has them; 0 if neither it nor `group_src` is given.
        group: which processes take part; all if None.
        group_src: instead of `src`, its rank in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> out = [None]
    >>> dist.scatter_object_list(out, ["for rank 0"])
    >>> out
    ['for rank 0']
    >>> dist.destroy_process_group()
    """
    name = "scatter_object_list"
    at = member_of(group, name)
    if at is None:
        return
    at = at.on_host()
    root = rank_of(at, "src", 0 if src is None and group_src is None else src, group_src, name)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(f"{name}: scatter_object_output_list should be a list of at least one place")
    n, here = at.size(), at.rank() == root
    parts = [_bytes(0)]
    if here:
        objects = list(scatter_object_input_list or ())
        _check_places(objects, "scatter_object_input_list", name, at)
        parts = [_pickled(obj) for obj in objects]
    gives = [p.numel() for p in parts] if here else [0] * n
    sizes = _numbers(gives)
    on_tensors.broadcast(sizes, group=at, group_src=root)
    takes = [int(sizes[at.rank()]) if r == root else 0 for r in range(n)]
    out = _bytes(sum(takes))
    on_tensors.all_to_all_single(out, tandem.cat(parts), takes, gives, at)
    scatter_object_output_list[0] = _object(out)


def send_object_list(
    object_list: Sequence[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send a list of objects to a rank, which calls `recv_object_list`; arguments as of `send`.

    >>> import tandem
    >>> tandem.distributed.send_object_list([], dst=1)
    Traceback (most recent call last):
    ValueError: send_object_list: object_list should be a list that is not empty
    """
    if not object_list:
        raise ValueError("send_object_list: object_list should be a list that is not empty")
    at = member_of(group, "send_object_list")
    if at is None:
        return
    at = at.on_host()
    data = _pickled(list(object_list))
    send(_numbers([data.numel()]), dst, at, 0, group_dst)
    send(data, dst, at, 0, group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive a list of objects of the same length; arguments and result as of `recv`.

    >>> import tandem
    >>> tandem.distributed.recv_object_list([], src=1)
    Traceback (most recent call last):
    ValueError: recv_object_list: object_list should be a list that is not empty
    """
    if not object_list:
        raise ValueError("recv_object_list: object_list should be a list that is not empty")
    at = member_of(group, "recv_object_list")
    if at is None:
        return -1
    at = at.on_host()
    size = _numbers([0])
    peer = recv(size, src, at, 0, group_src)
    data = _bytes(int(size.item()))
    recv(data, peer, at)
    found = _object(data)
    if len(found) != len(object_list):
        raise ValueError(
            f"recv_object_list: object_list has {len(object_list)} elements, and what was sent {len(found)}"
        )
    object_list[:] = found
    return peer
