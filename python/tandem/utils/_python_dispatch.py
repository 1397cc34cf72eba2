"""Modes below autograd: there are none. `tandem.overrides.TorchFunctionMode` sees each operation as it is called."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode:
    """Not to be entered: operations are not handed to Python below autograd.

    >>> import tandem
    >>> from tandem.utils._python_dispatch import TorchDispatchMode
    >>> with TorchDispatchMode():
    ...     pass
    Traceback (most recent call last):
    NotImplementedError: TorchDispatchMode: use tandem.overrides.TorchFunctionMode, which is asked about each operation
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        """Nothing to set up."""

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(
            "TorchDispatchMode: use tandem.overrides.TorchFunctionMode, which is asked about each operation"
        )

    def __exit__(self, *exc: object) -> None:
        """Never reached."""


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Is it a tensor made of other tensors? No class of tensors here is.

    >>> import tandem
    >>> tandem.utils._python_dispatch.is_traceable_wrapper_subclass(tandem.ones(1))
    False
    """
    return False


def _get_current_dispatch_mode() -> None:
    return None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    return []


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    yield []
