"""Activation layers made of straight pieces: each calls the function of `nn.functional` of the same name.

All work element by element and keep shape and dtype.
"""

from __future__ import annotations

import warnings
from typing import ClassVar

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn._activation import Activation, InplaceActivation
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter
from tandem.types import Device

__all__ = [
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "Softshrink",
    "Threshold",
]


class ReLU(InplaceActivation):
    """max(x, 0).

    `inplace` writes into the input. Takes a tensor of numbers of any shape; NaN stays NaN.

    Example:
        >>> import tandem
        >>> tandem.nn.ReLU()(tandem.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu_(input) if self.inplace else tandem.relu(input)


class LeakyReLU(Activation):
    """x where x > 0, else negative_slope * x (Maas et al. 2013).

    Args:
        negative_slope: the factor for negative x.
        inplace: write into the input.

    Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.LeakyReLU(0.1)(tandem.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000])
    """

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class PReLU(Activation):
    """x where x > 0, else weight * x with a trained weight (He et al. 2015).

    Args:
        num_parameters: 1, or the number of channels (dim 1), each of which then has its own slope.
        init: where the slopes start.

    `weight` is [num_parameters]. Takes a floating tensor of any shape; RuntimeError when called with another number of
    channels.

    Example:
        >>> import tandem
        >>> tandem.nn.PReLU()(tandem.tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]
    """

    _shown = ("num_parameters",)
    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Device = None, dtype: tandem.dtype | None = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(tandem.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All slopes to the initial one."""
        with tandem.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class RReLU(Activation):
    """x where x >= 0, else a * x with a drawn for each element (Xu et al. 2015).

    Args:
        lower, upper: while training a is uniform between them; in evaluation it is their mean. RuntimeError unless
            lower <= upper when called.
        inplace: write into the input.

    Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.RReLU(0.2, 0.4).eval()(tandem.tensor([-1.0, 2.0]))
        tensor([-0.3000,  2.0000])
    """

    _shown = ("lower", "upper")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


def _renamed(old: str, new: str, value: float) -> float:
    warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=3)
    return value


class Hardtanh(Activation):
    """x limited to [min_val, max_val].

    Args:
        min_val, max_val: the limits; AssertionError if `min_val` is the larger.
        inplace: write into the input.
        min_value, max_value: older names of the limits, which warn.

    Takes a tensor of numbers of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Hardtanh()(tandem.tensor([-3.0, 0.5, 2.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """

    _shown: ClassVar[tuple[str, ...]] = ("min_val", "max_val")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            min_val = _renamed("min_value", "min_val", min_value)
        if max_value is not None:
            max_val = _renamed("max_value", "max_val", max_value)
        if min_val > max_val:
            raise AssertionError("max_val must be larger than min_val")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """x limited to [0, 6].

    `inplace` writes into the input. Takes a tensor of numbers of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.ReLU6()(tandem.tensor([-1.0, 2.0, 8.0]))
        tensor([0., 2., 6.])
    """

    _shown = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Hardsigmoid(InplaceActivation):
    """x / 6 + 1 / 2 limited to [0, 1].

    `inplace` writes into the input. Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Hardsigmoid()(tandem.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(InplaceActivation):
    """x * hardsigmoid(x) (Howard et al. 2019).

    `inplace` writes into the input. Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Hardswish()(tandem.tensor([-4.0, 1.0, 5.0]))
        tensor([-0.0000, 0.6667, 5.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(_Shrink):
    """x moved towards 0 by lambd, and 0 where |x| <= lambd.

    `lambd` is not negative (RuntimeError when called). Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Softshrink(0.5)(tandem.tensor([-2.0, 0.25, 1.0]))
        tensor([-1.5000,  0.0000,  0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Hardshrink(_Shrink):
    """x, and 0 where |x| <= lambd.

    Takes a floating tensor of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Hardshrink(0.5)(tandem.tensor([-2.0, 0.25, 1.0]))
        tensor([-2.,  0.,  1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Threshold(Activation):
    """x where x > threshold, else value.

    `inplace` writes into the input. Takes a tensor of numbers of any shape.

    Example:
        >>> import tandem
        >>> tandem.nn.Threshold(1.0, -5.0)(tandem.tensor([0.5, 1.0, 2.0]))
        tensor([-5., -5.,  2.])
    """

    _shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)
