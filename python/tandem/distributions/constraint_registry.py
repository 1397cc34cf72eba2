"""`biject_to` and `transform_to`: for a constraint, a transform from real numbers to values that satisfy it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tandem.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Constraint → transform. `registry(constraint)` gives the transform, `register` adds a rule.

    Example:
        >>> import tandem
        >>> from tandem.distributions import constraints, transform_to
        >>> transform_to(constraints.positive)(tandem.zeros(2))
        tensor([1., 1.])
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """The rule for a constraint's class; without `factory`, a decorator of one."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> transforms.Transform:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(kind: Any) -> Callable[[Any], Any]:
    def register(factory: Any) -> Any:
        biject_to.register(kind, factory)
        return transform_to.register(kind, factory)

    return register


@_both(constraints.real)
def _real(constraint: Any) -> transforms.Transform:
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def _biject_independent(constraint: Any) -> transforms.Transform:
    base = biject_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _transform_independent(constraint: Any) -> transforms.Transform:
    base = transform_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


def _join(kind: Any, join: Callable[[Any, list[transforms.Transform]], transforms.Transform]) -> None:
    """What joins values of several constraints is transformed by what joins their transforms."""

    def register(registry: ConstraintRegistry) -> None:
        registry.register(kind, lambda c: join(c, [registry(part) for part in c.cseq]))

    register(biject_to)
    register(transform_to)


_join(constraints.cat, lambda c, parts: transforms.CatTransform(parts, c.dim, c.lengths))
_join(constraints.stack, lambda c, parts: transforms.StackTransform(parts, c.dim))


@_both(constraints.positive)
@_both(constraints.nonnegative)
def _positive(constraint: Any) -> transforms.Transform:
    above = transforms.ExpTransform()
    if isinstance(constraint.bound, (int, float)) and constraint.bound == 0:
        return above
    return transforms.ComposeTransform([above, transforms.AffineTransform(constraint.bound, 1)])


@_both(constraints.less_than)
def _below(constraint: Any) -> transforms.Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_both(constraints.unit_interval)
@_both(constraints.half_open_interval)
def _interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def _biject_simplex(constraint: Any) -> transforms.Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_simplex(constraint: Any) -> transforms.Transform:
    return transforms.SoftmaxTransform()


@_both(constraints.lower_cholesky)
def _lower_cholesky(constraint: Any) -> transforms.Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _positive_definite(constraint: Any) -> transforms.Transform:
    return transforms.PositiveDefiniteTransform()


@_both(type(constraints.corr_cholesky))
def _corr_cholesky(constraint: Any) -> transforms.Transform:
    return transforms.CorrCholeskyTransform()
