"""DLPack on the CPU: capsules of both versions, what NumPy gives and takes, what is refused."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tandem

TYPES = (
    tandem.bool, tandem.uint8, tandem.int8, tandem.int16, tandem.int32, tandem.int64, tandem.float16, tandem.bfloat16,
    tandem.float32, tandem.float64,
)  # fmt: skip


def name(capsule) -> str:
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule).decode()


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (2, 1)])
def test_capsules_are_taken_once(version):
    x = tandem.arange(3.0)
    capsule = x.__dlpack__(max_version=version)
    text = name(capsule)
    assert text == ("dltensor_versioned" if version and version[0] >= 1 else "dltensor")
    taken = tandem.from_dlpack(capsule)
    assert taken.data_ptr() == x.data_ptr() and name(capsule) == "used_" + text
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        tandem.from_dlpack(capsule)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_dtypes_and_layouts(dtype):
    x = tandem.arange(6).reshape(2, 3).to(dtype)
    for view in (x, x.t(), x[:, 1:], x[1], x[0, 1], x[:0], x[:1].expand(4, 3)):
        taken = tandem.from_dlpack(view)
        assert taken.dtype is dtype and taken.shape == view.shape and taken.tolist() == view.tolist()
        assert tandem.tensor(Other(view)).tolist() == tandem.as_tensor(Other(view)).tolist() == view.tolist()
        if dtype is not tandem.bfloat16:
            assert np.from_dlpack(view).tolist() == view.tolist()


class Other:
    """An exporter that is neither a tensor nor a buffer."""

    def __init__(self, exporter):
        self.exporter = exporter

    def __dlpack__(self, **options):
        return self.exporter.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.exporter.__dlpack_device__()


def test_memory_is_shared_both_ways():
    array = np.arange(6.0).reshape(2, 3)
    taken = tandem.from_dlpack(array.T)
    taken[0, 1] = 9
    assert array[1, 0] == 9 and taken.stride() == (1, 3)
    x = tandem.zeros(2)
    shared = np.from_dlpack(x)
    with tandem.lazy():
        before = x + 1
        x.fill_(4)
        assert shared.tolist() == [4, 4]
    assert before.tolist() == [1, 1]


def test_copies():
    x = tandem.zeros(2)
    for made in (
        tandem.from_dlpack(x, copy=True),
        tandem.from_dlpack(x.__dlpack__(copy=True)),
        tandem.tensor(Other(x)),
    ):
        assert made.data_ptr() != x.data_ptr()
    for made in (tandem.from_dlpack(x, device="cpu", copy=False), tandem.as_tensor(Other(x)), tandem.asarray(Other(x))):
        assert made.data_ptr() == x.data_ptr()
    assert tandem.from_dlpack(x.__dlpack__(dl_device=(1, 0))).data_ptr() == x.data_ptr()


def test_writes_count_as_those_of_the_lender():
    x = tandem.ones(3)
    loss = (tandem.ones(3, requires_grad=True) * x).sum()
    tandem.from_dlpack(x).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_what_is_refused():
    x = tandem.ones(2)
    with pytest.raises(BufferError, match="require gradient"):
        x.clone().requires_grad_().__dlpack__()
    with pytest.raises(BufferError, match="stream should be None for a tensor on cpu, got 3"):
        x.__dlpack__(stream=3)
    with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
        x.__dlpack__(stream="3")
    with pytest.raises(BufferError, match="Unsupported device_type: 99"):
        x.__dlpack__(dl_device=(99, 0))
    with pytest.raises(BufferError, match=r"no dtype for DLPack's complex64 \(code 5\)"):
        tandem.from_dlpack(np.zeros(2, np.complex64))
    with pytest.raises(BufferError, match="no dtype for DLPack's uint16"):
        tandem.from_dlpack(np.zeros(2, np.uint16))
    with pytest.raises(ValueError, match="dim 0 has stride -1: tensors with negative strides"):
        tandem.from_dlpack(np.zeros(3)[::-1])
    with pytest.raises(RuntimeError, match="received an invalid capsule"):
        tandem.from_dlpack(3)
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.warns(UserWarning, match="the memory is not writable"):
        tandem.from_dlpack(frozen)
    with pytest.raises(RuntimeError, match="cannot.*vmap|inside.*vmap|vmap"):
        tandem.func.vmap(lambda t: tandem.from_dlpack(t))(tandem.ones(2, 2))
