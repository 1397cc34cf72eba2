"""`tandem.nn.functional`: the functions behind the modules, with PyTorch's names and signatures.

Operations that the core has as one record each (they fuse as a whole and have their own derivative) come straight from
it; all others are compositions of differentiable tensor operations: activations in `_activations.py`, losses in
`_losses.py`, padding, pooling, lookup and norms in `_structural.py`.
"""
# ruff: noqa: F401  (most imports are re-exports)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tandem
from tandem import Tensor
from tandem.nn import _activations, _losses, _structural
from tandem.nn._activations import (
    celu,
    elu,
    finish,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    logsigmoid,
    mish,
    prelu,
    relu6,
    selu,
    silu,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
)
from tandem.nn._losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from tandem.nn._multihead import canonical_mask as _canonical_mask
from tandem.nn._multihead import multi_head_attention_forward
from tandem.nn._multihead import none_or_dtype as _none_or_dtype
from tandem.nn._structural import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    batch_norm,
    bilinear,
    conv1d,
    cosine_similarity,
    embedding,
    group_norm,
    max_pool1d,
    normalize,
    pad,
    pairwise_distance,
    pixel_shuffle,
    pixel_unshuffle,
    rms_norm,
    scaled_dot_product_attention,
    unfold,
)

_core = tandem._C._nn

conv2d = _core.conv2d
gelu = _core.gelu
layer_norm = _core.layer_norm
linear = _core.linear
one_hot = _core.one_hot
max_pool2d_with_indices = _core.max_pool2d_with_indices
softplus_unit = _core.softplus_unit
sigmoid = tandem.sigmoid
tanh = tandem.tanh

log_sigmoid = logsigmoid


def _implicit_dim(input: Tensor, dim: int | None) -> int:
    """The dimension that softmax takes when none is given."""
    if dim is None:
        return 0 if input.dim() in (0, 1, 3) else 1
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: tandem.dtype | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`, computed in `dtype` if given."""
    return tandem.softmax(input, _implicit_dim(input, dim), dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: tandem.dtype | None = None
) -> Tensor:
    """Logarithm of the softmax along `dim`, computed in `dtype` if given."""
    return tandem.log_softmax(input, _implicit_dim(input, dim), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: tandem.dtype | None = None) -> Tensor:
    """Softmax of -x along `dim`."""
    return softmax(-input, dim, dtype=dtype)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability p and scale the others by 1 / (1 - p), if `training`."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    out = _core.dropout(input, p, training)
    return input.copy_(out) if inplace and training else out


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest value of windows of [N, C, H, W] or [C, H, W]; with `return_indices` also where in H * W it was."""
    pool = _core.max_pool2d_with_indices if return_indices else _core.max_pool2d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)²; a weighted mean divides by the sum of the weights."""
    reduction = _losses.legacy_reduction(size_average, reduce, reduction)
    if weight is not None:
        return _losses._weighted(_core.mse_loss(input, target, reduction="none"), weight, reduction)
    return _core.mse_loss(input, target, reduction=reduction)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of class indices [N, ...] under log-probabilities [N, C, ...]."""
    reduction = _losses.legacy_reduction(size_average, reduce, reduction)
    return _core.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of scores [N, C, ...] with class indices [N, ...] or probabilities [N, C, ...]."""
    reduction = _losses.legacy_reduction(size_average, reduce, reduction)
    return _core.cross_entropy(
        input, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


relu_ = _core.relu_


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0); NaN stays NaN."""
    return _core.relu_(input) if inplace else _core.relu(input)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` written into `input`."""
    return leaky_relu(input, negative_slope, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` written into `input`."""
    return elu(input, alpha, inplace=True)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean 0 and variance 1 of inputs activated by `selu`."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    floor = -_activations.SELU_ALPHA * _activations.SELU_SCALE
    scale = ((1.0 - p) * (1.0 + p * floor * floor)) ** -0.5 if p < 1.0 else 0.0
    kept = tandem.rand(list(input.shape), device=input.device) >= p
    return finish(input, inplace, lambda x: tandem.where(kept, x, floor) * scale - scale * p * floor)


def _drop_channels(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    shape = list(input.shape[:2]) + [1] * (input.dim() - 2)
    mask = dropout(tandem.ones(shape, dtype=input.dtype, device=input.device), p, True)
    return finish(input, inplace, lambda x: x * mask)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of [N, C, L] with probability p and scale the others by 1 / (1 - p)."""
    if input.dim() == 2:
        return _drop_channels(input.unsqueeze(0), p, training, inplace).squeeze(0)
    return _drop_channels(input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of [N, C, H, W] with probability p and scale the others by 1 / (1 - p)."""
    return _drop_channels(input, p, training, inplace)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Resample [N, C, ...] to the spatial size `size`, or by `scale_factor`, taking the nearest value."""
    if mode != "nearest":
        raise ValueError(f'interpolate: the mode has to be "nearest", got "{mode}"')
    if align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear")
    spatial = input.dim() - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("exactly one of size and scale_factor has to be given")
    if size is None:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * spatial
        size = [int(n * f) for n, f in zip(input.shape[2:], factors, strict=True)]
    elif isinstance(size, int):
        size = [size] * spatial
    return _structural.interpolate_nearest(input, size)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each sample of [N, C, ...] by its own mean and variance."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    return group_norm(input, input.shape[1], weight, bias, eps)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with d the p-norm distance."""
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = tandem.minimum(far, pairwise_distance(positive, negative, p, eps))
    reduction = _losses.legacy_reduction(size_average, reduce, reduction)
    return _losses.reduce_loss((near - far + margin).clamp(min=0.0), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    cos = cosine_similarity(input1, input2, dim=-1)
    together = tandem.where(target == 1, 1.0 - cos, 0.0)
    apart = tandem.where(target == -1, (cos - margin).clamp(min=0.0), 0.0)
    return _losses.reduce_loss(together + apart, _losses.legacy_reduction(size_average, reduce, reduction))


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Largest value of windows of [N, C, L] or [C, L] chosen so that the result has length `output_size`."""
    return adaptive_max_pool2d(input.unsqueeze(-2), (1, _structural._single(output_size))).squeeze(-2)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; one-hot with the soft sample's gradient if `hard`."""
    uniform = tandem.rand(list(logits.shape), dtype=logits.dtype, device=logits.device)
    tiny = tandem.finfo(logits.dtype).tiny
    noise = -tandem.log(-tandem.log(uniform.clamp(min=tiny)).clamp(min=tiny))
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    places = tandem.arange(logits.shape[dim], device=logits.device)
    shape: Sequence[int] = [-1 if i == dim % logits.dim() else 1 for i in range(logits.dim())]
    one = (places.reshape(shape) == index).to(logits.dtype)
    return one - soft.detach() + soft


__all__ = [name for name in dir() if not name.startswith("_") and callable(globals()[name])]
__all__ = sorted(set(__all__) - {"Any", "Sequence", "Tensor", "finish"})
