"""Adagrad and Adadelta."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._moments import PerParameter, average
from tandem.optim.optimizer import check_at_least_zero, check_lr, check_modes, scalar

__all__ = ["Adadelta", "Adagrad"]


class Adagrad(PerParameter):
    """Adagrad: the gradient divided by the root of the sum of all its squares so far.

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
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_at_least_zero(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        check_modes(differentiable, foreach=foreach, fused=fused)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        with tandem.no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    self._state_of(param, group)

    def _init_moments(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"sum": tandem.full_like(param, group["initial_accumulator_value"])}

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rate = scalar(group, "lr") / ((steps_before(state)) * scalar(group, "lr_decay") + 1)
        state["sum"].add_(grad * grad)
        param.sub_(grad / (tandem.sqrt(state["sum"]) + scalar(group, "eps")) * rate.to(param.dtype))


def steps_before(state: dict[str, Any]) -> Tensor:
    """The number of steps before this one, in float64."""
    return state["step"].to(tandem.float64) - 1


class Adadelta(PerParameter):
    """Adadelta: steps scaled by running root mean squares of steps and of gradients.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.Adadelta([w]).step()
        >>> w.item() < 1
        True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_at_least_zero(epsilon=eps, weight_decay=weight_decay)
        check_modes(differentiable)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_moments(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"square_avg": tandem.zeros_like(param), "acc_delta": tandem.zeros_like(param)}

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rho, eps = scalar(group, "rho"), scalar(group, "eps")
        average(state["square_avg"], grad * grad, rho)
        delta = tandem.sqrt(state["acc_delta"] + eps) / tandem.sqrt(state["square_avg"] + eps) * grad
        average(state["acc_delta"], delta * delta, rho)
        param.sub_(delta * scalar(group, "lr"))
