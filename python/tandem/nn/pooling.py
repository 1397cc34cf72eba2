"""Pooling layers: each holds the options of the function of `nn.functional` that it is named after, and calls it.

Sizes are one number for all spatial dims or one for each. A batch dim may be missing everywhere. Windows of size k lie
`stride` apart (k when None) over an input with `padding` elements added on both sides; there are
floor((L + 2 padding - dilation (k - 1) - 1) / stride) + 1 of them along a dim of size L, ceil instead of floor with
`ceil_mode` (windows that would begin beyond the input are left out). RuntimeError where that is less than one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn._module_utils import _single
from tandem.nn.common_types import _maybe_indices_t, _size_any_opt_t, _size_any_t
from tandem.nn.module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _Windows(Module):
    """What layers over windows show in their `repr`."""

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _MaxPool(_Windows):
    def __init__(
        self,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, dilation={self.dilation}, ceil_mode={self.ceil_mode}"


class MaxPool1d(_MaxPool):
    """The largest value of each window of [N, C, L]: [N, C, windows].

    Arguments as of `MaxPool2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.MaxPool1d(2)(tandem.tensor([[1.0, 3.0, 2.0, 4.0]]))
        tensor([[3., 4.]])
    """

    def forward(self, input: Tensor) -> _maybe_indices_t:
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool2d(_MaxPool):
    """The largest value of each window of [N, C, H, W]: [N, C, windows down, windows across].

    Args:
        kernel_size, stride, padding, dilation: of the windows; `stride` is `kernel_size` when None. Padding, at most
            half the kernel (RuntimeError), counts as -inf.
        return_indices: return also where the values were, as flat places among the spatial dims, int64.
        ceil_mode: round the number of windows up.

    Example:
        >>> import tandem
        >>> tandem.nn.MaxPool2d(2)(tandem.zeros(1, 3, 6, 6)).shape
        tandem.Size([1, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> _maybe_indices_t:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool3d(_MaxPool):
    """The largest value of each window of [N, C, D, H, W].

    Arguments as of `MaxPool2d`.

    Example:
        >>> import tandem
        >>> values, places = tandem.nn.MaxPool3d(2, return_indices=True)(tandem.arange(8.0).reshape(1, 2, 2, 2))
        >>> values.tolist(), places.tolist()
        ([[[[7.0]]]], [[[[7]]]])
    """

    def forward(self, input: Tensor) -> _maybe_indices_t:
        return F.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class _MaxUnpool(_Windows):
    _spatial: ClassVar[int] = 2

    def __init__(self, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0) -> None:
        super().__init__()

        def tuple_of(value: _size_any_t) -> tuple[int, ...]:
            return tuple(value) if isinstance(value, (tuple, list)) else (value,) * self._spatial

        self.kernel_size = tuple_of(kernel_size)
        self.stride = tuple_of(kernel_size if stride is None else stride)
        self.padding = tuple_of(padding)


class MaxUnpool1d(_MaxUnpool):
    """Zeros [N, C, L] with the values of a `MaxPool1d` at the places it took them from.

    Arguments and errors as of `MaxUnpool2d`.

    Example:
        >>> import tandem
        >>> values, places = tandem.nn.MaxPool1d(2, return_indices=True)(tandem.tensor([[1.0, 3.0, 4.0, 2.0]]))
        >>> tandem.nn.MaxUnpool1d(2)(values, places)
        tensor([[0., 3., 4., 0.]])
    """

    _spatial = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """Zeros [N, C, H, W] with the values of a `MaxPool2d` at the places it took them from.

    `kernel_size`, `stride` and `padding` are those of the pooling. Called with the values, their places and, where
    several sizes were pooled to the same one, `output_size`: the spatial sizes or all of them (ValueError for a size
    that does not fit, IndexError for a place outside).

    Example:
        >>> import tandem
        >>> x = tandem.tensor([[[1.0, 2.0], [4.0, 3.0]]])
        >>> tandem.nn.MaxUnpool2d(2)(*tandem.nn.MaxPool2d(2, return_indices=True)(x)).tolist()
        [[[0.0, 0.0], [4.0, 0.0]]]
    """

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """Zeros [N, C, D, H, W] with the values of a `MaxPool3d` at the places it took them from.

    Arguments and errors as of `MaxUnpool2d`.

    Example:
        >>> import tandem
        >>> pooled = tandem.nn.MaxPool3d(2, return_indices=True)(tandem.zeros(1, 4, 4, 4))
        >>> tandem.nn.MaxUnpool3d(2)(*pooled).shape
        tandem.Size([1, 4, 4, 4])
    """

    _spatial = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class AvgPool1d(_Windows):
    """The mean of each window of [N, C, L]: [N, C, windows].

    Arguments as of `AvgPool2d`, without `divisor_override`.

    Example:
        >>> import tandem
        >>> tandem.nn.AvgPool1d(2)(tandem.tensor([[1.0, 3.0, 2.0, 4.0]]))
        tensor([[2., 3.]])
    """

    def __init__(
        self,
        kernel_size: int | tuple[int],
        stride: int | tuple[int] | None = None,
        padding: int | tuple[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(kernel_size if stride is None else stride)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPool(_Windows):
    def __init__(
        self,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override


class AvgPool2d(_AvgPool):
    """The mean of each window of [N, C, H, W]: [N, C, windows down, windows across].

    Args:
        kernel_size, stride, padding: of the windows; `stride` is `kernel_size` when None. Padding, at most half the
            kernel (RuntimeError), counts as 0.
        ceil_mode: round the number of windows up.
        count_include_pad: whether padding counts as elements of the mean.
        divisor_override: what sums are divided by, instead of the number of elements; not 0 (RuntimeError).

    Example:
        >>> import tandem
        >>> tandem.nn.AvgPool2d(2)(tandem.arange(8.0).reshape(1, 2, 4))
        tensor([[[2.5000, 4.5000]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool3d(_AvgPool):
    """The mean of each window of [N, C, D, H, W].

    Arguments as of `AvgPool2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.AvgPool3d(2, divisor_override=1)(tandem.ones(1, 2, 2, 2)).tolist()
        [[[[8.0]]]]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class _Adaptive(Module):
    def __init__(self, output_size: _size_any_opt_t) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The means over `output_size` windows that cover [N, C, L]: [N, C, output_size].

    Window i reaches from floor(i L / output_size) to ceil((i + 1) L / output_size).

    Example:
        >>> import tandem
        >>> tandem.nn.AdaptiveAvgPool1d(2)(tandem.tensor([[1.0, 2.0, 6.0]]))
        tensor([[1.5000, 4.0000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """The means over windows that cover [N, C, H, W]: [N, C, *output_size], whatever H and W are.

    `output_size` is one number, or one for each spatial dim, of which None keeps the input's. Windows as of
    `AdaptiveAvgPool1d`.

    Example:
        >>> import tandem
        >>> tandem.nn.AdaptiveAvgPool2d((1, None))(tandem.zeros(2, 3, 5, 7)).shape
        tandem.Size([2, 3, 1, 7])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_Adaptive):
    """The means over windows that cover [N, C, D, H, W]: [N, C, *output_size].

    `output_size` as of `AdaptiveAvgPool2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.AdaptiveAvgPool3d(1)(tandem.ones(2, 3, 4, 5, 6)).shape
        tandem.Size([2, 3, 1, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: _size_any_opt_t, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest values of `output_size` windows that cover [N, C, L]: [N, C, output_size].

    Windows as of `AdaptiveAvgPool1d`; `return_indices` as of `MaxPool2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.AdaptiveMaxPool1d(2)(tandem.tensor([[1.0, 2.0, 6.0]]))
        tensor([[2., 6.]])
    """

    def forward(self, input: Tensor) -> _maybe_indices_t:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest values of windows that cover [N, C, H, W]: [N, C, *output_size].

    `output_size` as of `AdaptiveAvgPool2d`; `return_indices` as of `MaxPool2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.AdaptiveMaxPool2d(1, return_indices=True)(tandem.tensor([[[1.0, 5.0], [2.0, 3.0]]]))
        (tensor([[[5.]]]), tensor([[[1]]]))
    """

    def forward(self, input: Tensor) -> _maybe_indices_t:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """The largest values of windows that cover [N, C, D, H, W]: [N, C, *output_size].

    `output_size` as of `AdaptiveAvgPool2d`; `return_indices` as of `MaxPool2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.AdaptiveMaxPool3d((1, 2, None))(tandem.zeros(1, 3, 4, 4, 5)).shape
        tandem.Size([1, 3, 1, 2, 5])
    """

    def forward(self, input: Tensor) -> _maybe_indices_t:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _LPPool(Module):
    def __init__(
        self, norm_type: float, kernel_size: _size_any_t, stride: _size_any_t | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _pool(self, pool: Callable[..., Tensor], input: Tensor) -> Tensor:
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """(sum of x^norm_type)^(1 / norm_type) over windows of the last dim of [N, C, L] or [C, L].

    `stride` is the kernel's size by default; `ceil_mode` keeps a last window that is not full.

    Example:
        >>> import tandem
        >>> tandem.nn.LPPool1d(2, 2)(tandem.tensor([[3.0, 4.0, 0.0, 1.0]]))
        tensor([[5., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPool):
    """(sum of x^norm_type)^(1 / norm_type) over windows of [N, C, H, W] or [C, H, W]; as `LPPool1d`.

    Example:
        >>> import tandem
        >>> tandem.nn.LPPool2d(2, 2)(tandem.ones(1, 1, 2, 2))
        tensor([[[[2.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool2d, input)


class LPPool3d(_LPPool):
    """(sum of x^norm_type)^(1 / norm_type) over windows of [N, C, D, H, W] or [C, D, H, W]; as `LPPool1d`.

    Example:
        >>> import tandem
        >>> tandem.nn.LPPool3d(1, 2)(tandem.ones(1, 2, 2, 2))
        tensor([[[[8.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool3d, input)


class _FractionalMaxPool(Module):
    def __init__(
        self,
        kernel_size: _size_any_t,
        output_size: _size_any_t | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        ratios = [output_ratio] if isinstance(output_ratio, (int, float)) else output_ratio or []
        if not all(0 < r < 1 for r in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self.kernel_size = kernel_size
        self.output_size = output_size
        self.output_ratio = output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def _pool(self, pool: Callable[..., _maybe_indices_t], input: Tensor) -> _maybe_indices_t:
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows of [N, C, H, W] or [C, H, W] at random places: `output_size` of them, or `output_ratio` times
    the input's sizes.

    Example:
        >>> import tandem
        >>> tandem.nn.FractionalMaxPool2d(2, output_size=(3, 3))(tandem.ones(1, 1, 7, 7)).shape
        tandem.Size([1, 1, 3, 3])
    """

    def forward(self, input: Tensor) -> _maybe_indices_t:
        return self._pool(F.fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima of windows of [N, C, D, H, W] or [C, D, H, W] at random places; as `FractionalMaxPool2d`.

    Example:
        >>> import tandem
        >>> tandem.nn.FractionalMaxPool3d(2, output_ratio=0.5)(tandem.ones(1, 1, 6, 6, 6)).shape
        tandem.Size([1, 1, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> _maybe_indices_t:
        return self._pool(F.fractional_max_pool3d, input)


# PyTorch's names of the base classes, which other libraries use.
_MaxPoolNd, _MaxUnpoolNd, _AvgPoolNd, _LPPoolNd = _MaxPool, _MaxUnpool, _AvgPool, _LPPool
_AdaptiveAvgPoolNd, _AdaptiveMaxPoolNd = _Adaptive, _AdaptiveMax
