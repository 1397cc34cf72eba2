"""The file of a saved program: a zip archive whose members are not compressed and begin at multiples of 64 bytes, so
that they can be used where the file is mapped."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import tandem
from tandem import Tensor
from tandem._files import replace_file

MANIFEST, WEIGHTS, SIGNATURE = "manifest", "weights.safetensors", "signature"

_ALIGNMENT = 64
_PADDING = 0x6474  # the number of the extra field that fills up a member's header


def beside(path: str | os.PathLike[str]) -> str:
    """The file that has the weights of a program, where the program's own file does not."""
    return os.fspath(path) + ".safetensors"


def _info(name: str, size: int, at: int) -> zipfile.ZipInfo:
    """The header of a member that will be written at `at`: its bytes begin at a multiple of 64."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    info.file_size = size
    fixed = 30 + len(name.encode()) + (20 if size >= zipfile.ZIP64_LIMIT else 0) + 4
    filling = -(at + fixed) % _ALIGNMENT
    info.extra = _PADDING.to_bytes(2, "little") + filling.to_bytes(2, "little") + bytes(filling)
    return info


def _content(data: bytes | Tensor) -> memoryview:
    buffer: Any = data if isinstance(data, bytes) else data.numpy()
    return memoryview(buffer).cast("B")


def _write(file: IO[bytes], members: Mapping[str, bytes | Tensor]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            content = _content(data)
            with archive.open(
                _info(name, len(content), file.tell()), "w", force_zip64=len(content) >= zipfile.ZIP64_LIMIT
            ) as member:
                member.write(content)


def write_file(path: str | os.PathLike[str], data: bytes | Tensor) -> None:
    """Replace the file by these bytes, as a whole or not at all."""
    replace_file(path, lambda file: file.write(_content(data)))


def write_archive(path: str | os.PathLike[str] | IO[bytes], members: Mapping[str, bytes | Tensor]) -> None:
    """Write the members to a path, whose file is replaced as a whole or not at all, or to an open binary file."""
    if isinstance(path, (str, os.PathLike)):
        replace_file(path, lambda file: _write(file, members))
    else:
        _write(path, members)


def member_names(path: str | os.PathLike[str]) -> list[str]:
    """What a saved program has in its own file, in the file's order."""
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def read_archive(file: str | os.PathLike[str] | IO[bytes]) -> dict[str, bytes | Tensor]:
    """The members of a file, in memory; ValueError where it is no saved program, or a member is damaged."""
    name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else "the file"
    members: dict[str, bytes | Tensor] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                content = archive.read(info)
                # Weights are used where they lie, and so in aligned memory.
                members[info.filename] = (
                    tandem.frombuffer(bytearray(content), dtype=tandem.uint8).clone()
                    if info.filename == WEIGHTS
                    else content
                )
    except zipfile.BadZipFile as error:
        raise ValueError(f"{name}: not a saved program: {error}") from None
    if MANIFEST not in members:
        raise ValueError(f"{name}: not a saved program: it lacks its member `{MANIFEST}`")
    return members
