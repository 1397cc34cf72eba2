"""The transforms that are functions: exp, sigmoid, affine and their like, softmax, stick-breaking.

`_transform.py` has the base class and the ways to put transforms together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import tandem
from tandem.distributions import constraints
from tandem.distributions._private_names import _clipped_sigmoid
from tandem.distributions._transform import Transform
from tandem.distributions.distribution import Tensor, broadcast_all, sum_rightmost

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ExpTransform",
    "LowerCholeskyTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "TanhTransform",
]


def _broadcast_with(shape: Sequence[int], *parameters: float | Tensor) -> tandem.Size:
    """`shape` broadcast with what a transform's parameters bring."""
    return tandem.broadcast_shapes(tuple(shape), *(getattr(p, "shape", ()) for p in parameters))


class ExpTransform(Transform):
    """y = exp(x), from all real numbers to the positive ones.

    Example:
        >>> import tandem
        >>> tandem.distributions.ExpTransform()(tandem.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExpTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x^exponent of positive x; `exponent` is a number or a tensor, not 0.

    Example:
        >>> import tandem
        >>> t = tandem.distributions.PowerTransform(2.0)
        >>> t(tandem.tensor(3.0)), t.inv(tandem.tensor(9.0))
        (tensor(9.), tensor(3.))
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: float | Tensor, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Tensor | int:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> tandem.Size:
        return _broadcast_with(shape, self.exponent)

    def inverse_shape(self, shape: Sequence[int]) -> tandem.Size:
        return _broadcast_with(shape, self.exponent)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), from all real numbers to (0, 1).

    Example:
        >>> import tandem
        >>> tandem.distributions.SigmoidTransform()(tandem.tensor(0.0))
        tensor(0.5000)
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SigmoidTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        info = tandem.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -tandem.nn.functional.softplus(-x) - tandem.nn.functional.softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)), from all real numbers to the positive ones.

    Example:
        >>> import tandem
        >>> tandem.distributions.SoftplusTransform()(tandem.tensor(0.0))
        tensor(0.6931)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftplusTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return tandem.nn.functional.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -tandem.nn.functional.softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x), from all real numbers to (-1, 1).

    Example:
        >>> import tandem
        >>> t = tandem.distributions.TanhTransform()
        >>> t.log_abs_det_jacobian(tandem.tensor(0.0), t(tandem.tensor(0.0)))
        tensor(0.)
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TanhTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return tandem.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - tandem.nn.functional.softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|, of which one x, y itself, is taken back; it has no Jacobian to speak of.

    Example:
        >>> import tandem
        >>> t = tandem.distributions.AbsTransform()
        >>> t(tandem.tensor(-2.0)), t.inv(tandem.tensor(2.0))
        (tensor(2.), tensor(2.))
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale x.

    Args:
        loc, scale: numbers or tensors that broadcast with x; scale is not 0.
        event_dim: how many last dims form one value, over which the log determinant is summed.

    Example:
        >>> import tandem
        >>> t = tandem.distributions.AffineTransform(1.0, 2.0)
        >>> t(tandem.tensor([0.0, 1.0])), t.inv(tandem.tensor(5.0))
        (tensor([1., 3.]), tensor(2.))
    """

    bijective = True

    def __init__(self, loc: float | Tensor, scale: float | Tensor, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> constraints.Constraint:
        """Real numbers, `event_dim` dims of them a value."""
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    @property
    def codomain(self) -> constraints.Constraint:
        """As `domain`."""
        return self.domain

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(bool(tandem.as_tensor(a).eq(tandem.as_tensor(b)).all()) for a, b in pairs)

    __hash__ = object.__hash__

    @property
    def sign(self) -> Tensor | int:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            result = self.scale.abs().log()
        else:
            result = tandem.full_like(x, math.log(abs(self.scale)))
        shape = x.shape[: x.dim() - self.event_dim]
        if self.event_dim:
            full = result.expand(tandem.broadcast_shapes(x.shape, result.shape))
            result = sum_rightmost(full, self.event_dim)
        return result.expand(shape)

    def forward_shape(self, shape: Sequence[int]) -> tandem.Size:
        return _broadcast_with(shape, self.loc, self.scale)

    def inverse_shape(self, shape: Sequence[int]) -> tandem.Size:
        return _broadcast_with(shape, self.loc, self.scale)


class SoftmaxTransform(Transform):
    """y = softmax(x) of the last dim; log(y) is taken back.

    Example:
        >>> import tandem
        >>> tandem.distributions.SoftmaxTransform()(tandem.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> tandem.Size:
        return _of_vectors(shape, 0)

    def inverse_shape(self, shape: Sequence[int]) -> tandem.Size:
        return _of_vectors(shape, 0)


def _of_vectors(shape: Sequence[int], more: int) -> tandem.Size:
    """The shape with so many more elements in its last dim; ValueError without one."""
    if len(shape) < 1:
        raise ValueError("Too few dimensions on input")
    return tandem.Size((*shape[:-1], shape[-1] + more))


def _running_product(x: Tensor) -> Tensor:
    return x.cumprod(-1)


class StickBreakingTransform(Transform):
    """K - 1 real numbers to a point of the simplex of K: each takes its share of what is left; zeros give equal parts.

    Example:
        >>> import tandem
        >>> tandem.distributions.StickBreakingTransform()(tandem.zeros(3))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = object.__hash__

    def _offset(self, n: int, like: Tensor) -> Tensor:
        return (n - tandem.arange(n, dtype=like.dtype, device=like.device)).log()

    def _call(self, x: Tensor) -> Tensor:
        share = _clipped_sigmoid(x - self._offset(x.shape[-1], x))
        one = tandem.ones(tuple(x.shape[:-1]) + (1,), dtype=x.dtype, device=x.device)
        left = _running_product(1 - share)
        return tandem.cat([share, one], -1) * tandem.cat([one, left], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        cropped = y[..., :-1]
        left = (1 - cropped.cumsum(-1)).clamp(min=tandem.finfo(y.dtype).tiny)
        return cropped.log() - left.log() + self._offset(cropped.shape[-1], y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x.shape[-1], x)
        return (-x + tandem.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tandem.Size:
        return _of_vectors(shape, 1)

    def inverse_shape(self, shape: Sequence[int]) -> tandem.Size:
        return _of_vectors(shape, -1)


class LowerCholeskyTransform(Transform):
    """Any matrix to a lower triangular one with a positive diagonal: exp of the diagonal, zeros above it.

    Example:
        >>> import tandem
        >>> tandem.distributions.LowerCholeskyTransform()(tandem.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = object.__hash__

    def _by_place(self, x: Tensor, diagonal: Tensor) -> Tensor:
        n = x.shape[-1]
        column = tandem.arange(n, device=x.device)
        row = column.unsqueeze(1)
        return tandem.where(row > column, x, 0.0) + tandem.where(row == column, diagonal, 0.0)

    def _call(self, x: Tensor) -> Tensor:
        return self._by_place(x, x.diagonal(0, -2, -1).exp().unsqueeze(-1))

    def _inverse(self, y: Tensor) -> Tensor:
        return self._by_place(y, y.diagonal(0, -2, -1).log().unsqueeze(-1))
