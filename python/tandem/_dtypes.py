"""Facts about dtypes: their limits, and the layouts and memory formats that PyTorch's signatures name."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tandem import _C

__all__ = [
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "finfo",
    "iinfo",
    "layout",
    "legacy_contiguous_format",
    "memory_format",
    "preserve_format",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]


class layout:
    """How a tensor's elements lie in memory: `tandem.strided`. No tensor has one of the others (`sparse_coo`,
    `sparse_csr`, `sparse_csc`, `sparse_bsr`, `sparse_bsc`), which programs compare with.

    >>> import tandem
    >>> tandem.zeros(2).layout
    tandem.strided
    """

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return f"{_C._package_name()}.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class memory_format:
    """The order in which dims lie in memory: `tandem.contiguous_format`, `preserve_format`, `channels_last` (4-d
    tensors) and `channels_last_3d` (5-d ones).

    `to`, `clone` and `contiguous` give the strides of the format that they are asked for, and elementwise operations
    those of their operands. Other operations give new tensors in row-major order, and take the argument where PyTorch's
    signatures have it.

    >>> import tandem
    >>> tandem.zeros(1, 2, 3, 3).contiguous(memory_format=tandem.channels_last).stride()
    (18, 1, 6, 2)
    """

    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return f"{_C._package_name()}.{self._name}"

    def __reduce__(self) -> str:
        return self._name


layout.__module__ = memory_format.__module__ = "tandem"
strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
contiguous_format = legacy_contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


class _Format(NamedTuple):
    mantissa: int
    min_exponent: int
    max_exponent: int
    resolution: float
    epsilon: float | None = None  # where it does not follow from the mantissa


# The format of a complex dtype is that of its parts. Those without infinity reach further, or not as far.
_FORMATS = {
    _C.complex32: _Format(10, -14, 15, 1e-3),
    _C.complex64: _Format(23, -126, 127, 1e-6),
    _C.complex128: _Format(52, -1022, 1023, 1e-15),
    _C.float8_e4m3fn: _Format(3, -6, 8, 1.0),
    _C.float8_e5m2: _Format(2, -14, 15, 1.0),
    _C.float8_e4m3fnuz: _Format(3, -7, 7, 1.0),
    _C.float8_e5m2fnuz: _Format(2, -15, 15, 1.0, 0.125),
    _C.float8_e8m0fnu: _Format(0, -127, 127, 1.0),
    _C.float16: _Format(10, -14, 15, 1e-3),
    _C.bfloat16: _Format(7, -126, 127, 1e-2),
    _C.float32: _Format(23, -126, 127, 1e-6),
    _C.float64: _Format(52, -1022, 1023, 1e-15),
}


_PARTS = {_C.complex32: _C.float16, _C.complex64: _C.float32, _C.complex128: _C.float64}


# The types of Python that stand for dtypes.
_OF_PYTHON = {float: _C.float64, int: _C.int64, bool: _C.bool, complex: _C.complex128}


def dtype_of(value: Any) -> Any:
    """The dtype that a type of Python stands for; anything else as it is."""
    return _OF_PYTHON.get(value, value) if isinstance(value, type) else value


class finfo:
    """Limits of a floating-point dtype (of the default dtype when none is given).

    Example:
        >>> import tandem
        >>> tandem.finfo(tandem.float32).eps
        1.1920928955078125e-07
    """

    dtype: str
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    resolution: float

    def __new__(cls, dtype: _C.dtype | type | None = None) -> finfo:
        dtype = _C.get_default_dtype() if dtype is None else dtype_of(dtype)
        made = _FINFOS.get(dtype)
        if made is None:
            raise TypeError(f"finfo() requires a floating point input type. Use iinfo to handle '{dtype}'")
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of finfo is not writable: all of a dtype are one object")

    def __reduce__(self) -> tuple[type, tuple[_C.dtype]]:
        return finfo, (getattr(_C, self.dtype),)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


def _finfo_of(dtype: _C.dtype, f: _Format) -> finfo:
    made = object.__new__(finfo)
    part = _PARTS.get(dtype, dtype)
    eps = math.ldexp(1.0, -f.mantissa)
    # The largest pattern of e4m3fn is NaN.
    most = math.ldexp(2.0 - eps * (2 if dtype is _C.float8_e4m3fn else 1), f.max_exponent)
    tiny = math.ldexp(1.0, f.min_exponent)
    made.__dict__.update(
        dtype=str(part).rpartition(".")[2],
        bits=part.itemsize * 8,
        eps=eps if f.epsilon is None else f.epsilon,
        max=most,
        min=-most if dtype.is_signed else tiny,
        tiny=tiny,
        smallest_normal=tiny,
        resolution=f.resolution,
    )
    return made


_FINFOS = {dtype: _finfo_of(dtype, f) for dtype, f in _FORMATS.items()}


class iinfo:
    """Limits of an integer dtype.

    Example:
        >>> import tandem
        >>> tandem.iinfo(tandem.int8).min
        -128
    """

    def __init__(self, dtype: _C.dtype | type):
        dtype = dtype_of(dtype)
        if not isinstance(dtype, _C.dtype):
            raise TypeError(f"iinfo(): argument 'type' must be tandem.dtype, not {type(dtype).__name__}")
        if dtype.is_floating_point or dtype.is_complex or dtype is _C.bool:
            raise TypeError(f"iinfo() requires an integer input type. Use finfo to handle '{dtype}'")
        self.dtype = str(dtype).rpartition(".")[2]
        self.bits = dtype.itemsize * 8
        self.min = -(1 << (self.bits - 1)) if dtype.is_signed else 0
        self.max = (1 << (self.bits - dtype.is_signed)) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


finfo.__module__ = iinfo.__module__ = "tandem"
