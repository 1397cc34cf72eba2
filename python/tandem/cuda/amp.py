"""Older names of `tandem.amp` for GPUs; all warn, and without a GPU they do nothing."""

from __future__ import annotations

import functools
import warnings

from tandem import _C
from tandem.amp import autocast_mode as _autocast_mode
from tandem.amp import grad_scaler as _grad_scaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def warn_of_older_name(name: str, device: str) -> None:
    """Say what the class `name` of `tandem.<device>.amp` is called now."""
    warnings.warn(
        f"`{device}.amp.{name}(args...)` is deprecated. Use `amp.{name}('{device}', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(_autocast_mode.autocast):
    """`tandem.autocast("cuda", ...)`, its older spelling: without a GPU it warns and does nothing.

    >>> import tandem, warnings
    >>> with warnings.catch_warnings(record=True):
    ...     with tandem.cuda.amp.autocast():
    ...         tandem.is_autocast_enabled("cpu")
    False
    """

    def __init__(self, enabled: bool = True, dtype: _C.dtype = _C.float16, cache_enabled: bool = True):
        warn_of_older_name("autocast", "cuda")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_grad_scaler.GradScaler):
    """`tandem.amp.GradScaler("cuda", ...)`, its older spelling: without a GPU it warns and is disabled.

    >>> import tandem, warnings
    >>> with warnings.catch_warnings(record=True):
    ...     tandem.cuda.amp.GradScaler().is_enabled()
    False
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_of_older_name("GradScaler", "cuda")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


custom_fwd = functools.partial(_autocast_mode.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_autocast_mode.custom_bwd, device_type="cuda")
