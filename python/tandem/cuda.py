"""`tandem.cuda`, in a build without GPUs: enough for programs that ask first."""

from __future__ import annotations

from typing import Any

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "synchronize",
]


def is_available() -> bool:
    """False: this build computes on the CPU."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_bf16_supported() -> bool:
    """False."""
    return False


def manual_seed(seed: int) -> None:
    """Does nothing: there is no GPU generator."""


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no GPU generator."""


def empty_cache() -> None:
    """Does nothing: there is no GPU memory."""


def _unavailable(what: str) -> Any:
    raise RuntimeError(
        f"tandem.cuda.{what}(): this build of Tandem computes on the CPU only (tandem.cuda.is_available() is False)"
    )


def current_device() -> int:
    """An error: there is no GPU."""
    return _unavailable("current_device")


def synchronize(device: Any = None) -> None:
    """An error: there is no GPU."""
    _unavailable("synchronize")


def get_device_name(device: Any = None) -> str:
    """An error: there is no GPU."""
    return _unavailable("get_device_name")


def set_device(device: Any) -> None:
    """An error: there is no GPU."""
    _unavailable("set_device")
