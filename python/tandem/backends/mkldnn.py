"""`tandem.backends.mkldnn`: the library of matrix products and convolutions on CPUs (oneDNN), which is always used."""

from __future__ import annotations


def is_available() -> bool:
    """True."""
    return True
