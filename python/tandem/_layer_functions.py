"""Functions of layers at the top level, with ATen's parameters, whose order and defaults differ from those of
`nn.functional`, which says what each computes; and the `native_` forms, which return what they found on the way too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem import _C
from tandem._functions import _need_tensor

__all__ = [
    "affine_grid_generator",
    "batch_norm",
    "bilinear",
    "constant_pad_nd",
    "conv_tbc",
    "convolution",
    "embedding",
    "embedding_bag",
    "embedding_renorm_",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "instance_norm",
    "layer_norm",
    "native_batch_norm",
    "native_channel_shuffle",
    "native_group_norm",
    "native_layer_norm",
    "norm_except_dim",
]

Tensor = _C.Tensor
_nn: Any = _C._nn


# ---- normalisation


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """`nn.functional.layer_norm`; `cudnn_enable` changes nothing.

    >>> import tandem
    >>> tandem.layer_norm(tandem.tensor([1.0, 3.0]), (2,), eps=0.0)
    tensor([-1.,  1.])
    """
    return _nn.layer_norm(input, normalized_shape, weight, bias, eps)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.batch_norm` with weight and bias before the running statistics, of one value a channel too;
    `cudnn_enabled` changes nothing.

    >>> import tandem
    >>> x = tandem.tensor([[1.0], [3.0]])
    >>> tandem.batch_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[-1.],
            [ 1.]])
    """
    if not training:
        for name, value in (("running_mean", running_mean), ("running_var", running_var)):
            if value is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    return _nn.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.instance_norm` with weight and bias before the running statistics, of one value a channel too;
    `cudnn_enabled` changes nothing.

    >>> import tandem
    >>> x = tandem.tensor([[[1.0, 3.0]]])
    >>> tandem.instance_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    return _nn.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def _statistics(x: Tensor, dims: list[int], eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    var, mean = _C.var_mean(x, dims, correction=0, keepdim=keepdim)
    return mean, (var + eps).rsqrt()


def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, the means, and 1 / sqrt(variance + eps), with the dims `normalized_shape` of size 1; the last two
    without history.

    >>> import tandem
    >>> tandem.native_layer_norm(tandem.tensor([1.0, 3.0]), (2,), None, None, 0.0)
    (tensor([-1.,  1.]), tensor([2.]), tensor([1.]))
    """
    out = _nn.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    return (out, *_statistics(input.detach(), dims, eps, True))


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, the means of channels, and 1 / sqrt(variance + eps), without history; empty ones unless `training`.

    >>> import tandem
    >>> x = tandem.tensor([[1.0], [3.0]])
    >>> tandem.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)[1:]
    (tensor([2.]), tensor([1.]))
    """
    out = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)
    if not training:
        return out, input.new_empty(0), input.new_empty(0)
    dims = [0, *range(2, input.dim())]
    return (out, *_statistics(input.detach(), dims, eps, False))


def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,  # noqa: N803
    C: int,  # noqa: N803
    HxW: int,  # noqa: N803
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm` of [N, C, ...] of HxW values a channel, the means of groups [N, group], and
    1 / sqrt(variance + eps).

    RuntimeError where the sizes are not those of `input`.

    >>> import tandem
    >>> x = tandem.tensor([[[1.0], [3.0]]])
    >>> tandem.native_group_norm(x, None, None, 1, 2, 1, 1, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    _need_tensor("native_group_norm", input)
    if input.numel() != N * C * HxW or list(input.shape[:2]) != [N, C]:
        raise RuntimeError(
            f"native_group_norm: expected an input of N={N}, C={C} and {HxW} values a channel, but got "
            f"{list(input.shape)}"
        )
    out = _C.group_norm(input, group, weight, bias, eps)
    return (out, *_statistics(input.reshape(N, group, C * HxW // group), [2], eps, False))


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The `pow`-norms of all that has one index of `dim`, the other dims of size 1; with dim=-1 the norm of all, 0-d.

    >>> import tandem
    >>> tandem.norm_except_dim(tandem.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5.],
            [1.]])
    """
    _need_tensor("norm_except_dim", v, "v")
    if dim == -1:
        return v.norm(pow)
    if not 0 <= dim < v.dim():
        raise IndexError(f"norm_except_dim: dim {dim} of a tensor of shape {list(v.shape)}")
    # Of one dim that are the magnitudes: an empty list of dims would mean all of them.
    size = [n if i == dim else 1 for i, n in enumerate(v.shape)]
    return v.movedim(dim, 0).reshape(v.shape[dim], -1).norm(pow, 1).view(size)


# ---- tables


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """`nn.functional.embedding`, the table first; a negative `padding_idx` is none.

    RuntimeError unless `weight` has 2 dims, IndexError for an integer outside the table.

    >>> import tandem
    >>> tandem.embedding(tandem.tensor([[0.0, 1.0], [2.0, 3.0]]), tandem.tensor([1]))
    tensor([[2., 3.]])
    """
    _need_tensor("embedding", weight, "weight")
    _need_tensor("embedding", indices, "indices", 2)
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding = padding_idx if 0 <= padding_idx < weight.shape[0] else None
    return _nn.embedding(indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)


_BAGS = ("sum", "mean", "max")


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`nn.functional.embedding_bag`, the table first, with mode 0 for sums, 1 for means, 2 for maxima; and what ATen's
    function tells beside the result: the bag of each index, how many count in each bag, and which row each maximum is
    of. Of sums the sizes are 0, and there are no bags without `padding_idx`.

    RuntimeError for another mode.

    >>> import tandem
    >>> table = tandem.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> tandem.embedding_bag(table, tandem.tensor([0, 1, 2]), tandem.tensor([0, 2]), mode=2)
    (tensor([[2., 3.],
            [4., 5.]]), tensor([0, 0, 1]), tensor([2, 1]), tensor([[1, 1],
            [2, 2]]))
    """
    if mode not in (0, 1, 2):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    rows = None if padding_idx is None else padding_idx % weight.shape[0]
    out = _nn.embedding_bag(
        indices,
        weight,
        offsets,
        None,
        2.0,
        scale_grad_by_freq,
        _BAGS[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        rows,
    )
    bags, integer = out.shape[0], indices.dtype
    if mode == 0 and rows is None:
        nothing = _C.zeros(bags, dtype=integer, device=indices.device)
        return out, nothing[:0].clone(), nothing, nothing.clone()
    places = _C.arange(indices.shape[0], device=indices.device)
    bag = _C.searchsorted(offsets[:bags].contiguous(), places.to(offsets.dtype), right=True) - 1
    if mode == 0:
        nothing = _C.zeros(bags, dtype=integer, device=indices.device)
        return out, bag.to(integer), nothing, nothing.clone()
    counts = _C.ones_like(indices) if rows is None else (indices != rows).to(integer)
    sizes = _C.zeros(bags, dtype=integer, device=indices.device).index_add(0, bag, counts)
    if mode == 1:
        return out, bag.to(integer), sizes, sizes.clone()
    # The first place of a bag whose row has the maximum of a column.
    found = (weight.detach()[indices] == out.detach()[bag]) & (counts != 0).unsqueeze(1)
    last = indices.shape[0]
    place = _C.where(found, places.unsqueeze(1), last)
    first = _C.full(list(out.shape), last, dtype=_C.int64, device=out.device)
    first = first.scatter_reduce(0, bag.unsqueeze(1).expand_as(place), place, "amin")
    row = _C.cat((indices, indices.new_zeros(1)))[first]
    return out, bag.to(integer), sizes, row


def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales those rows of `weight` that are named and whose norm is larger than `max_norm` down to it, in place.

    >>> import tandem
    >>> tandem.embedding_renorm_(tandem.tensor([[3.0, 4.0], [3.0, 4.0]]), tandem.tensor([1]), 1.0, 2.0)
    tensor([[3.0000, 4.0000],
            [0.6000, 0.8000]])
    """
    with _no_grad():
        _nn.embedding(indices, weight, None, max_norm, norm_type)
    return weight


def _no_grad() -> Any:
    from tandem.autograd.grad_mode import no_grad

    return no_grad()


# ---- products


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`nn.functional.bilinear`.

    >>> import tandem
    >>> a, b = tandem.tensor([1.0, 2.0]), tandem.tensor([3.0, 4.0])
    >>> tandem.bilinear(a, b, tandem.eye(2).reshape(1, 2, 2))
    tensor([11.])
    """
    import tandem

    return tandem.nn.functional.bilinear(input1, input2, weight, bias)


def _sizes(value: int | Sequence[int], dims: int) -> list[int]:
    given = [value] if isinstance(value, int) else list(value)
    return given * dims if len(given) == 1 else given


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """`nn.functional.conv1d` to `conv3d`, by the dims of `weight`, and `conv_transpose1d` to `3d` where `transposed`.
    A list of one number is for all dims.

    RuntimeError for an input of other dims than `weight`.

    >>> import tandem
    >>> x, w = tandem.tensor([[[1.0, 2.0, 4.0]]]), tandem.tensor([[[1.0, -1.0]]])
    >>> tandem.convolution(x, w, None, [1], [0], [1], False, [0], 1)
    tensor([[[-1., -2.]]])
    """
    _need_tensor("convolution", input)
    _need_tensor("convolution", weight, "weight", 2)
    dims = weight.dim() - 2
    if not 1 <= dims <= 3 or input.dim() != weight.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight {list(weight.shape)}, "
            f"but got {input.dim()}-dimensional input of size {list(input.shape)} instead"
        )
    by, pad, apart = _sizes(stride, dims), _sizes(padding, dims), _sizes(dilation, dims)
    if not transposed:
        return getattr(_nn, f"conv{dims}d")(input, weight, bias, by, pad, apart, groups)
    more = _sizes(output_padding, dims)
    return getattr(_nn, f"conv_transpose{dims}d")(input, weight, bias, by, pad, more, groups, apart)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution of sequences [time, batch, channels] by a weight [kernel, channels in, channels out], with `pad`
    zeros at both ends.

    RuntimeError unless all have these dims.

    >>> import tandem
    >>> tandem.conv_tbc(tandem.tensor([[[1.0]], [[2.0]]]), tandem.ones(2, 1, 1), tandem.zeros(1))
    tensor([[[3.]]])
    """
    for name, t, dims in (("input", input, 3), ("weight", weight, 3), ("bias", bias, 1)):
        if not isinstance(t, Tensor):
            raise TypeError(f"conv_tbc(): argument '{name}' must be Tensor, not {type(t).__name__}")
        if t.dim() != dims:
            raise RuntimeError(f"conv_tbc: expected {name} to have {dims} dims, but got shape {list(t.shape)}")
    out = _nn.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return _C.alias_copy(out.permute(2, 0, 1))


# ---- places


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """`nn.functional.pad` with a constant.

    >>> import tandem
    >>> tandem.constant_pad_nd(tandem.tensor([1.0, 2.0]), (1, 0), 5.0)
    tensor([5., 1., 2.])
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    return _nn.pad(input, list(pad), "constant", value)


_INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample` with numbers for modes: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border,
    2 reflection.

    RuntimeError for others.

    >>> import tandem
    >>> image = tandem.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> tandem.grid_sampler(image, tandem.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.5000]]]])
    """
    for name, value in (("interpolation_mode", interpolation_mode), ("padding_mode", padding_mode)):
        if value not in (0, 1, 2):
            raise RuntimeError(f"grid_sampler: expected {name} to be 0, 1 or 2, but got {value}")
    mode, padding = _INTERPOLATIONS[interpolation_mode], _PADDINGS[padding_mode]
    return _nn.grid_sample(input, grid, mode, padding, align_corners)


def _grid_sampler_of(dims: int, name: str, args: tuple[Any, ...]) -> Tensor:
    if _need_tensor(name, args[0]).dim() != dims + 2:
        raise RuntimeError(f"{name}: expected input to have {dims + 2} dims, but got shape {list(args[0].shape)}")
    return grid_sampler(*args)


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of images [N, C, H, W].

    >>> import tandem
    >>> image = tandem.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> tandem.grid_sampler_2d(image, tandem.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.5000]]]])
    """
    return _grid_sampler_of(2, "grid_sampler_2d", (input, grid, interpolation_mode, padding_mode, align_corners))


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of volumes [N, C, D, H, W].

    >>> import tandem
    >>> volume = tandem.ones(1, 1, 2, 2, 2)
    >>> tandem.grid_sampler_3d(volume, tandem.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[1.]]]]])
    """
    return _grid_sampler_of(3, "grid_sampler_3d", (input, grid, interpolation_mode, padding_mode, align_corners))


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid`, with every argument given.

    >>> import tandem
    >>> tandem.affine_grid_generator(tandem.eye(2, 3).unsqueeze(0), (1, 1, 1, 2), True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    import tandem

    return tandem.nn.functional.affine_grid(theta, size, align_corners)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle`.

    >>> import tandem
    >>> tandem.native_channel_shuffle(tandem.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return _nn.channel_shuffle(input, groups)
