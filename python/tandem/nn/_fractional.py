"""Pools of windows at random places, with their arguments settled."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor

_core = tandem._C._nn


def _fractional_max_pool(dims: int) -> Any:
    def pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        if output_size is None and output_ratio is None:
            raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
        kernel = _each(kernel_size, dims)
        if output_size is None:
            ratios = _each(output_ratio, dims)
            output_size = [int(n * r) for n, r in zip(input.shape[-dims:], ratios, strict=True)]
        if _random_samples is None:
            batch = 1 if input.dim() == dims + 1 else input.shape[0]
            _random_samples = tandem.rand(batch, input.shape[-dims - 1], dims, dtype=input.dtype)
        values, indices = _core.fractional_max_pool(input, kernel, _each(output_size, dims), _random_samples)
        return (values, indices) if return_indices else values

    pool.__name__ = pool.__qualname__ = f"fractional_max_pool{dims}d"
    pool.__doc__ = (
        f"Largest value of windows of the last {dims} dimensions at random places (Graham 2014): `output_size` of\n"
        "    them, or `output_ratio` times the input's sizes.\n\n"
        "    With `return_indices`, also the flat place of each among those dimensions. `_random_samples` [N, C, "
        f"{dims}]\n    in [0, 1) decides the places."
    )
    return pool


def _each(value: Any, dims: int) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value] * dims


fractional_max_pool2d, fractional_max_pool3d = _fractional_max_pool(2), _fractional_max_pool(3)
