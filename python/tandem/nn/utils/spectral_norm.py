"""The older `spectral_norm`: a parameter `weight_orig`, divided by its largest singular value before every forward."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter
from tandem.nn.utils.parametrizations import spectral_dim, weight_matrix

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook that sets `module.name` to `name_orig` by its largest singular value before every forward.

    ValueError unless `n_power_iterations` is positive. `spectral_norm` makes and registers one.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.spectral_norm(tandem.nn.Linear(4, 3))
        >>> [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
        ['SpectralNorm']
    """

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight by its largest singular value, after one more round of power iteration if wanted."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = weight_matrix(weight, self.dim)
        if do_power_iteration:
            with tandem.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(tandem.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(tandem.mv(matrix, v), dim=0, eps=self.eps))
            # Copies: the next iteration changes the buffers, which backward still needs.
            u, v = u.clone(), v.clone()
        return weight / tandem.dot(u, tandem.mv(matrix, v))

    def __call__(self, module: Module, inputs: Any) -> None:
        module.__dict__[self.name] = self.compute_weight(module, do_power_iteration=module.training)


def _hook_of(module: Module, name: str) -> tuple[int, SpectralNorm] | None:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            return key, hook
    return None


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide `module.name` by its largest singular value, as found by power iteration while training (Miyato 2018).

    `nn.utils.parametrizations.spectral_norm` is its successor; arguments as there. RuntimeError for a second one of the
    same name, ValueError where the parameter is None. Returns the module.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.spectral_norm(tandem.nn.Linear(4, 3))
        >>> list(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if _hook_of(module, name) is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, spectral_dim(module) if dim is None else dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    with tandem.no_grad():
        rows, columns = weight_matrix(weight, hook.dim).shape
        u = F.normalize(tandem.randn(rows, dtype=weight.dtype, device=weight.device), dim=0, eps=eps)
        v = F.normalize(tandem.randn(columns, dtype=weight.dtype, device=weight.device), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    module.__dict__[name] = weight.data
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo `spectral_norm`: the weight is a parameter again, of its present value. ValueError where there is none.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.spectral_norm(tandem.nn.Linear(4, 3))
        >>> list(tandem.nn.utils.remove_spectral_norm(layer).state_dict())
        ['bias', 'weight']
    """
    found = _hook_of(module, name)
    if found is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    key, hook = found
    with tandem.no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)
    module.__dict__.pop(name, None)
    for suffix in ("_u", "_v", "_orig"):
        delattr(module, name + suffix)
    module.register_parameter(name, Parameter(weight.detach()))
    del module._forward_pre_hooks[key]
    return module
