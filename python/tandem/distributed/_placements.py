"""How PyTorch says on which ranks the parts of a tensor are. Plans of projects are made of these when they are
imported; there are no distributed tensors that would follow them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """What one dim of a mesh of ranks has of a tensor.

    >>> import tandem
    >>> from tandem.distributed._placements import Replicate, Shard
    >>> Shard(0).is_shard(), Replicate().is_shard()
    (True, False)
    """

    def is_shard(self, dim: int | None = None) -> bool:
        """Is it a part of the tensor, along `dim` if that is given?"""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Is it the whole tensor?"""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Is it a summand of the tensor, or what `reduce_op` reduces to it?"""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """A part of the tensor along dim `dim`.

    >>> from tandem.distributed._placements import Shard
    >>> Shard(1), str(Shard(1))
    (Shard(dim=1), 'S(1)')
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Parts of `split_factor` groups along dim `dim`."""

    split_factor: int

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """The whole tensor.

    >>> from tandem.distributed._placements import Replicate
    >>> Replicate(), str(Replicate())
    (Replicate(), 'R')
    """

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """What is still to be reduced to the tensor by `reduce_op`.

    >>> from tandem.distributed._placements import Partial
    >>> Partial(), str(Partial("avg"))
    (Partial(sum), 'P(avg)')
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"
