"""Limiting gradients in place. Nothing here reads a value, so all of it can be recorded and compiled."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import tandem
from tandem import Tensor
from tandem._foreach import FOREACH

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The p-norm of all elements of all tensors, as a 0-d tensor; 0 for no tensors.

    `norm_type` is p, which may be inf. RuntimeError for an infinite norm or NaN with `error_if_nonfinite`. `foreach`
    has no effect: all tensors are one recorded step anyway.

    Example:
        >>> import tandem
        >>> tandem.nn.utils.get_total_norm([tandem.tensor([3.0]), tandem.tensor([[4.0]])])
        tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tandem.tensor(0.0)
    if norm_type == 2.0 and all(t.dtype in (tandem.float32, tandem.float64) for t in tensors):
        total = tandem.sqrt(_square_sums(tensors).sum())
    else:
        norm = tandem.linalg.vector_norm  # of half types it adds in float32
        total = norm(_stacked([norm(t.detach(), norm_type) for t in tensors]), norm_type)
    if error_if_nonfinite and not bool((tandem.abs(total) < float("inf")).item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def _like(value: Tensor, other: Tensor) -> Tensor:
    """`value` on the device of `other`."""
    return value if value.get_device() == other.get_device() else value.to(other.device)


def _stacked(values: list[Tensor]) -> Tensor:
    """0-d tensors, which may be on several devices, as a vector on that of the first."""
    return tandem.stack([_like(value, values[0]) for value in values])


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients in place so that their common norm is at most `max_norm`; returns the norm before.

    They are multiplied by min(1, max_norm / (norm + 1e-6)). `norm_type`, `error_if_nonfinite` and `foreach` as of
    `get_total_norm`; parameters without a gradient are passed over.

    Example:
        >>> import tandem
        >>> p = tandem.zeros(2, requires_grad=True)
        >>> (p * tandem.tensor([3.0, 4.0])).sum().backward()
        >>> tandem.nn.utils.clip_grad_norm_([p], 1.0).item()
        5.0
    """
    with tandem.no_grad():
        grads = _gradients(parameters)
        total = get_total_norm(grads, norm_type, error_if_nonfinite)
        _scale(grads, max_norm, total)
    return total


def _scale(grads: list[Tensor], max_norm: float, total: Tensor) -> None:
    factor = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
    if grads:
        FOREACH["_foreach_mul_"](grads, [_like(factor, grad) for grad in grads])


def _square_sums(tensors: list[Tensor]) -> Tensor:
    """The sums of the squares of the tensors, as a vector on the device of the first."""
    if not tandem._C._is_recording() and {*map(type, tensors)} <= {Tensor, tandem.nn.Parameter}:
        if len({*map(Tensor.get_device, tensors)}) == 1:
            return tandem._C._square_sums(tensors)
    return _stacked([(t * t).sum() for t in (t.detach() for t in tensors)])


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients in place as `clip_grad_norm_` does, with a total norm that is known already.

    Example:
        >>> import tandem
        >>> p = tandem.zeros(2, requires_grad=True)
        >>> (p * tandem.tensor([3.0, 4.0])).sum().backward()
        >>> tandem.nn.utils.clip_grads_with_norm_([p], 1.0, tandem.tensor(5.0))
        >>> p.grad
        tensor([0.6000, 0.8000])
    """
    with tandem.no_grad():
        _scale(_gradients(parameters), max_norm, total_norm)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limit every element of every gradient to [-clip_value, clip_value] in place.

    Example:
        >>> import tandem
        >>> p = tandem.zeros(2, requires_grad=True)
        >>> (p * tandem.tensor([-3.0, 0.5])).sum().backward()
        >>> tandem.nn.utils.clip_grad_value_([p], 1.0)
        >>> p.grad
        tensor([-1.0000,  0.5000])
    """
    limit = float(clip_value)
    with tandem.no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(-limit, limit)


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_`, under its old name, with a FutureWarning.

    Example:
        >>> import tandem
        >>> w = tandem.ones(2, requires_grad=True)
        >>> w.grad = tandem.tensor([3.0, 4.0])
        >>> tandem.nn.utils.clip_grad_norm([w], 1.0)
        tensor(5.)
    """
    warnings.warn(
        "`clip_grad_norm` is now deprecated in favor of `clip_grad_norm_`.", category=FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
