"""`tandem.utils.dlpack`: tensors to and from other libraries, sharing memory."""

from __future__ import annotations

from typing import Any

from tandem import _C
from tandem._support import from_dlpack as from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: _C.Tensor) -> Any:
    """A DLPack capsule of the tensor's memory, to be taken once.

    BufferError for a tensor that requires a gradient.

    >>> import tandem
    >>> capsule = tandem.utils.dlpack.to_dlpack(tandem.ones(2))
    >>> type(capsule).__name__
    'PyCapsule'
    """
    return tensor.__dlpack__()
