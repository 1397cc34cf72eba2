"""`tandem.jit`: the decorators of PyTorch's script compiler, for code that carries them. They change nothing: functions
run as Python. `tandem.compile` compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

from tandem._stand_in import lacking_class, lacking_function, lacking_functions

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "TracerWarning",
    "annotate",
    "export",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "optimize_for_inference",
    "script",
    "script_if_tracing",
    "unused",
]

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


def script_if_tracing(fn: F) -> F:
    """The function itself.

    >>> import tandem
    >>> tandem.jit.script_if_tracing(len)([1, 2])
    2
    """
    return fn


def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """The module itself.

    >>> import tandem
    >>> tandem.jit.freeze(tandem.nn.ReLU().eval())
    ReLU()
    """
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself.

    >>> import tandem
    >>> tandem.jit.optimize_for_inference(tandem.nn.ReLU().eval())
    ReLU()
    """
    return mod


def _overload(func: F) -> F:
    return func


_overload_method = _script_if_tracing = _overload


class Attribute:
    """A value and its type, as old code writes attributes of script modules.

    >>> import tandem
    >>> tandem.jit.Attribute(3, int).value
    3
    """

    def __init__(self, value: Any, type: Any):  # noqa: A002
        self.value, self.type = value, type


class Error(RuntimeError):
    """What a script raises in PyTorch; nothing here raises it.

    >>> import tandem
    >>> issubclass(tandem.jit.Error, RuntimeError)
    True
    """


class TracerWarning(Warning):
    """What PyTorch's tracer warns with, for filters; nothing here gives it.

    >>> import tandem, warnings
    >>> warnings.filterwarnings("ignore", category=tandem.jit.TracerWarning)
    """


# Modules saved by PyTorch's script compiler are programs of their own, which nothing here runs.
trace: Any = lacking_function("jit.trace")
trace_module: Any = lacking_function("jit.trace_module")
load: Any = lacking_function("jit.load")
save: Any = lacking_function("jit.save")
ScriptModule: Any = lacking_class("jit.ScriptModule")
RecursiveScriptModule: Any = lacking_class("jit.RecursiveScriptModule", ScriptModule)
globals().update(
    lacking_functions(
        __name__,
        "enable_onednn_fusion fork fuser interface last_executed_optimized_graph onednn_fusion_enabled "
        "optimized_execution run_frozen_optimizations script_method set_fusion_strategy wait",
    )
)
ScriptFunction: Any = lacking_class("jit.ScriptFunction")
CompilationUnit: Any = lacking_class("jit.CompilationUnit")
