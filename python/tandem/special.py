"""`tandem.special`: special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem import _C

if TYPE_CHECKING:
    from tandem._C._special import *  # noqa: F403

_functions = {name: value for name, value in vars(_C._special).items() if not name.startswith("_")}
globals().update(_functions)
multigammaln = _C._special.mvlgamma

__all__ = sorted([*_functions, "multigammaln"])  # noqa: PLE0605
