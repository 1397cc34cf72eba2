"""What the optimizers written as tensor operations share.

SGD, Adam and AdamW are one operation a group (`sgd.py`, `adam.py`). The others here are updates of one parameter at a
time in public tensor operations; they read no value, so a step of them can be recorded and compiled as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tandem
from tandem import Tensor
from tandem.optim.optimizer import Optimizer, scalar


class PerParameter(Optimizer):
    """An optimizer whose subclass updates one parameter in `_update`."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` returned."""
        loss = self._run_closure(closure)
        with tandem.no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        state = self._state_of(param, group)
                        state["step"].add_(1)
                        grad = -param.grad if group.get("maximize") else param.grad
                        self._update(param, self._decayed(param, grad, group), state, group)
        return loss

    def _decayed(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Tensor:
        """The gradient with its weight decay, or the parameter decayed by itself."""
        if group["weight_decay"] == 0:
            return grad
        decay = scalar(group, "weight_decay")
        if group.get("decoupled_weight_decay"):
            param.mul_(1 - scalar(group, "lr") * decay)
            return grad
        return grad + param * decay

    def _init_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": tandem.tensor(0.0, dtype=tandem.float32, device=param.device)}
        state.update(self._init_moments(param, group))
        return state

    def _init_moments(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The first state besides the step count."""
        raise NotImplementedError

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Update `param` in place; the step count is already that of this step."""
        raise NotImplementedError


def steps(state: dict[str, Any]) -> Tensor:
    """The step count in float64: float32 would lose 1 - beta ** t."""
    return state["step"].to(tandem.float64)


def average(old: Tensor, new: Tensor, rate: Any) -> None:
    """old = rate * old + (1 - rate) * new, in place."""
    old.mul_(rate).add_(new * (1 - rate))
