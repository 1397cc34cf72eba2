"""Adafactor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tandem
from tandem import Tensor
from tandem.optim._group_step import is_zero, scalar
from tandem.optim.optimizer import Optimizer, complete_older_state

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor: Adam's second moment of a matrix by its means over rows and columns (Shazeer and Stern 2018).

    With g the gradient, t the number of steps, rate = min(lr, 1 / sqrt(t)) * max(eps[1], rms(p)), decay =
    1 - t^beta2_decay and at least two dims: r and c, running means of the mean squares of rows and columns, and
    v = r c / mean(r); of other parameters v itself is kept. The update g / max(sqrt(v), eps[0]) is divided by
    max(1, its rms / d). `weight_decay` shrinks parameters by lr * weight_decay first. Not for gradients through a step.

    Example:
        >>> import tandem
        >>> w = tandem.ones(2, 2, requires_grad=True)
        >>> (w * w).sum().backward()
        >>> tandem.optim.Adafactor([w], lr=0.5).step()
        >>> round(w[0, 0].item(), 3)
        0.5
    """

    _in_tensors = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        complete_older_state(self)

    @tandem.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure`, called first, returned."""
        loss = self._run_closure(closure)
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._update(param, -param.grad if group["maximize"] else param.grad, group)
        return loss

    def _update(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        if param not in self.state:
            tandem._C._makes_state()
        state = self.state[param]
        matrix = param.dim() > 1
        if not state:
            state["step"] = tandem.tensor(0.0)
            if matrix:
                state["row_var"] = param.new_zeros((*param.shape[:-1], 1))
                state["col_var"] = param.new_zeros((*param.shape[:-2], 1, param.shape[-1]))
            else:
                state["variance"] = tandem.zeros_like(param)
        eps1, eps2 = group["eps"]
        eps1 = tandem.finfo(param.dtype).eps if eps1 is None else eps1
        # Numbers are computed in float64, as Python's would be.
        step = state["step"].add_(1).double()
        kept = step.pow(group["beta2_decay"]).to(param.dtype)  # the weight of the new squares
        rate = step.rsqrt().clamp(max=scalar(group, "lr"))
        rms = param.norm(2) / param.numel() ** 0.5
        alpha = rms.double().clamp(min=eps2) * rate
        if not is_zero(group, "weight_decay"):
            param.sub_(param * (scalar(group, "lr") * scalar(group, "weight_decay")))
        if matrix:
            row, column = state["row_var"], state["col_var"]
            row.lerp_(grad.norm(2, -1, keepdim=True).square() / grad.shape[-1], kept)
            column.lerp_(grad.norm(2, -2, keepdim=True).square() / grad.shape[-2], kept)
            variance = row @ column / row.mean(-2, keepdim=True).clamp(min=eps1)
        else:
            variance = state["variance"].lerp_(grad.square(), kept)
        update = grad * variance.clamp(min=eps1 * eps1).rsqrt()
        limit = (update.norm(2) / (update.numel() ** 0.5 * group["d"])).double().clamp(min=1.0)
        param.sub_(update * (alpha / limit).to(param.dtype))
