"""AdamW."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tandem.optim.adam import Adam

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with decoupled weight decay (https://arxiv.org/abs/1711.05101): p is scaled by 1 - lr * weight_decay first.

    Example:
        >>> import tandem
        >>> net = tandem.nn.Linear(2, 1)
        >>> optimizer = tandem.optim.AdamW(net.parameters(), lr=1e-3)
        >>> net(tandem.ones(1, 2)).sum().backward()
        >>> optimizer.step()
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
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
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
