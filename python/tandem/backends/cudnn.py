"""`tandem.backends.cudnn`: flags of the convolution library for GPUs. Results never depend on them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from tandem._no_device import is_available as is_available

#: May be set. They choose among ways to compute that may differ in their last bits; Tandem takes those that do not.
enabled = True
benchmark = False
deterministic = False
allow_tf32 = False
benchmark_limit = 10


def version() -> int | None:
    """None: the library is not there."""
    return None


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Other flags within a `with` block.

    >>> from tandem.backends import cudnn
    >>> with cudnn.flags(benchmark=True):
    ...     cudnn.benchmark
    True
    >>> cudnn.benchmark
    False
    """
    module = sys.modules[__name__].__dict__
    new = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    before = {name: module[name] for name in new}
    module.update(new)
    try:
        yield
    finally:
        module.update(before)
