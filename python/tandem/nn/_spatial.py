"""Functions of `nn.functional` whose arguments need settling before the core sees them: sizes by default or by factor,
optional indices. What is computed on tensors is the core's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tandem
from tandem import Tensor

_core = tandem._C._nn


def _max_pool(dims: int) -> Any:
    plain = getattr(_core, f"max_pool{dims}d")
    with_indices = getattr(_core, f"max_pool{dims}d_with_indices")

    def max_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        if return_indices:
            return with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return plain(input, kernel_size, stride, padding, dilation, ceil_mode)

    max_pool.__name__ = max_pool.__qualname__ = f"max_pool{dims}d"
    max_pool.__doc__ = (
        f"Largest value of windows of the last {dims} of {dims + 1} or {dims + 2} dimensions; `stride` is the kernel's "
        "size by default.\n\n    With `return_indices`, also the flat place of each among those dimensions."
    )
    return max_pool


max_pool1d, max_pool2d, max_pool3d = (_max_pool(n) for n in (1, 2, 3))


def _kept_sizes(input: Tensor, output_size: Any, dims: int) -> list[int]:
    """`output_size` as a list, with the input's own size for None."""
    wanted = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * dims
    if len(wanted) == 1:
        wanted *= dims
    if len(wanted) > input.dim():
        raise ValueError(f"Input dimension should be at least {len(wanted) + 1}")
    return [have if want is None else want for want, have in zip(wanted, input.shape[-len(wanted) :], strict=True)]


def _adaptive_avg_pool(dims: int) -> Any:
    pool = getattr(_core, f"adaptive_avg_pool{dims}d")

    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        return pool(input, _kept_sizes(input, output_size, dims))

    adaptive_avg_pool.__name__ = adaptive_avg_pool.__qualname__ = f"adaptive_avg_pool{dims}d"
    adaptive_avg_pool.__doc__ = (
        f"Mean over windows that divide the last {dims} dimensions into `output_size`; None keeps a size."
    )
    return adaptive_avg_pool


def _adaptive_max_pool(dims: int) -> Any:
    pool = getattr(_core, f"adaptive_max_pool{dims}d")

    def adaptive_max_pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        values, indices = pool(input, _kept_sizes(input, output_size, dims))
        return (values, indices) if return_indices else values

    adaptive_max_pool.__name__ = adaptive_max_pool.__qualname__ = f"adaptive_max_pool{dims}d"
    adaptive_max_pool.__doc__ = (
        f"Largest value of windows that divide the last {dims} dimensions into `output_size`; None keeps a size.\n\n"
        "    With `return_indices`, also the flat place of each among those dimensions."
    )
    return adaptive_max_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_avg_pool(n) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_max_pool(n) for n in (1, 2, 3))


def _tuple_of(value: Any, count: int) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * count if len(values) == 1 else values


def _max_unpool(dims: int) -> Any:
    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        kernel = _tuple_of(kernel_size, dims)
        step = kernel if stride is None or stride in ((), []) else _tuple_of(stride, dims)
        edge = _tuple_of(padding, dims)
        sizes = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-dims:], step, kernel, edge, strict=True)]
        if output_size is not None:
            wanted = list(output_size)[-dims:] if len(output_size) in (dims, dims + 1, dims + 2) else []
            if len(wanted) != dims:
                raise ValueError(
                    f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length "
                    f"of '{len(output_size)}'"
                )
            for size, least, most in zip(
                wanted,
                (n - s for n, s in zip(sizes, step, strict=True)),
                (n + s for n, s in zip(sizes, step, strict=True)),
                strict=True,
            ):
                if not least < size < most:
                    raise ValueError(
                        f'invalid output_size "{wanted}" (each size must lie between {least} and {most}, exclusive)'
                    )
            sizes = wanted
        return _core.max_unpool(input, indices, sizes)

    max_unpool.__name__ = max_unpool.__qualname__ = f"max_unpool{dims}d"
    max_unpool.__doc__ = (
        f"Partial inverse of `max_pool{dims}d`: zeros of the unpooled size with `input` at the places `indices`."
    )
    return max_unpool


max_unpool1d, max_unpool2d, max_unpool3d = (_max_unpool(n) for n in (1, 2, 3))


# --- interpolation ----------------------------------------------------------------------------------------------------

_LINEAR = {3: "linear", 4: "bilinear", 5: "trilinear"}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample the spatial dimensions of [N, C, ...] to `size`, or by `scale_factor`.

    Modes: "nearest", "nearest-exact", "area"; "linear" of 3, "bilinear" and "bicubic" of 4, "trilinear" of 5 dims.
    `align_corners` puts the outermost elements of input and result at the same places. Places are computed with the
    scale factor given, unless `recompute_scale_factor`. `antialias` widens the kernel of "bilinear" and "bicubic" when
    the result is smaller.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.interpolate(tandem.tensor([[[0.0, 3.0]]]), 4, mode="linear").tolist()
        [[[0.0, 0.75, 2.25, 3.0]]]
    """
    interpolating = mode in ("linear", "bilinear", "bicubic", "trilinear")
    if not interpolating and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    factors: list[float] = []
    if size is not None:
        sizes = list(size) if isinstance(size, (tuple, list)) else [size] * dims
        if len(sizes) != dims:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, "
                "C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
            )
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    else:
        factors = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * dims
        if len(factors) != dims:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}."
            )
        sizes = [math.floor(float(n) * f) for n, f in zip(input.shape[2:], factors, strict=True)]
        if recompute_scale_factor or mode == "area":
            factors = []
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    expected = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}.get(mode)
    known = expected is not None or mode in ("nearest", "nearest-exact", "area")
    if not known or input.dim() not in (3, 4, 5) or expected not in (None, input.dim()):
        if known and expected is not None and input.dim() in (3, 4, 5):
            raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {expected}D input")
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact "
            f"(got {mode})"
        )
    return _core.upsample_to(input, sizes, mode, bool(align_corners), antialias, *factors)


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate`, by its older name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "nearest"."""
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "bilinear" (of 4 dimensions) and `align_corners=True`."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """[N, C, H, W] read at the places `grid` [N, Ho, Wo, 2], (x, y) from -1 to 1; or [N, C, D, H, W] at [..., 3].

    Places between elements are "bilinear", "nearest" or "bicubic"; those outside "zeros", "border" or "reflection".
    """
    return _core.grid_sample(input, grid, mode, padding_mode, bool(align_corners))


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid that `grid_sample` reads to apply affine maps `theta` [N, 2, 3] (or [N, 3, 4]) for results of `size`."""
    return _core.affine_grid(theta, list(size), bool(align_corners))


# --- norms and lookup -------------------------------------------------------------------------------------------------


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of [N, C, ...] by its batch's mean and variance, or by the running ones if not `training`.

    While training, the running values move towards the batch's by `momentum` (the variance there being unbiased).
    """
    if training:
        _check_several(input, math.prod(n for d, n in enumerate(input.shape) if d != 1))
    return _core.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _check_several(input: Tensor, count: int) -> None:
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each sample of [N, C, ...] by its own mean and variance."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return _core.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight` [V, D] at the integers `input` (any shape S): [*S, D].

    The row `padding_idx` gets no gradient. With `max_norm`, looked-up rows longer than it are scaled down in place
    first. `scale_grad_by_freq` divides gradients by how often their row was read. Gradients are dense: `sparse=True`
    raises ValueError.
    """
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return _core.embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima ("sum", "mean", "max") of the rows of `weight` that each bag of `input` names: [B, D].

    Bags are the rows of a 2-D `input`, or the parts of a 1-D one that begin at `offsets` [B] (which with
    `include_last_offset` also ends with the length). Rows `padding_idx` are left out; `per_sample_weights`, in the
    input's shape, multiply the rows of sums.
    """
    if not weight.is_floating_point() and input.is_floating_point():
        input, weight = weight, input  # the order of old versions
    return _core.embedding_bag(
        input,
        weight,
        offsets,
        max_norm,
        norm_type,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
