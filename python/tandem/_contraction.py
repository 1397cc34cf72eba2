"""The argument forms of `einsum` and `tensordot` that only Python has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tandem import _C

__all__ = ["einsum", "tensordot"]

Tensor = _C.Tensor


def einsum(*args: Any) -> Tensor:
    """Sum of products by Einstein's convention.

    `einsum(equation, *operands)`, the operands one by one or as one list. The equation names the dims of each operand
    by letters, operands separated by commas; after `->` those of the result, in order; without it they are the letters
    that occur once, sorted, capitals first. Letters that the result lacks are summed over; one that an operand has
    twice is a diagonal. `...` stands for the dims without a name, which broadcast and come first in a result that is
    not spelt out.

    `einsum(operand, dims, operand, dims, ..., [result dims])` names dims by integers in [0, 52) or `...` instead.

    Three or more operands are contracted in pairs, in the order of fewest multiplications; each pair is one batched
    matrix product, on views where strides allow.

    Raises RuntimeError where the equation does not fit the operands.

    >>> import tandem
    >>> a, b = tandem.ones(2, 3), tandem.ones(3, 4)
    >>> tandem.einsum("ij,jk->ik", a, b).tolist()
    [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
    >>> tandem.einsum(a, [0, 1], b, [1, 2]).shape
    tandem.Size([2, 4])
    >>> tandem.einsum("...ii", tandem.ones(5, 2, 2)).tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0]
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand "
            "and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        return einsum(*_from_sublists(args))
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    # Classes are asked about this function with the operands one by one, as users call it, and not about what it calls.
    asked = tuple(operands)
    if _C._has_torch_function(asked):
        result: Tensor = _C._handle_torch_function(einsum, "einsum", asked, (equation, *asked), {})
        return result
    return _C.einsum(equation, operands)


def _from_sublists(args: Sequence[Any]) -> tuple[Any, ...]:
    """The equation that interleaved operands and lists of dims mean."""
    count = len(args) // 2
    equation = ",".join(_letters(dims) for dims in args[1 : 2 * count : 2])
    if len(args) % 2:
        equation += "->" + _letters(args[-1])
    return (equation, *args[: 2 * count : 2])


def _letters(dims: Sequence[Any]) -> str:
    text = ""
    for d in dims:
        if d is Ellipsis:
            text += "..."
        elif 0 <= d < 52:
            text += chr(ord("A") + d) if d < 26 else chr(ord("a") + d - 26)
        else:
            raise ValueError(f"einsum(): subscript {d} is not within the valid range [0, 52)")
    return text


def tensordot(
    a: Tensor, b: Tensor, dims: int | Tensor | Sequence[int] | Sequence[Sequence[int]] = 2, out: Tensor | None = None
) -> Tensor:
    """Sum of products over dims of `a` paired with dims of `b`.

    `dims` is a number n (the last n dims of a with the first n of b, in order), a pair of lists of dims, or a tensor of
    either. The result has the other dims of a, then those of b. Raises RuntimeError where sizes of paired dims differ.

    >>> import tandem
    >>> a, b = tandem.ones(2, 3, 4), tandem.ones(4, 3, 5)
    >>> tandem.tensordot(a, b, dims=([1, 2], [1, 0])).shape
    tandem.Size([2, 5])
    """
    if _C._has_torch_function((a, b)):
        result: Tensor = _C._handle_torch_function(tensordot, "tensordot", (a, b), (a, b), {"dims": dims, "out": out})
        return result
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (list, tuple)) and len(dims) == 1:
        dims = dims[0]
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    else:
        both: Any = dims
        dims_a, dims_b = (list(d) if isinstance(d, (list, tuple)) else [d] for d in both)
    return _C.tensordot(a, b, dims_a, dims_b, out=out)
