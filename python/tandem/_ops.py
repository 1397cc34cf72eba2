"""`tandem.ops`: operations of `tandem.library`, by namespace and name, and those of `_aten`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tandem._stand_in import lacking_function


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

    load_library = staticmethod(lacking_function("ops.load_library"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _Namespace(name)
        setattr(self, name, found)
        return found


ops = Operations("tandem.ops", Operations.__doc__)
