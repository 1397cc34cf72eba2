"""`tandem.utils.dlpack`: tensors to and from other libraries, sharing memory."""

from __future__ import annotations

import enum

from tandem._support import from_dlpack as from_dlpack
from tandem._support import tensor_to_dlpack as to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """DLPack's numbers of kinds of devices, of which tensors may be on these.

    >>> import tandem
    >>> tandem.ones(2).__dlpack_device__()[0].name
    'kDLCPU'
    """

    kDLCPU = 1  # noqa: N815
    kDLCUDA = 2  # noqa: N815
    kDLCUDAHost = 3  # noqa: N815
