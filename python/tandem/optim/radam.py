"""RAdam."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, scalars
from tandem.optim.optimizer import ParamsT

__all__ = ["RAdam"]


class RAdam(GroupOptimizer):
    """Adam with the variance of its adaptive rate rectified (Liu et al. 2019, https://arxiv.org/abs/1908.03265).

    As `Adam`, its rate scaled by sqrt((r - 4)(r - 2) R / ((R - 4)(R - 2) r)), where R = 2 / (1 - beta2) - 1 and
    r = R - 2 t beta2^t / (1 - beta2^t); plain momentum while r is at most 5.

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: the rate, 1e-3.
        betas, eps, weight_decay, decoupled_weight_decay: those of `Adam`.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.RAdam([w], lr=0.25).step()
        >>> round(w.item(), 3)
        0.5
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": tandem.zeros_like(param), "exp_avg_sq": tandem.zeros_like(param)}

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        numbers = scalars(group, "lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize")
        moments = step["exp_avg"], step["exp_avg_sq"]
        step.run("radam_update", step.params, *moments, step.grads, step["step"], *numbers)
