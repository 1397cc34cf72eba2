"""`tandem.backends.cuda`: flags of GPU matrix products. Results do not depend on them: float32 is never TF32."""

from __future__ import annotations

import os


def is_built() -> bool:
    """Has this build what computes on GPUs?

    >>> import tandem
    >>> tandem.backends.cuda.is_built()
    True
    """
    package = os.path.dirname(os.path.dirname(__file__))
    return os.path.exists(os.path.join(package, "libtandem_cuda.so"))


class _MatMulFlags:
    """May be set: they allow results of fewer bits, of which the runtime makes no use."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False


matmul = _MatMulFlags()


def flash_sdp_enabled() -> bool:
    """True: no way to compute attention is ruled out."""
    return True


def enable_flash_sdp(enabled: bool) -> None:
    """Does nothing: which kernel computes attention changes no result."""


mem_efficient_sdp_enabled = math_sdp_enabled = cudnn_sdp_enabled = flash_sdp_enabled
enable_mem_efficient_sdp = enable_math_sdp = enable_cudnn_sdp = enable_flash_sdp
