"""`tandem.utils.flop_counter`: names that code imports; nothing counts operations of floating-point numbers."""

from __future__ import annotations

from typing import Any, NoReturn

from tandem._stand_in import fail, lacking_function


class FlopCounterMode:
    """Not to be entered: there is nothing that counts. One that was not entered has counted nothing, as in PyTorch.

    >>> import tandem
    >>> from tandem.utils.flop_counter import FlopCounterMode
    >>> FlopCounterMode(display=False).get_total_flops()
    0
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None
    ) -> None:
        self.depth, self.display = depth, display

    def __enter__(self) -> NoReturn:
        fail("utils.flop_counter.FlopCounterMode")

    def __exit__(self, *exc: object) -> None:
        """Never reached."""

    def get_total_flops(self) -> int:
        """0: nothing was counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """An empty dict: nothing was counted."""
        return {}


register_flop_formula: Any = lacking_function("utils.flop_counter.register_flop_formula")
