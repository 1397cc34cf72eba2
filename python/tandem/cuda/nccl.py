"""NCCL, as far as programs ask for it by itself: what it does is `tandem.distributed`'s."""

from __future__ import annotations

from typing import Any

from tandem import _C

__all__ = ["is_available", "version"]


def version() -> tuple[int, int, int]:
    """(major, minor, patch) of the library. RuntimeError where there is none, or no GPU.

    >>> import tandem
    >>> tandem.cuda.nccl.version() if tandem.cuda.is_available() else None  # doctest: +SKIP
    (2, 28, 9)
    """
    found = int(_C._gpu_nccl_version())
    if found == 0:
        why = _C._gpu_why_none() or _C._gpu_why_no_communicator(0)
        raise RuntimeError(f"tandem.cuda.nccl.version: {why}")
    return found // 10000, found // 100 % 100, found % 100


def is_available(tensors: Any = ()) -> bool:
    """Is NCCL there, and are all tensors contiguous ones on different GPUs?

    >>> import tandem
    >>> tandem.cuda.nccl.is_available([tandem.ones(2)])
    False
    """
    seen = set()
    for t in tensors:
        if not t.is_cuda or not t.is_contiguous() or t.get_device() in seen:
            return False
        seen.add(t.get_device())
    return int(_C._gpu_nccl_version()) != 0
