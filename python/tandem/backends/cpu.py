"""`tandem.backends.cpu`: what the CPU can do."""

from __future__ import annotations

import functools

__all__ = ["get_cpu_capability"]


@functools.cache
def get_cpu_capability() -> str:
    """ "AVX512", "AVX2" or "DEFAULT": the widest vectors that this CPU has, by the names of the system's list.

    >>> import tandem
    >>> tandem.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line.split() for line in file if line.startswith("flags")), [])
    except OSError:
        return "DEFAULT"
    return "AVX512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "DEFAULT"
