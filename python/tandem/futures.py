"""`tandem.futures`: values that another thread brings."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that is set once, by any thread, and what is to be done with it then.

    `devices` is accepted without effect: values of a GPU are ordered by its streams.

    >>> import tandem
    >>> future = tandem.futures.Future()
    >>> more = future.then(lambda f: f.value() + 1)
    >>> future.set_result(2)
    >>> future.wait(), more.wait()
    (2, 3)
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._complete = threading.Event()
        self._lock = threading.Lock()
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._source: Future[Any] | None = None  # the one whose callback sets this one

    def _bring(self, wait: bool) -> None:
        """Sees to it that this one is set where that takes nothing but somebody who asks."""
        if (source := self._source) is not None and not self._complete.is_set():
            source._bring(wait)

    def done(self) -> bool:
        """Was a result or an error set?"""
        self._bring(False)
        return self._complete.is_set()

    def wait(self) -> T:
        """The result, once it is set; or its error, raised."""
        self._bring(True)
        self._complete.wait()
        return self.value()

    def value(self) -> T:
        """The result, or its error, raised; RuntimeError before one is set."""
        if not self.done():
            raise RuntimeError("Future.value(): neither a result nor an error was set yet")
        if self._error is not None:
            raise self._error
        result: T = self._result
        return result

    def set_result(self, result: T) -> None:
        """Set the result; RuntimeError the second time. Callbacks run here."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` and `value` raise; AssertionError for what is none. Callbacks run here."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._complete.is_set():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._result, self._error = result, error
            self._complete.set()
            callbacks, self._callbacks, self._source = self._callbacks, [], None
        for callback in callbacks:
            self._call(callback)

    def _call(self, callback: Callable[[Future[T]], Any]) -> None:
        try:
            callback(self)
        except Exception as error:
            warnings.warn(f"a callback of a Future raised {type(error).__name__}: {error}", stacklevel=3)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback(future)` when there is a result or an error; at once where there is. Its errors are
        warnings."""
        with self._lock:
            if not self._complete.is_set():
                self._callbacks.append(callback)
                return
        self._call(callback)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of `callback(future)`, called when there is a result or an error; RuntimeError there where it
        fails."""
        after: Future[S] = Future()
        after._source = self

        def run(future: Future[T]) -> None:
            try:
                result = callback(future)
            except Exception as error:
                text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                raised = RuntimeError(text)
                raised.__cause__ = error
                after.set_exception(raised)
            else:
                after.set_result(result)

        self.add_done_callback(run)
        return after


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list itself, complete when all of it are; the error of one that failed.

    >>> import tandem
    >>> a, b = tandem.futures.Future(), tandem.futures.Future()
    >>> both = tandem.futures.collect_all([a, b])
    >>> a.set_result(1); b.set_result(2)
    >>> [f.value() for f in both.wait()]
    [1, 2]
    """
    everything: Future[list[Future[Any]]] = Future()
    missing = [len(futures)]
    lock = threading.Lock()

    def complete() -> None:
        error = next((f._error for f in futures if f._error is not None), None)
        if isinstance(error, Exception):
            everything.set_exception(error)
        else:
            everything.set_result(futures)

    def one_more(future: Future[Any]) -> None:
        with lock:
            missing[0] -= 1
            last = missing[0] == 0
        if last:
            complete()

    for future in futures:
        future.add_done_callback(one_more)
    if not futures:
        complete()
    return everything


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all of them, once all are complete; the error of one that failed, raised.

    >>> import tandem
    >>> a = tandem.futures.Future()
    >>> a.set_result(1)
    >>> tandem.futures.wait_all([a])
    [1]
    """
    return [future.wait() for future in collect_all(futures).wait()]
