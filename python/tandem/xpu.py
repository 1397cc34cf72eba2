"""`tandem.xpu`, Intel's GPUs, which this build does not use: enough for programs that ask first."""

from __future__ import annotations

from tandem._no_device import *  # noqa: F403
from tandem._no_device import lacking

# What needs a device.
current_device = lacking("xpu", "current_device")
get_device_name = lacking("xpu", "get_device_name")
get_rng_state = lacking("xpu", "get_rng_state")
set_device = lacking("xpu", "set_device")
synchronize = lacking("xpu", "synchronize")


def is_current_stream_capturing() -> bool:
    """False: there is no stream."""
    return False
