"""Memory of GPUs that is shared with other libraries, by DLPack and by `__cuda_array_interface__`: both ways, between
streams, and who keeps it."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest
from gpu_here import MARKS, ones, two

import tandem

pytestmark = MARKS


class Array:
    """An array of another library, as one of its interfaces shows it."""

    def __init__(self, tensor: tandem.Tensor, **said):
        self.tensor, self.said = tensor, said

    @property
    def __cuda_array_interface__(self):
        return {**self.tensor.__cuda_array_interface__, **self.said}


class Old:
    """An exporter that knows `stream` alone, as those of DLPack 0.8."""

    def __init__(self, tensor: tandem.Tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize(
    "take", [tandem.from_dlpack, tandem.as_tensor, tandem.asarray, lambda x: tandem.from_dlpack(Old(x))]
)
def test_memory_is_shared(take):
    for dtype in (tandem.float32, tandem.float16, tandem.bfloat16, tandem.int64, tandem.uint8, tandem.bool):
        x = tandem.arange(6).reshape(2, 3).to("cuda", dtype)
        for view in (x, x.t(), x[:, 1:], x[1], x[0, 1], x[:0]):
            taken = take(view)
            assert taken.dtype is dtype and taken.is_cuda and taken.shape == view.shape
            assert taken.tolist() == view.tolist()
            if view.numel() > 0:
                assert taken.data_ptr() == view.data_ptr()
        tandem.from_dlpack(x).fill_(1)
        assert x.long().sum().item() == 6


def test_streams():
    """What the current stream is still to do comes before what the stream of the taker does."""
    x = tandem.zeros(1000, device="cuda")
    for name in ("given", "default", "None"):
        stream = tandem.cuda.Stream()
        x.fill_(1)
        if name == "given":
            capsule = x.__dlpack__(stream=stream.cuda_stream, max_version=(1, 0))
        else:
            with tandem.cuda.stream(stream):  # and the other way round
                stream.wait_stream(tandem.cuda.default_stream())
                x.add_(1)
                capsule = x.__dlpack__(stream=1 if name == "default" else None)
            stream = tandem.cuda.default_stream()
        with tandem.cuda.stream(stream):
            total = tandem.from_dlpack(capsule).sum()
            stream.synchronize()
            assert total.item() == (1000 if name == "given" else 2000)
    stream = tandem.cuda.Stream()
    with tandem.cuda.stream(stream):
        stream.wait_stream(tandem.cuda.default_stream())
        x.fill_(3)
        assert tandem.from_dlpack(Old(x)).sum().item() == 3000
    for stream, what in ((2, "per-thread default stream is not"), (0, "stream 0, .* is not")):
        with pytest.raises(BufferError, match=f"{what} supported"):
            x.__dlpack__(stream=stream)
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream="1")


def test_capsules():
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    x = ones(3)
    assert x.__dlpack_device__() == (tandem.utils.dlpack.DLDeviceType.kDLCUDA, 0)
    assert tandem.zeros(2).pin_memory().__dlpack_device__() == (3, 0)
    for version, text in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned")):
        capsule = x.__dlpack__(max_version=version)
        assert name(capsule).decode() == text
        assert tandem.utils.dlpack.from_dlpack(capsule).tolist() == [1, 1, 1]
        assert name(capsule).decode() == "used_" + text
        with pytest.raises(RuntimeError, match="can be consumed only once"):
            tandem.from_dlpack(capsule)
    with pytest.raises(BufferError, match="require gradient"):
        ones(1, requires_grad=True).__dlpack__()


def test_copies_and_devices():
    x = ones(2)
    for made in (
        tandem.from_dlpack(x, copy=True),
        tandem.from_dlpack(Old(x), copy=True),
        tandem.from_dlpack(x.__dlpack__(copy=True)),
    ):
        assert made.is_cuda and made.data_ptr() != x.data_ptr()
    assert tandem.from_dlpack(x, device="cuda", copy=False).data_ptr() == x.data_ptr()
    assert tandem.from_dlpack(x, device="cpu").is_cpu and tandem.from_dlpack(x.__dlpack__(dl_device=(1, 0))).is_cpu
    assert tandem.from_dlpack(tandem.ones(2), device="cuda").is_cuda
    assert np.from_dlpack(tandem.from_dlpack(x, device="cpu")).tolist() == [1, 1]
    with pytest.raises(ValueError, match="cannot move DLPack tensor from device cuda:0 to cpu without copying"):
        tandem.from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(ValueError, match="from cuda:0 to cpu without copying"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="Unsupported device_type: 7"):
        x.__dlpack__(dl_device=(7, 0))


def test_who_keeps_the_memory():
    gc.collect()
    before = tandem.cuda.memory_allocated()
    x = ones(1000)
    owner = Array(x)
    taken = [tandem.from_dlpack(x), tandem.as_tensor(owner)]
    x.__dlpack__()  # a capsule that nobody takes
    del x, owner
    gc.collect()
    held = tandem.cuda.memory_allocated()
    assert held > before and [t.sum().item() for t in taken] == [1000, 1000]
    taken.clear()
    gc.collect()
    assert tandem.cuda.memory_allocated() == before


@pytest.mark.parametrize("take", [tandem.from_dlpack, lambda x: tandem.as_tensor(Array(x))])
def test_every_mode_sees_what_is_written(take):
    x = tandem.arange(4.0, device="cuda")
    shared = take(x)
    with tandem.lazy():
        before = x * 2
        shared.fill_(5)
        after = x * 2
    assert before.tolist() == [0, 2, 4, 6] and after.tolist() == [10] * 4
    double = tandem.compile(lambda t: t * 2)
    for value in (1, 2, 3):
        shared.fill_(value)
        assert double(shared).tolist() == double(x).tolist() == [2 * value] * 4


def test_versions_of_what_backward_keeps():
    x = ones(3)
    shared, weight = tandem.from_dlpack(x), ones(3, requires_grad=True)
    loss = (weight * x).sum()
    shared.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_arrays_by_their_address():
    x = tandem.arange(6.0, device="cuda").reshape(2, 3)
    for view in (x, x.t(), x[:, 1:]):
        for made in (
            tandem.as_tensor(Array(view)),
            tandem.asarray(Array(view)),
            tandem.as_tensor(Array(view), device="cuda"),
        ):
            assert made.data_ptr() == view.data_ptr() and made.stride() == view.stride()
            assert made.tolist() == view.tolist()
    assert tandem.tensor(Array(x), device="cuda").data_ptr() != x.data_ptr()
    assert tandem.as_tensor(Array(x), dtype=tandem.int64).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tandem.as_tensor(Array(x), device="cpu").is_cpu and tandem.as_tensor(Array(x[:0])).shape == (0, 3)
    stream = tandem.cuda.Stream()
    with tandem.cuda.stream(stream):
        stream.wait_stream(tandem.cuda.default_stream())
        x.fill_(7)
    assert tandem.as_tensor(Array(x, version=3, stream=stream.cuda_stream)).sum().item() == 42
    with pytest.warns(UserWarning, match="the memory is not writable"):
        tandem.as_tensor(Array(x, data=(x.data_ptr(), True)))
    with pytest.raises(TypeError, match="elements of type '<c8'"):
        tandem.as_tensor(Array(x, typestr="<c8"))
    with pytest.raises(ValueError, match="no multiples of the element's size"):
        tandem.as_tensor(Array(x, strides=(6, 2)))
    with pytest.raises(ValueError, match="negative strides are not supported"):
        tandem.as_tensor(Array(x, strides=(-12, 4)))
    with pytest.raises(ValueError, match="is in no GPU's memory"):
        tandem.as_tensor(Array(x, data=(64, False)))


@two
def test_another_gpu():
    x = tandem.arange(3.0, device="cuda:1")
    assert x.__dlpack_device__() == (2, 1)
    for made in (tandem.from_dlpack(x), tandem.as_tensor(Array(x)), tandem.from_dlpack(x, device="cuda:1")):
        assert made.device == x.device and made.data_ptr() == x.data_ptr()
    assert tandem.from_dlpack(x, device="cuda:0").device == tandem.device("cuda:0")
