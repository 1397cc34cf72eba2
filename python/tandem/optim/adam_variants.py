"""Adamax, NAdam and RAdam."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._moments import PerParameter, average, steps
from tandem.optim.optimizer import check_at_least_zero, check_betas, check_lr, check_modes, scalar

__all__ = ["Adamax", "NAdam", "RAdam"]


class Adamax(PerParameter):
    """Adam with the largest decayed |gradient| in place of the root mean square.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.Adamax([w], lr=0.5).step()
        >>> round(w.item(), 3)
        0.5
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero(epsilon=eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        check_modes(differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _init_moments(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": tandem.zeros_like(param), "exp_inf": tandem.zeros_like(param)}

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = scalar(group, "betas")
        average(state["exp_avg"], grad, beta1)
        largest = tandem.maximum(state["exp_inf"] * beta2, tandem.abs(grad) + scalar(group, "eps"))
        state["exp_inf"].copy_(largest)
        rate = scalar(group, "lr") / (1 - beta1 ** steps(state))
        param.sub_(state["exp_avg"] / largest * rate.to(param.dtype))


class NAdam(PerParameter):
    """Adam with Nesterov momentum, whose coefficient grows as 1 - 0.96^(t momentum_decay) / 2.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.NAdam([w], lr=0.1).step()
        >>> w.item() < 1
        True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero(epsilon=eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_modes(differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_moments(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "mu_product": tandem.tensor(1.0, dtype=tandem.float64, device=param.device),
            "exp_avg": tandem.zeros_like(param),
            "exp_avg_sq": tandem.zeros_like(param),
        }

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = scalar(group, "betas")
        lr, decay = scalar(group, "lr"), scalar(group, "momentum_decay")
        count = steps(state)
        now = beta1 * (1 - 0.5 * 0.96 ** (count * decay))
        following = beta1 * (1 - 0.5 * 0.96 ** ((count + 1) * decay))
        product = state["mu_product"]
        product.mul_(now)
        average(state["exp_avg"], grad, beta1)
        average(state["exp_avg_sq"], grad * grad, beta2)
        spread = tandem.sqrt(state["exp_avg_sq"] / (1 - beta2**count).to(param.dtype)) + scalar(group, "eps")
        grad_rate = (1 - now) / (1 - product) * lr
        mean_rate = following / (1 - product * following) * lr
        step = grad * grad_rate.to(param.dtype) + state["exp_avg"] * mean_rate.to(param.dtype)
        param.sub_(step / spread)


class RAdam(PerParameter):
    """Adam with the variance of its adaptive rate rectified; plain momentum until there are data enough.

    Example:
        >>> import tandem
        >>> w = tandem.ones(1, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.RAdam([w], lr=0.25).step()
        >>> round(w.item(), 3)
        0.5
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_at_least_zero(epsilon=eps)
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        check_modes(differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_moments(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": tandem.zeros_like(param), "exp_avg_sq": tandem.zeros_like(param)}

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = scalar(group, "betas")
        count = steps(state)
        average(state["exp_avg"], grad, beta1)
        average(state["exp_avg_sq"], grad * grad, beta2)
        left = beta2**count
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * count * left / (1 - left)
        # Which of the two updates applies depends on data (the step count), so both are made and one is chosen.
        ready = length > 5.0
        safe = tandem.where(ready, length, 6.0)
        rectified = tandem.sqrt(
            (safe - 4) * (safe - 2) * longest / ((longest - 4) * (longest - 2) * safe)
        ) * tandem.sqrt(1 - left)
        adaptive = rectified.to(param.dtype) / (tandem.sqrt(state["exp_avg_sq"]) + scalar(group, "eps"))
        mean = state["exp_avg"] / (1 - beta1**count).to(param.dtype)
        param.sub_(mean * scalar(group, "lr") * tandem.where(ready, adaptive, 1.0))
