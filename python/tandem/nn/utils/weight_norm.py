"""The older `weight_norm`: parameters `weight_g` and `weight_v`, joined before every forward."""

from __future__ import annotations

import warnings
from typing import Any

from tandem import Tensor
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter
from tandem.nn.utils.parametrizations import norm_except_dim

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook that sets `module.name` to g * v / ||v|| before every forward; `weight_norm` makes and registers one.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.weight_norm(tandem.nn.Linear(2, 3))
        >>> [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
        ['WeightNorm']
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """g * v / ||v||."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:
        module.__dict__[self.name] = self.compute_weight(module)


def _hook_of(module: Module, name: str) -> tuple[int, WeightNorm] | None:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            return key, hook
    return None


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train `module.name` as `name_g` (lengths) and `name_v` (directions), norms over all dims but `dim`.

    `nn.utils.parametrizations.weight_norm` is its successor. RuntimeError for a second one of the same name. Returns
    the module.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.weight_norm(tandem.nn.Linear(2, 3))
        >>> list(layer.state_dict())
        ['bias', 'weight_g', 'weight_v']
    """
    warnings.warn(
        "`nn.utils.weight_norm` is deprecated in favor of `nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if _hook_of(module, name) is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, hook.dim).detach()))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    hook(module, None)
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo `weight_norm`: the weight is a parameter again, of its present value. ValueError where there is none.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.weight_norm(tandem.nn.Linear(2, 3))
        >>> list(tandem.nn.utils.remove_weight_norm(layer).state_dict())
        ['bias', 'weight']
    """
    found = _hook_of(module, name)
    if found is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    key, hook = found
    weight = hook.compute_weight(module)
    module.__dict__.pop(name, None)
    delattr(module, name + "_g")
    delattr(module, name + "_v")
    setattr(module, name, Parameter(weight.detach()))
    del module._forward_pre_hooks[key]
    return module
