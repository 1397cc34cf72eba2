"""Names of CUDA's runtime that programs call through PyTorch, and the mode in which reads by the host are told of."""

from __future__ import annotations

from typing import Any

from tandem import _C
from tandem.cuda._devices import Device, fail_without, index_of, is_available, synchronize
from tandem.cuda.memory import mem_get_info

__all__ = ["CudaError", "check_error", "cudart", "get_sync_debug_mode", "set_sync_debug_mode"]

_MODES = {"default": 0, "warn": 1, "error": 2}


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """What is done where the host waits for a GPU because the program reads there: nothing (`"default"`, 0), a warning
    (`"warn"`, 1), or RuntimeError (`"error"`, 2).

    Those are `item`, `tolist`, `print`, `cpu`, `if x > 0`, and sizes that depend on data. `synchronize` is asked for,
    and is not told of.

    >>> import tandem
    >>> tandem.cuda.set_sync_debug_mode("warn")
    >>> tandem.cuda.get_sync_debug_mode()
    1
    >>> tandem.cuda.set_sync_debug_mode(0)
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError("invalid value of debug_mode, expected 0, 1 or 2")
    _C._gpu_set_sync_debug(debug_mode)


def get_sync_debug_mode() -> int:
    """That mode, as a number.

    >>> import tandem
    >>> tandem.cuda.get_sync_debug_mode()
    0
    """
    return int(_C._gpu_get_sync_debug())


def _of_driver(function: str) -> int:
    """Calls a function without parameters of the driver that is open."""
    import ctypes
    import os

    synchronize()  # work of before is no part of it; and this thread is one of the device's from then on
    library = ctypes.CDLL(os.environ.get("TANDEM_CUDA_DRIVER") or "libcuda.so.1")
    return int(getattr(library, function)())


class CudaError(RuntimeError):
    """A function of CUDA's runtime failed, with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{_Runtime.cudaGetErrorString(code)} ({int(code)})")


class _Runtime:
    """What `cudart()` gives: functions of CUDA's runtime by their names; 0 is success."""

    @staticmethod
    def cudaMemGetInfo(device: Device = None) -> tuple[int, int]:  # noqa: N802
        return mem_get_info(device)

    @staticmethod
    def cudaDeviceSynchronize() -> int:  # noqa: N802
        synchronize()
        return 0

    @staticmethod
    def cudaProfilerStart() -> int:  # noqa: N802
        return _of_driver("cuProfilerStart")

    @staticmethod
    def cudaProfilerStop() -> int:  # noqa: N802
        return _of_driver("cuProfilerStop")

    @staticmethod
    def cudaGetErrorString(error: int) -> str:  # noqa: N802
        return "no error" if int(error) == 0 else f"CUDA error {int(error)}"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cuda"):
            raise AttributeError(name)
        raise NotImplementedError(
            f"tandem.cuda.cudart().{name}: functions of CUDA's runtime are called by the runtime of Tandem"
        )


def cudart() -> _Runtime:
    """CUDA's runtime, as far as it is asked: `cudaMemGetInfo(device)`, `cudaDeviceSynchronize()`,
    `cudaProfilerStart()`, `cudaProfilerStop()`, `cudaGetErrorString(code)`. RuntimeError where there is no GPU.

    >>> import tandem
    >>> tandem.cuda.cudart().cudaMemGetInfo(0) if tandem.cuda.is_available() else None  # doctest: +SKIP
    (84000000000, 85899345920)
    """
    if not is_available():
        fail_without("cudart")
    return _Runtime()


def check_error(res: int) -> None:
    """CudaError, a RuntimeError, where a result of `cudart()`'s functions is an error.

    >>> import tandem
    >>> tandem.cuda.check_error(0)
    """
    if int(res) != 0:
        raise CudaError(res)


def device_memory_used(device: Device = None) -> int:
    """Bytes of a GPU's memory that are in use, whoever uses them.

    >>> import tandem
    >>> tandem.cuda.device_memory_used() > 0 if tandem.cuda.is_available() else True
    True
    """
    free, total = mem_get_info(index_of(device, "device_memory_used"))
    return total - free
