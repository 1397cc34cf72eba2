"""Tensors on a device that is not the CPU, and the emulated GPU, unless $TANDEM_REAL_GPU says that the machine's own is
meant."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import tandem

SLOW = os.environ.get("TANDEM_SLOW", "") not in ("", "0")
REAL = os.environ.get("TANDEM_REAL_GPU", "") not in ("", "0")


def libraries() -> Path:
    """Where the build puts what tests open."""
    from operations import generated  # where there is no build, a GPU has no need of it

    return generated().parent / "lib"


def emulate() -> None:
    """Puts the stand-ins of tests/emulation in the place of NVIDIA's libraries, unless the environment names others."""
    if REAL:
        return
    for variable, name in (
        ("TANDEM_CUDA_DRIVER", "libtandem_emulated_driver.so"),
        ("TANDEM_NVRTC", "libtandem_emulated_nvrtc.so"),
        ("TANDEM_CUBLASLT", "libtandem_emulated_cublaslt.so"),
        ("TANDEM_CUSOLVER", "libtandem_emulated_cusolver.so"),
        ("TANDEM_NCCL", "libtandem_emulated_nccl.so"),
        ("TANDEM_CUDNN", "libtandem_emulated_cudnn.so"),
        ("TANDEM_NVML", "libtandem_emulated_nvml.so"),
    ):
        if (libraries() / name).exists():
            os.environ.setdefault(variable, str(libraries() / name))


def there(t: tandem.Tensor, device: tandem.device) -> tandem.Tensor:
    """The tensor on the device, with its strides; a leaf that requires a gradient if `t` does."""
    plain = t.detach()
    reach = 1 + sum((n - 1) * s for n, s in zip(plain.shape, plain.stride(), strict=True))
    if plain.numel() == 0:
        moved = plain.to(device)
    else:
        memory = plain.as_strided((reach,), (1,), plain.storage_offset())
        moved = memory.to(device).as_strided(plain.shape, plain.stride())
    return moved.requires_grad_(t.requires_grad)


def all_there(tree: Any, device: tandem.device) -> Any:
    """The same lists, tuples and dicts with their tensors on the device."""
    from operations import map_leaves

    return map_leaves(tree, tandem.Tensor, lambda t: there(t, device))
