"""`tandem.utils.benchmark`: how long a statement takes, by many runs of it.

`Timer` runs it, a `Measurement` is what came out, and `Compare` lays several out as a table.
"""

from __future__ import annotations

from tandem.utils.benchmark.compare import Compare
from tandem.utils.benchmark.measurement import Measurement, TaskSpec, select_unit
from tandem.utils.benchmark.timer import Timer, timer

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer"]
