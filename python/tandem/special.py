"""`tandem.special`: special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem import _C

if TYPE_CHECKING:
    from tandem._C._special import *  # noqa: F403

globals().update({name: value for name, value in vars(_C._special).items() if not name.startswith("_")})
multigammaln = _C._special.mvlgamma
