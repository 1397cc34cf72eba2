"""Where NVIDIA's wheels have put their libraries: asked for before the first GPU is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["folders", "name_folders"]

_VARIABLE = "TANDEM_CUDA_PATH"


def folders() -> list[str]:
    """The folders of libraries that the packages `nvidia-...` have in the process's site-packages, each once."""
    found: dict[str, None] = {}
    for entry in sys.path:
        for folder in sorted(Path(entry or ".").glob("nvidia/*/lib")):
            # Two sets may stand side by side: `cu13` holds those of one version of CUDA.
            if folder.is_dir():
                found[str(folder.resolve())] = None
    return sorted(found, key=lambda name: "/cu13/" not in name)


def name_folders() -> None:
    """Append them to $TANDEM_CUDA_PATH, where libraries are looked for that the system's loader does not find."""
    given = [name for name in os.environ.get(_VARIABLE, "").split(":") if name]
    new = [name for name in folders() if name not in given]
    if new:
        os.environ[_VARIABLE] = ":".join(given + new)
