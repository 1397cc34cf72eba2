"""Stochastic gradient descent; all parameters of a group are updated by one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tandem
from tandem.optim.optimizer import Optimizer, check_at_least_zero, check_lr, check_modes, scalar, with_gradients
from tandem.utils._version import bump

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and Nesterov's form of it.

    With g the gradient (plus weight_decay * p): b = momentum * b + (1 - dampening) * g, at first b = g; then
    p = p - lr * b, or p - lr * (g + momentum * b) with `nesterov`. `maximize` climbs instead.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.SGD([w], lr=0.25).step()
        >>> w.tolist()
        [0.5]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_at_least_zero(momentum=momentum, weight_decay=weight_decay)
        check_modes(differentiable, foreach=foreach, fused=fused)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` returned."""
        loss = self._run_closure(closure)
        with tandem.no_grad():
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        params, grads = with_gradients(group["params"])
        if group["momentum"] == 0:
            self._update(group, params, grads, None, first=False)
            return
        states = list(map(self.state.__getitem__, params))
        buffers = [s.get("momentum_buffer") for s in states]
        if not any(b is None for b in buffers):
            self._update(group, params, grads, buffers, first=False)
            return
        fresh = [i for i, b in enumerate(buffers) if b is None]
        started = [i for i, b in enumerate(buffers) if b is not None]
        for i in fresh:
            buffers[i] = states[i]["momentum_buffer"] = tandem.zeros_like(params[i])
        bump(self)
        for places, first in ((started, False), (fresh, True)):
            chosen = ([values[i] for i in places] for values in (params, grads, buffers))
            self._update(group, *chosen, first=first)

    def _update(
        self, group: dict[str, Any], params: list[Any], grads: list[Any], buffers: list[Any] | None, first: bool
    ) -> None:
        if params:
            tandem._C._sgd_step(
                params,
                grads,
                buffers,
                scalar(group, "lr"),
                scalar(group, "momentum"),
                scalar(group, "dampening"),
                scalar(group, "weight_decay"),
                group["nesterov"],
                group["maximize"],
                first,
            )
