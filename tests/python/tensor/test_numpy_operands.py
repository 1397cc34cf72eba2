"""Operators between tensors and NumPy arrays: what is a tensor, what is refused, and whose promotion applies."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tandem
from tandem import tensor

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]


def pair():
    return tensor([1.0, 2.0]), np.array([3.0, 5.0])


@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_tensor_and_an_array(name):
    t, a = pair()
    got = getattr(operator, name)(t, a)
    want = getattr(operator, name)(t.numpy(), a)
    assert isinstance(got, tandem.Tensor)
    assert got.dtype is tandem.float64  # NumPy computes it
    np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("name", [*ARITHMETIC, "and_", "lt"])
def test_an_array_and_a_tensor(name):
    t, a = pair()
    if name == "truediv":
        got = a / t
        assert isinstance(got, tandem.Tensor)
        np.testing.assert_array_equal(got.numpy(), a * np.reciprocal(t.numpy()))
    else:
        with pytest.raises(TypeError):
            getattr(operator, name)(a, t)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_equality_is_of_elements(dtype):
    t, a = tensor([1.0, 2.0]), np.array([1, 0], dtype=dtype)
    for got, want in (
        (t == a, [True, False]),
        (a == t, [True, False]),
        (t != a, [False, True]),
        (a != t, [False, True]),
    ):
        assert isinstance(got, tandem.Tensor)
        assert got.dtype is tandem.bool
        assert got.tolist() == want
    with tandem.lazy():
        lazy = t == a
        a[:] = 0  # what was compared is what it was then
    assert lazy.tolist() == [True, False]


def test_equality_with_what_is_no_number():
    t = tensor([1.0, 2.0])
    assert (t == np.array(["a", "b"])) is False
    assert (t != np.array(["a", "b"])) is True
    assert (t == [1.0, 2.0]) is False
    with pytest.raises(RuntimeError, match="do not broadcast"):
        t == np.zeros(3)  # noqa: B015


def test_functions_of_numpy():
    t = tensor([1.0, 2.0])
    assert isinstance(np.sin(t), tandem.Tensor)
    assert isinstance(np.add(np.array([1.0, 2.0]), t), tandem.Tensor)
    assert np.greater(t, 1).dtype is tandem.uint8
    assert tandem.Tensor.__array_priority__ == t.__array_priority__ == 1000


def test_numbers_of_numpy_are_numbers():
    t = tensor([1.0, 2.0])
    for number in (np.float64(3), np.float32(3), np.int64(3)):
        for got in (t + number, number + t, t * number, number * t):
            assert isinstance(got, tandem.Tensor) and got.dtype is tandem.float32
        assert (number - t).tolist() == [2, 1]
        assert (t == number).tolist() == [False, False]


def test_in_place():
    t, a = pair()
    t += a  # not a form of the tensor's: a new one, as NumPy computes it
    assert t.dtype is tandem.float64 and t.tolist() == [4, 7]


def test_compiled():
    t, a = pair()
    body = tandem.compile(lambda x: (x == a, x + a))
    for _ in range(3):
        same, total = body(t)
        assert same.tolist() == [False, False] and total.tolist() == [4, 7]
    a[0] = 1
    same, total = body(t)
    assert same.tolist() == [True, False] and total.tolist() == [2, 7]


def test_arrays_in_another_byte_order():
    for kind in (">f4", ">i8"):
        for make in (tandem.from_numpy, tandem.tensor, tandem.as_tensor):
            with pytest.raises(ValueError, match="byte order different from the native"):
                make(np.ones(2, dtype=kind))


@pytest.mark.parametrize(
    ("memory", "options", "text"),
    [
        (b"", {}, r"both buffer length \(0\) and count \(-1\) must not be 0"),
        (bytearray(8), {"count": 0}, r"count \(0\) must not be 0"),
        (
            bytearray(7),
            {},
            r"buffer length \(7 bytes\) after offset \(0 bytes\) must be a multiple of element size \(4\)",
        ),
        (bytearray(8), {"count": 3}, "do not fit a buffer of 8 bytes"),
    ],
)
def test_buffers_that_do_not_fit(memory, options, text):
    with pytest.raises(ValueError, match=text):
        tandem.frombuffer(memory, dtype=tandem.int32, **options)


def test_signs_of_bools_are_refused():
    with pytest.raises(RuntimeError, match=r"The `\+` operator, on a bool tensor is not supported"):
        +tandem.tensor([True])
    with pytest.raises(RuntimeError, match=r"use the `~` or `logical_not\(\)` operator instead"):
        -tandem.tensor([True])


def test_arrays_have_numpys_own_types():
    for name in ("int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64"):
        array = tandem.ones(2, dtype=getattr(tandem, name)).numpy()
        assert array.dtype.type is getattr(np, name) and type(array[0]) is getattr(np, name)
    assert tandem.from_numpy(np.ones(2, np.longlong)).dtype is tandem.int64
