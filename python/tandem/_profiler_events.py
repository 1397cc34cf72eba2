"""What `tandem.profiler` recorded: events, their sums by name, tables and traces of them."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from typing import Any

from tandem._files import replace_file

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]

# Of what is not measured, which projects read.
_ABSENT = (
    "device_time device_time_total self_device_time_total cuda_time cuda_time_total self_cuda_time_total "
    "cpu_memory_usage self_cpu_memory_usage device_memory_usage self_device_memory_usage cuda_memory_usage "
    "self_cuda_memory_usage flops"
).split()


def time_text(us: float) -> str:
    """Microseconds, or more, as people read them."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class Interval:
    """From when to when, in microseconds."""

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """How long it is."""
        return self.end - self.start


class _Times:
    """What events and sums of them have."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    def __getattr__(self, name: str) -> Any:
        if name in _ABSENT:
            return 0
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    @property
    def cpu_time(self) -> float:
        """The mean of the times."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_total_str(self) -> str:
        """The time with its unit."""
        return time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """The time without that of the events within, with its unit."""
        return time_text(self.self_cpu_time_total)

    @property
    def cpu_time_str(self) -> str:
        """The mean with its unit."""
        return time_text(self.cpu_time)


class FunctionEvent(_Times):
    """An operation, or a block of `record_function`, that ran once."""

    count = 1
    is_async = False
    is_remote = False
    is_legacy = False

    def __init__(self, number: int, name: str, parent: FunctionEvent | None, thread: int, user: bool):
        self.id, self.trace_name, self.thread = number, name, thread
        # Steps are counted as one, but in traces.
        self.name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.cpu_parent, self.is_user_annotation = parent, user
        self.time_range = Interval(0.0, 0.0)
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.cpu_children: list[FunctionEvent] = []
        if parent is not None:
            parent.cpu_children.append(self)

    @property
    def key(self) -> str:  # type: ignore[override]
        """The name, by which averages are taken."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it ran, in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The same without the events within."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} thread={self.thread} "
            f"input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg(_Times):
    """The sums of the events of a name."""

    def __init__(self, key: str = "Total") -> None:
        self.key, self.count = key, 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.is_user_annotation = False

    def add(self, event: _Times) -> FunctionEventAvg:
        """Takes one more into the sums."""
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes}>"
        )


class EventList(list[Any]):
    """Events, or sums of them."""

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in microseconds."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, **options: Any) -> EventList:
        """Sums of the events of each name, and of each shape of the inputs, if asked."""
        sums: dict[tuple[str, ...], FunctionEventAvg] = {}
        for event in self:
            key: tuple[str, ...] = (event.key,)
            if group_by_input_shapes:
                key += (str(event.input_shapes),)
            if group_by_stack_n > 0:
                key += tuple(event.stack[:group_by_stack_n])
            if key not in sums:
                sums[key] = found = FunctionEventAvg(event.key)
                found.is_user_annotation = event.is_user_annotation
                found.input_shapes = event.input_shapes if group_by_input_shapes else []
                found.stack = event.stack[:group_by_stack_n]
            sums[key].add(event)
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        **options: Any,
    ) -> str:
        """The events as text, by a time or the count, the largest first."""
        rows: list[Any] = list(self)
        if top_level_events_only:
            rows = [event for event in rows if getattr(event, "cpu_parent", None) is None]
        if sort_by is not None:
            rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        rows = rows[: row_limit if row_limit >= 0 else None]
        total = self.self_cpu_time_total
        shapes = any(event.input_shapes for event in rows)
        names = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
        cells = [names + ["Input Shapes"] * shapes]
        for event in rows:
            name = event.key
            if max_name_column_width is not None and len(name) >= max_name_column_width - 3:
                name = name[: max_name_column_width - 3] + "..."
            cells.append(
                [
                    name,
                    f"{100 * event.self_cpu_time_total / total if total else 0:.2f}%",
                    event.self_cpu_time_total_str,
                    f"{100 * event.cpu_time_total / total if total else 0:.2f}%",
                    event.cpu_time_total_str,
                    event.cpu_time_str,
                    str(event.count),
                ]
                + [str(event.input_shapes)[:max_shapes_column_width]] * shapes
            )
        widths = [max(len(row[i]) for row in cells) + 2 for i in range(len(cells[0]))]
        rule = "  ".join("-" * width for width in widths)
        lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
        top = [] if header is None else ["-" * len(rule), header]
        return "\n".join([*top, rule, lines[0], rule, *lines[1:], rule, f"Self CPU time total: {time_text(total)}", ""])

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events to a file that chrome://tracing reads."""
        write_trace(self, path, {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each event that has a stack: its frames, and the time."""
        if metric not in ("self_cpu_time_total", "self_cuda_time_total", "self_device_time_total"):
            raise ValueError(f"metric should be one of self_cpu_time_total or self_device_time_total, got {metric}")
        lines = []
        for event in self:
            if event.stack and (value := int(getattr(event, metric))) > 0:
                frames = (frame.translate(str.maketrans(" ;\t\n", "____")) for frame in reversed(event.stack))
                lines.append(f"{';'.join(frames)} {value}\n")
        replace_file(path, lambda file: file.write("".join(lines).encode()))


def write_trace(events: Iterable[FunctionEvent], path: str, metadata: dict[str, Any]) -> None:
    """The events in Chrome's format, compressed where the name ends in .gz."""
    process = os.getpid()
    entries = [
        {
            "ph": "X",
            "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
            "name": event.trace_name,
            "pid": process,
            "tid": event.thread,
            "ts": event.time_range.start,
            "dur": event.cpu_time_total,
            "args": {"External id": event.id} | ({"Input Dims": event.input_shapes} if event.input_shapes else {}),
        }
        for event in events
    ]
    text = json.dumps({"schemaVersion": 1, **metadata, "traceEvents": entries}).encode()
    replace_file(path, lambda file: file.write(gzip.compress(text) if str(path).endswith(".gz") else text))
