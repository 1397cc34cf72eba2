"""Padding layers.

`padding` is one number for all sides, or pairs of numbers before and after, the last dim first: (left, right), then
(top, bottom), then (front, back). Negative numbers cut elements off. Leading dims, batch and channels, stay.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.common_types import _size_any_t
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
    _spatial: ClassVar[int] = 2
    _mode: ClassVar[Literal["constant", "reflect", "replicate", "circular"]] = "constant"

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self._spatial) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    def __init__(self, padding: _size_any_t, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pad the last dim with `value`.

    `padding` is (left, right), or one number for all. Takes any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.ConstantPad1d((2, 1), 9.0)(tandem.tensor([[1.0, 2.0, 3.0]]))
        tensor([[9., 9., 1., 2., 3., 9.]])
    """

    _spatial = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad the last two dims with `value`.

    `padding` is (left, right, top, bottom), or one number for all. Takes any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.ConstantPad2d((1, 0, 1, 0), 9.0)(tandem.tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[9.0, 9.0, 9.0], [9.0, 1.0, 2.0], [9.0, 3.0, 4.0]]]
    """


class ConstantPad3d(_ConstantPadNd):
    """Pad the last three dims with `value`.

    `padding` is (left, right, top, bottom, front, back), or one number for all. Takes any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.ConstantPad3d(1, 9.0)(tandem.zeros(1, 2, 3, 4)).shape
        tandem.Size([1, 4, 5, 6])
    """

    _spatial = 3


class ZeroPad1d(_Pad):
    """Pad the last dim with zeros.

    `padding` is (left, right), or one number for all. Takes any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.ZeroPad1d((2, 1))(tandem.tensor([[1.0, 2.0, 3.0]]))
        tensor([[0., 0., 1., 2., 3., 0.]])
    """

    value = 0.0
    _spatial = 1


class ZeroPad2d(_Pad):
    """Pad the last two dims with zeros.

    `padding` is (left, right, top, bottom), or one number for all. Takes any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.ZeroPad2d((1, 0, 1, 0))(tandem.tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[0.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 3.0, 4.0]]]
    """

    value = 0.0


class ZeroPad3d(_Pad):
    """Pad the last three dims with zeros.

    `padding` is (left, right, top, bottom, front, back), or one number for all. Takes any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.ZeroPad3d(1)(tandem.zeros(1, 2, 3, 4)).shape
        tandem.Size([1, 4, 5, 6])
    """

    value = 0.0
    _spatial = 3


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pad the last dim with its mirror image, without the outermost values.

    `padding` is (left, right), or one number for all. Takes [N, C, L] or [C, L]; RuntimeError unless every number
    is less than the size of its dim.

    Example:
        >>> import tandem
        >>> tandem.nn.ReflectionPad1d((2, 1))(tandem.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 2., 1., 2., 3., 2.]])
    """

    _spatial = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pad the last two dims with their mirror image, without the outermost values.

    `padding` is (left, right, top, bottom), or one number for all. Takes [N, C, H, W] or [C, H, W]; RuntimeError
    unless every number is less than the size of its dim.

    Example:
        >>> import tandem
        >>> tandem.nn.ReflectionPad2d((1, 0, 1, 0))(tandem.tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[4.0, 3.0, 4.0], [2.0, 1.0, 2.0], [4.0, 3.0, 4.0]]]
    """


class ReflectionPad3d(_ReflectionPadNd):
    """Pad the last three dims with their mirror image, without the outermost values.

    `padding` is (left, right, top, bottom, front, back), or one number for all. Takes [N, C, D, H, W] or [C, D, H,
    W]; RuntimeError unless every number is less than the size of its dim.

    Example:
        >>> import tandem
        >>> tandem.nn.ReflectionPad3d(1)(tandem.zeros(1, 2, 3, 4)).shape
        tandem.Size([1, 4, 5, 6])
    """

    _spatial = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pad the last dim with its outermost values.

    `padding` is (left, right), or one number for all. Takes [N, C, L] or [C, L].

    Example:
        >>> import tandem
        >>> tandem.nn.ReplicationPad1d((2, 1))(tandem.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 1., 2., 3., 3.]])
    """

    _spatial = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pad the last two dims with their outermost values.

    `padding` is (left, right, top, bottom), or one number for all. Takes [N, C, H, W] or [C, H, W].

    Example:
        >>> import tandem
        >>> tandem.nn.ReplicationPad2d((1, 0, 1, 0))(tandem.tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[1.0, 1.0, 2.0], [1.0, 1.0, 2.0], [3.0, 3.0, 4.0]]]
    """


class ReplicationPad3d(_ReplicationPadNd):
    """Pad the last three dims with their outermost values.

    `padding` is (left, right, top, bottom, front, back), or one number for all. Takes [N, C, D, H, W] or [C, D, H,
    W].

    Example:
        >>> import tandem
        >>> tandem.nn.ReplicationPad3d(1)(tandem.zeros(1, 2, 3, 4)).shape
        tandem.Size([1, 4, 5, 6])
    """

    _spatial = 3


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        dims = self._spatial + 1
        if input.dim() not in (dims, dims + 1):
            raise ValueError(f"expected {dims}D or {dims + 1}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self._mode)


class CircularPad1d(_CircularPadNd):
    """Pad the last dim with its values from the other end.

    `padding` is (left, right), or one number for all. Takes [N, C, L] or [C, L], and gives ValueError for
    others; RuntimeError unless every number is at most the size of its dim.

    Example:
        >>> import tandem
        >>> tandem.nn.CircularPad1d((2, 1))(tandem.tensor([[1.0, 2.0, 3.0]]))
        tensor([[2., 3., 1., 2., 3., 1.]])
    """

    _spatial = 1


class CircularPad2d(_CircularPadNd):
    """Pad the last two dims with their values from the other end.

    `padding` is (left, right, top, bottom), or one number for all. Takes [N, C, H, W] or [C, H, W], and
    gives ValueError for others; RuntimeError unless every number is at most the size of its dim.

    Example:
        >>> import tandem
        >>> tandem.nn.CircularPad2d((1, 0, 1, 0))(tandem.tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[4.0, 3.0, 4.0], [2.0, 1.0, 2.0], [4.0, 3.0, 4.0]]]
    """


class CircularPad3d(_CircularPadNd):
    """Pad the last three dims with their values from the other end.

    `padding` is (left, right, top, bottom, front, back), or one number for all. Takes [N, C, D, H, W] or [C, D, H,
    W], and gives ValueError for others; RuntimeError unless every number is at most the size of its dim.

    Example:
        >>> import tandem
        >>> tandem.nn.CircularPad3d(1)(tandem.zeros(1, 2, 3, 4)).shape
        tandem.Size([1, 4, 5, 6])
    """

    _spatial = 3
