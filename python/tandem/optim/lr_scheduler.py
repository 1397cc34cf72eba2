"""Schedules of learning rates: each `step()` writes new rates into the optimizer's `param_groups`.

A schedule is a function of the number of steps: of the present rates (`get_lr`), so that several can act on one
optimizer, and for jumps to a step of the initial ones (`_get_closed_form_lr`).
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tandem.optim._lr_base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from tandem.optim._lr_base import LRScheduler, Rate, _enable_get_lr_call, set_lr
from tandem.optim._lr_base import _warn_get_lr_called_within_step as _warn_get_lr_called_within_step
from tandem.optim._lr_cycle import CyclicLR, OneCycleLR
from tandem.optim._lr_joined import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from tandem.optim.optimizer import Optimizer

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

_LRScheduler = LRScheduler  # PyTorch's older name


class _Functions(LRScheduler):
    """A schedule by one function for all groups, or one for each."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas: list[Any] = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; functions are left out, objects with state give theirs."""
        state = {key: v for key, v in self.__dict__.items() if key not in ("optimizer", "lr_lambdas")}
        plain = type(lambda: None)
        state["lr_lambdas"] = [None if isinstance(f, plain) else dict(f.__dict__) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave; plain functions stay those given at construction."""
        self.__dict__.update({key: v for key, v in state_dict.items() if key != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_Functions):
    """The initial rate times a function of the step.

    Args:
        optimizer: whose groups get the rates.
        lr_lambda: the function of the number of steps, or one for each group (ValueError for another number of them).
        last_epoch: the step to go on from, -1 for a start.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.LambdaLR(o, lambda step: 0.5**step)
        >>> o.step(); s.step()
        >>> s.get_last_lr()
        [0.5]
    """

    def _rates(self) -> list[Rate]:
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Functions):
    """The present rate times a function of the step; arguments are those of `LambdaLR`.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.MultiplicativeLR(o, lambda step: 0.5)
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(3)]
        [1.0, 0.5, 0.25]
    """

    def _rates(self) -> list[Rate]:
        if self._is_initial:
            return self._present()
        return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, self._present(), strict=True)]


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` steps.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.StepLR(o, step_size=2, gamma=0.1)
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(4)]
        [1.0, 1.0, 0.1, 0.1]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._present()
        return [rate * self.gamma for rate in self._present()]

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of the steps `milestones`; a step that is listed twice counts twice.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.MultiStepLR(o, milestones=[1, 3], gamma=0.5)
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(4)]
        [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        # Compared, not looked up: a step that calls this has a plan for each way that comparisons go.
        times = sum(count for milestone, count in self.milestones.items() if milestone == self.last_epoch)
        return [rate * self.gamma**times for rate in self._present()] if times else self._present()

    def _get_closed_form_lr(self) -> list[Rate]:
        passed = bisect.bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        super().load_state_dict(state_dict)
        self.milestones = Counter(self.milestones)  # files hold plain dicts


class ConstantLR(LRScheduler):
    """The rate times `factor`, in [0, 1] (ValueError else), for the first `total_iters` steps.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.ConstantLR(o, factor=0.5, total_iters=2)
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(4)]
        [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._present()]
        if self.last_epoch != self.total_iters:
            return self._present()
        return [rate * (1.0 / self.factor) for rate in self._present()]

    def _get_closed_form_lr(self) -> list[Rate]:
        factor = self.factor if self.last_epoch < self.total_iters else 1.0
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes from `start_factor` to `end_factor` over `total_iters` steps.

    ValueError unless 0 < start_factor <= 1 and 0 <= end_factor <= 1.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.LinearLR(o, start_factor=0.5, total_iters=2)
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(4)]
        [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._present()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        ratio = self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        return [rate * ratio for rate in self._present()]

    def _factor(self, step: int) -> float:
        share = min(step, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * share

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * self._factor(self.last_epoch) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` at every step.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.ExponentialLR(o, gamma=0.5)
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(3)]
        [1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        return self._present() if self._is_initial else [rate * self.gamma for rate in self._present()]

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - step / total_iters) ** power, down to 0 at step `total_iters`.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.PolynomialLR(o, total_iters=4, power=1.0)
        >>> [(round(s.get_last_lr()[0], 4), o.step(), s.step())[0] for _ in range(6)]
        [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        step = self.last_epoch
        if self._is_initial or step > self.total_iters:
            return self._present()
        ratio = ((1.0 - step / self.total_iters) / (1.0 - (step - 1) / self.total_iters)) ** self.power
        return [rate * ratio for rate in self._present()]

    def _get_closed_form_lr(self) -> list[Rate]:
        left = 1.0 - min(self.last_epoch, self.total_iters) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate down to `eta_min` over `T_max` steps, and up again after them.

    At step t: eta_min + (lr - eta_min) (1 + cos(pi t / T_max)) / 2 (https://arxiv.org/abs/1608.03983).

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.CosineAnnealingLR(o, T_max=2)
        >>> [(round(s.get_last_lr()[0], 4), o.step(), s.step())[0] for _ in range(3)]
        [1.0, 0.5, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        step, low = self.last_epoch, self.eta_min
        if self._is_initial:
            return self._present()
        if self._step_count == 1 and step > 0:
            return self._get_closed_form_lr()
        if (step - 1 - self.T_max) % (2 * self.T_max) == 0:
            # At the bottom the ratio below is 0 / 0: start up again from eta_min.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [r + (base - low) * rise for base, r in zip(self.base_lrs, self._present(), strict=True)]
        ratio = (1 + math.cos(math.pi * step / self.T_max)) / (1 + math.cos(math.pi * (step - 1) / self.T_max))
        return [ratio * (rate - low) + low for rate in self._present()]

    def _get_closed_form_lr(self) -> list[Rate]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the initial rate to `eta_min`: `T_0` steps the first, each next `T_mult` times as many.

    The form is that of https://arxiv.org/abs/1608.03983. ValueError unless both are ints of at least 1.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=2)
        >>> [(round(s.get_last_lr()[0], 4), o.step(), s.step())[0] for _ in range(4)]
        [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (int, float)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on by one step, or to step `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self.T_cur, self.T_i = epoch, self.T_0  # type: ignore[assignment]
            if self.T_mult == 1:
                self.T_cur %= self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
            self.last_epoch = math.floor(epoch)
        self._step_count += 1
        with _enable_get_lr_call(self):
            rates = self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_lr(group, rate)
        self._last_lr = self._present()
