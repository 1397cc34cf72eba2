"""`tandem.accelerator`: devices other than the CPU, of which this build has none."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """False: this build computes on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """None."""
    return None


def synchronize(device: Any = None) -> None:
    """Does nothing: operations on the CPU are done when they return."""
