"""`tandem.linalg`: linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem import _C
from tandem._functions import _need_tensor

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
    _need_tensor("linalg.vander", x, "x")
    if x.dtype is _C.bool:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    x = _C.atleast_1d(x)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand(*x.shape, count - 1).cumprod(-1)
    return _C.cat((_C.ones_like(powers[..., :1]), powers), -1)
