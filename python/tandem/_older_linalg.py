"""Functions on factorisations that PyTorch names at the top level, most of them from before `linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tandem import _C
from tandem._functions import _need_tensor

__all__ = ["lu", "lu_solve", "lu_unpack", "triangular_solve"]

Tensor = _C.Tensor
_linalg = _C._linalg


def _deprecated(name: str, instead: str) -> None:
    _C._warn_once(f"torch.{name} is deprecated in favor of torch.linalg.{instead}.", 3)


class TriangularSolve(NamedTuple):
    """What `triangular_solve` returns."""

    solution: Tensor
    cloned_coefficient: Tensor


def triangular_solve(
    b: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Sequence[Tensor] | None = None,
) -> TriangularSolve:
    """The X with A X = b (A^T X = b with `transpose`) of triangular matrices A, and a copy of A; deprecated for
    `linalg.solve_triangular(A, b, upper=...)`, and warns once.

    Args:
        b: matrices (..., n, k).
        A: matrices (..., n, n), of which the upper or lower triangle is read.
        upper: which triangle.
        transpose: solve with the transposed of that triangle.
        unitriangular: take the diagonal for ones, without reading it.
        out: where both are written.

    >>> import tandem
    >>> tandem.triangular_solve(tandem.tensor([[3.0], [2.0]]), tandem.tensor([[1.0, 1.0], [0.0, 2.0]])).solution
    tensor([[2.],
            [1.]])
    """
    _need_tensor("triangular_solve", b, "b")
    _need_tensor("triangular_solve", A, "A", 2)
    _deprecated("triangular_solve", "solve_triangular")
    for matrix, name in ((b, "b"), (A, "A")):
        if matrix.dim() < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {matrix.dim()} "
                "dimensions instead"
            )
    used, side = (A.mT, not upper) if transpose else (A, upper)
    x = _linalg.solve_triangular(used, b, upper=side, unitriangular=unitriangular)
    if out is None:
        return TriangularSolve(x, A.clone())
    return TriangularSolve(*_written((x, A), out))


def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...]:
    """`linalg.lu_factor(A)`, deprecated, and warns once.

    With `get_infos` a third result says where the first zero on the diagonal of U is (int32, from 1), 0 without one.
    RuntimeError without `pivot`. `out`: as many tensors, where they are written.

    >>> import tandem
    >>> tandem.lu(tandem.tensor([[2.0, 4.0], [1.0, 5.0]]))[0]
    tensor([[2.0000, 4.0000],
            [0.5000, 3.0000]])
    """
    _deprecated("lu", "lu_factor")
    results: tuple[Tensor, ...] = _linalg.lu_factor_ex(A, pivot=pivot)
    return _written(results if get_infos else results[:2], out)


def _written(results: tuple[Tensor, ...], out: Sequence[Tensor] | None) -> tuple[Tensor, ...]:
    """`results`, or where they are given the tensors `out`, which they are written to."""
    if out is None:
        return results
    if len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    return tuple(_C.alias_copy(result, out=into) for result, into in zip(results, out, strict=True))


def _unswapped(pivots: Tensor, rows: int, like: Tensor) -> Tensor:
    """The matrices P of rows swapped as `pivots` say, in P L U."""
    unit = _C.eye(rows, dtype=like.dtype, device=like.device).expand(*pivots.shape[:-1], rows, rows)
    rest = _C.arange(pivots.shape[-1] + 1, rows + 1, dtype=_C.int32, device=pivots.device).expand(
        *pivots.shape[:-1], -1
    )
    # Of a factorisation whose L and U are units the solution is the right side with its rows swapped.
    return _linalg.lu_solve(unit, _C.cat((pivots, rest), -1), unit).mT.contiguous()


def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Sequence[Tensor] | None = None,
) -> Any:
    """P, L and U, by these names, of what `linalg.lu_factor` returned; empty tensors for what is not asked for.

    Args:
        LU_data: L and U in one matrix (..., m, n).
        LU_pivots: int32, the rows that were swapped, from 1.
        unpack_data: give L (..., m, k) and U (..., k, n), k the smaller of m and n.
        unpack_pivots: give P (..., m, m).
        out: where the three are written.

    >>> import tandem
    >>> A = tandem.tensor([[1.0, 5.0], [2.0, 4.0]])
    >>> P, L, U = tandem.lu_unpack(*tandem.linalg.lu_factor(A))
    >>> P @ L @ U
    tensor([[1., 5.],
            [2., 4.]])
    """
    _need_tensor("lu_unpack", LU_data, "LU_data")
    _need_tensor("lu_unpack", LU_pivots, "LU_pivots", 2)
    if LU_pivots.dtype is not _C.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this "
            "function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    none = LU_data.new_empty(0)
    P, L, U = none, none, none
    if unpack_pivots:
        P = _unswapped(LU_pivots, m, LU_data)
    if unpack_data:
        L = LU_data[..., :k].tril(-1) + _C.eye(m, k, dtype=LU_data.dtype, device=LU_data.device)
        U = LU_data[..., :k, :].triu()
    return _C._named_result("lu_unpack", ("P", "L", "U"), _written((P, L, U), out))


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`linalg.lu_solve(LU_data, LU_pivots, b)`, written to `out` if it is given; deprecated, and warns once.

    >>> import tandem
    >>> A = tandem.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> tandem.lu_solve(tandem.ones(2, 1), *tandem.linalg.lu_factor(A))
    tensor([[0.5000],
            [0.2500]])
    """
    _deprecated("lu_solve", "lu_solve")
    if out is not None:
        return _linalg.lu_solve(LU_data, LU_pivots, b, out=out)
    return _linalg.lu_solve(LU_data, LU_pivots, b)
