"""Ready parametrizations: weight and spectral normalisation, and orthogonal matrices (`_orthogonal.py`)."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn.module import Module
from tandem.nn.utils import parametrize
from tandem.nn.utils._orthogonal import orthogonal

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The 2-norm of `v` over all dims but `dim`, which stays, the others of size 1; over all dims if `dim` is -1."""
    if dim == -1:
        return tandem.norm(v)
    return tandem.norm(v, 2, [d for d in range(v.dim()) if d != dim % v.dim()], keepdim=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train `module.name` as length and direction: g * v / ||v||, norms over all dims but `dim` (Salimans 2016).

    g is `parametrizations.weight.original0`, v `original1`; one norm for all with `dim=None`. Returns the module. Loads
    states of the older `nn.utils.weight_norm` too.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.parametrizations.weight_norm(tandem.nn.Linear(2, 3))
        >>> layer.parametrizations.weight.original0.shape
        tandem.Size([3, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_older_names(module: Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        g, v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g in state_dict and v in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(g)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(v)

    module.register_load_state_dict_pre_hook(take_older_names)
    return module


def weight_matrix(weight: Tensor, dim: int) -> Tensor:
    """`weight` as a matrix whose rows are its slices of `dim`."""
    if dim != 0:
        weight = weight.permute([dim, *(d for d in range(weight.dim()) if d != dim)])
    return weight.flatten(1)


def power_iteration(matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """Move u and v in place towards the first singular vectors of a matrix."""
    with tandem.no_grad():
        for _ in range(steps):
            u.copy_(F.normalize(tandem.mv(matrix, v), dim=0, eps=eps))
            v.copy_(F.normalize(tandem.mv(matrix.t(), u), dim=0, eps=eps))


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if dim >= weight.dim() or dim < -weight.dim():
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{weight.dim()}, {weight.dim() - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.dim()
        self.eps = eps
        self._u: Tensor
        self._v: Tensor
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            with tandem.no_grad():
                matrix = weight_matrix(weight, self.dim)
                rows, columns = matrix.shape
                u = F.normalize(tandem.randn(rows, dtype=matrix.dtype, device=matrix.device), dim=0, eps=eps)
                v = F.normalize(tandem.randn(columns, dtype=matrix.dtype, device=matrix.device), dim=0, eps=eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            power_iteration(matrix, u, v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = weight_matrix(weight, self.dim)
        if self.training:
            power_iteration(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        # Copies: the next iteration changes the buffers, which backward still needs.
        u, v = self._u.clone(), self._v.clone()
        return weight / tandem.dot(u, tandem.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_dim(module: Module) -> int:
    """The dim of a weight that counts outputs: 1 for transposed convolutions."""
    return 1 if type(module).__name__.endswith(("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")) else 0


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide `module.name` by its largest singular value, as found by power iteration while training (Miyato 2018).

    Args:
        n_power_iterations: steps at each use while training; positive (ValueError).
        eps: the least norm that a vector is divided by.
        dim: the dim that counts outputs; 1 for transposed convolutions, 0 for all others when None.

    Returns the module. ValueError where there is no tensor `name`.

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.parametrizations.spectral_norm(tandem.nn.Linear(4, 3))
        >>> sorted(layer.state_dict())[1:]
        ['parametrizations.weight.0._u', 'parametrizations.weight.0._v', 'parametrizations.weight.original']
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = spectral_dim(module) if dim is None else dim
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
