"""`tandem.version`: what this build is made of."""

from __future__ import annotations

import sys

from tandem._version import __version__ as _own

#: Versions of GPU toolkits: there are none in this build.
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug = False
git_version = "unknown"


def __getattr__(name: str) -> str:
    # Under the name torch, what torch.__version__ says.
    if name == "__version__":
        return getattr(sys.modules.get("torch"), "__version__", _own)
    raise AttributeError(f"module 'tandem.version' has no attribute '{name}'")
