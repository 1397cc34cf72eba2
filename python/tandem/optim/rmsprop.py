"""RMSprop."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, scalars
from tandem.optim.optimizer import ParamsT

__all__ = ["RMSprop"]


class RMSprop(GroupOptimizer):
    """RMSprop: the gradient divided by a running root mean square (Hinton 2012, lecture 6 of his course).

    With g the gradient (plus weight_decay * p): v = alpha v + (1 - alpha) g², d = g / (sqrt(v) + eps), and with
    momentum b = momentum * b + d; p = p - lr * d, or p - lr * b.

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: the rate, 1e-2.
        alpha: decay of v, 0.99.
        eps: added to the root, 1e-8.
        weight_decay: added times p to the gradient, 0.
        momentum: 0 for none.
        centered: take the square of the running mean of g off v, so that the root is a standard deviation.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.RMSprop([w], lr=0.05).step()
        >>> round(w.item(), 3)
        0.5
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals()))

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"square_avg": tandem.zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = tandem.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = tandem.zeros_like(param)
        return state

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        averages = step["square_avg"], step.has("momentum_buffer"), step.has("grad_avg")
        numbers = scalars(group, "lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize")
        step.run("rmsprop_update", step.params, *averages, step.grads, *numbers)
