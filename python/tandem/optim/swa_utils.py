"""Averages of a model's parameters over training (Izmailov et al. 2018), and their schedule."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import tandem
from tandem import _C, Tensor
from tandem.nn.module import Module
from tandem.optim._lr_base import LRScheduler, Rate, per_group
from tandem.optim.optimizer import Optimizer
from tandem.types import Device
from tandem.utils._foreach_utils import _group_tensors_by_device_and_dtype as _group_tensors_by_device_and_dtype

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

#: Of average, parameter and how many were averaged: the new average; or over lists of both, in place.
Averaging: TypeAlias = Callable[[Tensor, Tensor, int | Tensor], Tensor]
ListAveraging: TypeAlias = Callable[[Iterable[Tensor], Iterable[Tensor], int | Tensor], None]


def get_ema_avg_fn(decay: float = 0.999) -> Averaging:
    """An `avg_fn`: the exponential moving average decay * average + (1 - decay) * parameter.

    ValueError unless `decay` is in [0, 1].

    >>> import tandem
    >>> update = tandem.optim.swa_utils.get_ema_avg_fn(0.75)
    >>> update(tandem.tensor(1.0), tandem.tensor(5.0), 3)
    tensor(2.)
    """
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    @tandem.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: int | Tensor) -> Tensor:
        return ema_param * decay + current_param * (1 - decay)

    return ema_update


def get_swa_avg_fn() -> Averaging:
    """An `avg_fn`: the mean of all parameters so far, `num_averaged` before this one.

    >>> import tandem
    >>> update = tandem.optim.swa_utils.get_swa_avg_fn()
    >>> update(tandem.tensor(1.0), tandem.tensor(5.0), 3)
    tensor(2.)
    """

    @tandem.no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: int | Tensor) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def _over_lists(update: Averaging) -> ListAveraging:
    @tandem.no_grad()
    def update_lists(averaged: Iterable[Tensor], current: Iterable[Tensor], num_averaged: int | Tensor) -> None:
        for average, value in zip(averaged, current, strict=True):
            average.copy_(update(average, value, num_averaged))

    return update_lists


def get_ema_multi_avg_fn(decay: float = 0.999) -> ListAveraging:
    """A `multi_avg_fn`: as `get_ema_avg_fn`, over lists and in place.

    >>> import tandem
    >>> averages = [tandem.tensor(1.0)]
    >>> tandem.optim.swa_utils.get_ema_multi_avg_fn(0.75)(averages, [tandem.tensor(5.0)], 3); averages
    [tensor(2.)]
    """
    return _over_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> ListAveraging:
    """A `multi_avg_fn`: as `get_swa_avg_fn`, over lists and in place.

    >>> import tandem
    >>> averages = [tandem.tensor(1.0)]
    >>> tandem.optim.swa_utils.get_swa_multi_avg_fn()(averages, [tandem.tensor(5.0)], 3); averages
    [tensor(2.)]
    """
    return _over_lists(get_swa_avg_fn())


_MEAN = get_swa_multi_avg_fn()


class AveragedModel(Module):
    """A copy of `model` whose parameters are averages of those given to `update_parameters`.

    Args:
        model: the model to copy.
        device: where the copy lives.
        avg_fn: `avg_fn(average, parameter, number averaged)` returns the new average; the mean by default.
        multi_avg_fn: the same over lists, in place; excludes `avg_fn`.
        use_buffers: average buffers too, rather than copy them.

    Example:
        >>> import tandem
        >>> model = tandem.nn.Linear(1, 1)
        >>> averaged = tandem.optim.swa_utils.AveragedModel(model)
        >>> for weight in (1.0, 3.0):
        ...     _ = tandem.nn.init.constant_(model.weight, weight)
        ...     averaged.update_parameters(model)
        >>> averaged.module.weight.item(), averaged.n_averaged.item()
        (2.0, 2)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device = None,
        avg_fn: Averaging | None = None,
        multi_avg_fn: ListAveraging | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tandem.tensor(0, dtype=tandem.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The averaged model's."""
        return self.module(*args, **kwargs)

    @tandem.no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the averages."""

        def values(of: Module) -> list[Tensor]:
            every = itertools.chain(of.parameters(), of.buffers()) if self.use_buffers else of.parameters()
            return [value.detach() for value in every]

        averages = values(self.module)
        current = [p.to(average.device) for p, average in zip(values(model), averages, strict=True)]
        first = self.n_averaged == 0
        recorded = _C._is_recording()  # the count need not be known yet, and is another one in later calls of a trace
        if not recorded and first:
            for average, value in zip(averages, current, strict=True):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averages, current, strict=True):
                average.copy_(self.avg_fn(average, value, self.n_averaged))
        else:
            (self.multi_avg_fn or _MEAN)(averages, current, self.n_averaged)
        if recorded:
            for average, value in zip(averages, current, strict=True):
                average.data.copy_(tandem.where(first, value, average))  # the write above is the one that counts
        if not self.use_buffers:
            for mine, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(buffer.detach())
        self.n_averaged.add_(1)


@tandem.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Device = None) -> None:
    """Compute the running statistics of the batch norms of `model` anew, in one pass over the data.

    Args:
        loader: batches: tensors, or lists and tuples whose first element is what the model takes.
        model: runs in training mode for the pass; its mode and momenta are as before afterwards.
        device: where batches are moved to; None leaves them.

    >>> import tandem
    >>> model = tandem.nn.Sequential(tandem.nn.BatchNorm1d(1))
    >>> tandem.optim.swa_utils.update_bn([tandem.tensor([[1.0], [3.0]]), tandem.tensor([[5.0], [7.0]])], model)
    >>> model[0].running_mean
    tensor([4.])
    """
    from tandem.nn.normalization import _BatchNorm

    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain mean of all batches
    for batch in loader:
        given = batch[0] if isinstance(batch, list | tuple) else batch
        model(given if device is None else given.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes to `swa_lr` over `anneal_epochs` steps, and stays there.

    Args:
        optimizer: whose groups get the rates.
        swa_lr: the last rate, or one for each group.
        anneal_epochs: how many steps it takes, 0 or more (ValueError else).
        anneal_strategy: along half a cosine ("cos") or a straight line ("linear").

    Example:
        >>> import tandem
        >>> o = tandem.optim.SGD([tandem.zeros(1, requires_grad=True)], lr=1.0)
        >>> s = tandem.optim.swa_utils.SWALR(o, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> [(s.get_last_lr()[0], o.step(), s.step())[0] for _ in range(4)]
        [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(
            per_group(swa_lr, optimizer.param_groups, "swa_lr"), optimizer.param_groups, strict=True
        ):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of the way is behind after `step` steps."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def _rates(self) -> list[Rate]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
