"""What a backend is: a `Transport`, which moves memory between the ranks of a group and computes nothing.

Collective operations are made of it once for all backends (`_rank_order.py`), with reductions by Tandem's own
operations in the order of ranks. That of the CPU carries texts and messages, too, and every group has one: ranks agree
by it about what they do, on whichever device that is.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

from tandem._C import Tensor

# Where the elements for each rank, or from each, are in a flat tensor: (offset, count) by rank.
Parts = Sequence[tuple[int, int]]


class Message(abc.ABC):
    """A message between two ranks that is on its way."""

    @abc.abstractmethod
    def wait(self, seconds: float) -> bool:
        """Has it arrived within that time? DistBackendError where it cannot."""

    @abc.abstractmethod
    def peer(self) -> int:
        """The rank of the group at the other end, once it has arrived."""


class Transport(abc.ABC):
    """The connections of one rank of a group to all others. After a failure it is of no use, and fails at once."""

    @abc.abstractmethod
    def exchange(self, tag: int, out: Tensor, sends: Parts, into: Tensor, receives: Parts, seconds: float) -> None:
        """Sends parts of a contiguous tensor, as if it were flat, to each rank and receives parts of another from each.

        All ranks call it with the same tag, which no other exchange of the group has, after `texts` made sure that
        what one sends is what the other expects. The tensors may be one where the parts do not overlap.
        """

    @abc.abstractmethod
    def abort(self, why: str) -> None:
        """Closes all connections, which ends all waiting here and at the other ranks."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends what is under way and gives everything back."""


class HostTransport(Transport):
    """Moves memory of the CPU, at once, and texts."""

    @abc.abstractmethod
    def texts(self, tag: int, texts: Sequence[str], seconds: float) -> list[str]:
        """Sends a short text to each rank; what each sent to this one, as `fitting` leaves it."""

    @abc.abstractmethod
    def fitting(self, texts: Sequence[str]) -> list[str]:
        """The texts as they arrive: what is too long is cut and has a digest of the rest."""

    @abc.abstractmethod
    def send(self, peer: int, tag: int, what: str, data: Tensor) -> Message:
        """Posts a message of a flat tensor."""

    @abc.abstractmethod
    def receive(self, peers: Sequence[int], tag: int, what: str, into: Tensor) -> Message:
        """Posts the wish for a message of one of the ranks, which must be described by the same text."""


def every(group_size: int, part: tuple[int, int]) -> list[tuple[int, int]]:
    """The same part for each rank."""
    return [part] * group_size


def none(group_size: int) -> list[tuple[int, int]]:
    """Nothing for any rank."""
    return [(0, 0)] * group_size


def only(group_size: int, rank: int, part: tuple[int, int]) -> list[tuple[int, int]]:
    """A part for one rank."""
    return [part if r == rank else (0, 0) for r in range(group_size)]


def rows(group_size: int, count: int) -> list[tuple[int, int]]:
    """For each rank its row of a tensor [group_size, count]."""
    return [(r * count, count) for r in range(group_size)]
