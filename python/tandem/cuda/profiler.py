"""What a profiler is to look at: `nsys profile --capture-range=cudaProfilerApi python program.py` records what the
program does between `start` and `stop`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tandem.cuda._runtime import check_error, cudart

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Have a profiler that looks on record from here on. RuntimeError where there is no GPU.

    >>> import tandem
    >>> tandem.cuda.profiler.start()  # doctest: +SKIP
    """
    check_error(cudart().cudaProfilerStart())


def stop() -> None:
    """Have it record no longer.

    >>> import tandem
    >>> tandem.cuda.profiler.stop()  # doctest: +SKIP
    """
    check_error(cudart().cudaProfilerStop())


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """A `with` block that is recorded.

    >>> import tandem
    >>> with tandem.cuda.profiler.profile():  # doctest: +SKIP
    ...     tandem.ones(3, device="cuda").sum()
    """
    start()
    try:
        yield
    finally:
        stop()
