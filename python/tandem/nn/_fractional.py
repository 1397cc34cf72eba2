"""Pools of windows at random places, with their arguments settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tandem
from tandem import Tensor
from tandem.nn.common_types import _size_any_t

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]

_core = tandem._C._nn


def _fractional_max_pool(dims: int) -> Callable[..., Any]:
    def pool(
        input: Tensor,
        kernel_size: _size_any_t,
        output_size: _size_any_t | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        if output_size is None and output_ratio is None:
            raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
        kernel = _each(kernel_size, dims)
        sizes = _each(output_size, dims)
        for what, numbers in (("kernel_size", kernel), ("output_size", sizes)):
            if len(numbers) != dims:
                raise RuntimeError(
                    f"fractional_max_pool{dims}d: {what} must either be a single Int or tuple of {dims} Ints, but got "
                    f"{len(numbers)}"
                )
        if output_size is None:
            ratios = _each(output_ratio, dims)
            if len(ratios) != dims:
                raise ValueError(
                    f"fractional_max_pool{dims}d requires output_ratio to either be a single number or {dims} numbers"
                )
            sizes = [int(n * r) for n, r in zip(input.shape[-dims:], ratios, strict=True)]
        if _random_samples is None:
            batch = 1 if input.dim() == dims + 1 else input.shape[0]
            _random_samples = tandem.rand(batch, input.shape[-dims - 1], dims, dtype=input.dtype, device=input.device)
        if any(n == 0 for n in sizes) or input.numel() == 0:
            if 0 in input.shape[-dims - 1 :]:
                raise RuntimeError(
                    f"fractional_max_pool{dims}d(): Expected input to have non-zero size for non-batch dimensions, but "
                    f"got {list(input.shape)}"
                )
            # Windows of nothing, or none: the results hang together with the input all the same.
            values = input.narrow(-1, 0, 0).sum(tuple(range(-dims, 0)), keepdim=True)
            values = values.expand(*input.shape[:-dims], *sizes).clone()
            return (values, values.to(tandem.int64)) if return_indices else values
        values, indices = _core.fractional_max_pool(input, kernel, sizes, _random_samples)
        return (values, indices) if return_indices else values

    pool.__name__ = pool.__qualname__ = f"fractional_max_pool{dims}d"
    shape = ", ".join(["1", "1"] + ["6"] * dims)
    pool.__doc__ = f"""The largest values of windows of the last {dims} dims at random places (Graham 2014).

    Args:
        input: [N, C, ...] or [C, ...] with {dims} last dims.
        kernel_size: sizes of the windows.
        output_size: how many windows; or by `output_ratio`, times the input's sizes. ValueError without either.
        return_indices: also the flat place of each value among those dims, int64.
        _random_samples: [N, C, {dims}] in [0, 1), which decide the places; drawn where None.

    Example:
        >>> import tandem
        >>> x = tandem.ones({shape})
        >>> tandem.nn.functional.fractional_max_pool{dims}d(x, 2, output_size=3).shape
        tandem.Size([{", ".join(["1", "1"] + ["3"] * dims)}])
    """
    return pool


def _each(value: Any, dims: int) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value] * dims


fractional_max_pool2d, fractional_max_pool3d = _fractional_max_pool(2), _fractional_max_pool(3)


def _with_indices(dims: int) -> Callable[..., Any]:
    pool = (fractional_max_pool2d, fractional_max_pool3d)[dims - 2]

    def pool_with_indices(
        input: Tensor,
        kernel_size: _size_any_t,
        output_size: _size_any_t | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        return pool(input, kernel_size, output_size, output_ratio, True, _random_samples)

    pool_with_indices.__name__ = pool_with_indices.__qualname__ = f"{pool.__name__}_with_indices"
    shape = ", ".join(["1", "1"] + ["6"] * dims)
    pool_with_indices.__doc__ = f"""`{pool.__name__}` and the flat place of each value, whatever `return_indices` is.

    Example:
        >>> import tandem
        >>> x = tandem.ones({shape})
        >>> values, places = tandem.nn.functional.{pool.__name__}_with_indices(x, 2, output_size=3)
        >>> values.shape == places.shape
        True
    """
    return pool_with_indices


fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices = _with_indices(2), _with_indices(3)
