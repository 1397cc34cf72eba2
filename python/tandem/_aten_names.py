"""Operations whose names, arguments or results are others below PyTorch's functions than in them, for
`tandem.ops.aten`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.nn import functional as F  # noqa: N812

__all__ = ["NAMES", "of_prefix"]

# Functions of `nn.functional` that are taken as they are.
_SAME = (
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d avg_pool1d avg_pool2d avg_pool3d gelu glu "
    "hardsigmoid hardswish hardtanh leaky_relu linear mish pad relu6 scaled_dot_product_attention silu softplus"
)

# Those of them that change their argument, as `hardswish_`.
_IN_PLACE = "hardsigmoid hardswish hardtanh leaky_relu mish relu6 silu"

# Ways of resampling: the mode, and whether it is asked where corners lie.
_RESAMPLINGS = {
    **{f"upsample_nearest{n}d": ("nearest", False) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": ("nearest-exact", False) for n in (1, 2, 3)},
    "upsample_linear1d": ("linear", True),
    "upsample_bilinear2d": ("bilinear", True),
    "upsample_bicubic2d": ("bicubic", True),
    "upsample_trilinear3d": ("trilinear", True),
}

# Losses: how many tensors come first, and what follows them; a reduction is a number.
_LOSSES = {
    "binary_cross_entropy": (2, "weight reduction"),
    "binary_cross_entropy_with_logits": (2, "weight pos_weight reduction"),
    "cosine_embedding_loss": (3, "margin reduction"),
    "cross_entropy_loss": (2, "weight reduction ignore_index label_smoothing"),
    "hinge_embedding_loss": (2, "margin reduction"),
    "huber_loss": (2, "reduction delta"),
    "kl_div": (2, "reduction"),
    "l1_loss": (2, "reduction"),
    "margin_ranking_loss": (3, "margin reduction"),
    "mse_loss": (2, "reduction"),
    "multi_margin_loss": (2, "p margin weight reduction"),
    "multilabel_margin_loss": (2, "reduction"),
    "nll_loss": (2, "weight reduction ignore_index"),
    "poisson_nll_loss": (2, "log_input full eps reduction"),
    "smooth_l1_loss": (2, "reduction beta"),
    "soft_margin_loss": (2, "reduction"),
    "triplet_margin_loss": (3, "margin p eps swap reduction"),
}

# Views of which there is a form that copies.
_VIEWS = (
    "alias as_strided detach diagonal expand permute select slice split split_with_sizes squeeze t transpose unbind "
    "unfold unsqueeze view"
)


def _loss(name: str) -> Callable[..., Any]:
    tensors, names = _LOSSES[name]
    function = getattr(F, name.replace("entropy_loss", "entropy"))

    def loss(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names.split(), args[tensors:], strict=False)) | kwargs
        given["reduction"] = ("none", "mean", "sum")[given.get("reduction", 1)]
        return function(*args[:tensors], **given)

    return loss


def _resampling(name: str) -> Callable[..., Any]:
    mode, asks = _RESAMPLINGS[name]

    def resample(input: Tensor, output_size: Any, *args: Any, **kwargs: Any) -> Tensor:
        """The factors are a list, or one argument a dim."""
        align, *factors = [*args, *kwargs.values()] if asks else [None, *args, *kwargs.values()]
        listed = factors[0] if factors and isinstance(factors[0], (list, tuple)) else factors
        if not listed or listed[0] is None:
            return F.interpolate(input, output_size, mode=mode, align_corners=align)
        result = F.interpolate(input, scale_factor=tuple(listed), mode=mode, align_corners=align)
        if output_size is not None and tuple(result.shape[2:]) != tuple(output_size):
            raise NotImplementedError(f"{name}: sizes {tuple(output_size)} and factors {tuple(listed)} of their own")
        return result

    return resample


def _in_place(name: str) -> Callable[..., Any]:
    function = getattr(F, name)
    return lambda input, *args, **kwargs: function(input, *args, **kwargs, inplace=True)


def _elu(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    if scale == 1 and input_scale == 1:
        return F.elu(input, alpha)
    return tandem.where(input > 0, input * scale, (input * input_scale).expm1() * (alpha * scale))


def of_prefix(name: str) -> Any:
    """The function that PyTorch's `linalg_norm` or `special_ndtr` is; None for other names."""
    prefix, _, rest = name.partition("_")
    return getattr(getattr(tandem, prefix), rest, None) if prefix in ("linalg", "special") and rest else None


def _index(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    return input[_places(indices)]


def _places(indices: Sequence[Tensor | None]) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else i for i in indices)


def _index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    if all(i is not None for i in indices):
        return input.index_put_(tuple(indices), values, accumulate)
    places = tandem.arange(input.numel(), device=input.device).reshape(input.shape)[_places(indices)]
    return input.put_(places, values.expand(places.shape), accumulate)


def _slice(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)]


def _copied(view: Callable[..., Any]) -> Callable[..., Any]:
    def copied(*args: Any, **kwargs: Any) -> Any:
        found = view(*args, **kwargs)
        return found.clone() if isinstance(found, Tensor) else [t.clone() for t in found]

    return copied


def _padded(mode: str) -> Callable[..., Any]:
    return lambda input, padding: F.pad(input, padding, mode)


def _softmax(name: str) -> Callable[..., Any]:
    function = getattr(F, name)
    return lambda input, dim, half_to_float: function(input, dim, dtype=tandem.float32 if half_to_float else None)


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    part = grad_output * output
    return (part - output * part.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


NAMES: dict[str, Callable[..., Any]] = {
    **{name: getattr(F, name) for name in _SAME.split()},
    **{name: _loss(name) for name in _LOSSES},
    **{name: _resampling(name) for name in _RESAMPLINGS},
    **{f"{name}_": _in_place(name) for name in _IN_PLACE.split()},
    **{f"_adaptive_avg_pool{n}d": getattr(F, f"adaptive_avg_pool{n}d") for n in (2, 3)},
    **{
        f"adaptive_max_pool{n}d": functools.partial(getattr(F, f"adaptive_max_pool{n}d"), return_indices=True)
        for n in (1, 2, 3)
    },
    **{name: getattr(Tensor, name) for name in ("__and__", "__lshift__", "__or__", "__rshift__", "__xor__")},
    "_is_all_true": lambda input: input.all(),
    "_is_any_true": lambda input: input.any(),
    "_local_scalar_dense": lambda input: input.item(),
    "_log_softmax": _softmax("log_softmax"),
    "_log_softmax_backward_data": _log_softmax_backward_data,
    "_pin_memory": lambda input, device=None: input.pin_memory(),
    "_reshape_alias": lambda input, size, stride: input.as_strided(size, stride),
    "_softmax": _softmax("softmax"),
    "_softmax_backward_data": _softmax_backward_data,
    "_to_copy": lambda input, **kwargs: input.to(**kwargs, copy=True),
    "_unsafe_index": _index,
    "_unsafe_masked_index": lambda input, mask, indices, fill: tandem.where(
        mask, _index(input, [None if i is None else tandem.where(mask, i, 0) for i in indices]), fill
    ),
    "_unsafe_index_put": lambda input, *args, **kwargs: _index_put_(input.clone(), *args, **kwargs),
    "_unsafe_view": lambda input, size: input.reshape(size),
    "alias": lambda input: input.view(input.shape),
    "col2im": lambda input, size, kernel, dilation, padding, stride: F.fold(
        input, size, kernel, dilation, padding, stride
    ),
    "copy": lambda input, src, non_blocking=False: src.to(input.dtype).expand(input.shape).clone(),
    "elu": _elu,
    "elu_": lambda input, *args, **kwargs: input.copy_(_elu(input, *args, **kwargs)),
    "group_norm": lambda input, groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True: F.group_norm(
        input, groups, weight, bias, eps
    ),
    "im2col": F.unfold,
    "index": _index,
    "index_put": lambda input, *args, **kwargs: _index_put_(input.clone(), *args, **kwargs),
    "index_put_": _index_put_,
    "lift_fresh": lambda input: input,
    "lift_fresh_copy": lambda input: input.clone(),
    "max_pool2d_with_indices": lambda *args, **kwargs: F.max_pool2d(*args, **kwargs, return_indices=True),
    "max_pool3d_with_indices": lambda *args, **kwargs: F.max_pool3d(*args, **kwargs, return_indices=True),
    **{f"reflection_pad{n}d": _padded("reflect") for n in (1, 2, 3)},
    **{f"replication_pad{n}d": _padded("replicate") for n in (1, 2, 3)},
    "sigmoid_backward": lambda grad_output, output: grad_output * (1 - output) * output,
    "slice": _slice,
    "sym_numel": lambda input: input.numel(),
    "sym_size": lambda input, *dim: input.size(*dim),
    "sym_storage_offset": lambda input: input.storage_offset(),
    "sym_stride": lambda input, *dim: input.stride(*dim),
    "tanh_backward": lambda grad_output, output: grad_output * (1 - output * output),
    "threshold_backward": lambda grad_output, input, threshold: grad_output.masked_fill(input <= threshold, 0),
}
NAMES |= {f"{name}_copy": _copied(NAMES.get(name) or getattr(Tensor, name)) for name in _VIEWS.split()}
