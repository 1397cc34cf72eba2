"""Functions of `nn.functional` whose arguments need settling before the core sees them: resampling by size or factor,
norms, lookup. What is computed on tensors is the core's. Pools are in `_windows.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import tandem
from tandem import Tensor
from tandem.nn.common_types import _ratio_any_t, _size_any_t

__all__ = [
    "affine_grid",
    "batch_norm",
    "embedding",
    "embedding_bag",
    "grid_sample",
    "group_norm",
    "instance_norm",
    "interpolate",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

_core = tandem._C._nn


# --- resampling -------------------------------------------------------------------------------------------------------


def interpolate(
    input: Tensor,
    size: _size_any_t | None = None,
    scale_factor: _ratio_any_t | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample the spatial dims of [N, C, ...] (3, 4 or 5 dims) to `size`, or by `scale_factor`.

    Args:
        size, scale_factor: one of them (ValueError): one number for all spatial dims or one for each. A size by factor
            is rounded down.
        mode: "nearest", "nearest-exact", "area"; "linear" of 3, "bilinear" and "bicubic" of 4, "trilinear" of 5 dims;
            NotImplementedError for others.
        align_corners: put the outermost elements of input and result at the same places, not their outer edges; for
            the interpolating modes only (ValueError).
        recompute_scale_factor: compute places with the ratio of the sizes instead of the factor given.
        antialias: widen the kernel of "bilinear" and "bicubic" where the result is smaller.

    Those two take uint8 as well: weights are multiples of a power of two that fit 16 bits, and each dim's sums are
    rounded to bytes.

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
    elif scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    else:
        factors = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * dims
        if len(factors) != dims:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}."
            )
        exact = [float(n) * f for n, f in zip(input.shape[2:], factors, strict=True)]
        if not all(abs(n) < 2.0**63 for n in exact):
            raise RuntimeError(f"interpolate: sizes {exact} from scale_factor cannot be converted to int64")
        sizes = [math.floor(n) for n in exact]
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


def _warn_of_older(name: str) -> None:
    tandem._C._warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", 3)


def _corners(align_corners: bool | None) -> bool:
    if align_corners is None:
        tandem._C._warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Specify "
            "align_corners=True if the old behavior is desired.",
            3,
        )
    return bool(align_corners)


def upsample(
    input: Tensor,
    size: _size_any_t | None = None,
    scale_factor: _ratio_any_t | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` by its older name, without its last two options.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.upsample(tandem.tensor([[[0.0, 3.0]]]), 4)
        tensor([[[0., 0., 3., 3.]]])
    """
    _warn_of_older("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: _size_any_t | None = None, scale_factor: _ratio_any_t | None = None
) -> Tensor:
    """`interpolate` with mode "nearest": every element is repeated.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.upsample_nearest(tandem.tensor([[[0.0, 3.0]]]), scale_factor=2)
        tensor([[[0., 0., 3., 3.]]])
    """
    _warn_of_older("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: _size_any_t | None = None, scale_factor: _ratio_any_t | None = None
) -> Tensor:
    """`interpolate` of [N, C, H, W] with mode "bilinear" and `align_corners=True`.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.upsample_bilinear(tandem.tensor([[[[0.0, 3.0]]]]), (1, 4))
        tensor([[[[0., 1., 2., 3.]]]])
    """
    _warn_of_older("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Read [N, C, H, W] at places: [N, C, Ho, Wo] for `grid` [N, Ho, Wo, 2]; or [N, C, D, H, W] at [N, ..., 3].

    Args:
        grid: (x, y) or (x, y, z) of each place, -1 at the beginning and 1 at the end of a dim, x of the last one.
        mode: of places between elements: "bilinear", "nearest" or "bicubic" (4 dims only).
        padding_mode: of places outside: "zeros", "border" (the nearest element) or "reflection".
        align_corners: -1 and 1 are the centres of the outermost elements, not their outer edges.

    ValueError for another mode, RuntimeError for sizes that do not go together.

    Example:
        >>> import tandem
        >>> x = tandem.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> tandem.nn.functional.grid_sample(x, tandem.tensor([[[[0.0, 0.0]]]]), align_corners=False)
        tensor([[[[2.5000]]]])
    """
    return _core.grid_sample(input, grid, mode, padding_mode, _corners(align_corners))


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid by which `grid_sample` applies affine maps: [N, H, W, 2] for `theta` [N, 2, 3] and `size` (N, C, H, W).

    In 3 dims `theta` is [N, 3, 4], `size` (N, C, D, H, W), the result [N, D, H, W, 3]. A place (x, y, 1) of the result
    is read at theta times it. `align_corners` as of `grid_sample`. ValueError for a theta of another shape,
    NotImplementedError for a size of another length.

    Example:
        >>> import tandem
        >>> flip = tandem.tensor([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> tandem.nn.functional.affine_grid(flip, (1, 1, 1, 2), align_corners=True)
        tensor([[[[ 1.,  0.],
                  [-1.,  0.]]]])
    """
    aligned = _corners(align_corners)
    if aligned and len(size) > 2 and min(size[2:]) == 1:
        tandem._C._warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True, where "
            "it is not meant to be used.",
            2,
        )
    return _core.affine_grid(theta, list(size), aligned)


# --- norms and lookup -------------------------------------------------------------------------------------------------


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor | None = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of [N, C, ...] (Ioffe and Szegedy 2015).

    Args:
        running_mean, running_var: [C]. Used for mean and variance unless `training`; else those of the batch are used,
            and these move towards them by the share `momentum` in place (towards the unbiased variance).
        weight, bias: [C], 1 and 0 when None.
        eps: keeps the root away from 0.

    ValueError while training with one value a channel or an `eps` that is not positive, and else for a negative one.

    Example:
        >>> import tandem
        >>> x = tandem.tensor([[1.0], [3.0]])
        >>> tandem.nn.functional.batch_norm(x, None, None, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    if eps <= 0 and (training or eps < 0):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    if training:
        _check_several(input, math.prod(n for d, n in enumerate(input.shape) if d != 1))
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
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
    momentum: float | Tensor | None = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of each sample of [N, C, ...] (Ulyanov 2016).

    Mean and variance are those of the channel in the sample if `use_input_stats`, else `running_mean` and `running_var`
    [C]; arguments otherwise as of `batch_norm`. ValueError for channels of one element.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.instance_norm(tandem.tensor([[[1.0, 3.0], [10.0, 50.0]]]), eps=0.0)
        tensor([[[-1.,  1.],
                 [-1.,  1.]]])
    """
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return _core.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each of `num_groups` groups of channels of each sample of
    [N, C, ...], with that group's mean and variance (Wu and He 2018).

    Args:
        weight, bias: [C], 1 and 0 when None.
        eps: keeps the root away from 0.

    RuntimeError where `num_groups` does not divide C; ValueError for a single sample whose groups have one value each.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.group_norm(tandem.tensor([[1.0, 3.0, 10.0, 30.0]]), 2)
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.dim() > 1 and input.shape[0] == 1 and input.numel() == num_groups:
        _check_several(input, 1)
    return _core.group_norm(input, num_groups, weight, bias, eps)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` [V, D] at the integers `input` (any shape S): [*S, D].

    Args:
        padding_idx: a row that gets no gradient; AssertionError unless it is one of the table.
        max_norm, norm_type: looked-up rows whose p-norm is larger are scaled down in place first.
        scale_grad_by_freq: divide gradients by how often their row was read.
        sparse: gradients are dense here: True raises ValueError.

    IndexError for an integer outside the table.

    Example:
        >>> import tandem
        >>> table = tandem.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        >>> tandem.nn.functional.embedding(tandem.tensor([2, 0]), table)
        tensor([[4., 5.],
                [0., 1.]])
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
    """The sums, means or maxima of the rows of `weight` [V, D] that each of B bags of integers names: [B, D].

    Args:
        input: integers; a bag is a row of a 2-D tensor, or a part of a 1-D one that begins at an element of `offsets`.
        offsets: [B] with a 1-D `input` only (ValueError otherwise); with `include_last_offset` [B + 1], the last one
            the end of the last bag. RuntimeError unless they begin with 0, do not decrease and are at most the length.
        mode: "sum", "mean" or "max"; ValueError for anything else, and for "max" with `scale_grad_by_freq`. An empty
            bag is zeros.
        per_sample_weights: factors of the rows of sums, in the input's shape and the table's dtype.
        padding_idx: a row that is left out and gets no gradient.

    Other arguments as of `embedding`.

    Example:
        >>> import tandem
        >>> table = tandem.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        >>> tandem.nn.functional.embedding_bag(tandem.tensor([0, 1, 2]), table, tandem.tensor([0, 2]), mode="sum")
        tensor([[2., 4.],
                [4., 5.]])
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
