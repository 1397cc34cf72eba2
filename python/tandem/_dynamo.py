"""`tandem._dynamo`: names of PyTorch's tracer that code uses around `tandem.compile`."""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType
from typing import Any

from tandem._compile import OptimizedModule
from tandem._compile import compile as _compile
from tandem._stand_in import lacking_functions
from tandem.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "graph_break",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "optimize",
    "reset",
]

#: Settings may be written; nothing reads them.
config: Any = ModuleType(f"{__name__}.config")
config.__dict__.update(
    cache_size_limit=8, recompile_limit=8, suppress_errors=False, verbose=False, accumulated_cache_size_limit=256
)
sys.modules[config.__name__] = config


class TorchDynamoException(RuntimeError):
    """The class of the tracer's errors in PyTorch; nothing here raises one."""


class TransformGetItemToIndex(contextlib.nullcontext[None]):
    """A block in which a tensor as index selects as in `tandem.func.vmap`, which it does here anyway."""


def is_dynamo_supported() -> bool:
    """True: functions are compiled on every system where Tandem runs."""
    return True


def optimize(backend: Any = None, *, nopython: bool = False, **ignored: Any) -> Any:
    """A decorator: `tandem.compile` with `fullgraph=nopython`."""
    return lambda function: _compile(function, fullgraph=nopython)


def graph_break(msg: str = "") -> None:
    """Does nothing: a body that cannot be traced whole runs on every call."""


def mark_dynamic(t: Any, index: Any, **ignored: Any) -> None:
    """Does nothing: a new shape finds a plan of its own."""


def mark_static(t: Any, index: Any = None) -> Any:
    """Does nothing; a class of modules is returned, for its use as a decorator."""
    return t if isinstance(t, type) else None


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Does nothing."""


maybe_mark_dynamic = mark_dynamic

globals().update(lacking_functions(__name__, "disallow_in_graph explain export forbid_in_graph list_backends run"))
