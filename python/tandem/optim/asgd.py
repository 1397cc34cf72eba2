"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, scalars, state_scalar
from tandem.optim.optimizer import ParamsT

__all__ = ["ASGD"]


class ASGD(GroupOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky 1992): the mean of the iterates is kept in the state.

    With g the gradient (plus weight_decay * p): p = p (1 - lambd * eta) - eta * g, and `ax` goes towards p by mu. After
    step t, eta = lr / (1 + lambd * lr * t)^alpha and mu = 1 / max(1, t - t0): up to step t0 `ax` is p itself.

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: the first rate, 1e-2.
        lambd: decay of p, 1e-4.
        alpha: the power by which eta falls, 0.75.
        t0: the step at which averaging starts, 1e6.
        weight_decay: added times p to the gradient, 0.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> optimizer = tandem.optim.ASGD([w], lr=0.25)
        >>> optimizer.step()
        >>> round(w.item(), 3), bool(optimizer.state[w]["ax"] == w)
        (0.5, True)
    """

    scalar_state = frozenset({"step", "eta", "mu"})

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, checked(locals(), unchecked=("alpha",)))

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr, eta = group["lr"], state_scalar(0.0, param)
        eta.add_(lr.detach().reshape(()) if isinstance(lr, Tensor) else lr)
        return {"eta": eta, "mu": state_scalar(1.0, param), "ax": tandem.zeros_like(param)}

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        lambd, decay, maximize, lr, alpha, t0 = scalars(group, "lambd", "weight_decay", "maximize", "lr", "alpha", "t0")
        rates = step["eta"], step["mu"]
        # The history of a differentiable step keeps the rates it used, which are then overwritten.
        used = [[rate.clone() for rate in rates_] for rates_ in rates] if step.differentiable else rates
        step.run("asgd_update", step.params, step["ax"], step.grads, *used, lambd, decay, maximize)
        step.run("asgd_rates_update", *rates, step["step"], lr, lambd, alpha, t0)
