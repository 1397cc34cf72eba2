"""Loss layers: each holds the options of a function of `nn.functional` and calls it.

All take `reduction`: "none" (a loss for each element), "mean" or "sum"; `size_average` and `reduce` are its older form.
A class without a docstring of its own has its function's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.distance import PairwiseDistance
from tandem.nn.module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """`reduction`, unless one of the two older flags was given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


class _Loss(Module):
    """The attributes named by `_options`, and `reduction`, are passed to the function named by `_function`."""

    _function: ClassVar[str]
    _options: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__doc__ is None and "_function" in cls.__dict__:
            cls.__doc__ = getattr(F, cls._function).__doc__.rpartition("\n\n")[2]

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = _reduction(size_average, reduce, reduction)

    def _loss(self, *tensors: Any) -> Tensor:
        options = {name: getattr(self, name) for name in self._options}
        return getattr(F, self._function)(*tensors, reduction=self.reduction, **options)


class _PairLoss(_Loss):
    """A loss of an input and a target."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._loss(input, target)


class _WeightedLoss(_PairLoss):
    _options: ClassVar[tuple[str, ...]] = ("weight",)

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(_PairLoss):
    """(input - target)².

    Example:
        >>> import tandem
        >>> tandem.nn.MSELoss()(tandem.zeros(2), tandem.tensor([1.0, 3.0])).item()
        5.0
    """

    _function = "mse_loss"


class L1Loss(_PairLoss):
    _function = "l1_loss"


class SmoothL1Loss(_PairLoss):
    _function, _options = "smooth_l1_loss", ("beta",)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_PairLoss):
    _function, _options = "huber_loss", ("delta",)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of unnormalised scores [N, C, ...] with class indices [N, ...] or probabilities [N, C, ...].

    Example:
        >>> import tandem
        >>> round(tandem.nn.CrossEntropyLoss()(tandem.zeros(1, 2), tandem.tensor([1])).item(), 4)
        0.6931
    """

    _function, _options = "cross_entropy", ("weight", "ignore_index", "label_smoothing")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing


class NLLLoss(_WeightedLoss):
    _function, _options = "nll_loss", ("weight", "ignore_index")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class NLLLoss2d(NLLLoss):
    """The older name of `NLLLoss` for pictures."""


class BCELoss(_WeightedLoss):
    _function = "binary_cross_entropy"


class BCEWithLogitsLoss(_PairLoss):
    _function, _options = "binary_cross_entropy_with_logits", ("weight", "pos_weight")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)


class KLDivLoss(_PairLoss):
    _function, _options = "kl_div", ("log_target",)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class PoissonNLLLoss(_Loss):
    _function, _options = "poisson_nll_loss", ("log_input", "full", "eps")

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return self._loss(log_input, target)


class GaussianNLLLoss(_Loss):
    _function, _options = "gaussian_nll_loss", ("full", "eps")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return self._loss(input, target, var)


class _MarginLoss(_Loss):
    _options = ("margin",)
    _default_margin: ClassVar[float] = 0.0

    def __init__(
        self,
        margin: float | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = self._default_margin if margin is None else margin


class HingeEmbeddingLoss(_MarginLoss):
    _function, _default_margin = "hinge_embedding_loss", 1.0

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self._loss(input, target)


class MarginRankingLoss(_MarginLoss):
    _function = "margin_ranking_loss"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._loss(input1, input2, target)


class CosineEmbeddingLoss(_MarginLoss):
    _function = "cosine_embedding_loss"

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._loss(input1, input2, target)


class SoftMarginLoss(_PairLoss):
    _function = "soft_margin_loss"


class MultiLabelMarginLoss(_PairLoss):
    _function = "multilabel_margin_loss"


class MultiLabelSoftMarginLoss(_WeightedLoss):
    _function = "multilabel_soft_margin_loss"


class MultiMarginLoss(_WeightedLoss):
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


class TripletMarginLoss(_Loss):
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
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._loss(anchor, positive, negative)


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance: a function or module of two tensors, `PairwiseDistance` when None."""

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
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._loss(anchor, positive, negative)


class CTCLoss(_Loss):
    """`nn.functional.ctc_loss`: [T, N, C] log-probabilities, targets [N, S] or one after the other, both lengths.

    Example:
        >>> import tandem
        >>> scores = tandem.zeros(3, 1, 2).log_softmax(-1)
        >>> loss = tandem.nn.CTCLoss(reduction="sum")(scores, tandem.tensor([[1]]), (3,), (1,))
        >>> round(loss.item(), 4)
        0.2877
    """

    _function, _options = "ctc_loss", ("blank", "zero_infinity")

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return self._loss(log_probs, targets, input_lengths, target_lengths)
