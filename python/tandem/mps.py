"""`tandem.mps`, Apple's GPUs, which this build does not use: enough for programs that ask first."""

from __future__ import annotations

from tandem._no_device import absent, device_count, is_available, manual_seed

__all__ = [
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "is_available",
    "manual_seed",
    "synchronize",
]


def empty_cache() -> None:
    """An error: there is no such device."""
    absent("mps", "empty_cache")


def synchronize() -> None:
    """An error: there is no such device."""
    absent("mps", "synchronize")


def current_allocated_memory() -> int:
    """An error: there is no such device."""
    return absent("mps", "current_allocated_memory")


def driver_allocated_memory() -> int:
    """An error: there is no such device."""
    return absent("mps", "driver_allocated_memory")
