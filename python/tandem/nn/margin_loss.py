"""Loss layers that ask scores, distances or similarities to differ by a margin; options as in `loss.py`."""

from __future__ import annotations

from collections.abc import Callable

from tandem import Tensor
from tandem.nn._loss import _Loss, _PairLoss, _WeightedLoss
from tandem.nn.distance import PairwiseDistance

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _MarginLoss(_Loss):
    _options = ("margin",)

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """input where target is 1, max(0, margin - input) where it is -1.

    For inputs that are distances: pairs of target 1 are drawn together, others apart. Takes two tensors of shapes that
    broadcast.

    Example:
        >>> import tandem
        >>> tandem.nn.HingeEmbeddingLoss(reduction="none")(tandem.tensor([0.2, 0.4]), tandem.tensor([1, -1]))
        tensor([0.2000, 0.6000])
    """

    _function = "hinge_embedding_loss"

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._loss(input, target)


class MarginRankingLoss(_MarginLoss):
    """max(0, -target * (input1 - input2) + margin).

    Target 1 says that the first input should be the larger, -1 the second. Takes three tensors of one number of dims
    (RuntimeError), usually [N].

    Example:
        >>> import tandem
        >>> first, second = tandem.tensor([1.0, 2.0]), tandem.tensor([3.0, 1.0])
        >>> tandem.nn.MarginRankingLoss(0.5, reduction="none")(first, second, tandem.tensor([1, 1]))
        tensor([2.5000, 0.0000])
    """

    _function = "margin_ranking_loss"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._loss(input1, input2, target)


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cos(input1, input2) where target is 1, max(0, cos(input1, input2) - margin) where it is -1.

    Takes two tensors [N, D] and targets [N], or [D] and a scalar; RuntimeError for other numbers of dims. A margin in
    [0, 0.5] is usual.

    Example:
        >>> import tandem
        >>> x, y = tandem.tensor([[1.0, 0.0], [1.0, 0.0]]), tandem.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> tandem.nn.CosineEmbeddingLoss(reduction="none")(x, y, tandem.tensor([1, -1]))
        tensor([1., 1.])
    """

    _function = "cosine_embedding_loss"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._loss(input1, input2, target)


class SoftMarginLoss(_PairLoss):
    """log(1 + exp(-target * input)) for targets 1 and -1: the logistic loss.

    Takes two tensors of shapes that broadcast (RuntimeError otherwise).

    Example:
        >>> import tandem
        >>> tandem.nn.SoftMarginLoss()(tandem.tensor([0.0, 0.0]), tandem.tensor([1.0, -1.0]))
        tensor(0.6931)
    """

    _function = "soft_margin_loss"


class MultiLabelMarginLoss(_PairLoss):
    """The sum of max(0, 1 - (input[y] - input[i])) over target classes y and all other classes i, by the number C.

    Takes scores [N, C] or [C] and int64 targets of the same shape (RuntimeError): the target classes of each row, ended
    by a first -1. Returns a scalar, or [N] with `reduction` "none".

    Example:
        >>> import tandem
        >>> scores, classes = tandem.tensor([0.1, 0.2, 0.4, 0.8]), tandem.tensor([3, 0, -1, 1])
        >>> tandem.nn.MultiLabelMarginLoss()(scores, classes)
        tensor(0.8500)
    """

    _function = "multilabel_margin_loss"


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of `BCEWithLogitsLoss`.

    `weight` [C] is a factor for each class. Takes scores and targets (0 or 1) [N, C]; returns a scalar, or [N] with
    `reduction` "none".

    Example:
        >>> import tandem
        >>> tandem.nn.MultiLabelSoftMarginLoss()(tandem.zeros(2, 3), tandem.ones(2, 3))
        tensor(0.6931)
    """

    _function = "multilabel_soft_margin_loss"


class MultiMarginLoss(_WeightedLoss):
    """The sum of max(0, margin - input[y] + input[i])^p over the classes i other than the target y, by the number C.

    Args:
        p: 1 or 2 (ValueError).
        margin: by how much the target's score should be the largest.
        weight: [C], a factor for each target class (ValueError for another number of dims).

    Takes scores [N, C] or [C] and class indices [N] or a scalar; IndexError for a class that there is not.

    Example:
        >>> import tandem
        >>> tandem.nn.MultiMarginLoss()(tandem.tensor([[0.5, 0.25, 1.0]]), tandem.tensor([2]))
        tensor(0.2500)
    """

    _function, _options = "multi_margin_loss", ("p", "margin", "weight")

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p = p
        self.margin = margin


class _TripletLoss(_Loss):
    def _check_margin(self, margin: float) -> None:
        if margin <= 0:
            raise ValueError(f"{type(self).__name__}: expected margin to be greater than 0, got {margin} instead")

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._loss(anchor, positive, negative)


class TripletMarginLoss(_TripletLoss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the distance ||x - y + eps||_p (Balntas 2016).

    Args:
        margin: greater than 0 (ValueError).
        p, eps: the norm of the distance, and what keeps its gradient finite.
        swap: compare with d(positive, negative) where that is less than d(anchor, negative).

    Takes three tensors [N, D] or [D]; returns a scalar, or [N] with `reduction` "none".

    Example:
        >>> import tandem
        >>> loss = tandem.nn.TripletMarginLoss()
        >>> loss(tandem.zeros(1, 2), tandem.zeros(1, 2), tandem.tensor([[0.0, 0.25]]))
        tensor(0.7500)
    """

    _function, _options = "triplet_margin_loss", ("margin", "p", "eps", "swap")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self._check_margin(margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap


class TripletMarginWithDistanceLoss(_TripletLoss):
    """`TripletMarginLoss` with any distance: a function or module of two tensors, `PairwiseDistance` when None.

    `margin` is greater than 0 (ValueError); `swap` as there. The distance takes two tensors [N, ...] and returns [N].

    Example:
        >>> import tandem
        >>> loss = tandem.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().amax(-1))
        >>> loss(tandem.zeros(1, 2), tandem.ones(1, 2), tandem.full((1, 2), 3.0))
        tensor(0.)
    """

    _function, _options = "triplet_margin_with_distance_loss", ("distance_function", "margin", "swap")

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        self._check_margin(margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap
