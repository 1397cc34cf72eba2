"""Adadelta."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, scalars
from tandem.optim.optimizer import ParamsT

__all__ = ["Adadelta"]


class Adadelta(GroupOptimizer):
    """Adadelta: steps scaled by running root mean squares of steps and of gradients (https://arxiv.org/abs/1212.5701).

    With g the gradient (plus weight_decay * p): v = rho v + (1 - rho) g², d = g sqrt(u + eps) / sqrt(v + eps),
    u = rho u + (1 - rho) d², p = p - lr * d.

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: scales the step, 1.0.
        rho: decay of both running means, in [0, 1], 0.9.
        eps: added under both roots, 1e-6.
        weight_decay: added times p to the gradient, 0.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.Adadelta([w]).step()
        >>> w.item() < 1
        True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"square_avg": tandem.zeros_like(param), "acc_delta": tandem.zeros_like(param)}

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        numbers = scalars(group, "lr", "rho", "eps", "weight_decay", "maximize")
        step.run("adadelta_update", step.params, step["square_avg"], step["acc_delta"], step.grads, *numbers)
