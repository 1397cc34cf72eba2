"""Samplers: in which order a loader visits the indices of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

import tandem
from tandem._C import Generator, Tensor
from tandem.utils.data.dataset import permutation, place_of

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base class: a subclass defines `__iter__`, which yields indices, and usually `__len__`.

    Example:
        >>> import tandem
        >>> class Backwards(tandem.utils.data.Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return iter(range(len(self.data) - 1, -1, -1))
        >>> [x.item() for x in tandem.utils.data.DataLoader([5, 6, 7], sampler=Backwards([5, 6, 7]))]
        [7, 6, 5]
    """

    def __init__(self, data_source: Sized | None = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """Every index of `data_source` in order.

    Example:
        >>> import tandem
        >>> list(tandem.utils.data.SequentialSampler(["a", "b", "c"]))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Every index in random order, again and again up to `num_samples`; or independent draws with `replacement`.

    Args:
        data_source: what has a length.
        replacement: draw each index independently and uniformly.
        num_samples: how many indices a pass yields; the length of `data_source` if None.
        generator: random numbers; the default generator if None.

    ValueError unless `num_samples` is positive, TypeError unless `replacement` is a bool.

    Example:
        >>> import tandem
        >>> sorted(tandem.utils.data.RandomSampler(range(4)))
        [0, 1, 2, 3]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices one pass yields."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        if self.replacement:
            place = place_of(self.generator)
            yield from tandem.randint(0, count, (self.num_samples,), generator=self.generator, device=place).tolist()
            return
        left = self.num_samples
        while left > 0:
            yield from permutation(count, self.generator)[:left]
            left -= count

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    Example:
        >>> import tandem
        >>> sorted(tandem.utils.data.SubsetRandomSampler([7, 3, 5]))
        [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in permutation(len(self.indices), self.generator):
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities in proportion to `weights`, with or without replacement.

    Args:
        weights: a number >= 0 for each index; they need not add up to 1.
        num_samples: how many indices a pass yields.
        replacement: False draws every index at most once.
        generator: random numbers; the default generator if None.

    ValueError for `num_samples` that is not positive. A pass is a RuntimeError where weights are negative or not
    finite, where all are 0, and without replacement for more samples than there are weights.

    Example:
        >>> import tandem
        >>> list(tandem.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = tandem.as_tensor(weights, dtype=tandem.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        import numpy as np

        weights = self.weights.cpu().numpy()
        if not self.replacement and self.num_samples > len(weights):
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        if not weights.any():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")

        def draw(count: int) -> Any:
            place = place_of(self.generator)
            return tandem.rand(count, generator=self.generator, dtype=tandem.float64, device=place).cpu().numpy()

        if self.replacement:
            drawn = draw(self.num_samples)
            limits = np.cumsum(weights)
            places = np.searchsorted(limits, drawn * limits[-1], side="right")
        else:
            # The order of exponential variables of these rates is a draw without replacement.
            uniform = draw(len(weights))
            with np.errstate(divide="ignore"):
                places = np.argsort(-np.log1p(-uniform) / weights, kind="stable")[: self.num_samples]
        yield from places.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; a shorter last one is dropped with `drop_last`.

    Example:
        >>> import tandem
        >>> list(tandem.utils.data.BatchSampler(range(5), 2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
