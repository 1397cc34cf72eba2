"""`tandem.profiler`: when the operations of a program ran, and for how long."""

from __future__ import annotations

import contextlib
import contextvars
import enum
import json
import os
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tandem import _C, _itt
from tandem._profiler_events import EventList, FunctionEvent, write_trace
from tandem._stand_in import lacking_classes
from tandem.overrides import TorchFunctionMode


class ProfilerActivity(enum.Enum):
    """What PyTorch's profiler can watch.

    >>> import tandem
    >>> tandem.profiler.ProfilerActivity.CPU.name
    'CPU'
    """

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a schedule of PyTorch's profiler says of a step.

    >>> import tandem
    >>> tandem.profiler.ProfilerAction.NONE.value
    0
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


# What reads a tensor and computes nothing.
_READS = frozenset("__get__ __set__ __delete__ dim size numel stride storage_offset is_contiguous __len__".split())
_NEAR = os.path.dirname(__file__)


class _Trace:
    """The events of one thread, from `start` to `stop`."""

    def __init__(self, shapes: bool, stacks: bool) -> None:
        self.events: list[FunctionEvent] = []
        self.shapes, self.stacks = shapes, stacks
        self._open: list[FunctionEvent] = []

    def begin(self, name: str, args: Iterable[Any] = (), *, user: bool = False) -> FunctionEvent:
        parent = self._open[-1] if self._open else None
        event = FunctionEvent(len(self.events), name, parent, threading.get_native_id(), user)
        if self.shapes:
            event.input_shapes = [list(x.shape) if isinstance(x, _C.Tensor) else [] for x in args]
        if self.stacks:
            event.stack = _stack()
        self.events.append(event)
        self._open.append(event)
        event.time_range.start = event.time_range.end = time.perf_counter_ns() / 1e3
        return event

    def end(self, event: FunctionEvent) -> None:
        now = time.perf_counter_ns() / 1e3
        if event in self._open:
            for inner in self._open[self._open.index(event) :]:
                inner.time_range.end = now
            del self._open[self._open.index(event) :]

    def finish(self) -> None:
        if self._open:
            self.end(self._open[0])


def _stack() -> list[str]:
    """Where the program stands, the innermost function first, without this package's."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_NEAR):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return found


class _Mode(TorchFunctionMode):
    def __init__(self, trace: _Trace) -> None:
        self.trace = trace

    def __exit__(self, *exc: object) -> None:
        """Ends the mode, whatever others began since."""
        above = []
        while (mode := _C._pop_mode()) is not self:
            above.append(mode)
        for mode in reversed(above):
            _C._push_mode(mode)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__
        if name in _READS:
            return func(*args, **(kwargs or {}))
        event = self.trace.begin(f"aten::{name}", args)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.trace.end(event)


_running: contextvars.ContextVar[tuple[_Trace, ...]] = contextvars.ContextVar("profiler_traces", default=())


class record_function(contextlib.ContextDecorator):  # noqa: N801
    """A block or function with a name of its own among the events of a profiler.

    >>> import tandem
    >>> with tandem.profiler.profile() as prof:
    ...     with tandem.profiler.record_function("forward"):
    ...         x = tandem.ones(1) * 2
    >>> [event.key for event in prof.events()]
    ['forward', 'aten::ones', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self._events: list[tuple[_Trace, FunctionEvent]] = []

    def __enter__(self) -> record_function:
        for trace in _running.get():
            self._events.append((trace, trace.begin(self.name, user=True)))
        return self

    def __exit__(self, *exc: object) -> None:
        for trace, event in self._events:
            trace.end(event)
        self._events = []


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What a profiler does at each step: nothing for `skip_first` steps, then `wait` steps nothing, `warmup` steps
    that are not kept and `active` ones that are, over and over or `repeat` times. With `skip_first_wait` other than 0
    the first round waits for nothing.

    >>> import tandem
    >>> plan = tandem.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        round_, at = divmod(step, wait + warmup + active)
        if (repeat > 0 and round_ >= repeat) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < wait + warmup + active - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def supported_activities() -> set[ProfilerActivity]:
    """What is watched: what this process does. Kernels of GPUs are not.

    >>> import tandem
    >>> tandem.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """For `on_trace_ready`: writes each trace to a file of its own in a folder, which is made if it is not there."""

    def write(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        end = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{end}"))

    return write


def _watch_steps(trace: _Trace) -> Sequence[Any]:
    """Has steps of optimizers be events, each of one; what ends that."""
    from tandem.optim import optimizer as optimizers

    thread, begun = threading.get_native_id(), []

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if threading.get_native_id() == thread:
            name = type(optimizer).__name__
            begun.append(trace.begin(f"Optimizer.step#{name}.step", user=True))

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if threading.get_native_id() == thread and begun:
            trace.end(begun.pop())

    first = optimizers.register_optimizer_step_pre_hook(before)
    return first, optimizers.register_optimizer_step_post_hook(after)


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:  # noqa: N801
    """A block whose operations are recorded: what each call of this thread was, when it began and how long it took.

    A backward is one event. Compiled functions run their bodies meanwhile, so that their operations are seen one by
    one. Times are those of the calls, also where a GPU goes on after them; `activities`, `profile_memory`, `with_flops`
    and `with_modules` change nothing.

    Args:
        schedule: what to do at each step (`schedule`), which `step()` ends; without one everything is recorded.
        on_trace_ready: called with the profiler when a round of the schedule, or the block, is recorded.
        record_shapes: keep the shapes of the arguments.
        with_stack: keep the lines of the program that led to each operation.
        acc_events: keep the events of all rounds, not of the last one alone.
        enabled: is anything recorded?

    >>> import tandem
    >>> with tandem.profiler.profile(record_shapes=True) as prof:
    ...     x = tandem.ones(2, 3) @ tandem.ones(3, 2)
    >>> [(event.key, event.count) for event in prof.key_averages()]
    [('aten::ones', 2), ('aten::matmul', 1)]
    >>> prof.events()[-1].input_shapes
    [[2, 3], [3, 2]]
    >>> "CPU time avg" in prof.key_averages().table(sort_by="cpu_time_total", row_limit=5)
    True
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
        **options: Any,
    ):
        if activities is not None and not set(activities):
            raise AssertionError("No valid profiler activities found")
        self.acc_events = acc_events
        self.enabled, self.record_shapes, self.with_stack = enabled, record_shapes, with_stack
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        #: The number of the step that runs.
        self.step_num = 0
        #: What is done with it.
        self.current_action = schedule(0) if schedule is not None else ProfilerAction.RECORD
        self._metadata: dict[str, Any] = {}
        self._mode: _Mode | None = None
        self._last: EventList | None = None
        self._step: record_function | None = None
        self._handles: Sequence[Any] = ()

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begins, as the block does."""
        if self.enabled:
            self._go_to(self.current_action)
            self._begin_step()

    def stop(self) -> None:
        """Ends, as the block does."""
        self._end_step()
        self._go_to(None)

    def step(self) -> None:
        """The next step of the program begins."""
        self._end_step()
        self.step_num += 1
        if self.schedule is not None:
            after = self.schedule(self.step_num)
            if self.enabled:
                self._go_to(after)
            self.current_action = after
        self._begin_step()

    def _begin_step(self) -> None:
        if self.schedule is not None and self._mode is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _go_to(self, action: ProfilerAction | None) -> None:
        """Recording begins or ends where the action of the next step asks for it."""
        if self._mode is not None and (
            action not in _RECORDS or (self.schedule and self.current_action is ProfilerAction.RECORD_AND_SAVE)
        ):
            if action in (ProfilerAction.NONE, ProfilerAction.WARMUP) and self.current_action is ProfilerAction.RECORD:
                warnings.warn(f"Incorrect schedule: RECORD followed by {action.name}", stacklevel=3)
            trace = self._mode.trace
            for handle in self._handles:
                handle.remove()
            self._mode.__exit__()
            self._mode = None
            trace.finish()
            _running.set(tuple(t for t in _running.get() if t is not trace))
            before = self._last if self.acc_events and self._last is not None else ()
            self._last = EventList([*before, *trace.events])
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if self._mode is None and action in _RECORDS:
            self._mode = _Mode(_Trace(self.record_shapes, self.with_stack))
            _running.set((*_running.get(), self._mode.trace))
            self._handles = _watch_steps(self._mode.trace)
            self._mode.__enter__()

    def events(self) -> EventList:
        """What was recorded; AssertionError before anything was."""
        if self._last is None:
            raise AssertionError("Profiler is not initialized: nothing was recorded")
        return self._last

    @property
    def profiler(self) -> profile:
        """The same object, which in PyTorch is one of `autograd.profiler`."""
        return self

    @property
    def function_events(self) -> EventList:
        """The same."""
        return self.events()

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **options: Any) -> EventList:
        """Sums of the events of each name, and of each shape of the inputs, if asked."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> Any:
        """The sum of all events."""
        return self.events().total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as text; see `EventList.table`."""
        return self.events().table(*args, **kwargs)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in microseconds."""
        return self.events().self_cpu_time_total

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events to a file that chrome://tracing and Perfetto read, compressed where it ends in .gz."""
        write_trace(self.events(), path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes times by the lines of the program, for flame graphs."""
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """A text to be written to traces."""
        self._metadata[key] = value

    preset_metadata = add_metadata

    def add_metadata_json(self, key: str, value: str) -> None:
        """What a text in JSON says, to be written to traces."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Leaves everything as it is: all that is watched is what this thread does."""


def kineto_available() -> bool:
    """False: PyTorch's own library for that is not there.

    >>> import tandem
    >>> tandem.profiler.kineto_available()
    False
    """
    return False


itt = _itt

globals().update(lacking_classes(__name__, "emit_itt emit_nvtx ExecutionTraceObserver"))
