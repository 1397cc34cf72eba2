"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import GroupOptimizer, GroupStep, checked, is_zero, scalars
from tandem.optim.optimizer import ParamsT

__all__ = ["SGD"]


class SGD(GroupOptimizer):
    """Stochastic gradient descent, with momentum and Nesterov's form of it.

    With g the gradient (plus weight_decay * p): b = momentum * b + (1 - dampening) * g, at first b = g; then
    p = p - lr * b, or p - lr * (g + momentum * b) with `nesterov`.

    Args:
        params: parameters or groups; see `Optimizer`, also for the arguments that are not listed.
        lr: the rate, 1e-3.
        momentum: how much of the last step is kept, 0.
        dampening: how much of the gradient is left out of the buffer, 0.
        weight_decay: how much of the parameter is added to its gradient, 0.
        nesterov: ValueError without momentum, or with dampening.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.SGD([w], lr=0.25).step()
        >>> w.tolist()
        [0.5]
    """

    counts = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = checked(locals())
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)

    def _keeps_state(self, group: dict[str, Any]) -> bool:
        return not is_zero(group, "momentum")

    def _states_of(self, params: list[Tensor], group: dict[str, Any]) -> list[dict[str, Any]]:
        return list(map(self.state.__getitem__, params)) if self._keeps_state(group) else []

    def _update(self, step: GroupStep, group: dict[str, Any]) -> None:
        numbers = scalars(group, "lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")
        if not step.states:
            step.run("sgd_update", step.params, None, step.grads, *numbers)
            return
        buffers = [state.get("momentum_buffer") for state in step.states]
        fresh = [i for i, buffer in enumerate(buffers) if buffer is None]
        if not fresh:
            step.run("sgd_update", step.params, buffers, step.grads, *numbers)
            return
        tandem._C._makes_state()
        for i in fresh:
            buffers[i] = step.states[i]["momentum_buffer"] = tandem.zeros_like(step.params[i])
        started = [i for i in range(len(buffers)) if i not in {*fresh}]
        if step.differentiable:
            for i in fresh:
                self._first_step(step.params[i], buffers[i], step.grads[i], numbers)
            fresh = []
        for places in (started, fresh):
            if places is fresh:
                numbers[2] = 0.0  # the first buffer is the gradient: a step from zero without dampening
            lists = [[values[i] for i in places] for values in (step.params, buffers, step.grads)]
            if places:
                step.run("sgd_update", *lists, *numbers)

    @staticmethod
    def _first_step(param: Tensor, buffer: Tensor, grad: Tensor, numbers: list[Any]) -> None:
        """The first step of one that is differentiated: the buffer takes the gradient's value, without its history."""
        lr, momentum, _, weight_decay, nesterov, maximize = numbers
        if maximize:
            grad = -grad
        grad = grad + weight_decay * param
        buffer.copy_(grad.detach())
        param.sub_(lr * (grad + momentum * buffer if nesterov else buffer.clone()))
