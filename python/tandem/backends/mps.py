"""`tandem.backends.mps`: Apple's GPUs, which this build does not use."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def is_built() -> bool:
    """False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: this build has no Metal."""
    return False
