"""The backend `gloo`, for memory of the CPU: libtandem_gloo.so (`distributed/`), opened when a group is first made."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import socket
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.distributed._errors import DistBackendError, DistNetworkError, DistStoreError
from tandem.distributed._stores import Store
from tandem.distributed._transport import HostTransport, Message, Parts

LIBRARY = Path(tandem.__file__).parent / "libtandem_gloo.so"
_TEXT = 240  # bytes of a text that is exchanged, with a zero at its end
_FAREWELL = 5  # seconds, for a message to notice that its group has gone
_ADDRESS = 256  # bytes of an address, at most


@functools.cache
def library() -> ctypes.CDLL:
    """RuntimeError names what is missing and how to get it."""
    if not LIBRARY.exists():
        raise DistBackendError(
            f"{LIBRARY.name} is not part of this build, which was made without Gloo: install libgloo-dev (Debian) and "
            "build again with TANDEM_DISTRIBUTED=ON"
        )
    try:
        lib = ctypes.CDLL(str(LIBRARY))
    except OSError as e:
        raise DistBackendError(
            f"{LIBRARY.name} cannot be opened: {e}. It needs the library of Gloo, in Debian 12 the package libgloo0"
        ) from None
    pointer, size, number, text = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_char_p
    numbers = ctypes.POINTER(ctypes.c_int64)
    signatures = {
        "error": (text,),
        "open": (pointer, text, text, number, number, size),
        "address": (size, pointer, number, text, size),
        "connect": (number, pointer, number, text, size),
        "exchange": (number, pointer, ctypes.c_uint64, *(pointer, numbers, numbers) * 2, number, size),
        "send": (pointer, pointer, number, ctypes.c_uint32, text, pointer, size),
        "receive": (pointer, pointer, ctypes.POINTER(number), number, ctypes.c_uint32, text, pointer, size),
        "wait": (number, pointer, size),
        "peer": (number, pointer),
        "release": (None, pointer),
        "abort": (None, pointer, text),
        "close": (None, pointer),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(lib, f"tandem_gloo_{name}")
        function.restype, function.argtypes = result, arguments
    return lib


def _error() -> str:
    return str(library().tandem_gloo_error().decode(errors="replace"))


def _fit(text: str) -> bytes:
    """The text, or as much as there is room for and a digest of it."""
    data = text.encode()
    if len(data) < _TEXT:
        return data
    return data[: _TEXT - 24] + b"... " + hashlib.sha256(data).hexdigest()[:16].encode()


def _own_host(store: Store) -> str:
    """The address of this machine at which the other ranks reach it."""
    if host := store.host():
        return host
    try:
        name = socket.gethostname()
        family, kind, _, _, address = socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as trial:
            trial.bind(address)
        return str(address[0])
    except OSError:
        return "127.0.0.1"


class GlooMessage(Message):
    def __init__(self, handle: int, data: Tensor) -> None:
        self._handle: int | None = handle
        self._data = data  # its memory is read or written until the message has arrived
        self._failed: str | None = None
        self._peer = -1

    def wait(self, seconds: float) -> bool:
        if self._handle is not None:
            status = library().tandem_gloo_wait(self._handle, int(seconds * 1000))
            if status < 0:
                return False
            if status:
                self._failed = _error()
            self.release()
        if self._failed is not None:
            raise DistBackendError(self._failed)
        return True

    def peer(self) -> int:
        return self._peer

    def under_way(self) -> bool:
        return self._handle is not None and library().tandem_gloo_wait(self._handle, 0) < 0

    def release(self) -> None:
        """Waits until the message has arrived or failed."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._peer = library().tandem_gloo_peer(handle)
            library().tandem_gloo_release(handle)


class GlooTransport(HostTransport):
    """A group over Gloo's TCP pairs. GLOO_SOCKET_IFNAME names the network interface to use, if not the one by which
    the store is reached."""

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta) -> None:
        self.rank, self.size = rank, size
        self._messages: list[GlooMessage] = []
        self._group: int | None = None
        lib = library()
        seconds = timeout.total_seconds()
        interface = os.environ.get("GLOO_SOCKET_IFNAME", "")
        host = "" if interface else _own_host(store)
        self._group = lib.tandem_gloo_open(host.encode(), interface.encode(), rank, size, int(seconds * 1000))
        if not self._group:
            raise DistNetworkError(f"gloo cannot listen at {host or interface}: {_error()}")
        self._connect(store, seconds)

    def _connect(self, store: Store, seconds: float) -> None:
        lib = library()
        deadline = time.monotonic() + seconds
        keys = [f"address/{r}" for r in range(self.size)]
        if store.check([keys[self.rank]]):
            raise DistStoreError(
                f"rank {self.rank} is in the store already: either two processes have this rank, or the store was used "
                "before (remove the file of a file:// store)"
            )
        own = []
        for peer in range(self.size):
            buffer = ctypes.create_string_buffer(_ADDRESS)
            length = 0 if peer == self.rank else lib.tandem_gloo_address(self._group, peer, buffer, _ADDRESS)
            if not 0 <= length <= _ADDRESS:
                raise DistNetworkError(f"gloo has no address for rank {peer}: {_error()}")
            own.append(buffer.raw[:length].hex())
        store.set(keys[self.rank], ",".join(own))
        try:
            store.wait(keys, timedelta(seconds=max(0.0, deadline - time.monotonic())))
        except DistStoreError:
            absent = [r for r, key in enumerate(keys) if not store.check([key])]
            raise DistStoreError(f"{_ranks(absent)} did not arrive within {seconds:g} s") from None
        for peer in range(self.size):
            if peer != self.rank:
                address = bytes.fromhex(store.get(keys[peer]).decode().split(",")[self.rank])
                if lib.tandem_gloo_connect(self._group, peer, address, len(address)):
                    raise DistNetworkError(f"rank {self.rank} could not connect to rank {peer}: {_error()}")

    def _exchange(self, tag: int, memory: Sequence[Any], texts: bool, seconds: float) -> None:
        if library().tandem_gloo_exchange(self._group, tag, *memory, texts, int(seconds * 1000)):
            raise DistBackendError(_error())

    def texts(self, tag: int, texts: Sequence[str], seconds: float) -> list[str]:
        out = ctypes.create_string_buffer(b"".join(_fit(t).ljust(_TEXT, b"\0") for t in texts))
        into = ctypes.create_string_buffer(self.size * _TEXT)
        offsets = (ctypes.c_int64 * self.size)(*range(0, self.size * _TEXT, _TEXT))
        sizes = (ctypes.c_int64 * self.size)(*([_TEXT] * self.size))
        memory = ctypes.addressof(out), offsets, sizes, ctypes.addressof(into), offsets, sizes
        self._exchange(tag, memory, True, seconds)
        parts = (into.raw[r * _TEXT : (r + 1) * _TEXT] for r in range(self.size))
        return [part.rstrip(b"\0").decode(errors="replace") for part in parts]

    def fitting(self, texts: Sequence[str]) -> list[str]:
        return [_fit(text).decode(errors="replace") for text in texts]

    def exchange(self, tag: int, out: Tensor, sends: Parts, into: Tensor, receives: Parts, seconds: float) -> None:
        def layout(
            parts: Parts, tensor: Tensor
        ) -> tuple[int, ctypes.Array[ctypes.c_int64], ctypes.Array[ctypes.c_int64]]:
            width = tensor.element_size()
            array = ctypes.c_int64 * self.size
            offsets, sizes = array(*(at * width for at, _ in parts)), array(*(count * width for _, count in parts))
            return tensor.data_ptr(), offsets, sizes

        memory = *layout(sends, out), *layout(receives, into)
        self._exchange(tag, memory, False, seconds)

    def _posted(self, handle: int | None, data: Tensor) -> GlooMessage:
        if not handle:
            raise DistBackendError(_error())
        message = GlooMessage(handle, data)
        self._messages = [m for m in self._messages if m._handle is not None]
        self._messages.append(message)
        return message

    def send(self, peer: int, tag: int, what: str, data: Tensor) -> Message:
        size = data.numel() * data.element_size()
        return self._posted(library().tandem_gloo_send(self._group, peer, tag, _fit(what), data.data_ptr(), size), data)

    def receive(self, peers: Sequence[int], tag: int, what: str, into: Tensor) -> Message:
        size = into.numel() * into.element_size()
        ranks = (ctypes.c_int * len(peers))(*peers)
        return self._posted(
            library().tandem_gloo_receive(self._group, ranks, len(peers), tag, _fit(what), into.data_ptr(), size),
            into,
        )

    def abort(self, why: str) -> None:
        if self._group:
            library().tandem_gloo_abort(self._group, why.encode())

    def close(self) -> None:
        if self._group:
            group, self._group = self._group, None
            if any(m.under_way() for m in self._messages):
                library().tandem_gloo_abort(group, b"the group was destroyed")
            for message in self._messages:
                with contextlib.suppress(DistBackendError):
                    message.wait(_FAREWELL)
                message.release()
            library().tandem_gloo_close(group)


def _ranks(ranks: Sequence[int]) -> str:
    return ("ranks " if len(ranks) > 1 else "rank ") + ", ".join(map(str, ranks))
