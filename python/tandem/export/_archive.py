"""The file of a saved program: a zip archive whose members are not compressed and begin at multiples of 64 bytes, so
that they can be used where the file is mapped."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tandem import Tensor

_ALIGNMENT = 64
_PADDING = 0x6474  # the number of the extra field that fills up a member's header


def _info(name: str, size: int, at: int) -> zipfile.ZipInfo:
    """The header of a member that will be written at `at`: its bytes begin at a multiple of 64."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    info.file_size = size
    fixed = 30 + len(name.encode()) + (20 if size >= zipfile.ZIP64_LIMIT else 0) + 4
    filling = -(at + fixed) % _ALIGNMENT
    info.extra = _PADDING.to_bytes(2, "little") + filling.to_bytes(2, "little") + bytes(filling)
    return info


def _write(file: IO[bytes], members: Mapping[str, bytes | Tensor]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            buffer: Any = data if isinstance(data, bytes) else data.numpy()
            content = memoryview(buffer).cast("B")
            with archive.open(
                _info(name, len(content), file.tell()), "w", force_zip64=len(content) >= zipfile.ZIP64_LIMIT
            ) as member:
                member.write(content)


def write_archive(path: str | os.PathLike[str] | IO[bytes], members: Mapping[str, bytes | Tensor]) -> None:
    """Write the members to a path, or to a binary file at its beginning. A path's file is written aside, synced and
    renamed: what was there before is replaced by the whole file or not at all."""
    if not isinstance(path, (str, os.PathLike)):
        return _write(path, members)
    target = Path(path)
    handle, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            _write(file, members)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(aside, target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
