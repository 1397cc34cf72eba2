"""Loss functions as compositions of differentiable operations.

All take `reduction`: "none" (a loss for each element), "mean" or "sum".
"""

from __future__ import annotations

import math

import tandem
from tandem import Tensor
from tandem.nn._activations import log_one_plus_exp


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """`reduction`, unless one of the two older flags was given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def reduce_loss(loss: Tensor, reduction: str) -> Tensor:
    """Apply `reduction` to losses of the elements; ValueError for an unknown one."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _weighted(loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Apply optional weights of the elements; a weighted mean divides by the sum of the weights."""
    if weight is None:
        return reduce_loss(loss, reduction)
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduce_loss(loss, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.l1_loss(tandem.zeros(2), tandem.tensor([1.0, -3.0])).item()
        2.0
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _weighted(tandem.abs(input - target), weight, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d² / (2 beta) where d = |input - target| < beta, else d - beta / 2."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    diff = tandem.abs(input - target)
    return reduce_loss(tandem.where(diff < beta, diff * diff * 0.5 / beta, diff - 0.5 * beta), reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d² / 2 where d = |input - target| < delta, else delta * (d - delta / 2)."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    diff = tandem.abs(input - target)
    loss = tandem.where(diff < delta, diff * diff * 0.5, (diff - 0.5 * delta) * delta)
    return _weighted(loss, weight, reduction)


def _limited_log(x: Tensor) -> Tensor:
    """log(x), and -100 where it would be less: no 1 / 0 reaches the gradient there."""
    enough = x > math.exp(-100.0)
    return tandem.where(enough, tandem.log(tandem.where(enough, x, 1.0)), -100.0)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target log(input) + (1 - target) log(1 - input)) of probabilities; logarithms are at least -100."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    loss = (target - 1.0) * _limited_log(1.0 - input) - target * _limited_log(input)
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), without its overflow. `pos_weight` multiplies the target's term."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    minus_log_sigmoid = log_one_plus_exp(-input)
    if pos_weight is not None:
        minus_log_sigmoid = minus_log_sigmoid * ((pos_weight - 1.0) * target + 1.0)
    loss = (1.0 - target) * input + minus_log_sigmoid
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log(target) - input), `input` being log-probabilities; "batchmean" divides the sum by dimension 0."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if log_target:
        loss = tandem.exp(target) * (target - input)
    else:
        zero = target == 0
        log_target_values = tandem.log(tandem.where(zero, 1.0, target))
        loss = target * log_target_values - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.dim() else loss.sum()
    return reduce_loss(loss, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of counts `target` for rates exp(input), or `input` if not `log_input`."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = tandem.exp(input) - target * input if log_input else input - target * tandem.log(input + eps)
    if full:
        large = target > 1
        safe = tandem.where(large, target, 2.0)
        stirling = safe * tandem.log(safe) - safe + 0.5 * tandem.log(2 * math.pi * safe)
        loss = loss + tandem.where(large, stirling, 0.0)
    return reduce_loss(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Negative log likelihood of `target` under normal distributions of mean `input` and variance `var` (>= eps)."""
    if tuple(var.shape) == tuple(input.shape[:-1]) and var.dim() < input.dim():
        var = var.unsqueeze(-1)
    # The limit has no gradient, as if var were larger: the loss stays differentiable in var.
    var = var + (var.clamp(min=eps) - var).detach()
    loss = 0.5 * (tandem.log(var) + (input - target) * (input - target) / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    apart = tandem.where(target == -1, (margin - input).clamp(min=0.0), 0.0)
    return reduce_loss(apart + tandem.where(target == 1, input, 0.0), reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    return reduce_loss((-target * (input1 - input2) + margin).clamp(min=0.0), reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input))."""
    return reduce_loss(log_one_plus_exp(-target * input), legacy_reduction(size_average, reduce, reduction))
