"""Measurements as a table."""

from __future__ import annotations

from collections.abc import Iterable

from tandem.utils.benchmark.measurement import Measurement, select_unit

__all__ = ["Compare"]


class Compare:
    """A table of measurements for each label: a row for each `sub_label`, a column for each `description`.

    Args:
        results: measurements; those of one task are taken together.

    >>> import tandem
    >>> from tandem.utils.benchmark import Compare, Measurement, TaskSpec
    >>> task = TaskSpec("f()", label="f", sub_label="small", description="ours")
    >>> Compare([Measurement(1, [0.002], task)]).print()
    [----- f -----]
             | ours
    1 threads:
      small  |  2.0
    <BLANKLINE>
    Times are in milliseconds (ms).
    """

    def __init__(self, results: Iterable[Measurement]):
        self._results: list[Measurement] = []
        self._digits: int | None = None
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements; ValueError for what is none."""
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
            self._results.append(r)

    def trim_significant_figures(self) -> None:
        """Write three figures of each time and no more."""
        self._digits = 3

    def colorize(self, rowwise: bool = False) -> None:
        """For PyTorch's sake: tables have no colours."""

    def highlight_warnings(self) -> None:
        """For PyTorch's sake: nothing is highlighted."""

    def print(self) -> None:
        """Write the table."""
        print(self)

    def __str__(self) -> str:
        results = Measurement.merge(self._results)
        labels = list(dict.fromkeys(str(r.label or "") for r in results))
        return "\n".join(self._table(label, [r for r in results if str(r.label or "") == label]) for label in labels)

    def _table(self, label: str, results: list[Measurement]) -> str:
        unit, size = select_unit(min(r.median for r in results))
        columns = list(dict.fromkeys(str(r.description or "") for r in results))
        rows: dict[int, dict[str, dict[str, str]]] = {}
        for r in results:
            value = r.median / size
            text = f"{value:.{self._digits}g}" if self._digits else f"{value:.1f}"
            rows.setdefault(r.num_threads, {}).setdefault(r.as_row_name, {})[str(r.description or "")] = text
        first = max(len(name) for group in rows.values() for name in group) + 4
        written = [row for group in rows.values() for row in group.values()]
        widths = {c: max(len(c), *(len(row.get(c, "")) for row in written)) + 1 for c in columns}
        head = " " * first + "".join("|" + c.rjust(widths[c]) for c in columns)
        lines = [f"[{f' {label} '.center(len(head) - 2, '-')}]", head]
        for threads, group in sorted(rows.items()):
            lines.append(f"{threads} threads:")
            for name, row in group.items():
                cells = "".join("|" + row.get(c, "").rjust(widths[c]) for c in columns)
                lines.append(f"  {name}".ljust(first) + cells)
        names = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}
        return "\n".join([*lines, "", f"Times are in {names[unit]} ({unit})."])
