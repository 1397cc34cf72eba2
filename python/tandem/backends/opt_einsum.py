"""`tandem.backends.opt_einsum`: the package of that name is not asked: `einsum` finds the order of pairs itself."""

from typing import Any

from tandem._no_device import is_available as is_available

#: Flags may be written; nothing reads them.
enabled: bool = False
strategy: Any = None


def get_opt_einsum() -> None:
    """None: the package is not used."""
