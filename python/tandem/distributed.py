"""`tandem.distributed`, in a build of one process: enough for programs that ask first."""

from __future__ import annotations


def is_available() -> bool:
    """False: this build computes in one process."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False
