"""Layers that rearrange or resample: pixels, columns, sizes."""

from __future__ import annotations

from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.common_types import _ratio_any_t, _size_any_t
from tandem.nn.module import Module

__all__ = [
    "ChannelShuffle",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class PixelShuffle(Module):
    """[..., C r², H, W] to [..., C, H r, W r] with r = upscale_factor: channels become pixels (Shi et al. 2016).

    RuntimeError unless the number of channels is a multiple of r² and there are 3 dims or more. Any dtype.

    Example:
        >>> import tandem
        >>> tandem.nn.PixelShuffle(2)(tandem.arange(4).reshape(4, 1, 1))
        tensor([[[0, 1],
                 [2, 3]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """[..., C, H r, W r] to [..., C r², H, W] with r = downscale_factor: the inverse of `PixelShuffle`.

    RuntimeError unless height and width are multiples of r and there are 3 dims or more. Any dtype.

    Example:
        >>> import tandem
        >>> tandem.nn.PixelUnshuffle(2)(tandem.arange(4).reshape(1, 2, 2)).flatten()
        tensor([0, 1, 2, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class Unfold(Module):
    """Windows of [N, C, H, W] (N may be missing) as columns: [N, C kh kw, L], L windows in order of rows.

    `kernel_size`, `dilation`, `padding` and `stride` are one number or a pair. RuntimeError where no window fits.

    Example:
        >>> import tandem
        >>> tandem.nn.Unfold(2)(tandem.arange(6.0).reshape(1, 2, 3)).tolist()
        [[0.0, 1.0], [1.0, 2.0], [3.0, 4.0], [4.0, 5.0]]
    """

    def __init__(
        self, kernel_size: _size_any_t, dilation: _size_any_t = 1, padding: _size_any_t = 0, stride: _size_any_t = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Columns [N, C kh kw, L] (N may be missing) added into images [N, C, *output_size]: the transpose of `Unfold`.

    `output_size`, `kernel_size`, `dilation`, `padding` and `stride` are one number or a pair. RuntimeError unless L is
    the number of windows of such an image.

    Example:
        >>> import tandem
        >>> tandem.nn.Fold((2, 2), kernel_size=2)(tandem.ones(1, 4, 1)).tolist()
        [[[[1.0, 1.0], [1.0, 1.0]]]]
    """

    def __init__(
        self,
        output_size: _size_any_t,
        kernel_size: _size_any_t,
        dilation: _size_any_t = 1,
        padding: _size_any_t = 0,
        stride: _size_any_t = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class ChannelShuffle(Module):
    """Channels [N, groups k, ...] reordered as if [groups, k] were transposed (Zhang et al. 2017).

    RuntimeError unless the number of channels is a multiple of `groups`.

    Example:
        >>> import tandem
        >>> tandem.nn.ChannelShuffle(2)(tandem.arange(4).reshape(1, 4, 1, 1)).flatten()
        tensor([0, 2, 1, 3])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Upsample(Module):
    """Resample the spatial dims of [N, C, ...] to `size` or by `scale_factor`.

    Modes, options and errors as of `nn.functional.interpolate`.

    Example:
        >>> import tandem
        >>> tandem.nn.Upsample(scale_factor=2, mode="bilinear")(tandem.zeros(1, 3, 4, 5)).shape
        tandem.Size([1, 3, 8, 10])
    """

    def __init__(
        self,
        size: _size_any_t | None = None,
        scale_factor: _ratio_any_t | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, (tuple, list)):
            scale_factor = tuple(float(f) for f in scale_factor)
        self.scale_factor = float(scale_factor) if isinstance(scale_factor, (int, float)) else scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        size = f"scale_factor={self.scale_factor}" if self.scale_factor is not None else f"size={self.size}"
        return f"{size}, mode='{self.mode}'"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of [N, C, H, W] with mode "nearest".

    Example:
        >>> import tandem
        >>> tandem.nn.UpsamplingNearest2d(scale_factor=2)(tandem.tensor([[[[1.0, 2.0]]]])).tolist()
        [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """

    def __init__(self, size: _size_any_t | None = None, scale_factor: _ratio_any_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of [N, C, H, W] with mode "bilinear" and `align_corners=True`.

    Example:
        >>> import tandem
        >>> tandem.nn.UpsamplingBilinear2d((1, 4))(tandem.tensor([[[[0.0, 3.0]]]]))
        tensor([[[[0., 1., 2., 3.]]]])
    """

    def __init__(self, size: _size_any_t | None = None, scale_factor: _ratio_any_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
