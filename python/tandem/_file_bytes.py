"""The bytes of a file that `tandem.load` reads, each taken once: into the memory of the tensor that they become, or, if
asked to, as that memory, by a private mapping of the file.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from tandem import _C

if TYPE_CHECKING:
    import numpy as np

Tensor = _C.Tensor


def memory_of(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The elements of a tensor as NumPy's array of the same memory, bfloat16, which NumPy lacks, as 16-bit integers."""
    plain = tensor.view(_C.int16) if tensor.dtype is _C.bfloat16 else tensor  # type: ignore[call-overload]
    return plain.numpy()


class FileBytes:
    """A file by its path, or a stream from where it stands to its end; closed by `with`, which tensors outlive.

    What a regular file has is read when it is asked for. Anything else is read at once.
    """

    def __init__(self, f: str | os.PathLike[str] | BinaryIO, mapped: bool) -> None:
        self._number: int | None = None  # of the file, if it is a regular one
        self._view: memoryview | None = None
        self._mapped = False
        self._opened: Any = None
        self._given: Any = None
        self._begin = 0  # of the bytes in the stream
        self.end: int | None = None  # of what was read of them, where whoever reads knows it
        if hasattr(f, "read"):
            if mapped:
                raise ValueError("load: f must be a string filename in order to use mmap argument")
            self.where = str(getattr(f, "name", "the stream"))
            self._open_stream(f)
        else:
            self.where = os.fspath(f)
            self._opened = Path(f).open("rb", buffering=0)
            try:
                self._open_path(mapped)
            except BaseException:
                self._opened.close()
                raise

    def _open_stream(self, stream: Any) -> None:
        if type(stream) in (io.BufferedReader, io.BufferedRandom) and type(stream.raw) is io.FileIO:
            number = stream.fileno()
            if stat.S_ISREG(os.fstat(number).st_mode) and stream.tell() == 0:
                stream.flush()
                self._given, self._number, self.size = stream, number, os.fstat(number).st_size
                return
        if hasattr(stream, "seek") and hasattr(stream, "tell") and getattr(stream, "seekable", lambda: True)():
            self._given, self._begin = stream, stream.tell()
        self._hold(bytes(stream.read()))

    def _open_path(self, mapped: bool) -> None:
        number = self._opened.fileno()
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            self._hold(self._opened.read())
            return
        self._number, self.size = number, status.st_size
        if mapped and self.size > 0:  # nothing cannot be mapped
            import mmap  # few programs need it

            self._hold(mmap.mmap(number, self.size, access=mmap.ACCESS_COPY))
            self._mapped = True

    def _hold(self, data: Any) -> None:
        self._view = memoryview(data)
        self.size = len(self._view)

    def __enter__(self) -> FileBytes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            self._opened.close()
        if self._given is not None:  # what follows in the stream is for whoever reads next
            self._given.seek(self._begin + (self.size if self.end is None else self.end))

    def file(self) -> io.BufferedIOBase:
        """The whole as a file."""
        if self._number is None:
            assert self._view is not None
            return io.BytesIO(self._view.obj)  # bytes, which it shares
        file = os.fdopen(os.dup(self._number), "rb")
        file.seek(0)
        return file

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from `start` to `stop`, fewer if the file ends before."""
        stop = min(stop, self.size)
        if self._view is not None:
            return bytes(self._view[start:stop])
        data = bytearray(max(0, stop - start))
        return bytes(memoryview(data)[: self._fill(data, start)])

    def _fill(self, buffer: Any, start: int) -> int:
        """Read into a buffer of bytes; how many there were, which is less where the file got shorter."""
        assert self._number is not None
        rest, done = memoryview(buffer), 0
        while done < len(rest):
            count = os.preadv(self._number, [rest[done:]], start + done)
            if count == 0:
                break
            done += count
        return done

    def elements(self, dtype: _C.dtype, start: int, count: int) -> Tensor:
        """A vector of the `count` elements from byte `start` on; EOFError if the file ends before."""
        stop = start + count * dtype.itemsize
        if start < 0 or stop > self.size:
            raise EOFError(f"ends at byte {stop} of {self.size}: the file is cut off")
        if count and self._mapped and start % dtype.itemsize == 0:
            assert self._view is not None
            return _C.frombuffer(self._view[start:stop], dtype=dtype)
        made = _C.empty(count, dtype=dtype, device="cpu")
        if count == 0:
            return made
        memory = memory_of(made).view("uint8")
        if self._view is not None:
            memory.data[:] = self._view[start:stop]
        elif self._fill(memory, start) != stop - start:
            raise EOFError("the file is cut off")
        return made
