"""Histograms with their edges: `histogram`, and `histogramdd` of points with several coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tandem import _C
from tandem._functions import _need_tensor

__all__ = ["histogram", "histogramdd"]

Tensor = _C.Tensor

_MANY = 4096  # points whose bins are computed; of so many bins, each is looked for


class Histogram(NamedTuple):
    """What `histogram` returns."""

    hist: Tensor
    bin_edges: Tensor


class HistogramDD(NamedTuple):
    """What `histogramdd` returns."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> Histogram:
    """How many elements of `input` fall into each bin. A bin has its lower edge, the last one both.

    Args:
        input: float32 or float64, of any shape.
        bins: the number of bins of one width, or a vector of their edges in ascending order.
        range: the first and the last edge, where `bins` is a number; the least and the greatest element if None.
        weight: of the shape and dtype of `input`: what an element counts.
        density: divide by the sum and the widths, so that the integral is 1.
        out: two tensors that take the results.

    Returns (hist, bin_edges) of the dtype of `input`. What lies outside, and NaN, is in no bin. Nothing is
    differentiated.

    Raises:
        RuntimeError: bins, range or weight do not fit the input, or the range is not finite.
        NotImplementedError: other dtypes.

    >>> import tandem
    >>> tandem.histogram(tandem.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0)).hist
    tensor([0., 2., 1., 0.])
    >>> tandem.histogram(tandem.tensor([1.0, 2.0, 5.0]), tandem.tensor([0.0, 2.0, 6.0])).hist
    tensor([1., 2.])
    """
    _need_tensor("histogram", input)
    if isinstance(bins, Tensor) and range is not None:
        raise TypeError("histogram(): 'range' cannot be given with the edges of the bins")
    column = input.reshape(-1, 1)
    weights = None if weight is None else weight.reshape(-1)
    hist, (edges,) = _histogram("torch.histogram()", column, [bins], range, weights, density)
    if out is None:
        return Histogram(hist, edges)
    for name, into in zip(("hist", "bin_edges"), out, strict=True):
        if into.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.histogram: input tensor and {name} tensor should have the same dtype, but got input "
                f"{input.dtype} and {name} {into.dtype}"
            )
    return Histogram(_C.cat((hist,), out=out[0]), _C.cat((edges,), out=out[1]))


def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> HistogramDD:
    """How many points fall into each box of a grid, as `histogram` for one coordinate.

    Args:
        input: points [..., D], float32 or float64.
        bins: the number of bins along all coordinates, or one each, or the edges along each, vectors.
        range: the first and the last edge along each coordinate, 2 D numbers; the least and the greatest ones if None.
        weight: of the dtype of `input` and its shape without the last dim: what a point counts.
        density: divide by the sum and the volumes, so that the integral is 1.

    Returns (hist, bin_edges): a tensor with a dim for each coordinate, and a tuple of the edges along them.

    Raises as `histogram` does.

    >>> import tandem
    >>> points = tandem.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> tandem.histogramdd(points, bins=2).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    if _need_tensor("histogramdd", input).dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    size = input.shape[-1]
    each: list[Any] = [bins] * size if isinstance(bins, int) else list(bins)
    if len(each) != size:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if weight is not None and weight.shape != input.shape[:-1]:
        raise _weight_error(input.shape, weight)
    if size == 0:
        return HistogramDD(input.new_full((), math.nan if density else 0.0), ())
    weights = None if weight is None else weight.reshape(-1)
    hist, edges = _histogram("torch.histogramdd()", input.reshape(-1, size), each, range, weights, density)
    return HistogramDD(hist, edges)


def _histogram(
    op: str, points: Tensor, bins: list[Any], range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The histogram of `points` [N, D], and the edges along each coordinate."""
    if points.dtype not in (_C.float32, _C.float64):
        name = str(points.dtype).rpartition(".")[2]
        raise NotImplementedError(f'"histogramdd" not implemented for {name}: input should be float32 or float64')
    points = points.detach()
    _check_weight(points, weight)
    bounds = _bounds_of(op, points, bins, range)
    edges = tuple(
        b.detach().clone() if limits is None else _C.linspace(*limits, b + 1, dtype=points.dtype, device=points.device)
        for b, limits in zip(bins, bounds, strict=True)
    )
    what = points.new_ones(len(points)) if weight is None else weight.detach()
    if len(edges) == 1:
        return _line_histogram(points[:, 0].contiguous(), edges[0], bounds[0], what, density), edges
    counts = [len(e) - 1 for e in edges]
    box: Tensor | None = None
    for d, (e, count) in enumerate(zip(edges, counts, strict=True)):
        # The last edge belongs to the last bin.
        own = (_C.searchsorted(e, points[:, d].contiguous(), right=True) - 1).clamp(0, count - 1)
        box = own if box is None else box * count + own
    assert box is not None
    total = math.prod(counts)
    boxes = total
    if range is not None or any(isinstance(b, Tensor) for b in bins):
        # What is outside of edges that do not come of the points is counted in one more box, which is dropped.
        for d, e in enumerate(edges):
            box = _C.where((points[:, d] >= e[0]) & (points[:, d] <= e[-1]), box, total)
        boxes = total + 1
    hist = points.new_zeros(boxes).index_add(0, box, what)[:total].reshape(counts)
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / e.diff().reshape(-1, *[1] * (len(edges) - 1 - d))
    return hist.contiguous(), edges


def _line_histogram(
    points: Tensor, edges: Tensor, limits: tuple[float, float] | None, what: Tensor, density: bool
) -> Tensor:
    """The histogram of `points` [N], whose bins have one width where `limits` are the first and the last edge."""
    count = len(edges) - 1
    boxes = points.new_zeros(count + 2)
    if limits is None or len(points) < _MANY or count >= _MANY:
        places = _C.searchsorted(edges, points, right=True)
        # The last edge belongs to the last bin.
        boxes.index_add_(0, _C.where(points == edges[-1], count, places), what)
    else:
        # In pieces, so that what is computed of one stays in the cache.
        piece = max(16 * _MANY, len(points) // 64)
        for some, own in zip(points.split(piece), what.split(piece), strict=True):
            boxes.index_add_(0, _places(some, edges, *limits), own)
    # The first and the last box are outside.
    hist = boxes[1:-1]
    return hist / hist.sum() / edges.diff() if density else hist


def _places(points: Tensor, edges: Tensor, low: float, high: float) -> Tensor:
    """The bin of each point, from 1 on, and 0 for those outside."""
    count = len(edges) - 1
    inside = (points >= low) & (points <= high)
    # By the width of bins it may be one beside that of the edges, which are rounded.
    near = _C.where(inside, (points - low) * (count / (high - low)), 0).long().clamp_max_(count - 1)
    above, below = points >= edges[1:].take(near), points < edges.take(near)
    near.add_(above).sub_(below.long()).clamp_max_(count - 1)
    return _C.where(inside, near + 1, 0)


def _weight_error(shape: Sequence[int], weight: Tensor) -> RuntimeError:
    return RuntimeError(
        "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding "
        f"its innermost dimension, but got input with shape {list(shape)} and weight with shape {list(weight.shape)}"
    )


def _check_weight(points: Tensor, weight: Tensor | None) -> None:
    if weight is None:
        return
    if weight.dtype != points.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({points.dtype}), and weight({weight.dtype})"
        )
    if len(weight) != len(points):
        raise _weight_error(points.shape, weight)


def _bounds_of(
    op: str, points: Tensor, bins: list[Any], range: Sequence[float] | None
) -> list[tuple[float, float] | None]:
    """The first and the last edge along each coordinate whose bins are a number."""
    rank = len(bins)
    if range is not None and len(range) != 2 * rank:
        raise RuntimeError(
            f"torch.histogramdd: for a {rank}-dimensional histogram range should have {2 * rank} elements, but got "
            f"{len(range)}"
        )
    for d, count in enumerate(bins):
        if isinstance(count, Tensor):
            _check_edges(points, count, d)
        if (len(count) - 1 if isinstance(count, Tensor) else count) <= 0:
            got = len(count) - 1 if isinstance(count, Tensor) else count
            raise RuntimeError(f"{op}: bins must be > 0, but got {got} for dimension {d}")
    return [None if isinstance(count, Tensor) else _bounds(points, d, range) for d, count in enumerate(bins)]


def _check_edges(points: Tensor, edges: Tensor, dim: int) -> None:
    if edges.dtype != points.dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{points.dtype} and bins for dimension {dim} with dtype {edges.dtype}"
        )
    if edges.dim() != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {edges.dim()} dimensions in the bins "
            f"tensor for dimension {dim}"
        )
    if len(edges) == 0:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
            f"dimension {dim}"
        )


def _bounds(points: Tensor, dim: int, range: Sequence[float] | None) -> tuple[float, float]:
    if range is not None:
        low, high = range[2 * dim : 2 * dim + 2]
    elif len(points) == 0:
        low, high = 0.0, 1.0
    else:
        low, high = points[:, dim].amin().item(), points[:, dim].amax().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low} max {high} for dimension {dim}"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)
