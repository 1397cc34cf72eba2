"""Anomaly mode: an error in a backward names the line of the forward, and a NaN that a backward gives is an error."""

from __future__ import annotations

import warnings

from tandem import _C

__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_anomaly_enabled",
    "set_detect_anomaly",
]


class set_detect_anomaly:
    """Turns anomaly mode on or off, at once; as a context manager, until the block ends.

    Args:
        mode: on or off.
        check_nan: whether a NaN in a gradient is an error.

    >>> import tandem
    >>> x = tandem.zeros(1, requires_grad=True)
    >>> with tandem.autograd.set_detect_anomaly(True, check_nan=False):
    ...     (0 * x.sqrt()).backward()
    >>> x.grad
    tensor([nan])
    """

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = _C._anomaly()
        _C._set_anomaly(mode, check_nan)

    def __enter__(self) -> set_detect_anomaly:
        return self

    def __exit__(self, *exc: object) -> None:
        _C._set_anomaly(*self._before)


class detect_anomaly:
    """A block in anomaly mode: an error in a backward names the line of the forward, and a NaN it gives is an error.

    Args:
        check_nan: whether a NaN in a gradient is an error (RuntimeError).

    >>> import tandem
    >>> x = tandem.zeros(1, requires_grad=True)
    >>> try:
    ...     with tandem.autograd.detect_anomaly():
    ...         (0 * x.sqrt()).backward()
    ... except RuntimeError as error:
    ...     "nan" in str(error)
    True
    """

    def __init__(self, check_nan: bool = True):
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )
        self._check_nan = check_nan

    def __enter__(self) -> None:
        self._before = _C._anomaly()
        _C._set_anomaly(True, self._check_nan)

    def __exit__(self, *exc: object) -> None:
        _C._set_anomaly(*self._before)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turns anomaly mode on or off, and says whether a NaN in a gradient is an error then.

    >>> import tandem
    >>> tandem.set_anomaly_enabled(True, False)
    >>> tandem.is_anomaly_enabled(), tandem.is_anomaly_check_nan_enabled()
    (True, False)
    >>> tandem.set_anomaly_enabled(False)
    """
    _C._set_anomaly(mode, check_nan)


def is_anomaly_enabled() -> bool:
    """Is anomaly mode on?

    >>> import tandem
    >>> tandem.is_anomaly_enabled()
    False
    """
    return bool(_C._anomaly()[0])


def is_anomaly_check_nan_enabled() -> bool:
    """Is a NaN in a gradient an error in anomaly mode?

    >>> import tandem
    >>> tandem.is_anomaly_check_nan_enabled()
    True
    """
    return bool(_C._anomaly()[1])
