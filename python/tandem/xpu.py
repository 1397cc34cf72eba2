"""`tandem.xpu`, Intel's GPUs, which this build does not use: enough for programs that ask first."""

from __future__ import annotations

from typing import Any

from tandem._no_device import (
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
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_rng_state",
    "get_rng_state_all",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state_all",
    "synchronize",
]

max_memory_allocated = memory_allocated
max_memory_reserved = memory_reserved
seed = seed_all


def current_device() -> int:
    """An error: there is no such device."""
    return absent("xpu", "current_device")


def set_device(device: Any) -> None:
    """An error: there is no such device."""
    absent("xpu", "set_device")


def get_device_name(device: Any = None) -> str:
    """An error: there is no such device."""
    return absent("xpu", "get_device_name")


def get_rng_state(device: Any = "xpu") -> Any:
    """An error: there is no such device."""
    return absent("xpu", "get_rng_state")


def synchronize(device: Any = None) -> None:
    """An error: there is no such device."""
    absent("xpu", "synchronize")
