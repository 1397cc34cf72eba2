"""`tandem.cuda`, in a build without GPUs: enough for programs that ask first.

>>> import tandem
>>> device = "cuda" if tandem.cuda.is_available() else "cpu"
>>> tandem.zeros(2, device=device).device
device(type='cpu')
"""

from __future__ import annotations

from typing import Any

from tandem._C import OutOfMemoryError as OutOfMemoryError
from tandem._no_device import *  # noqa: F403
from tandem._no_device import Block, NoDevice, absent, lacking, memory_reserved, reset_peak_memory_stats

memory_cached = memory_reserved
reset_max_memory_allocated = reset_peak_memory_stats

# What needs a device.
current_device = lacking("cuda", "current_device")
current_stream = lacking("cuda", "current_stream")
default_stream = lacking("cuda", "default_stream")
get_device_capability = lacking("cuda", "get_device_capability")
get_device_name = lacking("cuda", "get_device_name")
get_device_properties = lacking("cuda", "get_device_properties")
get_rng_state = lacking("cuda", "get_rng_state")
init = lacking("cuda", "init")
initial_seed = lacking("cuda", "initial_seed")
ipc_collect = lacking("cuda", "ipc_collect")
mem_get_info = lacking("cuda", "mem_get_info")
set_rng_state = lacking("cuda", "set_rng_state")
synchronize = lacking("cuda", "synchronize")


class Stream(NoDevice):
    """A queue of device work; an error to make: there is no GPU."""


class Event(NoDevice):
    """A point in a stream; an error to make: there is no GPU."""


class CUDAGraph(NoDevice):
    """Recorded device work; an error to make: there is no GPU. `tandem.compile` records on CPUs."""


class device(Block):  # noqa: N801
    """A `with` block on a GPU: an error to enter, unless the index is None or negative."""


def stream(stream: Any) -> Block:
    """A `with` block on a stream: nothing for None, an error to enter otherwise."""
    return Block(stream, "cuda", "stream")


def memory_stats(device: Any = None) -> dict[str, Any]:
    """An empty dict: there is no device memory."""
    return {}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A line that says there is no device memory."""
    return "no device memory: this build of Tandem computes on the CPU only"


def get_arch_list() -> list[str]:
    """An empty list: the GPU architectures this build has code for."""
    return []


def is_current_stream_capturing() -> bool:
    """False: there is no stream."""
    return False


def set_device(device: Any) -> None:
    """Nothing for a negative index, an error otherwise: there is no GPU."""
    if not (isinstance(device, int) and device < 0):
        absent("cuda", "set_device")
