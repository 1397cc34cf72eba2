"""What `tandem.serialization` remembers for all files: classes of tensors that they may name, and whether they get
checksums.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_crc32_options",
    "get_safe_globals",
    "safe_globals",
    "set_crc32_options",
]

_safe_globals: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files name these classes of tensors: `load` makes them without `weights_only=False`.

    >>> import tandem
    >>> class Marked(tandem.Tensor):
    ...     pass
    >>> tandem.serialization.add_safe_globals([Marked])
    >>> tandem.serialization.get_safe_globals() == [Marked]
    True
    >>> tandem.serialization.clear_safe_globals()
    """
    _safe_globals.extend(c for c in safe_globals if c not in _safe_globals)


def get_safe_globals() -> list[Any]:
    """The classes that files may name.

    >>> import tandem
    >>> tandem.serialization.get_safe_globals()
    []
    """
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Let files name no classes.

    >>> import tandem
    >>> tandem.serialization.clear_safe_globals()
    """
    _safe_globals.clear()


class safe_globals:  # noqa: N801
    """A `with` block in which files may name these classes, too.

    >>> import tandem
    >>> with tandem.serialization.safe_globals([tandem.Tensor]):
    ...     len(tandem.serialization.get_safe_globals())
    1
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self._more = list(safe_globals)

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._more)

    def __exit__(self, *exc: object) -> None:
        _safe_globals[:] = self._before


_crc32 = True


def get_crc32_options() -> bool:
    """What `set_crc32_options` was told; True before.

    >>> import tandem
    >>> tandem.serialization.get_crc32_options()
    True
    """
    return _crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether files get checksums. Accepted: the files of `save` have none.

    >>> import tandem
    >>> tandem.serialization.set_crc32_options(True)
    """
    global _crc32
    _crc32 = compute_crc32
