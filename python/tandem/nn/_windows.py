"""Pooling functions of `nn.functional`: each is one function of the core for 1, 2 and 3 spatial dims, with optional
indices and sizes by default settled before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar, overload

import tandem
from tandem import Tensor
from tandem._functions import _need_tensor
from tandem.nn.common_types import _maybe_indices_t, _size_any_opt_t, _size_any_t

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d_with_indices",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool1d_with_indices",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

_core = tandem._C._nn
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _MaxPool(Protocol):
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> _maybe_indices_t: ...


class _AdaptiveAvgPool(Protocol):
    def __call__(self, input: Tensor, output_size: _size_any_opt_t) -> Tensor: ...


class _AdaptiveMaxPool(Protocol):
    @overload
    def __call__(
        self, input: Tensor, output_size: _size_any_opt_t, return_indices: Literal[False] = False
    ) -> Tensor: ...
    @overload
    def __call__(
        self, input: Tensor, output_size: _size_any_opt_t, return_indices: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self, input: Tensor, output_size: _size_any_opt_t, return_indices: bool = False
    ) -> _maybe_indices_t: ...


class _MaxUnpool(Protocol):
    def __call__(
        self,
        input: Tensor,
        indices: Tensor,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor: ...


def _named(function: _Function, name: str, doc: str) -> _Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _sized(sizes: str, dims: int) -> str:
    """The text of a shape [1, 2, ...] with `dims` spatial sizes, all `sizes`."""
    return ", ".join(["1", "2", *[sizes] * dims])


def _max_pool(dims: int) -> _MaxPool:
    name = f"max_pool{dims}d"
    plain, with_indices = getattr(_core, name), getattr(_core, f"{name}_with_indices")

    def max_pool(
        input: Tensor,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        if return_indices:
            return with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return plain(input, kernel_size, stride, padding, dilation, ceil_mode)

    doc = f"""The largest value of each window of the last {dims} of {dims + 1} or {dims + 2} dims.

    Args:
        kernel_size, stride, padding, dilation: of the windows, one number or one for each dim; `stride` is the kernel's
            size when None. Padding, at most half the kernel (RuntimeError), counts as -inf.
        ceil_mode: round the number of windows up.
        return_indices: return also the flat place of each value among those dims, int64.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.{name}(tandem.zeros({_sized("6", dims)}), 2).shape
        tandem.Size([{_sized("3", dims)}])
    """
    return _named(max_pool, name, doc)


max_pool1d, max_pool2d, max_pool3d = _max_pool(1), _max_pool(2), _max_pool(3)


def _kept_sizes(name: str, input: Tensor, output_size: _size_any_opt_t, dims: int) -> list[int]:
    """`output_size` of the pool `name` as a list, with the input's own size for None."""
    _need_tensor(name, input)
    several = isinstance(output_size, (tuple, list))
    wanted = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * dims
    if not several and dims > input.dim():
        raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D tensor, but got {list(input.shape)}")
    if several and len(wanted) >= input.dim() + (dims == 1):
        raise ValueError(f"Input dimension should be at least {len(wanted) + 1}")
    if len(wanted) != dims:
        raise RuntimeError(f"{name}: output_size must be one number or {dims}, but got {output_size}")
    return [have if want is None else want for want, have in zip(wanted, input.shape[-len(wanted) :], strict=True)]


def _adaptive_doc(what: str, name: str, dims: int, more: str) -> str:
    return f"""{what} windows that divide the last {dims} of {dims + 1} or {dims + 2} dims into `output_size`.

    `output_size` is one number, or one for each of those dims, of which None keeps the input's (RuntimeError for
    another number of them). Window i of n over a size L reaches from floor(i L / n) to ceil((i + 1) L / n).{more}

    Example:
        >>> import tandem
        >>> tandem.nn.functional.{name}(tandem.zeros({_sized("5", dims)}), 3).shape
        tandem.Size([{_sized("3", dims)}])
    """


def _adaptive_avg_pool(dims: int) -> _AdaptiveAvgPool:
    name = f"adaptive_avg_pool{dims}d"
    pool = getattr(_core, name)

    def adaptive_avg_pool(input: Tensor, output_size: _size_any_opt_t) -> Tensor:
        return pool(input, _kept_sizes(name, input, output_size, dims))

    return _named(adaptive_avg_pool, name, _adaptive_doc("The mean of", name, dims, ""))


def _adaptive_max_pool(dims: int) -> _AdaptiveMaxPool:
    name = f"adaptive_max_pool{dims}d"
    pool = getattr(_core, name)

    def adaptive_max_pool(input: Tensor, output_size: _size_any_opt_t, return_indices: bool = False) -> Any:
        values, indices = pool(input, _kept_sizes(name, input, output_size, dims))
        return (values, indices) if return_indices else values

    more = "\n\n    With `return_indices`, also the flat place of each value among those dims, int64."
    return _named(adaptive_max_pool, name, _adaptive_doc("The largest value of", name, dims, more))


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_avg_pool(n) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_max_pool(n) for n in (1, 2, 3))


def _with_indices(pool: _MaxPool) -> Callable[..., tuple[Tensor, Tensor]]:
    base = pool.__name__  # type: ignore[attr-defined]  # a function

    def max_pool_with_indices(
        input: Tensor,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)

    return _named(max_pool_with_indices, f"{base}_with_indices", _indices_doc(base, "2"))


def _adaptive_with_indices(pool: _AdaptiveMaxPool) -> Callable[..., tuple[Tensor, Tensor]]:
    base = pool.__name__  # type: ignore[attr-defined]  # a function

    def adaptive_max_pool_with_indices(
        input: Tensor, output_size: _size_any_opt_t, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        return pool(input, output_size, return_indices=True)

    return _named(adaptive_max_pool_with_indices, f"{base}_with_indices", _indices_doc(base, "3"))


def _indices_doc(base: str, size: str) -> str:
    dims = int(base[-2])
    return f"""`{base}` and the flat place of each value among the last {dims} dims, int64, in any case.

    Example:
        >>> import tandem
        >>> values, places = tandem.nn.functional.{base}_with_indices(tandem.zeros({_sized("6", dims)}), {size})
        >>> values.shape == places.shape
        True
    """


max_pool1d_with_indices = _with_indices(max_pool1d)
max_pool2d_with_indices = _with_indices(max_pool2d)
max_pool3d_with_indices = _with_indices(max_pool3d)
adaptive_max_pool1d_with_indices = _adaptive_with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _adaptive_with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _adaptive_with_indices(adaptive_max_pool3d)


def _tuple_of(value: _size_any_t, count: int) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * count if len(values) == 1 else values


def _unpooled_sizes(sizes: list[int], step: tuple[int, ...], output_size: Sequence[int]) -> list[int]:
    """The spatial sizes that `output_size` asks for, each less than a step from the ordinary one."""
    dims = len(sizes)
    wanted = list(output_size)[-dims:] if len(output_size) in (dims, dims + 1, dims + 2) else []
    if len(wanted) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length "
            f"of '{len(output_size)}'"
        )
    for size, usual, s in zip(wanted, sizes, step, strict=True):
        if not usual - s < size < usual + s:
            raise ValueError(
                f'invalid output_size "{wanted}" (each size must lie between {usual - s} and {usual + s}, exclusive)'
            )
    return wanted


def _max_unpool(dims: int) -> _MaxUnpool:
    name = f"max_unpool{dims}d"

    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        kernel = _tuple_of(kernel_size, dims)
        step = kernel if stride is None or stride in ((), []) else _tuple_of(stride, dims)
        edge = _tuple_of(padding, dims)
        for what, values in (("kernel_size", kernel), ("stride", step), ("padding", edge)):
            if len(values) != dims:
                raise RuntimeError(f"{name}: {what} should have one element or {dims}, but got {len(values)}")
        sizes = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-dims:], step, kernel, edge, strict=True)]
        if output_size is not None:
            sizes = _unpooled_sizes(sizes, step, output_size)
        return _core.max_unpool(input, indices, sizes)

    doc = f"""Zeros of the size before `max_pool{dims}d`, with `input` at the places `indices`.

    `kernel_size`, `stride` and `padding` are those of the pooling, `indices` the places it returned. `output_size`, the
    {dims} spatial sizes or all of them, chooses among the sizes that were pooled to the input's (ValueError for any
    other); IndexError for a place outside.

    Example:
        >>> import tandem
        >>> x = tandem.arange({4**dims}.0).reshape({_sized("4", dims).replace("2", "1", 1)})
        >>> pooled = tandem.nn.functional.max_pool{dims}d(x, 2, return_indices=True)
        >>> tandem.nn.functional.{name}(*pooled, 2).count_nonzero().item()
        {2**dims}
    """
    return _named(max_unpool, name, doc)


max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool(1), _max_unpool(2), _max_unpool(3)
