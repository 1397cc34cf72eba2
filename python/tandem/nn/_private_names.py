"""Names without documentation in PyTorch's `nn.modules` that other projects import."""

from __future__ import annotations

from tandem.nn.state_dict import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401


def _addindent(s_: str, numSpaces: int) -> str:
    """The lines of a text but the first, each behind `numSpaces` spaces."""
    first, *rest = s_.split("\n")
    return "\n".join([first, *(" " * numSpaces + line for line in rest)])
