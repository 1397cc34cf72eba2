"""What is installed under the name torch, for those who ask for its version without importing it."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import tandem


class TorchDistribution(metadata.Distribution):
    """The distribution `torch` of a version."""

    def __init__(self, version: str):
        self._text = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return Path(str(tandem.__file__)).parent / path
