"""`tandem.backends.mkl`: Intel's library, which Tandem does without (oneDNN and OpenBLAS do its work)."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False
