"""Short names of dtypes, as top-level names: apart from the rest, since they hide Python's own."""

from tandem import _C

__all__ = ["double", "float", "half", "int", "long", "short"]

float = _C.float32
double = _C.float64
half = _C.float16
int = _C.int32
long = _C.int64
short = _C.int16
