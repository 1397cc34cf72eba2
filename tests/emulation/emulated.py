"""The emulated GPU as a device."""

from __future__ import annotations

import devices

import tandem

devices.emulate()
DEVICE = tandem.device("cuda", 0)


def there(t: tandem.Tensor, device: tandem.device = DEVICE) -> tandem.Tensor:
    """The tensor on the device."""
    return devices.there(t, device)
