"""`tandem.mps`, Apple's GPUs, which this build does not use: enough for programs that ask first."""

from __future__ import annotations

from tandem._no_device import device_count as device_count
from tandem._no_device import is_available as is_available
from tandem._no_device import lacking
from tandem._no_device import manual_seed as manual_seed

# What needs a device.
current_allocated_memory = lacking("mps", "current_allocated_memory")
driver_allocated_memory = lacking("mps", "driver_allocated_memory")
empty_cache = lacking("mps", "empty_cache")
synchronize = lacking("mps", "synchronize")
