"""The base class of learning rate schedules."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

from tandem import Tensor
from tandem.optim.optimizer import Optimizer

#: A learning rate: a number, or a tensor of one element.
Rate: TypeAlias = float | Tensor

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` is not necessary and deprecated: call `scheduler.step()`."
)


def set_lr(group: dict[str, Any], lr: Rate) -> None:
    """Write a rate; a rate held as a tensor is filled in place."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(lr))
    else:
        group["lr"] = _copied(lr)


class LRScheduler:
    """Base class: a subclass defines `get_lr`, which returns a rate for each group at step `self.last_epoch`.

    Args:
        optimizer: whose groups get the rates; TypeError for another object.
        last_epoch: the step to go on from, -1 for a start; going on needs "initial_lr" in the groups (KeyError).

    Example:
        >>> import tandem
        >>> class Halving(tandem.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base * 0.5**self.last_epoch for base in self.base_lrs]
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = Halving(o)
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(3)]
        [1.0, 0.5, 0.25]
    """

    # Is the step being made the one of the constructor, which keeps the rates of a run that goes on?
    _is_initial = False
    # Is `get_lr` called by a step? Schedules of users look at it too.
    _get_lr_called_within_step = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        optimizer._step_at_schedule = vars(optimizer).get("step")
        if last_epoch == -1:
            for group in optimizer.param_groups:
                initial = group["lr"]
                group.setdefault("initial_lr", initial.clone() if isinstance(initial, Tensor) else initial)
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                        f"last_epoch >= 0 (got last_epoch={last_epoch})"
                    )
        self.base_lrs: list[Rate] = [_copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._last_lr: list[Rate] = []
        self._initial_step()

    def _initial_step(self) -> None:
        """The first step: the rates of step `last_epoch + 1` at a start, those in the groups when going on."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self) -> Sequence[Rate]:
        """The rate of each group at step `self.last_epoch`; a warning outside of a step."""
        _warn_get_lr_called_within_step(self)
        return self._rates()

    def _rates(self) -> Sequence[Rate]:
        """What `get_lr` gives, of the package's own schedules."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Rate]:
        """The rates last written."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on by one step (or to step `epoch`) and write the rates; to be called after the optimizer's `step`."""
        if self._step_count == 1:
            own = self.optimizer.__dict__.get("step")
            if own is not None and own is not self.optimizer._step_at_schedule:
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization: "
                    "make sure that it runs before `lr_scheduler.step()`.",
                    stacklevel=2,
                )
            elif own is None and not self.optimizer._step_was_called:  # one from before may have run
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them the other way round: "
                    "`optimizer.step()` before `lr_scheduler.step()`; else the first rate of the schedule is skipped.",
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Write the rates of the next step, or of step `epoch`."""
        with _enable_get_lr_call(self):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
                rates = self.get_lr() if closed is None else closed()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_lr(group, rate)
        self._last_lr = self._present()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def _present(self) -> list[Rate]:
        return [_copied(group["lr"]) for group in self.optimizer.param_groups]


class _enable_get_lr_call:
    """A block in which the schedule `o` makes a step."""

    def __init__(self, o: LRScheduler) -> None:
        self.o = o

    def __enter__(self) -> _enable_get_lr_call:
        self.o._get_lr_called_within_step = True
        return self

    def __exit__(self, *exc: object) -> None:
        self.o._get_lr_called_within_step = False


def _warn_get_lr_called_within_step(lr_scheduler: LRScheduler) -> None:
    """What a `get_lr` begins with: outside of a step it may give the rates of a step that is not made."""
    if not lr_scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", stacklevel=3
        )


def _copied(value: Any) -> Any:
    """Rates held as tensors are copied, so that nobody changes them from outside."""
    return value.clone() if isinstance(value, Tensor) else value


def per_group(value: Any, groups: list[Any], name: str) -> list[Any]:
    """A value of its own for each group: the one given, or that of the list given; tensors are copied."""
    if isinstance(value, (list, tuple)):
        if len(value) != len(groups):
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
                f"values, param_groups has {len(groups)}."
            )
        return [_copied(v) for v in value]
    return [_copied(value) for _ in groups]
