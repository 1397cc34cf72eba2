"""Sequences of different lengths: padded side by side, or packed without padding.

A `PackedSequence` holds the rows of step 0 of all sequences, then those of step 1, and so on; sequences are sorted by
falling length, so that those which go on are always the first rows of a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import tandem
from tandem import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences packed by step: what `pack_padded_sequence` returns and recurrent layers take and return.

    Attributes:
        data: [sum of lengths, *], the rows of all steps.
        batch_sizes: int64, how many sequences each step has.
        sorted_indices: the sequences in the packed order; None if they came sorted.
        unsorted_indices: the inverse of it.

    Example:
        >>> import tandem
        >>> packed = tandem.nn.utils.rnn.pack_sequence([tandem.tensor([1, 2]), tandem.tensor([3])])
        >>> packed.data.tolist(), packed.batch_sizes.tolist()
        ([1, 3, 2], [2, 1])
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise ValueError("PackedSequence takes data and batch_sizes, or one pair of both")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def with_data(self, data: Tensor) -> PackedSequence:
        """The same sequences with other rows."""
        if data is self.data:
            return self
        packed = type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)
        packed._counts = self._counts
        return packed

    # The batch sizes as numbers, where they are known without reading a tensor.
    _counts: list[int] | None = None

    def counts(self) -> list[int]:
        """The batch sizes as a list."""
        if self._counts is None:
            self._counts = self.batch_sizes.tolist()
        return self._counts

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data converted as by `Tensor.to`; indices and sizes keep their dtype."""
        return self.with_data(self.data.to(*args, **kwargs))

    def float(self) -> PackedSequence:
        """The data in float32."""
        return self.to(dtype=tandem.float32)

    def double(self) -> PackedSequence:
        """The data in float64."""
        return self.to(dtype=tandem.float64)

    def half(self) -> PackedSequence:
        """The data in float16."""
        return self.to(dtype=tandem.float16)

    def long(self) -> PackedSequence:
        """The data in int64."""
        return self.to(dtype=tandem.int64)

    def int(self) -> PackedSequence:
        """The data in int32."""
        return self.to(dtype=tandem.int32)

    def short(self) -> PackedSequence:
        """The data in int16."""
        return self.to(dtype=tandem.int16)

    def char(self) -> PackedSequence:
        """The data in int8."""
        return self.to(dtype=tandem.int8)

    def byte(self) -> PackedSequence:
        """The data in uint8."""
        return self.to(dtype=tandem.uint8)

    def cpu(self) -> PackedSequence:
        """On the CPU."""
        return self.with_data(self.data.cpu())

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """On a GPU."""
        return self.with_data(self.data.cuda(*args, **kwargs))

    def pin_memory(self) -> PackedSequence:
        """Itself: memory of the CPU needs no pinning."""
        return self

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation of 0 .. n-1, [n] of an integer dtype; None for None.

    Example:
        >>> import tandem
        >>> tandem.nn.utils.rnn.invert_permutation(tandem.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    return tandem.empty_like(permutation).scatter_(
        0, permutation, tandem.arange(permutation.numel(), dtype=permutation.dtype, device=permutation.device)
    )


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack the first `lengths[i]` steps of each sequence of [T, B, *], or [B, T, *] if `batch_first`.

    Lengths must fall if `enforce_sorted`, otherwise sequences are sorted here. RuntimeError for lengths that are not
    positive, do not fall, or are longer than T.

    Example:
        >>> import tandem
        >>> x = tandem.tensor([[1, 2, 3], [4, 5, 0]])
        >>> tandem.nn.utils.rnn.pack_padded_sequence(x, [3, 2], batch_first=True).data.tolist()
        [1, 4, 2, 5, 3]
    """
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if isinstance(lengths, Tensor) and lengths.dim() != 1:
        raise RuntimeError(f"'lengths' argument should be a 1D tensor, but got {lengths.dim()}D")
    sizes = [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    order = None
    if not enforce_sorted:
        places = sorted(range(len(sizes)), key=lambda i: -sizes[i])
        sizes = [sizes[i] for i in places]
        order = tandem.tensor(places, dtype=tandem.int64, device=input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    if len(sizes) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={input.shape[1]})"
        )
    if not sizes or min(sizes) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in zip(sizes, sizes[1:], strict=False)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if sizes[0] > input.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {input.shape[0]} steps, but got {sizes[0]}")
    # Runs of steps with the same sequences are one block each.
    blocks, counts, start = [], [], 0
    for batch in range(len(sizes), 0, -1):
        stop = sizes[batch - 1]
        if stop > start:
            blocks.append(input[start:stop, :batch].reshape([-1, *input.shape[2:]]))
            counts += [batch] * (stop - start)
            start = stop
    data = tandem.cat(blocks)
    packed = PackedSequence(data, tandem.tensor(counts, dtype=tandem.int64, device="cpu"), order)
    packed._counts = counts
    return packed


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of `pack_padded_sequence`: padded sequences [T, B, *] ([B, T, *] if `batch_first`) and lengths.

    T is the longest length, or `total_length`, which must not be less (ValueError).

    Example:
        >>> import tandem
        >>> from tandem.nn.utils.rnn import pack_sequence, pad_packed_sequence
        >>> padded, lengths = pad_packed_sequence(pack_sequence([tandem.tensor([1, 2]), tandem.tensor([3])]))
        >>> padded.tolist(), lengths.tolist()
        ([[1, 3], [2, 0]], [2, 1])
    """
    data, unsorted_indices, counts = sequence.data, sequence.unsorted_indices, sequence.counts()
    steps = len(counts)
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {steps}"
        )
    rest = list(data.shape[1:])
    filled = (total_length or steps) * counts[0]
    blocks, start, row = [], 0, 0
    while start < steps:
        batch, stop = counts[start], start
        while stop < steps and counts[stop] == batch:
            stop += 1
        length = stop - start
        block = data[row : row + length * batch].reshape([length, batch, *rest])
        row += length * batch
        if batch < counts[0]:
            padding = tandem.full(
                [length, counts[0] - batch, *rest], padding_value, dtype=data.dtype, device=data.device
            )
            block = tandem.cat([block, padding], 1)
        blocks.append(block)
        start = stop
    if filled > steps * counts[0]:
        blocks.append(
            tandem.full(
                [filled // counts[0] - steps, counts[0], *rest], padding_value, dtype=data.dtype, device=data.device
            )
        )
    padded = tandem.cat(blocks)
    lengths = tandem.tensor([sum(n > i for n in counts) for i in range(counts[0])], dtype=tandem.int64, device="cpu")
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is not None:
        return padded.index_select(0 if batch_first else 1, unsorted_indices), lengths[unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences [L_i, *] side by side, padded to the longest: [T, B, *], or [B, T, *] if `batch_first`.

    `padding_side` is "right" or "left". RuntimeError for another side and for no sequences.

    Example:
        >>> import tandem
        >>> tandem.nn.utils.rnn.pad_sequence([tandem.tensor([1, 2]), tandem.tensor([3])], batch_first=True).tolist()
        [[1, 2], [3, 0]]
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    length = max(s.shape[0] for s in sequences)
    rows = []
    for s in sequences:
        if s.shape[0] < length:
            shape = [length - s.shape[0], *s.shape[1:]]
            padding = tandem.full(shape, padding_value, dtype=s.dtype, device=s.device)
            s = tandem.cat([s, padding] if padding_side == "right" else [padding, s])
        rows.append(s)
    return tandem.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The inverse of `pad_sequence`: the first `lengths[i]` steps of each sequence of [T, B, *] or [B, T, *].

    Example:
        >>> import tandem
        >>> padded = tandem.tensor([[1, 2], [3, 0]])
        >>> tandem.nn.utils.rnn.unpad_sequence(padded, tandem.tensor([2, 1]), batch_first=True)
        [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[:n] for s, n in zip(padded_sequences.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences [L_i, *]; they must be of falling length if `enforce_sorted` (RuntimeError).

    Example:
        >>> import tandem
        >>> tandem.nn.utils.rnn.pack_sequence([tandem.tensor([1, 2]), tandem.tensor([3])]).data
        tensor([1, 3, 2])
    """
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The inverse of `pack_sequence`: the sequences [L_i, *] in their first order.

    Example:
        >>> import tandem
        >>> rnn = tandem.nn.utils.rnn
        >>> rnn.unpack_sequence(rnn.pack_sequence([tandem.tensor([1, 2]), tandem.tensor([3])]))
        [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
