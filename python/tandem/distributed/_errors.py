"""What goes wrong between processes, by PyTorch's names."""

from __future__ import annotations

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Base class of the errors of `tandem.distributed`.

    >>> import tandem
    >>> issubclass(tandem.distributed.DistError, RuntimeError)
    True
    """


class DistBackendError(DistError):
    """An operation failed: a process was lost, did not take part in time, or called another operation.

    >>> import tandem
    >>> issubclass(tandem.distributed.DistBackendError, tandem.distributed.DistError)
    True
    """


class DistNetworkError(DistError):
    """A store could not be reached, or could not listen.

    >>> import tandem
    >>> issubclass(tandem.distributed.DistNetworkError, tandem.distributed.DistError)
    True
    """


class DistStoreError(DistError):
    """A key of a store did not appear in time.

    >>> import tandem
    >>> issubclass(tandem.distributed.DistStoreError, tandem.distributed.DistError)
    True
    """


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty.

    >>> import tandem
    >>> tandem.distributed.HashStore().queue_pop("jobs", block=False)
    Traceback (most recent call last):
    tandem.distributed._errors.QueueEmptyError: the queue 'jobs' is empty
    """
