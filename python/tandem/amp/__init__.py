"""Mixed precision: `autocast` runs products in a low precision, `GradScaler` keeps small gradients from vanishing."""

from __future__ import annotations

from tandem.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from tandem.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
