"""`tandem.accelerator`: devices other than the CPU, of which this build has none.

>>> import tandem
>>> tandem.accelerator.is_available(), tandem.accelerator.current_accelerator()
(False, None)
"""

from __future__ import annotations

from tandem._no_device import device_count as device_count
from tandem._no_device import is_available as is_available
from tandem.cpu import synchronize as synchronize


def current_accelerator(check_available: bool = False) -> None:
    """None: there is none."""
    return None
