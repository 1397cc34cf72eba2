"""The emulated GPU as a device: importing this module puts the stand-ins in the place of NVIDIA's libraries."""

from __future__ import annotations

from typing import Any

import stand_ins
from operations import map_leaves

import tandem

stand_ins.take_their_place()
DEVICE = tandem.device("cuda", 0)


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
