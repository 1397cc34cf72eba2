"""`tandem.fx`: names that code imports. No graph of Python is made of a function; `tandem.compile` traces them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from tandem._stand_in import lacking_classes, lacking_functions

T = TypeVar("T")

# What nodes of a graph call, and with what.
Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any


def wrap(fn_or_name: T) -> T:
    """The function, or its name, itself: there is no tracer that it could be kept from.

    >>> import tandem
    >>> tandem.fx.wrap(len)([1, 2])
    2
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name


globals().update(lacking_functions(__name__, "_copy_attr map_arg replace_pattern symbolic_trace"))
globals().update(
    lacking_classes(__name__, "CodeGen Graph GraphModule Interpreter Node Proxy Tracer Transformer _CodeOnlyModule")
)

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
