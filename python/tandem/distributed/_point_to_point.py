"""Messages from one rank to another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tandem._C import Tensor
from tandem.distributed._checks import one, rank_of, told
from tandem.distributed._errors import DistBackendError
from tandem.distributed._gpu_side import GpuTransfer
from tandem.distributed._process_group import ProcessGroup, Transfer, Work, count_write, flat
from tandem.distributed._staged import received
from tandem.distributed._world import member_of

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]

_MOST = (1 << 32) - 1  # of a tag
Message = Transfer | GpuTransfer


def _checked(tensor: Tensor, tag: int, operation: str, group: ProcessGroup) -> Tensor:
    if not isinstance(tag, int) or not 0 <= tag <= _MOST:
        raise ValueError(f"{operation}: a tag is a number from 0 to {_MOST}, not {tag!r}")
    return one(tensor, "tensor", operation, group)


def _other(group: ProcessGroup, name: str, rank: int | None, group_rank: int | None, operation: str) -> int:
    peer = rank_of(group, name, rank, group_rank, operation)
    if peer == group.rank():
        raise ValueError(f"{operation}: {name} is this rank itself, {group.ranks[peer]}")
    return peer


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a tensor to a rank; it stays as it is until the `Work` that is returned was waited for.

    Args:
        tensor: what to send.
        dst: the rank, among all processes, that receives it.
        group: which processes `dst` is one of; all if None.
        tag: which of its `recv` gets it; messages of one tag arrive in order. Between GPUs all do, whatever their tags,
            which must be those that are expected.
        group_dst: instead of `dst`, its rank in the group.

    ValueError for what cannot be sent, before it is; DistBackendError from `wait` if the other rank is lost or late.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.isend(tandem.ones(2), dst=0)
    Traceback (most recent call last):
    ValueError: isend: dst is this rank itself, 0
    >>> dist.destroy_process_group()
    """
    return _isend(tensor, dst, group, tag, group_dst, "isend")


def _isend(tensor: Tensor, dst: int | None, group: Any, tag: int, group_dst: int | None, name: str) -> Message | None:
    at = member_of(group, name)
    if at is None:
        return None
    peer = _other(at, "dst", dst, group_dst, name)
    data = flat(_checked(tensor, tag, name, at))
    if at.gpu is not None and tensor.device.type != "cpu":
        return at.gpu.transfer(name, peer, True, f"{told(tensor)} with tag {tag}", data)
    here = data.cpu()
    return _begun(name, at, lambda: at.transport.send(peer, tag, told(tensor), here))


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a tensor from a rank, or from any if neither `src` nor `group_src` is given.

    Args:
        tensor: of the shape and dtype of what is sent; written, and not to be read before the `Work` was waited for.
        src: the rank, among all processes, that sends it; needed on a GPU.
        group, tag: as of `isend`; errors too.
        group_src: instead of `src`, its rank in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.irecv(tandem.ones(2), src=3)
    Traceback (most recent call last):
    RuntimeError: irecv: src is 3, and the group has the ranks [0]
    >>> dist.destroy_process_group()
    """
    return _irecv(tensor, src, group, tag, group_src, "irecv")


def _irecv(tensor: Tensor, src: int | None, group: Any, tag: int, group_src: int | None, name: str) -> Message | None:
    at = member_of(group, name)
    if at is None:
        return None
    if src is None and group_src is None:
        peers = [r for r in range(at.size()) if r != at.rank()]
        if not peers:
            raise ValueError(f"{name}: the group has no other rank")
    else:
        peers = [_other(at, "src", src, group_src, name)]
    _checked(tensor, tag, name, at)
    if at.gpu is not None and tensor.device.type != "cpu":
        if len(peers) > 1:
            raise ValueError(f"{name}: the backend nccl receives from one rank: give src or group_src")
        return at.gpu.transfer(name, peers[0], False, f"{told(tensor)} with tag {tag}", count_write(tensor))
    data = count_write(tensor)

    def post(into: Tensor) -> Any:
        return at.transport.receive(peers, tag, told(tensor), into)

    return _begun(name, at, lambda: post(data) if tensor.is_cpu else received(post, data))


def _begun(name: str, group: ProcessGroup, post: Callable[[], Any]) -> Transfer:
    try:
        return Transfer(name, group, post())
    except DistBackendError as e:
        raise DistBackendError(f"{name}: {e}") from None


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a rank, and wait until it has gone; arguments and errors as of `isend`.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.send(tandem.ones(2), dst=0)
    Traceback (most recent call last):
    ValueError: send: dst is this rank itself, 0
    >>> dist.destroy_process_group()
    """
    work = _isend(tensor, dst, group, tag, group_dst, "send")
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor, and wait for it; arguments and errors as of `irecv`.

    Returns the rank, among all processes, that sent it; -1 if this process is not in the group.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.recv(tandem.ones(2))
    Traceback (most recent call last):
    ValueError: recv: the group has no other rank
    >>> dist.destroy_process_group()
    """
    work = _irecv(tensor, src, group, tag, group_src, "recv")
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


@dataclasses.dataclass
class P2POp:
    """An `isend` or `irecv` for `batch_isend_irecv`.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.P2POp(dist.isend, tandem.ones(2), 1).peer
    1
    """

    op: Callable[..., Work | None]
    tensor: Tensor
    peer: int | None = None
    group: Any = None
    tag: int = 0
    group_peer: int | None = None

    def __post_init__(self) -> None:
        if self.op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``isend`` or ``irecv``.")


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin all of the messages; what is to be waited for.

    >>> import tandem
    >>> tandem.distributed.batch_isend_irecv([])
    []
    """
    if not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to be of type ``P2POp``.")
    begun = []
    for p in p2p_op_list:
        # `dst` of isend and `src` of irecv have one place.
        work = p.op(p.tensor, p.peer, p.group, p.tag, p.group_peer)
        if work is not None:
            begun.append(work)
    return begun
