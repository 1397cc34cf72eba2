"""The memory of GPUs: what tensors hold, what is cached, and what the driver has left.

Memory that is freed is kept and handed out again in the order of its stream, as in PyTorch; `empty_cache` gives it
back.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from tandem import _C
from tandem.cuda._devices import Device, index_of, is_available
from tandem.cuda._nvml import list_gpu_processes, memory_usage

__all__ = [
    "CUDAPluggableAllocator",
    "MemPool",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "change_current_allocator",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "memory_usage",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]

_pools = itertools.count(1)  # their numbers, of graphs too
_fractions: dict[int, float] = {}


def _of_all(device: Device, name: str) -> list[int]:
    """The index that is meant, or nothing where there is no GPU."""
    return [index_of(device, name)] if is_available() else []


def memory_stats(device: Device = None) -> dict[str, Any]:
    """Statistics of the allocator by PyTorch's names: `allocated_bytes.all.current`, `num_ooms`, ...; empty without a
    GPU.

    Each of `allocation`, `segment`, `active`, `inactive_split` and their `..._bytes` has `current`, `peak`, `allocated`
    and `freed`, of `all`, of the `small_pool` (blocks up to 1 MiB) and of the `large_pool`.
    """
    return OrderedDict(
        sorted(item for k in _of_all(device, "memory_stats") for item in _C._gpu_memory_stats(k).items())
    )


def memory_stats_as_nested_dict(device: Device = None) -> dict[str, Any]:
    """`memory_stats`, as dicts of dicts."""
    return _nested(memory_stats(device))


def _nested(stats: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in stats.items():
        *path, last = name.split(".")
        inner = nested
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def _stat(name: str, device: Device) -> int:
    return int(memory_stats(device).get(name, 0))


def memory_allocated(device: Device = None) -> int:
    """Bytes that tensors hold; 0 without a GPU."""
    return _stat("allocated_bytes.all.current", device)


def max_memory_allocated(device: Device = None) -> int:
    """The most that they held, since the start or `reset_peak_memory_stats`."""
    return _stat("allocated_bytes.all.peak", device)


def memory_reserved(device: Device = None) -> int:
    """Bytes that this process has from the driver: held by tensors or cached."""
    return _stat("reserved_bytes.all.current", device)


def max_memory_reserved(device: Device = None) -> int:
    """The most that it had."""
    return _stat("reserved_bytes.all.peak", device)


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def reset_peak_memory_stats(device: Device = None) -> None:
    """Peaks become what is there now."""
    for k in _of_all(device, "reset_peak_memory_stats"):
        _C._gpu_reset_peak_stats(k)


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Sums over the life of the process, as `num_alloc_retries`, become 0."""
    for k in _of_all(device, "reset_accumulated_memory_stats"):
        _C._gpu_reset_accumulated_stats(k)


def host_memory_stats() -> dict[str, Any]:
    """Statistics of page-locked memory of the host by PyTorch's names; empty before a GPU was used.

    `allocations` and `allocated_bytes` are what the driver gave, `active_requests` and `active_bytes` what of it is in
    use, each with `current`, `peak`, `allocated` and `freed`. There are no times.

    >>> import tandem
    >>> tandem.cuda.host_memory_stats()["active_bytes.current"]  # doctest: +SKIP
    512
    """
    known = _C._gpu_host_memory_stats(0) if _C._other_devices() and is_available() else {}
    return OrderedDict(sorted(known.items()))


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """`host_memory_stats`, as dicts of dicts.

    >>> import tandem
    >>> tandem.cuda.host_memory_stats_as_nested_dict()["active_bytes"]["current"]  # doctest: +SKIP
    512
    """
    return _nested(host_memory_stats())


def reset_peak_host_memory_stats() -> None:
    """Peaks of page-locked memory become what is there now.

    >>> import tandem
    >>> tandem.cuda.reset_peak_host_memory_stats()
    """
    if _C._other_devices() and is_available():
        _C._gpu_reset_peak_host_stats(0)


def reset_accumulated_host_memory_stats() -> None:
    """Sums over the life of the process become 0.

    >>> import tandem
    >>> tandem.cuda.reset_accumulated_host_memory_stats()
    """
    if _C._other_devices() and is_available():
        _C._gpu_reset_accumulated_host_stats(0)


def empty_cache() -> None:
    """Give memory that is cached and unused back to the driver, of all GPUs that were used; also page-locked memory of
    the host. Does nothing without a GPU."""
    if _C._other_devices():
        for k in range(_C._device_count("cuda")):
            _C._gpu_empty_cache(k)


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    """Of a GPU's memory, the share in (0, 1] that this process may take; above it, OutOfMemoryError."""
    index = index_of(device, "set_per_process_memory_fraction")
    _C._gpu_set_memory_fraction(index, float(fraction))
    _fractions[index] = float(fraction)


def get_per_process_memory_fraction(device: Device = None) -> float:
    """That share; 1.0 where none was set."""
    return _fractions.get(index_of(device, "get_per_process_memory_fraction"), 1.0)


def get_allocator_backend() -> str:
    """The name of the allocator: `native`.

    >>> import tandem
    >>> tandem.cuda.get_allocator_backend()
    'native'
    """
    return "native"


_held: dict[int, Any] = {}  # what `caching_allocator_alloc` gave, by address


def caching_allocator_alloc(size: int, device: Device = None, stream: Any = None) -> int:
    """The address of `size` bytes of a GPU from the allocator of tensors, for another library, until
    `caching_allocator_delete`.

    Args:
        stream: a Stream, or a driver's handle, whose work uses the memory; the current one where it is left out.

    >>> import tandem
    >>> address = tandem.cuda.caching_allocator_alloc(1024)  # doctest: +SKIP
    >>> tandem.cuda.caching_allocator_delete(address)  # doctest: +SKIP
    """
    import tandem
    from tandem.cuda.streams import ExternalStream, Stream
    from tandem.cuda.streams import stream as in_stream

    index = index_of(device, "caching_allocator_alloc")
    if stream is not None and not isinstance(stream, Stream):
        if not isinstance(stream, int):
            raise TypeError(
                "Invalid type for stream argument, must be `torch.cuda.Stream` or `int` representing a pointer to a "
                f"existing stream, not {type(stream).__name__}"
            )
        stream = ExternalStream(stream, index)
    with in_stream(stream):
        memory = tandem.empty(size, dtype=tandem.uint8, device=f"cuda:{index}")
    address = int(memory.data_ptr())
    if size > 0:
        _held[address] = memory
    return address


def caching_allocator_delete(mem_ptr: int) -> None:
    """Gives memory of `caching_allocator_alloc` back; RuntimeError for another address.

    >>> import tandem
    >>> tandem.cuda.caching_allocator_delete(0)
    """
    if mem_ptr != 0 and _held.pop(mem_ptr, None) is None:
        raise RuntimeError(f"invalid device pointer: {mem_ptr:#x} was not given by caching_allocator_alloc")


def change_current_allocator(allocator: Any) -> None:
    """NotImplementedError: memory comes from the allocator of the runtime."""
    raise NotImplementedError("tandem.cuda.change_current_allocator: memory comes from the allocator of the runtime")


class CUDAPluggableAllocator:
    """NotImplementedError: memory comes from the allocator of the runtime."""

    def __init__(self, *args: Any) -> None:
        raise NotImplementedError("tandem.cuda.CUDAPluggableAllocator: memory comes from the allocator of the runtime")


class MemPool:
    """Memory of its own on a GPU, for `use_mem_pool`: what is freed of it serves nothing else while the pool lives.

    `id` is a handle as `graph_pool_handle` gives, so that graphs can share the pool. RuntimeError where there is no
    GPU, NotImplementedError for an allocator of the program's own.
    """

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if allocator is not None:
            raise NotImplementedError("tandem.cuda.MemPool: memory comes from the allocator of the runtime")
        self._index = index_of(None, "MemPool")
        self._number = next(_pools)
        self._pool = _C._gpu_new_pool(self._index, self._number)

    @property
    def id(self) -> tuple[int, int]:
        """The pool, as graphs name it."""
        return 0, self._number


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Device = None) -> Iterator[None]:
    """A `with` block in which what this thread allocates on the pool's GPU is the pool's.

    RuntimeError where `device` is another GPU.
    """
    if device is not None and index_of(device, "use_mem_pool") != pool._index:
        raise RuntimeError(f"use_mem_pool: the pool is of cuda:{pool._index}, not of {device}")
    before = _C._gpu_choose_pool(pool._index, pool._pool)
    try:
        yield
    finally:
        _C._gpu_choose_pool(pool._index, before)


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """(free, total) bytes of a GPU, whoever uses it."""
    free, total = _C._gpu_memory_info(index_of(device, "mem_get_info"))
    return free, total


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """The pieces that the allocators of all GPUs have from their drivers, and the blocks of each, in PyTorch's form.

    There are no traces, whatever `include_traces` is.
    """
    found = []
    for index in range(_C._device_count("cuda")) if _C._other_devices() else ():
        for segment in _C._gpu_memory_snapshot(index):
            blocks = segment["blocks"]
            in_use = [b for b in blocks if b["state"] == "active_allocated"]
            active = [b for b in blocks if b["state"] != "inactive"]
            found.append(
                {
                    "device": index,
                    **segment,
                    "allocated_size": sum(b["size"] for b in in_use),
                    "active_size": sum(b["size"] for b in active),
                    "requested_size": sum(b["requested_size"] for b in in_use),
                    "segment_pool_id": (0, 1 if segment.pop("of_graph") else 0),
                    "is_expandable": False,
                    "frames": [],
                    "blocks": [{**b, "frames": []} for b in blocks],
                }
            )
            found[-1].pop("of_graph", None)
    return found


_ROWS = (
    ("Allocated memory", "allocated_bytes"),
    ("Active memory", "active_bytes"),
    ("Requested memory", "requested_bytes"),
    ("GPU reserved memory", "reserved_bytes"),
    ("Non-releasable memory", "inactive_split_bytes"),
    ("Allocations", "allocation"),
    ("Active allocs", "active"),
    ("GPU reserved segments", "segment"),
    ("Non-releasable allocs", "inactive_split"),
)


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """`memory_stats` as a table; a line that says so where there is no GPU.

    Args:
        abbreviated: leave out the rows of the small and the large pool.
    """
    if not is_available():
        return "no device memory: this build of Tandem computes on the CPU only"
    index = index_of(device, "memory_summary")
    stats = memory_stats(index)

    def shown(name: str, value: int) -> str:
        if not name.endswith("_bytes"):
            return str(value)
        size, units = float(value), ["B", "KiB", "MiB", "GiB", "TiB"]
        while size >= 1024 and len(units) > 1:
            size, units = size / 1024, units[1:]
        return f"{size:.0f} {units[0]}" if units[0] == "B" else f"{size:.2f} {units[0]}"

    pools = [("all", "")]
    if not abbreviated:
        pools += [("large_pool", "  from large pool"), ("small_pool", "  from small pool")]
    kinds = ("current", "peak", "allocated", "freed")
    lines = [
        f"memory of cuda:{index}: out of memory {stats['num_ooms']} times, retried {stats['num_alloc_retries']} times",
        f"{'':24}" + "".join(f"{head:>14}" for head in ("now", "peak", "allocated", "freed")),
    ]
    for title, name in _ROWS:
        for pool, inner in pools:
            values = (shown(name, stats[f"{name}.{pool}.{kind}"]) for kind in kinds)
            lines.append(f"{inner or title:24}" + "".join(f"{v:>14}" for v in values))
    return "\n".join(lines) + "\n"


# ---- what programs call to look at a snapshot in PyTorch's viewer


def _record_memory_history(enabled: Any = "all", *args: Any, **kwargs: Any) -> None:
    """Accepted: where memory was allocated is kept nowhere, and `_snapshot` has what there is."""


def _snapshot(device: Device = None) -> dict[str, Any]:
    return {
        "segments": memory_snapshot(),
        "device_traces": [[] for _ in range(_C._device_count("cuda"))],
        "allocator_settings": {},
        "external_annotations": [],
    }


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    import pickle

    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)
