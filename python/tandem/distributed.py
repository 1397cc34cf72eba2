"""`tandem.distributed`, in a build of one process: enough for programs that ask first."""

from __future__ import annotations


def is_available() -> bool:
    """False: this build computes in one process.

    >>> import tandem
    >>> tandem.distributed.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False: there is no group of processes.

    >>> import tandem
    >>> tandem.distributed.is_available() and tandem.distributed.is_initialized()
    False
    """
    return False


def is_torchelastic_launched() -> bool:
    """False: this build computes in one process.

    >>> import tandem
    >>> tandem.distributed.is_torchelastic_launched()
    False
    """
    return False
