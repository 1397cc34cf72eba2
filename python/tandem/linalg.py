"""`tandem.linalg`: linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem import _C

if TYPE_CHECKING:
    from tandem._C._linalg import *  # noqa: F403

globals().update({name: value for name, value in vars(_C._linalg).items() if not name.startswith("_")})
LinAlgError = _C._LinAlgError
