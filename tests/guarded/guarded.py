"""The guarded device (guarded_device.cpp), which importing this module loads: what is read on the host by mistake is a
fault, and work that nobody waits for is not done. Kept out of tests/python, whose tests run without other devices."""

from __future__ import annotations

from typing import Any

from operations import generated, map_leaves

import tandem

LIBRARY = generated().parent / "lib" / "libtandem_guarded.so"
KIND = tandem._C._load_devices(str(LIBRARY))
DEVICE = tandem.device(KIND, 0)
OTHER = tandem.device(KIND, 1)


def there(t: tandem.Tensor, device: tandem.device = DEVICE) -> tandem.Tensor:
    """The tensor on the device, with its strides; a leaf that requires a gradient if `t` does."""
    plain = t.detach()
    reach = 1 + sum((n - 1) * s for n, s in zip(plain.shape, plain.stride(), strict=True))
    if plain.numel() == 0:
        moved = plain.to(device)
    else:
        memory = plain.as_strided((reach,), (1,), plain.storage_offset())
        moved = memory.to(device).as_strided(plain.shape, plain.stride())
    return moved.requires_grad_(t.requires_grad)


def all_there(tree: Any, device: tandem.device = DEVICE) -> Any:
    """The same lists, tuples and dicts with their tensors on the device."""
    return map_leaves(tree, tandem.Tensor, lambda t: there(t, device))
