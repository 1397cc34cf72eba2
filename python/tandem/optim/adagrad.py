"""Adagrad."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, scalars
from tandem.optim.optimizer import ParamsT

__all__ = ["Adagrad"]


class Adagrad(GroupOptimizer):
    """Adagrad: the gradient divided by the root of the sum of all its squares so far (Duchi et al. 2011).

    With g the gradient (plus weight_decay * p), t the number of steps: s = s + g²,
    p = p - lr / (1 + (t - 1) lr_decay) * g / (sqrt(s) + eps).

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: the first rate, 1e-2.
        lr_decay: how it falls with the steps, 0.
        weight_decay: added times p to the gradient, 0.
        initial_accumulator_value: s at first, 0.
        eps: added to the root, 1e-10.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.Adagrad([w], lr=0.5).step()
        >>> round(w.item(), 3)
        0.5
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, checked(locals()))
        for group in self.param_groups:
            for param in group["params"]:
                self._first_state(param, group)

    def share_memory(self) -> None:
        """Warns: the state is that of this process (`Tensor.share_memory_`)."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"sum": tandem.full_like(param, group["initial_accumulator_value"])}

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        numbers = scalars(group, "lr", "lr_decay", "eps", "weight_decay", "maximize")
        step.run("adagrad_update", step.params, step["sum"], step.grads, step["step"], *numbers)
