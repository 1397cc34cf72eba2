"""`tandem.linalg`: linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem import _C

if TYPE_CHECKING:
    from tandem._C._linalg import *  # noqa: F403

globals().update({name: value for name, value in vars(_C._linalg).items() if not name.startswith("_")})
LinAlgError = _C._LinAlgError


def vander(x: _C.Tensor, *, N: int | None = None) -> _C.Tensor:
    """Vandermonde matrices: the powers 0 to N - 1 of each element, as a row.

    Args:
        x: a tensor [..., n] of any dtype but bool; a number of no dims is one element.
        N: the number of powers, at least 2; n if None.

    The result is [..., n, N], of the dtype of `x`, int64 of integers.

    RuntimeError for a smaller N, or bool.

    >>> import tandem
    >>> tandem.linalg.vander(tandem.tensor([2.0, 3.0]), N=3)
    tensor([[1., 2., 4.],
            [1., 3., 9.]])
    """
    if x.dtype is _C.bool:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    x = _C.atleast_1d(x)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand(*x.shape, count - 1).cumprod(-1)
    return _C.cat((_C.ones_like(powers[..., :1]), powers), -1)


def lu_factor_ex(
    A: _C.Tensor,  # noqa: N803
    *,
    pivot: bool = True,
    check_errors: bool = False,
    out: tuple[_C.Tensor, _C.Tensor, _C.Tensor] | None = None,
) -> Any:
    """`lu_factor`, and where the first 0 on the diagonal of U is: int32, counted from 1, 0 where there is none.

    Args:
        A: matrices [..., m, n].
        pivot: must be True (RuntimeError).
        check_errors: such a 0 is a RuntimeError.
        out: what takes the three results.

    >>> import tandem
    >>> tandem.linalg.lu_factor_ex(tandem.tensor([[2.0, 4.0], [1.0, 2.0]])).info
    tensor(2, dtype=tandem.int32)
    """
    LU, pivots = _C._linalg.lu_factor(A, pivot=pivot)
    zero = LU.detach().diagonal(0, -2, -1) == 0
    first = zero.int().argmax(-1).int() + 1 if zero.shape[-1] else zero.sum(-1).int()
    info = first * zero.any(-1)
    if check_errors and bool(info.any()):
        at = int(info[info > 0][0])
        raise RuntimeError(
            f"torch.linalg.lu_factor_ex: U[{at},{at}] is zero and using it on lu_solve would result in a division by "
            "zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    found = LU, pivots, info
    if out is not None:
        found = tuple(_C.alias_copy(result, out=to) for result, to in zip(found, out))  # type: ignore[assignment]
    return _C._named_result("linalg_lu_factor_ex", ("LU", "pivots", "info"), found)
