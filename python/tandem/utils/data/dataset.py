"""Data sets: maps from an index to a sample, and streams of samples."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import tandem
from tandem import Generator, Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A map from indices to samples: a subclass defines `__getitem__`, and `__len__` for most uses.

    It may define `__getitems__`, which takes a list of indices and returns a list of samples.

    Example:
        >>> import tandem
        >>> class Squares(tandem.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 5
        ...     def __getitem__(self, index):
        ...         return index * index
        >>> Squares()[3]
        9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """A stream of samples: a subclass defines `__iter__`; a loader takes the samples in its order.

    Example:
        >>> import tandem
        >>> class Countdown(tandem.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([3, 2, 1])
        >>> [batch.tolist() for batch in tandem.utils.data.DataLoader(Countdown(), batch_size=2)]
        [[3, 2], [1]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples along the first dimension of one or more tensors of equal first size.

    Example:
        >>> import tandem
        >>> data = tandem.utils.data.TensorDataset(tandem.arange(4), tandem.arange(4) * 10)
        >>> [t.item() for t in data[2]]
        [2, 20]
    """

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors or any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise AssertionError(
                f"Size mismatch between tensors: TensorDataset got tensors of {[list(t.shape) for t in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Samples of several data sets of equal length side by side: tuples, or dicts when given by keyword.

    ValueError if lengths differ, there is none, or positional and keyword data sets are mixed.

    Example:
        >>> import tandem
        >>> both = tandem.utils.data.StackDataset(x=[1, 2, 3], y=["a", "b", "c"])
        >>> both[1], len(both)
        ({'x': 2, 'y': 'b'}, 3)
    """

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset takes either positional or keyword data sets, at least one")
        self.datasets: Any = args or kwargs
        lengths = {len(d) for d in (args or tuple(kwargs.values()))}  # type: ignore[arg-type]
        if len(lengths) != 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The samples at `indices`, each data set asked for all of them at once where it can be."""
        if isinstance(self.datasets, dict):
            columns = [fetch(d, indices) for d in self.datasets.values()]
            return [dict(zip(self.datasets, sample, strict=True)) for sample in zip(*columns, strict=True)]
        return list(zip(*(fetch(d, indices) for d in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Data sets one after the other: those in `datasets`, at least one, each of known length (AssertionError else).

    Example:
        >>> import tandem
        >>> both = tandem.utils.data.ConcatDataset([[1, 2], [3]])
        >>> both[2], len(both)
        (3, 3)
    """

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The sums of the lengths so far."""
        return list(itertools.accumulate(len(d) for d in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other.

    Args:
        datasets: `IterableDataset`s; AssertionError, when iterated, for another.

    Example:
        >>> import tandem
        >>> class Numbers(tandem.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([1, 2])
        >>> list(Numbers() + Numbers())
        [1, 2, 1, 2]
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)  # type: ignore[arg-type, misc]


class Subset(Dataset[T_co]):
    """The samples of `dataset` at `indices`.

    NotImplementedError for a subclass that overrides `__getitem__` but not `__getitems__`, which loaders call.

    Example:
        >>> import tandem
        >>> part = tandem.utils.data.Subset(["a", "b", "c"], [2, 0])
        >>> part[0], len(part)
        ('c', 2)
    """

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__, which a loader calls. Override it too, "
                "for instance as `def __getitems__(self, indices): return [self[i] for i in indices]`."
            )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """The samples at `indices` of this subset, fetched at once where the data set can."""
        return fetch(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def fetch(dataset: Any, indices: list[int]) -> list[Any]:
    """The samples at `indices`: at once by `__getitems__`, if the data set has it, else one by one."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    samples = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)}")
    return samples


def random_split(
    dataset: Dataset[T_co], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[T_co]]:
    """Split into random parts of the given lengths, or of the given shares if these add up to 1.

    Args:
        dataset: a data set of known length.
        lengths: ints that add up to its length, or shares; what rounding shares down leaves over is dealt out in turn.
        generator: random numbers of the order; the default generator if None.

    ValueError for a share outside [0, 1] or lengths of another sum.

    Example:
        >>> import tandem
        >>> [len(part) for part in tandem.utils.data.random_split(range(10), [0.8, 0.2])]
        [8, 2]
    """
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts = [math.floor(total * share) for share in lengths]
        for i in range(total - sum(counts)):  # what rounding left over is dealt out in turn
            counts[i % len(counts)] += 1
        lengths = counts
        for i, count in enumerate(counts):
            if count == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = permutation(total, generator)
    parts, start = [], 0
    for length in lengths:
        parts.append(Subset(dataset, order[start : start + int(length)]))
        start += int(length)
    return parts


def place_of(generator: Generator | None) -> tandem.device | None:
    """Where numbers of a generator are drawn; None, for the device of new tensors, without one."""
    return None if generator is None else generator.device


def permutation(count: int, generator: Generator | None = None) -> list[int]:
    """The numbers below `count` in random order."""
    numbers: list[int] = tandem.randperm(count, generator=generator, device=place_of(generator)).tolist()
    return numbers
