"""`tandem.ops`: operations of `tandem.library`, by namespace and name, and those of `_aten`."""

from __future__ import annotations

import enum
from types import ModuleType
from typing import Any

from tandem._stand_in import fail

# What PyTorch says of an operation, by the numbers that it has there.
Tag = enum.Enum(
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view "
    "maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order "
    "nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy",
    start=0,
    module="tandem",
)
Tag.__doc__ = """What `tags` of an operation may say; nothing reads them.

>>> import tandem
>>> tandem.Tag.pointwise
<Tag.pointwise: 16>
"""


class _Namespace:
    """The operations of a namespace."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        from tandem import _aten
        from tandem.library import _registered

        op: Any = _registered.get(f"{self._name}::{name}")
        if op is None and self._name == "aten":
            op = _aten.operation(name)
        if op is None:
            raise AttributeError(f"there is no operation {self._name}::{name}", name=name, obj=self)
        return op

    def __repr__(self) -> str:
        return f"<operations of {self._name}>"


class Operations(ModuleType):
    """The namespaces; any name is one, which may be empty.

    >>> import tandem
    >>> hasattr(tandem.ops.torchvision, "nms")
    False
    """

    def __init__(self, name: str):
        super().__init__(name, self.__doc__)
        self.loaded_libraries: set[str] = set()

    def load_library(self, path: Any) -> None:
        """OSError, as of a library that is not there: programs that do without one go on."""
        fail("ops.load_library", OSError)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _Namespace(name)
        setattr(self, name, found)
        return found


ops = Operations("tandem.ops")
