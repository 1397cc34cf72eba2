"""Rprop."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, scalars
from tandem.optim.optimizer import ParamsT

__all__ = ["Rprop"]


class Rprop(GroupOptimizer):
    """Resilient backpropagation (Riedmiller and Braun 1993): each element has its own step, of g only the sign counts.

    A step grows by etas[1] where the gradient kept its sign, shrinks by etas[0] where it turned (the element then waits
    for one step), and stays between step_sizes; p = p - sign(g) * step.

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: the first step, 1e-2.
        etas: how steps shrink and grow, (0.5, 1.2).
        step_sizes: the least and the largest step, (1e-6, 50).

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.Rprop([w], lr=0.25).step()
        >>> w.tolist()
        [0.75]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, checked(locals()))

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = group["lr"]
        first = tandem.zeros_like(param) + lr if isinstance(lr, Tensor) else tandem.full_like(param, lr)
        return {"prev": tandem.zeros_like(param), "step_size": first.to(param.dtype).detach()}

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        numbers = scalars(group, "etas", "step_sizes", "maximize")
        step.run("rprop_update", step.params, step["prev"], step["step_size"], step.grads, *numbers)
