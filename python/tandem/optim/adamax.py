"""Adamax."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, scalars
from tandem.optim.optimizer import ParamsT

__all__ = ["Adamax"]


class Adamax(GroupOptimizer):
    """Adam with the largest decayed |gradient| in place of the root mean square (https://arxiv.org/abs/1412.6980).

    With g the gradient (plus weight_decay * p), t the number of steps: m = beta1 m + (1 - beta1) g,
    u = max(beta2 u, |g| + eps), p = p - lr / (1 - beta1^t) * m / u.

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: the rate, 2e-3.
        betas: decay of the mean and of the largest, (0.9, 0.999).
        eps: added to |g|, 1e-8.
        weight_decay: added times p to the gradient, 0.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.Adamax([w], lr=0.5).step()
        >>> round(w.item(), 3)
        0.5
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": tandem.zeros_like(param), "exp_inf": tandem.zeros_like(param)}

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        numbers = scalars(group, "lr", "betas", "eps", "weight_decay", "maximize")
        step.run("adamax_update", step.params, step["exp_avg"], step["exp_inf"], step.grads, step["step"], *numbers)
