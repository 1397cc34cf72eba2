"""Random numbers on GPUs: each has a generator of its own. `tandem.manual_seed` seeds all of them.

A generator's numbers do not depend on its device: with one seed a GPU draws what the CPU draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tandem import _C
from tandem.cuda._devices import Device, device_count, index_of, is_available

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def _generator(index: int) -> _C.Generator:
    return _C._default_generator(_C.device("cuda", index))


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU; nothing without one."""
    if is_available():
        _generator(index_of(None, "manual_seed")).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs."""
    for k in range(device_count()):
        _generator(k).manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the current GPU from the operating system; nothing without one."""
    if is_available():
        _generator(index_of(None, "seed")).seed()


def seed_all() -> None:
    """Seed the generators of all GPUs alike, from the operating system."""
    if is_available():
        manual_seed_all(_generator(0).seed())


def initial_seed() -> int:
    """The seed of the current GPU's generator."""
    return _generator(index_of(None, "initial_seed")).initial_seed()


def get_rng_state(device: Device = "cuda") -> _C.Tensor:
    """The state of a GPU's generator, for `set_rng_state`: a vector of uint8 on the CPU."""
    return _generator(index_of(device, "get_rng_state")).get_state()


def get_rng_state_all() -> list[_C.Tensor]:
    """The states of the generators of all GPUs."""
    return [_generator(k).get_state() for k in range(device_count())]


def set_rng_state(new_state: _C.Tensor, device: Device = "cuda") -> None:
    """Go on from a state of `get_rng_state`."""
    _generator(index_of(device, "set_rng_state")).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Go on from the states of `get_rng_state_all`, one a GPU; RuntimeError for another number of them."""
    states = list(new_states)
    if len(states) != device_count():
        raise RuntimeError(f"set_rng_state_all: {len(states)} states for {device_count()} devices")
    for k, state in enumerate(states):
        _generator(k).set_state(state)
