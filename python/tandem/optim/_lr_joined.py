"""Schedules made of others, and reduction on a plateau."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from tandem import Tensor
from tandem.optim._lr_base import LRScheduler, set_lr
from tandem.optim.optimizer import Optimizer


class SequentialLR(LRScheduler):
    """Schedules one after the other.

    Args:
        optimizer: of all of them.
        schedulers: one more than milestones (ValueError else).
        milestones: the steps at which the next takes over.

    Example:
        >>> import tandem
        >>> from tandem.optim import lr_scheduler as S
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = S.SequentialLR(o, [S.ConstantLR(o, 0.1, 100), S.ExponentialLR(o, 0.5)], milestones=[2])
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(4)]
        [0.1, 0.1, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"SequentialLR at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"SequentialLR does not support `ReduceLROnPlateau`, but got one at index {i}")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"SequentialLR expects schedulers of one optimizer, but index {i} belongs to another")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got {len(schedulers)} schedulers and {len(milestones)} milestones"
            )
        self.optimizer = optimizer
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        # Making the schedules has already written rates: undo them, and make the first step of the one that is due.
        for group in optimizer.param_groups:
            set_lr(group, group["initial_lr"])
        self._undo(self)
        first = self._schedulers[self._due(0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _undo(self, scheduler: LRScheduler) -> None:
        if not hasattr(scheduler, "_schedulers"):
            scheduler.last_epoch -= 1
            return
        for inner in scheduler._schedulers:
            self._undo(inner)

    def _due(self, epoch: int) -> int:
        """Which schedule is due, counted by comparisons: a step that calls this has a plan for each way they go."""
        return sum(milestone <= epoch for milestone in self._milestones)

    def step(self, epoch: int | None = None) -> None:
        """Go on by one step of the schedule that is due."""
        self.last_epoch += 1
        which = self._due(self.last_epoch)
        scheduler = self._schedulers[which]
        if which > 0 and self._milestones[which - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, the schedules' states included."""
        state = {key: v for key, v in self.__dict__.items() if key not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        self.__dict__.update({key: v for key, v in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class ChainedScheduler(LRScheduler):
    """Schedules that all act at every step; each starts from the rate the one before it wrote.

    Args:
        schedulers: at least one, all of one optimizer, none of which reads a metric (ValueError else).
        optimizer: that optimizer.

    Example:
        >>> import tandem
        >>> from tandem.optim import lr_scheduler as S
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = S.ChainedScheduler([S.ConstantLR(o, 0.5, 2), S.ExponentialLR(o, 0.5)])
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(3)]
        [0.5, 0.25, 0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = optimizer or schedulers[0].optimizer
        if any(isinstance(scheduler, ReduceLROnPlateau) for scheduler in schedulers):
            raise ValueError("ChainedScheduler does not support `ReduceLROnPlateau`, whose `step` needs a metric.")
        if any(scheduler.optimizer is not self.optimizer for scheduler in schedulers):
            raise ValueError("ChainedScheduler expects all schedulers to belong to the same optimizer")
        self._schedulers = list(schedulers)
        self._last_lr = self._present()

    def step(self, epoch: int | None = None) -> None:
        """One step of each schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._present()

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` when a metric has not improved for more than `patience` steps.

    Args:
        optimizer: whose groups get the rates.
        mode: "min" where smaller metrics are better, "max" where larger ones are.
        factor: below 1 (ValueError else).
        patience: how many steps without improvement are let pass.
        threshold, threshold_mode: how much is an improvement, as a share of the best metric ("rel") or as such ("abs").
        cooldown: steps after a reduction that do not count.
        min_lr: the least rate, or one for each group.
        eps: smaller changes of a rate are not made.

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.lr_scheduler.ReduceLROnPlateau(o, patience=1)
        >>> for loss in (1.0, 1.0, 1.0):
        ...     s.step(loss)
        >>> o.param_groups[0]["lr"]
        0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._present()
        self.reset()

    def reset(self) -> None:
        """Forget the best metric and the counts."""
        self.mode_worse = math.inf if self.mode == "min" else -math.inf
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def _reset(self) -> None:
        self.reset()

    @property
    def in_cooldown(self) -> bool:
        """Whether steps do not count as bad at present."""
        return self.cooldown_counter > 0

    def step(self, metrics: float | Tensor, epoch: int | None = None) -> None:  # type: ignore[override]
        """Note the metric of one more step, and lower the rates if it is due."""
        if epoch is not None:
            warnings.warn("ReduceLROnPlateau: the epoch given to step() only sets last_epoch", stacklevel=2)
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._present()

    # By PyTorch's names: subclasses of users extend it, and programs begin anew by `_reset`.
    def _reduce_lr(self, epoch: int) -> None:
        missing = len(self.optimizer.param_groups) - len(self.min_lrs)
        if missing:  # groups that were added later
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(self.optimizer.param_groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs += [self.default_min_lr] * missing
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_lr(group, new)

    def is_better(self, a: float, best: float) -> bool:
        """Whether the metric `a` improves on `best` by more than the threshold."""
        if self.mode == "min":
            return a < (best * (1.0 - self.threshold) if self.threshold_mode == "rel" else best - self.threshold)
        return a > (best * (1.0 + self.threshold) if self.threshold_mode == "rel" else best + self.threshold)
