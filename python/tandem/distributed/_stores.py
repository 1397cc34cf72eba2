"""Stores: keys and values that the processes of a program share while they find each other.

`Store` has what all stores can do, made of a few methods of the subclass; `HashStore` is memory of one process,
`FileStore` a file, `TCPStore` (in `_tcp_store.py`) a server, `PrefixStore` a part of another store.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from tandem.distributed._errors import DistStoreError, QueueEmptyError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store"]

_TIMEOUT = timedelta(seconds=300)
_POLL = 0.01  # seconds between looks at a file
_QUEUE = "tandem/queue/"  # before the key of a queue
_LENGTH = struct.Struct("!Q")  # before each value in a queue
_HERE = "processes"  # the key of how many use a file


def as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def count_of(value: bytes, key: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise DistStoreError(f"the value of {key!r} is no number that can be added to: {value[:40]!r}") from None


def late(seconds: float, keys: list[str]) -> DistStoreError:
    return DistStoreError(f"wait timeout after {seconds:g} s, waiting for keys: {', '.join(keys)}")


class Store:
    """Keys and values that several processes see. Values are bytes; a key that is asked for is waited for.

    Methods raise DistStoreError when a key did not appear within the timeout, which is 5 minutes unless
    `set_timeout` says otherwise.

    >>> import tandem
    >>> store = tandem.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key"), store.add("count", 2), store.check(["absent"])
    (b'value', 2, False)
    """

    def __init__(self) -> None:
        self._timeout = _TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """How long a key is waited for."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait so long for keys from now on."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Give `key` this value."""
        self._change(key, lambda old: as_bytes(value))

    def get(self, key: str) -> bytes:
        """The value of `key`, once it is there."""
        self.wait([key])
        return self._values([key])[0] or b""

    def add(self, key: str, amount: int) -> int:
        """Add to the number that is the value of `key`, 0 where there is none; the sum."""
        return int(self._change(key, lambda old: str(count_of(old or b"0", key) + amount).encode()) or b"0")

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Give `key` the desired value if it has the expected one, or none and none is expected; its value then."""
        expected, desired = as_bytes(expected_value), as_bytes(desired_value)
        found = self._change(key, lambda old: desired if (old or b"") == expected else old)
        return expected if found is None else found

    def delete_key(self, key: str) -> bool:
        """Forget `key`; was it there?"""
        there = self.check([key])
        self._change(key, lambda old: None)
        return there

    def check(self, keys: Sequence[str]) -> bool:
        """Are all keys there?"""
        return None not in self._values(keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there."""
        limit = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + limit.total_seconds()
        while lacking := [k for k, v in zip(keys, self._values(keys)) if v is None]:
            if (left := deadline - time.monotonic()) <= 0:
                raise late(limit.total_seconds(), lacking)
            time.sleep(min(left, _POLL))

    def append(self, key: str, value: str | bytes) -> None:
        """Put `value` behind the value of `key`, or in its place where there is none."""
        added = as_bytes(value)
        self._change(key, lambda old: (old or b"") + added)

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Give each key its value."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of the keys, once they are there."""
        return [self.get(key) for key in keys]

    def has_extended_api(self) -> bool:
        """True: there are `append`, `multi_get` and `multi_set`."""
        return True

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put `value` at the end of the queue `key`, from which any process can take it."""
        item = as_bytes(value)
        self.append(_QUEUE + key, _LENGTH.pack(len(item)) + item)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take what is first in the queue `key`; wait for it, or without `block` QueueEmptyError."""
        while (item := self._take(_QUEUE + key)) is None:
            if not block:
                raise QueueEmptyError(f"the queue {key!r} is empty")
            self.wait([_QUEUE + key])
        return item

    def queue_len(self, key: str) -> int:
        """How many values are in the queue `key`."""
        return self._count(_QUEUE + key)

    def num_keys(self) -> int:
        """How many keys there are."""
        raise NotImplementedError

    def host(self) -> str | None:
        """The address at which other processes of the store reach this one, where the store knows it."""
        return None

    def enter(self) -> None:
        """This process begins to use the store for a group."""

    def leave(self) -> None:
        """It has done with it: what the store keeps for others to come may go."""

    # What a kind of store consists of.

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> bytes | None:
        """Replace the value of `key` (None: there is none) by what `change` makes of it, at once; the new value."""
        raise NotImplementedError

    def _values(self, keys: Sequence[str]) -> list[bytes | None]:
        raise NotImplementedError

    # A queue is a value, which is there while something is in it.

    def _take(self, key: str) -> bytes | None:
        """What is first in the queue, at once taken out."""
        taken: list[bytes] = []

        def rest(old: bytes | None) -> bytes | None:
            if not old:
                return None
            (length,) = _LENGTH.unpack_from(old)
            end = _LENGTH.size + length
            taken[:] = [old[_LENGTH.size : end]]
            return old[end:] or None

        self._change(key, rest)
        return taken[0] if taken else None

    def _count(self, key: str) -> int:
        """How much is in the queue."""
        items, at, count = self._values([key])[0] or b"", 0, 0
        while at < len(items):
            at += _LENGTH.size + _LENGTH.unpack_from(items, at)[0]
            count += 1
        return count


class HashStore(Store):
    """A store in the memory of one process, for its threads.

    >>> import tandem
    >>> store = tandem.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.num_keys(), store.compare_set("key", "value", "other")
    (1, b'other')
    """

    def __init__(self) -> None:
        super().__init__()
        self._map: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> bytes | None:
        with self._changed:
            value = change(self._map.get(key))
            if value is None:
                self._map.pop(key, None)
            else:
                self._map[key] = value
            self._changed.notify_all()
        return value

    def _values(self, keys: Sequence[str]) -> list[bytes | None]:
        with self._changed:
            return [self._map.get(key) for key in keys]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        limit = (self._timeout if timeout is None else timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: all(key in self._map for key in keys), limit):
                raise late(limit, [key for key in keys if key not in self._map])

    def num_keys(self) -> int:
        return len(self._map)


class FileStore(Store):
    """A store in a file that all processes see; a record is appended for each change.

    Args:
        file_name: the file, which is made if it is not there. What another group left in it must be removed first.
        world_size: how many processes use it; -1 where that is not known.

    >>> import tandem, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = tandem.distributed.FileStore(os.path.join(folder, "store"), 1)
    ...     store.set("key", "value")
    ...     store.get("key"), store.num_keys()
    (b'value', 1)
    """

    _LENGTHS = struct.Struct("<Iq")  # of the key, and of the value; -1: the key is forgotten

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = os.fspath(file_name)
        self.world_size = world_size
        self._map: dict[str, bytes] = {}
        self._read = 0  # bytes of the file that are in the map
        self._inode = -1  # the file's, which may be removed and made again
        self._lock = threading.Lock()
        open(self.path, "ab").close()

    def _open(self) -> int:
        """The file, locked for this process until it is closed, and the map as it says."""
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX)
            # Meanwhile somebody may have removed it.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(self.path)):
                    break
            os.close(file)
        status = os.fstat(file)
        end = status.st_size
        if status.st_ino != self._inode:
            self._map, self._read, self._inode = {}, 0, status.st_ino
        text = os.pread(file, end - self._read, self._read)
        at = 0
        while at < len(text):
            key_size, value_size = self._LENGTHS.unpack_from(text, at)
            at += self._LENGTHS.size
            key = text[at : at + key_size].decode()
            at += key_size
            if value_size < 0:
                self._map.pop(key, None)
            else:
                self._map[key] = text[at : at + value_size]
                at += value_size
        self._read = end
        return file

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> bytes | None:
        with self._lock:
            file = self._open()
            try:
                value = change(self._map.get(key))
                self._append(file, key, value)
            finally:
                os.close(file)
        return value

    def _append(self, file: int, key: str, value: bytes | None) -> None:
        name = key.encode()
        text = self._LENGTHS.pack(len(name), -1 if value is None else len(value)) + name + (value or b"")
        while text:
            text = text[os.write(file, text) :]

    def _values(self, keys: Sequence[str]) -> list[bytes | None]:
        with self._lock:
            os.close(self._open())
            return [self._map.get(key) for key in keys]

    def num_keys(self) -> int:
        self._values([])
        return len(self._map)

    def enter(self) -> None:
        self.add(_HERE, 1)

    def leave(self) -> None:
        # The last one removes the file, so that the next program may use its name.
        with self._lock:
            file = self._open()
            try:
                left = int(self._map.get(_HERE, b"1")) - 1
                if left <= 0:
                    os.unlink(self.path)
                else:
                    self._append(file, _HERE, str(left).encode())
            finally:
                os.close(file)


class PrefixStore(Store):
    """The part of a store whose keys begin with a prefix, which its own keys lack.

    >>> import tandem
    >>> store = tandem.distributed.HashStore()
    >>> tandem.distributed.PrefixStore("part", store).set("key", "value")
    >>> store.get("part/key")
    b'value'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.prefix = prefix
        self.underlying_store = store
        self._timeout = store.timeout

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self.underlying_store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._key(key), amount)

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        return self.underlying_store.compare_set(self._key(key), expected_value, desired_value)

    def append(self, key: str, value: str | bytes) -> None:
        self.underlying_store.append(self._key(key), value)

    def _take(self, key: str) -> bytes | None:
        return self.underlying_store._take(self._key(key))

    def _count(self, key: str) -> int:
        return self.underlying_store._count(self._key(key))

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._key(key))

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check([self._key(key) for key in keys])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self.underlying_store.wait([self._key(key) for key in keys], self._timeout if timeout is None else timeout)

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def host(self) -> str | None:
        return self.underlying_store.host()
