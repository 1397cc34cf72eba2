"""`segment_reduce`: reductions of stretches of a dim that lie one after another."""

from __future__ import annotations

import math

from tandem import _C
from tandem._functions import _need_tensor

__all__ = ["_segment_reduce", "segment_reduce"]

Tensor = _C.Tensor

_KINDS = {"sum": "sum", "mean": "mean", "max": "amax", "amax": "amax", "min": "amin", "amin": "amin", "prod": "prod"}
_OF_NOTHING = {"sum": 0.0, "amax": -math.inf, "amin": math.inf, "prod": 1.0}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """The sum, mean, max, min or prod of each of the segments into which a dim is cut.

    Args:
        data: a floating tensor.
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: int32 or int64, the sizes of `data` before `axis` and the number of segments: how long each is. They
            sum to the size of `axis`, unless `unsafe`.
        indices: not supported.
        offsets: in place of `lengths`, one more along the last dim: where each segment begins, and the last one ends.
        axis: the dim that is cut, the last one of `lengths`.
        unsafe: do not look at the values of `lengths` or `offsets`.
        initial: what takes part in each reduction (in a mean, in its sum), and is the result of an empty segment.

    The result has the shape of `lengths` and the sizes of `data` after `axis`. Of an empty segment the sum is 0, the
    prod 1, the mean NaN, max and min infinite.

    Raises:
        RuntimeError: another `reduce`, no segments or `indices`; lengths that are negative or do not sum to the size,
            or whose last dim is not `axis`.
        NotImplementedError: data or segments of another dtype.

    >>> import tandem
    >>> tandem.segment_reduce(tandem.tensor([1.0, 2.0, 3.0]), "sum", lengths=tandem.tensor([2, 0, 1]))
    tensor([3., 0., 3.])
    >>> tandem.segment_reduce(tandem.tensor([1.0, 2.0, 3.0]), "max", offsets=tandem.tensor([0, 2, 3]))
    tensor([2., 3.])
    """
    _need_tensor("segment_reduce", data, "data")
    if not isinstance(reduce, str):
        kind = type(reduce).__name__
        raise TypeError(f"segment_reduce(): argument 'reduce' (position 2) must be str, not {kind}")
    if reduce not in _KINDS:
        raise RuntimeError(f"segment_reduce(): reduce must be one of sum, mean, max, min or prod, but got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if not data.is_floating_point():
        raise NotImplementedError(f"segment_reduce(): expected floating data, but got {data.dtype}")
    rank = data.dim()
    if not -max(rank, 1) <= axis < max(rank, 1):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {axis})")
    axis = axis % max(rank, 1)
    starts, ends = _bounds(data, lengths, offsets, axis, unsafe)
    size, count = data.shape[axis], ends.shape[-1]
    rows = math.prod(data.shape[:axis])
    # The segment that a place is in; `count` is none.
    places = _C.arange(size, device=data.device).expand(rows, size).contiguous()
    found = _C.searchsorted(ends, places, right=True)
    found = _C.where(places < starts, count, found)
    segments = found + _C.arange(rows, device=data.device).unsqueeze(1) * (count + 1)
    # Sums of half types are rounded once.
    wide = data if data.dtype is _C.float64 else data.float()
    flat = wide.reshape(rows * size, *data.shape[axis + 1 :])
    reduced = _reduced(flat, _KINDS[reduce], segments.reshape(-1), rows * (count + 1), initial)
    shape = (rows, count + 1, *data.shape[axis + 1 :])
    kept = reduced.reshape(shape)[:, :count].reshape(*data.shape[:axis], count, *data.shape[axis + 1 :])
    # Without the gap that the place of no segment leaves.
    return kept.to(data.dtype).contiguous()


def _bounds(
    data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool
) -> tuple[Tensor, Tensor]:
    """Where the first segment of each row begins [rows, 1], and where each ends [rows, segments]; checked."""
    name, given = ("offsets", offsets) if offsets is not None else ("lengths", lengths)
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if given.dtype not in (_C.int32, _C.int64):
        raise NotImplementedError(f"segment_reduce(): expected {name} of int32 or int64, but got {given.dtype}")
    if given.dim() - 1 != axis:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")
    if data.dim() <= axis or given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): expected {name} to have the sizes of data before axis {axis}, but got {name} of shape "
            f"{list(given.shape)} and data of shape {list(data.shape)}"
        )
    if offsets is not None and given.shape[-1] == 0:
        raise RuntimeError("segment_reduce(): expected offsets with at least one element along axis, but got none")
    table = given.long().reshape(math.prod(given.shape[:-1]), given.shape[-1])
    if offsets is not None:
        starts, ends = table[:, :1].contiguous(), table[:, 1:].contiguous()
        sizes = table.diff(dim=1)
    else:
        starts, ends, sizes = table.new_zeros(len(table), 1), table.cumsum(1), table
    if not unsafe:
        _check_values(name, sizes, table, data.shape[axis])
    return starts, ends


def _check_values(name: str, sizes: Tensor, table: Tensor, size: int) -> None:
    if not _C._holds(sizes >= 0):
        raise RuntimeError(
            f"segment_reduce(): {name} contains negative value!"
            if name == "lengths"
            else "segment_reduce(): expected offsets in ascending order"
        )
    if name == "lengths" and not _C._holds(sizes.sum(1) == size):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
            f"!unsafe, which is {size}."
        )
    if name == "offsets" and not _C._holds((table >= 0) & (table <= size)):
        raise RuntimeError(f"segment_reduce(): expected offsets in [0, {size}], the size of data along axis")


def _reduced(flat: Tensor, kind: str, segments: Tensor, count: int, initial: float | None) -> Tensor:
    """The reductions of the rows of `flat` by the segments they are in."""
    shape = (count, *flat.shape[1:])
    if kind in ("sum", "mean"):
        total = flat.new_full(shape, 0.0 if initial is None else initial).index_add(0, segments, flat)
        if kind == "sum":
            return total
        members = _C.zeros(count, dtype=flat.dtype, device=flat.device).index_add(
            0, segments, _C.ones(len(segments), dtype=flat.dtype, device=flat.device)
        )
        members = members.reshape(-1, *[1] * (flat.dim() - 1))
        return total / members if initial is None else _C.where(members == 0, initial, total / members.clamp(min=1))
    index = segments.reshape(-1, *[1] * (flat.dim() - 1)).expand(flat.shape)
    reduced = flat.new_full(shape, _OF_NOTHING[kind]).scatter_reduce(0, index, flat, kind)
    if initial is None:
        return reduced
    if kind == "prod":
        return reduced * initial
    beaten = reduced < initial if kind == "amax" else reduced > initial
    return _C.where(beaten, initial, reduced)


_segment_reduce = segment_reduce
