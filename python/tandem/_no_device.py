"""What the modules of devices that this build lacks (`cuda`, `xpu`, `mps`) have in common: queries answer that there is
nothing, requests about all devices do nothing, and what needs a device is an error that says so."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def is_available() -> bool:
    """False: this build computes on the CPU."""
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


def reset_peak_memory_stats(device: Any = None) -> None:
    """Does nothing: there is no device memory."""


def get_rng_state_all() -> list[Any]:
    """An empty list: a state for each device."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Takes one state for each device, so an empty list; RuntimeError for another."""
    if list(new_states):
        raise RuntimeError(f"set_rng_state_all: {len(list(new_states))} states for 0 devices")


def absent(module: str, what: str) -> Any:
    """Raise the RuntimeError of something that needs a device."""
    why = f"this build of Tandem computes on the CPU only (tandem.{module}.is_available() is False)"
    raise RuntimeError(f"tandem.{module}.{what}(): {why}")


class NoDevice:
    """A class of objects that live on a device; making one is an error."""

    _module = "cuda"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        absent(self._module, type(self).__name__)


class Block:
    """A `with` block that chooses a device or a stream; None, or a negative index, chooses nothing."""

    def __init__(self, what: Any, module: str = "cuda", name: str = "device") -> None:
        nothing = what is None or (isinstance(what, int) and what < 0)
        self._needs = None if nothing else (module, name)

    def __enter__(self) -> Block:
        if self._needs is not None:
            absent(*self._needs)
        return self

    def __exit__(self, *exc: object) -> None:
        pass
