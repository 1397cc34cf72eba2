"""The parametrization of orthogonal matrices: by exponentials, Cayley's map or Householder reflections."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem.nn.module import Module
from tandem.nn.utils import parametrize

_MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(q: Tensor) -> bool:
    """Are the columns orthonormal, within rounding?"""
    k = q.shape[-1]
    one = tandem.eye(k, dtype=q.dtype, device=q.device)
    eps = 10.0 * k * tandem.finfo(q.dtype).eps
    return tandem.allclose(q.mT @ q, one.expand(q.shape[:-2] + one.shape), atol=eps)


def _make_orthogonal(a: Tensor) -> Tensor:
    """The Q of A = Q R with a positive diagonal in R."""
    q, r = tandem.linalg.qr(a)
    return q * r.diagonal(0, -2, -1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Any matrix to one with orthonormal columns, or rows if it is wide."""

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        tall = X if X.shape[-2] >= X.shape[-1] else X.mT
        q = self._reflected(tall) if self.orthogonal_map == "householder" else self._turned(tall)
        if getattr(self, "base", None) is not None:
            q = self.base @ q
        return q if tall is X else q.mT

    def _reflected(self, x: Tensor) -> Tensor:
        """The product of the reflections whose vectors lie below the diagonal, which has the signs of the columns."""
        vectors = x.tril(-1)
        tau = 2.0 / (1.0 + vectors.square().sum(-2))
        return tandem.linalg.householder_product(vectors, tau) * x.diagonal(0, -2, -1).detach().trunc().unsqueeze(-2)

    def _turned(self, x: Tensor) -> Tensor:
        """The first columns of a rotation, the map of a skew matrix made of the lower triangle."""
        n, k = x.shape[-2:]
        lower = tandem.nn.functional.pad(x.tril(), (0, n - k))
        skew = lower - lower.mT
        if self.orthogonal_map == "matrix_exp":
            return tandem.matrix_exp(skew)[..., :k]
        one = tandem.eye(n, dtype=skew.dtype, device=skew.device).expand(skew.shape)
        return tandem.linalg.solve(one - 0.5 * skew, one + 0.5 * skew)[..., :k]

    @tandem.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        tall = Q if Q.shape[-2] >= Q.shape[-1] else Q.mT
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            vectors, tau = tandem.geqrf(tall)
            # Where a column needed no reflection its sign is that of R; else the reflection has turned it.
            signs = vectors.diagonal(0, -2, -1).sign()
            vectors.diagonal(0, -2, -1).copy_(tandem.where(tau == 0.0, -signs, signs))
            return vectors if tall is Q else vectors.mT
        # The value becomes the base, made orthogonal if it is not; what is trained begins at the map's neutral element,
        # zeros, with the -1 of a reflection by the first unit vectors on the diagonal.
        n, k = tall.shape[-2:]
        if n > k:
            rest = tandem.randn((*tall.shape[:-2], n, n - k), dtype=tall.dtype, device=tall.device)
            self.base = _make_orthogonal(tandem.cat([tall, rest], -1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _make_orthogonal(tall)
        neutral = tandem.zeros_like(Q)
        neutral.diagonal(0, -2, -1).fill_(-1.0)
        return neutral


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Train `module.name` as a matrix with orthonormal columns (rows, if it is wide).

    Args:
        orthogonal_map: "matrix_exp" exp(A - A^T), "cayley" (1 - A / 2)^-1 (1 + A / 2) of a skew A, or "householder",
            a product of reflections; by default the exponential for square matrices, else reflections.
        use_trivialization: keep a base orthogonal matrix that what is trained is a correction of (Lezcano-Casado 2019).

    Example:
        >>> import tandem
        >>> layer = tandem.nn.utils.parametrizations.orthogonal(tandem.nn.Linear(4, 4))
        >>> q = layer.weight
        >>> tandem.allclose(q @ q.T, tandem.eye(4), atol=1e-5)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    step: Any = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, step, unsafe=True)
    return module
