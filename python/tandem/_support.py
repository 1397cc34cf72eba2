"""The part of `tandem.Tensor` that is written in Python; its methods call these functions (python/src)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tandem import _C
from tandem._histograms import histogram
from tandem._older_linalg import lu as lu
from tandem._older_linalg import lu_solve as lu_solve
from tandem._older_linalg import triangular_solve as triangular_solve

Tensor = _C.Tensor


def tensor_repr(self: Tensor) -> str:
    from tandem._tensor_repr import text

    return text(self)


def tensor_format(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and type(self) is Tensor:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


def record_stream(self: Tensor, stream: Any) -> None:
    from tandem.cuda.streams import Stream

    if not isinstance(stream, Stream):
        raise TypeError(f"record_stream: expected a tandem.cuda.Stream, not {type(stream).__name__}")
    _C._gpu_record_stream(self, stream._stream)


def unbind(self: Tensor) -> tuple[Tensor, ...]:
    return self.unbind(0)


def contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, bool, int, float)):
        return bool((self == element).any().item())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element).__name__}."
    )


def strided_layout() -> Any:
    from tandem._dtypes import strided

    return strided


def tensor_reversed(self: Tensor) -> Tensor:
    return self if self.dim() == 0 else self.flip(0)


def is_nonzero(self: Tensor) -> bool:
    if self.numel() != 1:
        raise RuntimeError(
            "Boolean value of Tensor with no values is ambiguous"
            if self.numel() == 0
            else "Boolean value of Tensor with more than one value is ambiguous"
        )
    return bool(self)


def tensor_new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    if len(args) == 1 and not isinstance(args[0], (int, _C.Size)):
        return _C.tensor(args[0], dtype=self.dtype, device=self.device if device is None else device)
    size = args[0] if len(args) == 1 and isinstance(args[0], _C.Size) else args
    return self.new_empty(tuple(size) if args else (0,), device=device)


class Storage:
    """The memory of a tensor and of those that share it, counted in elements (`storage()`) or bytes
    (`untyped_storage()`)."""

    def __init__(self, tensor: Tensor, item: int):
        self._tensor, self._item = tensor, item

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

    def element_size(self) -> int:
        """Bytes of an element."""
        return self._item

    @property
    def device(self) -> Any:
        """Where it is."""
        return self._tensor.device

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU."""
        return self._tensor.is_cuda

    @property
    def is_cpu(self) -> bool:
        """Whether it is on the CPU."""
        return self._tensor.is_cpu

    def get_device(self) -> int:
        """The number of the GPU, -1 for the CPU."""
        return self._tensor.get_device()

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it is page-locked."""
        return self._tensor.is_pinned()

    def _with(self, elements: Tensor) -> Any:
        return type(self)(elements, self._item)

    def clone(self) -> Any:
        """A copy."""
        return self._with(self._elements().clone())

    def cpu(self) -> Any:
        """It on the CPU: itself if it is there."""
        return self if self.is_cpu else self._with(self._elements().cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """It on a GPU, the current one if none is named: itself if it is there."""
        moved = self._elements().cuda(device, non_blocking)
        return self if moved.device == self.device else self._with(moved)

    def _elements(self) -> Tensor:
        return self._tensor.detach().as_strided((self.nbytes() // self._tensor.element_size(),), (1,), 0)

    def tolist(self) -> list[Any]:
        """The elements."""
        return self._elements().tolist()

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]


class UntypedStorage(Storage):
    """Memory in bytes: `UntypedStorage(n)` is fresh memory of n bytes, uninitialised.

    >>> import tandem
    >>> storage = tandem.ones(2).untyped_storage()
    >>> isinstance(storage, tandem.UntypedStorage), storage.nbytes(), len(tandem.UntypedStorage(3))
    (True, 8, 3)
    """

    def __init__(self, data: Tensor | int = 0, item: int = 1, *, device: Any = None):
        super().__init__(_C.empty(data, dtype=_C.uint8, device=device) if isinstance(data, int) else data, item)

    def _elements(self) -> Tensor:
        return super()._elements().view(_C.uint8)  # type: ignore[call-overload]


class TypedStorage(Storage):
    """Memory in elements of a dtype, as `Tensor.storage()` gives it.

    >>> import tandem
    >>> storage = tandem.ones(2).storage()
    >>> isinstance(storage, tandem.TypedStorage), storage.dtype, len(storage)
    (True, tandem.float32, 2)
    """

    @property
    def dtype(self) -> Any:
        """That of the elements."""
        return self._tensor.dtype


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
        elements = source._elements().view(self.dtype)  # type: ignore[call-overload]
    elif isinstance(source, Storage):
        elements = source._elements()
    else:
        elements = self.new_empty(0) if source is None else source.detach()
    if elements.device != self.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different device '
            f'"{elements.device}".  This is no longer allowed; the devices must match.'
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


def tensor_apply(self: Tensor, function: Any) -> Tensor:
    values = [function(x) for x in self.flatten().tolist()]
    return self.copy_(_C.tensor(values, dtype=self.dtype, device="cpu").reshape(self.shape))


def tensor_map(self: Tensor, other: Tensor, function: Any) -> Tensor:
    pairs = zip(self.flatten().tolist(), other.expand(self.shape).flatten().tolist(), strict=True)
    values = [function(x, y) for x, y in pairs]
    return self.copy_(_C.tensor(values, dtype=self.dtype, device="cpu").reshape(self.shape))


def tensor_histogram(
    self: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    return histogram(self, bins, range=range, weight=weight, density=density)


def tensor_to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = True) -> Tensor:
    return self if dtype is None else self.to(dtype)


def equal(self: Tensor, other: Tensor) -> bool:
    """Have both tensors the same shape and the same elements? NaN differs from itself. Reads the data.

    Dtypes may differ: elements are compared in their common one. TypeError if `other` is no tensor.

    >>> import tandem
    >>> tandem.equal(tandem.ones(2), tandem.ones(2)), tandem.equal(tandem.ones(2), tandem.ones(1))
    (True, False)
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"equal(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    return self.equal(other)


def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Is |self - other| <= atol + rtol * |other| for all elements, which broadcast? Reads the data.

    Args:
        rtol, atol: the relative and the absolute bound.
        equal_nan: NaN counts as close to NaN.

    >>> import tandem
    >>> tandem.allclose(tandem.tensor([1.0, 2.0]), tandem.tensor([1.0, 2.00001]))
    True
    """
    return bool(self.isclose(other, rtol, atol, equal_nan).all().item())


# ---- hooks ----


class RemovableHandle:
    """Removes one hook of a tensor or a node of the graph; also a context manager that does so at its end.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True)
    >>> with x.register_hook(lambda g: g * 10):
    ...     (x * 2).backward()
    >>> (x * 2).backward(); x.grad
    tensor([22.])
    """

    def __init__(self, owner: Any, id: int):
        self._owner = owner
        self.id = id

    def remove(self) -> None:
        """Remove the hook; does nothing the second time."""
        if self._owner is not None:
            _C._remove_hook(self._owner, self.id)
            self._owner = None

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    return RemovableHandle(self, _C._register_hook(self, hook))


def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    return RemovableHandle(self, _C._register_leaf_hook(self, hook))


# ---- classes of tensors ----


class DisableTorchFunctionSubclass:
    """Operations in the block treat tensors of all classes as plain ones."""

    def __enter__(self) -> None:
        _C._torch_function_off(True)

    def __exit__(self, *exc: object) -> None:
        _C._torch_function_off(False)


def in_class(result: Any, cls: type) -> Any:
    """Tensors as those of `cls`, also in lists and tuples; everything else itself."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)) and any(isinstance(r, (Tensor, tuple, list)) for r in result):
        parts = [in_class(r, cls) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def torch_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        return in_class(func(*args, **(kwargs or {})), cls)


# ---- copies and pickles ----


def named_result_reduce(self: Any) -> tuple[Any, ...]:
    return _C._named_result, (type(self).__name__, type(self).__match_args__, tuple(self))


def _attributes(self: Tensor) -> dict[str, Any]:
    return {**self.__dict__}


def check_place(name: str) -> None:
    """RuntimeError unless a device that a file names is here."""
    try:
        _C._check_device(name)
    except RuntimeError as error:
        kind = name.partition(":")[0].upper()
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind} device but it is not here ({error}). If you are running on "
            "a CPU-only machine, please use tandem.load with map_location=tandem.device('cpu') to map your storages to "
            "the CPU."
        ) from None


def _rebuild(
    cls: type, data: bytes, dtype: Any, shape: tuple[int, ...], requires_grad: bool, device: str = "cpu"
) -> Tensor:
    flat = _C.frombuffer(bytearray(data), dtype=dtype) if data else _C.empty(0, dtype=dtype)
    if device != "cpu":
        check_place(device)
    return _C.Tensor._make_subclass(cls, flat.reshape(shape).to(device), requires_grad)


def tensor_reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    plain = self.detach()
    # Bytes as they are, so that every dtype and every bit pattern goes through.
    words = plain.contiguous().reshape(-1)
    data = _C._bytes_of(words)
    place = () if self.is_cpu else (str(self.device),)
    state = (_rebuild, (type(self), data, self.dtype, tuple(self.shape), self.requires_grad, *place))
    return (*state, _attributes(self)) if self.__dict__ else state


def tensor_copy(self: Tensor) -> Tensor:
    if self.requires_grad and not self.is_leaf:
        return self.view_as(self)
    copied = _C.Tensor._make_subclass(type(self), self.detach(), self.requires_grad)
    copied.__dict__.update(_attributes(self))
    return copied


def tensor_deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    import copy

    known = memo.get(id(self))
    if known is not None:
        return known
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "If you were attempting to deepcopy a module, this may be because of a value computed in its constructor."
        )
    with_grad = self.grad
    copied = _C.Tensor._make_subclass(type(self), self.detach().clone(), self.requires_grad)
    memo[id(self)] = copied
    if with_grad is not None:
        copied.grad = copy.deepcopy(with_grad, memo)
    copied.__dict__.update(copy.deepcopy(_attributes(self), memo))
    return copied


# ---- DLPack ----


def to_dlpack(self: Tensor, *, stream: Any = None, **versions: Any) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if not self.is_cpu:
        raise BufferError(
            f"Can't export a tensor on {self.device} by DLPack: use tensor.cpu(), or its __cuda_array_interface__"
        )
    return self.numpy().__dlpack__()


def dlpack_device(self: Tensor) -> tuple[int, int]:
    return (1, 0) if self.is_cpu else (2, self.get_device())


def cuda_array_interface(self: Tensor) -> dict[str, Any]:
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use "
            f"tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    size = self.element_size()
    # NumPy has no bfloat16: its bytes as they are.
    kind = "b" if self.dtype is _C.bool else "V" if self.dtype is _C.bfloat16 else _kind(self.dtype)
    return {
        "typestr": f"{'|' if size == 1 else '<'}{kind}{size}",
        "shape": tuple(self.shape),
        "strides": None if self.is_contiguous() else tuple(s * size for s in self.stride()),
        "data": (self.data_ptr() if self.numel() > 0 else 0, False),
        "version": 2,
    }


def _kind(dtype: Any) -> str:
    return "f" if dtype.is_floating_point else "i" if dtype.is_signed else "u"


class _Capsule:
    """What was exported already, on the CPU, as an object that exports it."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **versions: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor sharing the memory of any object that exports DLPack (`__dlpack__`, `__dlpack_device__`) on the CPU.

    >>> import tandem, numpy
    >>> array = numpy.zeros(2, dtype=numpy.float32)
    >>> tandem.from_dlpack(array).fill_(3); array.tolist()
    tensor([3., 3.])
    [3.0, 3.0]
    """
    import numpy

    if isinstance(ext_tensor, Tensor) and not ext_tensor.is_cpu:
        return ext_tensor.detach()
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    return _C.from_numpy(numpy.from_dlpack(ext_tensor))
