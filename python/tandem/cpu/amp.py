"""Older names of `tandem.amp` for the CPU; both warn."""

from __future__ import annotations

from typing import Any

from tandem import _C
from tandem.amp import autocast_mode as _autocast_mode
from tandem.amp import grad_scaler as _grad_scaler
from tandem.cuda.amp import warn_of_older_name

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast_mode.autocast):
    """`tandem.autocast("cpu", ...)`, its older spelling, which warns.

    >>> import tandem, warnings
    >>> with warnings.catch_warnings(record=True):
    ...     with tandem.cpu.amp.autocast():
    ...         (tandem.ones(2, 2) @ tandem.ones(2, 2)).dtype
    tandem.bfloat16
    """

    def __init__(self, enabled: bool = True, dtype: _C.dtype = _C.bfloat16, cache_enabled: bool = True):
        warn_of_older_name("autocast", "cpu")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_grad_scaler.GradScaler):
    """`tandem.amp.GradScaler("cpu", ...)`, its older spelling, which warns.

    >>> import tandem, warnings
    >>> with warnings.catch_warnings(record=True):
    ...     tandem.cpu.amp.GradScaler().get_scale()
    65536.0
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_of_older_name("GradScaler", "cpu")
        super().__init__("cpu", *args, **kwargs)
