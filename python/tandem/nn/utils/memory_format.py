"""Weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any, TypeVar

from tandem.nn.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from tandem.nn.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lay out the weights of all `Conv2d` and `ConvTranspose2d` of a module anew; its other parameters stay.

    Args:
        module: changed in place, and returned.
        memory_format: a `tandem.memory_format`, such as `tandem.channels_last`.

    >>> import tandem
    >>> model = tandem.nn.Sequential(tandem.nn.Conv2d(8, 4, 3), tandem.nn.Flatten())
    >>> tandem.nn.utils.convert_conv2d_weight_memory_format(model, tandem.channels_last)[0].weight.stride()
    (72, 1, 24, 8)
    """
    return _laid_out(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lay out the weights of all `Conv3d` and `ConvTranspose3d` of a module anew; its other parameters stay.

    Args:
        module: changed in place, and returned.
        memory_format: a `tandem.memory_format`, such as `tandem.channels_last_3d`.

    >>> import tandem
    >>> conv = tandem.nn.Conv3d(2, 4, 3)
    >>> tandem.nn.utils.convert_conv3d_weight_memory_format(conv, tandem.channels_last_3d).weight.stride()
    (54, 1, 18, 6, 2)
    """
    return _laid_out(module, (Conv3d, ConvTranspose3d), memory_format)


def _laid_out(module: M, kinds: tuple[type[Module], ...], memory_format: Any) -> M:
    for part in module.modules():
        if isinstance(part, kinds):
            weight: Any = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module
