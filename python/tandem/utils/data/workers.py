"""Processes that make the batches of a loader: each reads tasks from its pipe and answers there, in their order."""

from __future__ import annotations

import multiprocessing
import os
import queue
import random
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

import tandem
from tandem.utils.data.dataset import IterableDataset, fetch

__all__ = ["WorkerInfo", "get_worker_info"]

_PATIENCE = 5.0  # seconds between looks at whether the other side still runs
_GRACE = 2.0  # seconds for a worker to end by itself
_RESUMED = -1  # the number of the answer to a worker's new start


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this is: `id` of `num_workers`, the `seed` of its random numbers, its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker process asks; None in the process of the loader.

    >>> import tandem
    >>> tandem.utils.data.get_worker_info() is None
    True
    """
    return _info


@dataclass
class Source:
    """What makes a loader's batches, in its process or in a worker."""

    dataset: Any
    collate: Callable[[Any], Any]
    batch_size: int | None
    drop_last: bool
    batched: bool

    def batch(self, indices: Any) -> Any:
        """The batch at `indices`, or the sample at one index."""
        return self.collate(fetch(self.dataset, indices) if self.batched else self.dataset[indices])

    def stream(self) -> Iterator[Any]:
        """The batches of an `IterableDataset`."""
        if self.batch_size is None:
            for sample in self.dataset:
                yield self.collate(sample)
            return
        batch: list[Any] = []
        for sample in self.dataset:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.collate(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate(batch)


@dataclass
class Failure:
    """An exception of a worker: the loader raises it again."""

    kind: type[BaseException]
    text: str

    @classmethod
    def now(cls, worker: int) -> Failure:
        """The exception being handled."""
        kind = sys.exc_info()[0] or RuntimeError
        text = f"Caught {kind.__name__} in DataLoader worker process {worker}.\nOriginal {traceback.format_exc()}"
        return cls(kind, text)

    def again(self) -> None:
        """Raise it, as a RuntimeError where its class takes more than a text."""
        if self.kind is KeyError:
            # Its message is shown quoted, so that a traceback in it would be one line.
            raise KeyError(_Quoted(self.text))
        try:
            error = self.kind(self.text)
        except Exception:
            raise RuntimeError(self.text) from None
        raise error


class _Quoted(str):
    """A text that is shown as it is."""

    def __repr__(self) -> str:
        return str(self)


class Ended:
    """The answer of a worker whose `IterableDataset` has no more."""


def _answer(number: int, worker: int, value: Any) -> bytes:
    """An answer as bytes; what cannot be sent is answered with the reason."""
    try:
        return bytes(ForkingPickler.dumps((number, value)))
    except Exception:
        # Of a failure it is the class of the exception that the other process cannot find.
        failure = Failure(RuntimeError, value.text) if isinstance(value, Failure) else Failure.now(worker)
        return bytes(ForkingPickler.dumps((number, failure)))


def _sending(pipe: Any, answers: queue.SimpleQueue[bytes | None]) -> None:
    while (answer := answers.get()) is not None:
        try:
            pipe.send_bytes(answer)
        except OSError:
            return


def _work(pipe: Any, parent: int, info: WorkerInfo, source: Source, start: Callable[[int], None] | None) -> None:
    """A worker's life: answer tasks until None comes, or the loader's process has gone."""
    global _info
    try:
        tandem.set_num_threads(1)
        _seed(info)
        _info = info
        # A thread sends what is done, so that the next batch is made while the loader's process is busy.
        answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        sender = threading.Thread(target=_sending, args=(pipe, answers), daemon=True)
        sender.start()
        iterable = isinstance(info.dataset, IterableDataset)
        stream: Iterator[Any] | None = None
        failure: Failure | None = None
        try:
            if start is not None:
                start(info.id)
            stream = source.stream() if iterable else None
        except Exception:
            failure = Failure.now(info.id)
        ended = False
        while True:
            while not pipe.poll(_PATIENCE):
                if os.getppid() != parent:
                    return
            task = pipe.recv()
            if task is None:
                return
            number, indices = task
            value: Any
            if number == _RESUMED:
                stream, ended = (source.stream() if iterable else None), False
                value = None
            elif failure is not None:
                value = failure
            elif ended:
                continue
            else:
                try:
                    value = source.batch(indices) if stream is None else next(stream)
                except StopIteration:
                    ended = stream is not None
                    value = Ended() if ended else Failure.now(info.id)
                except Exception:
                    value = Failure.now(info.id)
            answers.put(_answer(number, info.id, value))
            del value
    except (KeyboardInterrupt, EOFError, ConnectionError):
        pass  # the loader's process has its own, or has gone


def _seed(info: WorkerInfo) -> None:
    random.seed(info.seed)
    tandem.manual_seed(info.seed)
    if "numpy" in sys.modules:
        import numpy

        numpy.random.seed([info.id, (info.seed - info.id) & 0xFFFFFFFF, (info.seed - info.id) >> 32])


def _end(owner: int, processes: list[Any], pipes: list[Any]) -> None:
    """Ask workers to end; those that do not are terminated."""
    if os.getpid() != owner:
        return  # a forked process drops its copy
    for pipe in pipes:
        try:
            pipe.send(None)
        except (OSError, ValueError):
            pass
    deadline = time.monotonic() + _GRACE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.terminate()
            process.join()
    for pipe in pipes:
        pipe.close()


class Workers:
    """The workers of a loader, and the batches they make: an iterator.

    At most `ahead` tasks a worker are asked for before their batches are taken. Batches come in the order of the
    tasks, or with `in_order=False` as they are done. After the last one the workers end, unless they are to be kept.
    """

    def __init__(
        self,
        source: Source,
        count: int,
        seed: int,
        *,
        ahead: int,
        timeout: float,
        start: Callable[[int], None] | None,
        context: Any,
        in_order: bool,
        keep: bool,
    ) -> None:
        self._timeout = timeout or None
        self._ahead = ahead
        self._in_order = in_order
        self._keep = keep
        context = context or multiprocessing.get_context()
        self._pipes: list[Any] = []
        self._processes: list[Any] = []
        self._finalize = weakref.finalize(self, _end, os.getpid(), self._processes, self._pipes)
        for i in range(count):
            mine, theirs = context.Pipe()
            info = WorkerInfo(i, count, seed + i, source.dataset)
            process = context.Process(target=_work, args=(theirs, os.getpid(), info, source, start), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(mine)
            self._processes.append(process)

    def begin(self, tasks: Iterator[Any], resume: bool = False) -> None:
        """A pass over `tasks`. `resume`: the workers had one before."""
        if resume:
            for worker in range(len(self._pipes)):
                self._send(worker, (_RESUMED, None))
            left = len(self._pipes)
            while left > 0:
                left -= sum(number == _RESUMED for _, number, _ in self._receive())
        self._tasks = tasks
        self._active = [True] * len(self._pipes)
        self._turn = 0
        self._sent = 0
        self._next = 0
        self._owner: dict[int, int] = {}  # who has an open task
        self._done: dict[int, Any] = {}
        for _ in range(self._ahead * len(self._pipes)):
            self._ask()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while True:
            if self._in_order:
                # Tasks of a worker that has no more are not answered.
                while self._next < self._sent and self._next not in self._done and self._next not in self._owner:
                    self._next += 1
            number = self._next if self._in_order else next(iter(self._done), self._next)
            if number in self._done:
                value = self._done.pop(number)
                self._next += self._in_order
                self._ask()
                if isinstance(value, Failure):
                    value.again()
                return value
            if not self._owner:
                if not self._keep:
                    self._finalize()
                raise StopIteration
            for worker, number, value in self._receive():
                if self._owner.pop(number, None) is None:
                    continue
                if isinstance(value, Ended):
                    self._active[worker] = False
                    self._owner = {n: w for n, w in self._owner.items() if w != worker}
                    self._ask()
                else:
                    self._done[number] = value

    def _ask(self) -> None:
        """Give the next task to the worker whose turn it is."""
        count = len(self._pipes)
        for i in range(count):
            worker = (self._turn + i) % count
            if self._active[worker]:
                break
        else:
            return
        try:
            task = next(self._tasks)
        except StopIteration:
            return
        self._turn = worker + 1
        self._send(worker, (self._sent, task))
        self._owner[self._sent] = worker
        self._sent += 1

    def _send(self, worker: int, message: tuple[int, Any]) -> None:
        try:
            self._pipes[worker].send(message)
        except OSError:
            self._processes[worker].join(_PATIENCE)  # its end of the pipe is gone first
            self._check()
            raise

    def _receive(self) -> list[tuple[int, int, Any]]:
        """Answers that have come, at least one: who gave it, to which task."""
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            left = _PATIENCE if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            ready = connection.wait([*self._pipes, *(p.sentinel for p in self._processes)], left)
            answers = []
            for worker, pipe in enumerate(self._pipes):
                if pipe in ready:
                    try:
                        number, value = pipe.recv()
                    except (EOFError, ConnectionError):
                        continue
                    answers.append((worker, number, value))
            if answers:
                return answers
            if ready:
                self._check()

    def _check(self) -> None:
        gone = [str(p.pid) for p in self._processes if not p.is_alive()]
        if gone:
            self._finalize()
            raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(gone)}) exited unexpectedly")
