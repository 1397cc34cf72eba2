"""`tandem.accelerator`: devices other than the CPU, whichever they are. GPUs are the only ones.

>>> import tandem
>>> tandem.accelerator.is_available(), tandem.accelerator.current_accelerator()
(False, None)
"""

from __future__ import annotations

from typing import Any

from tandem import _C, cuda
from tandem.cuda import device_count as device_count
from tandem.cuda import empty_cache as empty_cache
from tandem.cuda import is_available as is_available
from tandem.cuda import max_memory_allocated as max_memory_allocated
from tandem.cuda import max_memory_reserved as max_memory_reserved
from tandem.cuda import memory_allocated as memory_allocated
from tandem.cuda import memory_reserved as memory_reserved
from tandem.cuda import memory_stats as memory_stats
from tandem.cuda import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from tandem.cuda import reset_peak_memory_stats as reset_peak_memory_stats
from tandem.cuda import set_stream as set_stream
from tandem.cuda.streams import Stream


def current_accelerator(check_available: bool = False) -> _C.device | None:
    """`device("cuda")` where there is a GPU, else None."""
    return _C.device("cuda") if is_available() else None


def current_device_index() -> int:
    """The index of the device that its kind's name means on this thread."""
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any) -> None:
    """Choose that device."""
    cuda.set_device(device)


set_device_idx = set_device_index


def device_index(device: int | None) -> cuda.device:
    """A `with` block on a device; None chooses nothing."""
    return cuda.device(device)


def current_stream(device: Any = None) -> Stream:
    """The stream to which this thread's work on a device goes."""
    return cuda.current_stream(device)


def synchronize(device: Any = None) -> None:
    """Wait for all work of a device; on the CPU it is done when calls return."""
    if is_available():
        cuda.synchronize(device)
