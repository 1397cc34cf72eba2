"""Loss layers: each holds the options of a function of `nn.functional` and calls it.

All take `reduction`: "none" (a loss for each element), "mean" (the default) or "sum"; ValueError for anything else when
called. `size_average` and `reduce` are its older form: `reduce=False` is "none", `size_average=False` "sum". Losses
that compare scores with a margin are in `margin_loss.py`, and can be imported from here, as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn._loss import _Loss, _PairLoss, _WeightedLoss
from tandem.nn.linear import Linear
from tandem.nn.margin_loss import *  # noqa: F403
from tandem.types import Device

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
]


class MSELoss(_PairLoss):
    """(input - target)², squared error.

    Takes two floating tensors of one shape, or shapes that broadcast (RuntimeError otherwise). Returns a scalar, or the
    losses of all elements with `reduction` "none".

    Example:
        >>> import tandem
        >>> tandem.nn.MSELoss()(tandem.zeros(2), tandem.tensor([1.0, 3.0])).item()
        5.0
    """

    _function = "mse_loss"


class L1Loss(_PairLoss):
    """|input - target|, absolute error.

    Takes two floating tensors of one shape, or shapes that broadcast (RuntimeError otherwise). Returns a scalar, or the
    losses of all elements with `reduction` "none".

    Example:
        >>> import tandem
        >>> tandem.nn.L1Loss(reduction="none")(tandem.zeros(2), tandem.tensor([1.0, -3.0]))
        tensor([1., 3.])
    """

    _function = "l1_loss"


class SmoothL1Loss(_PairLoss):
    """d² / (2 beta) where d = |input - target| < beta, else d - beta / 2 (Girshick 2015).

    Squared error near 0, absolute error far from it. Takes two floating tensors of shapes that broadcast; RuntimeError
    for a negative `beta` when called.

    Example:
        >>> import tandem
        >>> tandem.nn.SmoothL1Loss(reduction="none")(tandem.zeros(2), tandem.tensor([0.5, 3.0]))
        tensor([0.1250, 2.5000])
    """

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
    """d² / 2 where d = |input - target| < delta, else delta * (d - delta / 2) (Huber 1964).

    `SmoothL1Loss` times its beta. Takes two floating tensors of shapes that broadcast; TypeError for a `delta` that is
    no number, RuntimeError when called unless it is positive.

    Example:
        >>> import tandem
        >>> tandem.nn.HuberLoss("none", delta=2.0)(tandem.zeros(2), tandem.tensor([1.0, 3.0]))
        tensor([0.5000, 4.0000])
    """

    _function, _options = "huber_loss", ("delta",)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta


class CrossEntropyLoss(_WeightedLoss):
    """-log(softmax(input)) of the target's class: `LogSoftmax` and `NLLLoss` in one.

    Args:
        weight: a factor for each class, [C]; a mean divides by the sum of the factors used.
        ignore_index: the target that counts as nothing.
        label_smoothing: the share of the target that is spread over all classes, in [0, 1] (RuntimeError).

    Takes unnormalised scores [N, C, ...] (or [C]) and class indices [N, ...] as int64, or probabilities in the shape of
    the scores. ValueError for a target of another shape, IndexError for a class that there is not.

    Example:
        >>> import tandem
        >>> tandem.nn.CrossEntropyLoss()(tandem.zeros(1, 2), tandem.tensor([1]))
        tensor(0.6931)
        >>> tandem.nn.CrossEntropyLoss()(tandem.zeros(1, 2), tandem.tensor([[0.5, 0.5]]))
        tensor(0.6931)
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


class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of what a linear layer of its own, `linear`, makes of the input.

    Args:
        in_features: the input's last size.
        num_classes: C.
        out_features: further sizes d1, ... of the scores [N, C, d1, ...].
        bias: whether the layer has one.
        weight, ignore_index, label_smoothing: as of `nn.functional.linear_cross_entropy`, `options` too. RuntimeError
            for a weight of another shape than [C], or a smoothing outside [0, 1].

    Example:
        >>> import tandem
        >>> loss = tandem.nn.LinearCrossEntropyLoss(3, 2)
        >>> loss(tandem.zeros(1, 3), tandem.tensor([1])).detach()
        tensor(0.6931)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        rows = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        rows, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape([*rows, self.linear.in_features]),
            target,
            linear_bias=None if bias is None else bias.reshape(rows),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )


class NLLLoss(_WeightedLoss):
    """-input[n, target[n], ...]: negative log likelihood of log-probabilities, as `LogSoftmax` returns them.

    Args:
        weight: a factor for each class, [C]; a mean divides by the sum of the factors used.
        ignore_index: the target that counts as nothing.

    Takes [N, C, ...] (or [C]) and class indices [N, ...] as int64. ValueError for a target of another shape, IndexError
    for a class that there is not.

    Example:
        >>> import tandem
        >>> scores = tandem.tensor([[0.25, 0.75]]).log()
        >>> tandem.nn.NLLLoss()(scores, tandem.tensor([1]))
        tensor(0.2877)
    """

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
    """The older name of `NLLLoss` for pictures: [N, C, H, W] and class indices [N, H, W].

    Example:
        >>> import tandem
        >>> scores = tandem.zeros(1, 4, 2, 2).log_softmax(1)
        >>> tandem.nn.NLLLoss2d()(scores, tandem.zeros(1, 2, 2, dtype=tandem.int64))
        tensor(1.3863)
    """


class BCELoss(_WeightedLoss):
    """-(target * log(input) + (1 - target) * log(1 - input)) of probabilities; logarithms are at least -100.

    Args:
        weight: a factor for each element, of a shape that broadcasts to the input's.

    Takes two floating tensors of one shape (ValueError), the input in [0, 1]. `BCEWithLogitsLoss` takes scores and is
    more exact.

    Example:
        >>> import tandem
        >>> tandem.nn.BCELoss()(tandem.tensor([0.5, 0.5]), tandem.tensor([0.0, 1.0]))
        tensor(0.6931)
    """

    _function = "binary_cross_entropy"


class BCEWithLogitsLoss(_PairLoss):
    """`BCELoss` of sigmoid(input), computed without overflow.

    Args:
        weight: a factor for each element, of a shape that broadcasts to the input's.
        pos_weight: a factor for each class's target term, of a shape that broadcasts.

    Takes scores and targets of one shape (ValueError), floating both.

    Example:
        >>> import tandem
        >>> tandem.nn.BCEWithLogitsLoss(reduction="none")(tandem.tensor([0.0, 90.0]), tandem.tensor([1.0, 0.0]))
        tensor([ 0.6931, 90.0000])
    """

    _function, _options = "binary_cross_entropy_with_logits", ("weight", "pos_weight")
    weight: Tensor | None
    pos_weight: Tensor | None

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
    """target * (log(target) - input), `input` being log-probabilities: the divergence of Kullback and Leibler (1951).

    `reduction` may be "batchmean" too: the sum by the size of dim 0, which is the divergence's definition, while "mean"
    divides by all elements. `log_target` says that the target is log-probabilities as well. Takes two tensors of shapes
    that broadcast.

    Example:
        >>> import tandem
        >>> p, q = tandem.tensor([[0.5, 0.5]]), tandem.tensor([[0.25, 0.75]])
        >>> tandem.nn.KLDivLoss(reduction="batchmean")(q.log(), p)
        tensor(0.1438)
    """

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
    """Negative log likelihood of counts under Poisson distributions: exp(input) - target * input.

    Args:
        log_input: whether the input is the logarithm of the rate; else input - target * log(input + eps).
        full: add Stirling's approximation of log(target!) for targets above 1.
        eps: keeps the logarithm finite.

    Takes two tensors of shapes that broadcast.

    Example:
        >>> import tandem
        >>> tandem.nn.PoissonNLLLoss(log_input=False)(tandem.tensor([2.0]), tandem.tensor([1.0]))
        tensor(1.3069)
    """

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
    """Negative log likelihood under normal distributions: (log(var) + (input - target)² / var) / 2.

    Args:
        full: add log(2 pi) / 2.
        eps: the least variance; `var` is raised to it, without a gradient.

    Takes means, targets of a shape that broadcasts, and variances: a number, the shape of the means, or that shape with
    the last dim missing or of size 1.

    Example:
        >>> import tandem
        >>> tandem.nn.GaussianNLLLoss()(tandem.zeros(2), tandem.ones(2), tandem.ones(2))
        tensor(0.5000)
    """

    _function, _options = "gaussian_nll_loss", ("full", "eps")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return self._loss(input, target, var)


class CTCLoss(_Loss):
    """Negative log likelihood of label sequences under all their alignments to an input (Graves et al. 2006).

    Args:
        blank: the class that stands for no label.
        reduction: "mean" divides each loss by its target's length first.
        zero_infinity: 0 instead of inf, and no gradient, where a target is too long for its input.

    Takes log-probabilities [T, N, C] (or [T, C]), targets [N, S] or one after the other [sum of lengths], and the
    lengths of inputs and targets, tensors or sequences of N integers. RuntimeError for a length above T.

    Example:
        >>> import tandem
        >>> scores = tandem.zeros(3, 1, 2).log_softmax(-1)
        >>> tandem.nn.CTCLoss(reduction="sum")(scores, tandem.tensor([[1]]), (3,), (1,))
        tensor(0.2877)
    """

    _function, _options = "ctc_loss", ("blank", "zero_infinity")

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        return self._loss(log_probs, targets, input_lengths, target_lengths)
