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
    """False: no function is compiled from its source text.

    >>> import tandem
    >>> tandem.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """False: `tandem.compile` is not this tracer; `tandem.compiler.is_compiling` asks for it.

    >>> import tandem
    >>> tandem.jit.is_tracing()
    False
    """
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """`the_value` itself, whatever `the_type` is.

    >>> import tandem
    >>> tandem.jit.annotate(list[int], [])
    []
    """
    return the_value


def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """The function, class or module itself: it runs as Python. The other arguments are accepted and change nothing.

    >>> import tandem
    >>> @tandem.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(3)
    6
    """
    return obj


def export(fn: T) -> T:
    """The function itself.

    >>> import tandem
    >>> tandem.jit.export(len)([1, 2])
    2
    """
    return fn


def unused(fn: T) -> T:
    """The function itself.

    >>> import tandem
    >>> tandem.jit.unused(len)([1, 2])
    2
    """
    return fn


@overload
def ignore(drop: F) -> F: ...
@overload
def ignore(drop: bool = False, **kwargs: Any) -> Callable[[F], F]: ...
def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself; with or without parentheses.

    >>> import tandem
    >>> @tandem.jit.ignore(drop=True)
    ... def size(x):
    ...     return len(x)
    >>> size([1, 2]), tandem.jit.ignore(len)([1, 2])
    (2, 2)
    """
    return drop if callable(drop) else lambda fn: fn
