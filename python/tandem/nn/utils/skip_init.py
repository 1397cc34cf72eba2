"""`skip_init`: modules whose parameters are to be filled by somebody else."""

from __future__ import annotations

import inspect
from typing import Any

import tandem
from tandem.nn.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    """A module of a class without the work of initialising it: its parameters and buffers hold no particular values.

    Args:
        module_cls: a class of modules whose constructor takes `device` and does nothing with parameters but
            initialise them.
        args, kwargs: what the constructor takes.

    Raises RuntimeError for a class that is none of modules, or that takes no `device`. Random numbers drawn later are
    what they would be without it.

    >>> import tandem
    >>> tandem.nn.utils.skip_init(tandem.nn.Linear, 5, 1).weight.shape
    tandem.Size([1, 5])
    """
    if not (inspect.isclass(module_cls) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    # What is recorded and read by nobody is not computed.
    with tandem.random.fork_rng(), tandem.lazy():
        made = module_cls(*args, **kwargs)
        return made.to_empty(device=kwargs.get("device"))
