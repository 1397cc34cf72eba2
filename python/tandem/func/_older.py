"""Names of `functorch` that `tandem.func.functional_call` replaced: modules as functions of their parameters."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import tandem
from tandem.func._functional_call import functional_call
from tandem.nn import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]

Tensors = tuple[tandem.Tensor, ...]


class FunctionalModuleWithBuffers(Module):
    """A function of the parameters and buffers of a module, and of its arguments.

    Example:
        >>> import tandem
        >>> from tandem.func._older import make_functional_with_buffers
        >>> f, params, buffers = make_functional_with_buffers(tandem.nn.BatchNorm1d(2))
        >>> f(params, buffers, tandem.ones(3, 2)).shape, len(buffers)
        (tandem.Size([3, 2]), 3)
    """

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]):
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)
        self.buffer_names = tuple(buffer_names)

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """What the module makes of the arguments with these parameters and buffers."""
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A function of the parameters of a module that has no buffers, and of its arguments.

    Example:
        >>> import tandem
        >>> from tandem.func._older import make_functional
        >>> f, params = make_functional(tandem.nn.Linear(2, 1))
        >>> f(params, tandem.ones(3, 2)).shape
        tandem.Size([3, 1])
    """

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """What the module makes of the arguments with these parameters."""
        return super().forward(params, (), *args, **kwargs)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A function of a module's parameters and buffers, and copies of these.

    Args:
        model: the module, of which a copy is kept.
        disable_autograd_tracking: the parameters do not require a gradient.

    Example:
        >>> import tandem
        >>> from tandem.func._older import make_functional_with_buffers
        >>> f, params, buffers = make_functional_with_buffers(tandem.nn.Linear(2, 1))
        >>> [p.shape for p in params], buffers
        ([tandem.Size([1, 2]), tandem.Size([1])], ())
    """
    model = copy.deepcopy(model)
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    if disable_autograd_tracking:
        for p in params.values():
            p.requires_grad_(False)
    return FunctionalModuleWithBuffers(model, list(params), list(buffers)), (*params.values(),), (*buffers.values(),)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, Tensors]:
    """A function of a module's parameters, and copies of these. RuntimeError for a module with buffers.

    Args:
        model: the module, of which a copy is kept.
        disable_autograd_tracking: the parameters do not require a gradient.

    Example:
        >>> import tandem
        >>> from tandem.func._older import make_functional
        >>> f, params = make_functional(tandem.nn.Linear(2, 1))
        >>> tandem.func.grad(lambda p: f(p, tandem.ones(3, 2)).sum())(params)[1]
        tensor([3.])
    """
    if next(iter(model.buffers()), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    whole, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return FunctionalModule(whole.stateless_model, whole.param_names, ()), params


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A function for modules of one class, and their parameters and buffers, stacked along a new first dim.

    RuntimeError for no modules, modules of several classes, or of which some train and others evaluate.

    Args:
        models: the modules.

    Example:
        >>> import tandem
        >>> from tandem.func._older import combine_state_for_ensemble
        >>> f, params, buffers = combine_state_for_ensemble([tandem.nn.Linear(2, 1) for _ in range(4)])
        >>> tandem.vmap(f, in_dims=(0, 0, None))(params, buffers, tandem.ones(3, 2)).shape
        tandem.Size([4, 3, 1])
    """
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    made = [make_functional_with_buffers(m) for m in models]
    params, buffers = (
        tuple(tandem.stack(same).detach() for same in zip(*(m[k] for m in made), strict=True)) for k in (1, 2)
    )
    for p, first in zip(params, made[0][1], strict=True):
        p.requires_grad_(first.requires_grad)
    return made[0][0], params, buffers
