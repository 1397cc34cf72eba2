"""`tandem.multiprocessing`: Python's, whose processes send tensors by value; and `spawn`."""

from __future__ import annotations

import contextlib
import multiprocessing as _python
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import connection as _connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from tandem._C import Tensor
from tandem.nn import Parameter

__all__ = [
    *_python.__all__,
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
]


def _sent(tensor: Tensor) -> Any:
    """What another process makes the tensor of; RuntimeError for one that is computed from others."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    return tensor.__reduce_ex__(4)


for _cls in (Tensor, Parameter):
    ForkingPickler.register(_cls, _sent)

_GRACE = 5.0  # seconds for processes to end by themselves once they are asked to


class ProcessException(Exception):
    """A process started by `spawn` has failed: number `error_index`, with the id `error_pid`."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid


class ProcessRaisedException(ProcessException):
    """A process ended with an exception, whose traceback is the message."""


class ProcessExitedException(ProcessException):
    """A process ended with a status or by a signal."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], failures: Any) -> None:
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent ends its processes
    except Exception:
        failures.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes started by `spawn`."""

    def __init__(self, processes: list[Any], failures: list[Any]):
        self.processes = processes
        self._failures = failures

    def pids(self) -> list[int | None]:
        """The processes' ids."""
        return [p.pid for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all processes have ended, or one has failed, or the timeout is over. Have all ended?

        When one fails the others are ended, asked first and `grace_period` seconds later (5 if None) killed, and
        ProcessRaisedException or ProcessExitedException says which one it was, and why.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            codes = [p.exitcode for p in self.processes]
            # One that was killed comes first: those that ended by themselves may have failed because it did.
            failed = sorted((i for i, code in enumerate(codes) if code), key=lambda i: codes[i] > 0)
            if failed:
                self._end(_GRACE if grace_period is None else grace_period)
                raise self._why(failed[0], codes[failed[0]])
            if None not in codes:
                return True
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            _connection.wait([p.sentinel for p, code in zip(self.processes, codes) if code is None], left)

    def _end(self, grace: float) -> None:
        for p in self.processes:
            with contextlib.suppress(ProcessLookupError):
                p.terminate()
        deadline = time.monotonic() + grace
        for p in self.processes:
            p.join(max(0.0, deadline - time.monotonic()))
            if p.exitcode is None:
                p.kill()
                p.join()

    def _why(self, i: int, code: int) -> ProcessException:
        p, failures = self.processes[i], self._failures[i]
        if code < 0:
            name = signal.Signals(-code).name
            return ProcessExitedException(f"process {i} terminated with signal {name}", i, p.pid, code, name)
        if failures.empty():
            return ProcessExitedException(f"process {i} terminated with exit code {code}", i, p.pid, code)
        return ProcessRaisedException(
            f"\n\n-- Process {i} terminated with the following error:\n{failures.get()}", i, p.pid
        )


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes; wait for them, or with `join=False` return what waits.

    When one fails the others are ended, and an error says which one it was: see `ProcessContext.join`.
    """
    context: Any = _python.get_context(start_method)
    failures = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [context.Process(target=_run, args=(fn, i, args, failures[i]), daemon=daemon) for i in range(nprocs)]
    for p in processes:
        p.start()
    started = ProcessContext(processes, failures)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` new processes; see `start_processes`."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def get_sharing_strategy() -> str:
    """How tensors go to other processes: by value."""
    return "value"


def get_all_sharing_strategies() -> set[str]:
    """The one way in which tensors go to other processes."""
    return {"value"}


def set_sharing_strategy(new_strategy: str) -> None:
    """Does nothing: tensors go to other processes by value."""
