"""`tandem.nn.init`: fill tensors in place with initial values, without recording for differentiation.

Each function returns the tensor, which is floating. Random numbers come from `generator`, or from the default one: one
draw an element, in order. The fans of a weight [out, in, *kernel] are in * prod(kernel) and out * prod(kernel).
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Literal, ParamSpec, TypeAlias

import tandem
from tandem import Generator, Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_P = ParamSpec("_P")

Nonlinearity: TypeAlias = Literal[
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
    "tanh",
    "relu",
    "leaky_relu",
    "selu",
]
_UNIT_GAIN = {
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
}


def _ungraded(fill: Callable[_P, Tensor]) -> Callable[_P, Tensor]:
    """Run `fill` without recording."""

    @functools.wraps(fill)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> Tensor:
        with tandem.no_grad():
            return fill(*args, **kwargs)

    return run


def _draw_uniform(tensor: Tensor, low: float, high: float, generator: Generator | None) -> Tensor:
    return tensor.uniform_(low, high) if generator is None else tensor.uniform_(low, high, generator=generator)


def _draw_normal(tensor: Tensor, mean: float, std: float, generator: Generator | None) -> Tensor:
    return tensor.normal_(mean, std) if generator is None else tensor.normal_(mean, std, generator=generator)


def calculate_gain(nonlinearity: Nonlinearity, param: float | None = None) -> float:
    """The factor by which initial values make up for a nonlinearity.

    1 for "linear", "conv*d", "conv_transpose*d" and "sigmoid", 5/3 for "tanh", sqrt(2) for "relu", 3/4 for "selu" and
    sqrt(2 / (1 + param²)) for "leaky_relu" of slope `param` (0.01 when None). ValueError for any other.

    Example:
        >>> import tandem
        >>> round(tandem.nn.init.calculate_gain("relu"), 3)
        1.414
    """
    if nonlinearity in _UNIT_GAIN:
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@_ungraded
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with uniform numbers from [a, b); RuntimeError where a > b.

    Example:
        >>> import tandem
        >>> t = tandem.nn.init.uniform_(tandem.empty(100), 2.0, 3.0)
        >>> bool(((t >= 2) & (t < 3)).all())
        True
    """
    return _draw_uniform(tensor, a, b, generator)


@_ungraded
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers of mean `mean` and standard deviation `std`, not negative (RuntimeError).

    Example:
        >>> import tandem
        >>> t = tandem.nn.init.normal_(tandem.empty(10000), std=0.1)
        >>> round(t.std().item(), 2)
        0.1
    """
    return _draw_normal(tensor, mean, std, generator)


@_ungraded
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers, of which only those within [a, b] are wanted.

    One uniform number an element goes through the inverse of the distribution function: no value is drawn twice. A
    warning says where the mean is more than two standard deviations outside [a, b].

    Example:
        >>> import tandem
        >>> t = tandem.nn.init.trunc_normal_(tandem.empty(1000), std=2.0, a=-1.0, b=1.0)
        >>> bool((t.abs() <= 1).all())
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )

    def below(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    low, high = below((a - mean) / std), below((b - mean) / std)
    _draw_uniform(tensor, 2 * low - 1, 2 * high - 1, generator)
    values = _inverse_erf(tensor.to(tandem.float64)) * (std * math.sqrt(2.0)) + mean
    return tensor.copy_(values.clamp(a, b))


def _inverse_erf(y: Tensor) -> Tensor:
    """The inverse of erf on (-1, 1): Winitzki's approximation (0.2 %) and three steps of Newton's method."""
    inner = 1.0 - 1e-16
    y = y.clamp(-inner, inner)
    log_term = tandem.log1p(-y * y)
    half = log_term / 2 + 2 / (math.pi * 0.147)
    size = tandem.sqrt(tandem.sqrt(half * half - log_term / 0.147) - half)
    x = tandem.where(y < 0, -size, size)
    for _ in range(3):
        x = x - (tandem.erf(x) - y) * tandem.exp(x * x) * (math.sqrt(math.pi) / 2)
    return x


@_ungraded
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with `val`.

    Example:
        >>> import tandem
        >>> tandem.nn.init.constant_(tandem.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


@_ungraded
def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1.

    Example:
        >>> import tandem
        >>> tandem.nn.init.ones_(tandem.empty(2))
        tensor([1., 1.])
    """
    return tensor.fill_(1.0)


@_ungraded
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0.

    Example:
        >>> import tandem
        >>> tandem.nn.init.zeros_(tandem.empty(2))
        tensor([0., 0.])
    """
    return tensor.zero_()


@_ungraded
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity; ValueError for another number of dims.

    Example:
        >>> import tandem
        >>> tandem.nn.init.eye_(tandem.empty(2, 3)).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows = tandem.arange(tensor.shape[0], device=tensor.device).reshape(-1, 1)
    return tensor.copy_(rows == tandem.arange(tensor.shape[1], device=tensor.device))


@_ungraded
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight [out, in / groups, *kernel] so that it passes its input channels through.

    Takes 3, 4 or 5 dims, out a multiple of `groups` (ValueError).

    Example:
        >>> import tandem
        >>> tandem.nn.init.dirac_(tandem.empty(2, 2, 3)).tolist()
        [[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    outs = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(outs, tensor.shape[1])):
            tensor[(group * outs + channel, channel, *centre)] = 1.0
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs reach one output, and how many outputs one input reaches."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


@_ungraded
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform numbers of variance gain² * 2 / (fan_in + fan_out) (Glorot and Bengio 2010).

    Takes 2 or more dims (ValueError); `gain` from `calculate_gain`.

    Example:
        >>> import tandem
        >>> t = tandem.nn.init.xavier_uniform_(tandem.empty(2, 4))
        >>> bool((t.abs() <= 1).all())
        True
    """
    bound = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))) * math.sqrt(3.0)
    return _draw_uniform(tensor, -bound, bound, generator)


@_ungraded
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers of variance gain² * 2 / (fan_in + fan_out) (Glorot and Bengio 2010).

    Takes 2 or more dims (ValueError); `gain` from `calculate_gain`.

    Example:
        >>> import tandem
        >>> t = tandem.nn.init.xavier_normal_(tandem.empty(100, 100))
        >>> round(t.std().item(), 2)
        0.1
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return _draw_normal(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: Nonlinearity) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


@_ungraded
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: Nonlinearity = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform numbers of variance gain² / fan (He et al. 2015).

    Args:
        a: the slope of "leaky_relu".
        mode: "fan_in" keeps the variance of values, "fan_out" that of gradients.
        nonlinearity: what follows, as `calculate_gain` takes it.

    Takes 2 or more dims. ValueError for fewer, and for an unknown mode or nonlinearity.

    Example:
        >>> import tandem
        >>> t = tandem.nn.init.kaiming_uniform_(tandem.empty(2, 6), nonlinearity="relu")
        >>> bool((t.abs() <= 1).all())
        True
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return _draw_uniform(tensor, -bound, bound, generator)


@_ungraded
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: Nonlinearity = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers of variance gain² / fan (He et al. 2015). Arguments and errors as of `kaiming_uniform_`.

    Example:
        >>> import tandem
        >>> t = tandem.nn.init.kaiming_normal_(tandem.empty(100, 200), nonlinearity="relu")
        >>> round(t.std().item(), 2)
        0.1
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return tensor
    return _draw_normal(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


@_ungraded
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix of the shape [first, all others], times `gain` (Saxe et al. 2013).

    Takes 2 or more dims (ValueError).

    Example:
        >>> import tandem
        >>> t = tandem.nn.init.orthogonal_(tandem.empty(3, 5))
        >>> tandem.allclose(t @ t.T, tandem.eye(3), atol=1e-5)
        True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    flat = tandem.empty([rows, tensor.numel() // rows], dtype=tensor.dtype, device=tensor.device)
    matrix = _draw_normal(flat, 0.0, 1.0, generator)
    if matrix.itemsize < 4:
        matrix = matrix.float()
    across = matrix.shape[0] < matrix.shape[1]
    q, r = tandem.linalg.qr(matrix.T if across else matrix)
    # A QR decomposition is unique once the diagonal of R is positive; only so is Q uniformly distributed.
    q = q * r.diagonal().sign()
    return tensor.copy_((q.T if across else q).reshape(tensor.shape)).mul_(gain)


@_ungraded
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal numbers in a matrix, of which the share `sparsity` in each column, rounded up, is zero (Martens 2010).

    Takes 2 dims (ValueError).

    Example:
        >>> import tandem
        >>> (tandem.nn.init.sparse_(tandem.empty(4, 2), 0.5) == 0).sum(0)
        tensor([2, 2])
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    _draw_normal(tensor, 0.0, std, generator)
    for column in range(columns):
        order = tandem.randperm(rows, device=tensor.device)
        tensor[order[:zeros], column] = 0.0
    return tensor


def _older(fill: Callable[_P, Tensor], arguments: str = "") -> Callable[_P, Tensor]:
    """A function under its older name, without the underscore at its end; `arguments` are for its example."""
    name = fill.__name__.removesuffix("_")

    def deprecated(*args: _P.args, **kwargs: _P.kwargs) -> Tensor:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return fill(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = name
    deprecated.__doc__ = f"""The older name of `{name}_`; a FutureWarning says so.

    Example:
        >>> import tandem
        >>> tandem.nn.init.{name}(tandem.empty(3, 3{", 3" if name == "dirac" else ""}){arguments}).dim()
        {3 if name == "dirac" else 2}
    """
    return deprecated


uniform = _older(uniform_)
normal = _older(normal_)
constant = _older(constant_, ", 1.0")
eye = _older(eye_)
dirac = _older(dirac_)
xavier_uniform = _older(xavier_uniform_)
xavier_normal = _older(xavier_normal_)
kaiming_uniform = _older(kaiming_uniform_)
kaiming_normal = _older(kaiming_normal_)
orthogonal = _older(orthogonal_)
sparse = _older(sparse_, ", 0.5")
