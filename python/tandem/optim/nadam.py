"""NAdam."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, scalars, state_scalar
from tandem.optim.optimizer import ParamsT

__all__ = ["NAdam"]


class NAdam(GroupOptimizer):
    """Adam with Nesterov momentum (Dozat 2016, https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ).

    As `Adam`, with the momentum mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2) and M_t the product of all so far:
    p = p - lr * ((1 - mu_t) g / (1 - M_t) + mu_(t+1) m / (1 - M_(t+1))) / (sqrt(v / (1 - beta2^t)) + eps).

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: the rate, 2e-3.
        betas, eps, weight_decay, decoupled_weight_decay: those of `Adam`.
        momentum_decay: how fast the momentum grows to beta1, 4e-3.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.NAdam([w], lr=0.1).step()
        >>> w.item() < 1
        True
    """

    scalar_state = frozenset({"step", "mu_product"})

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "mu_product": state_scalar(1.0, param),
            "exp_avg": tandem.zeros_like(param),
            "exp_avg_sq": tandem.zeros_like(param),
        }

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        options = "lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay", "maximize"
        numbers = scalars(group, *options)
        beta1, momentum_decay = numbers[1], numbers[5]
        products, counts = step["mu_product"], step["step"]
        step.run("nadam_product_update", products, counts, beta1, momentum_decay)
        moments = step["exp_avg"], step["exp_avg_sq"]
        step.run("nadam_update", step.params, *moments, step.grads, products, counts, *numbers)
