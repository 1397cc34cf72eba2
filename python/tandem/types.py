"""`tandem.types`: names for annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tandem import _C

Tensor = _C.Tensor
Number: TypeAlias = int | float | bool
Device: TypeAlias = _C.device | str | int | None
_dtype = _C.dtype
_int = int
_float = float
_bool = bool
_size: TypeAlias = Sequence[int]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
