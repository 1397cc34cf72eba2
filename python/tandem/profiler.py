"""`tandem.profiler`: names that code imports. `record_function` marks nothing; the rest raises when it is used."""

from __future__ import annotations

import contextlib
import enum

from tandem import _itt
from tandem._stand_in import lacking_classes, lacking_functions


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


class record_function(contextlib.ContextDecorator):  # noqa: N801
    """A block or function with a name for a profiler; there is none, so that it does nothing.

    >>> import tandem
    >>> with tandem.profiler.record_function("forward"):
    ...     tandem.ones(1)
    tensor([1.])
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was begun."""


def kineto_available() -> bool:
    """False: PyTorch's profiler is not there.

    >>> import tandem
    >>> tandem.profiler.kineto_available()
    False
    """
    return False


itt = _itt

globals().update(lacking_functions(__name__, "schedule tensorboard_trace_handler supported_activities"))
globals().update(lacking_classes(__name__, "profile emit_itt emit_nvtx EventList ExecutionTraceObserver FunctionEvent"))
