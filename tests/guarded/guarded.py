"""The device under test: the guarded one (guarded_device.cpp), where what is read on the host by mistake is a fault and
work that nobody waits for is not done, or the one that TANDEM_TEST_DEVICE names: `emulated`, a GPU that tests/emulation
stands in for, or `cuda`. Kept out of tests/python, whose tests run without other devices."""

from __future__ import annotations

import os
from typing import Any

import devices
import pytest
from operations import generated

import tandem

LIBRARY = generated().parent / "lib" / "libtandem_guarded.so"
NAME = os.environ.get("TANDEM_TEST_DEVICE", "guarded")
GUARDED = NAME == "guarded"
if NAME == "emulated":
    devices.emulate()
KIND = tandem._C._load_devices(str(LIBRARY)) if GUARDED else "cuda"
DEVICE = tandem.device(KIND, 0)
OTHER = tandem.device(KIND, 1)
# Emulated and guarded devices are two.
two = pytest.mark.skipif(NAME == "cuda" and tandem.cuda.device_count() < 2, reason="one GPU")

slow = pytest.mark.skipif(not devices.SLOW, reason="slow: run with TANDEM_SLOW=1")

# Library functions whose sums a GPU adds in an order of its own: what calls them is close to the CPU's result instead
# of equal to it, and equal in all modes.
OWN_ORDER = (
    "matmul_plain matmul_packed conv2d_plain conv2d_input_grad conv2d_weight_grad attention_plain attention_grad "
    "geqrf lu_plain qr_plain solve_plain svd_plain svdvals_plain eigh_plain eigvalsh_plain matrix_exp_plain "
    "gammainc_plain gamma_cdf_slope_plain zeta_plain"
).split()


def has_own_order(call: Any) -> bool:
    """Does a call of a GPU promise less than the CPU's bits? What it does is read from the plan of a compiled one."""
    if GUARDED:
        return False
    text = str(tandem.compile(call).explain())
    return any(name in text for name in OWN_ORDER)


def there(t: tandem.Tensor, device: tandem.device = DEVICE) -> tandem.Tensor:
    """The tensor on the device."""
    return devices.there(t, device)


def all_there(tree: Any, device: tandem.device = DEVICE) -> Any:
    """The same lists, tuples and dicts with their tensors on the device."""
    return devices.all_there(tree, device)
