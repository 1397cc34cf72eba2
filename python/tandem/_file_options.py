"""What `tandem.serialization` remembers for all files: classes and functions that they may name, and whether they get
checksums.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
import warnings
from collections import Counter, OrderedDict
from typing import Any

import tandem

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
    """Let files name these classes and functions: `load` makes objects of them without `weights_only=False`.

    A pair (object, "module.name") lets files name an object by another name than its own.

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
    """The classes and functions that files may name.

    >>> import tandem
    >>> tandem.serialization.get_safe_globals()
    []
    """
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Let files name no classes or functions.

    >>> import tandem
    >>> tandem.serialization.clear_safe_globals()
    """
    _safe_globals.clear()


def safe_global(module: str, name: str) -> Any:
    """What files may name so; None where they may not."""
    module = "builtins" if module == "__builtin__" else module  # Python 2's name in older protocols
    for known in _safe_globals:
        found, path = known if isinstance(known, tuple) else (known, f"{known.__module__}.{known.__qualname__}")
        if path == f"{module}.{name}":
            return found
    return None


def tensor_class(module: str, name: str, where: str, trusted: bool) -> Any:
    """The class of tensors that a file names: one that the program says is safe, or any of a file that is trusted."""
    buffer = tandem.nn.Buffer
    if (module, name) == (buffer.__module__, buffer.__qualname__):
        return buffer
    found = safe_global(module, name)
    if found is None and not trusted:
        raise pickle.UnpicklingError(
            f"load: {where} holds a tensor of the class {module}.{name}. Weights only load failed: use "
            "add_safe_globals with the class, or pass weights_only=False if you trust the file"
        )
    if found is None:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    return found


class SafeUnpickler(pickle._Unpickler):
    """Reads a pickle that names plain containers, shapes, devices and dtypes, and what `add_safe_globals` was told."""

    _plain = (OrderedDict, Counter, set, frozenset, bytearray, complex, tandem.Size, tandem.device)

    def __init__(self, data: bytes, where: str, tensors: list[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self.where, self.tensors = where, tensors

    def persistent_load(self, number: Any) -> Any:
        return self.tensors[number]

    def find_class(self, module: str, name: str) -> Any:
        for known in self._plain:
            if (module, name) == (known.__module__, known.__qualname__):
                return known
        if module == "tandem" and isinstance(dtype := getattr(tandem, name, None), tandem.dtype):
            return dtype
        found = safe_global(module, name)
        if found is None:
            raise pickle.UnpicklingError(
                f"load: {self.where} holds an object that is no plain value, whose loading runs code of the file: it "
                f"names {module}.{name}. Weights only load failed: use add_safe_globals with what it names, or pass "
                "weights_only=False if you trust the file"
            )
        return found


def trusted(weights_only: bool | None) -> bool:
    """May `load` read pickled objects? As PyTorch's variables of the environment say where the caller does not."""
    no, yes = (
        os.environ.get(f"TORCH_FORCE_{name}", "0").lower() in ("1", "y", "yes", "true")
        for name in ("NO_WEIGHTS_ONLY_LOAD", "WEIGHTS_ONLY_LOAD")
    )
    if no and yes:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both "
            "were set."
        )
    if yes:
        return False
    if weights_only is None and no:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
            stacklevel=3,
        )
        return True
    return weights_only is False


class safe_globals:  # noqa: N801
    """A `with` block in which files may name these classes and functions, too.

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
