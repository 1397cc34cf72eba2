"""The emulated driver: memory, copies, late streams, events, capture. What a GPU would punish has to show."""

import ctypes
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import stand_ins
from stand_ins import Compiler

ADD = """
extern "C" __global__ void add(int* x, int v, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] += v;
}
extern "C" __global__ void twice(int* x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2; }
"""


@pytest.fixture
def kernels(gpu):
    return gpu.kernels(ADD, "add", "twice")


def fails(gpu, code, name, *arguments):
    assert gpu.result(name, *arguments) == code


def test_devices(gpu):
    count = ctypes.c_int()
    gpu.call("cuDeviceGetCount", ctypes.byref(count))
    assert count.value == 2
    name = ctypes.create_string_buffer(100)
    gpu.call("cuDeviceGetName", name, 100, 1)
    assert name.value == b"Emulated GPU"
    value = ctypes.c_int()
    for attribute, expected in {16: 132, 75: 9, 76: 0, 10: 32, 97: 227 << 10}.items():
        gpu.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
        assert value.value == expected
    ids = [ctypes.create_string_buffer(16) for _ in range(2)]
    for i, uuid in enumerate(ids):
        gpu.call("cuDeviceGetUuid_v2", uuid, i)
    assert ids[0].raw != ids[1].raw
    fails(gpu, 101, "cuDeviceGet", ctypes.byref(value), 2)
    text = ctypes.c_char_p()
    gpu.call("cuGetErrorName", 2, ctypes.byref(text))
    assert text.value == b"CUDA_ERROR_OUT_OF_MEMORY"


def test_no_device():
    program = "import ctypes, stand_ins; print(ctypes.CDLL(stand_ins.DRIVER).cuInit(0))"
    environment = {**os.environ, "TANDEM_EMULATED_DEVICES": "0"}
    here = pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=here, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "100", done.stderr


# ---- memory


def test_fresh_memory_is_nan(gpu):
    assert np.isnan(gpu.empty((1000,), np.float64).numpy()).all()


def test_out_of_memory(gpu):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    gpu.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    assert total.value == 4 << 30 and free.value <= total.value
    address = ctypes.c_uint64()
    fails(gpu, stand_ins.OUT_OF_MEMORY, "cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(free.value + 1))
    block = gpu.allocate(1 << 20)
    assert block % 512 == 0
    less = ctypes.c_size_t()
    gpu.call("cuMemGetInfo_v2", ctypes.byref(less), ctypes.byref(total))
    assert free.value - less.value == 1 << 20
    gpu.call("cuMemFree_v2", block)
    gpu.call("cuMemGetInfo_v2", ctypes.byref(less), ctypes.byref(total))
    assert free.value == less.value
    fails(gpu, 1, "cuMemFree_v2", block)


def test_chosen_size_of_memory():
    program = """
import ctypes, stand_ins
gpu = stand_ins.Gpu()
gpu.allocate(900000)
print(gpu.result("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(200000)))"""
    environment = {**os.environ, "TANDEM_EMULATED_MEMORY": "1000000"}
    here = pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=here, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "2", done.stderr


def test_the_host_cannot_touch_device_memory():
    program = """
import ctypes, numpy as np, stand_ins
gpu = stand_ins.Gpu()
x = gpu.array(np.zeros(10))
gpu.synchronize()
print("ready", flush=True)
ctypes.c_double.from_address(x.address).value = 1
print("alive")"""
    here = pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True)
    assert done.returncode == -11 and done.stdout == "ready\n"
    assert "the host touched memory of an emulated GPU\n" in done.stderr and "_ctypes" in done.stderr


def test_copies(gpu):
    x = np.arange(1000, dtype=np.int32)
    a, b = gpu.array(x), gpu.empty((1000,), np.int32)
    gpu.call("cuMemcpyDtoDAsync_v2", b.address, a.address, 4000, None)
    gpu.call("cuMemsetD8Async", b.address + 400, 7, ctypes.c_size_t(400), None)
    x[100:200] = 0x07070707
    assert (b.numpy() == x).all()
    for wrong in (a.address + 5000, 12345):
        fails(gpu, 1, "cuMemcpyDtoDAsync_v2", b.address, wrong, 4000, None)
    fails(gpu, 1, "cuMemsetD8Async", b.address, 0, ctypes.c_size_t(5000), None)


def test_copies_between_devices(gpu):
    other = stand_ins.Gpu(1)
    far = other.empty((100,), np.int32)
    gpu.use()
    near = gpu.array(np.arange(100, dtype=np.int32))
    gpu.call("cuMemcpyPeerAsync", far.address, other.context, near.address, gpu.context, ctypes.c_size_t(400), None)
    fails(gpu, 1, "cuMemcpyPeerAsync", far.address, gpu.context, near.address, gpu.context, ctypes.c_size_t(400), None)
    gpu.synchronize()
    assert (far.numpy() == np.arange(100)).all()


def test_pageable_memory_is_read_at_the_call_and_pinned_memory_when_the_copy_is_done(gpu):
    stream = gpu.stream()
    x = np.arange(10, dtype=np.int32)
    pinned = gpu.pinned((10,), np.int32)
    pinned[:] = x
    a, b = gpu.empty((10,), np.int32), gpu.empty((10,), np.int32)
    gpu.copy_from(a, x.ctypes.data, stream)
    gpu.copy_from(b, pinned.ctypes.data, stream)
    x[:], pinned[:] = -1, -2
    gpu.synchronize(stream)
    assert (a.numpy() == np.arange(10)).all() and (b.numpy() == -2).all()


def test_copies_to_pinned_memory_are_late(gpu):
    a = gpu.array(np.arange(10, dtype=np.int32))
    gpu.synchronize()
    pinned = gpu.pinned((10,), np.int32)
    pinned[:] = -1
    stream = gpu.stream()
    gpu.call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(pinned.ctypes.data), a.address, 40, stream)
    assert (pinned == -1).all()
    gpu.synchronize(stream)
    assert (pinned == np.arange(10)).all()


# ---- streams and events


def test_streams_are_late(gpu, kernels):
    x = gpu.array(np.zeros(100, np.int32))
    gpu.synchronize()
    first, second = gpu.stream(), gpu.stream()
    gpu.launch(kernels[0], 1, 32, x, 1, 100, stream=first)
    fails(gpu, stand_ins.NOT_READY, "cuStreamQuery", first)
    # A query makes progress.
    fails(gpu, 0, "cuStreamQuery", first)
    gpu.launch(kernels[0], 1, 32, x, 1, 100, stream=first)
    assert (x.numpy(second) == 1).all()  # nobody waited for the second one
    gpu.synchronize(first)
    assert (x.numpy(second) == 2).all()


def test_events_order_streams(gpu, kernels):
    add, twice = kernels
    first, second = gpu.stream(), gpu.stream()
    for is_ordered in (True, False):
        x = gpu.array(np.ones(10, np.int32))
        gpu.synchronize()
        event = gpu.event()
        gpu.launch(add, 1, 32, x, 1, 10, stream=first)
        gpu.call("cuEventRecord", event, first)
        gpu.launch(add, 1, 32, x, 100, 10, stream=first)  # behind the event: not waited for
        if is_ordered:
            gpu.call("cuStreamWaitEvent", second, event, 0)
        gpu.launch(twice, 1, 32, x, 10, stream=second)
        gpu.synchronize(second)
        assert (x.numpy(second) == (4 if is_ordered else 2)).all()
        gpu.call("cuCtxSynchronize")
        assert (x.numpy(second) == (104 if is_ordered else 103)).all()


def test_events(gpu, kernels):
    stream = gpu.stream()
    x = gpu.array(np.zeros(10, np.int32))
    gpu.synchronize()
    event = gpu.event()
    fails(gpu, 0, "cuEventQuery", event)  # never recorded
    gpu.launch(kernels[0], 1, 32, x, 1, 10, stream=stream)
    gpu.call("cuEventRecord", event, stream)
    fails(gpu, stand_ins.NOT_READY, "cuEventQuery", event)
    gpu.call("cuEventSynchronize", event)
    fails(gpu, 0, "cuEventQuery", event)
    gpu.call("cuEventRecord", event, stream)  # from now on another point
    fails(gpu, stand_ins.NOT_READY, "cuEventQuery", event)
    gpu.call("cuEventDestroy_v2", event)
    fails(gpu, stand_ins.INVALID_HANDLE, "cuEventQuery", event)


def test_time_between_events(gpu):
    stream = gpu.stream()
    first, last = gpu.event(0), gpu.event(0)
    milliseconds = ctypes.c_float()
    fails(gpu, stand_ins.INVALID_HANDLE, "cuEventElapsedTime", ctypes.byref(milliseconds), first, last)
    gpu.call("cuEventRecord", first, stream)
    gpu.call("cuEventRecord", last, stream)
    fails(gpu, stand_ins.NOT_READY, "cuEventElapsedTime", ctypes.byref(milliseconds), first, last)
    gpu.synchronize(stream)
    gpu.call("cuEventElapsedTime", ctypes.byref(milliseconds), first, last)
    assert 0 <= milliseconds.value < 100
    untimed = gpu.event(2)
    fails(gpu, stand_ins.INVALID_HANDLE, "cuEventElapsedTime", ctypes.byref(milliseconds), first, untimed)


def test_the_legacy_stream(gpu, kernels):
    add, twice = kernels
    for flags, expected in ((0, 6), (1, 8)):
        stream = gpu.stream(flags)
        x = gpu.array(np.ones(10, np.int32))
        gpu.synchronize()
        gpu.launch(add, 1, 32, x, 1, 10, stream=stream)
        gpu.launch(twice, 1, 32, x, 10)  # in the legacy stream, which blocks with the first of the two
        gpu.launch(add, 1, 32, x, 2, 10, stream=stream)
        gpu.synchronize(stream)
        gpu.call("cuCtxSynchronize")
        assert (x.numpy() == expected).all()


def test_functions_of_the_host(gpu, kernels):
    stream = gpu.stream()
    x = gpu.array(np.zeros(10, np.int32))
    gpu.synchronize()
    seen = []

    @stand_ins.HOST_FUNCTION
    def function(data):
        seen.append((data, gpu.result("cuStreamQuery", stream)))

    gpu.launch(kernels[0], 1, 32, x, 1, 10, stream=stream)
    gpu.call("cuLaunchHostFunc", stream, function, ctypes.c_void_p(17))
    assert seen == []
    gpu.synchronize(stream)
    assert seen == [(17, stand_ins.NOT_PERMITTED)]


def test_a_destroyed_stream_finishes_its_work(gpu, kernels):
    x = gpu.array(np.zeros(10, np.int32))
    gpu.synchronize()
    stream = gpu.stream()
    gpu.launch(kernels[0], 1, 32, x, 1, 10, stream=stream)
    gpu.call("cuStreamDestroy_v2", stream)
    fails(gpu, stand_ins.INVALID_HANDLE, "cuStreamSynchronize", stream)
    gpu.call("cuCtxSynchronize")
    assert (x.numpy() == 1).all()


# ---- modules and launches


def test_modules(gpu):
    compiler = Compiler()
    image = compiler.compile(ADD)
    module = gpu.load(image)
    gpu.make("cuModuleGetFunction", module, b"add")
    fails(gpu, stand_ins.NOT_FOUND, "cuModuleGetFunction", ctypes.byref(ctypes.c_void_p()), module, b"subtract")
    made = ctypes.c_void_p()
    for wrong in (b"\0" * 100, b"\x7fELF" + b"\1" * 100, image.replace(b"tandemModule", b"tandemmodule")):
        if wrong[4] == 1:
            wrong = bytearray(image)
            wrong[18] = 190  # the machine: EM_CUDA
            wrong = bytes(wrong)
        fails(gpu, stand_ins.INVALID_IMAGE, "cuModuleLoadData", ctypes.byref(made), wrong)
    # What stands for PTX is text, and may be read as such.
    text = compiler.compile(ADD, architecture="compute_90")
    assert b"\0" not in text.rstrip(b"\0")
    gpu.make("cuModuleGetFunction", gpu.load(text), b"add")


def test_launches_that_are_refused(gpu):
    text = """
    extern "C" __global__ void __launch_bounds__(MOST, 2) bounded(int* x) { x[0] = 1; }
    extern "C" __global__ void plain(int* x) { extern __shared__ int s[]; s[threadIdx.x] = 0; x[0] = 1; }"""
    bounded, plain = gpu.kernels(text, "bounded", "plain", options=["-DMOST=(64+64)"])
    x = gpu.empty((1,), np.int32)
    for code, kernel, blocks, threads, shared in [
        (701, bounded, 1, 129, 0),
        (1, plain, 1, 1025, 0),
        (1, plain, 0, 32, 0),
        (1, plain, (1, 65536), 32, 0),
        (1, plain, 1, 32, 50000),
    ]:
        with pytest.raises(stand_ins.DriverError) as caught:
            gpu.launch(kernel, blocks, threads, x, shared=shared)
        assert caught.value.code == code
    value = ctypes.c_int()
    gpu.call("cuFuncGetAttribute", ctypes.byref(value), 0, bounded)
    assert value.value == 128
    fails(gpu, 1, "cuFuncSetAttribute", plain, 8, 233000)
    gpu.call("cuFuncSetAttribute", plain, 8, 200000)
    gpu.launch(plain, 1, 32, x, shared=200000)
    assert x.numpy() == 1
    stand_ins.Gpu(1)
    with pytest.raises(stand_ins.DriverError, match="400"):  # the module is of the other device
        gpu.launch(plain, 1, 32, x)


# ---- capture


def captured(gpu, stream, work, mode=1):
    gpu.call("cuStreamBeginCapture_v2", stream, mode)
    work()
    graph = end(gpu, stream)
    exec_ = ctypes.c_void_p()
    gpu.call("cuGraphInstantiateWithFlags", ctypes.byref(exec_), graph, ctypes.c_ulonglong(0))
    gpu.call("cuGraphDestroy", graph)
    return exec_


def end(gpu, stream):
    graph = ctypes.c_void_p()
    gpu.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    return graph


def test_graphs(gpu, kernels):
    add, twice = kernels
    stream = gpu.stream()
    x = gpu.array(np.ones(10, np.int32))
    pinned = gpu.pinned((10,), np.int32)
    gpu.synchronize()
    status = ctypes.c_int()

    def work():
        gpu.launch(add, 1, 32, x, 1, 10, stream=stream)
        gpu.launch(twice, 1, 32, x, 10, stream=stream)
        gpu.call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(pinned.ctypes.data), x.address, 40, stream)
        gpu.call("cuStreamIsCapturing", stream, ctypes.byref(status))
        assert status.value == 1

    graph = captured(gpu, stream, work)
    gpu.call("cuStreamIsCapturing", stream, ctypes.byref(status))
    assert status.value == 0
    assert (x.numpy() == 1).all()  # nothing ran
    for expected in (4, 10, 22):
        gpu.call("cuGraphLaunch", graph, stream)
        gpu.synchronize(stream)
        assert (pinned == expected).all()
    gpu.call("cuGraphLaunch", graph, stream)
    gpu.call("cuGraphExecDestroy", graph)
    assert (x.numpy() == 22).all()
    gpu.synchronize(stream)
    assert (x.numpy() == 46).all()


@pytest.mark.parametrize("is_ordered", [True, False])
def test_graphs_of_several_streams(gpu, kernels, is_ordered):
    """A graph runs as its dependencies say, not as it was captured."""
    add, twice = kernels
    first, second = gpu.stream(), gpu.stream()
    fork, middle, join = gpu.event(), gpu.event(), gpu.event()
    x = gpu.array(np.ones(10, np.int32))
    gpu.synchronize()

    def work():
        gpu.call("cuEventRecord", fork, first)
        gpu.call("cuStreamWaitEvent", second, fork, 0)
        gpu.launch(add, 1, 32, x, 1, 10, stream=first)
        gpu.call("cuEventRecord", middle, first)
        if is_ordered:
            gpu.call("cuStreamWaitEvent", second, middle, 0)
        gpu.launch(twice, 1, 32, x, 10, stream=second)
        gpu.call("cuEventRecord", join, second)
        gpu.call("cuStreamWaitEvent", first, join, 0)

    graph = captured(gpu, first, work)
    gpu.call("cuGraphLaunch", graph, first)
    gpu.synchronize(first)
    assert (x.numpy() == (4 if is_ordered else 3)).all()
    gpu.synchronize(second)  # it captures no more


def test_what_a_capture_forbids(gpu, kernels):
    x = gpu.array(np.ones(10, np.int32))
    gpu.synchronize()
    graph = ctypes.c_void_p()
    other, event = gpu.stream(), gpu.event()
    gpu.call("cuEventRecord", event, other)
    address = ctypes.c_uint64()
    for name, *arguments in [
        ("cuStreamSynchronize", "stream"),
        ("cuStreamQuery", "stream"),
        ("cuCtxSynchronize",),
        ("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(100)),
        ("cuMemFree_v2", x.address),
        ("cuEventQuery", event),
        ("cuStreamWaitEvent", "stream", event, 0),
    ]:
        stream = gpu.stream()
        gpu.call("cuStreamBeginCapture_v2", stream, 1)
        given = [stream if a == "stream" else a for a in arguments]
        code = stand_ins.CAPTURE_ISOLATION if name == "cuStreamWaitEvent" else stand_ins.CAPTURE_UNSUPPORTED
        fails(gpu, code, name, *given)
        with pytest.raises(stand_ins.DriverError, match="901"):
            gpu.launch(kernels[0], 1, 32, x, 1, 10, stream=stream)
        fails(gpu, stand_ins.CAPTURE_INVALIDATED, "cuStreamEndCapture", stream, ctypes.byref(graph))
        gpu.launch(kernels[0], 1, 32, x, 0, 10, stream=stream)
        gpu.synchronize(stream)


def test_a_capture_that_is_not_joined(gpu, kernels):
    first, second = gpu.stream(), gpu.stream()
    fork = gpu.event()
    x = gpu.array(np.ones(10, np.int32))
    gpu.synchronize()
    gpu.call("cuStreamBeginCapture_v2", first, 1)
    gpu.call("cuEventRecord", fork, first)
    gpu.call("cuStreamWaitEvent", second, fork, 0)
    gpu.launch(kernels[0], 1, 32, x, 1, 10, stream=second)
    graph = ctypes.c_void_p()
    fails(gpu, stand_ins.CAPTURE_UNJOINED, "cuStreamEndCapture", first, ctypes.byref(graph))
    gpu.synchronize(second)
    fails(gpu, stand_ins.CAPTURE_UNSUPPORTED, "cuStreamBeginCapture_v2", None, 1)
