"""`tandem.backends.mps`: Apple's GPUs, which this build does not use."""

from __future__ import annotations

from tandem._no_device import is_available as is_available

is_built = is_available


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: this build has no Metal."""
    return False
