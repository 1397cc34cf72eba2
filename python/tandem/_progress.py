"""How far a download is, on the standard error stream: `torch.hub.tqdm`."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["tqdm"]


class _Progress:
    """Percents of `total`, or what was added up without one."""

    def __init__(self, total: float | None = None, disable: bool = False, unit: Any = None, *args: Any, **kwargs: Any):
        self.total, self.disable, self.n = total, disable, 0.0

    def update(self, n: float) -> None:
        if not self.disable:
            self.n += n
            sys.stderr.write(f"\r{100 * self.n / self.total:.1f}%" if self.total else f"\r{self.n:.1f} bytes")
            sys.stderr.flush()

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing."""

    def write(self, s: str) -> None:
        sys.stderr.write(f"{s}\n")

    def close(self) -> None:
        self.disable = True

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.disable:
            sys.stderr.write("\n")


def tqdm(*args: Any, **kwargs: Any) -> Any:
    """The bar of the package tqdm where that is installed, a plain count elsewhere."""
    try:
        from tqdm import tqdm as bar
    except ImportError:
        bar = _Progress
    return bar(*args, **kwargs)
