"""What activation layers share."""

from __future__ import annotations

from typing import ClassVar

from tandem.nn.module import Module


class Activation(Module):
    """An activation whose `repr` shows the options named in `_shown`, and `inplace` where it is set."""

    _shown: ClassVar[tuple[str, ...]] = ()
    inplace: bool

    def extra_repr(self) -> str:
        shown = [f"{name}={getattr(self, name)}" for name in self._shown]
        return ", ".join(shown + (["inplace=True"] if self.__dict__.get("inplace") else []))


class InplaceActivation(Activation):
    """An activation whose only option is to write into its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
