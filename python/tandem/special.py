"""`tandem.special`: special functions."""

from __future__ import annotations

from tandem import _C

globals().update({name: value for name, value in vars(_C._special).items() if not name.startswith("_")})
