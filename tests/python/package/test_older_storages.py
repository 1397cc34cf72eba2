"""Storages and tensors by the names of their types: `FloatStorage`, `FloatTensor` and their like."""

from __future__ import annotations

import warnings

import pytest

import tandem


def test_older_storages():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        s = tandem.arange(3).storage()
    assert isinstance(s, tandem.LongStorage) and not isinstance(s, tandem.FloatStorage)
    assert tandem.FloatStorage(3).size() == 3 and tandem.BoolStorage([True, False]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("kind", "given", "options", "elements"),
    [
        ("ByteStorage", [1, 2, 3, 4], (), [1, 2, 3, 4]),
        ("ShortStorage", [1, 2, 3, 4], ("big",), [258, 772]),
        ("IntStorage", [1, 2, 3, 4], ("little",), [0x04030201]),
        ("FloatStorage", [0x40, 0x10, 0, 0], ("big",), [2.25]),
        ("BoolStorage", [0, 1, 7], ("big",), [False, True, True]),
        ("ShortStorage", [9, 9, 1, 0, 2, 0], ("little", 1, 2), [1]),
    ],
)
def test_older_storages_of_bytes(kind, given, options, elements):
    s = getattr(tandem, kind).from_buffer(bytearray(given), *options)
    assert s.tolist() == elements and isinstance(s, getattr(tandem, kind))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("middle",), "byte_order must be 'native', 'little' or 'big', but got 'middle'"),
        (("big",), "all elements of tandem.int16 from byte 0 do not fit a buffer of 3 bytes"),
        (("big", 2), "2 elements of tandem.int16 from byte 0 do not fit a buffer of 3 bytes"),
        (("big", 1, -1), "1 elements of tandem.int16 from byte -1 do not fit a buffer of 3 bytes"),
    ],
)
def test_older_storages_of_other_bytes(options, text):
    with pytest.raises(ValueError, match=text):
        tandem.ShortStorage.from_buffer(bytes(3), *options)


def test_older_storages_of_files(tmp_path):
    path = tmp_path / "numbers"
    s = tandem.FloatStorage.from_file(str(path), True, 4)
    x = tandem.FloatTensor(s).fill_(1.5)
    assert s.data_ptr() == x.data_ptr() and tandem.FloatStorage.from_file(path, size=4).tolist() == [1.5] * 4
    assert s.filename == s.untyped().filename == str(path) and x.untyped_storage().filename is None
    assert tandem.UntypedStorage.from_file(path, nbytes=2).filename == str(path)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.int64, tandem.bool, tandem.uint8])
def test_tensors_of_storages(dtype):
    x = tandem.arange(6).to(dtype).reshape(2, 3)
    typed = x.storage()
    assert tandem.tensor(typed).equal(x.flatten()) and tandem.tensor(typed, dtype=dtype).equal(x.flatten())
    assert tandem.tensor(typed.untyped(), dtype=dtype).equal(x.flatten())
    assert tandem.tensor(typed).data_ptr() != x.data_ptr()
    text = f"Expected a Storage of type tandem.float16 or an UntypedStorage, but got type {dtype} for argument 1"
    for take in (
        lambda: tandem.tensor(typed, dtype=tandem.float16),
        lambda: tandem.zeros(0, dtype=tandem.float16).set_(typed),
    ):
        with pytest.raises(RuntimeError, match=text):
            take()


@pytest.mark.parametrize("make", [tandem.Tensor, tandem.FloatTensor])
def test_older_constructors_take_the_cpu_as_their_device(make):
    assert make([2, 3], device="cpu").tolist() == [2.0, 3.0] and make(2, 3, device="cpu").shape == (2, 3)
    assert make(device=None).shape == (0,)
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu"):
        make([2, 3], device="meta")


def test_tensor_types_are_no_base_classes():
    with pytest.raises(TypeError, match="type 'tandem.FloatTensor' is not an acceptable base type"):

        class Mine(tandem.FloatTensor):
            pass
