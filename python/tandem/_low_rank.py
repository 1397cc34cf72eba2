"""Factorisations of which only some vectors are wanted, and products with those of a factorisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tandem import _C
from tandem._dtypes import finfo
from tandem._functions import _need_tensor

__all__ = ["lobpcg", "ormqr", "pca_lowrank", "svd_lowrank"]

Tensor = _C.Tensor
_linalg: Any = _C._linalg


# ---- singular values (Halko, Martinsson and Tropp 2011, algorithms 4.4 and 5.1)


def _basis(A: Tensor, q: int, niter: int) -> Tensor:  # noqa: N803
    """Orthonormal columns whose span nearly holds what A does to vectors."""
    basis = _linalg.qr(A @ _C.randn(A.shape[-1], q, dtype=A.dtype, device=A.device))[0]
    for _ in range(niter):
        basis = _linalg.qr(A.mT @ basis)[0]
        basis = _linalg.qr(A @ basis)[0]
    return basis


def svd_lowrank(
    A: Tensor,  # noqa: N803
    q: int | None = 6,
    niter: int | None = 2,
    M: Tensor | None = None,  # noqa: N803
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of a randomised decomposition of low rank: A (or A - M) is nearly U diag(S) V^T.

    Args:
        A: matrices [..., m, n].
        q: the number of singular values, some more than the rank; 6 if None.
        niter: how often the space of vectors is refined; 2 if None.
        M: what is taken from A first; broadcasts to it.

    Returns [..., m, q], [..., q] and [..., n, q]; fewer where m or n is less. It draws random numbers.

    >>> import tandem
    >>> A = tandem.tensor([[3.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> U, S, V = tandem.svd_lowrank(A, q=2)
    >>> S, bool(((U * S) @ V.mT - A).abs().max() < 1e-5)
    (tensor([3.0000, 1.0000]), True)
    """
    m, n = A.shape[-2:]
    matrix = A if M is None else A - M.broadcast_to(A.shape)
    tall = matrix if m >= n else matrix.mT
    basis = _basis(tall, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = _linalg.svd(basis.mT @ tall, full_matrices=False)
    left, right = basis @ U, Vh.mT
    return (left, S, right) if m >= n else (right, S, left)


def pca_lowrank(
    A: Tensor,  # noqa: N803
    q: int | None = None,
    center: bool = True,
    niter: int = 2,
) -> tuple[Tensor, Tensor, Tensor]:
    """`svd_lowrank` of rows without their mean: principal components, the columns of V.

    Args:
        A: matrices [..., m, n], a row for each of m samples.
        q: the number of components; 6 if None, or m or n where that is less.
        center: False leaves the mean in.
        niter: as of `svd_lowrank`.

    ValueError for a negative `niter`, or a `q` that is negative or larger than m or n.

    >>> import tandem
    >>> U, S, V = tandem.pca_lowrank(tandem.tensor([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]), q=1)
    >>> S
    tensor([1.4142])
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean((-2,), keepdim=True) if center else A, q, niter)


# ---- eigenvalues


def lobpcg(
    A: Tensor,  # noqa: N803
    k: int | None = None,
    B: Tensor | None = None,  # noqa: N803
    X: Tensor | None = None,  # noqa: N803
    n: int | None = None,
    iK: Tensor | None = None,  # noqa: N803
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest or smallest eigenvalues E of A x = E B x, and their vectors, by the locally optimal block
    preconditioned conjugate gradient method (Knyazev 2001), with orthonormal bases of its spaces.

    Args:
        A: symmetric matrices [..., m, m].
        k: how many; the columns of X, or 1.
        B: symmetric positive definite ones; the identity if None.
        X: vectors to start from [..., m, n], n not less than k; drawn if None.
        n: how many vectors are iterated, where there is no X; k if None.
        iK: a preconditioner [..., m, m].
        niter: the most iterations; 1000 if None, -1 for any number.
        tol: how small residuals get, relative to the norms of A and of the vectors; the root of the dtype's epsilon.
        largest: False for the smallest ones.
        method: "basic" or "ortho": both are the robust method here.
        tracker: not supported.
        ortho_iparams, ortho_fparams, ortho_bparams: accepted without effect.

    Returns [..., k] and [..., m, k]. Gradients of A, and of B, are those of `eigh`.

    Raises:
        AssertionError: A is not square, or B or X of another shape.
        ValueError: m is less than 3 n, or another method.
        NotImplementedError: a `tracker`.

    >>> import tandem
    >>> E, X = tandem.lobpcg(tandem.diag(tandem.tensor([1.0, 5.0, 2.0, 3.0])), 1)
    >>> E
    tensor([5.0000])
    """
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: expected method to be 'basic' or 'ortho', but got {method!r}")
    if tracker is not None:
        raise NotImplementedError("lobpcg: there is no tracker of iterations")
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )
    start = _C.randn(*A.shape[:-2], m, n, dtype=A.dtype, device=A.device) if X is None else X
    if list(start.shape) != [*A.shape[:-1], n]:
        raise AssertionError(f"X shape mismatch: got {list(start.shape)}, expected {[*A.shape[:-1], n]}")
    if tol is None:
        tol = math.sqrt({_C.float32: 1.2e-7, _C.float64: 2.23e-16}.get(A.dtype, 1.2e-7))
    search = _Search(tol, 1000 if niter is None else niter, largest is not False)
    values, vectors = _each_matrix(search, k, A.detach(), B if B is None else B.detach(), start.detach(), iK)
    if _C.is_grad_enabled() and (A.requires_grad or (B is not None and B.requires_grad)):
        return _with_history(A, B, values, vectors)
    return values, vectors


class _Search:
    """The iteration on one matrix."""

    def __init__(self, tol: float, niter: int, largest: bool):
        self.tol, self.niter, self.largest = tol, niter, largest

    def orthonormal(self, S: Tensor, B: Tensor | None) -> Tensor:  # noqa: N803
        """Columns that span what those of S do, B-orthonormal; directions of which rounding leaves nothing go."""
        floor = finfo(S.dtype).eps * S.shape[-1]
        for _ in range(2):
            gram = S.mT @ (S if B is None else B @ S)
            scale = gram.diagonal().clamp(min=finfo(S.dtype).tiny).rsqrt()
            values, vectors = _linalg.eigh(gram * scale * scale.unsqueeze(1))
            kept = values > floor * values[-1]
            S = (S * scale) @ (vectors[:, kept] * values[kept].rsqrt())
        return S

    def ritz(self, A: Tensor, S: Tensor, n: int) -> tuple[Tensor, Tensor]:  # noqa: N803
        """The n outermost eigenvalues in the space of S, and their coordinates."""
        values, vectors = _linalg.eigh(S.mT @ (A @ S))
        if self.largest:
            values, vectors = values.flip(0), vectors.flip(1)
        return values[:n], vectors[:, :n]

    def run(self, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, k: int) -> tuple[Tensor, Tensor]:  # noqa: N803
        n = X.shape[-1]
        S = self.orthonormal(X, B)
        values, at = self.ritz(A, S, n)
        X, P = S @ at, None
        size, size_b = A.norm(), 1.0 if B is None else B.norm()
        step = 0
        while self.niter < 0 or step < self.niter:
            R = A @ X - (X if B is None else B @ X) * values
            limit = self.tol * (size + values.abs() * size_b) * X.norm(dim=0)
            if bool((R.norm(dim=0)[:k] <= limit[:k]).all()):
                break
            W = R if iK is None else iK @ R
            # Against X twice, so that what is new stays exact beside it.
            new = W if P is None else _C.cat((W, P), 1)
            for _ in range(2):
                new = new - X @ (X.mT @ (new if B is None else B @ new))
            S = _C.cat((X, self.orthonormal(new, B)), 1)
            S = self.orthonormal(S, B)
            values, at = self.ritz(A, S, n)
            made = S @ at
            P = made - X @ (X.mT @ (made if B is None else B @ made))
            X = made
            step += 1
        return values[:k], X[:, :k]


def _each_matrix(
    search: _Search,
    k: int,
    A: Tensor,  # noqa: N803
    B: Tensor | None,  # noqa: N803
    X: Tensor,  # noqa: N803
    iK: Tensor | None,  # noqa: N803
) -> tuple[Tensor, Tensor]:
    if A.dim() == 2:
        return search.run(A, B, X, iK, k)
    lead, m = list(A.shape[:-2]), A.shape[-1]

    def each(t: Tensor | None) -> list[Any]:
        if t is None:
            return [None] * math.prod(lead)
        return list(t.expand(*lead, *t.shape[-2:]).reshape(-1, *t.shape[-2:]))

    found = [search.run(*one, k) for one in zip(each(A), each(B), each(X), each(iK))]
    if not found:
        return A.new_empty((*lead, k)), A.new_empty((*lead, m, k))
    values, vectors = (_C.stack(parts) for parts in zip(*found))
    return values.reshape(*lead, k), vectors.reshape(*lead, m, k)


def _with_history(A: Tensor, B: Tensor | None, values: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:  # noqa: N803
    """The same numbers with the derivatives of the whole decomposition."""
    symmetric = (A + A.mT) / 2
    if B is None:
        E, V = _linalg.eigh(symmetric)
    else:
        L = _linalg.cholesky((B + B.mT) / 2)
        half = _linalg.solve_triangular(L, symmetric, upper=False)
        E, Y = _linalg.eigh(_linalg.solve_triangular(L, half.mT, upper=False))
        V = _linalg.solve_triangular(L.mT, Y, upper=True)
    k = values.shape[-1]
    # Those found are at one end of all of them.
    at_top = bool((values.sum() - E.detach()[..., -k:].sum()).abs() <= (values.sum() - E.detach()[..., :k].sum()).abs())
    E, V = (E.flip(-1)[..., :k], V.flip(-1)[..., :k]) if at_top else (E[..., :k], V[..., :k])
    # Vectors point as the search left them.
    measure = vectors if B is None else B.detach() @ vectors
    sign = (V.detach() * measure).sum(-2, keepdim=True).sign()
    return E, V * _C.where(sign == 0, 1.0, sign)


# ---- reflectors


def ormqr(
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Q @ other, Q the whole orthogonal matrix [m, m] of Householder reflectors, as `geqrf` gives them.

    Args:
        input: the reflectors [..., m, n], below the diagonal of their columns.
        tau: their factors [..., k], k at most n.
        other: [..., m, p]; with left=False [..., p, m].
        left: False gives other @ Q.
        transpose: Q^T in place of Q.
        out: what takes the result.

    Raises:
        RuntimeError: shapes or dtypes that do not fit.

    >>> import tandem
    >>> A = tandem.tensor([[3.0], [4.0]])
    >>> reflectors, tau = tandem.geqrf(A)
    >>> tandem.ormqr(reflectors, tau, A, transpose=True)
    tensor([[-5.],
            [ 0.]])
    """
    _need_tensor("ormqr", input)
    _need_tensor("ormqr", tau, "tau", 2)
    _need_tensor("ormqr", other, "other", 3)
    for name, t, dims in (("input", input, 2), ("other", other, 2), ("tau", tau, 1)):
        if t.dim() < dims:
            raise RuntimeError(f"torch.ormqr: {name} must have at least {dims} dimension{'s' if dims > 1 else ''}.")
    shape, count, side = input.shape, tau.shape[-1], -2 if left else -1
    m, size = shape[-2], other.shape[side]
    if size < count:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1], but got "
            f"{list(other.shape)} and {list(tau.shape)}"
        )
    if size != m:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2], but got {list(other.shape)} and "
            f"{list(input.shape)}"
        )
    if count > shape[-1]:
        raise RuntimeError(
            "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1]), but got "
            f"{list(tau.shape)} and {list(input.shape)}"
        )
    if not shape[:-2] == tau.shape[:-1] == other.shape[:-2]:
        raise RuntimeError(
            "torch.ormqr: expected the batch dimensions of input, tau and other to be equal, but got "
            f"{list(input.shape)}, {list(tau.shape)} and {list(other.shape)}"
        )
    for name, t in (("tau", tau), ("other", other)):
        if t.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype {input.dtype} and "
                f"{name} has dtype {t.dtype}"
            )
    # Of many reflectors the whole matrix is made, by which the product is one.
    if 0 < m <= max(2 * count, 32) and input.dtype in (_C.float32, _C.float64):
        if shape[-1] < m:
            none = input.new_zeros(*shape[:-1], m - shape[-1])
            input = _C.cat((input, none), -1)
        Q = _linalg.householder_product(input if shape[-1] <= m else input[..., :m], tau)
        Q = Q.mT if transpose else Q
        return _C.matmul(Q, other, out=out) if left else _C.matmul(other, Q, out=out)
    result = other if left else other.mT
    # Q = H0 H1 ...: Q and its transposed apply them from the last and from the first on; other @ Q is (Q^T other^T)^T.
    order = range(count)
    for i in order if left == transpose else reversed(order):
        v = _C.cat((_C.ones_like(input[..., :1, i]), input[..., i + 1 :, i]), -1).unsqueeze(-1)
        rest = result[..., i:, :]
        rest = rest - (tau[..., i : i + 1].unsqueeze(-1) * v) @ (v.mT @ rest)
        result = _C.cat((result[..., :i, :], rest), -2)
    return _C.alias_copy(result if left else result.mT, out=out)
