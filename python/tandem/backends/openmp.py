"""`tandem.backends.openmp`: Tandem has a thread pool of its own instead (`tandem.set_num_threads`)."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False
