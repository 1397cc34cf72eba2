"""What a group has for tensors on a GPU: operations that are queued there, while the host goes on.

An operation of a group on a GPU waits for what the current stream had when it was called, is done in the stream of a
communicator (`_nccl`), and `Work.wait` has the current stream wait for it. Three threads see to it:

- that of the group queues the bodies of operations, in the order of calls, as it does on the CPU;
- one tells all ranks what each operation is, by connections of the host, without holding up the work: whoever reads
  a result on the host waits for that, too, so that nobody sees numbers of ranks that meant different things;
- one looks after what is under way: it notices a lost rank, an error of NCCL and what is not done in time.

After a failure the communicator is aborted, which ends the work, and all operations fail with the reason.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import tandem
from tandem import _C
from tandem._C import Tensor
from tandem.distributed._errors import DistBackendError
from tandem.distributed._nccl import ID_LENGTH, NcclTransport, new_id, why_not
from tandem.distributed._process_group import Said, Tasks, Work, agree
from tandem.distributed._staged import check_capture
from tandem.distributed._transport import HostTransport, Message

_ID = 1 << 62  # tag of the exchange of what ranks know each other by, behind those of all operations
_LOOK = 0.01  # seconds between looks at what is under way
_CAUSE = 1.0  # seconds for the cause of an error to be heard of
_FAREWELL = 5.0  # seconds for others to hear that a rank leaves
# Tags of messages, of which the connections carry no others.
_LEAVES, _MESSAGE_ID, _MESSAGE = 1, 2, 3


class GpuWork(Work):
    """An operation on a GPU. `wait` does not wait for it: what the current stream gets from then on does."""

    def __init__(self, side: GpuSide, operation: str, device: tandem.device, seconds: float, kept: Any) -> None:
        super().__init__(operation)
        self.agreement = _C._gpu_new_agreement()
        self.seconds = seconds
        self.deadline: float | None = None  # when it is to be done, since all ranks have begun it
        self._side = side
        self._device = device
        self._called_on = tandem.cuda.current_stream(device)
        self._begin = self._called_on.record_event()
        self._queued = threading.Event()
        self._end: Any = None
        # Memory that the work uses: another stream than its own must not have it before it is done.
        self._kept = kept

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Have the current stream wait for it; the host, too, where a timeout is given. Raises what is known to have
        gone wrong; what comes out later is raised where the host waits for the stream."""
        self._queued.wait()
        self._check()
        stream = tandem.cuda.current_stream(self._device)
        self._end.wait(stream)
        _C._gpu_expect(stream._stream, self.agreement)
        if timeout is not None:
            self._wait_on_host(timeout.total_seconds())
        if stream == self._called_on:
            self._kept = None
        return True

    def _wait_on_host(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self.is_completed():
            if time.monotonic() >= deadline:
                raise DistBackendError(f"{self._operation}: not done within {seconds:g} s")
            time.sleep(_LOOK)
        self._check()

    def _check(self) -> None:
        if (error := self.exception()) is not None:
            raise error

    def is_completed(self) -> bool:
        if not self._queued.is_set() or not self.agreement.is_known():
            return False
        return self.exception() is not None or bool(self._end.query())

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        failure = self.agreement.failure() if self.agreement.is_known() else ""
        return DistBackendError(failure) if failure else None

    @contextlib.contextmanager
    def queueing(self, stream: tandem.cuda.Stream) -> Iterator[None]:
        """In this block the stream gets the work, after what was there when it was called."""
        with tandem.cuda.stream(stream):
            self._begin.wait(stream)
            yield
            self._end = stream.record_event()
        self._queued.set()

    def over(self) -> bool:
        """Is it done, for whoever looks after it? It lets go of its memory then."""
        if not self._queued.is_set() or not self.agreement.is_known():
            return False
        if self.deadline is None:
            self.deadline = time.monotonic() + self.seconds
        if not self._end.query():
            return False
        self._kept = None
        return True

    def fail(self, why: str) -> None:
        self.agreement.fail(f"{self._operation}: {why}")
        self._queued.set()


class GpuTransfer(GpuWork):
    """A message of `isend` or `irecv` between GPUs."""

    def __init__(self, *args: Any, source: int) -> None:
        super().__init__(*args)
        self._source = source

    def source_rank(self) -> int:
        """The rank that a message comes from."""
        return self._source


class GpuSide:
    """The operations of one group on the GPU of this process.

    Args:
        control: connections of the host that are this one's alone.
        ranks, rank: of the group.
        seconds: its timeout.
        index: of the GPU; None: that of the first tensor.
    """

    def __init__(
        self, control: HostTransport, ranks: list[int], rank: int, seconds: float, index: int | None = None
    ) -> None:
        self.control = control
        self.rank, self.size, self.ranks = rank, len(ranks), ranks
        self.index = index
        self._seconds = seconds
        self._transport: NcclTransport | None = None
        self._channels: dict[tuple[int, int], _Channel] = {}
        self._agreements: queue.SimpleQueue[tuple[GpuWork, int, Said] | None] = queue.SimpleQueue()
        self._ended = _C._gpu_new_agreement()  # known when the group has failed or leaves
        self._failed: str | None = None
        self._changed = threading.Condition()  # over what follows
        self._open: list[GpuWork] = []
        self._closing = self._stopping = False
        self._aborting = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._leaving: dict[int, Message] = {}

    def bind(self, device: tandem.device, operation: str) -> None:
        """The group's GPU is that of its first tensor."""
        index = int(device.index or 0)
        if self.index is None:
            if why := why_not(index):
                raise DistBackendError(f"{operation}: {why}")
            self.index = index
        assert index == self.index  # as `_checks` has seen

    def transport(self) -> NcclTransport:
        """The communicator of all ranks, connected by the thread of the group."""
        if self._transport is None:
            assert self.index is not None
            own = new_id(self.index) if self.rank == 0 else "none"
            known = self.control.texts(_ID, [own] * self.size, self._seconds)[0]
            self._transport = NcclTransport(self.index, known, self.rank, self.size, self._ended)
        return self._transport

    def run(
        self,
        tasks: Tasks,
        operation: str,
        said: Said,
        body: Callable[[int], None],
        seconds: float,
        device: tandem.device,
    ) -> GpuWork:
        """Puts an operation in the queue of the group."""
        self._prepare(operation, device)
        work = GpuWork(self, operation, device, seconds, body)

        def queue_work(number: int) -> None:
            def begin() -> None:
                with work.queueing(self.transport().stream):
                    body(0)

            self._queue(work, begin)

        def on_gpu(text: str) -> str:
            return f"{text} on cuda"

        told = on_gpu(said) if isinstance(said, str) else ([on_gpu(t) for t in said[0]], [on_gpu(t) for t in said[1]])
        tasks.put(operation, queue_work, lambda number: self._begun(work, number, told))
        return work

    def transfer(self, operation: str, peer: int, sends: bool, what: str, data: Tensor) -> GpuTransfer:
        """Puts a message in the queue of those from one rank to another."""
        self._prepare(operation, data.device)
        pair = (self.rank, peer) if sends else (peer, self.rank)
        channel = self._channels.setdefault(pair, _Channel(self, *pair))
        source = self.ranks[pair[0]]
        work = GpuTransfer(self, operation, data.device, self._seconds, data, source=source)
        channel.put(work, what, data)
        return work

    def _prepare(self, operation: str, device: tandem.device) -> None:
        if self._failed is not None:
            raise DistBackendError(f"{operation}: {self._failed}")
        self.bind(device, operation)
        check_capture(device, operation)

    def _queue(self, work: GpuWork, begin: Callable[[], None]) -> None:
        """What goes wrong where work is queued is the group's failure."""
        try:
            if self._failed is not None:
                raise DistBackendError(self._failed)
            begin()
        except BaseException as e:
            self.fail(self._cause(str(e)) if isinstance(e, DistBackendError) else f"{type(e).__name__}: {e}")
            work.fail(self._failed or str(e))

    # ---- what ranks agree about

    def _begun(self, work: GpuWork, number: int, said: Said) -> None:
        """In the order of numbers."""
        self._watch(work)
        self._agreements.put((work, number, said))

    def _agree(self) -> None:
        """The thread that tells all ranks what operations are."""
        while (task := self._agreements.get()) is not None:
            work, number, said = task
            try:
                if self._failed is not None:
                    raise DistBackendError(self._failed)
                agree(self.control, self.rank, self.size, number, said, work.seconds)
            except DistBackendError as e:
                self.fail(str(e))
                work.fail(str(e))
            else:
                work.agreement.settle()
            del task, work

    # ---- what is under way

    def _watch(self, work: GpuWork) -> None:
        with self._changed:
            self._open.append(work)
            if not self._threads:
                nothing = _nothing()
                for r in range(self.size):
                    if r != self.rank:
                        self._leaving[r] = self.control.receive([r], _LEAVES, "leaves", nothing)
                for target in (self._agree, self._look_after):
                    self._threads.append(threading.Thread(target=target, name="tandem-group-gpu", daemon=True))
                    self._threads[-1].start()
            self._changed.notify_all()

    def _look_after(self) -> None:
        """The thread that looks after what is under way."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._open or self._closing)
                if not self._open or self._stopping:
                    return
                works = list(self._open)
            try:
                over = [w for w in works if w.over()] if self._failed is None else works
                if len(over) < len(works):
                    self._look(works)
            except Exception as e:  # of a device that failed
                over = []
                self.fail(str(e))
            with self._changed:
                self._open = [w for w in self._open if not any(w is o for o in over)]
                self._changed.notify_all()
            del works, over
            time.sleep(_LOOK)

    def _look(self, works: list[GpuWork]) -> None:
        """Fails where a rank is lost, NCCL reports an error or the time is over."""
        for r, message in list(self._leaving.items()):
            if message.wait(0):
                del self._leaving[r]
        for transport in self._transports():
            if failure := transport.failure():
                raise DistBackendError(self._cause(failure))
        for work in works:
            if work.deadline is not None and time.monotonic() > work.deadline:
                raise DistBackendError(f"not done on the GPU within {work.seconds:g} s")

    def _cause(self, why: str) -> str:
        """NCCL says that something is wrong; connections of the host may soon say what and of which rank."""
        deadline = time.monotonic() + _CAUSE
        while time.monotonic() < deadline and self._failed is None:
            try:
                for message in list(self._leaving.values()):
                    message.wait(_LOOK)
            except DistBackendError as e:
                return str(e)
        return self._failed or why

    def fail(self, why: str) -> None:
        """All that is under way has failed, and so will all that comes."""
        with self._changed:
            if self._failed is not None:
                return
            self._failed = why
            works = list(self._open)
        for work in works:
            work.fail(why)
        self._ended.fail(why)
        # First what others hear of it, then what they notice.
        self.control.abort(why)
        self._abort(why)

    def _abort(self, why: str) -> None:
        with self._aborting:
            for transport in [] if self._stopping else self._transports():
                transport.abort(why)

    def _transports(self) -> list[NcclTransport]:
        found = [self._transport, *(c.transport for c in list(self._channels.values()))]
        return [t for t in found if t is not None]

    def close(self) -> None:
        """Waits for what is under way, and leaves."""
        for channel in self._channels.values():
            channel.tasks.close()
        self._agreements.put(None)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._ended.fail("the group was destroyed")
        for transport in self._transports():
            transport.close()
        self._transport = None
        self._channels = {}
        self._say_farewell()
        self.control.close()

    def stop(self, tasks: Tasks) -> None:
        """A thread that comes back to Python from C++ while the process ends would take it down: none is left there."""
        self._ended.fail("the process ends")
        queues = [tasks, *(c.tasks for c in self._channels.values())]
        if not all([t.stop(_FAREWELL) for t in queues]):
            self._abort("the process ends")
            for t in queues:
                t.stop(_FAREWELL)
        with self._changed, self._aborting:
            self._closing = self._stopping = True
            self._changed.notify_all()
        for thread in self._threads[1:]:
            thread.join(_FAREWELL)

    def _say_farewell(self) -> None:
        """So that nobody takes the end of connections for the end of a process."""
        if self._failed is not None or not self._threads:
            return
        nothing = _nothing()
        with contextlib.suppress(DistBackendError):
            said = [self.control.send(r, _LEAVES, "leaves", nothing) for r in range(self.size) if r != self.rank]
            for message in said:
                message.wait(_FAREWELL)


class _Channel:
    """The messages from one rank to another: a communicator of two ranks, so that they wait for nothing else."""

    def __init__(self, side: GpuSide, source: int, to: int) -> None:
        self.tasks = Tasks("tandem-messages")
        self.transport: NcclTransport | None = None
        self._side = side
        self._sends = source == side.rank
        self._peer = to if self._sends else source

    def put(self, work: GpuWork, what: str, data: Tensor) -> None:
        described: list[Message] = []

        def describe(number: int) -> None:
            described.append(self._message(_MESSAGE, what, _nothing()))
            self._side._watch(work)

        def queue_work(number: int) -> None:
            self._side._queue(work, lambda: self._transfer(work, described[0], data))

        self.tasks.put(work._operation, queue_work, describe)

    def _transfer(self, work: GpuWork, described: Message, data: Tensor) -> None:
        transport = self._connected()
        self._arrived(described)
        work.agreement.settle()
        with work.queueing(transport.stream):
            whole, nothing = [(0, 0), (0, 0)], [(0, 0), (0, 0)]
            whole[1 if self._sends else 0] = (0, data.numel())
            sends, receives = (whole, nothing) if self._sends else (nothing, whole)
            transport.exchange(0, data, sends, data, receives, work.seconds)

    def _message(self, tag: int, what: str, data: Tensor) -> Message:
        control = self._side.control
        if self._sends:
            return control.send(self._peer, tag, what, data)
        return control.receive([self._peer], tag, what, data)

    def _arrived(self, message: Message) -> None:
        seconds = self._side._seconds
        if not message.wait(seconds):
            rank = self._side.ranks[self._peer]
            raise DistBackendError(f"rank {rank} did not take part within {seconds:g} s")

    def _connected(self) -> NcclTransport:
        if self.transport is None:
            index = self._side.index
            assert index is not None
            text = new_id(index) if self._sends else " " * ID_LENGTH
            data = tandem.frombuffer(bytearray(text.encode()), dtype=tandem.uint8).to("cpu")
            self._arrived(self._message(_MESSAGE_ID, "identity", data))
            known = bytes(data.tolist()).decode()
            self.transport = NcclTransport(index, known, 0 if self._sends else 1, 2, self._side._ended)
        return self.transport


def _nothing() -> Tensor:
    """What a message carries that says all in its description."""
    return tandem.empty(0, dtype=tandem.uint8, device="cpu")
