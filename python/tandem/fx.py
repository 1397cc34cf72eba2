"""`tandem.fx`: names that code imports. No graph of Python is made of a function; `tandem.compile` traces them."""

from __future__ import annotations

from typing import TypeVar

from tandem._stand_in import lacking_classes, lacking_functions

T = TypeVar("T")


def wrap(fn_or_name: T) -> T:
    """The function, or its name, itself: there is no tracer that it could be kept from.

    >>> import tandem
    >>> tandem.fx.wrap(len)([1, 2])
    2
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name


globals().update(lacking_functions(__name__, "symbolic_trace replace_pattern map_arg"))
globals().update(lacking_classes(__name__, "CodeGen Graph GraphModule Interpreter Node Proxy Tracer Transformer"))
