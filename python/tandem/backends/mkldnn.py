"""`tandem.backends.mkldnn`: Intel's oneDNN, which Tandem does without: products and convolutions are its own.

Its flags may be set and read, and change nothing.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from tandem._no_device import is_available as is_available
from tandem.backends._flags import within

enabled = True
deterministic = False
allow_tf32 = False


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> AbstractContextManager[None]:
    """Other flags within a `with` block. Those that are not given have the defaults above, as in PyTorch.

    >>> from tandem.backends import mkldnn
    >>> with mkldnn.flags(enabled=False):
    ...     mkldnn.enabled
    False
    >>> mkldnn.enabled
    True
    """
    return within(__name__, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
