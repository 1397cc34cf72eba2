"""`tandem.compiler`: what code asks about `tandem.compile`."""

from __future__ import annotations

from tandem import _C
from tandem._compile import compile as compile  # noqa: A004


def is_compiling() -> bool:
    """Is a function being traced by `tandem.compile` on this thread?

    >>> import tandem
    >>> seen = []
    >>> double = tandem.compile(lambda x: seen.append(tandem.compiler.is_compiling()) or x * 2)
    >>> _ = double(tandem.ones(1)), double(tandem.ones(1))
    >>> seen, tandem.compiler.is_compiling()
    ([True], False)
    """
    return bool(_C._is_tracing())


def reset() -> None:
    """Does nothing: what was compiled lives as long as the objects that `tandem.compile` returned.

    >>> import tandem
    >>> tandem.compiler.reset()
    """


def cudagraph_mark_step_begin() -> None:
    """Does nothing: there is no GPU.

    >>> import tandem
    >>> tandem.compiler.cudagraph_mark_step_begin()
    """
