"""`ProcessGroup`, which runs the operations of a group one after another on a thread of its own, and `Work`.

An operation is checked and numbered where it is called, so that errors of its arguments are raised there before
anything is sent, and all ranks number alike. On the group's thread it first tells every rank what it is: where they
differ all ranks fail and nothing else was sent. Then its body moves memory and adds. Of tensors on a GPU the body is
queued without waiting for the other ranks (`_gpu_side`), or with Gloo done by way of the host (`_staged`).
"""

from __future__ import annotations

import contextlib
import copy
import queue
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import tandem
from tandem._C import Tensor
from tandem.distributed import _staged
from tandem.distributed._errors import DistBackendError
from tandem.distributed._transport import HostTransport, Message, Parts, Transport
from tandem.distributed._work_future import WorkFuture

if TYPE_CHECKING:
    from tandem.distributed._gpu_side import GpuSide

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
        self._outcome: Any = None  # of what a future has
        self._future: weakref.ref[WorkFuture] | None = None  # which holds this: tensors should not wait for a collector

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

    def get_future(self) -> WorkFuture:
        """The operation as a `futures.Future`, whose value is the list of the tensors that it filled."""
        if self._outcome is None:
            raise RuntimeError(f"{self._operation}: messages between two ranks have no future: use Work.wait")
        future = self._future() if self._future is not None else None
        if future is None:
            future = WorkFuture(self, self._outcome)
            self._future = weakref.ref(future)
        return future

    def result(self) -> list[Any]:
        """The tensors that it filled; wait for it before."""
        return [] if self._outcome is None else list(self._outcome)

    def synchronize(self) -> None:
        """The same as `wait`."""
        self.wait()

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


class Tasks:
    """What a thread of its own does, one after another. All ranks number alike what they do together."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._number = 0
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[tuple[Callable[[int], None], int] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def put(self, operation: str, task: Callable[[int], None], beside: Callable[[int], None] | None = None) -> None:
        """Have `task` called with its number, and `beside` at once, in the same order for all. DistBackendError after
        `close`."""
        with self._lock:
            if self._closed:
                raise DistBackendError(f"{operation}: the group was destroyed")
            if beside is not None:
                beside(self._number)
            self._queue.put((task, self._number))
            self._number += 1
            if self._thread is None:
                self._thread = threading.Thread(target=_work_off, args=(self._queue,), name=self._name, daemon=True)
                self._thread.start()

    def close(self) -> bool:
        """Ends the thread once it has done what is in the queue. False: this was done before."""
        with self._lock:
            if self._closed:
                return False
            self._closed = True
            self._queue.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        return True

    def stop(self, seconds: float) -> bool:
        """Has the thread ended within that time, without what is still in the queue?"""
        with self._lock:
            self._closed = True
            with contextlib.suppress(queue.Empty):
                while True:
                    self._queue.get_nowait()
            self._queue.put(None)
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()


def _work_off(tasks: queue.SimpleQueue[tuple[Callable[[int], None], int] | None]) -> None:
    """The thread of a group. Tensors of all kinds may be written there, and nothing is recorded."""
    with tandem.inference_mode():
        while (task := tasks.get()) is not None:
            task[0](task[1])
            del task


def agree(transport: HostTransport, rank: int, size: int, number: int, said: Said, seconds: float) -> None:
    """Fails on all ranks where they called different operations."""
    tag = number * TAGS
    alike = isinstance(said, str)
    says, expected = ([said] * size,) * 2 if isinstance(said, str) else said
    heard = transport.texts(tag, [f"{number} {t}" for t in says], seconds)
    mine = transport.fitting([f"{number} {t}" for t in expected])
    differs = ""
    for other, (theirs, ours) in enumerate(zip(heard, mine)):
        if theirs != ours and not differs:
            theirs, ours = theirs.partition(" ")[2], ours.partition(" ")[2]
            differs = f"rank {other} calls {theirs}, where rank {rank} expects {ours}"
    if not alike:
        # What one rank sees here the others may not.
        verdicts = transport.texts(tag + TAGS - 1, [differs or "fine"] * size, seconds)
        differs = next((v for v in verdicts if v != "fine"), "")
    if differs:
        raise DistBackendError(f"the ranks do not agree: {differs}")


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
        self,
        name: str,
        backends: Mapping[str, str],
        transport: HostTransport,
        gpu: GpuSide | None,
        ranks: Sequence[int],
        rank: int,
        timeout: timedelta,
    ) -> None:
        self.group_name = name
        self.backends = dict(backends)  # by kind of device
        self.transport = transport
        self.gpu = gpu
        self.ranks = list(ranks)  # in the default group
        self.timeout = timeout
        self._rank = rank
        self._tasks = Tasks("tandem-group")

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes the group has."""
        return len(self.ranks)

    @property
    def backend(self) -> str:
        """The name of its backend, or of several: `cpu:gloo,cuda:nccl`."""
        if len({*self.backends.values()}) == 1:
            return next(iter(self.backends.values()))
        return ",".join(f"{kind}:{name}" for kind, name in self.backends.items())

    def name(self) -> str:
        """The name of its backend."""
        return self.backend

    def on_host(self) -> ProcessGroup:
        """The group for memory of the CPU, whichever its backends are for: objects are sent so."""
        if "cpu" in self.backends:
            return self
        other = copy.copy(self)
        other.backends = {"cpu": "gloo"}
        return other

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name}: rank {self._rank} of {self.size()}, {self.backend}>"

    def exchange(self, tag: int, out: Tensor, sends: Parts, into: Tensor, receives: Parts, seconds: float) -> None:
        """Transport.exchange where the tensors are."""
        transport: Transport = self.transport
        if not out.device.type == "cpu":
            transport = self.gpu.transport() if self.gpu is not None else _staged.Staged(transport)
        transport.exchange(tag, out, sends, into, receives, seconds)

    def run(
        self,
        operation: str,
        said: Said,
        body: Callable[[int], None],
        async_op: bool,
        timeout: timedelta | None = None,
        on: Tensor | None = None,
        outcome: Sequence[Any] = (),
    ) -> Work | None:
        """Put an operation in the queue, of tensors where `on` is; wait for it unless `async_op`. `body` is given the
        first of its tags, and `outcome` is what it fills."""
        seconds = (timeout or self.timeout).total_seconds()
        work: Work
        on_gpu = on is not None and on.device.type != "cpu"
        if on is not None and on_gpu and self.gpu is not None:
            work = self.gpu.run(self._tasks, operation, said, body, seconds, on.device)
        else:
            if on is not None and on_gpu:
                body = _staged.in_stream(operation, body, on.device)
            work = Work(operation)
            self._tasks.put(operation, lambda number: self._perform(work, number, said, body, seconds))
        if async_op:
            work._outcome = list(outcome)
            return work
        work.wait()
        return None

    def _perform(self, work: Work, number: int, said: Said, body: Callable[[int], None], seconds: float) -> None:
        """On the group's thread."""
        operation = work._operation
        try:
            agree(self.transport, self._rank, self.size(), number, said, seconds)
            body(number * TAGS + 1)
        except DistBackendError as e:
            work._finish(DistBackendError(f"{operation}: {e}"))
        except BaseException as e:
            self.transport.abort(f"rank {self._rank} failed in {operation}: {e}")
            work._finish(e)
        else:
            work._finish(None)

    def stop(self) -> None:
        """Before the process ends: has threads that work for a GPU come to their end, whatever is under way."""
        if self.gpu is not None:
            self.gpu.stop(self._tasks)

    def close(self) -> None:
        """Ends the threads once they have done what is in the queue, and closes the connections."""
        if self._tasks.close():
            if self.gpu is not None:
                self.gpu.close()
            self.transport.close()


def count_write(tensor: Tensor) -> Tensor:
    """The memory of a tensor that is about to be written, flat; what was recorded of it has run."""
    tandem._C._count_write(tensor)
    return flat(tensor)


def flat(tensor: Tensor) -> Tensor:
    """The memory of a contiguous tensor, flat; what makes it has run."""
    view = tensor.detach().view(-1)
    view.data_ptr()
    return view
