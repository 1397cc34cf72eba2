"""The stand-in for NCCL, called as a C library: two ranks of one process. It refuses what NCCL would, and does its work
when the stream is waited for."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy
import pytest
import stand_ins

LIBRARY = str(stand_ins.LIBRARIES / "libtandem_emulated_nccl.so")
UNHANDLED_CUDA, INVALID_ARGUMENT, INVALID_USAGE, REMOTE, IN_PROGRESS = 1, 4, 5, 6, 7
INT32, FLOAT32 = 2, 7


class Id(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_char * 128),)


class Config(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("blocking", ctypes.c_int),
        ("unset", ctypes.c_int * 3),
        ("network", ctypes.c_char_p),
        ("split", ctypes.c_int),
    )

    @classmethod
    def of(cls, blocking: int = 0) -> Config:
        return cls(ctypes.sizeof(cls), 0xCAFEBEEF, 21805, blocking)


@pytest.fixture(scope="module")
def nccl():
    library = ctypes.CDLL(LIBRARY)
    library.ncclGetLastError.restype = ctypes.c_char_p
    library.ncclCommInitRankConfig.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int, ctypes.c_void_p]
    message = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    library.ncclSend.argtypes = library.ncclRecv.argtypes = message
    return library


@pytest.fixture(autouse=True)
def driver(monkeypatch):
    monkeypatch.setenv("TANDEM_CUDA_DRIVER", stand_ins.DRIVER)


def state(nccl: Any, handle: ctypes.c_void_p) -> int:
    """What the communicator says once nothing is in progress."""
    result = ctypes.c_int(IN_PROGRESS)
    deadline = time.monotonic() + 10
    while result.value == IN_PROGRESS and time.monotonic() < deadline:
        assert nccl.ncclCommGetAsyncError(handle, ctypes.byref(result)) == 0
    return result.value


def connect(nccl: Any, identity: Id, rank: int, size: int = 2, **config: int) -> tuple[int, ctypes.c_void_p]:
    handle = ctypes.c_void_p()
    given = Config.of(**config)
    result = nccl.ncclCommInitRankConfig(ctypes.byref(handle), size, identity, rank, ctypes.byref(given))
    return result, handle


@pytest.fixture
def pair(nccl, gpu):
    """Two ranks, each with a stream."""
    identity = Id()
    assert nccl.ncclGetUniqueId(ctypes.byref(identity)) == 0
    made = [connect(nccl, identity, rank) for rank in range(2)]
    assert [result for result, _ in made] == [IN_PROGRESS] * 2
    handles = [handle for _, handle in made]
    assert [state(nccl, h) for h in handles] == [0, 0]
    yield [(h, gpu.stream()) for h in handles]
    for h in handles:
        nccl.ncclCommAbort(h)


def test_messages_are_late_and_arrive(nccl, gpu, pair):
    (first, one), (second, two) = pair
    x, y = gpu.array(numpy.arange(5, dtype=numpy.float32)), gpu.array(numpy.zeros(5, numpy.float32))
    gpu.synchronize()
    # Both ways at once.
    for handle, stream, a, peer in ((first, one, x, 1), (second, two, y, 0)):
        sends = peer == 1
        assert nccl.ncclGroupStart() == nccl.ncclGroupStart() == 0
        if sends:
            assert nccl.ncclSend(a.address, 5, FLOAT32, peer, handle, stream) == 0
        else:
            assert nccl.ncclRecv(a.address, 5, FLOAT32, peer, handle, stream) == 0
        assert nccl.ncclGroupEnd() == 0  # the inner one
        assert gpu.result("cuStreamQuery", stream) == 0  # nothing was queued so far
        assert nccl.ncclGroupEnd() == IN_PROGRESS and state(nccl, handle) == 0
    assert gpu.result("cuStreamQuery", two) == stand_ins.NOT_READY
    gpu.synchronize(two)  # which has the other rank do its part
    assert y.numpy(two).tolist() == [0, 1, 2, 3, 4]
    gpu.synchronize(one)


def test_what_does_not_fit_is_told_and_stays_until_it_is_aborted(nccl, gpu, pair):
    (first, one), (second, two) = pair
    x, y = gpu.array(numpy.ones(4, numpy.float32)), gpu.array(numpy.zeros(4, numpy.float32))
    gpu.synchronize()
    assert nccl.ncclSend(x.address, 4, FLOAT32, 1, first, one) == IN_PROGRESS
    assert nccl.ncclRecv(y.address, 3, FLOAT32, 0, second, two) == IN_PROGRESS
    assert state(nccl, second) == 0
    deadline = time.monotonic() + 10
    while state(nccl, second) != INVALID_USAGE and time.monotonic() < deadline:
        gpu.result("cuStreamQuery", two)
    text = nccl.ncclGetLastError(second).decode()
    assert "message 0 from rank 0 has 16 bytes of type 7, and 12 of type 7 are expected" in text, text
    for _ in range(20):
        assert gpu.result("cuStreamQuery", two) == gpu.result("cuStreamQuery", one) == stand_ins.NOT_READY
    assert nccl.ncclCommAbort(second) == 0
    gpu.synchronize(two)
    assert state(nccl, first) == REMOTE and b"rank 1 broke" in nccl.ncclGetLastError(first)
    assert nccl.ncclCommAbort(first) == 0
    gpu.synchronize(one)
    assert nccl.ncclCommAbort(first) == INVALID_ARGUMENT


def test_wrong_calls_are_refused(nccl, gpu, pair):
    (first, one), (_, two) = pair
    x = gpu.array(numpy.ones(4, numpy.float32))
    for result, arguments in (
        (INVALID_ARGUMENT, (x.address, 4, FLOAT32, 2, first, one)),
        (INVALID_ARGUMENT, (x.address, 4, FLOAT32, -1, first, one)),
        (INVALID_USAGE, (x.address, 4, FLOAT32, 0, first, one)),
        (INVALID_ARGUMENT, (x.address, 4, 12, 1, first, one)),
        (INVALID_ARGUMENT, (None, 4, FLOAT32, 1, first, one)),
        (INVALID_ARGUMENT, (x.address, 4, FLOAT32, 1, ctypes.c_void_p(64), one)),
        (UNHANDLED_CUDA, (id(x), 4, FLOAT32, 1, first, one)),  # memory of the host
        (UNHANDLED_CUDA, (x.address, 999, INT32, 1, first, one)),  # more than there is
    ):
        assert nccl.ncclSend(*arguments) == result, arguments
    assert nccl.ncclGroupEnd() == INVALID_USAGE
    assert nccl.ncclGroupStart() == 0
    assert nccl.ncclSend(x.address, 4, FLOAT32, 1, first, one) == 0
    assert nccl.ncclSend(x.address, 4, FLOAT32, 1, first, two) == INVALID_USAGE  # another stream
    assert nccl.ncclGroupEnd() == INVALID_USAGE
    identity = Id()
    assert nccl.ncclGetUniqueId(ctypes.byref(identity)) == 0
    assert connect(nccl, identity, 0, blocking=1)[0] == INVALID_USAGE
    assert connect(nccl, identity, 2)[0] == connect(nccl, Id(b"other"), 0)[0] == INVALID_ARGUMENT


def test_ranks_that_do_not_belong_together(nccl, gpu):
    identity = Id()
    assert nccl.ncclGetUniqueId(ctypes.byref(identity)) == 0
    (_, first), (_, again) = connect(nccl, identity, 0, 3), connect(nccl, identity, 0, 3)
    deadline = time.monotonic() + 10
    texts = b""
    while b"rank 0 is there already" not in texts and time.monotonic() < deadline:
        texts = nccl.ncclGetLastError(first) + nccl.ncclGetLastError(again)
    assert b"rank 0 is there already" in texts
    for handle in (first, again):
        assert nccl.ncclCommAbort(handle) == 0
