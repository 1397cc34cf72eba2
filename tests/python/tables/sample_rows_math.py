"""Arguments of composites and library operations: elements, statistics, products and contractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from operations import Operation
from sample_rows import SPECIAL, Sample, Values, call

HOLES = np.array([[1.25, np.nan, -2.5, 0.75], [np.nan, np.nan, 3.25, -1.75]])


def moments(v: Values) -> list[Sample]:
    return [call(v(4, 5, 6)), call(v(4, 5, 6), 1), call(v(4, 5), (0, 1), keepdim=True), call(v(4, 5), 0, correction=0)]


def unbiased(v: Values) -> list[Sample]:
    return [call(v(4, 5), 0, True), call(v(4, 5), [0, 1], False, True)]


def along(v: Values) -> list[Sample]:
    return [call(v(4, 5), 0), call(v(4, 5), -1), call(v(70), 0), call(v(0, 3), 0), call(v(), 0), call(v(2, 3, 4), 1)]


def lines(v: Values) -> list[Sample]:
    return [call(v(4, 5), 0), call(v(4, 5), -1, True), call(v(2, 7, 3), 1), call(v(0, 3), 1)]


def levels(v: Values) -> list[Sample]:
    q = np.array([0.125, 0.5, 0.9375])
    return [
        call(v(4, 5), q),
        call(v(4, 5), q, 1, True),
        call(v(4, 5), q, 0, interpolation="lower"),
        call(v(7), np.array(0.3125)),
        call(v(2, 3, 4), q, 1, interpolation="nearest"),
        call(v(4, 5), q, interpolation="higher", keepdim=True),
        call(v(4, 5), q, -1, interpolation="midpoint"),
        call(HOLES, q, 1),
    ]


def level(v: Values) -> list[Sample]:
    return [
        call(v(4, 5), 0.3),
        call(v(4, 5), 0.8, 1, True),
        call(v(4, 5), 0.5, 0, interpolation="lower"),
        call(v(7), 1.0),
        call(v(4, 5), 0.25, interpolation="midpoint"),
        call(HOLES, 0.5, 1),
    ]


def vectors(v: Values) -> list[Sample]:
    return [call(v(4, 3), v(4, 3)), call(v(3, 5), v(3, 5), dim=0), call(v(2, 3, 3), v(1, 3, 3)), call(v(0, 3), v(0, 3))]


def batches(v: Values) -> list[Sample]:
    return [
        call(v(3, 5), v(2, 3, 4), v(2, 4, 5)),
        call(v(5), v(2, 3, 4), v(2, 4, 5), beta=2, alpha=3),
        call(v(3, 5), v(2, 3, 4), v(2, 4, 5), beta=0),
    ]


EQUATIONS: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk->ik", ((3, 4), (4, 5))),
    ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
    ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))),
    ("bqhd,bkhd->bhqk", ((2, 4, 3, 5), (2, 6, 3, 5))),
    ("i,i->", ((7,), (7,))),
    ("i,j->ij", ((3,), (4,))),
    ("bi,bi->b", ((3, 4), (3, 4))),
    ("ij->ji", ((3, 4),)),
    ("ij->", ((3, 4),)),
    ("ii->i", ((4, 4),)),
    ("ii", ((4, 4),)),
    ("...ij,...jk", ((2, 1, 3, 4), (5, 4, 2))),
    ("b...i,ij->b...j", ((2, 3, 5, 4), (4, 6))),
    ("abc,cd,bd->a", ((2, 3, 4), (4, 5), (3, 5))),
    ("ij,jk,kl,lm->im", ((2, 3), (3, 4), (4, 5), (5, 2))),
    ("ab,ac,ad->bcd", ((4, 2), (4, 3), (4, 2))),
    ("ij,ij->ij", ((3, 4), (3, 1))),
    ("ijk,ikl->lij", ((2, 3, 4), (2, 4, 5))),
    ("abcd,cdab->", ((2, 3, 4, 2), (4, 2, 2, 3))),
    ("abcd,bdc->ab", ((2, 3, 4, 5), (3, 5, 4))),
    ("iij,jk->ik", ((3, 3, 4), (4, 2))),
    ("ij,jk->ki", ((3, 4), (4, 5))),
    ("Ab,bA", ((3, 4), (4, 3))),
    ("ij,kj->", ((0, 3), (2, 3))),
    (" i j , j -> i ", ((3, 0), (0,))),
    ("a,ab,abc,abcd->d", ((2,), (2, 3), (2, 3, 4), (2, 3, 4, 2))),
]

POLYNOMIALS = [f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"]
POLYNOMIALS += "hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p".split()


def polynomials(v: Values) -> list[Any]:
    return [
        call(v(4, 5), 3),
        call(v(4, 1), v.below(6, 5)),
        call(2, v.below(6, 4)),
        call(v(3, low=0, high=1), v.away_from_zero(2, 1)),
        call(v(0, 3), 2),
        call(v(), v.below(4)),
    ]


ROWS: dict[str, Callable[[Values], Any]] = {
    # elements
    "xlogy": lambda v: [
        call(v(4, 5), v(4, 5, low=0.2)),
        call(v(4, 1), v(5, low=0.2)),
        call(v(4), 2.5),
        call(2, v(4, low=0.2)),
        call(v(0, 3), v(1, 3, low=0.2)),
        call(SPECIAL, SPECIAL[:, None]),
    ],
    "xlog1py": lambda v: [
        call(v(4, 5), v(4, 5, low=-0.9)),
        call(v(4), 2.5),
        call(2, v(4, low=-0.9)),
        call(SPECIAL, SPECIAL[:, None]),
    ],
    "logit": lambda v: [
        call(v(4, 5, low=0, high=1)),
        call(v(4, 5, low=0, high=1), 0.3),
        call(v(6), eps=0.125),
        call(SPECIAL),
        call(v(0, 3)),
    ],
    "nan_to_num": lambda v: [
        call(v(4, 5)),
        call(HOLES),
        call(SPECIAL, nan=1.0, posinf=3.0, neginf=-2.0),
        call(SPECIAL, 2.0, 3.0, 4.0),
        call(v()),
    ],
    "clamp_min": lambda v: [call(v(4, 5), 1), call(v(4, 5), v(5)), call(SPECIAL, 0), call(v(), 0)],
    "clamp_max": lambda v: [call(v(4, 5), 1), call(v(4, 5), v(5)), call(SPECIAL, 0), call(v(), 0)],
    "heaviside": lambda v: [call(v(4, 5), v(5)), call(SPECIAL, v(7)), call(v(0, 3), v(3))],
    "isposinf": lambda v: [call(v(4, 5)), call(SPECIAL)],
    "isneginf": lambda v: [call(v(4, 5)), call(SPECIAL)],
    "deg2rad": lambda v: [call(v(4, 5)), call(v())],
    "rad2deg": lambda v: [call(v(4, 5)), call(v())],
    "ldexp": lambda v: [call(v(4, 5), v(4, 5)), call(v(4, 1), v(5)), call(v(6), v.below(5, 6)), call(v(), v())],
    "float_power": lambda v: [call(v(4, 5, low=0.4), v(5)), call(v(4, low=0.4), 2), call(v(4, low=0.4), -0.5)],
    "float_power_of": lambda v: [call(2, v(4, 5)), call(0.5, v())],
    "rdiv": lambda v: [call(v.away_from_zero(4, 5), v(5)), call(v.away_from_zero(4), 3)],
    "expit": lambda v: [call(v(4, 5)), call(SPECIAL), call(v(0, 3))],
    "entr": lambda v: [call(v(4, 5, low=0.2)), call(SPECIAL), call(v(0, 3))],
    "ndtr": lambda v: [call(v(4, 5)), call(SPECIAL), call(v(0, 3))],
    "isreal": lambda v: [call(v(4, 5)), call(SPECIAL), call(v(0, 3))],
    "frexp": lambda v: [call(v(4, 5)), call(SPECIAL), call(v(0, 3)), call(v())],
    "nextafter": lambda v: [call(v(4, 5), v(4, 5)), call(v(4, 1), v(5)), call(v(0, 3), v(3)), call(v(), v())],
    "modified_bessel_i0": lambda v: [call(v(4, 5)), call(SPECIAL), call(v(0, 3))],
    "modified_bessel_i1": lambda v: [call(v(4, 5)), call(SPECIAL), call(v(0, 3))],
    **dict.fromkeys(POLYNOMIALS, polynomials),
    # statistics
    "var_mean": moments,
    "std_mean": moments,
    "var_mean_unbiased": unbiased,
    "std_mean_unbiased": unbiased,
    "var_mean_flag": lambda v: [call(v(4, 5), True), call(v(4, 5), unbiased=False)],
    "std_mean_flag": lambda v: [call(v(4, 5), True), call(v(4, 5), unbiased=False)],
    "std_flag": lambda v: [call(v(4, 5), True), call(v(4, 5), unbiased=False)],
    "aminmax": lambda v: [call(v(4, 5)), call(v(4, 5), dim=0), call(v(4, 5), dim=-1, keepdim=True), call(SPECIAL)],
    "nansum": lambda v: [call(v(4, 5)), call(v(4, 5), 1), call(HOLES), call(HOLES, (0,), True), call(v(0, 3), 0)],
    "nanmean": lambda v: [call(v(4, 5)), call(v(4, 5), 1), call(HOLES), call(HOLES, (0,), True)],
    "count_nonzero": lambda v: [call(v(4, 5)), call(v(4, 5), 1), call(SPECIAL), call(v(4, 5), (0, 1)), call(v())],
    "median": lambda v: [call(v(4, 5)), call(v(7)), call(v()), call(HOLES)],
    "nanmedian": lambda v: [call(v(4, 5)), call(v(7)), call(v()), call(HOLES)],
    "median_dim": lambda v: [*lines(v), call(HOLES, 1), call(v(), 0)],
    "nanmedian_dim": lambda v: [*lines(v), call(HOLES, 1), call(v(), 0)],
    "kthvalue": lambda v: [
        call(v(4, 5), 2),
        call(v(4, 5), 4, 0, True),
        call(v(2, 7, 3), 3, 1),
        call(HOLES, 4, 1),
        call(v(), 1),
    ],
    "mode": lambda v: [*lines(v), call(np.array([[3.25, 1.25, 3.25, 1.25, 2.25]])), call(v(), 0)],
    "quantile": levels,
    "nanquantile": levels,
    "quantile_at": level,
    "nanquantile_at": level,
    "histc": lambda v: [call(v(4, 5)), call(v(50), 7), call(v(50), 5, -2, 2), call(v(6), 4, 9, 9), call(v(0), 3)],
    "bincount": lambda v: [
        call(v.below(5, 20)),
        call(v.below(5, 20), minlength=9),
        call(v.below(5, 20), v(20)),
        call(v.below(5, 0), minlength=3),
    ],
    "cov": lambda v: [
        call(v(3, 7)),
        call(v(5)),
        call(v(3, 7), correction=0),
        call(v(3, 4), fweights=np.array([1, 2, 3, 1])),
        call(v(3, 7), aweights=v(7, low=0.2)),
        call(v(3, 4), fweights=np.array([1, 2, 3, 1]), aweights=v(4, low=0.2)),
    ],
    "corrcoef": lambda v: [call(v(3, 7)), call(v(5))],
    "trapezoid": lambda v: [call(v(4, 5), v(5)), call(v(4, 5), v(4, 5), dim=0), call(v(6), v(6))],
    "trapezoid_dx": lambda v: [call(v(4, 5)), call(v(4, 5), dx=2.5, dim=0), call(v(0, 3), dim=0)],
    "cumulative_trapezoid": lambda v: [call(v(4, 5), v(5)), call(v(4, 5), v(4, 5), dim=0), call(v(6), v(6))],
    "cumulative_trapezoid_dx": lambda v: [call(v(4, 5)), call(v(4, 5), dx=2.5, dim=0)],
    "cummax": lambda v: [*along(v), call(SPECIAL, 0)],
    "cummin": lambda v: [*along(v), call(SPECIAL, 0)],
    "logcumsumexp": lambda v: [*along(v), call(SPECIAL[1:], 0), call(np.array([-np.inf, -np.inf, 1.0, 2.0]), 0)],
    "gcd": lambda v: [call(v(4, 5), v(5)), call(v(6), v(1, 6)), call(v(), v()), call(v(0, 3), v(3))],
    "lcm": lambda v: [call(v(4, 5), v(5)), call(v(6), v(1, 6)), call(v(), v()), call(v(0, 3), v(3))],
    # contractions
    "einsum": lambda v: [call(e, *(v(*shape) for shape in shapes)) for e, shapes in EQUATIONS],
    "tensordot": lambda v: [
        call(v(2, 3, 4), v(3, 4, 5)),
        call(v(2, 3), v(3, 4), 1),
        call(v(2, 3), v(4), 0),
        call(v(2, 3, 4), v(4, 2, 5), ([0, 2], [1, 0])),
        call(v(0, 3), v(3, 4), 1),
    ],
    "inner": lambda v: [call(v(4), v(4)), call(v(2, 3), v(5, 3)), call(v(), v(3)), call(v(0, 3), v(2, 3))],
    "vdot": lambda v: [call(v(7), v(7)), call(v(0), v(0))],
    "kron": lambda v: [call(v(2, 3), v(3, 2)), call(v(3), v(2, 2)), call(v(), v(2, 3)), call(v(0, 2), v(2, 2))],
    "trace": lambda v: [call(v(4, 5)), call(v(3, 3)), call(v(0, 3))],
    "addmv": lambda v: [
        call(v(3), v(3, 4), v(4)),
        call(v(1), v(3, 4), v(4), beta=2, alpha=3),
        call(v(), v(3, 4), v(4)),
    ],
    "addr": lambda v: [call(v(3, 4), v(3), v(4)), call(v(4), v(3), v(4), beta=2, alpha=3)],
    "baddbmm": lambda v: [call(v(2, 3, 5), v(2, 3, 4), v(2, 4, 5)), *batches(v)],
    "addbmm": batches,
    "multi_dot": lambda v: [
        call([v(3, 4), v(4, 5)]),
        call([v(4), v(4, 2), v(2, 5), v(5)]),
        call([v(2, 6), v(6, 3), v(3, 5), v(5, 2)]),
    ],
    "chain_matmul": lambda v: [call(v(3, 4), v(4, 5)), call(v(2, 6), v(6, 3), v(3, 5)), call(v(2, 3))],
    "matrix_power": lambda v: [call(v(3, 3, high=1, low=-1), n) for n in (0, 1, 2, 5)] + [call(v(2, 3, 3), 3)],
    "cross": lambda v: [call(v(4, 3), v(4, 3)), call(v(3, 5), v(3, 5), 0), call(v(5, 3), v(1, 3), -1)],
    "linalg_cross": vectors,
    "vecdot": vectors,
    "linalg_matmul": lambda v: [call(v(3, 4), v(4, 5)), call(v(2, 3, 4), v(4))],
    "linalg_diagonal": lambda v: [call(v(2, 4, 5)), call(v(4, 5), offset=1), call(v(2, 4, 5), dim1=0, dim2=1)],
    "norm_named": lambda v: [call(v(4, 5), "fro"), call(v(4, 5), "fro", 1, True), call(v(2, 3, 4), "fro", (0, 2))],
    "dist": lambda v: [call(v(4, 5), v(4, 5)), call(v(4, 5), v(5), 1), call(v(6), v(6), 3), call(v(6), v(6), math.inf)],
    "cdist": lambda v: [
        call(v(4, 3), v(5, 3)),
        call(v(2, 4, 3), v(5, 3), 1),
        call(v(4, 3), v(5, 3), 3.0),
        call(v(4, 3), v(5, 3), math.inf),
        call(v(4, 3), v(5, 3), 2, "use_mm_for_euclid_dist"),
        call(v(0, 3), v(5, 3)),
    ],
    "vector_norm": lambda v: [
        call(v(4, 5), p, dim, keep)
        for p in (2, 1, 0, 3, 1.5, 0.5, math.inf, -math.inf)
        for dim, keep in ((None, False), (1, True))
    ],
    "matrix_norm": lambda v: [call(v(4, 5)), call(v(2, 4, 5), "fro", (0, 1)), call(v(2, 4, 5), keepdim=True)],
    "matrix_norm_of": lambda v: [
        call(v(2, 4, 5), p, dim, keep)
        for p in (1, -1, math.inf, -math.inf)
        for dim, keep in (((-2, -1), False), ((2, 0), True))
    ],
    "linalg_norm": lambda v: [call(v(2, 4, 5)), call(v(4, 5), 1), call(v(6), 3), call(v(2, 4, 5), 2, 1, True)],
    "linalg_norm_named": lambda v: [call(v(4, 5), "fro"), call(v(2, 4, 5), "fro", (1, 2), True)],
    "linalg_svdvals": lambda v: [call(v(4, 4)), call(v(2, 5, 3)), call(v(3, 34)), call(v(0, 3)), call(v(0, 2, 2))],
    "matrix_exp": lambda v: [call(v(3, 3)), call(v(2, 4, 4) / 8), call(v(1, 1)), call(v(34, 34) / 16), call(v(0, 0))],
    "normalize": lambda v: [
        call(v(4, 5)),
        call(v(4, 5), 1, 0),
        call(v(2, 3, 4), p=3, dim=-1),
        call(v(4, 5), 2, 1, 9.0),
    ],
}


def shifts(op: Operation, v: Values) -> Iterator[Sample]:
    """Integers and numbers of places, too few and too many among them."""
    few = np.abs(v(5))
    far = np.array([-1.0, 0.0, 1.0, 2.5, 10.0, 30.0])
    yield call(v(4, 5), few)
    yield call(v(4, 1), few)
    yield call(v(6), far)
    yield call(v(), np.asarray(np.abs(v())))
    yield call(v(0, 3), np.abs(v(3)))
    yield call(v(4, 5), 2)
    yield call(3, few)
