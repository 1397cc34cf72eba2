"""Losses at the top level, with the parameters that PyTorch has there: a reduction is a number, 0 (the default) for
none, 1 for the mean, 2 for the sum, and the order differs from that of `nn.functional`, which says what each computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem import _C

__all__ = [
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "ctc_loss",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "poisson_nll_loss",
    "triplet_margin_loss",
]

Tensor = _C.Tensor
_nn: Any = _C._nn


def _word(name: str, reduction: int) -> str:
    """The word of `nn.functional` for a number; those that ATen does not know reduce nothing, as there."""
    if not isinstance(reduction, int) or isinstance(reduction, bool):
        raise TypeError(f"{name}(): argument 'reduction' must be int, not {type(reduction).__name__}")
    return {1: "mean", 2: "sum"}.get(reduction, "none")


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`, the reduction as a number: 0 none, 1 mean, 2 sum.

    >>> import tandem
    >>> tandem.binary_cross_entropy_with_logits(tandem.zeros(2), tandem.tensor([0.0, 1.0]), reduction=2)
    tensor(1.3863)
    """
    how = _word("binary_cross_entropy_with_logits", reduction)
    return _nn.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=how)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`, the reduction as a number: 0 none, 1 mean, 2 sum.

    >>> import tandem
    >>> x = tandem.tensor([[1.0, 0.0]])
    >>> tandem.cosine_embedding_loss(x, -x, tandem.tensor([1]), 0.0, 0)
    tensor([2.])
    """
    how = _word("cosine_embedding_loss", reduction)
    return _nn.cosine_embedding_loss(input1, input2, target, margin, reduction=how)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss`, the reduction as a number: 0 none, 1 mean, 2 sum.

    >>> import tandem
    >>> log_probs = tandem.full((2, 1, 2), 0.5).log()
    >>> tandem.ctc_loss(log_probs, tandem.tensor([[1]]), [2], [1], reduction=1)
    tensor(0.2877)
    """
    how = _word("ctc_loss", reduction)
    return _nn.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """`nn.functional.hinge_embedding_loss`, the reduction as a number: 0 none, 1 mean, 2 sum.

    >>> import tandem
    >>> tandem.hinge_embedding_loss(tandem.tensor([0.5, 0.25]), tandem.tensor([1, -1]), 1.0, 0)
    tensor([0.5000, 0.7500])
    """
    how = _word("hinge_embedding_loss", reduction)
    return _nn.hinge_embedding_loss(input, target, margin, reduction=how)


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div`, the reduction as a number: 0 none, 1 the mean of all elements, 2 sum.

    >>> import tandem
    >>> tandem.kl_div(tandem.tensor([0.5, 0.5]).log(), tandem.tensor([1.0, 0.0]), 2)
    tensor(0.6931)
    """
    how = _word("kl_div", reduction)
    loss = _nn.kl_div(input, target, reduction="none" if how == "mean" else how, log_target=log_target)
    return loss.mean() if how == "mean" else loss


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.margin_ranking_loss` of what broadcasts, the reduction as a number: 0 none, 1 mean, 2 sum.

    >>> import tandem
    >>> a, b = tandem.tensor([1.0, 2.0]), tandem.tensor([3.0, 0.0])
    >>> tandem.margin_ranking_loss(a, b, tandem.ones(2), 0.5, 0)
    tensor([2.5000, 0.0000])
    """
    how = _word("margin_ranking_loss", reduction)
    return _nn.margin_ranking_loss(*_C.broadcast_tensors(input1, input2, target), margin, reduction=how)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`nn.functional.poisson_nll_loss`, the reduction as a number: 0 none, 1 mean, 2 sum. Nothing has a default.

    >>> import tandem
    >>> tandem.poisson_nll_loss(tandem.zeros(2), tandem.tensor([0.0, 1.0]), True, False, 1e-8, 0)
    tensor([1., 1.])
    """
    how = _word("poisson_nll_loss", reduction)
    return _nn.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """`nn.functional.triplet_margin_loss`, the reduction as a number: 0 none, 1 mean, 2 sum; of any `margin`.

    >>> import tandem
    >>> a, n = tandem.zeros(1, 2), tandem.full((1, 2), 0.25)
    >>> tandem.triplet_margin_loss(a, a, n, 1.0, 1.0, 0.0, reduction=0)
    tensor([0.5000])
    """
    how = _word("triplet_margin_loss", reduction)
    if margin > 0:
        return _nn.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=how)
    near, far = _nn.pairwise_distance(anchor, positive, p, eps), _nn.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _C.minimum(far, _nn.pairwise_distance(positive, negative, p, eps))
    loss = (near - far + margin).clamp(min=0)
    return loss if how == "none" else loss.mean() if how == "mean" else loss.sum()
