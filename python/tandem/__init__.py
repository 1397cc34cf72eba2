# ruff: noqa: F401  (names are imported to be found here)
"""Tandem: tensors and deep learning with eager, lazy and compiled modes that give the same bits.

`import tandem`, or for code written for PyTorch, `import tandem as torch`.
"""

from __future__ import annotations

import math as _math
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:  # first, since checkers take the first definition of a name, and Python the last
    from tandem._contraction import *  # noqa: F403

from tandem import _C, _c_names  # noqa: F401
from tandem._aliases import *  # noqa: F403
from tandem._C import *  # type: ignore[assignment]  # noqa: F403
from tandem._C import _standard_gamma
from tandem._contraction import *  # noqa: F403
from tandem._control_flow import *  # noqa: F403
from tandem._copies import *  # noqa: F403
from tandem._dropout_functions import *  # noqa: F403
from tandem._dtypes import *  # noqa: F403
from tandem._fake_quantization import *  # noqa: F403
from tandem._finite_differences import *  # noqa: F403
from tandem._foreach import FOREACH as _FOREACH
from tandem._functions import *  # noqa: F403
from tandem._functions import _assert as _assert
from tandem._functions import _assert_async as _assert_async
from tandem._functions import _check as _check
from tandem._functions import _check_index as _check_index
from tandem._functions import _check_is_size as _check_is_size
from tandem._functions import _check_not_implemented as _check_not_implemented
from tandem._functions import _check_tensor_all as _check_tensor_all
from tandem._functions import _check_tensor_all_with as _check_tensor_all_with
from tandem._functions import _check_type as _check_type
from tandem._functions import _check_value as _check_value
from tandem._functions import _check_with as _check_with
from tandem._functions import _int_mm as _int_mm
from tandem._histograms import *  # noqa: F403
from tandem._in_place import *  # noqa: F403
from tandem._layer_functions import *  # noqa: F403
from tandem._legacy import *  # noqa: F403
from tandem._legacy import BUILT as _BUILT
from tandem._legacy import is_built as _is_built
from tandem._loss_functions import *  # noqa: F403
from tandem._low_rank import *  # noqa: F403
from tandem._older_linalg import *  # noqa: F403
from tandem._ops import Tag as Tag
from tandem._ops import ops as ops
from tandem._segments import *  # noqa: F403
from tandem._storages import from_file as from_file
from tandem._support import TypedStorage as TypedStorage
from tandem._support import UntypedStorage as UntypedStorage
from tandem._support import allclose as allclose
from tandem._support import equal as equal
from tandem._support import from_dlpack as from_dlpack
from tandem._support import tensor_to_dlpack as to_dlpack
from tandem._tensor_repr import set_printoptions as set_printoptions
from tandem._version import __version__ as __version__

# tandem.float, tandem.int, ... hide Python's own in this module: from here on, use none of them.
globals().update(_FOREACH)

inf = _math.inf
nan = _math.nan
pi = _math.pi
e = _math.e
newaxis = None
# What this build has of what PyTorch may be built with.
has_lapack = has_openmp = True
has_mkl = has_spectral = False

from tandem import autograd as autograd  # noqa: E402
from tandem import cuda as cuda  # noqa: E402
from tandem import random as random  # noqa: E402
from tandem.autograd import enable_grad as enable_grad  # noqa: E402
from tandem.autograd import inference_mode as inference_mode  # noqa: E402
from tandem.autograd import no_grad as no_grad  # noqa: E402
from tandem.autograd import set_grad_enabled as set_grad_enabled  # noqa: E402
from tandem.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled  # noqa: E402
from tandem.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled  # noqa: E402
from tandem.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled  # noqa: E402
from tandem.random import get_rng_state as get_rng_state  # noqa: E402
from tandem.random import initial_seed as initial_seed  # noqa: E402
from tandem.random import manual_seed as manual_seed  # noqa: E402
from tandem.random import seed as seed  # noqa: E402
from tandem.random import set_rng_state as set_rng_state  # noqa: E402

# isort: split
from tandem import _missing  # noqa: E402
from tandem import accelerator as accelerator  # noqa: E402
from tandem import amp as amp  # noqa: E402
from tandem import backends as backends  # noqa: E402
from tandem import compiler as compiler  # noqa: E402
from tandem import cpu as cpu  # noqa: E402
from tandem import jit as jit  # noqa: E402
from tandem import linalg as linalg  # noqa: E402
from tandem import mps as mps  # noqa: E402
from tandem import overrides as overrides  # noqa: E402
from tandem import special as special  # noqa: E402
from tandem import types as types  # noqa: E402
from tandem import version as version  # noqa: E402
from tandem import xpu as xpu  # noqa: E402
from tandem._as_torch import install_as_torch as install_as_torch  # noqa: E402
from tandem._compile import compile as compile  # noqa: A004, E402
from tandem._compile import lazy as lazy  # noqa: E402
from tandem.amp.autocast_mode import autocast as autocast  # noqa: E402
from tandem.amp.autocast_mode import autocast_decrement_nesting as autocast_decrement_nesting  # noqa: E402
from tandem.amp.autocast_mode import autocast_increment_nesting as autocast_increment_nesting  # noqa: E402
from tandem.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache  # noqa: E402
from tandem.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype  # noqa: E402
from tandem.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype  # noqa: E402
from tandem.amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype  # noqa: E402
from tandem.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled  # noqa: E402
from tandem.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled  # noqa: E402
from tandem.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled  # noqa: E402
from tandem.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled  # noqa: E402
from tandem.amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype  # noqa: E402
from tandem.amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled  # noqa: E402
from tandem.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype  # noqa: E402
from tandem.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled  # noqa: E402
from tandem.amp.autocast_mode import set_autocast_gpu_dtype as set_autocast_gpu_dtype  # noqa: E402
from tandem.amp.grad_scaler import STEPS_OF_SCALES as _STEPS_OF_SCALES  # noqa: E402
from tandem.amp.grad_scaler import GradScaler as GradScaler  # noqa: E402
from tandem.cpu import amp as _cpu_amp  # noqa: E402
from tandem.cuda import OutOfMemoryError as OutOfMemoryError  # noqa: E402
from tandem.cuda import amp as _cuda_amp  # noqa: E402
from tandem.cuda.streams import DeviceEvent as Event  # noqa: E402
from tandem.cuda.streams import Stream as Stream  # noqa: E402

# What is large, or needs NumPy, is loaded when it is first asked for: modules, and names that are in one.
_LATER = {
    **{
        name: None
        for name in (
            "_dynamo",
            "distributed",
            "distributions",
            "export",
            "fft",
            "func",
            "futures",
            "fx",
            "hub",
            "library",
            "masked",
            "multiprocessing",
            "nn",
            "onnx",
            "optim",
            "profiler",
            "quasirandom",
            "return_types",
            "serialization",
            "signal",
            "storage",
            "testing",
            "utils",
        )
    },
    "DeviceObjType": "jit",
    "Future": "futures",
    "PyTorchFileReader": "serialization",
    "PyTorchFileWriter": "serialization",
    "SymBool": "_symbolic_shapes",
    "SymFloat": "_symbolic_shapes",
    "SymInt": "_symbolic_shapes",
    "ScriptFunction": "jit",
    "ScriptModule": "jit",
    "TensorType": "jit",
    "vmap": "func",
    "save": "serialization",
    "load": "serialization",
}

if _TYPE_CHECKING:
    from tandem import distributed as distributed
    from tandem import distributions as distributions
    from tandem import export as export
    from tandem import fft as fft
    from tandem import func as func
    from tandem import futures as futures
    from tandem import fx as fx
    from tandem import hub as hub
    from tandem import library as library
    from tandem import masked as masked
    from tandem import multiprocessing as multiprocessing
    from tandem import nn as nn
    from tandem import onnx as onnx
    from tandem import optim as optim
    from tandem import profiler as profiler
    from tandem import quasirandom as quasirandom
    from tandem import return_types as return_types
    from tandem import serialization as serialization
    from tandem import signal as signal
    from tandem import testing as testing
    from tandem import utils as utils
    from tandem.func import vmap as vmap
    from tandem.serialization import load as load
    from tandem.serialization import save as save


def _later(name: str) -> _Any:
    if name in _BUILT:
        return _is_built(name)
    if name not in _LATER:
        return _missing.fail(_sys.modules[__name__], name)
    from importlib import import_module

    module = import_module(f"tandem.{_LATER[name] or name}")
    _missing.explain_missing_names()
    return getattr(module, name) if _LATER[name] else module


# Not a definition, which would make type checkers take every name for one that is there.
globals().update(_STEPS_OF_SCALES)
globals()["__getattr__"] = _later


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


_missing.explain_missing_names()
