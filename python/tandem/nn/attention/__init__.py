"""`tandem.nn.attention`: which kernel attention uses. There is one, so that the choice changes nothing."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """The kernels of attention that PyTorch can choose from.

    >>> import tandem
    >>> tandem.nn.attention.SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """A block in which attention may use these kernels; it gives the same, by its own kernel.

    AssertionError for anything but kernels.

    >>> import tandem
    >>> from tandem.nn.attention import SDPBackend, sdpa_kernel
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     tandem.nn.functional.scaled_dot_product_attention(*[tandem.ones(1, 2, 2)] * 3).shape
    tandem.Size([1, 2, 2])
    """
    given = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(b, SDPBackend) for b in given):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield
