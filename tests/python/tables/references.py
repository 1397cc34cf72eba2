"""What operations should give, in NumPy and SciPy, in float64 (integers in their own type).

`reference(op)` is a function of the arguments with arrays for tensors: NumPy's own, found by the name in the record, or
one of those below where NumPy has none or takes its arguments otherwise. None for random operations, whose `PROPERTIES`
are checked instead.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
from operations import Operation
from references_math import OWN as MATH
from references_nn import OWN_NN, nll_loss, reduced
from shape_rows import OWN as SHAPE_OWN
from window_references import WINDOW_REFERENCES

Array = np.ndarray


def axis(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list) else dim


def promoted(*arrays: Array) -> Any:
    return np.result_type(*arrays)


# ---- reductions -----------------------------------------------------------------------------------------------------


def variance(x: Array, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Array:
    return np.var(x, axis=axis(dim), ddof=1 if correction is None else correction, keepdims=keepdim)


def extremum(pick: Callable[..., Array]) -> Callable[..., tuple[Array, Array]]:
    def along(x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        places = np.expand_dims(pick(x, axis=dim), dim)
        values = np.take_along_axis(x, places, dim)
        return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))

    return along


def place(pick: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x, dim=None, keepdim=False: pick(x, axis=dim, keepdims=keepdim)


def order(x: Array, dim: int = -1, descending: bool = False) -> Array:
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    # Descending and stable: the ascending order of the reversed array, read backwards.
    return np.flip(x.shape[dim] - 1 - np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)


def ordered(x: Array, dim: int = -1, descending: bool = False, stable: bool = False) -> tuple[Array, Array]:
    places = order(x, dim, descending)
    return (np.take_along_axis(x, places, dim) if x.ndim else x), places


def topk(x: Array, k: int, dim: int = -1, largest: bool = True) -> tuple[Array, Array]:
    values, places = ordered(x, dim, largest)
    return np.take(values, range(k), dim), np.take(places, range(k), dim)


# ---- shapes ---------------------------------------------------------------------------------------------------------


def expand(x: Array, size: list[int]) -> Array:
    lead = len(size) - x.ndim
    return np.broadcast_to(x, [x.shape[i - lead] if n == -1 else n for i, n in enumerate(size)])


def as_strided(x: Array, size: list[int], stride: list[int], offset: int = 0) -> Array:
    places = sum(
        np.expand_dims(np.arange(n) * s, tuple(range(1, len(size) - i))) for i, (n, s) in enumerate(zip(size, stride))
    )
    return x.reshape(-1)[offset + places]


def unfold(x: Array, dim: int, size: int, step: int) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return np.take(windows, range(0, windows.shape[dim], step), dim)


def flatten(x: Array, start: int = 0, end: int = -1) -> Array:
    if x.ndim == 0:
        return x.reshape(1)
    end %= x.ndim
    return x.reshape([*x.shape[:start], -1, *x.shape[end + 1 :]])


def unflatten(x: Array, dim: int, sizes: list[int]) -> Array:
    dim %= x.ndim
    return x.reshape([*x.shape[:dim], *sizes, *x.shape[dim + 1 :]])


def squeeze(x: Array, dim: Any = None) -> Array:
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    return np.squeeze(x, tuple(d for d in dims if x.shape[d] == 1))


def pieces(x: Array, size: int, dim: int = 0) -> list[Array]:
    return np.split(x, range(size, x.shape[dim], size), dim)


def narrow(x: Array, dim: int, start: Any, length: int) -> Array:
    return np.take(x, range(int(start), int(start) + length), dim)


def cat(arrays: list[Array], dim: int = 0) -> Array:
    # A vector without elements joins anything.
    return np.concatenate([a for a in arrays if a.shape != (0,)], dim)


def repeat(x: Array, repeats: list[int]) -> Array:
    return np.tile(x, repeats)


# ---- indexing -------------------------------------------------------------------------------------------------------


def coordinates(index: Array, dim: int) -> list[Array]:
    at = list(np.indices(index.shape))
    at[dim] = index
    return at


def gather(x: Array, dim: int, index: Array) -> Array:
    return x[tuple(coordinates(index, dim))]


def scatter(x: Array, dim: int, index: Array, src: Any) -> Array:
    out = x.copy()
    at = coordinates(index, dim)
    values = src[tuple(slice(n) for n in index.shape)] if isinstance(src, Array) else src
    out[tuple(at)] = values
    return out


def scatter_add(x: Array, dim: int, index: Array, src: Array) -> Array:
    out = x.copy()
    np.add.at(out, tuple(coordinates(index, dim)), src[tuple(slice(n) for n in index.shape)])
    return out


def index_add(x: Array, dim: int, index: Array, source: Array, alpha: Any = 1) -> Array:
    out = x.copy()
    np.add.at(out, (*[slice(None)] * dim, index), source * promoted(x).type(alpha))
    return out


# ---- networks -------------------------------------------------------------------------------------------------------


def gelu(x: Array, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x / 2 * scipy.special.erfc(-x / np.sqrt(2))


def softmax(x: Array, dim: int) -> Array:
    return scipy.special.softmax(x, dim) if x.ndim else np.ones(())


def log_softmax(x: Array, dim: int) -> Array:
    return scipy.special.log_softmax(x, dim) if x.ndim and x.size else np.zeros_like(x)


def layer_norm(x: Array, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    dims = tuple(range(-len(shape), 0))
    out = (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)
    return out * (1 if weight is None else weight) + (0 if bias is None else bias)


def cross_entropy(
    x: Array,
    target: Array,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0,
) -> Array:
    classes = 1 if x.ndim > 1 else 0
    logs = scipy.special.log_softmax(x, classes)
    if target.dtype == np.float64:
        terms = -(logs * target).sum(classes)
        return terms.mean() if reduction == "mean" else reduced(terms, reduction)
    plain = nll_loss(logs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return plain
    assert weight is None and reduction == "sum"
    return (1 - label_smoothing) * plain - label_smoothing / x.shape[classes] * logs.sum()


def one_hot(target: Array, classes: int) -> Array:
    return (target[..., None] == np.arange(classes)).astype(np.int64)


def divided(x: Array, other: Any, rounding_mode: str | None = None) -> Array:
    if rounding_mode is None:
        return x / other
    if rounding_mode == "floor":
        return np.floor_divide(x, other)
    if np.issubdtype(promoted(x), np.integer):
        return (np.sign(x) * np.sign(other) * (np.abs(x) // np.abs(other))).astype(promoted(x))
    return np.trunc(x / other)


def without_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, dtype=None, **kwargs: function(*args, **kwargs)


OWN: dict[str, Callable[..., Any]] = SHAPE_OWN | {
    **OWN_NN,
    **MATH,
    "relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, np.zeros((), x.dtype))),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / np.asarray(x, np.float64),
    "sign": lambda x: x if x.dtype == bool else np.where(np.isnan(x), np.zeros_like(x), np.sign(x)),
    "clone": lambda x: x,
    "add_alpha": lambda x, y, alpha: x + x.dtype.type(alpha) * y,
    "sub_alpha": lambda x, y, alpha: x - x.dtype.type(alpha) * y,
    "rsub": lambda x, y, alpha=1: y - x.dtype.type(alpha) * x,
    "div_rounding": divided,
    "addcmul": lambda x, a, b, value=1: x + value * a * b,
    "addcdiv": lambda x, a, b, value=1: x + value * a / b,
    "addmm": lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    "lerp": lambda x, end, weight: x + weight * (end - x),
    "clamp": lambda x, min=None, max=None: np.clip(x, min, max),
    "round": np.round,
    "positive": lambda x: x,
    "isclose": lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(x, y, rtol, atol, equal_nan),
    "masked_fill": lambda x, mask, value: np.where(mask, np.asarray(value, x.dtype), x),
    "fill": lambda x, value: np.full_like(x, value),
    "mean": lambda x, dim=None, keepdim=False: np.mean(x, axis=axis(dim), keepdims=keepdim),
    "var": variance,
    "std": lambda *args, **kwargs: np.sqrt(variance(*args, **kwargs)),
    "var_unbiased": lambda x, dim, unbiased, keepdim=False: variance(x, dim, int(unbiased), keepdim),
    "std_unbiased": lambda x, dim, unbiased, keepdim=False: np.sqrt(variance(x, dim, int(unbiased), keepdim)),
    "var_flag": lambda x, unbiased: variance(x, None, int(unbiased)),
    "logsumexp": lambda x, dim, keepdim=False: scipy.special.logsumexp(x, axis=axis(dim), keepdims=keepdim),
    "max_pair": np.maximum,
    "min_pair": np.minimum,
    "max_dim": extremum(np.argmax),
    "min_dim": extremum(np.argmin),
    "argmax": place(np.argmax),
    "argmin": place(np.argmin),
    "cumsum": lambda x, dim: np.cumsum(x, dim) if x.ndim else x,
    "cumprod": lambda x, dim: np.cumprod(x, dim) if x.ndim else x,
    "sort": ordered,
    "argsort": order,
    "topk": topk,
    "view": lambda x, size: x.reshape(size),
    "view_as": lambda x, other: x.reshape(other.shape),
    "reshape_as": lambda x, other: x.reshape(other.shape),
    "expand": expand,
    "expand_as": lambda x, other: np.broadcast_to(x, other.shape),
    "select": lambda x, dim, index: np.take(x, index, dim),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    "as_strided": as_strided,
    "unfold": unfold,
    "contiguous": lambda x: x,
    "flatten": flatten,
    "unflatten": unflatten,
    "squeeze": squeeze,
    "narrow": narrow,
    "narrow_tensor": narrow,
    "chunk": lambda x, chunks, dim=0: pieces(x, -(-x.shape[dim] // chunks), dim),
    "split": pieces,
    "split_sizes": lambda x, sizes, dim=0: np.split(x, np.cumsum(sizes)[:-1], dim),
    "unbind": lambda x, dim=0: list(np.moveaxis(x, dim, 0)),
    "cat": cat,
    "repeat": repeat,
    "gather": gather,
    "take_along_dim": lambda x, places, dim=None: (
        x.reshape(-1)[places.reshape(-1)] if dim is None else np.take_along_axis(x, places, dim)
    ),
    "index_select": lambda x, dim, index: np.take(x, index, dim),
    "scatter": scatter,
    "scatter_add": scatter_add,
    "index_add": index_add,
    "one_hot": one_hot,
    "arange_end": without_dtype(np.arange),
    "empty": without_dtype(np.zeros),
    "empty_like": np.zeros_like,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "linear": lambda x, w, b=None: x @ w.T + (0 if b is None else b),
    "gelu": gelu,
    "silu": lambda x: np.where(np.isneginf(x), -0.0, x / (1 + np.exp(-x))),
    "layer_norm": layer_norm,
    "cross_entropy": cross_entropy,
    "lgamma": lambda x: np.where(np.isneginf(x), np.inf, scipy.special.gammaln(x)),
    **WINDOW_REFERENCES,
}


def uniform(y: Array) -> bool:
    return bool(((y >= 0) & (y < 1)).all() and (y.size < 100 or 0.4 < y.mean() < 0.6))


def normal(y: Array) -> bool:
    return bool(y.size < 100 or (abs(y.mean()) < 0.3 and 0.8 < y.std() < 1.2))


def integers(low: int, high: int) -> Callable[[Array], bool]:
    return lambda y: bool(((y >= low) & (y < high)).all() and (y.size < 100 or set(y) == set(range(low, high))))


def zeros_and_ones(p):
    return lambda y: set(np.unique(y)) <= {0, 1} and (y.size < 100 or abs(y.mean() - p) < 0.15)


def drawn(weights: Array, count: int, replacement: bool = False) -> Callable[[Array], bool]:
    def good(y: Array) -> bool:
        possible = np.take_along_axis(weights, y.astype(int), -1) > 0
        different = all(len(set(row)) == count for row in y.reshape(-1, count))
        return bool(possible.all() and (replacement or different) and y.shape == (*weights.shape[:-1], count))

    return good


# What random operations have to satisfy: a check of the result by the arguments. The streams themselves and their
# moments over many numbers are in test_modes.py and the C++ tests.
PROPERTIES: dict[str, Callable[..., Callable[[Array], bool]]] = {
    "rand": lambda *a, **k: uniform,
    "rand_like": lambda *a, **k: uniform,
    "randn": lambda *a, **k: normal,
    "randn_like": lambda *a, **k: normal,
    "randint": lambda low, high, size, **k: integers(low, high),
    "randint_like": lambda x, low, high, **k: integers(low, high),
    "randint_like_high": lambda x, high, **k: integers(0, high),
    "normal_at": lambda *a, **k: normal,
    "normal_around": lambda *a, **k: normal,
    "normal_of_size": lambda *a, **k: normal,
    "multinomial": drawn,
    "randint_high": lambda high, size, **k: integers(0, high),
    "randperm": lambda n, **k: lambda y: sorted(y) == list(range(n)),
    "bernoulli": lambda x: zeros_and_ones(x.mean() if x.size else 0),
    "bernoulli_prob": lambda x, p: zeros_and_ones(p),
    "dropout": lambda x, p=0.5, training=True: (
        lambda y: bool(
            np.all((y == 0) | np.isclose(y, x / (1 - p if training and p < 1 else 1), rtol=1e-2))
            and (x.size < 100 or abs((y == 0).mean() - p) < 0.15)
        )
    ),
}
# Results whose elements are not specified.
UNSPECIFIED = {"empty", "empty_like"}


def reference(op: Operation) -> Callable[..., Any] | None:
    if op.name in PROPERTIES:
        return None
    if op.name in OWN:
        return OWN[op.name]
    assert op.reference, f"{op.name}: no reference in its record and none in tests/python/tables/references.py"
    module, _, name = op.reference.rpartition(".")
    function = getattr(importlib.import_module(module or "numpy"), name)
    if op.samples == "reduction":
        return lambda x, dim=None, keepdim=False: function(x, axis=axis(dim), keepdims=keepdim)
    return without_dtype(function)
