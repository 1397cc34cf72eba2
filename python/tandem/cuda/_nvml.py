"""What NVIDIA's management library says of a GPU: how busy and how warm it is. The library, libnvidia-ml.so.1, comes
with the driver, and is opened when it is first asked; `$TANDEM_NVML` names another one."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from tandem.cuda._devices import Device, get_device_properties, index_of

__all__ = ["clock_rate", "list_gpu_processes", "memory_usage", "power_draw", "temperature", "utilization"]

_TOO_SMALL = 7  # NVML_ERROR_INSUFFICIENT_SIZE
_DIE, _PROCESSOR_CLOCK = 0, 1  # NVML_TEMPERATURE_GPU, NVML_CLOCK_SM
_UNKNOWN = (1 << 64) - 1  # NVML_VALUE_NOT_AVAILABLE


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


@functools.cache
def _library() -> ctypes.CDLL:
    name = os.environ.get("TANDEM_NVML") or "libnvidia-ml.so.1"
    library = ctypes.CDLL(name)
    library.nvmlErrorString.restype = ctypes.c_char_p
    _check(library, library.nvmlInit_v2(), "opening it")
    return library


def _check(library: ctypes.CDLL, result: int, what: str) -> None:
    if result != 0:
        text = library.nvmlErrorString(result) or b"?"
        raise RuntimeError(f"NVIDIA's management library, {what}: {text.decode()} ({result})")


def _device(device: Device, name: str) -> tuple[ctypes.CDLL, ctypes.c_void_p, int]:
    """The library, and the GPU there: by its UUID, as the library numbers those that a process does not see, too."""
    index = index_of(device, name)
    try:
        library = _library()
    except OSError as error:
        raise RuntimeError(
            f"tandem.cuda.{name}: NVIDIA's management library libnvidia-ml.so.1 cannot be opened: {error}; "
            "it comes with the driver, and $TANDEM_NVML names another place"
        ) from None
    uuid = get_device_properties(index).uuid
    handle = ctypes.c_void_p()
    for kind in ("GPU", "MIG"):  # a part of a GPU has a UUID of its own
        result = library.nvmlDeviceGetHandleByUUID(f"{kind}-{uuid}".encode(), ctypes.byref(handle))
        if result == 0:
            return library, handle, index
    _check(library, result, f"looking for the GPU {uuid}")
    raise AssertionError


def _number(device: Device, name: str, function: str, *kind: int) -> int:
    library, handle, _ = _device(device, name)
    value = ctypes.c_uint()
    _check(library, getattr(library, function)(handle, *kind, ctypes.byref(value)), name)
    return int(value.value)


def _rates(device: Device, name: str) -> _Utilization:
    library, handle, _ = _device(device, name)
    rates = _Utilization()
    _check(library, library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(rates)), name)
    return rates


def utilization(device: Device = None) -> int:
    """The percentage of the last moments in which a GPU computed. RuntimeError where NVIDIA's management library cannot
    be opened, or there is no GPU.

    >>> import tandem
    >>> tandem.cuda.utilization()  # doctest: +SKIP
    87
    """
    return int(_rates(device, "utilization").gpu)


def memory_usage(device: Device = None) -> int:
    """The percentage of the last moments in which a GPU's memory was read or written; errors as of `utilization`.

    >>> import tandem
    >>> tandem.cuda.memory_usage()  # doctest: +SKIP
    41
    """
    return int(_rates(device, "memory_usage").memory)


def temperature(device: Device = None) -> int:
    """How warm a GPU is, in degrees Celsius; errors as of `utilization`.

    >>> import tandem
    >>> tandem.cuda.temperature()  # doctest: +SKIP
    54
    """
    return _number(device, "temperature", "nvmlDeviceGetTemperature", _DIE)


def power_draw(device: Device = None) -> int:
    """What a GPU draws, in milliwatts; errors as of `utilization`.

    >>> import tandem
    >>> tandem.cuda.power_draw()  # doctest: +SKIP
    412034
    """
    return _number(device, "power_draw", "nvmlDeviceGetPowerUsage")


def clock_rate(device: Device = None) -> int:
    """The clock of a GPU's multiprocessors, in MHz; errors as of `utilization`.

    >>> import tandem
    >>> tandem.cuda.clock_rate()  # doctest: +SKIP
    1980
    """
    return _number(device, "clock_rate", "nvmlDeviceGetClockInfo", _PROCESSOR_CLOCK)


def list_gpu_processes(device: Device = None) -> str:
    """The processes that compute on a GPU and the memory of each, as lines of text; errors as of `utilization`.

    >>> import tandem
    >>> print(tandem.cuda.list_gpu_processes())  # doctest: +SKIP
    GPU:0
    process       4711 uses     1024.000 MB GPU memory
    """
    library, handle, index = _device(device, "list_gpu_processes")
    count, found, result = ctypes.c_uint(0), (_Process * 0)(), _TOO_SMALL
    while result == _TOO_SMALL:  # processes begin meanwhile
        found = (_Process * (count.value + 8))()
        count.value = len(found)
        result = library.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), found)
    _check(library, result, "list_gpu_processes")

    def line(p: Any) -> str:
        size = "unknown" if p.memory == _UNKNOWN else f"{p.memory / (1 << 20):.3f}"
        return f"process {p.pid:>10d} uses {size:>12} MB GPU memory"

    lines = [line(p) for p in found[: count.value]] or ["no processes are running"]
    return "\n".join([f"GPU:{index}", *lines])
