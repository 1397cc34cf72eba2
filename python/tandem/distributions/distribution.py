"""The base class of distributions, and what they share: shapes, expansion, validation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, overload

import tandem
from tandem import _C
from tandem._C import Size, Tensor
from tandem.distributions import constraints

if TYPE_CHECKING:
    from typing_extensions import Self

EULER = 0.57721566490153286060


class lazy_property:
    """A parameter in its other form (probabilities or logits), computed when it is first asked for, with history.

    The value is kept in the object's dict, where it is found before this.
    """

    def __init__(self, function: Callable[[Any], Tensor]):
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> Tensor: ...
    def __get__(self, instance: Any, owner: Any = None) -> Self | Tensor:
        if instance is None:
            return self
        with tandem.enable_grad():
            value = self.function(instance)
        instance.__dict__[self.name] = value
        return value


def common_shape(*shapes: Sequence[int]) -> Size:
    """The shape that all broadcast to."""
    rank = max((len(s) for s in shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for i, size in enumerate(shape, start=rank - len(shape)):
            if size != 1 and out[i] not in (1, size):
                raise RuntimeError(
                    f"The size of tensor a ({out[i]}) must match the size of tensor b ({size}) "
                    f"at non-singleton dimension {i}"
                )
            out[i] = size if size != 1 else out[i]
    return Size(out)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape; numbers take dtype and device of the first tensor."""
    others = tuple(v for v in values if not isinstance(v, (Tensor, int, float)))
    if others and all(_C._has_torch_function((v,)) for v in others):
        given = tuple(tandem.tensor(v) if isinstance(v, (int, float)) else v for v in values)
        asked: tuple[Tensor, ...] = _C._handle_torch_function(
            tandem.broadcast_tensors, "broadcast_tensors", given, given, {}
        )
        return asked
    if others:
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing ...")
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = tandem.get_default_dtype() if first is None else first.dtype
    device = None if first is None else first.device
    tensors = [v if isinstance(v, Tensor) else tandem.tensor(v, dtype=dtype, device=device) for v in values]
    shape = common_shape(*(t.shape for t in tensors))
    return tuple(t if t.shape == shape else t.expand(shape) for t in tensors)


def sum_rightmost(value: Tensor, n: int) -> Tensor:
    """The sum over the last n dims."""
    return value if n == 0 else value.reshape(value.shape[: value.dim() - n] + (-1,)).sum(-1)


def standard_normal(shape: Sequence[int], dtype: Any, device: Any = None) -> Tensor:
    return tandem.randn(tuple(shape), dtype=dtype, device=device)


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Vectors [*, n (n + 1) / 2] (fewer with a `diag` below 0) as the rows of lower triangles [*, N, N]; ValueError for
    another number of elements.

    >>> import tandem
    >>> tandem.distributions.transforms.vec_to_tril_matrix(tandem.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    n = round(-(1 + 2 * diag) / 2 + math.sqrt((1 + 2 * diag) ** 2 / 4 + 2 * vec.shape[-1] + abs(diag) * (diag + 1)))
    rows, columns = tandem.tril_indices(n, n, offset=diag, device=vec.device).unbind(0)
    if len(rows) != vec.shape[-1]:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of "
            "a square D x D matrix."
        )
    out = tandem.zeros((*vec.shape[:-1], n * n), dtype=vec.dtype, device=vec.device)
    return out.index_copy(-1, rows * n + columns, vec).reshape((*vec.shape[:-1], n, n))


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of matrices [*, N, N] up to the diagonal `diag`, row by row, as vectors.

    >>> import tandem
    >>> tandem.distributions.transforms.tril_matrix_to_vec(tandem.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = tandem.tril_indices(n, n, offset=diag, device=mat.device).unbind(0)
    return mat.reshape((*mat.shape[:-2], n * n)).index_select(-1, rows * n + columns)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logits: sigmoid for two outcomes (`is_binary`), softmax of the last dim for several."""
    return tandem.sigmoid(logits) if is_binary else logits.softmax(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the eps of their dtype."""
    eps = tandem.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits of probabilities: log p - log(1 - p) for two outcomes (`is_binary`), log p for several."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


def open_uniform(shape: Sequence[int], like: Tensor) -> Tensor:
    """Uniform numbers in (0, 1), of the dtype of another tensor and on its device."""
    info = tandem.finfo(like.dtype)
    return tandem.rand(shape, dtype=like.dtype, device=like.device).clamp(min=info.tiny, max=1 - info.eps / 2)


def either(first: Any, second: Any) -> TypeGuard[Tensor]:
    """Is `first` the parameter that was given? Exactly one must be."""
    if (first is None) == (second is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return first is not None


# PyTorch's names of these, which other libraries use.
_standard_normal, _sum_rightmost = standard_normal, sum_rightmost
euler_constant = 0.57721566490153286060


class Distribution:
    """A probability distribution over tensors.

    `batch_shape` is the shape of its parameters, one distribution an element; `event_shape` that of one draw of each.
    `sample(sample_shape)` has the shape `sample_shape + batch_shape + event_shape`, `log_prob(value)` one number an
    event. `rsample` is `sample` with gradients to the parameters, where `has_rsample`.

    Parameters of the distributions below are tensors or numbers, which broadcast; numbers take the dtype of the first
    tensor, or the default dtype. Where there are `probs` and `logits`, exactly one is given (ValueError else).

    Arguments and values are checked against their constraints (ValueError), unless `validate_args=False`; in a compiled
    function the plan checks them.

    Args:
        batch_shape, event_shape: the shapes, given by a subclass.
        validate_args: whether to check; None for what `set_default_validate_args` says.

    Example:
        >>> import tandem
        >>> normal = tandem.distributions.Normal(tandem.zeros(3), 1.0)
        >>> normal.sample((2,)).shape, normal.batch_shape, normal.event_shape
        (tandem.Size([2, 3]), tandem.Size([3]), tandem.Size([]))
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    # Parameters that are tensors, each with the number of its dims that belong to the event.
    _event_dims: dict[str, int] = {}

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ):
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._checks():
            try:
                wanted = self.arg_constraints
            except NotImplementedError:
                wanted = {}
                warnings.warn(
                    f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                    "initialize the distribution with `validate_args=False` to turn off validation.",
                    stacklevel=2,
                )
            for name, constraint in wanted.items():
                self._check_parameter(name, constraint)
        super().__init__()

    def _checks(self) -> bool:
        return self._validate_args

    def _check_parameter(self, name: str, constraint: Any) -> None:
        if constraints.is_dependent(constraint):
            return
        if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
            return
        value = getattr(self, name)
        if not _C._holds(constraint.check(value)):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"of distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn the checking of arguments on or off for all distributions."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """Constraint of each parameter."""
        raise NotImplementedError

    @property
    def support(self) -> constraints.Constraint:
        """The constraint that draws satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distribution with its parameters expanded to `batch_shape`."""
        new = self._get_checked_instance(type(self), _instance)
        new._batch_shape = Size(batch_shape)
        new._event_shape = self._event_shape
        for name, dims in self._event_dims.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                new.__dict__[name] = value.expand(Size(batch_shape) + value.shape[value.dim() - dims :])
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        return object.__new__(type(self)) if _instance is None else _instance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws of shape `sample_shape + batch_shape + event_shape`, without gradients."""
        with tandem.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws that are differentiable in the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`, its old name."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density (or probability) at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile: the inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dim."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return tandem.exp(self.entropy())

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        if not self._checks():
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event_dim_start = len(value.shape) - len(self._event_shape)
        if tuple(value.shape[max(event_dim_start, 0) :]) != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        actual, expected = value.shape, self._batch_shape + self._event_shape
        for i, j in zip(reversed(actual), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not _C._holds(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        try:
            names = [k for k in self.arg_constraints if k in self.__dict__]
        except NotImplementedError:
            names = []
        shown = [
            f"{p}: {self.__dict__[p] if self.__dict__[p].numel() == 1 else self.__dict__[p].size()}" for p in names
        ]
        return f"{self.__class__.__name__}({', '.join(shown)})"


class ExponentialFamily(Distribution):
    """Distributions exp(<t(x), theta> - F(theta) + k(x)); the entropy follows from F.

    Example:
        >>> import tandem
        >>> isinstance(tandem.distributions.Normal(0.0, 1.0), tandem.distributions.ExponentialFamily)
        True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """theta."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """F of theta."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of k(x)."""
        raise NotImplementedError

    def _family(self) -> tuple[list[Tensor], Tensor, Sequence[Tensor]]:
        """theta without its history, F(theta) and F'(theta)."""
        params = [param.detach().requires_grad_() for param in self._natural_params]
        normalizer = self._log_normalizer(*params)
        return params, normalizer, tandem.autograd.grad(normalizer.sum(), params, create_graph=True)

    def entropy(self) -> Tensor:
        """F(theta) - <theta, F'(theta)> minus the mean of k(x), for classes that say what these are."""
        carried = self._mean_carrier_measure
        params, normalizer, slopes = self._family()
        result = normalizer - carried
        for param, slope in zip(params, slopes, strict=True):
            result = result - (param * slope).reshape((*self.batch_shape, -1)).sum(-1)
        return result
