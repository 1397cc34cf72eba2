"""`TCPStore`: a store in the memory of one process, which the others reach over TCP.

A request is the number of what is asked for and its fields, each with its length before it; an answer is a status and
fields. The server has a thread for each connection, and one that accepts them. Nothing that arrives is executed or
unpickled; the store is no secret, though, to anybody who reaches its port.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

from tandem.distributed._errors import DistNetworkError, DistStoreError
from tandem.distributed._stores import HashStore, Store, as_bytes

__all__ = ["TCPStore"]

_GREETING = b"tandem store 1\n"
_SET, _GET, _ADD, _COMPARE, _DELETE, _CHECK, _WAIT, _COUNT, _LEAVE = range(9)
_APPEND, _TAKE, _QUEUED = range(9, 12)
_HEAD = struct.Struct("!BI")
_LENGTH = struct.Struct("!I")
_MOST_FIELDS, _MOST_BYTES = 1 << 20, 1 << 30
_RETRY = 0.05  # seconds between attempts to connect


def _read(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the connection was closed")
        parts += part
    return bytes(parts)


def _send(connection: socket.socket, what: int, fields: Sequence[bytes]) -> None:
    connection.sendall(_HEAD.pack(what, len(fields)) + b"".join(_LENGTH.pack(len(f)) + f for f in fields))


def _receive(connection: socket.socket) -> tuple[int, list[bytes]]:
    what, count = _HEAD.unpack(_read(connection, _HEAD.size))
    fields = []
    if count > _MOST_FIELDS:
        raise ConnectionError(f"{count} fields")
    for _ in range(count):
        (size,) = _LENGTH.unpack(_read(connection, _LENGTH.size))
        if size > _MOST_BYTES:
            raise ConnectionError(f"a field of {size} bytes")
        fields.append(_read(connection, size))
    return what, fields


class Server:
    """The values, and the threads that answer questions about them. It listens from the start, and answers once it is
    started; OSError where it cannot listen. Once a process has left it takes no new ones, which wait for the next
    server at this port, unless it `stays`."""

    def __init__(self, host: str, port: int, stays: bool = False) -> None:
        self.store = HashStore()
        self._stays = stays
        self._listener = self._listen(host, port)
        self.port = int(self._listener.getsockname()[1])

    def start(self) -> None:
        threading.Thread(target=self._accept, name="tandem-store", daemon=True).start()

    @staticmethod
    def _listen(host: str, port: int) -> socket.socket:
        """At the address alone that the others are told; where it is not this machine's own, at all of them."""
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            return socket.create_server(address[:2], family=family, backlog=1024)
        except OSError as e:
            if e.errno != errno.EADDRNOTAVAIL:
                raise
            return socket.create_server(("", port), backlog=1024)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), name="tandem-store", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(_GREETING)
            if _read(connection, len(_GREETING)) != _GREETING:
                return
            while True:
                what, fields = _receive(connection)
                try:
                    answer = self._answer(what, fields)
                except (DistStoreError, ValueError, IndexError, struct.error) as e:
                    _send(connection, 1, [str(e).encode()])
                else:
                    _send(connection, 0, answer)

    def _answer(self, what: int, fields: list[bytes]) -> list[bytes]:
        store = self.store
        if what == _SET:
            store.set(fields[0].decode(), fields[1])
            return []
        if what == _GET:
            return [store.get(fields[0].decode())]
        if what == _ADD:
            return [str(store.add(fields[0].decode(), int(fields[1]))).encode()]
        if what == _COMPARE:
            return [store.compare_set(fields[0].decode(), fields[1], fields[2])]
        if what == _DELETE:
            return [b"1" if store.delete_key(fields[0].decode()) else b"0"]
        if what == _CHECK:
            return [b"1" if store.check([f.decode() for f in fields]) else b"0"]
        if what == _WAIT:
            store.wait([f.decode() for f in fields[1:]], timedelta(seconds=float(fields[0])))
            return []
        if what == _COUNT:
            return [str(store.num_keys()).encode()]
        if what == _APPEND:
            store.append(fields[0].decode(), fields[1])
            return []
        if what == _TAKE:
            item = store._take(fields[0].decode())
            return [] if item is None else [item]
        if what == _QUEUED:
            return [str(store._count(fields[0].decode())).encode()]
        if what == _LEAVE:
            if not self._stays:
                self.close()
            return []
        raise ValueError(f"unknown request {what}")

    def close(self) -> None:
        # shutdown() ends the waiting of the thread that accepts; close() alone would not.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class TCPStore(Store):
    """A store in the memory of the process that is the master, which the others reach over TCP.

    Args:
        host_name: where the master listens.
        port: its port; 0 chooses a free one in the master, which `port` then tells.
        world_size: how many processes use it; the master waits for them if `wait_for_workers` is True.
        is_master: has this process the values?
        timeout: how long to wait for the master, and for keys.

    DistNetworkError if the master cannot listen there, or cannot be reached within the timeout.

    >>> import tandem
    >>> store = tandem.distributed.TCPStore("localhost", 0, is_master=True)
    >>> other = tandem.distributed.TCPStore("localhost", store.port)
    >>> other.set("key", "value")
    >>> store.get("key"), other.add("count", 3)
    (b'value', 3)
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = False,
    ) -> None:
        super().__init__()
        self._timeout = timeout
        self._lock = threading.Lock()
        self._server = None
        self.is_master = is_master
        if is_master:
            try:
                self._server = Server(host_name, port)
            except OSError as e:
                reason = os.strerror(e.errno) if e.errno is not None and e.errno > 0 else e
                raise DistNetworkError(f"the store cannot listen at {host_name}:{port}: {reason}") from None
            self._server.start()
            port = self._server.port
        self.host_name, self.port = host_name, port
        self._connection = self._connect()
        if wait_for_workers and world_size is not None and world_size > 0:
            arrived = self.add("tandem/arrived", 1)
            if arrived == world_size:
                self.set("tandem/all arrived", b"")
            self.wait(["tandem/all arrived"])

    def _connect(self) -> socket.socket:
        limit = self._timeout.total_seconds()
        deadline = time.monotonic() + limit
        while True:
            try:
                left = max(0.1, deadline - time.monotonic())
                connection = socket.create_connection((self.host_name, self.port), timeout=min(left, 10))
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                greeting = _read(connection, len(_GREETING))
                break
            except OSError as e:
                if time.monotonic() + _RETRY > deadline:
                    where = f"{self.host_name}:{self.port}"
                    raise DistNetworkError(
                        f"the store at {where} could not be reached within {limit:g} s ({e}): does rank 0 run?"
                    ) from None
                time.sleep(_RETRY)
        if greeting != _GREETING:
            connection.close()
            raise DistNetworkError(f"what listens at {self.host_name}:{self.port} is no store of Tandem")
        connection.sendall(_GREETING)
        return connection

    def _ask(self, what: int, *fields: bytes, patience: float = 0.0) -> list[bytes]:
        with self._lock:
            try:
                self._connection.settimeout(patience + 30)
                _send(self._connection, what, fields)
                status, answer = _receive(self._connection)
            except OSError as e:
                raise DistNetworkError(f"the store at {self.host_name}:{self.port} was lost: {e}") from None
        if status:
            raise DistStoreError(answer[0].decode())
        return answer

    def set(self, key: str, value: str | bytes) -> None:
        self._ask(_SET, key.encode(), as_bytes(value))

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self._ask(_GET, key.encode())[0]

    def add(self, key: str, amount: int) -> int:
        return int(self._ask(_ADD, key.encode(), str(amount).encode())[0])

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        return self._ask(_COMPARE, key.encode(), as_bytes(expected_value), as_bytes(desired_value))[0]

    def append(self, key: str, value: str | bytes) -> None:
        self._ask(_APPEND, key.encode(), as_bytes(value))

    def _take(self, key: str) -> bytes | None:
        return next(iter(self._ask(_TAKE, key.encode())), None)

    def _count(self, key: str) -> int:
        return int(self._ask(_QUEUED, key.encode())[0])

    def clone(self) -> TCPStore:
        """The same store by a connection of its own, for another thread to wait by."""
        return TCPStore(self.host_name, self.port, timeout=self._timeout)

    def delete_key(self, key: str) -> bool:
        return self._ask(_DELETE, key.encode())[0] == b"1"

    def check(self, keys: Sequence[str]) -> bool:
        return self._ask(_CHECK, *(key.encode() for key in keys))[0] == b"1"

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        seconds = (self._timeout if timeout is None else timeout).total_seconds()
        self._ask(_WAIT, str(seconds).encode(), *(key.encode() for key in keys), patience=seconds)

    def num_keys(self) -> int:
        return int(self._ask(_COUNT)[0])

    def host(self) -> str | None:
        return str(self._connection.getsockname()[0])

    def leave(self) -> None:
        # The master may have gone.
        with contextlib.suppress(DistNetworkError):
            self._ask(_LEAVE)

    def __del__(self) -> None:
        if connection := getattr(self, "_connection", None):
            connection.close()
        if self.__dict__.get("_server"):
            self.__dict__["_server"].close()
