"""`gradient`: derivatives of a function that is known at points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem import _C
from tandem._functions import _need_tensor

__all__ = ["gradient"]

Tensor = _C.Tensor


def gradient(
    input: Tensor, *, spacing: Any = None, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Derivatives of a function along dims by second-order differences, from its values `input` at points of a grid.

    Inside, of points at the distances h and k before and after x:
    (h^2 f(x + k) - k^2 f(x - h) + (k^2 - h^2) f(x)) / (h k (h + k)); at both ends differences of `edge_order`.

    Args:
        input: values of any dtype but bool and uint8; integers give the default dtype.
        spacing: the distance of neighbours: a number (1), or one for each dim; or the coordinates in each dim, a list
            of vectors.
        dim: the dims to differentiate along, all of them if None.
        edge_order: 1 (of two points) or 2 (of three).

    Returns a tuple of a tensor of the shape of `input` for each dim.

    Raises:
        RuntimeError: `spacing` has not as many elements as there are dims, a vector not as many as the dim, a dim
            fewer than `edge_order` + 1; `edge_order` is neither 1 nor 2, or `input` is bool or uint8.
        TypeError: `spacing` is none of these.

    >>> import tandem
    >>> tandem.gradient(tandem.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    >>> tandem.gradient(tandem.tensor([0.0, 1.0, 9.0]), spacing=[tandem.tensor([0.0, 1.0, 3.0])], edge_order=2)
    (tensor([0., 2., 6.]),)
    """
    if _need_tensor("gradient", input).dtype is _C.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    steps = _steps(spacing)
    rank = input.dim()
    given = tuple(range(rank)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if isinstance(steps, list) and len(steps) != len(given):
        if dim is None:
            raise RuntimeError(
                f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim()"
                f" = {rank}', since dim argument was not given, but got a list of length {len(steps)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {len(steps)} and a dim argument of length {len(given)}."
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = _wrapped(given, rank)
    if any(input.shape[d] < edge_order + 1 for d in dims):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    each = steps if isinstance(steps, list) else [steps] * len(dims)
    for d, step in zip(dims, each, strict=True):
        if isinstance(step, Tensor):
            _check_coordinates(step, d, input.shape[d])
    return tuple(
        _uneven(input, step, d, edge_order) if isinstance(step, Tensor) else _even(input, step, d, edge_order)
        for d, step in zip(dims, each, strict=True)
    )


def _steps(spacing: Any) -> Any:
    """A number for all dims, or a list of numbers or of tensors."""
    if spacing is None:
        return 1
    if isinstance(spacing, Tensor) and spacing.dim() == 0:
        return spacing.item()
    if isinstance(spacing, (int, float)):
        return spacing
    if isinstance(spacing, (list, tuple)):
        for kind in (Tensor, (int, float)):
            if all(isinstance(step, kind) for step in spacing):
                return list(spacing)
        raise TypeError("gradient(): expected the elements of spacing to be numbers, or all of them tensors")
    what = f"a tensor of shape {list(spacing.shape)}" if isinstance(spacing, Tensor) else type(spacing).__name__
    raise TypeError(f"gradient(): argument 'spacing' must be a number, or a list of numbers or tensors, not {what}")


def _wrapped(dims: Sequence[int], rank: int) -> list[int]:
    wrapped: list[int] = []
    for d in dims:
        if not -rank <= d < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {d})")
        if d % rank in wrapped:
            raise RuntimeError(f"dim {d % rank} appears multiple times in the list of dims")
        wrapped.append(d % rank)
    return wrapped


def _check_coordinates(points: Tensor, dim: int, size: int) -> None:
    if points.dim() != 1:
        raise RuntimeError(
            "torch.gradient expected each element of spacing to have one dimension, but got an element with "
            f"{points.dim()} dimensions!"
        )
    if len(points) != size:
        raise RuntimeError(
            f"torch.gradient expected as many coordinates as the input has elements in dimension {dim}, {size}, but "
            f"got {len(points)}"
        )


def _even(x: Tensor, step: float, dim: int, order: int) -> Tensor:
    n = x.shape[dim]
    middle = (x.narrow(dim, 2, n - 2) - x.narrow(dim, 0, n - 2)) / step / 2

    def at(i: int) -> Tensor:
        return x.narrow(dim, i % n, 1)

    if order == 1:
        first, last = (at(1) - at(0)) / step, (at(-1) - at(-2)) / step
    else:
        first = (at(0) * -1.5 + at(1) * 2 - at(2) * 0.5) / step
        last = (at(-3) * 0.5 - at(-2) * 2 + at(-1) * 1.5) / step
    return _C.cat((first, middle, last), dim)


def _uneven(x: Tensor, points: Tensor, dim: int, order: int) -> Tensor:
    n = x.shape[dim]
    # Along `dim`, to broadcast.
    gaps = points.diff().reshape(-1, *[1] * (x.dim() - 1 - dim))

    def at(i: int, count: int = 1) -> Tensor:
        return x.narrow(dim, i % n, count)

    def gap(i: int) -> Tensor:
        return gaps.narrow(0, i % (n - 1), 1)

    h, k = gaps[: n - 2], gaps[1:]
    middle = (
        at(0, n - 2) * (-k / (h * (h + k))) + at(1, n - 2) * ((k - h) / (h * k)) + at(2, n - 2) * (h / (k * (h + k)))
    )
    if order == 1:
        first, last = (at(1) - at(0)) / gap(0), (at(-1) - at(-2)) / gap(-1)
    else:
        first, last = (
            at(i) * (-(2 * h + k) / (h * (h + k))) + at(j) * ((h + k) / (h * k)) - at(l) * (h / (k * (h + k)))
            for i, j, l, h, k in ((0, 1, 2, gap(0), gap(1)), (-1, -2, -3, -gap(-1), -gap(-2)))
        )
    return _C.cat((first, middle, last), dim)
