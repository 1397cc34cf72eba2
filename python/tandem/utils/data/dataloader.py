"""`DataLoader`: batches of a data set, made in the process that asks for them or in workers."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, Generic, TypeVar

import tandem
from tandem._C import Generator
from tandem._stand_in import lacking_classes
from tandem.utils.data.collate import default_collate, default_convert
from tandem.utils.data.dataset import Dataset, IterableDataset, TensorDataset
from tandem.utils.data.pinning import pin_memory
from tandem.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from tandem.utils.data.workers import Source, Workers

__all__ = ["DataLoader"]

_FIXED = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})
T_co = TypeVar("T_co", covariant=True)
_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]

# PyTorch's classes of what goes through a loader, for `isinstance`: here it is a plain iterator.
globals().update(
    lacking_classes(__name__, "_BaseDataLoaderIter _MultiProcessingDataLoaderIter _SingleProcessDataLoaderIter")
)


class DataLoader(Generic[T_co]):
    """Iterates over batches of `dataset`.

    Args:
        dataset: a map from indices to samples, or an `IterableDataset`.
        batch_size: samples a batch; None for single samples as they are.
        shuffle: visit in a new random order each pass.
        sampler: yields indices; excludes `shuffle`.
        batch_sampler: yields lists of indices; excludes `batch_size`, `shuffle`, `sampler`, `drop_last`.
        num_workers: processes that make the batches, in the same order; with 0 this process makes them. Each worker has
            a copy of the data set; one of an `IterableDataset` asks `get_worker_info()` which part of it is its own.
        collate_fn: makes a batch of a list of samples; `default_collate` if None.
        drop_last: leave out a last batch that is not full.
        generator: random numbers of the shuffling; the default generator if None.
        pin_memory: put each batch into page-locked memory (`tandem.utils.data.pinning`), from which
            `to("cuda", non_blocking=True)` does not wait. Warns without a GPU, where it changes nothing.
        timeout: seconds to wait for a batch of a worker; for ever if 0.
        worker_init_fn: called in each worker with its number, after its random numbers are seeded.
        multiprocessing_context: how workers are started: "fork", "spawn", "forkserver", or one of Python's contexts.
        prefetch_factor: batches that a worker makes in advance; 2 if None.
        persistent_workers: keep the workers for the next pass.
        pin_memory_device: accepted without effect.
        in_order: False has batches of workers come as they are done.

    ValueError for options that exclude each other. An exception in a worker is raised here, with its traceback as text.

    Example:
        >>> import tandem
        >>> data = tandem.utils.data.TensorDataset(tandem.arange(5))
        >>> [x.tolist() for (x,) in tandem.utils.data.DataLoader(data, batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """

    # By PyTorch's name: subclasses clear it to put another sampler in.
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[int] | Iterable[int] | None = None,
        batch_sampler: Sampler[list[int]] | Iterable[Sequence[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        iterable = isinstance(dataset, IterableDataset)
        if iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader with IterableDataset: expected unspecified shuffle, sampler and batch_sampler options"
            )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None and not iterable:
            sized: Any = dataset
            sampler = RandomSampler(sized, generator=generator) if shuffle else SequentialSampler(sized)
        if batch_size is not None and batch_sampler is None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        elif batch_size is not None and batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.dataset: Dataset[T_co] = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler: Any = sampler
        self.batch_sampler: Any = batch_sampler
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context: Any = (
            multiprocessing.get_context(multiprocessing_context)
            if isinstance(multiprocessing_context, str)
            else multiprocessing_context
        )
        self.generator = generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers > 0 else prefetch_factor
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._kept: Workers | None = None
        self._told_length: int | None = None  # by `len`, of an IterableDataset
        usual = default_collate if self._auto_collation else default_convert
        self.collate_fn: Callable[[Any], Any] = collate_fn or usual
        self.__initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        """Does the loader make batches? By PyTorch's name, which programs that make a loader of another one ask."""
        return self.batch_sampler is not None or (
            isinstance(self.dataset, IterableDataset) and self.batch_size is not None
        )

    @property
    def _index_sampler(self) -> Any:
        """What yields the indices that are asked of the data set, by PyTorch's name."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> Iterator[Any]:
        found = self._in_memory()
        return found if self._told_length is None else self._counted(found, self._told_length)

    def _counted(self, batches: Iterator[Any], told: int) -> Iterator[Any]:
        """The batches, with a warning where there are more than `len` of the loader told."""
        for i, batch in enumerate(batches, 1):
            if i > told:
                more = (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the "
                    "IterableDataset replica at each worker."
                )
                warnings.warn(
                    f"Length of IterableDataset {self.dataset} was reported to be {told} (when accessing "
                    f"len(dataloader)), but {i} samples have been fetched. {more if self.num_workers > 0 else ''}",
                    stacklevel=2,
                )
            yield batch

    def _in_memory(self) -> Iterator[Any]:
        if not self.pin_memory:
            return self._batches()
        if tandem.cuda.is_available():
            return map(pin_memory, self._batches())
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
            "used.",
            stacklevel=3,
        )
        return self._batches()

    def _batches(self) -> Iterator[Any]:
        # Drawn whatever the number of workers, so that the numbers drawn after it do not depend on that.
        seed = int(tandem.randint(2**62, (), generator=self.generator))
        iterable = isinstance(self.dataset, IterableDataset)
        batched = self.batch_sampler is not None
        source = Source(self.dataset, self.collate_fn, self.batch_size, self.drop_last, batched)
        if self.num_workers > 0:
            return self._worked(source, seed, repeat(None) if iterable else iter(self.batch_sampler or self.sampler))
        if iterable:
            return source.stream()
        if batched and type(self.dataset) is TensorDataset and self.collate_fn is default_collate:
            return self._tensor_batches(self.dataset)
        return map(source.batch, self.batch_sampler if batched else self.sampler)

    def _worked(self, source: Source, seed: int, tasks: Iterator[Any]) -> Workers:
        workers = self._kept
        if workers is None:
            workers = Workers(
                source,
                self.num_workers,
                seed,
                ahead=self.prefetch_factor or 2,
                timeout=self.timeout,
                start=self.worker_init_fn,
                context=self.multiprocessing_context,
                in_order=self.in_order,
                keep=self.persistent_workers,
            )
        workers.begin(tasks, resume=self._kept is not None)
        self._kept = workers if self.persistent_workers else None
        return workers

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            count = len(self.dataset)  # type: ignore[arg-type]
            if self.batch_size is not None:
                count = count // self.batch_size if self.drop_last else -(-count // self.batch_size)
            self._told_length = count
            return count
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _tensor_batches(self, dataset: TensorDataset) -> Iterator[Any]:
        """The same batches as stacking sample by sample gives, by one lookup a tensor."""
        for indices in self.batch_sampler:
            index = tandem.tensor(indices, dtype=tandem.int64)
            yield [t[index.to(t.device)] for t in dataset.tensors]


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool, context: Any
) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if num_workers == 0 and persistent:
        raise ValueError("persistent_workers option needs num_workers > 0")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cores is not None and num_workers > cores:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total. Our suggested max number of worker "
            f"in current system is {cores}, which is smaller than what this DataLoader is going to create. Please be "
            "aware that excessive worker creation might get DataLoader running slow or even freeze, lower the worker "
            "number to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )
    if context is None:
        return
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )
    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, str) and context not in methods:
        raise ValueError(
            f"multiprocessing_context option should specify a valid start method in {methods}, but got "
            f"multiprocessing_context={context!r}"
        )
    if not isinstance(context, str | multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )
