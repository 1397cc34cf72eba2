"""The backend `nccl`, for memory of GPUs: libnccl.so.2, opened by the plug-in of GPUs (`runtime/device/cuda/nccl.h`)
when a group first has a tensor on one."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import tandem
from tandem import _C
from tandem._C import Tensor
from tandem.distributed._errors import DistBackendError
from tandem.distributed._transport import Parts, Transport

ID_LENGTH = 172  # of an identity as a text


def why_not(index: int) -> str:
    """Why there is no NCCL for a GPU; empty where there is."""
    return str(_C._gpu_why_no_communicator(index))


def new_id(index: int) -> str:
    """What ranks know each other by, as a text."""
    return base64.b64encode(_C._gpu_communicator_id(index)).decode()


class NcclTransport(Transport):
    """A communicator. What it exchanges is queued in `stream`, and done there later.

    Args:
        index: of this process's GPU.
        id: what one rank made by `new_id`.
        rank, size: of the communicator.
        ended: an agreement; when that is known nobody waits for the other ranks any more.
    """

    def __init__(self, index: int, id: str, rank: int, size: int, ended: Any) -> None:
        self.rank = rank
        self._communicator = _reported(_C._gpu_connect, index, base64.b64decode(id), rank, size, ended)
        self.stream = tandem.cuda.Stream._of(self._communicator.stream)

    def exchange(self, tag: int, out: Tensor, sends: Parts, into: Tensor, receives: Parts, seconds: float) -> None:
        def places(parts: Parts, tensor: Tensor) -> list[tuple[int, int, int]]:
            begin, width = tensor.data_ptr(), tensor.element_size()
            return [(begin + at * width, count * width, r) for r, (at, count) in enumerate(parts) if count]

        _reported(self._communicator.exchange, places(sends, out), places(receives, into))

    def failure(self) -> str:
        """What went wrong on the way; empty where nothing did."""
        return str(self._communicator.failure())

    def abort(self, why: str) -> None:
        self._communicator.abort()

    def close(self) -> None:
        self._communicator.close()


def _reported(call: Callable[..., Any], *args: Any) -> Any:
    """What it returns; errors of NCCL are those of a backend."""
    try:
        return call(*args)
    except RuntimeError as e:
        raise DistBackendError(str(e)) from None
