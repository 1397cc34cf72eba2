"""Adam."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, scalars
from tandem.optim.optimizer import ParamsT

__all__ = ["Adam"]


class Adam(GroupOptimizer):
    """Adam (Kingma and Ba 2014, https://arxiv.org/abs/1412.6980).

    With g the gradient, t the number of steps: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g²,
    p = p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps).

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: the rate, 1e-3.
        betas: decay of both running means, (0.9, 0.999).
        eps: added to the root, 1e-8.
        weight_decay: added times p to the gradient, 0.
        amsgrad: divide by the largest v so far.
        decoupled_weight_decay: scale p by 1 - lr * weight_decay first, instead of changing the gradient.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.Adam([w], lr=0.5).step()
        >>> round(w.item(), 4)
        0.5
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"exp_avg": tandem.zeros_like(param), "exp_avg_sq": tandem.zeros_like(param)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = tandem.zeros_like(param)
        return state

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        moments = step["exp_avg"], step["exp_avg_sq"], step.has("max_exp_avg_sq")
        options = "lr", "betas", "eps", "weight_decay", "amsgrad", "decoupled_weight_decay", "maximize"
        step.run("adam_update", step.params, *moments, step.grads, step["step"], *scalars(group, *options))
