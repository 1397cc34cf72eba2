"""`tandem.utils.dlpack`: tensors to and from other libraries, sharing memory."""

from __future__ import annotations

from tandem._support import from_dlpack as from_dlpack
from tandem._support import tensor_to_dlpack as to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
