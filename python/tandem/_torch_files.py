"""What `torch.save` of PyTorch writes, read for `tandem.load`.

The file is a zip archive of one folder: `data.pkl` is a pickle in which each storage is a persistent id, `data/<key>`
has the bytes of the storage. Files of before version 1.6 are five pickles one after the other (a number that tells
them, the version, the machine, the object, the keys of the storages), followed by the size and the bytes of each
storage.

A pickle calls what it names. Here it finds the functions that make tensors and plain values, and nothing else, unless
the caller of `load` trusts the file.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
import zipfile
from collections import Counter, OrderedDict
from typing import Any

import tandem
from tandem import Tensor
from tandem._file_bytes import FileBytes
from tandem._file_options import safe_global
from tandem._storages import TypedStorage

__all__ = ["TorchFile", "is_torch_file"]

_ZIP = b"PK\x03\x04"
_OLDER = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
_STORAGES = {
    "BoolStorage": "bool",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
}


def is_torch_file(data: bytes) -> bool:
    """Does a file with these first bytes begin as PyTorch's do?"""
    return data.startswith((_ZIP, _OLDER))


class _Refused(pickle.UnpicklingError):
    """A file that names what it may not call."""


class _Stored(TypedStorage):
    """A storage of a file, and the device that it was on."""

    def __init__(self, flat: Tensor, place: str) -> None:
        super().__init__(flat)
        self.flat, self.place = flat, place


class _StorageType(str):
    """A class of storages, by the dtype of its elements."""


def _encoded(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes as {encoding!r}, which should be latin1")
    return text.encode("latin1")


def _bytes(data: Any = b"", *encoding: Any) -> bytearray:
    if not isinstance(data, (bytes, str)):
        raise pickle.UnpicklingError(f"a bytearray of a {type(data).__name__}")
    return bytearray(data, *encoding) if isinstance(data, str) else bytearray(data)


def _parameter(data: Tensor, requires_grad: bool = True, *_: Any) -> Tensor:
    return tandem.nn.Parameter(data, requires_grad=requires_grad)


def _of_type(function: Any, kind: Any, args: tuple[Any, ...], state: Any) -> Any:
    return function(*args)


def _layout(name: str) -> Any:
    if name != "torch.strided":
        raise pickle.UnpicklingError(f"a tensor of the layout {name}: tensors are strided here")
    return tandem.strided


class TorchFile:
    """One file's bytes; `read` gives its object, and writes to `places` where its tensors were."""

    def __init__(self, data: FileBytes, trusted: bool, places: dict[int, tuple[Tensor, str]]) -> None:
        self.where, self.trusted, self.places = data.where, trusted, places
        self._data = data
        self._storages: dict[str, tuple[Tensor, str]] = {}  # flat, and the device
        self._members: dict[str, zipfile.ZipInfo] | None = None
        self._taken = 0  # bytes of members
        self._folder = ""

    def error(self, member: str, what: object) -> RuntimeError:
        return RuntimeError(f"load: {self.where} is damaged or not a file of PyTorch's: {member}: {what}")

    def read(self) -> Any:
        if self._data.read(0, 4) != _ZIP:
            return self._older()
        try:
            with self._data.file() as file, zipfile.ZipFile(file) as archive:
                members = {member.filename: member for member in archive.infolist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
            raise self.error("the archive", error) from None
        pickles = [n for n in members if n.endswith("/data.pkl") and n.count("/") == 1]
        if len(pickles) != 1:
            raise self.error("data.pkl", "not in the archive; programs of torch.jit and torch.export are not read")
        self._folder = pickles[0].removesuffix("data.pkl")
        self._members = members
        if self._folder + "byteorder" in members:
            order = self._data.read(*self._range("byteorder"))
            if order != b"little":
                raise self.error("byteorder", f"{order!r}: only little-endian files are read")
        return self._unpickled(io.BytesIO(self._data.read(*self._range("data.pkl"))), "data.pkl")

    def _range(self, name: str) -> tuple[int, int]:
        """Where the bytes of a member of the archive begin and end. Its checksum is not looked at: PyTorch writes
        none of worth after `set_crc32_options(False)`."""
        member = (self._members or {}).get(self._folder + name)
        if member is None:
            raise self.error(name, "not in the archive")
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
            raise self.error(name, "compressed, which PyTorch does not")
        head = self._data.read(member.header_offset, member.header_offset + 30) if member.header_offset >= 0 else b""
        if len(head) < 30 or not head.startswith(_ZIP) or member.flag_bits & 1:
            raise self.error(name, "no member where the archive has one")
        start = member.header_offset + 30 + sum(struct.unpack("<HH", head[26:]))
        if start + member.file_size > self._data.size:
            raise self.error(name, "the file is cut off")
        self._taken += member.file_size
        if self._taken > self._data.size:
            raise self.error(name, "members that overlap")
        return start, start + member.file_size

    def _unpickled(self, file: io.BufferedIOBase, member: str) -> Any:
        try:
            return _Unpickler(self, file).load()
        except (_Refused, RuntimeError, ImportError):
            raise
        except Exception as error:
            raise self.error(member, f"{type(error).__name__}: {error}") from None

    # ---- storages ----

    def storage(self, kind: Any, key: str, location: str, count: int, view: Any = None) -> tuple[Tensor, str]:
        if not isinstance(kind, _StorageType) or not isinstance(key, str) or type(count) is not int or count < 0:
            raise self.error(f"storage {key!r}", f"no storage of PyTorch's: {kind!r}, {count!r} elements")
        if key not in self._storages:
            if self._members is not None:
                flat = self._elements(str(kind), key, count, *self._range(f"data/{key}"))
            else:  # its bytes come after the object
                if count > self._data.size:
                    raise self.error(f"storage {key!r}", f"{count} elements announced: the file is cut off")
                flat = tandem.empty(count, dtype=getattr(tandem, kind), device="cpu")
            self._storages[key] = flat, location
        flat, place = self._storages[key]
        if flat.dtype != getattr(tandem, kind):
            raise self.error(f"storage {key!r}", f"named as of {kind} and of {flat.dtype}")
        if view is not None:
            _, start, length = view
            flat = flat.narrow(0, start, length)
        return flat, place

    def _elements(self, kind: str, key: str, count: int, start: int, stop: int) -> Tensor:
        dtype = getattr(tandem, kind)
        if count * dtype.itemsize != stop - start:
            raise self.error(f"storage {key!r}", f"{stop - start} bytes for {count} elements of {kind}")
        try:
            return self._data.elements(dtype, start, count)
        except EOFError as error:
            raise self.error(f"storage {key!r}", error) from None

    def tensor(
        self, storage: _Stored, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *rest: Any
    ) -> Tensor:
        flat, place = storage.flat, storage.place
        numbers = (offset, *size, *stride)
        if len(size) != len(stride) or not all(type(n) is int and n >= 0 for n in numbers):
            raise self.error("a tensor", f"bad layout: shape {size}, stride {stride}, offset {offset}")
        reach = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        if math.prod(size) and reach >= flat.numel():
            raise self.error("a tensor", f"shape {size} with stride {stride} reaches past {flat.numel()} elements")
        tensor = (
            flat.as_strided(size, stride, offset)
            if math.prod(size)
            else tandem.empty(size, dtype=flat.dtype, device=flat.device)
        )
        if rest and rest[0]:
            tensor.requires_grad_()
        if place != "cpu":
            self.places[id(tensor)] = tensor, place
        return tensor

    # ---- files of before version 1.6 ----

    def _older(self) -> Any:
        with self._data.file() as file:
            for member in ("the number", "the version", "the machine"):
                what = self._unpickled(file, member)
                if member == "the machine" and not (isinstance(what, dict) and what.get("little_endian", True)):
                    raise self.error(member, "only little-endian files are read")
            value = self._unpickled(file, "the object")
            keys = self._unpickled(file, "the keys")
            if not isinstance(keys, list):
                raise self.error("the keys", f"a {type(keys).__name__}")
            at = file.tell()
        for key in keys:
            at = self._fill(at, key)
        self._data.end = at
        return value

    def _fill(self, at: int, key: Any) -> int:
        """Read the storage whose size is at a byte; where the next one is."""
        head = self._data.read(at, at + 8)
        if len(head) < 8 or not isinstance(key, str) or key not in self._storages:
            raise self.error(f"storage {key!r}", "the file is cut off" if len(head) < 8 else "not of the object")
        (count,) = struct.unpack("<q", head)
        flat, _ = self._storages[key]
        stop: int = min(at + 8 + max(count, 0) * flat.element_size(), self._data.size)
        with tandem.no_grad():
            flat.copy_(self._elements(str(flat.dtype).rpartition(".")[2], key, flat.numel(), at + 8, stop))
        return stop


class _Unpickler(pickle._Unpickler):
    """The one in Python: a damaged pickle may have the other one allocate any amount of memory."""

    def __init__(self, source: TorchFile, file: io.BufferedIOBase) -> None:
        super().__init__(file, encoding="utf-8")
        self.source = source
        self.known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): OrderedDict,
            ("collections", "Counter"): Counter,
            ("builtins", "set"): set,
            ("__builtin__", "set"): set,
            ("builtins", "bytearray"): _bytes,
            ("__builtin__", "bytearray"): _bytes,
            ("builtins", "complex"): complex,
            ("__builtin__", "complex"): complex,
            ("_codecs", "encode"): _encoded,
            ("torch", "Size"): tandem.Size,
            ("torch", "device"): tandem.device,
            ("torch", "Tensor"): Tensor,
            ("torch._utils", "_rebuild_tensor"): source.tensor,
            ("torch._utils", "_rebuild_tensor_v2"): source.tensor,
            ("torch._utils", "_rebuild_parameter"): _parameter,
            ("torch._utils", "_rebuild_parameter_with_state"): _parameter,
            ("torch._tensor", "_rebuild_from_type_v2"): _of_type,
            ("torch.nn.parameter", "Parameter"): tandem.nn.Parameter,
            ("torch.serialization", "_get_layout"): _layout,
        }

    def persistent_load(self, pid: Any) -> _Stored:
        if not isinstance(pid, tuple) or len(pid) not in (5, 6) or pid[0] != "storage":
            raise self.source.error("a storage", f"unknown persistent id {str(pid)[:80]}")
        return _Stored(*self.source.storage(*pid[1:]))

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self.known:
            return self.known[module, name]
        if module == "torch" and name in _STORAGES:
            return _StorageType(_STORAGES[name])
        if module == "torch" and name in _STORAGES.values():
            return getattr(tandem, name)
        if (safe := safe_global(module, name)) is not None:
            return safe
        if module.partition(".")[0] == "torch":
            raise NotImplementedError(
                f"load: {self.source.where} holds PyTorch's {module}.{name}, which is not read: save dicts, lists, "
                "numbers and dense tensors of real dtypes, and of a module or an optimizer its state_dict()"
            )
        if not self.source.trusted:
            raise _Refused(
                f"load: {self.source.where} names {module}.{name}, which is no plain value, and whose loading runs "
                "code of the file. Weights only load failed: use add_safe_globals with it, or pass weights_only=False "
                "if you trust the file"
            )
        return super().find_class(module, name)
