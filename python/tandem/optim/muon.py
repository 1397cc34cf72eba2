"""Muon."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import is_zero, scalar
from tandem.optim.optimizer import Optimizer

__all__ = ["Muon"]


class Muon(Optimizer):
    """Muon: momentum of a matrix, made nearly orthogonal (Jordan et al. 2024).

    With g the gradient, m = momentum * m + (1 - momentum) g and u = m, or momentum * m + (1 - momentum) g of that m for
    `nesterov`; then `ns_steps` steps of Newton and Schulz in bfloat16, X = a X + (b A + c A^2) X with A = X X^T, from
    X = u / max(|u|, eps); and p = (1 - lr * weight_decay) p - lr * r * X. Of a parameter [n, m], r is
    sqrt(max(1, n / m)), or 0.2 sqrt(max(n, m)) for `adjust_lr_fn="match_rms_adamw"`. Not for gradients through a step.

    Raises ValueError for a parameter that has not two dims, or an option that is out of range.

    Example:
        >>> import tandem
        >>> w = tandem.ones(2, 2, requires_grad=True)
        >>> (w * tandem.tensor([[1.0, 0.0], [0.0, 2.0]])).sum().backward()
        >>> tandem.optim.Muon([w], lr=0.5, weight_decay=0.0).step()
        >>> w.detach().diag() < 0.75
        tensor([True, True])
    """

    _in_tensors = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not 0.0 <= value:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        if len(ns_coefficients) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        if ns_steps >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    @tandem.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure`, called first, returned."""
        loss = self._run_closure(closure)
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._update(param, param.grad, group)
        return loss

    def _update(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        if param not in self.state:
            tandem._C._makes_state()
        state = self.state[param]
        if not state:
            state["momentum_buffer"] = tandem.zeros_like(grad)
        momentum = group["momentum"]
        mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = grad.lerp(mean, momentum) if group["nesterov"] else mean
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        lr = scalar(group, "lr")
        if not is_zero(group, "weight_decay"):
            param.mul_(1 - lr * scalar(group, "weight_decay"))
        param.sub_(update.to(param.dtype) * (lr * _ratio(param.shape, group["adjust_lr_fn"])))


def _orthogonal(matrix: Tensor, coefficients: Sequence[float], steps: int, eps: float) -> Tensor:
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16().mT if tall else matrix.bfloat16()
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.mT
        x = tandem.addmm(x, tandem.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


def _ratio(shape: Sequence[int], kind: str | None) -> float:
    rows, columns = shape
    if kind == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1.0, rows / columns))
