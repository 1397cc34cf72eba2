"""What loss layers share."""

from __future__ import annotations

from typing import Any, ClassVar

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.module import Module


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """`reduction`, unless one of the two older flags was given."""
    if size_average is None and reduce is None:
        return reduction
    how = "none" if reduce is False else "sum" if size_average is False else "mean"
    tandem._C._warn(f"size_average and reduce args will be deprecated, please use reduction='{how}' instead.", 4)
    return how


class _Loss(Module):
    """The attributes named by `_options`, and `reduction`, are passed to the function named by `_function`."""

    _function: ClassVar[str]
    _options: ClassVar[tuple[str, ...]] = ()
    reduction: str

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
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
