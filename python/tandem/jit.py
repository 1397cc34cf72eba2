"""`tandem.jit`: the decorators of PyTorch's script compiler, for code that carries them. They change nothing: functions
run as Python. `tandem.compile` compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

__all__ = ["Final", "annotate", "export", "ignore", "is_scripting", "is_tracing", "script", "unused"]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def is_scripting() -> bool:
    """False: no function is compiled from its source text."""
    return False


def is_tracing() -> bool:
    """False: `tandem.compile` is not this tracer."""
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """`the_value` itself."""
    return the_value


def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """The function, class or module itself: it runs as Python."""
    return obj


def export(fn: T) -> T:
    """The function itself."""
    return fn


def unused(fn: T) -> T:
    """The function itself."""
    return fn


@overload
def ignore(drop: F) -> F: ...
@overload
def ignore(drop: bool = False, **kwargs: Any) -> Callable[[F], F]: ...
def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself; with or without parentheses."""
    return drop if callable(drop) else lambda fn: fn
