"""`ProcessGroup`, which runs the operations of a group one after another on a thread of its own, and `Work`.

An operation is checked and numbered where it is called, so that errors of its arguments are raised there before
anything is sent, and all ranks number alike. On the group's thread it first tells every rank what it is: where they
differ all ranks fail and nothing else was sent. Then its body moves memory and adds.
"""

from __future__ import annotations

import dataclasses
import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.distributed._errors import DistBackendError
from tandem.distributed._transport import Message, Transport

__all__ = ["ProcessGroup", "Work"]

TAGS = 8  # exchanges that an operation may make, the first of which says what it is
_SLICE = 0.1  # seconds between looks for an interrupt

# What each rank says of an operation, or what one says to each and what it expects to hear of each.
Said = str | tuple[Sequence[str], Sequence[str]]


class Work:
    """An operation that is under way: what `async_op=True`, `isend` and `irecv` return.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> work = dist.all_reduce(tandem.ones(2), async_op=True)
    >>> work.wait(), work.is_completed(), work.is_success()
    (True, True, True)
    >>> dist.destroy_process_group()
    """

    def __init__(self, operation: str) -> None:
        self._operation = operation
        self._done = threading.Event()
        self._error: BaseException | None = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it has been done, for as long as the group's timeout or this one; raises what went wrong."""
        seconds = timeout.total_seconds() if timeout else None
        if not self._done.wait(seconds):
            raise DistBackendError(f"{self._operation}: not done within {seconds:g} s")
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Has it been done, or failed?"""
        return self._done.is_set()

    def is_success(self) -> bool:
        """Has it been done without an error?"""
        return self._done.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        """What went wrong, if something did."""
        return self._error

    def get_future(self) -> Any:
        """NotImplementedError: `wait` and `is_completed` tell all there is."""
        raise NotImplementedError("Work.get_future is not part of Tandem. Use Work.wait instead")

    def _finish(self, error: BaseException | None) -> None:
        self._error = error
        self._done.set()


class Transfer(Work):
    """A message of `isend` or `irecv`."""

    def __init__(self, operation: str, group: ProcessGroup, message: Message) -> None:
        super().__init__(operation)
        self._group = group
        self._message = message

    def wait(self, timeout: timedelta | None = None) -> bool:
        limit = (timeout or self._group.timeout).total_seconds()
        deadline = time.monotonic() + limit
        while not self._look(max(0.0, min(_SLICE, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                self._group.transport.abort(f"{self._operation} was not done within {limit:g} s")
                self._finish(DistBackendError(f"{self._operation}: not done within {limit:g} s"))
        return super().wait()

    def is_completed(self) -> bool:
        return self._look(0)

    def source_rank(self) -> int:
        """The rank that a message came from, once it has arrived."""
        return self._group.ranks[self._message.peer()]

    def _look(self, seconds: float) -> bool:
        if self._done.is_set():
            return True
        try:
            if not self._message.wait(seconds):
                return False
        except DistBackendError as e:
            self._finish(DistBackendError(f"{self._operation}: {e}"))
        else:
            self._finish(None)
        return True


@dataclasses.dataclass
class Task:
    """An operation in the queue of a group."""

    work: Work
    number: int
    said: Said
    body: Callable[[int], None]
    seconds: float


class ProcessGroup:
    """Some of the processes of a program, which take part in operations together. `new_group` makes one.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> group = dist.new_group([0])
    >>> group.rank(), group.size()
    (0, 1)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, name: str, backend: str, transport: Transport, ranks: Sequence[int], rank: int, timeout: timedelta
    ) -> None:
        self.group_name = name
        self.backend = backend
        self.transport = transport
        self.ranks = list(ranks)  # in the default group
        self.timeout = timeout
        self._rank = rank
        self._number = 0
        self._lock = threading.Lock()
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes the group has."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of its backend."""
        return self.backend

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name}: rank {self._rank} of {self.size()}, {self.backend}>"

    def run(
        self,
        operation: str,
        said: Said,
        body: Callable[[int], None],
        async_op: bool,
        timeout: timedelta | None = None,
    ) -> Work | None:
        """Put an operation in the queue; wait for it unless `async_op`. `body` is given the first of its tags."""
        work = Work(operation)
        seconds = (timeout or self.timeout).total_seconds()
        with self._lock:
            if self._closed:
                raise DistBackendError(f"{operation}: the group was destroyed")
            self._tasks.put(Task(work, self._number, said, body, seconds))
            self._number += 1
            if self._thread is None:
                target = _work_off
                self._thread = threading.Thread(
                    target=target, args=(weakref.ref(self), self._tasks), name="tandem-group", daemon=True
                )
                self._thread.start()
        if async_op:
            return work
        work.wait()
        return None

    def perform(self, task: Task) -> None:
        """On the group's thread."""
        operation = task.work._operation
        tag = task.number * TAGS
        try:
            self._agree(task, tag)
            task.body(tag + 1)
        except DistBackendError as e:
            task.work._finish(DistBackendError(f"{operation}: {e}"))
        except BaseException as e:
            self.transport.abort(f"rank {self._rank} failed in {operation}: {e}")
            task.work._finish(e)
        else:
            task.work._finish(None)

    def _agree(self, task: Task, tag: int) -> None:
        """Fails on all ranks where they called different operations."""
        alike = isinstance(task.said, str)
        said, expected = ([task.said] * self.size(),) * 2 if isinstance(task.said, str) else task.said
        heard = self.transport.texts(tag, [f"{task.number} {t}" for t in said], task.seconds)
        mine = self.transport.fitting([f"{task.number} {t}" for t in expected])
        differs = ""
        for rank, (theirs, ours) in enumerate(zip(heard, mine)):
            if theirs != ours and not differs:
                theirs, ours = theirs.partition(" ")[2], ours.partition(" ")[2]
                differs = f"rank {rank} calls {theirs}, where rank {self._rank} expects {ours}"
        if not alike:
            # What one rank sees here the others may not.
            verdicts = self.transport.texts(tag + TAGS - 1, [differs or "fine"] * self.size(), task.seconds)
            differs = next((v for v in verdicts if v != "fine"), "")
        if differs:
            raise DistBackendError(f"the ranks do not agree: {differs}")

    def close(self) -> None:
        """Ends the thread once it has done what is in the queue, and closes the connections."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._tasks.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self.transport.close()


def _work_off(group: weakref.ref[ProcessGroup], tasks: queue.SimpleQueue[Task | None]) -> None:
    """The thread of a group. Tensors of all kinds may be written there, and nothing is recorded."""
    with tandem.inference_mode():
        while (task := tasks.get()) is not None:
            if (owner := group()) is None:
                return
            owner.perform(task)
            del task, owner


def count_write(tensor: Tensor) -> Tensor:
    """The memory of a tensor that is about to be written, flat; what was recorded of it has run."""
    tandem._C._count_write(tensor)
    return flat(tensor)


def flat(tensor: Tensor) -> Tensor:
    """The memory of a contiguous tensor, flat; what makes it has run."""
    view = tensor.detach().view(-1)
    view.data_ptr()
    return view
