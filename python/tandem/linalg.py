"""`tandem.linalg`: linear algebra."""

from __future__ import annotations

from tandem import _C

globals().update({name: value for name, value in vars(_C._linalg).items() if not name.startswith("_")})
LinAlgError = _C._LinAlgError
