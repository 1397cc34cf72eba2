"""`tandem.multiprocessing`: Python's, whose processes send tensors by value; and `spawn`."""

from __future__ import annotations

import multiprocessing as _python
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

__all__ = [*_python.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn"]


class ProcessContext:
    """Processes started by `spawn`."""

    def __init__(self, processes: list[Any]):
        self.processes = processes

    def pids(self) -> list[int | None]:
        """The processes' ids."""
        return [p.pid for p in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the processes; RuntimeError if one ended with an error. Have all ended?"""
        for p in self.processes:
            p.join(timeout)
        failed = [i for i, p in enumerate(self.processes) if p.exitcode not in (0, None)]
        if failed:
            raise RuntimeError(f"process {failed[0]} terminated with exit code {self.processes[failed[0]].exitcode}")
        return all(p.exitcode is not None for p in self.processes)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes; wait for them, or with `join=False` return what waits."""
    context: Any = _python.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for p in processes:
        p.start()
    started = ProcessContext(processes)
    if not join:
        return started
    started.join()
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
