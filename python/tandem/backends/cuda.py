"""`tandem.backends.cuda`: flags of matrix products on GPUs, as in PyTorch.

`matmul.allow_tf32`: may products of float32 matrices there round their operands to TF32, with 10 bits of precision?
False unless a program says otherwise. It is read when a product is called, or recorded: what was compiled, saved or
taped with one value keeps it. The other flags may be set and change nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from tandem import _C


def is_built() -> bool:
    """Has this build what computes on GPUs?

    >>> import tandem
    >>> tandem.backends.cuda.is_built()
    True
    """
    package = os.path.dirname(os.path.dirname(__file__))
    return os.path.exists(os.path.join(package, "libtandem_cuda.so"))


class _MatMulFlags:
    """What products may do for speed; of all but TF32 the runtime makes no use."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        return bool(_C._compute_flags()[0])

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        from tandem._legacy import set_float32_matmul_precision

        set_float32_matmul_precision("high" if value else "highest")


matmul = _MatMulFlags()


def flash_sdp_enabled() -> bool:
    """True: no way to compute attention is ruled out."""
    return True


def enable_flash_sdp(enabled: bool) -> None:
    """Does nothing: which kernel computes attention changes no result."""


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """A `with` block of older programs that names the ways to compute attention, as `nn.attention.sdpa_kernel` does,
    which changes no result. RuntimeError where none is left.

    >>> import tandem
    >>> with tandem.backends.cuda.sdp_kernel(enable_flash=False):
    ...     pass
    """
    if not (enable_flash or enable_math or enable_mem_efficient or enable_cudnn):
        raise RuntimeError("sdp_kernel: no way to compute attention is left")
    yield


def is_flash_attention_available() -> bool:
    """Does attention need no memory for its scores? True: ours does not.

    >>> import tandem
    >>> tandem.backends.cuda.is_flash_attention_available()
    True
    """
    return True


mem_efficient_sdp_enabled = math_sdp_enabled = cudnn_sdp_enabled = flash_sdp_enabled
enable_mem_efficient_sdp = enable_math_sdp = enable_cudnn_sdp = enable_flash_sdp
