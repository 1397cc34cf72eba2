"""NumPy references of the operations on windows of the last dimensions, of norms, lookup and attention.

They are the definitions, as loops over windows and places.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray


def spread(value: Any, count: int) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * count if len(values) == 1 else values


def steps(start: int, count: int, step: int) -> slice:
    return slice(start, start + (count - 1) * step + 1, step)


def taps(kernel: Any, stride: Any, dilation: Any, sizes: Any) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Every place of a kernel with the window of padded positions it sees."""
    for place in itertools.product(*map(range, kernel)):
        yield place, tuple(steps(i * d, n, s) for i, d, n, s in zip(place, dilation, sizes, stride))


def conv(
    n: int, x: Array, w: Array, b: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Array:
    if x.ndim == n + 1:
        return conv(n, x[None], w, b, stride, padding, dilation, groups)[0]
    stride, dilation = spread(stride, n), spread(dilation, n)
    spans = [d * (k - 1) for d, k in zip(dilation, w.shape[2:])]
    if padding == "same":
        edges = [(s // 2, s - s // 2) for s in spans]
    else:
        edges = [(p, p) for p in spread(0 if padding == "valid" else padding, n)]
    x = np.pad(x, [(0, 0), (0, 0), *edges])
    sizes = [(m - s - 1) // st + 1 for m, s, st in zip(x.shape[2:], spans, stride)]
    out = np.zeros((len(x), groups, len(w) // groups, *sizes))
    parts = x.reshape(len(x), groups, w.shape[1], *x.shape[2:])
    kernels = w.reshape(groups, len(w) // groups, *w.shape[1:])
    for place, window in taps(w.shape[2:], stride, dilation, sizes):
        out += np.einsum("ngc...,goc->ngo...", parts[(..., *window)], kernels[(..., *place)])
    out = out.reshape(len(x), len(w), *sizes)
    return out if b is None else out + b.reshape(-1, *[1] * n)


def conv_transpose(
    n: int,
    x: Array,
    w: Array,
    b: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Array:
    if x.ndim == n + 1:
        return conv_transpose(n, x[None], w, b, stride, padding, output_padding, groups, dilation)[0]
    stride, padding, dilation = spread(stride, n), spread(padding, n), spread(dilation, n)
    more = spread(output_padding, n)
    full = [
        (m - 1) * s + d * (k - 1) + 1 + e for m, s, d, k, e in zip(x.shape[2:], stride, dilation, w.shape[2:], more)
    ]
    out = np.zeros((len(x), groups, w.shape[1], *full))
    parts = x.reshape(len(x), groups, len(w) // groups, *x.shape[2:])
    kernels = w.reshape(groups, len(w) // groups, *w.shape[1:])
    for place, window in taps(w.shape[2:], stride, dilation, x.shape[2:]):
        out[(..., *window)] += np.einsum("ngc...,gco->ngo...", parts, kernels[(..., *place)])
    out = out.reshape(len(x), -1, *full)[(..., *(slice(p, m - p) for p, m in zip(padding, full)))]
    return out if b is None else out + b.reshape(-1, *[1] * n)


def pool_windows(
    x: Array, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> list[list[range]]:
    """For every spatial dimension the positions, padding included, that each output position sees."""
    k, p, d = spread(kernel, n), spread(padding, n), spread(dilation, n)
    s = spread(kernel if stride is None else stride, n)
    out = []
    for m, kk, ss, pp, dd in zip(x.shape[-n:], k, s, p, d):
        room = m + 2 * pp - dd * (kk - 1) - 1
        count = (-(-room // ss) if ceil_mode else room // ss) + 1
        count -= ceil_mode and (count - 1) * ss >= m + pp
        out.append([range(i * ss - pp, i * ss - pp + kk * dd, dd) for i in range(count)])
    return out


def adaptive_windows(x: Array, n: int, size: Any) -> list[list[range]]:
    return [[range(i * m // o, -(-(i + 1) * m // o)) for i in range(o)] for m, o in zip(x.shape[-n:], spread(size, n))]


def over_windows(x: Array, n: int, windows: list[list[range]], f: Callable[..., Any], results: int = 1) -> Any:
    sizes = [len(w) for w in windows]
    outs = [np.zeros([*x.shape[:-n], *sizes]) for _ in range(results)]
    for at in np.ndindex(*x.shape[:-n], *sizes):
        window = [w[i] for w, i in zip(windows, at[-n:])]
        found = f(x[at[:-n]], window)
        for out, value in zip(outs, found if results > 1 else (found,)):
            out[at] = value
    return outs if results > 1 else outs[0]


def largest(plane: Array, window: list[range]) -> tuple[Any, int]:
    places = [p for p in itertools.product(*window) if all(0 <= i < m for i, m in zip(p, plane.shape))]
    best = max(places, key=lambda p: plane[p])
    return plane[best], int(np.ravel_multi_index(best, plane.shape))


def max_pool(n: int, x: Array, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode=False):
    windows = pool_windows(x, n, kernel, stride, padding, dilation, ceil_mode)
    values, places = over_windows(x, n, windows, largest, 2)
    return values, places.astype(np.int64)


def adaptive_max_pool(n: int, x: Array, size: Any) -> Any:
    values, places = over_windows(x, n, adaptive_windows(x, n, size), largest, 2)
    return values, places.astype(np.int64)


def avg_pool(
    n: int,
    x: Array,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Array:
    edges = spread(padding, n)

    def mean(plane: Array, window: list[range]) -> Any:
        inside = [[i for i in w if 0 <= i < m] for w, m in zip(window, plane.shape)]
        padded = [[i for i in w if i < m + p] for w, m, p in zip(window, plane.shape, edges)]
        total = plane[np.ix_(*inside)].sum()
        return total / (divisor_override or math.prod(map(len, padded if count_include_pad else inside)))

    return over_windows(x, n, pool_windows(x, n, kernel, stride, padding, 1, ceil_mode), mean)


def adaptive_avg_pool(n: int, x: Array, size: Any) -> Array:
    return over_windows(x, n, adaptive_windows(x, n, size), lambda plane, w: plane[np.ix_(*w)].mean())


def max_unpool(x: Array, indices: Array, size: Any) -> Array:
    n = len(size)
    out = np.zeros([*x.shape[:-n], math.prod(size)])
    flat = (*x.shape[:-n], -1)
    np.put_along_axis(out, indices.reshape(flat), x.reshape(flat), -1)
    return out.reshape(*x.shape[:-n], *size)


def im2col(x: Array, kernel: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Array:
    kernel, dilation, padding, stride = (spread(v, 2) for v in (kernel, dilation, padding, stride))
    x = np.pad(x, [*[(0, 0)] * (x.ndim - 2), *[(p, p) for p in padding]])
    sizes = [(m - d * (k - 1) - 1) // s + 1 for m, d, k, s in zip(x.shape[-2:], dilation, kernel, stride)]
    columns = [x[(..., *window)] for _, window in taps(kernel, stride, dilation, sizes)]
    return np.stack(columns, -3).reshape(*x.shape[:-3], -1, math.prod(sizes))


def col2im(x: Array, size: Any, kernel: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Array:
    kernel, dilation, padding, stride = (spread(v, 2) for v in (kernel, dilation, padding, stride))
    out = np.zeros([*x.shape[:-2], x.shape[-2] // math.prod(kernel), *(m + 2 * p for m, p in zip(size, padding))])
    sizes = [(m - d * (k - 1) - 1) // s + 1 for m, d, k, s in zip(out.shape[-2:], dilation, kernel, stride)]
    parts = x.reshape(*out.shape[:-2], math.prod(kernel), *sizes)
    for i, (_, window) in enumerate(taps(kernel, stride, dilation, sizes)):
        out[(..., *window)] += parts[..., i, :, :]
    return out[..., padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]


def pad(x: Array, counts: Any, mode: str = "constant", value: float | None = None) -> Array:
    widths = [(0, 0)] * (x.ndim - len(counts) // 2) + [
        (counts[i], counts[i + 1]) for i in reversed(range(0, len(counts), 2))
    ]
    crop = tuple(slice(max(0, -a), m - max(0, -b)) for (a, b), m in zip(widths, x.shape))
    grow = [(max(0, a), max(0, b)) for a, b in widths]
    if mode == "constant":
        return np.pad(x[crop], grow, constant_values=0 if value is None else value)
    return np.pad(x[crop], grow, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


def upsample(
    x: Array, size: Any, mode: str = "nearest", align_corners: bool = False, antialias: bool = False, *ratios: float
) -> Array:
    for d, out in enumerate(size):
        m = x.shape[2 + d]
        ratio = ratios[d] if d < len(ratios) else 0
        scale = (m - 1) / max(out - 1, 1) if align_corners else 1 / ratio if ratio else m / out
        matrix = np.zeros((out, m))
        for o in range(out):
            source = scale * o if align_corners else scale * (o + 0.5) - 0.5
            if mode == "nearest":
                matrix[o, min(int(o * scale), m - 1)] = 1
            elif mode == "bicubic":
                base = math.floor(source)
                for i in range(base - 1, base + 3):
                    t = abs(source - i)
                    near, far = (1.25 * t - 2.25) * t * t + 1, ((-0.75 * t + 3.75) * t - 6) * t + 3
                    matrix[o, min(max(i, 0), m - 1)] += near if t <= 1 else far
            else:
                source = max(source, 0)
                i = min(int(source), m - 1)
                matrix[o, i] += 1 - (source - i)
                matrix[o, min(i + 1, m - 1)] += source - i
        x = np.moveaxis(np.moveaxis(x, 2 + d, -1) @ matrix.T, -1, 2 + d)
    return x


def grid_sample(x: Array, grid: Array, mode: str = "bilinear", padding: str = "zeros", align: bool = False) -> Array:
    n = grid.shape[-1]
    out = np.zeros([*x.shape[:2], *grid.shape[1:-1]])
    for at in np.ndindex(len(x), *grid.shape[1:-1]):
        axes = []
        for size, g in zip(x.shape[2:], reversed(grid[at])):
            p = (g + 1) / 2 * (size - 1) if align else ((g + 1) * size - 1) / 2
            if padding == "border":
                p = min(max(p, 0), size - 1)
            low = math.floor(p)
            axes.append([(round(p), 1.0)] if mode == "nearest" else [(low, low + 1 - p), (low + 1, p - low)])
        for combination in itertools.product(*axes):
            place = tuple(i for i, _ in combination)
            if all(0 <= i < m for i, m in zip(place, x.shape[2:])):
                weight = math.prod(w for _, w in combination)
                out[(at[0], slice(None), *at[1:])] += x[(at[0], slice(None), *place)] * weight
    assert n == x.ndim - 2
    return out


def affine_grid(theta: Array, size: Any, align: bool = False) -> Array:
    axes = []
    for m in size[2:]:
        places = np.linspace(-1, 1, m) if m > 1 else np.zeros(1)
        axes.append(places if align else places * (m - 1) / m)
    mesh = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*reversed(mesh), np.ones_like(mesh[0])], -1)
    return np.einsum("...k,njk->n...j", base, theta)


def pixel_shuffle(x: Array, r: int) -> Array:
    *lead, c, h, w = x.shape
    y = x.reshape(*lead, c // r**2, r, r, h, w)
    return np.moveaxis(y, (-4, -3), (-3, -1)).reshape(*lead, c // r**2, h * r, w * r)


def pixel_unshuffle(x: Array, r: int) -> Array:
    *lead, c, h, w = x.shape
    y = x.reshape(*lead, c, h // r, r, w // r, r)
    return np.moveaxis(y, (-3, -1), (-4, -3)).reshape(*lead, c * r * r, h // r, w // r)


def channel_shuffle(x: Array, groups: int) -> Array:
    return x.reshape(len(x), groups, -1, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)


def normalised(x: Array, dims: Any, eps: float) -> Array:
    return (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)


def per_channel(y: Array, weight: Any, bias: Any) -> Array:
    shape = (1, -1, *[1] * (y.ndim - 2))
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5) -> Array:
    if training:
        y = normalised(x, (0, *range(2, x.ndim)), eps)
    else:
        y = (x - per_channel(np.zeros(x.shape), None, mean)) / np.sqrt(per_channel(np.zeros(x.shape), None, var) + eps)
    return per_channel(y, weight, bias)


def instance_norm(x, mean=None, var=None, weight=None, bias=None, own=True, momentum=0.1, eps=1e-5) -> Array:
    if not own:
        return batch_norm(x, mean, var, weight, bias, False, momentum, eps)
    return per_channel(normalised(x, tuple(range(2, x.ndim)), eps), weight, bias)


def group_norm(x: Array, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    y = normalised(x.reshape(len(x), groups, -1), (2,), eps).reshape(x.shape) if x.size else x
    return per_channel(y, weight, bias)


def rms_norm(x: Array, shape: Any, weight: Any = None, eps: float | None = None) -> Array:
    dims = tuple(range(-len(shape), 0))
    y = x / np.sqrt((x * x).mean(dims, keepdims=True) + (0 if eps is None else eps))
    return y if weight is None else y * weight


def local_response_norm(x: Array, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Array:
    padded = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (x.ndim - 2)])
    means = sum(padded[:, i : i + x.shape[1]] for i in range(size)) / size
    return x / (k + alpha * means) ** beta


def embedding_bag(rows: Array, weight: Array, offsets: Any = None, *rest: Any, mode: str = "mean", **kwargs: Any):
    samples = kwargs.get("per_sample_weights")
    if offsets is None:
        bags = list(rows)
    else:
        ends = offsets[1:] if kwargs.get("include_last_offset") else [*offsets[1:], len(rows)]
        bags = [rows[a:b] for a, b in zip(offsets, ends)]
    out = []
    at = 0
    for bag in bags:
        found = weight[bag] * (1 if samples is None else samples.reshape(-1, 1)[at : at + len(bag)])
        at += len(bag)
        found = found[bag != kwargs.get("padding_idx", -1)]
        combine = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
        out.append(combine(found, 0) if len(found) else np.zeros(weight.shape[1]))
    return np.stack(out)


def attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False) -> Array:
    if enable_gqa:
        k, v = (np.repeat(t, q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


def first(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: f(*args, **kwargs)[0]


def of(n: int, f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: f(n, *args, **kwargs)


WINDOW_REFERENCES: dict[str, Callable[..., Any]] = {
    **{f"conv{n}d": of(n, conv) for n in (1, 2, 3)},
    **{f"conv{n}d_named": of(n, conv) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": of(n, conv_transpose) for n in (1, 2, 3)},
    **{f"max_pool{n}d": first(of(n, max_pool)) for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": of(n, max_pool) for n in (1, 2, 3)},
    "adaptive_max_pool1d": of(1, adaptive_max_pool),
    # Without `return_indices` the functions of two and three dimensions give the values alone.
    **{f"adaptive_max_pool{n}d": first(of(n, adaptive_max_pool)) for n in (2, 3)},
    **{f"avg_pool{n}d": of(n, avg_pool) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": of(n, adaptive_avg_pool) for n in (1, 2, 3)},
    "max_unpool": max_unpool,
    "nn_unfold": im2col,
    "nn_fold": col2im,
    "pad": pad,
    "upsample_to": upsample,
    "grid_sample": grid_sample,
    "affine_grid": affine_grid,
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "channel_shuffle": channel_shuffle,
    "batch_norm": batch_norm,
    "instance_norm": instance_norm,
    "group_norm": group_norm,
    "rms_norm": rms_norm,
    "local_response_norm": local_response_norm,
    "embedding": lambda rows, weight, *rest, **kwargs: weight[rows],
    "embedding_bag": embedding_bag,
    "scaled_dot_product_attention": attention,
}
