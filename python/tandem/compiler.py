"""`tandem.compiler`: what code asks about `tandem.compile`."""

from __future__ import annotations

from tandem import _C
from tandem._compile import compile as compile  # noqa: A004


def is_compiling() -> bool:
    """Is a function being traced on this thread?"""
    return bool(_C._is_tracing())


def reset() -> None:
    """Does nothing: what was compiled lives as long as the objects that `tandem.compile` returned."""


def cudagraph_mark_step_begin() -> None:
    """Does nothing: there is no GPU."""
