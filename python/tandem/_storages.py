"""The memory behind tensors, as an object: `Tensor.storage()`, `untyped_storage()`, and `set_`, which takes one."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import Any

from tandem import _C

Tensor = _C.Tensor


class Storage:
    """The memory of a tensor and of those that share it, counted in elements (`storage()`) or bytes
    (`untyped_storage()`)."""

    _is_storage = True
    _filename: str | None = None

    def __init__(self, tensor: Tensor, item: int):
        self._tensor, self._item = tensor, item

    @property
    def filename(self) -> str | None:
        """The file that the memory is mapped from; None where there is none."""
        return self._filename

    def data_ptr(self) -> int:
        """The address of the first byte."""
        t = self._tensor
        address = t.data_ptr()
        return address - t.storage_offset() * t.element_size() if address else 0

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._tensor._storage_bytes()

    def size(self) -> int:
        """The number of elements, or of bytes."""
        return self.nbytes() // self._item

    __len__ = size

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """Bytes of an element."""
        return self._item

    def _elements(self) -> Tensor:
        return self._tensor.detach().as_strided((self.nbytes() // self._tensor.element_size(),), (1,), 0)

    def _like(self, elements: Tensor) -> Any:
        """A storage of the same kind."""
        return UntypedStorage(elements, 1)

    def tolist(self) -> list[Any]:
        """The elements."""
        return self._elements().tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int):
            return self._elements()[index].item()
        return self.tolist()[index]

    def __dlpack__(self, **options: Any) -> Any:
        return self._elements().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self._elements().__dlpack_device__()

    def __repr__(self) -> str:
        lines = "".join(f" {v}\n" for v in self.tolist()) if self.device.type != "meta" else "...\n"
        return f"{lines}[{type(self).__module__}.{type(self).__name__}(device={self.device}) of size {len(self)}]"

    def __setitem__(self, index: Any, value: float) -> None:
        self._elements()[index] = value

    def fill_(self, value: float) -> Any:
        """The storage itself, all its elements set to a number."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: Storage, non_blocking: bool = False) -> Any:
        """The storage itself, with the elements of another one of its size."""
        if source.size() != self.size():
            raise RuntimeError(f"copy_: expected a storage of size {self.size()}, but got one of {source.size()}")
        self._elements().copy_(source._elements(), non_blocking)
        return self

    def clone(self) -> Any:
        """A copy."""
        return self._like(self._elements().clone())

    def cpu(self) -> Any:
        """A copy on the CPU; the storage itself where it is there."""
        return self if self._tensor.is_cpu else self._like(self._elements().cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """A copy on a GPU, the current one if none is named; the storage itself where it is there. RuntimeError where
        there is none."""
        moved = self._elements().cuda(device, non_blocking)
        return self if moved.device == self.device else self._like(moved)

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """A copy on a device; the storage itself where it is there."""
        return self if self._tensor.device == _C.device(device) else self._like(self._elements().to(device))

    @property
    def device(self) -> _C.device:
        """Where the memory is."""
        return self._tensor.device

    @property
    def is_cuda(self) -> bool:
        """Is it a GPU's?"""
        return self._tensor.is_cuda

    @property
    def is_cpu(self) -> bool:
        """Is it the CPU's?"""
        return self._tensor.is_cpu

    def get_device(self) -> int:
        """The index of its device; -1 on the CPU."""
        return self._tensor.get_device()

    def is_pinned(self, device: Any = None) -> bool:
        """Is it page-locked?"""
        return self._tensor.is_pinned()

    def is_shared(self) -> bool:
        """False: it belongs to this process."""
        return False

    def share_memory_(self) -> Any:
        """The storage itself, with a warning: other processes get copies of what they are sent."""
        self._tensor.share_memory_()
        return self

    def untyped(self) -> UntypedStorage:
        """The same memory, in bytes."""
        bytes_ = UntypedStorage(self._tensor, 1)
        bytes_._filename = self._filename
        return bytes_

    def _mapped_from(self, filename: Any) -> Any:
        self._filename = os.fspath(filename)
        return self


def _mapped(filename: Any, shared: bool | None, nbytes: int) -> Tensor:
    import mmap  # few programs need it

    with open(filename, "r+b" if shared and os.path.exists(filename) else "w+b" if shared else "rb") as file:
        length = os.fstat(file.fileno()).st_size
        if length < nbytes:
            if not shared:
                raise RuntimeError(
                    f"from_file: the file {filename} has {length} bytes, of which {nbytes} are asked for"
                )
            file.truncate(nbytes)
        if nbytes == 0:  # which cannot be mapped
            return _C.empty(0, dtype=_C.uint8, device="cpu")
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return _C.frombuffer(mmap.mmap(file.fileno(), nbytes, access=access), dtype=_C.uint8)


def from_file(
    filename: Any,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A vector of `size` elements on the memory of a file, as `UntypedStorage.from_file` has it. RuntimeError for
    another device than the CPU.

    >>> import tandem, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     x = tandem.from_file(file.name, shared=True, size=2, dtype=tandem.int16).fill_(258)
    ...     file.read()
    b'\\x02\\x01\\x02\\x01'
    """
    dtype = dtype or _C.get_default_dtype()
    if device is not None and _C.device(device).type != "cpu":
        raise RuntimeError(f"from_file: a file is mapped into memory of the CPU, not of {device}")
    return _mapped(filename, shared, size * dtype.itemsize).view(dtype)


class UntypedStorage(Storage):
    """Memory in bytes: `UntypedStorage(n)` is fresh memory of n bytes, uninitialised; of a list, those bytes.

    >>> import tandem
    >>> storage = tandem.ones(2).untyped_storage()
    >>> isinstance(storage, tandem.UntypedStorage), storage.nbytes(), len(tandem.UntypedStorage(3))
    (True, 8, 3)
    >>> list(tandem.arange(1, dtype=tandem.int16).fill_(258).untyped_storage())
    [2, 1]
    """

    def __init__(self, data: Tensor | int | Sequence[int] = 0, item: int = 1, *, device: Any = None):
        if isinstance(data, int):
            data = _C.empty(data, dtype=_C.uint8, device=device)
        elif not isinstance(data, Tensor):
            data = _C.tensor(data, dtype=_C.uint8, device=device)
        super().__init__(data, item)

    def _elements(self) -> Tensor:
        return super()._elements().view(_C.uint8)  # type: ignore[call-overload]

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return super().__getitem__(index)
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        if not self.is_cpu:
            raise NotImplementedError(f"a part of a storage on {self.device}: take one of a tensor on it")
        # A storage of its own on the same memory.
        return UntypedStorage(_C.from_numpy(self._elements().numpy()[start : max(start, stop)]), 1)

    @staticmethod
    def from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, mapped into memory: read when they are first looked at. What is written goes to
        the file if `shared`, which is made or lengthened where that is needed, and else stays in this process.
        RuntimeError where the file is shorter, OSError where it cannot be opened."""
        return UntypedStorage(_mapped(filename, shared, nbytes), 1)._mapped_from(filename)


class TypedStorage(Storage):
    """Memory in elements of a dtype, as `Tensor.storage()` gives it, or of numbers, or of so many that are not set.

    >>> import tandem
    >>> storage = tandem.ones(2).storage()
    >>> isinstance(storage, tandem.TypedStorage), storage.dtype, len(storage)
    (True, tandem.float32, 2)
    >>> tandem.TypedStorage([1, 2], dtype=tandem.int64).float().tolist()
    [1.0, 2.0]
    """

    def __init__(self, data: Any = 0, item: int | None = None, *, dtype: Any = None, device: Any = None):
        if isinstance(data, int):
            data = _C.empty(data, dtype=dtype, device=device)
        elif not isinstance(data, Tensor):
            data = _C.tensor(data, dtype=dtype or _C.get_default_dtype(), device=device)
        super().__init__(data, data.element_size() if item is None else item)

    def _like(self, elements: Tensor) -> Any:
        return TypedStorage(elements)

    @property
    def _untyped_storage(self) -> UntypedStorage:
        return self.untyped()

    @property
    def dtype(self) -> Any:
        """That of the elements."""
        return self._tensor.dtype

    def type(self, dtype: Any = None) -> Any:
        """A copy in another dtype; without one, the name of the class of the elements."""
        return self._elements().type().replace("Tensor", "Storage") if dtype is None else self._converted(dtype)

    def _converted(self, dtype: Any) -> Any:
        return self if dtype is self.dtype else self._like(self._elements().to(dtype))

    def float(self) -> Any:
        """A copy in float32; the storage itself where it has that."""
        return self._converted(_C.float32)

    def double(self) -> Any:
        """A copy in float64; the storage itself where it has that."""
        return self._converted(_C.float64)

    def half(self) -> Any:
        """A copy in float16; the storage itself where it has that."""
        return self._converted(_C.float16)

    def bfloat16(self) -> Any:
        """A copy in bfloat16; the storage itself where it has that."""
        return self._converted(_C.bfloat16)

    def long(self) -> Any:
        """A copy in int64; the storage itself where it has that."""
        return self._converted(_C.int64)

    def int(self) -> Any:
        """A copy in int32; the storage itself where it has that."""
        return self._converted(_C.int32)

    def short(self) -> Any:
        """A copy in int16; the storage itself where it has that."""
        return self._converted(_C.int16)

    def char(self) -> Any:
        """A copy in int8; the storage itself where it has that."""
        return self._converted(_C.int8)

    def byte(self) -> Any:
        """A copy in uint8; the storage itself where it has that."""
        return self._converted(_C.uint8)

    def bool(self) -> Any:
        """A copy in bool; the storage itself where it has that."""
        return self._converted(_C.bool)


def storage_from_file(dtype: Any, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
    """The first elements of a file, as `UntypedStorage.from_file` has them."""
    return TypedStorage(_mapped(filename, shared, size * dtype.itemsize).view(dtype))._mapped_from(filename)


def storage_from_buffer(
    dtype: Any, buffer: Any, byte_order: str = sys.byteorder, count: int = -1, offset: int = 0
) -> TypedStorage:
    """A copy of the elements that a buffer has from byte `offset` on, in that order of bytes: "native", "little" or
    "big"; all of them, or `count`."""
    if byte_order not in ("native", "little", "big"):
        raise ValueError(f"from_buffer: byte_order must be 'native', 'little' or 'big', but got {byte_order!r}")
    given = memoryview(buffer).cast("B")
    item, have = dtype.itemsize, len(given) - offset
    if offset < 0 or (count < 0 and have % item != 0) or have < count * item:
        wanted = "all" if count < 0 else str(count)
        raise ValueError(
            f"from_buffer: {wanted} elements of {dtype} from byte {offset} do not fit a buffer of {len(given)} bytes"
        )
    end = offset + (have if count < 0 else count * item)
    data = bytearray(given[offset:end])  # of which frombuffer takes no empty one
    elements = _C.frombuffer(data, dtype=_C.uint8).clone() if data else _C.empty(0, dtype=_C.uint8, device="cpu")
    if byte_order not in ("native", sys.byteorder):
        elements = elements.reshape(-1, item).flip(1).flatten()
    return TypedStorage(elements != 0 if dtype is _C.bool else elements.view(dtype))


def tensor_storage(self: Tensor) -> TypedStorage:
    _C._warn_once(
        "TypedStorage is deprecated. UntypedStorage will be the only storage class: use tensor.untyped_storage() "
        "instead of tensor.storage().",
        2,
    )
    return TypedStorage(self, self.element_size())


def untyped_storage(self: Tensor) -> UntypedStorage:
    return UntypedStorage(self, 1)


def tensor_set(
    self: Tensor,
    source: Tensor | Storage | None = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    if self.requires_grad and _C.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if isinstance(source, UntypedStorage):
        whole = source._elements()
        elements = whole[: len(whole) // self.element_size() * self.element_size()].view(self.dtype)  # type: ignore[call-overload]
    elif isinstance(source, Storage):
        elements = source._elements()
    else:
        elements = self.new_empty(0) if source is None else source.detach()
    if elements.device != self.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different device '
            f'"{elements.device}".  This is no longer allowed; the devices must match.'
        )
    if elements.dtype is not self.dtype and isinstance(source, Storage):
        raise RuntimeError(
            f"Expected a Storage of type {self.dtype} or an UntypedStorage, but got type {elements.dtype} for argument "
            "1 'storage'"
        )
    if elements.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {elements.dtype} to a tensor of type {self.dtype}")
    if size is not None:
        whole = elements.as_strided((elements._storage_bytes() // elements.element_size(),), (1,), 0)
        if stride is None:
            elements = whole[storage_offset : storage_offset + math.prod(size)].view(tuple(size))
        else:
            elements = whole.as_strided(tuple(size), tuple(stride), storage_offset)
    self.data = elements
    return self
