"""`tandem.types`: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from tandem import _C
from tandem._dtypes import layout

Tensor = _C.Tensor
Number: TypeAlias = int | float | bool
Device: TypeAlias = _C.device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
# Sizes and what is computed of them are numbers, none is symbolic.
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
PySymType: TypeAlias = int | float | bool
_device = _C.device
_dtype = _C.dtype
_layout = layout
_Number = (int, float, bool)
_int = int
_float = float
_bool = bool
_size: TypeAlias = Sequence[int]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | Any
