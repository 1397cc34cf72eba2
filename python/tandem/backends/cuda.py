"""`tandem.backends.cuda`: flags of GPU matrix products. Results on a CPU never depend on them."""

from __future__ import annotations

from tandem._no_device import is_available as is_built  # noqa: F401


class _MatMulFlags:
    """May be set; without a GPU nothing reads them."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _MatMulFlags()


def flash_sdp_enabled() -> bool:
    """True: no way to compute attention is ruled out."""
    return True


def enable_flash_sdp(enabled: bool) -> None:
    """Does nothing: it chooses among kernels for GPUs."""


mem_efficient_sdp_enabled = math_sdp_enabled = flash_sdp_enabled
enable_mem_efficient_sdp = enable_math_sdp = enable_flash_sdp
