"""A sampler for training in several processes, each of which sees its share of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

import tandem
from tandem.utils.data.dataset import permutation
from tandem.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """The share of process `rank` among `num_replicas` of the indices of a data set, in one random order for all.

    Args:
        dataset: a data set of known length.
        num_replicas: how many processes there are; those of `distributed.init_process_group` if None.
        rank: the number of this one; as there if None.
        shuffle: in a random order that follows from `seed` and the epoch (`set_epoch`), else in order.
        seed: the same in all processes.
        drop_last: drop what does not divide among the processes, rather than repeat some indices.

    ValueError for a rank that there is not, or if neither numbers nor a group of processes are there.

    Example:
        >>> import tandem
        >>> sampler = tandem.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
        >>> list(sampler), len(sampler)
        ([1, 3, 0], 3)
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from tandem import distributed

            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            order = permutation(count, tandem.Generator().manual_seed(self.seed + self.epoch))
        else:
            order = list(range(count))
        if len(order) < self.total_size:
            order *= math.ceil(self.total_size / max(1, count))
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Shuffle in the order of `epoch` from now on."""
        self.epoch = epoch
