"""AdamW."""

from __future__ import annotations

from typing import Any

from tandem import Tensor
from tandem.optim.adam import Adam
from tandem.optim.optimizer import ParamsT

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2017, https://arxiv.org/abs/1711.05101).

    A step scales p by 1 - lr * weight_decay, then does what `Adam` does. Arguments are those of `Adam`, with a
    `weight_decay` of 1e-2.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.AdamW([w], lr=0.5, weight_decay=0.1).step()
        >>> round(w.item(), 4)
        0.45
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__(**options, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
