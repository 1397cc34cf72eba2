"""What tests mean by the same bits."""

from __future__ import annotations

import numpy as np

import tandem


def bits(t: tandem.Tensor) -> np.ndarray:
    """The elements as integers: equal only where every bit is; NaNs count as one."""
    t = t.detach().cpu()
    array = np.array((t.float() if t.dtype is tandem.bfloat16 else t).numpy())  # widening keeps every bit
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
        return array.view(f"i{array.itemsize}")
    return array


def assert_same_bits(actual: tandem.Tensor, expected: tandem.Tensor) -> None:
    assert actual.dtype is expected.dtype
    np.testing.assert_array_equal(bits(actual), bits(expected))


def assert_rounded(got: tandem.Tensor, want: tandem.Tensor) -> None:
    """Is `got`, of a half type, what float32 has? Large products and convolutions of bfloat16 add in another order, and
    may round to a neighbour."""
    if got.dtype is not tandem.bfloat16:
        return assert_same_bits(got, want.to(got.dtype))
    got, known = got.float(), want.isfinite()
    assert_same_bits(got[~known], want[~known])
    got, want = got[known].double(), want[known].double()
    subnormal = 2**-133  # the least
    assert ((got - want).abs() <= want.abs() * 2**-8 + want.abs().max() * 2**-18 + subnormal).all()
