"""Padding layers."""

from __future__ import annotations

from typing import Any

from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    _spatial = 2
    _mode = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._spatial) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Pad the last dimension with `value`: (left, right), or one number for all."""

    _spatial = 1


class ConstantPad2d(_ConstantPad):
    """Pad the last two dimensions with `value`: (left, right, top, bottom), or one number for all."""


class ConstantPad3d(_ConstantPad):
    """Pad the last three dimensions with `value`: (left, right, top, bottom, front, back), or one for all."""

    _spatial = 3


class ZeroPad1d(_Pad):
    """Pad the last dimension with zeros: (left, right), or one number for all."""

    _spatial = 1


class ZeroPad2d(_Pad):
    """Pad the last two dimensions with zeros: (left, right, top, bottom), or one number for all."""


class ZeroPad3d(_Pad):
    """Pad the last three dimensions with zeros: (left, right, top, bottom, front, back), or one number for all."""

    _spatial = 3


class ReflectionPad1d(_Pad):
    """Pad the last dimension with its mirror image: (left, right), or one number for all."""

    _spatial, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pad the last two dimensions with their mirror image: (left, right, top, bottom), or one number for all."""

    _mode = "reflect"


class ReflectionPad3d(_Pad):
    """Pad the last three dimensions with their mirror image: (left, right, top, bottom, front, back), or one number."""

    _spatial, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pad the last dimension with its outermost values: (left, right), or one number for all."""

    _spatial, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pad the last two dimensions with their outermost values: (left, right, top, bottom), or one for all."""

    _mode = "replicate"


class ReplicationPad3d(_Pad):
    """Pad the last three dimensions with their outermost values.

    `padding` is (left, right, top, bottom, front, back), or one number for all.
    """

    _spatial, _mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Pad the last dimension with its values from the other end: (left, right), or one number for all."""

    _spatial, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """Pad the last two dimensions with their values from the other end: (left, right, top, bottom), or one for all."""

    _mode = "circular"


class CircularPad3d(_Pad):
    """Pad the last three dimensions with their values from the other end.

    `padding` is (left, right, top, bottom, front, back), or one number for all.
    """

    _spatial, _mode = 3, "circular"
