"""What a timer measured, and how it is written."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable
from typing import Any

__all__ = ["Measurement", "TaskSpec", "select_unit"]

_UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which `t` seconds are well read, and how many seconds it is.

    >>> import tandem
    >>> tandem.utils.benchmark.select_unit(0.002)
    ('ms', 0.001)
    """
    fitting = [(name, size) for name, size in _UNITS if size <= t]
    return fitting[-1] if fitting else _UNITS[0]


def _quantile(values: list[float], q: float) -> float:
    """Between the two nearest of sorted values, in proportion."""
    at = q * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is measured: the statement, what is run before it, and what it is called.

    >>> import tandem
    >>> tandem.utils.benchmark.TaskSpec("x + 1", "x = 2").title
    'x + 1\\nsetup: x = 2'
    """

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, with what says more of it; the statement where there is no label."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt + ("" if self.setup in ("", "pass") else f"\nsetup: {self.setup}")


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """The times that runs of one statement took.

    Args:
        number_per_run: how often the statement was run for each of the times.
        raw_times: seconds.
        task_spec: what was measured.
        metadata: anything.

    >>> import tandem
    >>> from tandem.utils.benchmark import Measurement, TaskSpec
    >>> m = Measurement(10, [2.0, 4.0, 3.0], TaskSpec("f()"))
    >>> m.times, m.median, m.mean
    ([0.2, 0.4, 0.3], 0.3, 0.3)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        # What the task is called is asked of the measurement.
        if not name.startswith("__") and name in {*TaskSpec.__dataclass_fields__, "title"}:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds of one run of the statement, for each measurement."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """Of the times."""
        return _quantile(self._sorted(), 0.5)

    @property
    def mean(self) -> float:
        """Of the times."""
        return statistics.fmean(self._sorted())

    @property
    def iqr(self) -> float:
        """How far the quarter points of the times are apart."""
        return _quantile(self._sorted(), 0.75) - _quantile(self._sorted(), 0.25)

    @property
    def has_warnings(self) -> bool:
        """Do the times differ by more than a tenth of the median?"""
        return self.iqr / self.median > 0.1 if self.median else False

    @property
    def as_row_name(self) -> str:
        """What a row of a table is called."""
        return str(self.sub_label or self.stmt or "[Unknown]")

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Are the quarter points apart by less than `threshold` of the median?"""
        return self.iqr / self.median < threshold if self.median else True

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement of each task, with the times of all of its measurements."""
        found: dict[TaskSpec, Measurement] = {}
        for m in measurements:
            if m.task_spec not in found:
                found[m.task_spec] = Measurement(1, [], m.task_spec)
            found[m.task_spec].raw_times.extend(m.times)
        return list(found.values())

    def _sorted(self) -> list[float]:
        if not self.raw_times:
            raise ValueError("there are no times")
        return sorted(self.times)

    def __repr__(self) -> str:
        unit, size = select_unit(self.median)
        count = len(self.raw_times)
        lines = [
            object.__repr__(self),
            self.title,
            *([self.description] if self.description else []),
            f"  Median: {self.median / size:.2f} {unit}",
            f"  IQR:    {self.iqr / size:.2f} {unit} ({_quantile(self._sorted(), 0.25) / size:.2f} to "
            f"{_quantile(self._sorted(), 0.75) / size:.2f})",
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs per measurement, "
            f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}",
        ]
        if count == 1:
            lines[-3:-1] = [f"  {self.median / size:.2f} {unit}"]
        return "\n".join(lines)
