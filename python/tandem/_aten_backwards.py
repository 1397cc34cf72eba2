"""Derivatives that have names of their own below PyTorch's functions, for `tandem.ops.aten`: those of the functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tandem
from tandem import _C
from tandem._aten_names import NAMES as FUNCTIONS
from tandem._C import Tensor
from tandem.nn import functional as F  # noqa: N812

__all__ = ["NAMES"]

# What `name_backward` reads behind the cotangent: the arguments of `name`, but for so many at the end.
_OF_FIRST = {
    **dict.fromkeys(
        "avg_pool2d avg_pool3d binary_cross_entropy gelu glu hardshrink hardsigmoid hardswish hardtanh huber_loss "
        "logit mish mse_loss reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d "
        "replication_pad3d silu smooth_l1_loss soft_margin_loss softplus softshrink".split(),
        0,
    ),
    "leaky_relu": 1,
    "log_sigmoid": 1,
    "max_pool2d_with_indices": 1,
    "max_pool3d_with_indices": 1,
}
_OTHERWISE: dict[str, Callable[..., Any]] = {
    "log_sigmoid": F.logsigmoid,
    "max_pool2d_with_indices": F.max_pool2d,
    "max_pool3d_with_indices": F.max_pool3d,
}


def _pulled(
    function: Callable[..., Any], inputs: Sequence[Any], wanted: Sequence[bool], cotangent: Tensor
) -> list[Any]:
    """The cotangents of those inputs that are wanted, None for the others."""
    chosen = [i for i, want in enumerate(wanted) if want]
    found: list[Any] = [None] * len(inputs)
    if not chosen:
        return found

    def of_chosen(*values: Any) -> Any:
        given = list(inputs)
        for i, value in zip(chosen, values, strict=True):
            given[i] = value
        return function(*given)

    _, pull = tandem.func.vjp(of_chosen, *(inputs[i] for i in chosen))
    for i, value in zip(chosen, pull(cotangent), strict=True):
        found[i] = value
    return found


def _of_first(name: str) -> Callable[..., Any]:
    function = _OTHERWISE.get(name) or FUNCTIONS.get(name) or getattr(_C, name, None) or getattr(F, name)
    unread = _OF_FIRST[name]

    def backward(grad_output: Tensor, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        read = args[: len(args) - unread]
        return _pulled(lambda x: function(x, *read, **kwargs), [input], [True], grad_output)[0]

    return backward


def _adaptive(dims: int) -> Callable[..., Any]:
    function = getattr(F, f"adaptive_avg_pool{dims}d")
    return lambda grad_output, input: _pulled(
        lambda x: function(x, grad_output.shape[-dims:]), [input], [True], grad_output
    )[0]


def _elu_backward(
    grad_output: Tensor, alpha: float, scale: float, input_scale: float, is_result: bool, self_or_result: Tensor
) -> Tensor:
    negative = self_or_result + alpha * scale if is_result else (self_or_result * input_scale).exp() * (alpha * scale)
    return grad_output * tandem.where(self_or_result > 0, scale, negative * input_scale)


def _convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Any, *options: Any
) -> tuple[Tensor | None, ...]:
    *geometry, mask = options
    to_input, to_weight = _pulled(
        lambda x, w: tandem.convolution(x, w, None, *geometry), [input, weight], mask[:2], grad_output
    )
    return to_input, to_weight, grad_output.sum((0, *range(2, grad_output.ndim))) if mask[2] else None


def _native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    rows = tuple(range(input.ndim - len(normalized_shape)))
    features = tuple(range(len(rows), input.ndim))
    normal = (input - mean) * rstd
    g = grad_out if weight is None else grad_out * weight
    centred = g - g.mean(features, keepdim=True) - normal * (g * normal).mean(features, keepdim=True)
    return (
        centred * rstd if output_mask[0] else None,
        _summed(grad_out * normal, rows) if output_mask[1] and weight is not None else None,
        _summed(grad_out, rows) if output_mask[2] and bias is not None else None,
    )


def _summed(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    return x.sum(dims) if dims else x


def _embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    table = grad_output.new_zeros(num_weights, grad_output.shape[-1])
    padding = None if padding_idx < 0 else padding_idx
    function = lambda w: F.embedding(indices, w, padding, scale_grad_by_freq=scale_grad_by_freq)  # noqa: E731
    return _pulled(function, [table], [True], grad_output)[0]


def _nll_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    loss = FUNCTIONS["nll_loss"](input, target, weight, reduction, ignore_index)
    if reduction == 0:
        return loss, input.new_zeros(())
    counted = target != ignore_index
    each = input.new_ones(()) if weight is None else weight[tandem.where(counted, target, 0)]
    return loss, (each * counted).sum().to(input.dtype)


def _nll_loss_backward(grad_output: Tensor, input: Tensor, *args: Any) -> Tensor:
    *read, _total_weight = args
    return _pulled(lambda x: FUNCTIONS["nll_loss"](x, *read), [input], [True], grad_output)[0]


def _upsample_backward(name: str) -> Callable[..., Any]:
    function = FUNCTIONS[name]

    def backward(grad_output: Tensor, output_size: Any, input_size: Sequence[int], *args: Any, **kwargs: Any) -> Tensor:
        at = grad_output.new_zeros(tuple(input_size))
        return _pulled(lambda x: function(x, output_size, *args, **kwargs), [at], [True], grad_output)[0]

    return backward


NAMES: dict[str, Callable[..., Any]] = {
    **{f"{name}_backward": _of_first(name) for name in _OF_FIRST},
    **{f"{name}_backward": _upsample_backward(name) for name in FUNCTIONS if "upsample" in name},
    "_adaptive_avg_pool2d_backward": _adaptive(2),
    "_adaptive_avg_pool3d_backward": _adaptive(3),
    "convolution_backward": _convolution_backward,
    "elu_backward": _elu_backward,
    "embedding_dense_backward": _embedding_dense_backward,
    "native_dropout_backward": lambda grad_output, mask, scale: grad_output * mask * scale,
    "native_layer_norm_backward": _native_layer_norm_backward,
    "nll_loss_backward": _nll_loss_backward,
    "nll_loss2d_backward": _nll_loss_backward,
    "nll_loss_forward": _nll_loss_forward,
    "nll_loss2d_forward": _nll_loss_forward,
}
