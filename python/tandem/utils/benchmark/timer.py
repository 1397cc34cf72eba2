"""Runs a statement often enough to know how long it takes."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from typing import Any

import tandem
from tandem.utils.benchmark.measurement import Measurement, TaskSpec

__all__ = ["Timer", "timer"]

# A run is repeated until what reading the clock takes is no part of it.
_LEAST_RUN = 1e-4


def timer() -> float:
    """Seconds, counted from anywhere, when all that was asked of GPUs before is done."""
    if tandem.cuda.is_available():
        tandem.cuda.synchronize()
    return time.perf_counter()


class Timer:
    """Times a statement of Python, with as many threads as said; after runs that are not counted.

    Args:
        stmt, setup: code; the setup is run once before each measurement.
        global_setup: of C++ code (ValueError if it is not empty).
        timer: a clock.
        globals: the variables of the statement.
        label, sub_label, description, env: what the measurement is called, and its place in the table of a `Compare`.
        num_threads: as `tandem.set_num_threads` takes it, while it runs.
        language: `"python"` (ValueError otherwise).

    >>> import tandem
    >>> timer = tandem.utils.benchmark.Timer("x + 1", globals={"x": tandem.ones(3)}, label="add")
    >>> m = timer.timeit(100)
    >>> m.title, m.number_per_run, m.median > 0
    ('add', 100, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ):
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if str(language).lower() not in ("python", "py"):
            raise ValueError("only statements of Python are timed")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        self._task = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        names = dict(globals or {})
        names.setdefault("torch", tandem)
        self._timer = timeit.Timer(stmt, setup, timer, names)

    def _run(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of `number` runs of the statement."""
        with _Threads(self._task.num_threads):
            self._run(max(number // 100, 2))
            return self._measured(number, [self._run(number)])

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements of as many runs each as the clock asks for, until they took `min_run_time` seconds.

        Args:
            callback: called with the number of runs and the seconds of each.
            min_run_time: of all together.
        """
        with _Threads(self._task.num_threads):
            return self._autorange(callback, lambda times: sum(times) >= min_run_time)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """As `blocked_autorange`, until the quarter points of the times are less than `threshold` of the median apart.

        Args:
            threshold: of the median.
            min_run_time, max_run_time: at least and at most so many seconds, all together.
            callback: called with the number of runs and the seconds of each.
        """
        with _Threads(self._task.num_threads):

            def enough(times: list[float]) -> bool:
                total = sum(times)
                steady = len(times) > 3 and Measurement(1, times, self._task).meets_confidence(threshold)
                return total >= max_run_time or (total >= min_run_time and steady)

            return self._autorange(callback, enough)

    def _autorange(
        self, callback: Callable[[int, float], Any] | None, enough: Callable[[list[float]], bool]
    ) -> Measurement:
        number = 1
        while self._run(number) < _LEAST_RUN:
            number *= 10
        times: list[float] = []
        while not times or not enough(times):
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return self._measured(number, times)


class _Threads:
    """A block with so many threads."""

    def __init__(self, count: int):
        self._count = count

    def __enter__(self) -> None:
        self._before = tandem.get_num_threads()
        tandem.set_num_threads(self._count)

    def __exit__(self, *exc: object) -> None:
        tandem.set_num_threads(self._before)
