"""The device under test: the guarded one (guarded_device.cpp), where what is read on the host by mistake is a fault and
work that nobody waits for is not done, or with TANDEM_TEST_DEVICE=cuda a GPU, which the emulation of its driver stands
in for (tests/emulation). Kept out of tests/python, whose tests run without other devices."""

from __future__ import annotations

import os
from typing import Any

from operations import generated, map_leaves

import tandem

LIBRARY = generated().parent / "lib" / "libtandem_guarded.so"
GUARDED = os.environ.get("TANDEM_TEST_DEVICE", "guarded") == "guarded"
KIND = tandem._C._load_devices(str(LIBRARY)) if GUARDED else "cuda"
DEVICE = tandem.device(KIND, 0)
OTHER = tandem.device(KIND, 1)

# Library functions whose sums a GPU adds in an order of its own: what calls them is close to the CPU's result instead of
# equal to it, and equal in all modes.
OWN_ORDER = (
    "matmul_plain matmul_packed conv2d_plain conv2d_input_grad conv2d_weight_grad attention_plain attention_keep "
    "attention_grad cholesky_plain eigh_plain geqrf lu_plain qr_plain solve_plain svd_plain triangular_solve_plain "
    "matrix_exp_plain gammainc_plain gamma_cdf_slope_plain zeta_plain orthogonal_polynomial_plain"
).split()


def has_own_order(call: Any) -> bool:
    """Does a call of a GPU promise less than the CPU's bits? What it does is read from the plan of a compiled one."""
    if GUARDED:
        return False
    text = str(tandem.compile(call).explain())
    return any(name in text for name in OWN_ORDER)


def there(t: tandem.Tensor, device: tandem.device = DEVICE) -> tandem.Tensor:
    """The tensor on the device, with its strides; a leaf that requires a gradient if `t` does."""
    plain = t.detach()
    reach = 1 + sum((n - 1) * s for n, s in zip(plain.shape, plain.stride(), strict=True))
    if plain.numel() == 0:
        moved = plain.to(device)
    else:
        memory = plain.as_strided((reach,), (1,), plain.storage_offset())
        moved = memory.to(device).as_strided(plain.shape, plain.stride())
    return moved.requires_grad_(t.requires_grad)


def all_there(tree: Any, device: tandem.device = DEVICE) -> Any:
    """The same lists, tuples and dicts with their tensors on the device."""
    return map_leaves(tree, tandem.Tensor, lambda t: there(t, device))
