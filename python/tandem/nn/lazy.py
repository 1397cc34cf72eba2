"""Lazy modules: layers whose input size is that of the first input they see.

Until then their parameters are uninitialised; then they take their shapes, draw their values, and the module becomes
one of the ordinary class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import tandem
from tandem.nn.common_types import _size_any_t
from tandem.nn.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    PaddingMode,
    _Conv,
    _ConvTranspose,
)
from tandem.nn.linear import Linear
from tandem.nn.module import Module
from tandem.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _ChannelNorm,
)
from tandem.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from tandem.types import Device

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyModuleMixin(Module):
    """Put before a module's class: `initialize_parameters(*args)` is called with the first arguments of a call.

    It should `materialize` the uninitialised parameters (RuntimeError where some remain); afterwards the module is a
    `cls_to_become`, if that is set.

    Example:
        >>> import tandem
        >>> from tandem.nn.lazy import LazyModuleMixin
        >>> class Scale(LazyModuleMixin, tandem.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.weight = tandem.nn.UninitializedParameter()
        ...     def initialize_parameters(self, x):
        ...         self.weight.materialize(x.shape[-1:])
        ...         tandem.nn.init.ones_(self.weight)
        ...     def forward(self, x):
        ...         return x * self.weight
        >>> Scale()(tandem.ones(2, 3)).shape
        tandem.Size([2, 3])
    """

    cls_to_become: ClassVar[type | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._infer_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        self._load_hook = self.register_load_state_dict_pre_hook(_take_shapes)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give every parameter its shape and values, by the arguments of a call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        self._infer_hook.remove()
        self._load_hook.remove()
        del self._infer_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become


def _take_shapes(module: Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Uninitialised tensors take the shapes of what is loaded into them."""
    for name, tensor in (*module._parameters.items(), *module._buffers.items()):
        new = state_dict.get(prefix + name)
        if is_lazy(tensor) and new is not None and not is_lazy(new):
            with tandem.no_grad():
                tensor.materialize(new.shape)


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` with `in_features` from the first input, the size of its last dim; other arguments as there.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.LazyLinear(5)
        >>> layer(tandem.zeros(2, 3)).shape, type(layer).__name__
        (tandem.Size([2, 5]), 'Linear')
    """

    cls_to_become = Linear
    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(
        self, out_features: int, bias: bool = True, device: Device = None, dtype: tandem.dtype | None = None
    ) -> None:
        super().__init__(0, 0, bias=False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw initial values anew, once there are shapes."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: tandem.Tensor) -> None:
        """Take the size of the input's last dim."""
        if self.has_uninitialized_params():
            with tandem.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        elif self.in_features == 0:
            self.in_features = self.weight.shape[-1]


class _LazyConv(LazyModuleMixin, _Conv):
    weight: UninitializedParameter
    bias: UninitializedParameter | None

    def __init__(
        self,
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
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw initial values anew, once there are shapes."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: tandem.Tensor) -> None:
        """Take the input's number of channels."""
        if self.has_uninitialized_params():
            spatial = len(self.kernel_size)
            if input.dim() not in (spatial + 1, spatial + 2):
                raise RuntimeError(
                    f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {type(self).__name__}, "
                    f"but got input of size: {input.shape}"
                )
            self.in_channels = input.shape[-spatial - 1]
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            self._materialize()
        elif self.in_channels == 0:
            self.in_channels = self._channels_of(self.weight)

    def _materialize(self) -> None:
        with tandem.no_grad():
            self.weight.materialize(self._weight_shape())
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def _channels_of(self, weight: tandem.Tensor) -> int:
        return weight.shape[1] * self.groups


class LazyConv1d(_LazyConv, Conv1d):
    """`Conv1d` with `in_channels` from the first input; other arguments as there.

    RuntimeError when first called with another number of dims than 2 or 3.

    Example:
        >>> import tandem
        >>> tandem.nn.LazyConv1d(4, kernel_size=3)(tandem.zeros(1, 2, 5)).shape
        tandem.Size([1, 4, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """`Conv2d` with `in_channels` from the first input; other arguments as there.

    RuntimeError when first called with another number of dims than 3 or 4.

    Example:
        >>> import tandem
        >>> tandem.nn.LazyConv2d(4, kernel_size=3)(tandem.zeros(1, 2, 5, 5)).shape
        tandem.Size([1, 4, 3, 3])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """`Conv3d` with `in_channels` from the first input; other arguments as there.

    Example:
        >>> import tandem
        >>> tandem.nn.LazyConv3d(4, kernel_size=3)(tandem.zeros(1, 2, 5, 5, 5)).shape
        tandem.Size([1, 4, 3, 3, 3])
    """

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConv, _ConvTranspose):
    def __init__(
        self,
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
        # Past `_LazyConv`, whose arguments are in another order.
        super(_LazyConv, self).__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode
        )
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def initialize_parameters(self, input: tandem.Tensor, output_size: Sequence[int] | None = None) -> None:
        """Take the input's number of channels."""
        super().initialize_parameters(input)

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)

    def _channels_of(self, weight: tandem.Tensor) -> int:
        return weight.shape[0]


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """`ConvTranspose1d` with `in_channels` from the first input; other arguments as there.

    Example:
        >>> import tandem
        >>> tandem.nn.LazyConvTranspose1d(4, kernel_size=3)(tandem.zeros(1, 2, 5)).shape
        tandem.Size([1, 4, 7])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """`ConvTranspose2d` with `in_channels` from the first input; other arguments as there.

    Example:
        >>> import tandem
        >>> tandem.nn.LazyConvTranspose2d(4, kernel_size=2, stride=2)(tandem.zeros(1, 2, 3, 3)).shape
        tandem.Size([1, 4, 6, 6])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """`ConvTranspose3d` with `in_channels` from the first input; other arguments as there.

    Example:
        >>> import tandem
        >>> tandem.nn.LazyConvTranspose3d(4, kernel_size=2)(tandem.zeros(1, 2, 3, 3, 3)).shape
        tandem.Size([1, 4, 4, 4, 4])
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin, _ChannelNorm):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tandem.tensor(0, dtype=tandem.int64, device=device)

    def reset_parameters(self) -> None:
        """Set initial values, once there are shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: tandem.Tensor) -> None:
        """Take the input's number of channels."""
        if not self.has_uninitialized_params():
            return
        self.num_features = self._features_of(input)
        for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
            if is_lazy(tensor):
                tensor.materialize((self.num_features,))
        self.reset_parameters()

    def _features_of(self, input: tandem.Tensor) -> int:
        return input.shape[1]


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """`BatchNorm1d` with `num_features` from the first input, its dim 1; other arguments as there.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.LazyBatchNorm1d()
        >>> layer(tandem.randn(4, 3)).shape, layer.num_features
        (tandem.Size([4, 3]), 3)
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """`BatchNorm2d` with `num_features` from the first input, its dim 1; other arguments as there.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.LazyBatchNorm2d()
        >>> layer(tandem.randn(4, 3, 2, 2)).shape, type(layer).__name__
        (tandem.Size([4, 3, 2, 2]), 'BatchNorm2d')
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """`BatchNorm3d` with `num_features` from the first input; other arguments as there.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.LazyBatchNorm3d()
        >>> layer(tandem.randn(4, 3, 2, 2, 2)).shape, layer.num_features
        (tandem.Size([4, 3, 2, 2, 2]), 3)
    """

    cls_to_become = BatchNorm3d


class _LazyInstanceNorm(_LazyNorm):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _features_of(self, input: tandem.Tensor) -> int:
        return input.shape[0 if input.dim() == self._dims[0] else 1]


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """`InstanceNorm1d` with `num_features` from the first input (dim 1, or 0 without batch); other arguments as there.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.LazyInstanceNorm1d()
        >>> layer(tandem.randn(4, 3, 5)).shape, layer.num_features
        (tandem.Size([4, 3, 5]), 3)
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """`InstanceNorm2d` with `num_features` from the first input (dim 1, or 0 without batch); other arguments as there.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.LazyInstanceNorm2d()
        >>> layer(tandem.randn(4, 3, 5, 5)).shape, layer.num_features
        (tandem.Size([4, 3, 5, 5]), 3)
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """`InstanceNorm3d` with `num_features` from the first input (dim 1, or 0 without batch); other arguments as there.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.LazyInstanceNorm3d()
        >>> layer(tandem.randn(4, 3, 2, 2, 2)).shape, layer.num_features
        (tandem.Size([4, 3, 2, 2, 2]), 3)
    """

    cls_to_become = InstanceNorm3d
