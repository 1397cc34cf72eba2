"""What `torch.__config__` has: how the library was built, as text."""

from __future__ import annotations

from tandem import _C
from tandem._version import __version__


def show() -> str:
    """What the library was built with, a line each.

    >>> import tandem
    >>> tandem.__config__.show().splitlines()[0]
    'Tandem built with:'
    """
    parts = (f"Tandem {__version__}", "LLVM, which makes kernels for the processor", "USE_MKL=OFF")
    return "Tandem built with:\n" + "".join(f"  - {part}\n" for part in parts)


def parallel_info() -> str:
    """How many threads operations use.

    >>> import tandem
    >>> tandem.__config__.parallel_info().startswith("threads of operations: ")
    True
    """
    return f"threads of operations: {_C.get_num_threads()}\n"


def _cxx_flags() -> str:
    return "-std=c++20"
