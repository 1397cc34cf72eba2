"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, TypeAlias, cast, get_args

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn import init
from tandem.nn.common_types import _size_any_t
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter
from tandem.types import Device

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

PaddingMode: TypeAlias = Literal["zeros", "reflect", "replicate", "circular"]
_PADDING_MODES = get_args(PaddingMode)


def _tuple_of(value: _size_any_t, count: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


class _Conv(Module):
    """What convolutions of any number of dimensions share."""

    _spatial: ClassVar[int] = 0
    transposed: ClassVar[bool] = False
    weight: Parameter
    bias: Parameter | None
    padding: str | tuple[int, ...]
    output_padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_any_t,
        stride: _size_any_t = 1,
        padding: _size_any_t | Literal["same", "valid"] = 0,
        dilation: _size_any_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {list(_PADDING_MODES)}, but got padding_mode='{padding_mode}'"
            )
        n = self._spatial
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _tuple_of(kernel_size, n)
        self.stride = _tuple_of(stride, n)
        self.dilation = _tuple_of(dilation, n)
        self.output_padding = (0,) * n  # which those that are transposed have
        self.padding = padding if isinstance(padding, str) else _tuple_of(padding, n)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string '{padding}', should be one of 'valid', 'same'")
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._edges()
        outer, inner = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (outer, inner // groups, *self.kernel_size)
        self.weight = Parameter(tandem.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tandem.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial values anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _edges(self) -> list[int]:
        """Padding as `F.pad` takes it: before and after, last dimension first."""
        if isinstance(self.padding, tuple):
            return [p for p in reversed(self.padding) for _ in range(2)]
        if self.padding == "valid":
            return [0, 0] * self._spatial
        # A dilation of one element is that of all dims.
        dilation = self.dilation * self._spatial if len(self.dilation) == 1 else self.dilation
        totals = [d * (k - 1) for d, k in zip(dilation, self.kernel_size, strict=True)]
        return [part for total in reversed(totals) for part in (total // 2, total - total // 2)]

    def _convolve(self, conv: Callable[..., Tensor], input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            edges = self._reversed_padding_repeated_twice
            input, padding = F.pad(input, edges, mode=self.padding_mode), 0  # type: ignore[assignment]
        return conv(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    # By PyTorch's name: subclasses of users convolve by it with weights of theirs, and put another in its place.
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: _conv_forward is what subclasses say")

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self._spatial:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._spatial:
            text += f", dilation={self.dilation}"
        if any(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class Conv1d(_Conv):
    """Convolution of [N, in_channels, L] or [in_channels, L]; arguments and errors as of `Conv2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.Conv1d(2, 4, 3)(tandem.zeros(1, 2, 10)).shape
        tandem.Size([1, 4, 8])
    """

    _spatial = 1

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._convolve(F.conv1d, input, weight, bias)


class Conv2d(_Conv):
    """Convolution (a sum of products, the kernel not reversed) of [N, in_channels, H, W] or [in_channels, H, W].

    Args:
        kernel_size, stride, dilation: one number or a pair.
        padding: a number, a pair, "valid" (none) or "same" (the result has the input's size; stride 1 only,
            ValueError).
        groups: each of so many parts of the channels is convolved by itself; both numbers of channels are multiples of
            it (ValueError).
        padding_mode: "zeros", "reflect", "replicate" or "circular" (ValueError for others).

    `weight` is [out_channels, in_channels / groups, kH, kW], `bias` [out_channels]; both start uniform within
    1 / sqrt(fan_in). A spatial size L becomes (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1.

    Example:
        >>> import tandem
        >>> tandem.nn.Conv2d(3, 8, 3, padding="same")(tandem.zeros(1, 3, 6, 6)).shape
        tandem.Size([1, 8, 6, 6])
    """

    _spatial = 2

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._convolve(F.conv2d, input, weight, bias)


class Conv3d(_Conv):
    """Convolution of [N, in_channels, D, H, W] or [in_channels, D, H, W]; arguments and errors as of `Conv2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.Conv3d(2, 4, (1, 3, 3), padding=(0, 1, 1))(tandem.zeros(1, 2, 5, 6, 6)).shape
        tandem.Size([1, 4, 5, 6, 6])
    """

    _spatial = 3

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._convolve(F.conv3d, input, weight, bias)


_ConvNd = _Conv  # PyTorch's name, which other libraries use


class _ConvTranspose(_Conv):
    """What transposed convolutions share: the size of the result is chosen by `output_padding` or `output_size`."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_any_t,
        stride: _size_any_t = 1,
        padding: _size_any_t = 0,
        output_padding: _size_any_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_any_t = 1,
        padding_mode: PaddingMode = "zeros",
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )
        self.output_padding = _tuple_of(output_padding, self._spatial)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What `output_size` (the spatial sizes, or all of them) asks for beyond the smallest result."""
        if output_size is None:
            return self.output_padding
        n = self._spatial
        wanted = list(output_size)
        if len(wanted) == input.dim():
            wanted = wanted[-n:]
        if len(wanted) != n:
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {n} or {input.dim()} elements "
                f"(got {len(wanted)})"
            )
        extra = []
        padding = cast(tuple[int, ...], self.padding)
        for i, (size, want) in enumerate(zip(input.shape[-n:], wanted, strict=True)):
            least = (size - 1) * self.stride[i] - 2 * padding[i] + self.dilation[i] * (self.kernel_size[i] - 1) + 1
            if not least <= want <= least + self.stride[i] - 1:
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes of dimension {i} range from {least} to "
                    f"{least + self.stride[i] - 1} (for an input of {list(input.shape[-n:])})"
                )
            extra.append(want - least)
        return tuple(extra)

    def _transpose(self, conv: Callable[..., Tensor], input: Tensor, output_size: Sequence[int] | None) -> Tensor:
        return conv(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of [N, in_channels, L] or [in_channels, L]; arguments and errors as of `ConvTranspose2d`.

    The result's length is (L - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1.

    Example:
        >>> import tandem
        >>> tandem.nn.ConvTranspose1d(2, 4, 3, stride=2)(tandem.zeros(1, 2, 5)).shape
        tandem.Size([1, 4, 11])
    """

    _spatial = 1

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._transpose(F.conv_transpose1d, input, output_size)


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of [N, in_channels, H, W] or [in_channels, H, W]: the gradient of a convolution.

    Args:
        kernel_size, stride, padding, dilation, groups, bias: as of the `Conv2d` whose gradient it is.
        output_padding: with a stride several sizes of the result fit; by how much it is more than the least one.
            `output_size` when called, spatial sizes or all, says it directly (ValueError for one that does not fit).

    `weight` is [in_channels, out_channels / groups, kH, kW]. ValueError for any `padding_mode` but "zeros".

    Example:
        >>> import tandem
        >>> up = tandem.nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
        >>> up(tandem.zeros(1, 4, 5, 5)).shape, up(tandem.zeros(1, 4, 5, 5), output_size=(10, 10)).shape
        (tandem.Size([1, 2, 9, 9]), tandem.Size([1, 2, 10, 10]))
    """

    _spatial = 2

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._transpose(F.conv_transpose2d, input, output_size)


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of [N, in_channels, D, H, W] or [in_channels, D, H, W].

    Arguments and errors as of `ConvTranspose2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.ConvTranspose3d(2, 4, 2, stride=2)(tandem.zeros(1, 2, 3, 3, 3)).shape
        tandem.Size([1, 4, 6, 6, 6])
    """

    _spatial = 3

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._transpose(F.conv_transpose3d, input, output_size)


_ConvTransposeNd = _ConvTranspose  # PyTorch's name
