"""Linear layers and layers that only reshape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn import init
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter
from tandem.types import Device

__all__ = ["Bilinear", "Flatten", "Identity", "Linear", "NonDynamicallyQuantizableLinear", "Unflatten"]


class Identity(Module):
    """Returns its input; takes and ignores any arguments.

    Example:
        >>> import tandem
        >>> tandem.nn.Identity(54, unused=True)(tandem.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """x W^T + b: [..., in_features] to [..., out_features].

    `weight` is [out_features, in_features], `bias` [out_features], or None without `bias`; both start uniform within
    1 / sqrt(in_features). RuntimeError when called with another number of features or another dtype.

    Example:
        >>> import tandem
        >>> tandem.nn.Linear(3, 5)(tandem.zeros(2, 3)).shape
        tandem.Size([2, 5])
    """

    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(tandem.empty(out_features, in_features, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tandem.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial values anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` under the name that `MultiheadAttention` shows for its last projection.

    Example:
        >>> import tandem
        >>> tandem.nn.MultiheadAttention(4, 2).out_proj
        NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)
    """


class Bilinear(Module):
    """y[..., o] = x1 A[o] x2 + b[o]: [..., in1_features] and [..., in2_features] to [..., out_features].

    `weight` A is [out_features, in1_features, in2_features]; both parameters start uniform within 1 /
    sqrt(in1_features). ValueError unless `in1_features` is positive, RuntimeError when called with other numbers of
    features.

    Example:
        >>> import tandem
        >>> tandem.nn.Bilinear(2, 3, 4)(tandem.ones(5, 2), tandem.ones(5, 3)).shape
        tandem.Size([5, 4])
    """

    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(tandem.empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tandem.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial values anew."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Flatten(Module):
    """Merge the dims from `start_dim` to `end_dim`, both included, into one: [N, C, H, W] to [N, C H W] by default.

    IndexError for a dim that there is not. A view where strides allow.

    Example:
        >>> import tandem
        >>> tandem.nn.Flatten()(tandem.zeros(2, 3, 4)).shape
        tandem.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split the dim `dim` into `unflattened_size`, of which one entry may be -1: the inverse of `Flatten`.

    TypeError for sizes that are not integers, RuntimeError when called for sizes whose product is not the dim's.

    Example:
        >>> import tandem
        >>> tandem.nn.Unflatten(1, (3, -1))(tandem.zeros(2, 12)).shape
        tandem.Size([2, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: int | Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("unflattened_size must be given with an int dim")
        sizes = (unflattened_size,) if isinstance(unflattened_size, int) else tuple(unflattened_size)
        for i, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )
        self.dim = dim
        self.unflattened_size = sizes

    def forward(self, input: Tensor) -> Tensor:
        at = self.dim % input.dim() if input.dim() else 0
        shape = list(input.shape)
        return input.reshape([*shape[:at], *self._sizes(shape[at]), *shape[at + 1 :]])

    def _sizes(self, total: int) -> list[int]:
        known = math.prod(size for size in self.unflattened_size if size != -1)
        sizes = [total // known if size == -1 and known else size for size in self.unflattened_size]
        if math.prod(sizes) != total:
            raise RuntimeError(
                f"unflatten: Provided sizes {list(self.unflattened_size)} don't multiply up to the size of dim "
                f"{self.dim} ({total}) in the input tensor"
            )
        return sizes

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
