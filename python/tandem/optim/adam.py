"""Adam and AdamW; all parameters of a group are updated by one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

import tandem
from tandem import Tensor
from tandem.optim.optimizer import (
    Optimizer,
    check_at_least_zero,
    check_betas,
    check_lr,
    check_modes,
    scalar,
    with_gradients,
)

__all__ = ["Adam"]

_step = itemgetter("step")
_exp_avg = itemgetter("exp_avg")
_exp_avg_sq = itemgetter("exp_avg_sq")
_max_exp_avg_sq = itemgetter("max_exp_avg_sq")


class Adam(Optimizer):
    """Adam (https://arxiv.org/abs/1412.6980).

    With g the gradient, t the number of steps: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g²,
    p = p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps). `weight_decay` adds weight_decay * p to g,
    unless `decoupled_weight_decay`: then p is scaled by 1 - lr * weight_decay first. `amsgrad` divides by the largest
    v so far.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.Adam([w], lr=0.5).step()
        >>> round(w.item(), 4)
        0.5
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero(epsilon=eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        check_modes(differentiable, foreach=foreach, fused=fused)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {
            "step": tandem.tensor(0.0, dtype=tandem.float32, device=param.device),
            "exp_avg": tandem.zeros_like(param),
            "exp_avg_sq": tandem.zeros_like(param),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = tandem.zeros_like(param)
        return state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` returned."""
        loss = self._run_closure(closure)
        with tandem.no_grad():
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        params, grads = with_gradients(group["params"])
        if not params:
            return
        # Maps over C functions: with hundreds of small parameters this loop is most of the step.
        states = list(map(self.state.__getitem__, params))
        if not all(states):
            states = [self._state_of(p, group) for p in params]
        beta1, beta2 = scalar(group, "betas")
        tandem._C._adam_step(
            params,
            grads,
            list(map(_exp_avg, states)),
            list(map(_exp_avg_sq, states)),
            list(map(_max_exp_avg_sq, states)) if group["amsgrad"] else None,
            list(map(_step, states)),
            scalar(group, "lr"),
            beta1,
            beta2,
            scalar(group, "eps"),
            scalar(group, "weight_decay"),
            group["decoupled_weight_decay"],
            group["maximize"],
        )
