"""RMSprop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._moments import PerParameter, average
from tandem.optim.optimizer import check_at_least_zero, check_lr, check_modes, scalar

__all__ = ["RMSprop"]


class RMSprop(PerParameter):
    """RMSprop: the gradient divided by a running root mean square (`centered`: by a running standard deviation).

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
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        check_modes(differentiable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_moments(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"square_avg": tandem.zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = tandem.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = tandem.zeros_like(param)
        return state

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        alpha, lr, eps = scalar(group, "alpha"), scalar(group, "lr"), scalar(group, "eps")
        average(state["square_avg"], grad * grad, alpha)
        spread = state["square_avg"]
        if group["centered"]:
            average(state["grad_avg"], grad, alpha)
            spread = spread - state["grad_avg"] * state["grad_avg"]
        direction = grad / (tandem.sqrt(spread) + eps)
        if group["momentum"] > 0:
            direction = state["momentum_buffer"].mul_(scalar(group, "momentum")).add_(direction)
        param.sub_(direction * lr)
