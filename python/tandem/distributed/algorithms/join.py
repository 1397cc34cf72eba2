"""`Join`: ranks that have more batches than others.

A rank that has come to the end of its batches *shadows* the others: while these have some, it takes part in the
operations that they need, with values that change nothing. What does so is a `JoinHook`, which a `Joinable` makes. In
each iteration the first `Joinable` of a rank that has a batch says so, by `notify_join_context`, with an operation that
ranks which shadow take part in, too: its sum is how many go on.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.distributed._collectives import all_reduce
from tandem.distributed._process_group import Work
from tandem.distributed._world import get_rank, group_of
from tandem.nn.distributed_data_parallel import DistributedDataParallel

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank without batches does for one `Joinable`.

    Example:
        >>> import tandem
        >>> from tandem.distributed.algorithms.join import JoinHook
        >>> class Nothing(JoinHook):
        ...     def main_hook(self):
        ...         tandem.distributed.all_reduce(tandem.zeros(1))
    """

    def main_hook(self) -> None:
        """The operations of one iteration; called as long as another rank has a batch."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once, when all ranks have ended. Was this one among the last?"""


@dataclasses.dataclass(frozen=True)
class _JoinConfig:
    """What a `Joinable` knows of the `Join` that it is in."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(abc.ABC):
    """Something with operations of its own in every iteration, which calls `Join.notify_join_context` before them.

    Example:
        >>> import tandem
        >>> from tandem.distributed.algorithms.join import Joinable
        >>> issubclass(tandem.nn.parallel.DistributedDataParallel, Joinable)
        True
    """

    @abc.abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig()

    @abc.abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without batches does for it; `kwargs` are those of `Join`."""

    @property
    @abc.abstractmethod
    def join_device(self) -> tandem.device:
        """Where the tensors of operations of `Join` itself are."""

    @property
    @abc.abstractmethod
    def join_process_group(self) -> Any:
        """The group of operations of `Join` itself."""


Joinable.register(DistributedDataParallel)


class Join:
    """In this block ranks may have different numbers of iterations.

    Args:
        joinables: what has operations in every iteration, all of one group.
        enable: without it the block has no effect.
        throw_on_early_termination: RuntimeError on all ranks as soon as one has come to its end.
        kwargs: for the hooks.

    ValueError where there are none, or they are of several groups.

    Example:
        >>> import tandem
        >>> from tandem.distributed.algorithms.join import Join
        >>> dist = tandem.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = tandem.nn.parallel.DistributedDataParallel(tandem.nn.Linear(2, 1))
        >>> with Join([model]):
        ...     for _ in range(3 + dist.get_rank()):
        ...         model(tandem.ones(1, 2)).sum().backward()
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        joinables: Sequence[Any],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._hooks = [j.join_hook(**kwargs) for j in joinables]
        self._enable = enable
        self._throw = throw_on_early_termination
        groups = [j.join_process_group for j in joinables]
        if any(group_of(g) is not group_of(groups[0]) for g in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._group, self._device = groups[0], joinables[0].join_device
        for j in joinables:
            j._join_config = _JoinConfig(enable, throw_on_early_termination, j is joinables[0])

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._enable and kind is None:
                self._shadow()
        finally:
            for j in self._joinables:
                j._join_config = _JoinConfig()

    def _shadow(self) -> None:
        last = True
        while self._sum(0).item():
            if self._throw:
                self._sum(1)
                raise RuntimeError(f"Rank {get_rank(self._group)} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            last = False
        for hook in self._hooks:
            hook.post_hook(last)

    def _sum(self, value: int) -> Tensor:
        total = tandem.full((1,), float(value), device=self._device)
        all_reduce(total, group=self._group)
        return total

    @staticmethod
    def notify_join_context(joinable: Any) -> Work | None:
        """Says that this rank has a batch, for a `Joinable` before its operations of an iteration.

        Returns what is under way for the first one of a `Join`, None for others and outside of a block. RuntimeError
        where another rank has come to its end and that is to be an error.
        """
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work = all_reduce(tandem.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = tandem.zeros(1, device=device)
            all_reduce(ended, group=group)
            if ended.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


class DataParallelHook(JoinHook):
    """What a rank without batches does for a `DistributedDataParallel`."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self._model = model

    def main_hook(self) -> None:
        self._model._shadow_iteration()

    def post_hook(self, is_last_joiner: bool) -> None:
        self._model._take_state_of_last(is_last_joiner)
