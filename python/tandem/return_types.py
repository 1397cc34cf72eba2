"""`tandem.return_types`: the classes of results with named parts.

>>> import tandem
>>> isinstance(tandem.tensor([3, 1]).sort(), tandem.return_types.sort)
True
"""

from __future__ import annotations

from typing import Any

from tandem import _C, _histograms, _older_linalg

# What has parts of these names.
_PARTS = {
    "values indices": "cummax cummin kthvalue max median min mode nanmedian sort topk",
    "min max": "aminmax",
    "mantissa exponent": "frexp",
    "a tau": "geqrf",
    "L info": "linalg_cholesky_ex",
    "eigenvalues eigenvectors": "linalg_eigh",
    "inverse info": "linalg_inv_ex",
    "LD pivots": "linalg_ldl_factor",
    "LD pivots info": "linalg_ldl_factor_ex",
    "solution residuals rank singular_values": "linalg_lstsq",
    "P L U": "linalg_lu lu_unpack",
    "LU pivots": "linalg_lu_factor",
    "LU pivots info": "linalg_lu_factor_ex",
    "Q R": "linalg_qr qr",
    "result info": "linalg_solve_ex",
    "U S Vh": "linalg_svd",
    "sign logabsdet": "slogdet",
    "U S V": "svd",
}

_classes: dict[str, type[Any]] = {
    name: type(_C._named_result(name, (fields := tuple(parts.split())), fields))
    for parts, names in _PARTS.items()
    for name in names.split()
}
_classes |= {
    "histogram": _histograms.Histogram,
    "histogramdd": _histograms.HistogramDD,
    "linalg_slogdet": _classes["slogdet"],
    "triangular_solve": _older_linalg.TriangularSolve,
}
globals().update(_classes)

#: All of them.
all_return_types: list[type[Any]] = list(_classes.values())

__all__ = ["all_return_types", "pytree_register_structseq", *_classes]  # noqa: PLE0604


def pytree_register_structseq(cls: type[Any]) -> None:
    """Does nothing: `tandem.utils._pytree` takes these classes apart without being told."""
