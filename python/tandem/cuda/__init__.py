"""`tandem.cuda`, in a build without GPUs: enough for programs that ask first."""

from __future__ import annotations

from typing import Any

from tandem._C import OutOfMemoryError
from tandem._no_device import (
    Block,
    NoDevice,
    absent,
    device_count,
    empty_cache,
    get_rng_state_all,
    is_available,
    is_bf16_supported,
    is_initialized,
    manual_seed,
    manual_seed_all,
    memory_allocated,
    memory_reserved,
    reset_peak_memory_stats,
    seed_all,
    set_rng_state_all,
)

__all__ = [
    "CUDAGraph",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "stream",
    "synchronize",
]

max_memory_allocated = memory_allocated
max_memory_reserved = memory_reserved
memory_cached = memory_reserved
reset_max_memory_allocated = reset_peak_memory_stats
seed = seed_all


class Stream(NoDevice):
    """A queue of device work; an error to make: there is no GPU."""


class Event(NoDevice):
    """A point in a stream; an error to make: there is no GPU."""


class CUDAGraph(NoDevice):
    """Recorded device work; an error to make: there is no GPU. `tandem.compile` records on CPUs."""


class device(Block):  # noqa: N801
    """A `with` block on a GPU: an error to enter, unless the index is None or negative."""


def stream(stream: Any) -> Block:
    """A `with` block on a stream: nothing for None, an error to enter otherwise."""
    return Block(stream, "cuda", "stream")


def memory_stats(device: Any = None) -> dict[str, Any]:
    """An empty dict: there is no device memory."""
    return {}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A line that says there is no device memory."""
    return "no device memory: this build of Tandem computes on the CPU only"


def get_arch_list() -> list[str]:
    """An empty list: the GPU architectures this build has code for."""
    return []


def is_current_stream_capturing() -> bool:
    """False: there is no stream."""
    return False


def set_device(device: Any) -> None:
    """Nothing for a negative index, an error otherwise: there is no GPU."""
    if not (isinstance(device, int) and device < 0):
        absent("cuda", "set_device")


def init() -> None:
    """An error: there is no GPU."""
    absent("cuda", "init")


def initial_seed() -> int:
    """An error: there is no GPU."""
    return absent("cuda", "initial_seed")


def ipc_collect() -> None:
    """An error: there is no GPU."""
    absent("cuda", "ipc_collect")


def current_device() -> int:
    """An error: there is no GPU."""
    return absent("cuda", "current_device")


def synchronize(device: Any = None) -> None:
    """An error: there is no GPU."""
    absent("cuda", "synchronize")


def current_stream(device: Any = None) -> Any:
    """An error: there is no GPU."""
    return absent("cuda", "current_stream")


def default_stream(device: Any = None) -> Any:
    """An error: there is no GPU."""
    return absent("cuda", "default_stream")


def get_device_name(device: Any = None) -> str:
    """An error: there is no GPU."""
    return absent("cuda", "get_device_name")


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """An error: there is no GPU."""
    return absent("cuda", "get_device_capability")


def get_device_properties(device: Any = None) -> Any:
    """An error: there is no GPU."""
    return absent("cuda", "get_device_properties")


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """An error: there is no GPU."""
    return absent("cuda", "mem_get_info")


def get_rng_state(device: Any = "cuda") -> Any:
    """An error: there is no GPU."""
    return absent("cuda", "get_rng_state")


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """An error: there is no GPU."""
    absent("cuda", "set_rng_state")
