"""Arguments and references for operations on shapes, pieces and indices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray


def call(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, kwargs


def scatters(v: Any, **more: Any) -> list[Any]:
    """x, dim, index, src with indices that occur several times."""
    return [
        call(v(4, 5), 0, v.below(4, 3, 5), v(3, 5), **more),
        call(v(4, 5), -1, v.below(5, 4, 9), v(4, 9), **more),
        call(v(4, 5), 1, v.below(5, 2, 3), v(4, 5), **more),
        call(v(7), 0, v.below(7, 0), v(0), **more),
    ]


def reductions(*names: str) -> Callable[[Any], list[Any]]:
    def rows(v: Any) -> list[Any]:
        out = []
        for name, own in itertools.product(names, (True, False)):
            out += [call(*args, name, include_self=own) for args, _ in scatters(v)[:2]]
        return out

    return rows


def index_reductions(v: Any) -> list[Any]:
    return [
        call(v(4, 5), dim, v.below(n, 6), v(6, 5) if dim == 0 else v(4, 6), name, include_self=own)
        for name in ("prod", "mean", "amin", "amax")
        for dim, n in ((0, 4), (1, 5))
        for own in (True, False)
    ]


ROWS: dict[str, Callable[[Any], Any]] = {
    # pieces
    "tensor_split": lambda v: [call(v(7, 4), 3), call(v(4, 6), 4, 1), call(v(2, 3), 5), call(v(0, 3), 2)],
    "tensor_split_at": lambda v: [call(v(7, 4), [2, 5]), call(v(4, 6), (1, -1), -1), call(v(3), [2, 1, 9])],
    "tensor_split_tensor": lambda v: [call(v(7, 4), np.array([2, 5])), call(v(4, 6), np.array(4), 1)],
    "hsplit": lambda v: [call(v(4, 6), 3), call(v(6), 2)],
    "hsplit_at": lambda v: [call(v(4, 6), [1, 3]), call(v(6), [2])],
    "vsplit": lambda v: [call(v(4, 6), 2), call(v(3, 0), 3)],
    "vsplit_at": lambda v: [call(v(4, 6), [1, 3])],
    "dsplit": lambda v: [call(v(2, 3, 4), 2)],
    "dsplit_at": lambda v: [call(v(2, 3, 4), [1, 3])],
    "split_with_sizes": lambda v: [call(v(7, 4), [3, 4]), call(v(4, 6), [1, 0, 5], -1)],
    "unsafe_chunk": lambda v: [call(v(7, 4), 3), call(v(4, 6), 2, 1)],
    "unsafe_split": lambda v: [call(v(7, 4), 3), call(v(4, 6), 2, 1)],
    "unsafe_split_with_sizes": lambda v: [call(v(7, 4), [3, 4]), call(v(4, 6), [1, 0, 5], -1)],
    # joining
    "hstack": lambda v: [call([v(2, 3), v(2, 1)]), call([v(), v(3)]), call([v(2), v(0)])],
    "vstack": lambda v: [call([v(2, 3), v(3)]), call([v(), v(1, 1)]), call([v(2, 3, 4), v(1, 3, 4)])],
    "dstack": lambda v: [call([v(2, 3), v(2, 3)]), call([v(3), v(3)]), call([v(2, 3, 1), v(2, 3, 2)])],
    "column_stack": lambda v: [call([v(3), v(3, 2)]), call([v(), v(1, 2)]), call([v(3), v(3)])],
    "block_diag": lambda v: [call([v(2, 3), v(2), v()]), call([v(2, 0), v(1, 1)]), call([v(3)])],
    "atleast_1d": lambda v: [call(v()), call(v(3)), call(v(2, 3))],
    "atleast_2d": lambda v: [call(v()), call(v(3)), call(v(2, 3))],
    "atleast_3d": lambda v: [call(v()), call(v(3)), call(v(2, 3)), call(v(2, 3, 4))],
    "atleast_1d_list": lambda v: [call([v(), v(3)])],
    "atleast_2d_list": lambda v: [call([v(), v(3)])],
    "atleast_3d_list": lambda v: [call([v(), v(3), v(2, 3)])],
    # repeating
    "tile": lambda v: [call(v(2, 3), [2, 2]), call(v(3), [2, 3]), call(v(2, 3), [2]), call(v(2, 3), [2, 0])],
    "broadcast_tensors": lambda v: [call([v(4, 1), v(5)]), call([v(), v(2, 3)]), call([v(3)])],
    "meshgrid": lambda v: [
        call([v(2), v(3), v()]),
        call([v(2), v(3), v(4)], indexing="xy"),
        call([v(3)], indexing="xy"),
        call([v(0), v(2)]),
    ],
    "cartesian_prod": lambda v: [call([v(2), v(3)]), call([v(4)]), call([v(2), v(0)])],
    "combinations": lambda v: [
        call(v(4)),
        call(v(5), 3),
        call(v(3), 2, True),
        call(v(3), 0),
        call(v(2), 3),
        call(v(4), 1),
        call(v(0), 2, True),
    ],
    "repeat_interleave": lambda v: [call(v(4, 3), 2), call(v(4, 3), 2, 0), call(v(4, 3), 3, -1), call(v(4), 0)],
    "repeat_interleave_tensor": lambda v: [
        call(v(3, 2), np.array([2, 0, 3]), 0),
        call(v(2, 3), np.array([1, 2]), dim=-2),
        call(v(3), np.array([2])),
        call(v(2), np.array([1, 2]), output_size=3),
    ],
    "repeat_interleave_counts": lambda v: [call(np.array([2, 0, 1])), call(np.zeros(0, np.int64))],
    "sum_to_size": lambda v: [call(v(2, 3, 4), [3, 1]), call(v(2, 3), [2, 3]), call(v(2, 3), [])],
    # rearranging
    "ravel": lambda v: [call(v(2, 3, 4)), call(v()), call(v(0, 3))],
    "roll": lambda v: [
        call(v(4, 5), 1, 0),
        call(v(4, 5), (1, -7), (0, 1)),
        call(v(4, 5), 3),
        call(v(4, 5), 0, 1),
        call(v(0, 3), 1, 0),
        call(v(4), [1, 2], [0, 0]),
    ],
    "rot90": lambda v: [call(v(2, 3), k) for k in (0, 1, 2, 3, -1, 5)] + [call(v(2, 3, 4), 1, [1, 2])],
    "fliplr": lambda v: [call(v(3, 4)), call(v(2, 3, 4))],
    "flipud": lambda v: [call(v(3, 4)), call(v(5))],
    "adjoint": lambda v: [call(v(3, 4)), call(v(2, 3, 4))],
    "narrow_copy": lambda v: [call(v(6, 5), 0, 1, 3), call(v(6, 5), -1, -3, 2)],
    "alias_copy": lambda v: [call(v(6, 5)), call(v()), call(v(0, 3))],
    "diff": lambda v: [
        call(v(4, 5)),
        call(v(4, 5), 2, 0),
        call(v(4, 5), 7),
        call(v(4, 5), 0),
        call(v(4), 1, 0, v(2), v(1)),
    ],
    # diagonals and windows
    "diag": lambda v: [call(v(4)), call(v(3), -2), call(v(3, 4)), call(v(3, 4), 1), call(v(3, 4), 9)],
    "diag_embed": lambda v: [call(v(3)), call(v(2, 3), 1), call(v(2, 3), -1, 0, 2), call(v(0))],
    "diagflat": lambda v: [call(v(2, 2)), call(v(3), 1), call(v(3), -1)],
    "diagonal_scatter": lambda v: [call(v(3, 3), v(3)), call(v(3, 4), v(2), -1), call(v(2, 3, 4), v(3, 2), 0, 0, 2)],
    "select_scatter": lambda v: [call(v(3, 4), v(4), 0, 1), call(v(3, 4), v(3), -1, -2)],
    "slice_scatter": lambda v: [
        call(v(6, 4), v(2, 4), 0, 1, 3),
        call(v(6, 4), v(6, 2), -1, None, None, 2),
        call(v(6), v(2), 0, -2),
        call(v(6), v(0), 0, 6),
    ],
    "as_strided_scatter": lambda v: [call(v(4, 4), v(2, 2), [2, 2], [5, 1], 2)],
    "tril_indices": lambda v: [call(3, 4), call(4, 3, -1), call(3, 3, 5), call(0, 3)],
    "triu_indices": lambda v: [call(3, 4), call(4, 3, -1), call(3, 3, 5), call(0, 3)],
    "vander": lambda v: [call(v(3)), call(v(3), 2), call(v(3), 4, True), call(v(2), 0)],
    # reading and writing at indices
    "take": lambda v: [call(v(3, 4), v.below(12, 2, 3)), call(v(3, 4), np.array(-1)), call(v(2), v.below(2, 0))],
    "gather_sparse": lambda v: [call(v(3, 4), 1, v.below(4, 3, 2), sparse_grad=True)],
    "where_true": lambda v: [call(v(3, 4) > 0)],
    "where_method": lambda v: [call(v(3, 4), v(3, 4) > 0, v(4)), call(v(3, 4), v(4) > 0, 2.5)],
    "put": lambda v: [
        call(v(3, 4), np.array([[0, 5], [7, -1]]), v(4)),
        call(v(3, 4), v.below(12, 9), v(3, 3), True),
        call(v(3), v.below(3, 0), v(0)),
    ],
    "index_put": lambda v: [
        call(v(4, 5), [np.array([3, 0])], v(2, 5)),
        call(v(4, 5), [v.below(4, 6), v.below(5, 6)], v(6), accumulate=True),
        call(v(4, 5), (v.mask(4),), v(5)),
        call(v(4, 5), [v.mask(4, 5)], v()),
        call(v(2, 3, 4), [v.below(2, 3, 1), np.array([0, 2])], v(4), True),
    ],
    "index_fill": lambda v: [
        call(v(4, 5), 0, v.below(4, 6), 3),
        call(v(4, 5), -1, np.array([0, 2]), v()),
        call(v(4, 5), 1, v.below(5, 0), 1),
        call(v(4), 0, np.array(2), 1),
    ],
    "index_copy": lambda v: [
        call(v(4, 5), 0, np.array([3, 0]), v(2, 5)),
        call(v(4, 5), -1, np.array([1, 4, 0]), v(4, 3)),
    ],
    "masked_scatter": lambda v: [
        call(v(4, 5), v.mask(4, 5), v(20)),
        call(v(4, 5), v.mask(5), v(5, 5)),
        call(v(3), np.zeros(3, bool), v(0)),
    ],
    "scatter_with": lambda v: [
        call(*scatters(v)[0][0], reduce="add"),
        call(*scatters(v)[1][0], reduce="multiply"),
        call(v(4, 5), 1, v.below(5, 4, 1), 3, reduce="add"),
    ],
    "scatter_reduce": reductions("sum", "prod", "mean", "amin", "amax"),
    "index_reduce": index_reductions,
    # searching
    "searchsorted": lambda v: [
        call(np.sort(v(7)), v(3, 4)),
        call(np.sort(v(3, 7)), v(3, 2), right=True),
        call(np.sort(v(7)), 1, side="right", out_int32=True),
        call(v(0), v(3)),
    ],
    "bucketize": lambda v: [
        call(v(3, 4), np.sort(v(7))),
        call(v(5), np.sort(v(5)), right=True, out_int32=True),
        call(2, np.sort(v(7))),
    ],
    "isin": lambda v: [call(v(4, 5), v(6)), call(v(4), v(0)), call(v(5), v(2, 3), invert=True), call(3, v(4))],
    "msort": lambda v: [call(v(4, 5)), call(v(7))],
    # sizes from data
    "argwhere": lambda v: [call(v.mask(4, 5)), call(v.mask(7)), call(v.mask(0, 3)), call(np.array(True))],
    "nonzero_static": lambda v: [call(v.mask(4, 5), size=3), call(v.mask(3), size=9, fill_value=-7)],
    "unique": lambda v: [
        call(v.below(4, 3, 5)),
        call(v.below(4, 9), return_inverse=True, return_counts=True),
        call(v.below(2, 3, 8), dim=1, return_inverse=True, return_counts=True),
        call(v(0), return_inverse=True),
        call(v(3, 2)),
        call(np.array(3)),
    ],
    "unique_consecutive": lambda v: [
        call(v.below(2, 12)),
        call(v.below(2, 3, 5), return_inverse=True, return_counts=True),
        call(v.below(2, 2, 8), dim=1, return_inverse=True, return_counts=True),
    ],
    # spaced and random numbers
    "linspace": lambda v: [call(-1, 2, 7), call(0, 5, 1), call(0, 5, 0), call(np.array(1.0), 3, 5)],
    "logspace": lambda v: [call(-1, 1, 5), call(0, 3, 4, 2), call(0, 1, 0), call(np.array(0.5), np.array(1), 3)],
    "randint_like": lambda v: [call(v(200), 2, 7), call(v(), 1, 3)],
    "randint_like_high": lambda v: [call(v(200), 7), call(v(), 3)],
    "normal_at": lambda v: [call(np.zeros(200)), call(np.zeros((200, 1)), np.ones(2)), call(np.zeros(3), 1.0)],
    "normal_around": lambda v: [call(0.0, np.ones(200))],
    "normal_of_size": lambda v: [call(0.0, 1.0, [200]), call(0, 1, [])],
    "multinomial": lambda v: [
        call(np.array([1.0, 1, 2, 0.5, 3]), 3),
        call(np.array([[1.0, 0.5, 1], [0.25, 1, 1]]), 200, True),
        call(np.array([1.0, 1]), 2),
    ],
}


# ---- references -----------------------------------------------------------------------------------------------------


def block_diag(arrays: list[Array]) -> Array:
    blocks = [np.atleast_2d(a) for a in arrays]
    out = np.zeros([sum(b.shape[d] for b in blocks) for d in (0, 1)], blocks[0].dtype)
    row = column = 0
    for b in blocks:
        out[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return out


def atleast_3d(x: Array) -> Array:
    return x.reshape([(1, 1, 1), (1, x.size, 1), (*x.shape, 1)][x.ndim]) if x.ndim < 3 else x


def choices(x: Array, r: int = 2, with_replacement: bool = False) -> Array:
    if r == 0:
        return x[:0]
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return np.array(list(pick(x, r)), x.dtype).reshape(-1, r)


def sum_to_size(x: Array, size: list[int]) -> Array:
    lead = x.ndim - len(size)
    dims = [d for d in range(x.ndim) if d < lead or (size[d - lead] == 1 and x.shape[d] != 1)]
    return x.sum(tuple(dims)).reshape(size) if dims else x


def differences(x: Array, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Array:
    if n == 0:
        return x
    given = {k: a for k, a in (("prepend", prepend), ("append", append)) if a is not None}
    return np.diff(x, min(n, x.shape[dim]), dim, **given)


def diag_embed(x: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def with_window(look: Callable[..., Array]) -> Callable[..., Array]:
    def replaced(x: Array, src: Array, *args: Any) -> Array:
        places = look(np.arange(x.size).reshape(x.shape), *args)
        out = x.reshape(-1).copy()
        out[places] = src
        return out.reshape(x.shape)

    return replaced


def sliced(x: Array, dim: int, start: Any = None, end: Any = None, step: int = 1) -> Array:
    at: list[Any] = [slice(None)] * x.ndim
    at[dim] = slice(start, end, step)
    return x[tuple(at)]


def strided(x: Array, size: list[int], stride: list[int], offset: int) -> Array:
    return np.lib.stride_tricks.as_strided(x.reshape(-1)[offset:], size, [s * x.itemsize for s in stride])


def put(x: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    out = x.copy().reshape(-1)
    if accumulate:
        np.add.at(out, index.reshape(-1), source.reshape(-1))
    else:
        out[index.reshape(-1)] = source.reshape(-1)
    return out.reshape(x.shape)


def index_put(x: Array, indices: Any, values: Array, accumulate: bool = False) -> Array:
    out = x.copy()
    if accumulate:
        np.add.at(out, tuple(indices), values)
    else:
        out[tuple(indices)] = values
    return out


def index_write(x: Array, dim: int, index: Array, value: Any) -> Array:
    out = x.copy()
    at: list[Any] = [slice(None)] * x.ndim
    at[dim] = np.atleast_1d(index)
    out[tuple(at)] = value
    return out


def masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    out = x.copy()
    holds = np.broadcast_to(mask, x.shape)
    out[holds] = source.reshape(-1)[: holds.sum()]
    return out


COMBINE: dict[str, Callable[[list[Any]], Any]] = {
    "sum": sum,
    "add": sum,
    "prod": np.prod,
    "multiply": np.prod,
    "amin": min,
    "amax": max,
    "mean": lambda values: (
        sum(values) // len(values) if np.issubdtype(values[0].dtype, np.integer) else np.mean(values)
    ),
}


def scatter_reduce(x: Array, dim: int, index: Array, src: Any, reduce: str, include_self: bool = True) -> Array:
    groups: dict[tuple[int, ...], list[Any]] = {}
    for at in np.ndindex(index.shape):
        to = list(at)
        to[dim] = index[at]
        groups.setdefault(tuple(to), []).append(src[at] if isinstance(src, Array) else x.dtype.type(src))
    out = x.copy()
    for to, values in groups.items():
        out[to] = COMBINE[reduce](([x[to]] if include_self else []) + values)
    return out


def index_reduce(x: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool = True) -> Array:
    along = [1] * x.ndim
    along[dim] = index.size
    return scatter_reduce(x, dim, np.broadcast_to(index.reshape(along), source.shape), source, reduce, include_self)


def searchsorted(rows: Array, x: Any, out_int32: bool = False, right: bool = False, side: str = "left") -> Array:
    side = "right" if right else side
    if rows.ndim == 1:
        found = np.searchsorted(rows, x, side)
    else:
        found = np.stack([np.searchsorted(r, y, side) for r, y in zip(rows, x)])
    return np.asarray(found, np.int32 if out_int32 else np.int64)


def nonzero_static(x: Array, size: int, fill_value: int = -1) -> Array:
    found = np.argwhere(x)[:size]
    return np.concatenate([found, np.full((size - len(found), x.ndim), fill_value)])


def unique(x: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None):
    parts = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
    inverse = parts[1].reshape(x.shape if dim is None else -1)
    return [parts[0]] + [inverse] * return_inverse + [parts[2]] * return_counts


def unique_consecutive(x: Array, return_inverse: bool = False, return_counts: bool = False, dim: Any = None):
    slices = x.reshape(-1) if dim is None else np.moveaxis(x, dim, 0)
    starts = [i for i in range(len(slices)) if i == 0 or (slices[i] != slices[i - 1]).any()]
    values = slices[starts]
    inverse = np.repeat(np.arange(len(starts)), np.diff([*starts, len(slices)]))
    out = [values if dim is None else np.moveaxis(values, 0, dim)]
    out += [inverse.reshape(x.shape) if dim is None else inverse] * return_inverse
    return out + [np.diff([*starts, len(slices)])] * return_counts


OWN: dict[str, Callable[..., Any]] = {
    "tensor_split": lambda x, n, dim=0: np.array_split(x, n, dim),
    "tensor_split_at": lambda x, at, dim=0: np.array_split(x, list(at), dim),
    "tensor_split_tensor": lambda x, at, dim=0: np.array_split(x, at if at.ndim else int(at), dim),
    "hsplit": np.hsplit,
    "hsplit_at": np.hsplit,
    "vsplit": np.vsplit,
    "vsplit_at": np.vsplit,
    "dsplit": np.dsplit,
    "dsplit_at": np.dsplit,
    "split_with_sizes": lambda x, sizes, dim=0: np.split(x, np.cumsum(sizes)[:-1], dim),
    "unsafe_chunk": lambda x, n, dim=0: np.split(
        x, range(-(-x.shape[dim] // n), x.shape[dim], -(-x.shape[dim] // n)), dim
    ),
    "unsafe_split": lambda x, n, dim=0: np.split(x, range(n, x.shape[dim], n), dim),
    "unsafe_split_with_sizes": lambda x, sizes, dim=0: np.split(x, np.cumsum(sizes)[:-1], dim),
    "block_diag": block_diag,
    "atleast_3d": atleast_3d,
    "atleast_1d_list": lambda arrays: [np.atleast_1d(a) for a in arrays],
    "atleast_2d_list": lambda arrays: [np.atleast_2d(a) for a in arrays],
    "atleast_3d_list": lambda arrays: [atleast_3d(a) for a in arrays],
    "dstack": lambda arrays: np.concatenate([atleast_3d(a) for a in arrays], 2),
    "tile": lambda x, reps: np.tile(x, reps),
    "broadcast_tensors": lambda arrays: list(np.broadcast_arrays(*arrays)),
    "meshgrid": lambda arrays, indexing="ij": list(np.meshgrid(*arrays, indexing=indexing)),
    "cartesian_prod": lambda a: (
        a[0] if len(a) == 1 else np.stack([g.reshape(-1) for g in np.meshgrid(*a, indexing="ij")], 1)
    ),
    "combinations": choices,
    "repeat_interleave": lambda x, n, dim=None: np.repeat(x, n, dim),
    "repeat_interleave_tensor": lambda x, n, dim=None, output_size=None: np.repeat(x, n, dim),
    "repeat_interleave_counts": lambda n: np.repeat(np.arange(len(n)), n),
    "sum_to_size": sum_to_size,
    "roll": lambda x, shifts, dims=None: np.roll(x, shifts, dims),
    "adjoint": lambda x: x.swapaxes(-2, -1),
    "narrow_copy": lambda x, dim, start, n: np.take(x, range(start, start + n), dim),
    "alias_copy": lambda x: x,
    "diff": differences,
    "diag_embed": diag_embed,
    "diagonal_scatter": with_window(np.diagonal),
    "select_scatter": with_window(lambda places, dim, index: np.take(places, index, dim)),
    "slice_scatter": with_window(sliced),
    "as_strided_scatter": with_window(strided),
    "tril_indices": lambda rows, columns, offset=0: np.array(np.tril_indices(rows, offset, columns)),
    "triu_indices": lambda rows, columns, offset=0: np.array(np.triu_indices(rows, offset, columns)),
    "take": lambda x, index: x.reshape(-1)[index],
    "gather_sparse": lambda x, dim, index, sparse_grad: np.take_along_axis(x, index, dim),
    "where_true": lambda condition: condition.nonzero(),
    "where_method": lambda x, condition, other: np.where(condition, x, other),
    "put": put,
    "index_put": index_put,
    "index_fill": index_write,
    "index_copy": index_write,
    "masked_scatter": masked_scatter,
    "scatter_with": scatter_reduce,
    "scatter_reduce": scatter_reduce,
    "index_reduce": index_reduce,
    "searchsorted": searchsorted,
    "bucketize": lambda x, edges, out_int32=False, right=False: searchsorted(edges, x, out_int32, right),
    "msort": lambda x: np.sort(x, 0),
    "logspace": lambda start, end, steps, base=10.0, dtype=None: np.logspace(start, end, steps, base=base),
    "nonzero_static": nonzero_static,
    "unique": unique,
    "unique_consecutive": unique_consecutive,
}
