"""`tandem.distributions.constraints`: the sets that parameters and values of distributions lie in.

A constraint's `check(value)` is a bool tensor, True where the value lies in the set: one element for each event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tandem
from tandem._C import Tensor

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values: `event_dim` dims form one value, `is_discrete` says whether gradients make sense.

    >>> import tandem
    >>> constraint = tandem.distributions.constraints.simplex
    >>> constraint.event_dim, constraint.is_discrete, constraint.check(tandem.tensor([0.25, 0.75]))
    (1, False, tensor(True))
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Where does `value` lie in the set? A bool tensor of the batch shape."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__.lstrip("_") + "()"


class _Dependent(Constraint):
    """A set that depends on other parameters; a placeholder without check."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> Any:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property of a distribution that is a constraint made of its parameters.

    Args:
        is_discrete, event_dim: of the constraint, where they are known of the class; the property decorates a method.

    >>> import tandem
    >>> tandem.distributions.Uniform(0.0, 2.0).support
    Interval(lower_bound=0.0, upper_bound=2.0)
    """

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> Any:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: object) -> bool:
    """Does the set depend on other parameters, so that a class alone cannot tell what lies in it?

    >>> from tandem.distributions import constraints
    >>> constraints.is_dependent(constraints.dependent), constraints.is_dependent(constraints.real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """Values whose last `reinterpreted_batch_ndims` dims lie in `base_constraint` all together.

    >>> import tandem
    >>> from tandem.distributions import constraints
    >>> constraints.independent(constraints.positive, 1).check(tandem.tensor([[1.0, 2.0], [1.0, -2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be a nonnegative int: {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        n = self.reinterpreted_batch_ndims
        if result.dim() < n:
            expected = self.base_constraint.event_dim + n
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return result.reshape(result.shape[: result.dim() - n] + (-1,)).all(-1) if n else result

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of any of its components, which are along the last batch dim.

    >>> import tandem
    >>> D = tandem.distributions
    >>> parts = D.Uniform(tandem.tensor([0.0, 2.0]), tandem.tensor([1.0, 3.0]))
    >>> D.constraints.MixtureSameFamilyConstraint(parts.support).check(tandem.tensor([0.5, 1.5, 2.5]))
    tensor([ True, False,  True])
    """

    def __init__(self, base_constraint: Any):
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> Any:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).any(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        is_boolean = (value == 0) | (value == 1)
        return is_boolean.all(-1) & (value.sum(-1) == 1)


class _IntegerInterval(Constraint):
    """Whole numbers in [lower_bound, upper_bound].

    >>> import tandem
    >>> tandem.distributions.constraints.integer_interval(0, 2).check(tandem.tensor([0.0, 1.5, 3.0]))
    tensor([ True, False, False])
    """

    is_discrete = True

    def __init__(self, lower_bound: float | Tensor, upper_bound: float | Tensor):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)

    def __repr__(self) -> str:
        return f"IntegerInterval(lower_bound={self.lower_bound}, upper_bound={self.upper_bound})"


class _IntegerGreaterThan(Constraint):
    is_discrete = True

    def __init__(self, lower_bound: float | Tensor):
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)

    def __repr__(self) -> str:
        return f"IntegerGreaterThan(lower_bound={self.lower_bound})"


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # False for NaN


class _Bounded(Constraint):
    """Values beyond one bound."""

    def __init__(self, bound: float | Tensor):
        self.bound = bound

    def __repr__(self) -> str:
        return f"{self.__class__.__name__.lstrip('_')}({self.bound_name}={self.bound})"

    bound_name = "lower_bound"

    @property
    def lower_bound(self) -> float | Tensor:
        return self.bound

    @property
    def upper_bound(self) -> float | Tensor:
        return self.bound


class _GreaterThan(_Bounded):
    """Numbers > `lower_bound`, a number or a tensor.

    >>> import tandem
    >>> tandem.distributions.constraints.greater_than(1.0).check(tandem.tensor([1.0, 2.0]))
    tensor([False,  True])
    """

    def __init__(self, lower_bound: float | Tensor):
        super().__init__(lower_bound)

    def check(self, value: Tensor) -> Tensor:
        return self.bound < value


class _GreaterThanEq(_Bounded):
    """Numbers >= `lower_bound`, a number or a tensor.

    >>> import tandem
    >>> tandem.distributions.constraints.greater_than_eq(1.0).check(tandem.tensor([1.0, 2.0]))
    tensor([True, True])
    """

    def __init__(self, lower_bound: float | Tensor):
        super().__init__(lower_bound)

    def check(self, value: Tensor) -> Tensor:
        return self.bound <= value


class _LessThan(_Bounded):
    """Numbers < `upper_bound`, a number or a tensor.

    >>> import tandem
    >>> tandem.distributions.constraints.less_than(2.0).check(tandem.tensor([1.0, 2.0]))
    tensor([ True, False])
    """

    bound_name = "upper_bound"

    def __init__(self, upper_bound: float | Tensor):
        super().__init__(upper_bound)

    def check(self, value: Tensor) -> Tensor:
        return value < self.bound


class _Interval(Constraint):
    """Numbers in [lower_bound, upper_bound].

    >>> import tandem
    >>> tandem.distributions.constraints.interval(0.0, 1.0).check(tandem.tensor([0.5, 1.0, 1.5]))
    tensor([ True,  True, False])
    """

    def __init__(self, lower_bound: float | Tensor, upper_bound: float | Tensor):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}(lower_bound={self.lower_bound}, upper_bound={self.upper_bound})"


class _HalfOpenInterval(_Interval):
    """Numbers in [lower_bound, upper_bound).

    >>> import tandem
    >>> tandem.distributions.constraints.half_open_interval(0.0, 1.0).check(tandem.tensor([0.5, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Counts >= 0 along the last dim with a sum of at most `upper_bound`.

    >>> import tandem
    >>> tandem.distributions.constraints.multinomial(3).check(tandem.tensor([[1, 2], [2, 2]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: float | Tensor):
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


def _outside_triangle(value: Tensor) -> Tensor:
    n, m = value.shape[-2:]
    return tandem.arange(n, device=value.device).unsqueeze(1) < tandem.arange(m, device=value.device)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | ~_outside_triangle(value)).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        triangular = ((value == 0) | ~_outside_triangle(value)).flatten(-2).all(-1)
        return triangular & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Any) -> Any:
        tolerance = tandem.finfo(value.dtype).eps * value.size(-1) * 10
        unit = ((value.pow(2).sum(-1) - 1).abs() <= tolerance).all(-1)
        return super().check(value) & unit


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        square = value.shape[-2] == value.shape[-1]
        return tandem.full(value.shape[:-2], square, dtype=tandem.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        square_check = super().check(value)
        if not square_check.all():
            return square_check
        return value.isclose(value.transpose(-2, -1), atol=1e-6).flatten(-2).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        flat = value.detach().reshape(-1, *value.shape[-2:])
        found = [_has_cholesky(m) for m in flat]
        return tandem.tensor(found, dtype=tandem.bool, device=value.device).reshape(value.shape[:-2])


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return (tandem.linalg.eigvalsh(value) >= 0).all(-1)


def _has_cholesky(matrix: Tensor) -> bool:
    try:
        tandem.linalg.cholesky(matrix)
    except tandem.linalg.LinAlgError:
        return False
    return True


class _Joined(Constraint):
    """Slices of a dim, each with a constraint of its own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int):
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)


class _Cat(_Joined):
    """Pieces of the dim `dim`, of `lengths` (1 each by default), each with a constraint of `cseq`.

    >>> import tandem
    >>> from tandem.distributions.constraints import cat, positive, real
    >>> cat([positive, real], lengths=[1, 2]).check(tandem.tensor([-1.0, -1.0, 2.0]))
    tensor([False,  True,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"Expected lengths to have length {len(self.cseq)}, got {len(self.lengths)}")

    @property
    def event_dim(self) -> int:
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return tandem.cat(checks, self.dim)


class _Stack(_Joined):
    """Slices of the dim `dim`, each with a constraint of `cseq`.

    >>> import tandem
    >>> from tandem.distributions import constraints
    >>> constraints.stack([constraints.positive, constraints.real]).check(tandem.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0):
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        values = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return tandem.stack([c.check(v) for v, c in zip(values, self.cseq)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_definite = _PositiveDefinite()
positive_semidefinite = _PositiveSemidefinite()
cat = _Cat
stack = _Stack
