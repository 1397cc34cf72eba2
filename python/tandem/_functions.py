"""Top-level functions that are written in Python: questions about objects, and forms that a record has no room for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from tandem import _C

__all__ = [
    "broadcast_shapes",
    "get_device_module",
    "is_complex",
    "is_floating_point",
    "is_storage",
    "is_tensor",
    "kaiser_window",
    "masked_select",
    "nonzero",
    "numel",
    "real",
    "scalar_tensor",
    "unravel_index",
]

Tensor = _C.Tensor


def _need_tensor(function: str, value: Any, name: str = "input", position: int = 1) -> Tensor:
    """The value of a parameter, if it is a tensor or of a class that says itself what operations do."""
    if not isinstance(value, Tensor) and not hasattr(type(value), "__torch_function__"):
        kind = type(value).__name__
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {kind}")
    return value


def is_tensor(obj: Any) -> bool:
    """Is `obj` a tandem.Tensor, or an object of a subclass of it?

    >>> import tandem
    >>> tandem.is_tensor(tandem.zeros(2)), tandem.is_tensor([0.0, 0.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """The number of elements of a tensor: the product of its sizes, 1 for a 0-d tensor.

    >>> import tandem
    >>> tandem.numel(tandem.zeros(2, 3))
    6
    """
    return _need_tensor("numel", input).numel()


def is_floating_point(input: Tensor) -> bool:
    """Is the dtype of a tensor float16, bfloat16, float32 or float64?

    >>> import tandem
    >>> tandem.is_floating_point(tandem.tensor([1.0])), tandem.is_floating_point(tandem.tensor([1]))
    (True, False)
    """
    return _need_tensor("is_floating_point", input).is_floating_point()


def is_complex(input: Tensor) -> bool:
    """False for every tensor: there are no complex dtypes.

    >>> import tandem
    >>> tandem.is_complex(tandem.zeros(2))
    False
    """
    return _need_tensor("is_complex", input).is_complex()


@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Tensor | tuple[Tensor, ...]:
    """The indices of the elements that are not zero, in row-major order.

    Args:
        input: a tensor of any dtype and n dims.
        as_tuple: False: an int64 tensor [number of such elements, n], a row each; True: its columns, a vector for each
            dim, with which `input` can be indexed.

    The size depends on the data, so a function that is being compiled cannot read it (DataReadError).

    >>> import tandem
    >>> tandem.nonzero(tandem.tensor([[0.0, 2.0], [3.0, 0.0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    _need_tensor("nonzero", input)
    if out is not None:
        return input.nonzero(as_tuple=as_tuple, out=out)  # type: ignore[call-overload]
    return input.nonzero(as_tuple=as_tuple)  # type: ignore[call-overload]


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` where `mask` holds, as a vector in row-major order.

    Args:
        input: a tensor of any dtype.
        mask: a bool tensor; both are broadcast to one shape.
        out: a tensor of the dtype of `input` that takes the result.

    Raises RuntimeError if `mask` is not bool or the shapes do not broadcast. The size depends on the data.

    >>> import tandem
    >>> x = tandem.tensor([1.0, -2.0, 3.0])
    >>> tandem.masked_select(x, x > 0)
    tensor([1., 3.])
    """
    return _need_tensor("masked_select", input).masked_select(mask, out=out)


def is_storage(obj: Any) -> bool:
    """Is `obj` a storage, as `Tensor.storage()` and `untyped_storage()` give it?

    >>> import tandem
    >>> tandem.is_storage(tandem.zeros(2)), tandem.is_storage(tandem.zeros(2).untyped_storage())
    (False, True)
    """
    from tandem._support import Storage

    return isinstance(obj, Storage)


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of devices: `tandem.cpu`, `tandem.cuda`, `tandem.xpu`, `tandem.mps`.

    Args:
        device: a device or its name; None is that of the accelerator, or the CPU where there is none.

    RuntimeError for a kind without a module.

    >>> import tandem
    >>> tandem.get_device_module("cpu") is tandem.cpu, tandem.get_device_module("cuda:0") is tandem.cuda
    (True, True)
    """
    import tandem

    if device is None:
        kind = "cuda" if tandem.cuda.is_available() else "cpu"
    else:
        kind = _C.device(device).type
    module = {"cpu": tandem.cpu, "cuda": tandem.cuda, "xpu": tandem.xpu, "mps": tandem.mps}.get(kind)
    if module is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return module


def broadcast_shapes(*shapes: int | Sequence[int]) -> Any:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        RuntimeError: they do not, or what is given is no shape.
        ValueError: a negative size.

    >>> import tandem
    >>> tandem.broadcast_shapes((2, 1), (3,))
    tandem.Size([2, 3])
    """
    for s in shapes:
        if not isinstance(s, (int, tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}")
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    rank = max(map(len, given), default=0)
    out = [1] * rank
    for shape in given:
        for i, size in enumerate(shape, start=rank - len(shape)):
            if size < 0:
                raise ValueError(f"Attempting to broadcast a dimension with negative length! Got {size}")
            if size not in (1, out[i]):
                if out[i] != 1:
                    raise RuntimeError(
                        f"Shape mismatch: objects cannot be broadcast to a single shape: {', '.join(map(str, given))}"
                    )
                out[i] = size
    return _C.Size(out)


def scalar_tensor(s: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of the default dtype (or `dtype`) that holds `s`.

    >>> import tandem
    >>> tandem.scalar_tensor(2)
    tensor(2.)
    """
    return _C.full((), s, dtype=dtype or _C.get_default_dtype(), device=device, requires_grad=requires_grad)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta), I0 the modified Bessel function of order 0.

    Args:
        window_length: the number of elements.
        periodic: N is window_length, so that the window is one period; else one less, and it is symmetric.
        beta: how narrow it is: 0 is a rectangle.
        dtype: a floating one; the default dtype if None.
        layout, device, pin_memory, requires_grad: as of other functions that make tensors.

    RuntimeError for a negative length, or a dtype that is not floating.

    >>> import tandem
    >>> tandem.kaiser_window(5, periodic=False, beta=3.0)
    tensor([0.2049, 0.7269, 1.0000, 0.7269, 0.2049])
    """
    for name, value, kind in (("window_length", window_length, int), ("periodic", periodic, bool)):
        if not isinstance(value, kind):
            raise TypeError(f"kaiser_window(): argument '{name}' must be {kind.__name__}, not {type(value).__name__}")
    if window_length < 0:
        raise RuntimeError(f"kaiser_window requires non-negative window_length, got window_length={window_length}")
    to = _C.get_default_dtype() if dtype is None else dtype
    if not to.is_floating_point:
        raise RuntimeError(f"kaiser_window expects floating point dtypes, got: {to}")
    period = max(window_length if periodic else window_length - 1, 1)
    points = _C.arange(window_length, dtype=_C.float64, layout=layout, device=device, pin_memory=pin_memory)
    width = abs(beta)
    if window_length == 1:
        window = _C.ones_like(points)
    else:
        # Of I0 divided by its growth, which is finite for every beta.
        inner = width * (1 - (2 * points / period - 1).square()).clamp(min=0).sqrt()
        scaled = _C._special.i0e(_C.full_like(points[:1], width))
        window = _C._special.i0e(inner) * (inner - width).exp() / scaled
    return window.to(to).requires_grad_(requires_grad)


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates in a tensor of a shape of elements that are given by their numbers in row-major order.

    Args:
        indices: integers, of any shape, taken modulo the number of elements of `shape`.
        shape: a size, or a sequence of sizes.

    Returns a tuple of an int64 tensor of the shape of `indices` for each dim.

    Raises:
        TypeError: `indices` is no tensor of integers, or `shape` not made of ints.
        ValueError: a size is negative.
        RuntimeError: a size is 0, and there are indices.

    >>> import tandem
    >>> tandem.unravel_index(tandem.tensor([4, 1]), (3, 2))
    (tensor([2, 0]), tensor([0, 1]))
    """
    if not isinstance(indices, Tensor):
        raise TypeError(f"expected 'indices' to be a tensor, but got {type(indices)}")
    if indices.is_floating_point() or indices.dtype is _C.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    places = indices.long()
    if 0 in sizes:
        if indices.numel():
            raise RuntimeError(f"unravel_index: a tensor of shape {sizes} has no elements, but got indices")
        return tuple(places.clone() for _ in sizes)
    strides = [math.prod(sizes[d + 1 :]) for d in range(len(sizes))]
    return tuple(places.floor_divide(stride).remainder(size) for size, stride in zip(sizes, strides, strict=True))


def real(input: Tensor) -> Tensor:
    """The real part: the tensor itself, since there are no complex dtypes.

    >>> import tandem
    >>> tandem.real(tandem.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    return _need_tensor("real", input)


def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix of int8 or uint8 with one of int8, in int32."""
    for name, matrix, dtypes in (("self", input, (_C.int8, _C.uint8)), ("mat2", mat2, (_C.int8,))):
        if _need_tensor("_int_mm", matrix, name, 1 + (matrix is mat2)).dim() != 2:
            raise RuntimeError(f"_int_mm: Expected {name} to be of dimension 2 but got {matrix.dim()}")
        if matrix.dtype not in dtypes:
            raise RuntimeError(
                f"_int_mm: Expected {name} dtype to be {' or '.join(map(str, dtypes))} but got {matrix.dtype}"
            )
    return _C.mm(input.int(), mat2.int(), out=out)


def _assert(condition: Any, message: str) -> None:
    """An AssertionError with this message, unless the condition holds."""
    if type(condition) is not bool and _C._has_torch_function((condition,)):
        _C._handle_torch_function(_assert, "_assert", (condition,), (condition, message), {})
    elif not condition:
        raise AssertionError(message)


def _assert_async(input: Any, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """A RuntimeError with this message where a tensor of one element is zero."""
    if not input:
        raise RuntimeError(assert_msg)


def _check(cond: Any, message: Callable[[], object] | None = None) -> None:
    """A RuntimeError with what `message()` says, unless the condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_with(error: type[Exception], cond: Any, message: Callable[[], object] | None = None) -> None:
    """As `_check`, with another class of errors."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    if not cond:
        raise error("Expected cond to be True, but got False." if message is None else str(message()))


def _check_index(cond: Any, message: Callable[[], object] | None = None) -> None:
    """As `_check`, an IndexError."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], object] | None = None) -> None:
    """As `_check`, a ValueError."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], object] | None = None) -> None:
    """As `_check`, a TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], object] | None = None) -> None:
    """As `_check`, a NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond: Any, message: Callable[[], object] | None = None) -> None:
    """As `_check`, of all elements of a bool tensor."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_tensor_all_with(error: type[Exception], cond: Any, message: Callable[[], object] | None = None) -> None:
    """As `_check_tensor_all`, with another class of errors."""
    if not isinstance(cond, Tensor) or cond.dtype is not _C.bool:
        raise TypeError(f"cond must be a tensor of bools, but got {getattr(cond, 'dtype', type(cond))}")
    _check_with(error, bool(cond.all()), message)


def _check_is_size(i: int, message: Callable[[], object] | None = None, *, max: int | None = None) -> None:
    """As `_check`, of a size: not negative, and at most `max`."""
    _check_with(RuntimeError, i >= 0 and (max is None or i <= max), message)
