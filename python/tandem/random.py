"""Random number generators: the seed of a program, and the state of its stream."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from tandem import _C

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

Generator = _C.Generator
default_generator = _C.default_generator


def manual_seed(seed: int) -> Generator:
    """Start the stream of random numbers that belongs to `seed`; returns the default generator.

    Example:
        >>> import tandem
        >>> a = tandem.manual_seed(0) and tandem.rand(3)
        >>> b = tandem.manual_seed(0) and tandem.rand(3)
        >>> tandem.equal(a, b)
        True
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the operating system; returns the seed, an int of 64 bits.

    >>> import tandem
    >>> tandem.seed() == tandem.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator: what `manual_seed` or `seed` last gave it.

    >>> import tandem
    >>> _ = tandem.manual_seed(3)
    >>> tandem.initial_seed()
    3
    """
    return default_generator.initial_seed()


def get_rng_state() -> _C.Tensor:
    """The state of the default generator, for `set_rng_state`: a vector of uint8.

    >>> import tandem
    >>> state = tandem.get_rng_state()
    >>> a = tandem.rand(2)
    >>> tandem.set_rng_state(state); tandem.equal(a, tandem.rand(2))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: _C.Tensor) -> None:
    """Go on from a state of `get_rng_state`.

    >>> import tandem
    >>> state = tandem.get_rng_state()
    >>> a = tandem.rand(2)
    >>> tandem.set_rng_state(state); tandem.equal(a, tandem.rand(2))
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """A block whose random numbers leave the default generators as they were.

    Args:
        devices: GPUs whose generators are kept, too; None for all of them.
        enabled: False makes the block do nothing.
        device_type: the kind of those devices.

    Example:
        >>> import tandem
        >>> _ = tandem.manual_seed(0)
        >>> with tandem.random.fork_rng():
        ...     a = tandem.rand(2)
        >>> tandem.equal(a, tandem.rand(2))
        True
    """
    if not enabled:
        yield
        return
    from tandem import cuda

    # Generators of GPUs have drawn nothing where none was used.
    used = cuda.is_initialized() and device_type == "cuda"
    kept = (range(cuda.device_count()) if devices is None else list(devices)) if used else []
    state, others = get_rng_state(), [cuda.get_rng_state(d) for d in kept]
    try:
        yield
    finally:
        set_rng_state(state)
        for d, other in zip(kept, others, strict=True):
            cuda.set_rng_state(other, d)
