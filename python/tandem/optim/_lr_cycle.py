"""Schedules that go up and down, the momentum the other way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tandem.optim._lr_base import LRScheduler, Rate, per_group, set_lr
from tandem.optim.optimizer import Optimizer


class _MomentumCycle(LRScheduler):
    """A schedule that may cycle the momentum (or beta1) of its optimizer as well."""

    def _start_momentum(
        self, optimizer: Optimizer, cycle: bool, base_momentum: Any, max_momentum: Any, last_epoch: int
    ) -> None:
        self.cycle_momentum = cycle
        if not cycle:
            return
        self.use_beta1 = "betas" in optimizer.defaults
        if not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        groups = optimizer.param_groups
        self.base_momentums = per_group(base_momentum, groups, "base_momentum")
        self.max_momentums = per_group(max_momentum, groups, "max_momentum")
        if last_epoch == -1:
            for group, low, high in zip(groups, self.base_momentums, self.max_momentums, strict=True):
                group["max_momentum"], group["base_momentum"] = high, low
                self._set_momentum(group, high)

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class OneCycleLR(_MomentumCycle):
    """One cycle: up from max_lr / div_factor to max_lr, then down to that initial rate / final_div_factor.

    The form is that of https://arxiv.org/abs/1708.07120.

    Args:
        optimizer: whose groups get the rates.
        max_lr: the largest rate, or one for each group.
        total_steps: how many steps there are, or `epochs * steps_per_epoch`; ValueError for a step past them.
        pct_start: the share of the steps that goes up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: momentum (or beta1) goes the other way between `max_momentum` and `base_momentum`.
        div_factor, final_div_factor: how far below the largest rate the first, and below that the last is.
        three_phase: go down to the initial rate as fast as up, then on to the last.

    Example:
        >>> import tandem
        >>> o = tandem.optim.Adam([tandem.zeros(1, requires_grad=True)])
        >>> s = tandem.optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=10)
        >>> round(s.get_last_lr()[0], 4)
        0.004
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is not None:
            if total_steps <= 0 or not isinstance(total_steps, int):
                raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            if epochs <= 0 or steps_per_epoch <= 0:
                raise ValueError(f"Expected positive epochs and steps_per_epoch, but got {epochs}, {steps_per_epoch}")
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        up = float(pct_start * self.total_steps) - 1
        last = self.total_steps - 1
        rise = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
        if three_phase:
            fall, rest = (
                ("max_lr", "initial_lr", "base_momentum", "max_momentum"),
                ("initial_lr", "min_lr", *2 * ("max_momentum",)),
            )
            phases = [(up, *rise), (2 * up, *fall), (last, *rest)]
        else:
            phases = [(up, *rise), (last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        # The last step of each phase, and the entries of a group that rate and momentum go from and to.
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(names, phase, strict=True)) for phase in phases]
        groups = optimizer.param_groups
        if last_epoch == -1:
            for group, top in zip(groups, per_group(max_lr, groups, "max_lr"), strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self._start_momentum(optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def _rates(self) -> list[Rate]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The total number of steps is {self.total_steps}")
        # The phase this step is in, and how much of it is behind.
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        share = (step - start) / (phase["end_step"] - start)
        rates: list[Rate] = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                self._set_momentum(
                    group, self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], share)
                )
        return rates


class CyclicLR(_MomentumCycle):
    """Triangles between `base_lr` and `max_lr`: up in `step_size_up` steps, down in `step_size_down` (or as many).

    `mode` "triangular" keeps the height, "triangular2" halves it every cycle, "exp_range" scales it by gamma ** step;
    `scale_fn` scales it by a function of the cycle or of the step (`scale_mode`). With `cycle_momentum` the momentum
    (or beta1) goes the other way between `max_momentum` and `base_momentum`.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
        >>> s = tandem.optim.lr_scheduler.CyclicLR(o, base_lr=0.0, max_lr=1.0, step_size_up=2)
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(5)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        groups = optimizer.param_groups
        base_lrs = per_group(base_lr, groups, "base_lr")
        if last_epoch == -1:
            for group, rate in zip(groups, base_lrs, strict=True):
                set_lr(group, rate)
        self.max_lrs = per_group(max_lr, groups, "max_lr")
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self._start_momentum(optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The scale of the height in cycle, or at step, `x`."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 0.5 ** (x - 1) if self.mode == "triangular2" else 1.0

    def _rates(self) -> list[Rate]:
        place = 1 + self.last_epoch / self.total_size
        cycle = place // 1  # its floor, as arithmetic, which the plan of a step that calls this does again
        x = place - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        if self.scale_mode != "cycle":
            scale = self.scale_fn(self.last_epoch)
        else:
            scale = self.scale_fn(cycle if self._scale_fn_custom is None else int(cycle))
        if self.cycle_momentum:
            ends = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in ends:
                self._set_momentum(group, high - (high - low) * height * scale)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [base + (most - base) * height * scale for base, most in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of a custom scale, the attributes of a callable object alone."""
        state = super().state_dict()
        custom = state["_scale_fn_custom"]
        plain = custom is None or isinstance(custom, type(lambda: None))
        state["_scale_fn_custom"] = None if plain else dict(custom.__dict__)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave; a plain function stays the one given at construction."""
        saved = state_dict["_scale_fn_custom"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)
