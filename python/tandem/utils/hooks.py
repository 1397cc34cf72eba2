"""`tandem.utils.hooks`: the handle that registering a hook returns."""

from tandem.nn.hooks import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]
