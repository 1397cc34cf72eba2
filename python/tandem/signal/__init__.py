"""`tandem.signal`: the windows of signal processing."""

from tandem.signal import windows as windows

__all__ = ["windows"]
