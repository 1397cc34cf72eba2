"""Stochastic gradient descent; all parameters of a group are updated by one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tandem
from tandem.optim.optimizer import Optimizer, check_at_least_zero, check_lr, check_modes, scalar
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
        params = [p for p in group["params"] if p.grad is not None]
        if group["momentum"] == 0:
            self._update(group, params, None, first=False)
            return
        state = self.state
        started, fresh = [], []
        for p in params:
            (fresh if state[p].get("momentum_buffer") is None else started).append(p)
        self._update(group, started, [state[p]["momentum_buffer"] for p in started], first=False)
        if fresh:
            buffers = [tandem.zeros_like(p) for p in fresh]
            for p, buffer in zip(fresh, buffers, strict=True):
                state[p]["momentum_buffer"] = buffer
            bump(self)
            self._update(group, fresh, buffers, first=True)

    def _update(self, group: dict[str, Any], params: list[Any], buffers: list[Any] | None, first: bool) -> None:
        if params:
            tandem._C._sgd_step(
                params,
                [p.grad for p in params],
                buffers,
                scalar(group, "lr"),
                scalar(group, "momentum"),
                scalar(group, "dampening"),
                scalar(group, "weight_decay"),
                group["nesterov"],
                group["maximize"],
                first,
            )
