"""Operands of several dtypes in one operation of several steps: each step is in the dtype of the result, so that no
narrower product wraps around or is rounded before it meets the rest."""

from __future__ import annotations

import itertools

import pytest
from conftest import run_in

import tandem
from tandem import linalg
from tandem.nn import functional as F

F16, F32, F64 = tandem.float16, tandem.float32, tandem.float64
BYTES = tandem.tensor([200, 1], dtype=tandem.uint8)
SMALL = tandem.tensor([100, -128], dtype=tandem.int8)
LONG = tandem.tensor([2**53 + 1, 3])


def ones(dtype):
    return tandem.ones(2, dtype=dtype)


# A call, and PyTorch's dtype and values.
CALLS = {
    "add": (lambda: tandem.add(ones(F32), BYTES, alpha=2), F32, [401, 3]),
    "sub": (lambda: tandem.sub(ones(F32), SMALL, alpha=2), F32, [-199, 257]),
    "rsub": (lambda: tandem.rsub(BYTES, ones(F32), alpha=2), F32, [-399, -1]),
    "add_": (lambda: ones(F64).add_(BYTES, alpha=-1), F64, [-199, 0]),
    "add of bytes": (lambda: tandem.add(BYTES, SMALL, alpha=2), tandem.int16, [400, -255]),
    "add of bytes and bools": (lambda: tandem.add(BYTES, BYTES > 1, alpha=2), tandem.uint8, [202, 1]),
    "add of doubles": (lambda: tandem.add(ones(F64), LONG, alpha=0.3), F64, [2702159776422298.5, 1.9]),
    "addcmul": (lambda: tandem.addcmul(ones(F32), BYTES, BYTES, value=2), F32, [80001, 3]),
    "addcmul of halves": (lambda: tandem.addcmul(ones(F16), BYTES, ones(F16), value=2), F16, [401, 3]),
    "addcmul by a fraction": (lambda: tandem.addcmul(ones(F64), LONG, ones(F64), value=0.3), F64, None),
    "addcmul of wider": (lambda: tandem.addcmul(ones(F32), ones(F64), ones(F32), value=0.1), F64, [1.1, 1.1]),
    "addcmul of floats": (lambda: tandem.addcmul(ones(F64), ones(F32), ones(F32), value=0.3), F64, [1.3, 1.3]),
    "addcdiv": (lambda: tandem.addcdiv(ones(F32), BYTES, ones(F32), value=-1), F32, [-199, 0]),
    "addcdiv of halves": (lambda: tandem.addcdiv(ones(F16), BYTES, ones(F16), value=0.25), F16, [51, 1.25]),
    "addr": (lambda: tandem.addr(ones(F32), ones(F16), ones(F16), alpha=0.1), F32, None),
    "addr of bytes": (lambda: tandem.addr(ones(F32), BYTES, BYTES)[0], F32, [40001, 201]),
    "cosine_similarity": (lambda: F.cosine_similarity(ones(F32), ones(F64)[0], dim=0), F64, 1.0),
    "lcm": (lambda: tandem.lcm(tandem.tensor(2**62), tandem.tensor(2**62 - 1)).sign(), tandem.int64, 1),
    "any": (lambda: tandem.any(BYTES, dim=()), tandem.uint8, [1, 1]),
    "all": (lambda: tandem.all(BYTES.expand(2, 2), dim=(), keepdim=True)[0], tandem.uint8, [1, 1]),
    "any of floats": (lambda: tandem.any(ones(F32), dim=()), tandem.bool, [True, True]),
}


@pytest.mark.parametrize("name", CALLS)
def test_steps_are_in_the_dtype_of_the_result(name, mode):
    call, dtype, values = CALLS[name]
    got = run_in(mode, call)
    assert got.dtype == dtype
    assert values is None or got.tolist() == pytest.approx(values, rel=1e-15)


def test_every_pair_of_dtypes_is_converted_first():
    dtypes = [tandem.uint8, tandem.int8, tandem.int16, tandem.int32, tandem.int64, F16, tandem.bfloat16, F32, F64]
    for a, b, value in itertools.product(dtypes, dtypes, (2, -3)):
        x, y = tandem.tensor([7, 1], dtype=a), tandem.tensor([100, 3], dtype=b)
        common = tandem.promote_types(a, b)
        wide = (x.to(common), y.to(common))
        for f in (
            lambda x, y, v=value: tandem.add(x, y, alpha=v),
            lambda x, y, v=value: tandem.sub(x, y, alpha=v),
            lambda x, y, v=value: tandem.rsub(x, y, alpha=v),
            lambda x, y, v=value: tandem.addcmul(x, y, x, value=v),
        ):
            assert tandem.equal(f(x, y), f(*wide)), (a, b, value)


def test_bools_are_not_subtracted_with_a_factor():
    flags = tandem.tensor([True, False])
    for call in (
        lambda: tandem.sub(ones(F32), flags, alpha=2),
        lambda: tandem.sub(flags, ones(F32), alpha=2),
        lambda: tandem.rsub(flags, ones(F32), alpha=0.5),
        lambda: ones(F32).sub_(flags, alpha=2),
    ):
        with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
            call()


def test_the_condition_of_matrices_without_elements():
    for p in (None, "fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")):
        assert linalg.cond(tandem.zeros(0, 0), p).item() == 0
        assert linalg.cond(tandem.zeros(2, 0, 0), p).tolist() == [0, 0]
        assert linalg.cond(tandem.zeros(0, 3, 3), p).shape == (0,)


def test_numbers_plus_multiples_of_tensors():
    for dtype in (F32, tandem.float16, tandem.int32):
        y = tandem.tensor([1, 2], dtype=dtype)
        for number in (2, 2.5):
            for got, expected in (
                (tandem.add(number, y, alpha=2), tandem.add(y * 2, number)),
                (tandem.sub(number, y, alpha=2), tandem.rsub(y, number, alpha=2)),
            ):
                assert got.dtype == expected.dtype and got.tolist() == expected.tolist()
    assert tandem.add(2, 3, alpha=2).item() == 8
    with pytest.raises(RuntimeError, match="must not be a floating point"):
        tandem.add(1, tandem.ones(2, dtype=tandem.int32), alpha=0.5)
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        tandem.sub(True, ones(F32), alpha=2)


@pytest.mark.parametrize("dtype", [tandem.int32, tandem.uint8, tandem.bool])
@pytest.mark.parametrize("size", [1, 2])
def test_whole_numbers_that_are_summed_are_int64(dtype, size):
    x = tandem.ones(3, size, dtype=dtype)
    assert tandem.einsum("ij->i", x).dtype is tandem.int64
    assert tandem.einsum("ij->i", x).tolist() == [size] * 3
    assert x.sum_to_size(()).dtype is tandem.int64 and x[0, 0].sum_to_size(()).dtype is tandem.int64
    assert x.sum_to_size(3, size).dtype is dtype
