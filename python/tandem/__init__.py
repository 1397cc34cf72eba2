# ruff: noqa: F401  (names are imported to be found here)
"""Tandem: tensors and deep learning with eager, lazy and compiled modes that give the same bits.

`import tandem`, or for code written for PyTorch, `import tandem as torch`.
"""

from __future__ import annotations

import math as _math
import sys as _sys
from typing import Any as _Any

from tandem import _C
from tandem._C import *  # noqa: F403
from tandem._C import _standard_gamma
from tandem._contraction import einsum, tensordot  # type: ignore[no-redef]
from tandem._dtypes import (
    ALIASES as _ALIASES,
)
from tandem._dtypes import (
    channels_last,
    contiguous_format,
    finfo,
    iinfo,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from tandem._legacy import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
    are_deterministic_algorithms_enabled,
    compiled_with_cxx11_abi,
    get_default_device,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_default_device,
    set_default_tensor_type,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_warn_always,
    typename,
    use_deterministic_algorithms,
)
from tandem._support import allclose, equal, from_dlpack
from tandem._tensor_repr import set_printoptions
from tandem._version import __version__

# tandem.float, tandem.int, ... hide Python's own in this module: from here on, use none of them.
globals().update(_ALIASES)

inf = _math.inf
nan = _math.nan
pi = _math.pi
e = _math.e
newaxis = None

from tandem import autograd, cuda, random  # noqa: E402
from tandem.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402
from tandem.random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state  # noqa: E402


def is_tensor(obj: _Any) -> _Any:
    """Is `obj` a tandem.Tensor?"""
    return isinstance(obj, Tensor)  # noqa: F405


def numel(input: _Any) -> _Any:
    """The number of elements of a tensor."""
    return input.numel()


def is_floating_point(input: _Any) -> _Any:
    """Is the dtype of a tensor a floating-point type?"""
    return input.is_floating_point()


def is_complex(input: _Any) -> _Any:
    """False: there are no complex dtypes."""
    return False


def nonzero(input: _Any, *, as_tuple: _Any = False) -> _Any:
    """Where elements are nonzero: the rows of an int64 matrix, or a column a dim (`as_tuple`).

    The size depends on the data, so a function being traced cannot read it.
    """
    return input.nonzero(as_tuple=as_tuple)


def masked_select(input: _Any, mask: _Any, *, out: _Any = None) -> _Any:
    """The elements where `mask` holds, as a vector."""
    return input.masked_select(mask, out=out)


def is_storage(obj: _Any) -> _Any:
    """False: storages are not objects of their own."""
    return False


from tandem import (  # noqa: E402
    _missing,
    accelerator,
    amp,
    backends,
    compiler,
    cpu,
    distributed,
    jit,
    linalg,
    mps,
    special,
    types,
    version,
    xpu,
)
from tandem._as_torch import install_as_torch  # noqa: E402
from tandem._compile import compile, lazy  # noqa: A004, E402
from tandem.amp.autocast_mode import (  # noqa: E402
    autocast,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from tandem.cuda import OutOfMemoryError  # noqa: E402
from tandem.cuda import amp as _cuda_amp  # noqa: E402

# What is large, or needs NumPy, is loaded when it is first asked for: modules, and names that are in one.
_LATER = {
    **{name: None for name in ("distributions", "func", "nn", "optim", "serialization", "testing", "utils")},
    "vmap": "func",
    "save": "serialization",
    "load": "serialization",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        return _missing.fail(_sys.modules[__name__], name)
    from importlib import import_module

    module = import_module(f"tandem.{_LATER[name] or name}")
    _missing.explain_missing_names()
    return getattr(module, name) if _LATER[name] else module


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


_missing.explain_missing_names()
