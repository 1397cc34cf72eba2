"""`AdaptiveLogSoftmaxWithLoss`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.container import ModuleList, Sequential
from tandem.nn.linear import Linear
from tandem.nn.module import Module
from tandem.types import Device

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """log_softmax over many classes of which few are frequent (Grave et al. 2017).

    Args:
        in_features, n_classes: of the input and of the targets, classes ordered by falling frequency.
        cutoffs: rising class numbers, less than `n_classes` (ValueError). Classes below the first and one for each
            further cluster form the head; cluster i is projected to in_features / div_value^(i + 1) features first.
        head_bias: whether the head adds a bias.

    Takes [N, in_features] and class indices [N] (N may be missing; RuntimeError for other shapes); returns the targets'
    log-probabilities `output` [N] and the mean of their negatives `loss`.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
        >>> layer(tandem.zeros(3, 8), tandem.tensor([0, 7, 19])).output.shape
        tandem.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(Linear(in_features, hidden, bias=False, **place), Linear(hidden, size, bias=False, **place))
            )

    def reset_parameters(self) -> None:
        """Draw initial values anew."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        batched = target_.dim() == 1
        if batched and input_.dim() != 2:
            raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input_.shape}.")
        if not batched and (target_.dim() != 0 or input_.dim() != 1):
            raise RuntimeError(
                f"0D target tensor expects 1D input tensors, but found inputs with size {input_.shape}."
                if target_.dim() == 0
                else "0D or 1D target tensor expected, multi-target not supported"
            )
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        if batched and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        # A row goes through the cluster of its target alone; one that no target is in has no gradient.
        output, places = tandem.zeros_like(target, dtype=input.dtype), target
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i : i + 2]
            within = (target >= low) & (target < high)
            rows = within.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            places = places.masked_fill(within, self.shortlist_size + i)
            logs = F.log_softmax(cluster(input.index_select(0, rows)), dim=1)
            own = logs.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
            output = output.index_copy(0, rows, own)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, places.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities [N, n_classes]."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            place = self.shortlist_size + i
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, place : place + 1])
        return tandem.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row."""
        return self.log_prob(input).argmax(dim=1)
