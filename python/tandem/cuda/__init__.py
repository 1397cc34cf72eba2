# ruff: noqa: F401  (names are imported to be found here)
"""`tandem.cuda`: GPUs. Where there is none, questions answer so, and what needs one is an error that says why.

>>> import tandem
>>> device = "cuda" if tandem.cuda.is_available() else "cpu"
>>> tandem.zeros(2, device=device).device
device(type='cpu')

A GPU is looked for when a program first names one; until then nothing of CUDA is opened. docs/cuda.md says what runs
where.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tandem._C import OutOfMemoryError as OutOfMemoryError
from tandem.cuda._devices import can_device_access_peer as can_device_access_peer
from tandem.cuda._devices import current_device as current_device
from tandem.cuda._devices import device as device
from tandem.cuda._devices import device_count as device_count
from tandem.cuda._devices import device_of as device_of
from tandem.cuda._devices import get_arch_list as get_arch_list
from tandem.cuda._devices import get_device_capability as get_device_capability
from tandem.cuda._devices import get_device_name as get_device_name
from tandem.cuda._devices import get_device_properties as get_device_properties
from tandem.cuda._devices import get_gencode_flags as get_gencode_flags
from tandem.cuda._devices import init as init
from tandem.cuda._devices import is_available as is_available
from tandem.cuda._devices import is_bf16_supported as is_bf16_supported
from tandem.cuda._devices import is_initialized as is_initialized
from tandem.cuda._devices import is_tf32_supported as is_tf32_supported
from tandem.cuda._devices import set_device as set_device
from tandem.cuda._devices import synchronize as synchronize

# isort: split
from tandem.cuda import nccl as nccl
from tandem.cuda import nvtx as nvtx
from tandem.cuda import profiler as profiler
from tandem.cuda._nvml import clock_rate as clock_rate
from tandem.cuda._nvml import list_gpu_processes as list_gpu_processes
from tandem.cuda._nvml import memory_usage as memory_usage
from tandem.cuda._nvml import power_draw as power_draw
from tandem.cuda._nvml import temperature as temperature
from tandem.cuda._nvml import utilization as utilization
from tandem.cuda._runtime import CudaError as CudaError
from tandem.cuda._runtime import check_error as check_error
from tandem.cuda._runtime import cudart as cudart
from tandem.cuda._runtime import device_memory_used as device_memory_used
from tandem.cuda._runtime import get_sync_debug_mode as get_sync_debug_mode
from tandem.cuda._runtime import set_sync_debug_mode as set_sync_debug_mode
from tandem.cuda.graphs import CUDAGraph as CUDAGraph
from tandem.cuda.graphs import graph as graph
from tandem.cuda.graphs import graph_pool_handle as graph_pool_handle
from tandem.cuda.graphs import is_current_stream_capturing as is_current_stream_capturing
from tandem.cuda.graphs import make_graphed_callables as make_graphed_callables
from tandem.cuda.memory import CUDAPluggableAllocator as CUDAPluggableAllocator
from tandem.cuda.memory import MemPool as MemPool
from tandem.cuda.memory import caching_allocator_alloc as caching_allocator_alloc
from tandem.cuda.memory import caching_allocator_delete as caching_allocator_delete
from tandem.cuda.memory import change_current_allocator as change_current_allocator
from tandem.cuda.memory import empty_cache as empty_cache
from tandem.cuda.memory import get_allocator_backend as get_allocator_backend
from tandem.cuda.memory import get_per_process_memory_fraction as get_per_process_memory_fraction
from tandem.cuda.memory import host_memory_stats as host_memory_stats
from tandem.cuda.memory import host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict
from tandem.cuda.memory import max_memory_allocated as max_memory_allocated
from tandem.cuda.memory import max_memory_cached as max_memory_cached
from tandem.cuda.memory import max_memory_reserved as max_memory_reserved
from tandem.cuda.memory import mem_get_info as mem_get_info
from tandem.cuda.memory import memory_allocated as memory_allocated
from tandem.cuda.memory import memory_cached as memory_cached
from tandem.cuda.memory import memory_reserved as memory_reserved
from tandem.cuda.memory import memory_snapshot as memory_snapshot
from tandem.cuda.memory import memory_stats as memory_stats
from tandem.cuda.memory import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from tandem.cuda.memory import memory_summary as memory_summary
from tandem.cuda.memory import reset_accumulated_host_memory_stats as reset_accumulated_host_memory_stats
from tandem.cuda.memory import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from tandem.cuda.memory import reset_max_memory_allocated as reset_max_memory_allocated
from tandem.cuda.memory import reset_max_memory_cached as reset_max_memory_cached
from tandem.cuda.memory import reset_peak_host_memory_stats as reset_peak_host_memory_stats
from tandem.cuda.memory import reset_peak_memory_stats as reset_peak_memory_stats
from tandem.cuda.memory import set_per_process_memory_fraction as set_per_process_memory_fraction
from tandem.cuda.memory import use_mem_pool as use_mem_pool
from tandem.cuda.random import get_rng_state as get_rng_state
from tandem.cuda.random import get_rng_state_all as get_rng_state_all
from tandem.cuda.random import initial_seed as initial_seed
from tandem.cuda.random import manual_seed as manual_seed
from tandem.cuda.random import manual_seed_all as manual_seed_all
from tandem.cuda.random import seed as seed
from tandem.cuda.random import seed_all as seed_all
from tandem.cuda.random import set_rng_state as set_rng_state
from tandem.cuda.random import set_rng_state_all as set_rng_state_all
from tandem.cuda.streams import Event as Event
from tandem.cuda.streams import ExternalStream as ExternalStream
from tandem.cuda.streams import Stream as Stream
from tandem.cuda.streams import StreamContext as StreamContext
from tandem.cuda.streams import current_stream as current_stream
from tandem.cuda.streams import default_stream as default_stream
from tandem.cuda.streams import get_stream_from_external as get_stream_from_external
from tandem.cuda.streams import set_stream as set_stream
from tandem.cuda.streams import stream as stream

has_half = True
has_magma = False


def current_blas_handle() -> NoReturn:
    """NotImplementedError: the libraries' handles are the runtime's own."""
    raise NotImplementedError("tandem.cuda.current_blas_handle: the handles of libraries are the runtime's own")


def ipc_collect() -> None:
    """NotImplementedError where there is a GPU: its memory is not shared between processes."""
    if not is_available():
        from tandem.cuda._devices import fail_without

        fail_without("ipc_collect")
    raise NotImplementedError("tandem.cuda.ipc_collect: the memory of GPUs is not shared between processes")


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        from tandem.cuda.random import _generator

        return tuple(_generator(k) for k in range(device_count()))
    import importlib
    import sys

    from tandem import _legacy, _missing

    if name == "comm":  # made of tensors
        return importlib.import_module("tandem.cuda.comm")
    if name.endswith("Tensor") and (kind := _legacy.on_gpu(name)) is not None:
        globals()[name] = kind
        return kind
    return _missing.fail(sys.modules[__name__], name)
