"""`tandem.backends.cudnn`: cuDNN, NVIDIA's library of convolutions, and its flags, as in PyTorch.

`enabled`: may cuDNN compute convolutions on GPUs? Otherwise kernels of Tandem's own do. `allow_tf32`: may float32
convolutions there round their operands to TF32, with 10 bits of precision? False unless a program says otherwise; in
PyTorch it is True. Both are read when an operation is called, or recorded: what was compiled, saved or taped with one
value keeps it, and a compiled function that is called with another is compiled again. On the CPU they change nothing.

`deterministic`, `benchmark` and `benchmark_limit` may be set and change nothing: only engines that add in a fixed order
are used, and which one follows from the operation.
"""

from __future__ import annotations

import sys
import types
from contextlib import AbstractContextManager

from tandem import _C
from tandem.backends._flags import within

enabled: bool
allow_tf32: bool
benchmark = False
deterministic = False
benchmark_limit = 10


class _Module(types.ModuleType):
    """The flags that the library has itself."""

    @property
    def enabled(self) -> bool:
        return bool(_C._compute_flags()[2])

    @enabled.setter
    def enabled(self, value: bool) -> None:
        products, convolutions, _ = _C._compute_flags()
        _C._set_compute_flags(products, convolutions, value)

    @property
    def allow_tf32(self) -> bool:
        return bool(_C._compute_flags()[1])

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        products, _, library = _C._compute_flags()
        _C._set_compute_flags(products, value, library)


sys.modules[__name__].__class__ = _Module


def version() -> int | None:
    """The version of the library that GPUs use, 92800 for 9.28.0; None without one, or without a GPU. Opens it."""
    return _C._gpu_cudnn_version() or None


def is_available() -> bool:
    """Is there a GPU, and cuDNN for it?"""
    return version() is not None


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> AbstractContextManager[None]:
    """Other flags within a `with` block. Those that are not given have the defaults above, as in PyTorch.

    >>> from tandem.backends import cudnn
    >>> with cudnn.flags(enabled=True, allow_tf32=True):
    ...     cudnn.allow_tf32
    True
    >>> cudnn.allow_tf32
    False
    """
    return within(
        __name__,
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
    )
