"""`WorkFuture`: an operation of a group as a `Future`.

Whoever waits for it, or for a future made of it by `then`, has the callbacks run in its own thread. Where nobody does,
a thread waits for the operation and runs them. Hooks of `DistributedDataParallel` are called in `waited_for`: the end
of a backward waits for their futures one after another, so that callbacks run in that order on all ranks, and may
begin operations of their own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tandem.futures import Future

if TYPE_CHECKING:
    from tandem.distributed._process_group import Work

_here = threading.local()


@contextlib.contextmanager
def waited_for() -> Iterator[None]:
    """In this block futures are made that somebody will wait for."""
    before, _here.waited_for = getattr(_here, "waited_for", False), True
    try:
        yield
    finally:
        _here.waited_for = before


class WorkFuture(Future[Any]):
    """The future of an operation, whose value is the list of tensors that it filled."""

    def __init__(self, work: Work, outcome: Any) -> None:
        super().__init__()
        self._work = work
        self._outcome = outcome
        self._claim = threading.Lock()  # taken for good by the one that sets it
        self._watched = getattr(_here, "waited_for", False)

    def _bring(self, wait: bool) -> None:
        if not wait and (self._complete.is_set() or not self._work.is_completed()):
            return
        error: BaseException | None = None
        try:
            self._work.wait()
        except Exception as e:
            error = e
        if self._claim.acquire(blocking=False):
            self._finish(None if error else self._outcome, error)

    def add_done_callback(self, callback: Callable[[Future[Any]], None]) -> None:
        super().add_done_callback(callback)
        if not self._watched and not self._complete.is_set():
            self._watched = True
            threading.Thread(target=self._bring, args=(True,), name="tandem-future", daemon=True).start()
