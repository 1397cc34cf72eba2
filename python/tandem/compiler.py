"""`tandem.compiler`: what code asks about `tandem.compile`."""

from __future__ import annotations

from tandem import _C
from tandem._compile import compile as compile  # noqa: A004


def is_compiling() -> bool:
    """Is a function that was compiled with `fullgraph` being traced on this thread, so that no value can be read?

    Any other compiled function gives what it gives uncompiled, and is not told.

    >>> import tandem
    >>> def f(x):
    ...     return x * 2 if tandem.compiler.is_compiling() else x
    >>> tandem.compile(f, fullgraph=True)(tandem.ones(1)).item(), tandem.compile(f)(tandem.ones(1)).item()
    (2.0, 1.0)
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
