"""`TorchVersion`: what `torch.__version__` is, a str that is compared as a version."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]

# A version in the spellings of PEP 440: epoch, release, pre-, post- and development release, local part.
_FORM = re.compile(
    r"\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*)"
    r"(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?(\d*))?"
    r"(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?"
    r"(?:[-_.]?(dev)[-_.]?(\d*))?"
    r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_FIRST, _LAST = -1, 3  # before the stages, and after them


def _key(version: Any) -> tuple[Any, ...] | None:
    """What orders versions; None for what is none."""
    if not isinstance(version, str):
        if not isinstance(version, Iterable):
            return None
        version = ".".join(map(str, version))
    found = _FORM.fullmatch(version)
    if found is None:
        return None
    epoch, release, stage, pre, short, post, of_post, dev, of_dev, local = found.groups()
    numbers = [int(n) for n in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    is_post = short is not None or post is not None
    if stage is not None:
        place = (_STAGES[stage.lower()], int(pre or 0))
    else:  # a development release of a final one comes before its first stage
        place = (_FIRST if dev is not None and not is_post else _LAST, 0)
    after = int(short or of_post or 0) if is_post else -1
    parts = re.split("[-_.]", local.lower()) if local else []
    of_local = [(1, int(p), "") if p.isdigit() else (0, 0, p) for p in parts]
    return (int(epoch or 0), numbers, place, after, (0, int(of_dev or 0)) if dev is not None else (1, 0), of_local)


class TorchVersion(str):
    """A str that is compared with versions, as str or as tuples of numbers, in the order of PEP 440.

    What is no version is compared as a str.

    >>> from tandem.torch_version import TorchVersion
    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (2, 13), TorchVersion("2.13.0") == "2.13"
    (True, True, True)
    """

    def _compare(self, other: Any, how: str) -> Any:
        mine, theirs = _key(str(self)), _key(other)
        if mine is None or theirs is None:
            return getattr(str, how)(self, other)
        return getattr(mine, how)(theirs)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "__le__")

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, "__ge__")

    def __eq__(self, other: object) -> bool:
        return self._compare(other, "__eq__")

    __hash__ = str.__hash__
