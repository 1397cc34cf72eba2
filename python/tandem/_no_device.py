"""What the modules of devices that this build lacks (`xpu`, `mps`) have in common: queries answer that there is
nothing, requests about all devices do nothing, and what needs a device is an error that says so.

>>> import tandem
>>> tandem.xpu.is_available(), tandem.mps.device_count(), tandem.xpu.memory_allocated()
(False, 0, 0)
>>> try:
...     tandem.xpu.get_device_name(0)
... except RuntimeError as error:
...     print(str(error)[:79])
tandem.xpu.get_device_name(): this build of Tandem computes on the CPU only (ta
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = [
    "device_count",
    "empty_cache",
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
    "set_rng_state_all",
]


def is_available() -> bool:
    """False: this build has none, and computes on the CPU."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator but the CPU's."""


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no generator but the CPU's."""


def seed_all() -> None:
    """Does nothing: there is no generator but the CPU's."""


def empty_cache() -> None:
    """Does nothing: there is no device memory."""


def memory_allocated(device: Any = None) -> int:
    """0: there is no device memory."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0: there is no device memory."""
    return 0


max_memory_allocated = memory_allocated
max_memory_reserved = memory_reserved
seed = seed_all


def reset_peak_memory_stats(device: Any = None) -> None:
    """Does nothing: there is no device memory."""


def get_rng_state_all() -> list[Any]:
    """An empty list: a state for each device."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Takes one state for each device, so an empty list; RuntimeError for another."""
    if list(new_states):
        raise RuntimeError(f"set_rng_state_all: {len(list(new_states))} states for 0 devices")


def absent(module: str, what: str, why: str = "") -> NoReturn:
    """Raise the RuntimeError of something that needs a device; `why` there is none, where that is known."""
    known = f"this build of Tandem computes on the CPU only (tandem.{module}.is_available() is False)"
    raise RuntimeError(f"tandem.{module}.{what}(): {known}" + (f", as {why}" if why else ""))


def lacking(module: str, name: str) -> Callable[..., Any]:
    """The function `name` of `tandem.module` where it needs a device: a call is the error of `absent`."""

    def needs_a_device(*args: Any, **kwargs: Any) -> NoReturn:
        absent(module, name)

    needs_a_device.__name__ = needs_a_device.__qualname__ = name
    needs_a_device.__module__ = f"tandem.{module}"
    needs_a_device.__doc__ = "RuntimeError: it needs a device, and this build computes on the CPU only."
    return needs_a_device
