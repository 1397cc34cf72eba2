"""Copies where others give views, and memory with strides that a call chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem import _C
from tandem._functions import _need_tensor

__all__ = [
    "as_strided_copy",
    "detach_copy",
    "diagonal_copy",
    "empty_permuted",
    "empty_strided",
    "expand_copy",
    "permute_copy",
    "select_copy",
    "slice_copy",
    "slice_inverse",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "t_copy",
    "transpose_copy",
    "unbind_copy",
    "unfold_copy",
    "unsqueeze_copy",
    "view_copy",
]

Tensor = _C.Tensor


def _copy(view: Tensor, out: Tensor | None = None) -> Tensor:
    if out is not None and out.dtype is not view.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {view.dtype}, but got {out.dtype} instead")
    return _C.alias_copy(view, out=out)


# ---- memory


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of the given sizes and strides, in elements, over memory of its own that just holds it; not set.

    Strides may be 0 or let elements share a place. RuntimeError for negative ones, or not one for each size.

    >>> import tandem
    >>> tandem.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    held = 1
    for n, by in zip(size, stride, strict=True):
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
        if by < 0:
            raise RuntimeError(
                f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}: strides must "
                "not be negative"
            )
        held += (n - 1) * by
    memory = _C.empty(0 if 0 in size else held, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    made = memory.as_strided(tuple(size), tuple(stride)).detach()
    return made.requires_grad_() if requires_grad else made


def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of the given sizes whose dims lie in memory in the order `physical_layout`, outermost first; not set.

    RuntimeError unless that names every dim once, by a number from 0 on.

    >>> import tandem
    >>> tandem.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    rank = len(size)
    if len(physical_layout) != rank:
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{rank} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for i, dim in enumerate(physical_layout):
        if not 0 <= dim < rank:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {rank - 1}, but got {dim} at index {i}).  NB: "
                "negative dims not currently supported; file an issue if you want it."
            )
    if len(set(physical_layout)) != rank:
        raise RuntimeError("Duplicate dim not allowed")
    stride, step = [0] * rank, 1
    for dim in reversed(physical_layout):
        stride[dim], step = step, step * max(size[dim], 1)
    return empty_strided(
        size,
        stride,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


# ---- copies of views


def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` without history, in row-major order.

    >>> import tandem
    >>> tandem.detach_copy(tandem.ones(2, requires_grad=True)).requires_grad
    False
    """
    _need_tensor("detach_copy", input)
    return _copy(input.detach(), out=out)


def as_strided_copy(
    input: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of `as_strided(input, size, stride, storage_offset)`.

    >>> import tandem
    >>> tandem.as_strided_copy(tandem.arange(6), (3, 2), (1, 2)).stride()
    (2, 1)
    """
    _need_tensor("as_strided_copy", input)
    return _copy(input.as_strided(tuple(size), tuple(stride), storage_offset), out=out)


def expand_copy(input: Tensor, size: Sequence[int], *, implicit: bool = False, out: Tensor | None = None) -> Tensor:
    """A copy of `input.expand(size)`: every element is there by itself. `implicit` changes nothing.

    >>> import tandem
    >>> tandem.expand_copy(tandem.ones(2, 1), (2, 3)).stride()
    (3, 1)
    """
    _need_tensor("expand_copy", input)
    return _copy(input.expand(tuple(size)), out=out)


def permute_copy(input: Tensor, dims: Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """A copy of `permute(input, dims)`.

    >>> import tandem
    >>> tandem.permute_copy(tandem.zeros(2, 3, 4), (2, 0, 1)).stride()
    (6, 3, 1)
    """
    _need_tensor("permute_copy", input)
    return _copy(input.permute(tuple(dims)), out=out)


def transpose_copy(input: Tensor, dim0: int, dim1: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `transpose(input, dim0, dim1)`.

    >>> import tandem
    >>> tandem.transpose_copy(tandem.zeros(2, 3), 0, 1).stride()
    (2, 1)
    """
    _need_tensor("transpose_copy", input)
    return _copy(input.transpose(dim0, dim1), out=out)


def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of `t(input)`.

    >>> import tandem
    >>> tandem.t_copy(tandem.zeros(2, 3)).stride()
    (2, 1)
    """
    _need_tensor("t_copy", input)
    return _copy(input.t(), out=out)


def select_copy(input: Tensor, dim: int, index: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `select(input, dim, index)`.

    >>> import tandem
    >>> tandem.select_copy(tandem.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    _need_tensor("select_copy", input)
    return _copy(input.select(dim, index), out=out)


def _sliced(input: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if not -input.dim() <= dim < input.dim():
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got {dim})"
        )
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return input[(slice(None),) * (dim % input.dim()) + (slice(start, end, step),)]


def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of the elements start, start + step, ... below `end` of `dim`; numbers count as in Python's slices.

    RuntimeError unless `step` is positive.

    >>> import tandem
    >>> tandem.slice_copy(tandem.arange(6), 0, 1, -1, 2)
    tensor([1, 3])
    """
    _need_tensor("slice_copy", input)
    return _copy(_sliced(input, dim, start, end, step), out=out)


def slice_inverse(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The window on the storage of `input` of which `src` has the sizes of the slice, and `src` the rest: a view of
    `input` with the shape and strides of `src`.

    RuntimeError unless the slice of `src` has the shape of `input`.

    >>> import tandem
    >>> whole = tandem.arange(4)
    >>> tandem.slice_inverse(whole[1:3], whole, 0, 1, 3)
    tensor([0, 1, 2, 3])
    """
    _need_tensor("slice_inverse", input)
    window = _sliced(src, dim, start, end, step)
    if window.shape != input.shape:
        raise RuntimeError(
            f"Expected input to have the shape of the slice, {list(window.shape)}, but got {list(input.shape)}"
        )
    offset = input.storage_offset() - (window.storage_offset() - src.storage_offset())
    return input.as_strided(tuple(src.shape), src.stride(), offset)


def split_copy(
    input: Tensor, split_size: int, dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...] | None:
    """Copies of pieces of a size along `dim`; the last may be smaller. Given `out`, tensors that take them, None.

    >>> import tandem
    >>> tandem.split_copy(tandem.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    _need_tensor("split_copy", input)
    if not isinstance(split_size, int):
        raise TypeError(
            f"split_copy(): argument 'split_size' (position 2) must be int, not {type(split_size).__name__}"
        )
    return _each("split_copy", input.split(split_size, dim), out)


def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...] | None:
    """Copies of pieces of the given sizes along `dim`. Given `out`, tensors that take them, None.

    >>> import tandem
    >>> tandem.split_with_sizes_copy(tandem.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    _need_tensor("split_with_sizes_copy", input)
    return _each("split_with_sizes_copy", input.split_with_sizes(list(split_sizes), dim), out)


def unbind_copy(input: Tensor, dim: int = 0, *, out: Sequence[Tensor] | None = None) -> tuple[Tensor, ...] | None:
    """Copies of all slices of `dim`. Given `out`, tensors that take them, None.

    >>> import tandem
    >>> tandem.unbind_copy(tandem.tensor([[1, 2], [3, 4]]), 1)
    (tensor([1, 3]), tensor([2, 4]))
    """
    _need_tensor("unbind_copy", input)
    return _each("unbind_copy", input.unbind(dim), out)


def _each(name: str, pieces: Sequence[Tensor], out: Sequence[Tensor] | None) -> tuple[Tensor, ...] | None:
    if out is None:
        return tuple(_copy(piece) for piece in pieces)
    if len(out) != len(pieces):
        raise RuntimeError(f"{name}() expected an out= argument of size {len(pieces)}, got size {len(out)}")
    for piece, to in zip(pieces, out):
        _copy(piece, out=to)
    return None


def squeeze_copy(input: Tensor, dim: int | Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """A copy of `squeeze(input, dim)`.

    >>> import tandem
    >>> tandem.squeeze_copy(tandem.zeros(1, 3, 1)).shape
    tandem.Size([3])
    """
    _need_tensor("squeeze_copy", input)
    return _copy(input.squeeze() if dim is None else input.squeeze(dim), out=out)


def unsqueeze_copy(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `unsqueeze(input, dim)`.

    >>> import tandem
    >>> tandem.unsqueeze_copy(tandem.zeros(3), 1).shape
    tandem.Size([3, 1])
    """
    _need_tensor("unsqueeze_copy", input)
    return _copy(input.unsqueeze(dim), out=out)


def unfold_copy(input: Tensor, dimension: int, size: int, step: int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input.unfold(dimension, size, step)`.

    >>> import tandem
    >>> tandem.unfold_copy(tandem.arange(3), 0, 2, 1)
    tensor([[0, 1],
            [1, 2]])
    """
    _need_tensor("unfold_copy", input)
    return _copy(input.unfold(dimension, size, step), out=out)


def view_copy(
    input: Tensor, size: Sequence[int] | None = None, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """A copy of `input` in the shape `size`, whatever its strides; or of its memory as numbers of another dtype.

    Args:
        input: any tensor.
        size: the shape; one size of it may be -1. Or a dtype.
        dtype: a dtype, in place of a shape.
        out: what takes the result.

    >>> import tandem
    >>> tandem.view_copy(tandem.tensor([[0, 1], [2, 3]]).t(), (4,))
    tensor([0, 2, 1, 3])
    """
    _need_tensor("view_copy", input)
    if isinstance(size, _C.dtype):
        size, dtype = None, size
    if (size is None) == (dtype is None):
        raise TypeError("view_copy() takes either a size or a dtype")
    if size is None:
        return _copy(input.view(dtype), out=out)
    return _copy(input.reshape(tuple(size)), out=out)


def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of `diagonal(input, offset, dim1, dim2)`.

    >>> import tandem
    >>> tandem.diagonal_copy(tandem.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    _need_tensor("diagonal_copy", input)
    return _copy(input.diagonal(offset, dim1, dim2), out=out)
