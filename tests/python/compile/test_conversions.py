"""Chains of conversions, which the compiler folds where that changes no bit (passes/fold_conversions.cpp)."""

import numpy as np
import pytest

import tandem

DTYPES = [
    tandem.bool,
    tandem.uint8,
    tandem.int8,
    tandem.int16,
    tandem.int32,
    tandem.int64,
    tandem.float16,
    tandem.bfloat16,
    tandem.float32,
    tandem.float64,
]
LARGE = [
    2**7 - 1,
    -(2**7),
    2**11 + 1,
    2**15 - 1,
    -(2**15),
    2**24 + 1,
    2**24 + 3,
    2**31 - 1,
    -(2**31),
    2**53 + 1,
    2**62 + 1,
]


def values(dtype):
    """Numbers at the ends of ranges and between the numbers of smaller types."""
    if dtype.is_floating_point:
        return tandem.tensor([0.0, -0.0, 1.5, -2.75, 255.0, 1e-7, float("inf"), float("nan")], dtype=dtype)
    ends = [] if dtype == tandem.bool else [v for v in LARGE if np.can_cast(np.min_scalar_type(v), numpy_of(dtype))]
    return tandem.tensor([0, 1, 1, *ends], dtype=dtype)


def numpy_of(dtype):
    return np.dtype(str(dtype).removeprefix("tandem."))


def bits(t):
    if t.dtype == tandem.bool:
        return t.tolist()
    return t.view({1: tandem.uint8, 2: tandem.int16, 4: tandem.int32, 8: tandem.int64}[t.dtype.itemsize]).tolist()


@pytest.mark.parametrize("between", DTYPES, ids=str)
@pytest.mark.parametrize("start", DTYPES, ids=str)
def test_chains_have_the_bits_of_their_steps(start, between):
    x = values(start)
    if start.is_floating_point and not between.is_floating_point and between != tandem.bool:
        x = x[:6] if between != tandem.uint8 else x[:3]  # what is out of range is not defined

    def chains(x):
        middle = x.to(between)
        return [middle.to(end) for end in DTYPES if inside(middle, end)]

    def inside(middle, end):
        return not (middle.dtype.is_floating_point and not end.is_floating_point and end != tandem.bool)

    got = tandem.compile(chains)(x)
    assert [bits(t) for t in got] == [bits(t) for t in chains(x)]


def test_a_mask_made_long_is_read_as_a_mask():
    @tandem.compile
    def count(x):
        return (x > 0).long().float() * 2

    x = tandem.randn(100)
    assert count(x).tolist() == ((x > 0).long().float() * 2).tolist()
    assert "pass fold_conversions" in count.explain(x)
    assert "int64" not in str(count.explain(x))
