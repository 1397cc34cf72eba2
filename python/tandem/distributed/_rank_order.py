"""What collective operations do on the thread of their group, in terms of its transports.

A reduction is the same sum everywhere: element by element, x0 + x1 + ... in the order of ranks, by Tandem's operations,
half types in float32 and rounded once. How the work is divided among the ranks has no influence on a bit.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.distributed._process_group import ProcessGroup
from tandem.distributed._transport import every, none, only, rows

__all__ = ["ReduceOp"]

SMALL = 8192  # bytes, up to which every rank adds everything: one exchange instead of two

Body = Callable[[int], None]


class ReduceOp(enum.Enum):
    """How values of processes are reduced: SUM, AVG (a sum divided by the number of processes), PRODUCT, MIN, MAX,
    BAND, BOR, BXOR. PREMUL_SUM is not part of Tandem.

    Of booleans SUM, MAX and BOR are `or`, PRODUCT, MIN and BAND `and`, BXOR `xor`.

    >>> import tandem
    >>> tandem.distributed.ReduceOp.SUM.name
    'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


# PyTorch's name of the class of its members.
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]

_STEPS: dict[ReduceOp, Callable[[Tensor, Tensor], Any]] = {
    ReduceOp.SUM: Tensor.add_,
    ReduceOp.AVG: Tensor.add_,
    ReduceOp.PRODUCT: Tensor.mul_,
    ReduceOp.MIN: tandem.minimum,
    ReduceOp.MAX: tandem.maximum,
    ReduceOp.BAND: tandem.bitwise_and,
    ReduceOp.BOR: tandem.bitwise_or,
    ReduceOp.BXOR: tandem.bitwise_xor,
}
_OF_BOOLEANS = {
    ReduceOp.SUM: ReduceOp.BOR,
    ReduceOp.MAX: ReduceOp.BOR,
    ReduceOp.PRODUCT: ReduceOp.BAND,
    ReduceOp.MIN: ReduceOp.BAND,
}


def check_op(op: ReduceOp, dtype: tandem.dtype, operation: str) -> None:
    """Is there such a reduction of that dtype?"""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{operation}: expected op to be a ReduceOp, got {type(op).__name__}")
    if op is ReduceOp.PREMUL_SUM:
        raise NotImplementedError(f"{operation}: ReduceOp.PREMUL_SUM is not part of Tandem. Multiply before the SUM")
    if op is ReduceOp.AVG and not dtype.is_floating_point:
        raise RuntimeError(f"{operation}: ReduceOp.AVG is for floating point, not {dtype}")
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and dtype.is_floating_point:
        raise RuntimeError(f"{operation}: ReduceOp.{op.name} is for integers and booleans, not {dtype}")


def combine(parts: Tensor, op: ReduceOp, divisor: int | None = None) -> Tensor:
    """The reduction of the rows of a tensor [ranks, n] from the first to the last; AVG divides by their number, or by
    `divisor`."""
    if parts.dtype is tandem.bool:
        op = _OF_BOOLEANS.get(op, op)
    step = _STEPS[op]
    wide = parts.float() if parts.dtype in (tandem.float16, tandem.bfloat16) else parts
    total = wide[0]
    for r in range(1, len(wide)):
        total = step(total, wide[r])
    if op is ReduceOp.AVG:
        total = total.div_(len(wide) if divisor is None else divisor)
    return total


def all_reduce(group: ProcessGroup, data: Tensor, op: ReduceOp, seconds: float, divisor: int | None = None) -> Body:
    """Of a flat tensor. Each rank adds its share, unless there is little to add."""
    n, me, count = group.size(), group.rank(), data.numel()
    if n == 1:
        return lambda tag: None  # a sum of one, or its average
    if count * data.element_size() <= SMALL:

        def at_once(tag: int) -> None:
            parts = tandem.empty(n, count, dtype=data.dtype, device=data.device)
            group.exchange(tag, data, every(n, (0, count)), parts, rows(n, count), seconds)
            data.copy_(combine(parts, op, divisor))

        return at_once

    def by_shares(tag: int) -> None:
        bounds = [count * r // n for r in range(n + 1)]
        shares = [(bounds[r], bounds[r + 1] - bounds[r]) for r in range(n)]
        at, mine = shares[me]
        parts = tandem.empty(n, mine, dtype=data.dtype, device=data.device)
        group.exchange(tag, data, shares, parts, rows(n, mine), seconds)
        data[at : at + mine].copy_(combine(parts, op, divisor))
        group.exchange(tag + 1, data, every(n, shares[me]), data, shares, seconds)

    return by_shares


def reduce(group: ProcessGroup, data: Tensor, root: int, op: ReduceOp, seconds: float) -> Body:
    """Into the flat tensor of one rank."""
    n, me, count = group.size(), group.rank(), data.numel()

    def body(tag: int) -> None:
        parts = tandem.empty(n if me == root else 0, count, dtype=data.dtype, device=data.device)
        receives = rows(n, count) if me == root else none(n)
        group.exchange(tag, data, only(n, root, (0, count)), parts, receives, seconds)
        if me == root:
            data.copy_(combine(parts, op))

    return body


def reduce_scatter(group: ProcessGroup, out: Tensor, data: Tensor, op: ReduceOp, seconds: float) -> Body:
    """The reduction of the ranks' rows for this one; `data` is flat, a row for each rank."""
    n, count = group.size(), out.numel()

    def body(tag: int) -> None:
        parts = tandem.empty(n, count, dtype=out.dtype, device=out.device)
        group.exchange(tag, data, rows(n, count), parts, rows(n, count), seconds)
        out.copy_(combine(parts, op))

    return body


def broadcast(group: ProcessGroup, data: Tensor, root: int, seconds: float) -> Body:
    n, me, whole = group.size(), group.rank(), (0, data.numel())

    def body(tag: int) -> None:
        sends = [whole if me == root != r else (0, 0) for r in range(n)]
        receives = only(n, root, whole) if me != root else none(n)
        group.exchange(tag, data, sends, data, receives, seconds)

    return body


def all_gather(group: ProcessGroup, out: Tensor, data: Tensor, seconds: float) -> Body:
    """Every rank's flat tensor behind the other, in the flat `out`."""
    n, count = group.size(), data.numel()

    def body(tag: int) -> None:
        group.exchange(tag, data, every(n, (0, count)), out, rows(n, count), seconds)

    return body


def gather(group: ProcessGroup, out: Tensor, data: Tensor, root: int, seconds: float) -> Body:
    """As all_gather, on one rank."""
    n, count = group.size(), data.numel()
    receives = rows(n, count) if group.rank() == root else none(n)

    def body(tag: int) -> None:
        group.exchange(tag, data, only(n, root, (0, count)), out, receives, seconds)

    return body


def scatter(group: ProcessGroup, out: Tensor, data: Tensor, root: int, seconds: float) -> Body:
    """Row r of the root's flat `data` into rank r's flat `out`."""
    n, count = group.size(), out.numel()
    sends = rows(n, count) if group.rank() == root else none(n)

    def body(tag: int) -> None:
        group.exchange(tag, data, sends, out, only(n, root, (0, count)), seconds)

    return body


def all_to_all(
    group: ProcessGroup, out: Tensor, receives: Sequence[int], data: Tensor, sends: Sequence[int], seconds: float
) -> Body:
    """Stretches of the flat `data`, one for each rank, behind the other in the ranks' flat `out`; their lengths."""

    def parts(counts: Sequence[int]) -> list[tuple[int, int]]:
        return [(sum(counts[:r]), counts[r]) for r in range(len(counts))]

    def body(tag: int) -> None:
        group.exchange(tag, data, parts(sends), out, parts(receives), seconds)

    return body


def then(body: Body, after: Callable[[], None]) -> Body:
    """A body and what is done with what it received."""

    def both(tag: int) -> None:
        body(tag)
        after()

    return both
