"""Streams, in which work is done in order, and events, places in them that others can wait for."""

from __future__ import annotations

from typing import Any

from tandem import _C
from tandem.cuda._devices import Device, fail_without, index_of, is_available

__all__ = ["DeviceEvent", "Event", "ExternalStream", "Stream", "StreamContext"]


class Stream:
    """A queue of work of a GPU; work of several streams may be done at the same time.

    Args:
        device: a GPU; None is the current one.
        priority: negative for one whose work goes first.

    Streams come from a pool of 32 a device and priority, and live as long as the process. RuntimeError where there is
    no GPU.

    >>> import tandem
    >>> if tandem.cuda.is_available():
    ...     with tandem.Stream() as side:
    ...         x = tandem.ones(3, device="cuda")
    ...     tandem.cuda.current_stream().wait_stream(side)
    """

    _stream: Any

    def __init__(self, device: Device = None, priority: int = 0, **kwargs: Any) -> None:
        index = index_of(device, type(self).__name__)
        self._stream = _C._gpu_new_stream(index, priority)
        self.priority = priority

    @classmethod
    def _of(cls, stream: Any) -> Stream:
        self = Stream.__new__(Stream)
        self._stream, self.priority = stream, 0
        return self

    @property
    def device(self) -> _C.device:
        """The GPU."""
        return _C.device("cuda", self._stream.index)

    @property
    def device_index(self) -> int:
        """Its index."""
        return int(self._stream.index)

    @property
    def cuda_stream(self) -> int:
        """The driver's handle."""
        return int(self._stream.handle)

    stream_id = native_handle = cuda_stream

    def query(self) -> bool:
        """Is all work done that the stream was given so far?"""
        return bool(self._stream.is_done())

    def synchronize(self) -> None:
        """Wait until it is. The first error of that work is raised here."""
        self._stream.synchronize()

    def record_event(self, event: DeviceEvent | None = None) -> DeviceEvent:
        """Record `event`, or a new one, after what the stream was given so far; returns it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: DeviceEvent) -> None:
        """Do what comes next after the event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Do what comes next after what `stream` was given so far."""
        self.wait_event(stream.record_event())

    @property
    def _as_parameter_(self) -> Any:
        import ctypes

        return ctypes.c_void_p(self.cuda_stream)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.cuda_stream) == (other.device_index, other.cuda_stream)

    def __hash__(self) -> int:
        return hash((self.device_index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<tandem.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        self._block = [*getattr(self, "_block", []), StreamContext(self)]
        self._block[-1].__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._block.pop().__exit__(*exc)


class ExternalStream(Stream):
    """The stream of a driver's handle (an integer) that another library has made, which must keep it."""

    def __init__(self, stream_ptr: int, device: Device = None, **kwargs: Any) -> None:
        self._stream = _C._gpu_external_stream(index_of(device, type(self).__name__), stream_ptr)
        self.priority = 0


def get_stream_from_external(data_ptr: int, device: Device = None) -> Stream:
    """The stream of a driver's handle (an integer) that another library has made, which must keep it.

    >>> import tandem
    >>> handle = tandem.cuda.Stream().cuda_stream  # doctest: +SKIP
    >>> tandem.cuda.get_stream_from_external(handle).device  # doctest: +SKIP
    device(type='cuda', index=0)
    """
    return ExternalStream(data_ptr, device)


class DeviceEvent:
    """A place in a stream, of whichever device the stream is: `tandem.Event`.

    Args:
        device: accepted: an event is of the device of the stream in which it is first recorded.
        enable_timing: keep the time, for `elapsed_time`.
        blocking: accepted; whoever waits for an event sleeps in the driver either way.
        interprocess: must be False: events are of this process.

    RuntimeError where there is no GPU.

    >>> import tandem
    >>> if tandem.cuda.is_available():
    ...     begin, end = (tandem.Event(enable_timing=True) for _ in range(2))
    ...     begin.record()
    ...     x = tandem.ones(3, device="cuda").exp()
    ...     end.record()
    ...     end.synchronize()
    ...     milliseconds = begin.elapsed_time(end)
    """

    def __init__(
        self,
        device: Device = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        if not is_available():
            fail_without(type(self).__name__)
        if interprocess:
            raise NotImplementedError("tandem.cuda.Event: events are not shared between processes")
        self._timed = bool(enable_timing)
        # Made when it is first recorded, of the device of that stream.
        self._event: Any = None

    @property
    def device(self) -> _C.device | None:
        """The GPU in whose stream it was recorded; None before."""
        return None if self._event is None else _C.device("cuda", self._event.index)

    def record(self, stream: Stream | None = None) -> None:
        """The event is after what a stream, by default the current one, was given so far."""
        where = current_stream() if stream is None else stream
        if self._event is None:
            self._event = _C._gpu_new_event(where.device_index, self._timed)
        self._event.record(where._stream)

    def wait(self, stream: Stream | None = None) -> None:
        """What a stream, by default the current one, is given from now on is done after the event."""
        where = current_stream() if stream is None else stream
        if self._event is not None:
            self._event.wait_on(where._stream)

    def query(self) -> bool:
        """Was it reached? True for one that was not recorded."""
        return self._event is None or bool(self._event.is_done())

    def synchronize(self) -> None:
        """Wait until it is reached. Errors of work before it are raised here."""
        if self._event is not None:
            self._event.synchronize()

    def elapsed_time(self, end_event: DeviceEvent) -> float:
        """Milliseconds from this event to a later one; both made with `enable_timing`, recorded and reached."""
        if not self._timed or not end_event._timed:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._event is None or end_event._event is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not self.query() or not end_event.query():
            raise RuntimeError(
                "Both events must be completed before calculating elapsed time: synchronize the later one"
            )
        return float(end_event._event.milliseconds_since(self._event))

    def __repr__(self) -> str:
        return f"<tandem.cuda.Event{'' if self._event is None else f' of {self.device}'}>"


class Event(DeviceEvent):
    """A place in a stream of a GPU.

    Args:
        enable_timing: keep the time, for `elapsed_time`.
        blocking, external: accepted; whoever waits for an event sleeps in the driver either way.
        interprocess: must be False: events are of this process.

    RuntimeError where there is no GPU.
    """

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        super().__init__(enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


class StreamContext:
    """A `with` block whose work, on a stream's GPU, goes to the stream; nothing changes for None."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> StreamContext:
        if self.stream is None:
            return self
        if not is_available():
            fail_without("stream")
        if not isinstance(self.stream, Stream):
            raise TypeError(f"tandem.cuda.stream(): expected a Stream, not {type(self.stream).__name__}")
        outer = _C._gpu_set_current(self.stream.device_index)
        self._before.append((outer, _C._gpu_set_stream(self.stream._stream)))
        return self

    def __exit__(self, *exc: object) -> None:
        if self._before:
            index, stream = self._before.pop()
            _C._gpu_set_stream(stream)
            _C._gpu_set_current(index)


def stream(stream: Stream | None) -> StreamContext:
    """A `with` block on a stream: its GPU is the current one meanwhile, and work there goes to the stream."""
    return StreamContext(stream)


def current_stream(device: Device = None) -> Stream:
    """The stream to which this thread's work on a GPU goes."""
    return Stream._of(_C._gpu_current_stream(index_of(device, "current_stream")))


def default_stream(device: Device = None) -> Stream:
    """The stream of a GPU to which work goes where none was chosen."""
    return Stream._of(_C._gpu_default_stream(index_of(device, "default_stream")))


def set_stream(stream: Stream | None) -> None:
    """Choose a stream, and its GPU, for this thread's work from now on; `with tandem.cuda.stream(s)` is better."""
    if stream is None:
        return
    if not is_available():
        fail_without("set_stream")
    _C._gpu_set_current(stream.device_index)
    _C._gpu_set_stream(stream._stream)
