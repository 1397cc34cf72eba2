"""References of operations on elements, of statistics, products and contractions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance
import scipy.special

Array = np.ndarray


def axis(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list) else dim


# ---- elements -------------------------------------------------------------------------------------------------------


def logit(x: Array, eps: float | None = None) -> Array:
    return scipy.special.logit(x if eps is None else np.clip(x, eps, 1 - eps))


def nan_to_num(x: Array, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf) if x.dtype.kind == "f" else x


def heaviside(x: Array, values: Array) -> Array:
    return np.where(x == 0, values, (x > 0).astype(x.dtype))


def shifted(by: Callable[[int, int, int], int]) -> Callable[..., Array]:
    def shift(x: Any, n: Any) -> Array:
        dtype = x.dtype if isinstance(x, Array) else n.dtype
        info = np.iinfo(dtype)
        count = int(info.max) - int(info.min) + 1

        def one(a: int, places: int) -> int:
            value = by(int(a), int(places), info.bits) % count
            return value - count if value > info.max else value

        return np.vectorize(one, otypes=[dtype])(x, n)

    return shift


def left(x: int, n: int, bits: int) -> int:
    return x << n if 0 <= n < bits else 0


def right(x: int, n: int, bits: int) -> int:
    return x >> (n if 0 <= n < bits else bits)


# ---- statistics -----------------------------------------------------------------------------------------------------


def variance(x: Array, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Array:
    return np.var(x, axis=axis(dim), ddof=1 if correction is None else correction, keepdims=keepdim)


def with_mean(spread: Callable[[Array], Array]) -> Callable[..., tuple[Array, Array]]:
    def moments(x: Array, dim: Any = None, correction: Any = None, keepdim: bool = False) -> tuple[Array, Array]:
        return spread(variance(x, dim, correction, keepdim)), np.mean(x, axis=axis(dim), keepdims=keepdim)

    return moments


def biased(moments: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim, unbiased, keepdim=False: moments(x, dim, int(unbiased), keepdim)


def of_all(moments: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, unbiased: moments(x, None, int(unbiased))


def chosen(choose: Callable[[Array], tuple[Any, int]]) -> Callable[..., tuple[Array, Array]]:
    """Values and places along a dim, by a function of one line."""

    def along(x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
        lines = np.moveaxis(x, dim, -1) if x.ndim else x.reshape(1)
        values, places = np.zeros(lines.shape[:-1], x.dtype), np.zeros(lines.shape[:-1], np.int64)
        for lead in np.ndindex(lines.shape[:-1]):
            values[lead], places[lead] = choose(lines[lead])
        if keepdim and x.ndim:
            values, places = np.expand_dims(values, dim), np.expand_dims(places, dim)
        return values, places

    return along


def first(line: Array, value: Any) -> tuple[Any, int]:
    return value, int(np.nonzero((line == value) | ((line != line) & (value != value)))[0][0])


def middle(line: Array) -> tuple[Any, int]:
    if np.isnan(line).any():
        return first(line, np.nan)
    return first(line, np.sort(line)[(len(line) - 1) // 2])


def nan_middle(line: Array) -> tuple[Any, int]:
    kept = line[~np.isnan(line)]
    return middle(kept if len(kept) else line)[0], middle_place(line, kept)


def middle_place(line: Array, kept: Array) -> int:
    return first(line, middle(kept if len(kept) else line)[0])[1]


def most_frequent(line: Array) -> tuple[Any, int]:
    values, counts = np.unique(line, return_counts=True)
    value = values[counts.argmax()]
    return value, int(np.nonzero(line == value)[0][-1])


def kth(x: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    return chosen(lambda line: first(line, np.sort(line)[k - 1]))(x, dim, keepdim)


def median(x: Array, choose: Callable[[Array], tuple[Any, int]] = middle) -> Array:
    return np.asarray(choose(x.reshape(-1))[0])


def quantile(function: Callable[..., Array]) -> Callable[..., Array]:
    def of(x: Array, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear") -> Array:
        return function(x, q, axis=dim, keepdims=keepdim, method=interpolation)

    return of


def histc(x: Array, bins: int = 100, low: float = 0, high: float = 0) -> Array:
    if low == high:
        low, high = (x.min(), x.max()) if x.size else (0, 1)
        if low == high:
            low, high = low - 1, high + 1
    return np.histogram(x, bins, (low, high))[0].astype(x.dtype)


def running(function: Any, pick: Callable[[Any, Any], bool]) -> Callable[..., tuple[Array, Array]]:
    def along(x: Array, dim: int) -> tuple[Array, Array]:
        if not x.ndim:
            return x, np.zeros((), np.int64)
        lines = np.moveaxis(x, dim, -1)
        values = function.accumulate(lines, axis=-1) if x.size else lines
        places = np.zeros(lines.shape, np.int64)
        for lead in np.ndindex(lines.shape[:-1]):
            for i, value in enumerate(lines[lead]):
                new = i == 0 or value != value or pick(value, values[(*lead, i - 1)])
                places[(*lead, i)] = i if new else places[(*lead, i - 1)]
        return np.moveaxis(values, -1, dim), np.moveaxis(places, -1, dim)

    return along


def trapezoid(y: Array, x: Any = None, dx: float = 1, dim: int = -1) -> Array:
    return np.trapezoid(y, x, dx, dim)


def cumulative_trapezoid(y: Array, x: Any = None, dx: float = 1, dim: int = -1) -> Array:
    y = np.moveaxis(y, dim, -1)
    steps = dx if x is None else np.diff(np.moveaxis(x, dim if x.ndim > 1 else -1, -1))
    return np.moveaxis(np.cumsum((y[..., 1:] + y[..., :-1]) * steps / 2, -1), -1, dim)


# ---- contractions ---------------------------------------------------------------------------------------------------


def chain(matrices: Any) -> Array:
    product = matrices[0]
    for m in matrices[1:]:
        product = product @ m
    return product


def cross(x: Array, y: Array, dim: int | None = None) -> Array:
    x, y = np.broadcast_arrays(x, y)
    dim = x.shape.index(3) if dim is None else dim
    return np.cross(x, y, axis=dim)


def norm(x: Array, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Array:
    p = 2 if p in (None, "fro") else p
    size = np.abs(x)
    if np.isinf(p):
        return (np.max if p > 0 else np.min)(size, axis=axis(dim), keepdims=keepdim)
    if p == 0:
        return np.sum(size != 0, axis=axis(dim), keepdims=keepdim)
    return np.sum(size**p, axis=axis(dim), keepdims=keepdim) ** (1 / p)


def matrix_norm(x: Array, order: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Array:
    return np.linalg.norm(x, order, tuple(dim), keepdim)


def matrix_exp(x: Array) -> Array:
    """By 30 terms of the series, of a matrix that is squared 10 times."""
    x = x / 1024
    total = term = np.broadcast_to(np.eye(x.shape[-1]), x.shape)
    for k in range(1, 31):
        term = term @ x / k
        total = total + term
    for _ in range(10):
        total = total @ total
    return total


def cdist(x: Array, y: Array, p: float = 2, mode: Any = None) -> Array:
    return norm(x[..., :, None, :] - y[..., None, :, :], p, -1)


def normalize(x: Array, p: float = 2, dim: int = 1, eps: float = 1e-12) -> Array:
    return x / np.maximum(norm(x, p, dim, True), eps)


def polynomial(evaluate: Callable[..., Array]) -> Callable[..., Array]:
    """Of the truncated degree; 0 below degree 0."""

    def run(x: Any, n: Any) -> Array:
        degree = np.trunc(n).astype(np.int64) if isinstance(n, np.ndarray) else int(n)
        value = evaluate(np.maximum(degree, 0), np.asarray(x, np.float64))
        return np.where(np.asarray(degree) < 0, 0.0, value)

    return run


def chebyshev_sum(sign: int) -> Callable[..., Array]:
    """U_n + sign U_(n-1): the polynomials of the third and fourth kind."""

    def run(n: Any, x: Array) -> Array:
        before = scipy.special.eval_chebyu(np.maximum(np.asarray(n) - 1, 0), x)
        return scipy.special.eval_chebyu(n, x) + sign * np.where(np.asarray(n) > 0, before, 0)

    return run


CHEBYSHEV = {
    "t": scipy.special.eval_chebyt,
    "u": scipy.special.eval_chebyu,
    "v": chebyshev_sum(-1),
    "w": chebyshev_sum(1),
}


def limit_at(infinities: tuple[float, float], function: Callable[..., Array]) -> Callable[..., Array]:
    """With the limits at -inf and inf, where SciPy gives NaN."""
    return lambda x: np.where(np.isinf(x), np.where(x < 0, *infinities), function(x))


OWN: dict[str, Callable[..., Any]] = {
    **{name: limit_at((np.inf, np.inf), scipy.special.i0) for name in ("i0", "modified_bessel_i0")},
    **{name: limit_at((-np.inf, np.inf), scipy.special.i1) for name in ("i1", "modified_bessel_i1")},
    "bessel_j0": limit_at((0, 0), scipy.special.j0),
    "bessel_j1": limit_at((0, 0), scipy.special.j1),
    "bessel_y0": limit_at((np.nan, 0), scipy.special.y0),
    "bessel_y1": limit_at((np.nan, 0), scipy.special.y1),
    "airy_ai": limit_at((0, 0), lambda x: scipy.special.airy(x)[0]),
    "spherical_bessel_j0": limit_at((0, 0), lambda x: np.sinc(x / np.pi)),
    "angle": lambda x: np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0)),
    "frexp": lambda x: list(np.frexp(x)),
    **{f"chebyshev_polynomial_{k}": polynomial(f) for k, f in CHEBYSHEV.items()},
    **{
        f"shifted_chebyshev_polynomial_{k}": polynomial(lambda n, x, f=f: f(n, 2 * x - 1)) for k, f in CHEBYSHEV.items()
    },
    "hermite_polynomial_h": polynomial(scipy.special.eval_hermite),
    "hermite_polynomial_he": polynomial(scipy.special.eval_hermitenorm),
    "laguerre_polynomial_l": polynomial(scipy.special.eval_laguerre),
    "legendre_polynomial_p": polynomial(scipy.special.eval_legendre),
    "signbit": lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0,
    "frac": lambda x: x - np.trunc(x),
    "logit": logit,
    "nan_to_num": nan_to_num,
    "clamp_min": np.maximum,
    "clamp_max": np.minimum,
    "heaviside": heaviside,
    "isposinf": lambda x: x == np.inf,
    "isneginf": lambda x: x == -np.inf,
    "deg2rad": lambda x: x * (np.pi / 180),
    "rad2deg": lambda x: x * (180 / np.pi),
    "ldexp": lambda x, n: x * 2.0**n,
    "float_power": lambda x, e: np.float_power(x, e),
    "float_power_of": lambda x, e: np.float_power(x, e),
    "rdiv": lambda x, y: y / x,
    "bitwise_left_shift": shifted(left),
    "bitwise_right_shift": shifted(right),
    "var_mean": with_mean(lambda x: x),
    "std_mean": with_mean(np.sqrt),
    "var_mean_unbiased": biased(with_mean(lambda x: x)),
    "std_mean_unbiased": biased(with_mean(np.sqrt)),
    "var_mean_flag": of_all(with_mean(lambda x: x)),
    "std_mean_flag": of_all(with_mean(np.sqrt)),
    "std_flag": lambda x, unbiased: np.sqrt(variance(x, None, int(unbiased))),
    "aminmax": lambda x, dim=None, keepdim=False: (
        np.min(x, axis=dim, keepdims=keepdim),
        np.max(x, axis=dim, keepdims=keepdim),
    ),
    "nansum": lambda x, dim=None, keepdim=False: np.nansum(x, axis=axis(dim), keepdims=keepdim),
    "nanmean": lambda x, dim=None, keepdim=False: np.nanmean(x, axis=axis(dim), keepdims=keepdim),
    "median": median,
    "nanmedian": lambda x: median(x, nan_middle),
    "median_dim": chosen(middle),
    "nanmedian_dim": chosen(nan_middle),
    "kthvalue": kth,
    "mode": chosen(most_frequent),
    "quantile": quantile(np.quantile),
    "nanquantile": quantile(np.nanquantile),
    "quantile_at": quantile(np.quantile),
    "nanquantile_at": quantile(np.nanquantile),
    "histc": histc,
    "cov": lambda x, correction=1, fweights=None, aweights=None: np.cov(
        x, ddof=correction, fweights=fweights, aweights=aweights
    ),
    "trapezoid": trapezoid,
    "trapezoid_dx": trapezoid,
    "cumulative_trapezoid": cumulative_trapezoid,
    "cumulative_trapezoid_dx": cumulative_trapezoid,
    "cummax": running(np.maximum, lambda a, b: a >= b),
    "cummin": running(np.minimum, lambda a, b: a <= b),
    "logcumsumexp": lambda x, dim: np.logaddexp.accumulate(x, axis=dim) if x.size and x.ndim else x,
    "einsum": lambda equation, *operands: np.einsum(equation.replace(" ", ""), *operands),
    "tensordot": lambda a, b, dims=2: np.tensordot(a, b, dims),
    "addmv": lambda x, m, u, beta=1, alpha=1: beta * x + alpha * (m @ u),
    "addr": lambda x, a, b, beta=1, alpha=1: beta * x + alpha * np.outer(a, b),
    "baddbmm": lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    "addbmm": lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b).sum(0),
    "multi_dot": chain,
    "chain_matmul": lambda *matrices: chain(matrices),
    "matrix_power": np.linalg.matrix_power,
    "cross": cross,
    "linalg_cross": lambda x, y, dim=-1: cross(x, y, dim),
    "vecdot": lambda x, y, dim=-1: (x * y).sum(dim),
    "linalg_matmul": np.matmul,
    "linalg_diagonal": lambda x, offset=0, dim1=-2, dim2=-1: np.diagonal(x, offset, dim1, dim2),
    "norm": norm,
    "norm_named": norm,
    "dist": lambda x, y, p=2: norm(x - y, p),
    "cdist": cdist,
    "vector_norm": norm,
    "matrix_norm": matrix_norm,
    "matrix_norm_of": matrix_norm,
    "linalg_norm": lambda x, p=None, dim=None, keepdim=False: (
        matrix_norm(x, p) if p is not None and dim is None and x.ndim == 2 else norm(x, p, dim, keepdim)
    ),
    "linalg_norm_named": lambda x, p, dim=(-2, -1), keepdim=False: matrix_norm(x, p, dim, keepdim),
    "linalg_svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
    "matrix_exp": matrix_exp,
    "normalize": normalize,
}
