"""The part of `tandem.Tensor` that is written in Python; its methods call these functions (python/src)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tandem import _C
from tandem._copies import empty_strided
from tandem._dlpack import cuda_array_interface as cuda_array_interface
from tandem._dlpack import dlpack_device as dlpack_device
from tandem._dlpack import from_cuda_array as from_cuda_array
from tandem._dlpack import from_dlpack as from_dlpack
from tandem._dlpack import tensor_to_dlpack as tensor_to_dlpack
from tandem._dlpack import to_dlpack as to_dlpack
from tandem._functions import _need_tensor
from tandem._histograms import histogram
from tandem._low_rank import ormqr as ormqr
from tandem._older_linalg import lu as lu
from tandem._older_linalg import lu_solve as lu_solve
from tandem._older_linalg import triangular_solve as triangular_solve
from tandem._storages import Storage as Storage
from tandem._storages import TypedStorage as TypedStorage
from tandem._storages import UntypedStorage as UntypedStorage
from tandem._storages import tensor_set as tensor_set
from tandem._storages import tensor_storage as tensor_storage
from tandem._storages import untyped_storage as untyped_storage

Tensor = _C.Tensor


def tensor_repr(self: Tensor) -> str:
    from tandem._tensor_repr import text

    return text(self)


def tensor_format(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and type(self) is Tensor and not self.is_meta:
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


def tensor_new(self: Tensor, *args: Any, size: Any = None, device: Any = None) -> Tensor:
    if size is not None:
        args = (_C.Size(size), *args)
    if len(args) == 1 and not isinstance(args[0], (int, _C.Size)):
        if isinstance(args[0], Tensor) and device is None:
            return alias_of(args[0], self.dtype, self.device)
        if isinstance(args[0], Storage):
            return tensor_of_storage(args[0], self.dtype)
        return _C.tensor(args[0], dtype=self.dtype, device=self.device if device is None else device)
    size = args[0] if len(args) == 1 and isinstance(args[0], _C.Size) else args
    return self.new_empty(tuple(size) if args else (0,), device=device)


def alias_of(data: Tensor, dtype: Any, device: Any) -> Tensor:
    """The same memory, without history. TypeError where it is not of this dtype or there."""
    place = _C.device(device)
    there = data.device.type == place.type and place.index in (None, data.device.index)
    if data.dtype is not dtype or not there:
        raise TypeError(f"expected a Tensor of {dtype} on {device}, but got one of {data.dtype} on {data.device}")
    return data.detach()


def tensor_of_storage(storage: Storage, dtype: Any = None) -> Tensor:
    """A vector on that memory. RuntimeError where its elements have another dtype; bytes are read in that dtype."""
    if dtype is None:
        return storage._elements()
    return _C.empty(0, dtype=dtype, device=storage.device).set_(storage)


def _map(self: Tensor, function: Any, *others: Tensor) -> Tensor:
    """Itself, with what the function gives for its elements and those beside them."""
    columns = [t.expand(self.shape).flatten().tolist() for t in (self, *others)]
    values = [function(*each) for each in zip(*columns, strict=True)]
    return self.copy_(_C.tensor(values, dtype=self.dtype, device="cpu").reshape(self.shape))


def tensor_apply(self: Tensor, function: Any) -> Tensor:
    return _map(self, function)


def tensor_map(self: Tensor, other: Tensor, function: Any) -> Tensor:
    return _map(self, function, other)


def tensor_map2(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:  # noqa: A002
    if any(t.requires_grad for t in (self, x, y)):
        raise RuntimeError("Can't call map2_() on Variable that requires grad. Use var.detach().map2_() instead.")
    for name, t in (("x", x), ("y", y)):
        if t.dtype is not self.dtype:
            raise TypeError(f"map2_: expected {self.dtype} for argument '{name}' (got {t.dtype})")
    return _map(self, callable, x, y)


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"is_set_to(): argument 'tensor' (position 1) must be Tensor, not {type(tensor).__name__}")
    if self.dtype is not tensor.dtype or self.device != tensor.device:
        return False
    window = self.shape, self.stride(), self.storage_offset()
    if self._storage_bytes() == 0:  # which is nowhere: each has its own
        return self is tensor
    same = self.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    return same and window == (tensor.shape, tensor.stride(), tensor.storage_offset())


def _formats_of(tensor: Tensor, formats: Any) -> int:
    return sum(tensor.is_contiguous(memory_format=format) for format in formats)


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    from tandem._dtypes import memory_format

    listed = isinstance(ambiguity_check, list) and all(isinstance(f, memory_format) for f in ambiguity_check)
    if not listed and not isinstance(ambiguity_check, bool):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides, sizes = self.stride(), self.shape
    if ambiguity_check is not False:
        several = 1 in sizes or len(set(strides)) < len(strides)
        if several and _formats_of(self, ambiguity_check if listed else []) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
    if self.dim() < 2 or self.is_contiguous() is not _channels_last(self):
        flat = self.dim() < 2 or self.is_contiguous()
        return tuple(range(self.dim())) if flat else (0, *range(2, self.dim()), 1)
    order = list(range(self.dim()))[::-1]
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            sign = _further(strides, sizes, order[before], order[at])
            if sign > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif sign < 0:
                break
    if ambiguity_check and any(_further(strides, sizes, a, b) >= 0 for a, b in itertools.pairwise(order)):
        raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(order[::-1])


def _channels_last(tensor: Tensor) -> bool:
    from tandem._dtypes import channels_last

    return tensor.dim() == 4 and tensor.is_contiguous(memory_format=channels_last)


def _further(strides: Sequence[int], sizes: Sequence[int], a: int, b: int) -> int:
    """1 where dim a lies further out than dim b, -1 where less far, 0 where the strides do not tell."""
    if strides[a] == 0 or strides[b] == 0:
        return 0
    if strides[a] == strides[b]:
        return int(sizes[b] < sizes[a])
    return 1 if strides[a] > strides[b] else -1


def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    made = empty_strided(
        size,
        stride,
        dtype=self.dtype if dtype is None else dtype,
        layout=layout,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )
    if not _C._batch_axes(self):
        return made
    held = made.untyped_storage().nbytes() // made.itemsize  # of each example
    each = self.new_empty(held, dtype=made.dtype, device=made.device).as_strided(size, stride)
    return each.requires_grad_(requires_grad)


def _no_devices(kind: str) -> Any:
    def to_device(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
        raise RuntimeError(f"Tensor.{kind}(): this build of Tandem has no devices of the kind {kind}")

    return to_device


to_xpu, to_ipu, to_mtia = _no_devices("xpu"), _no_devices("ipu"), _no_devices("mtia")


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
    _need_tensor("equal", self)
    return self.equal(_need_tensor("equal", other, "other", 2))


def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Is |self - other| <= atol + rtol * |other| for all elements, which broadcast? Reads the data.

    Args:
        rtol, atol: the relative and the absolute bound.
        equal_nan: NaN counts as close to NaN.

    >>> import tandem
    >>> tandem.allclose(tandem.tensor([1.0, 2.0]), tandem.tensor([1.0, 2.00001]))
    True
    """
    _need_tensor("allclose", self)
    return bool(self.isclose(other, rtol, atol, equal_nan).all().item())


# ---- hooks ----


_handle_ids = itertools.count()


class RemovableHandle:
    """Removes one registered hook; also a context manager that removes it at the end of its block.

    Args:
        hooks: the dict that holds the hook.
        extra: further dicts keyed by the same id.

    Example:
        >>> import tandem
        >>> m = tandem.nn.Identity()
        >>> with m.register_forward_hook(lambda mod, args, out: out + 1):
        ...     m(tandem.zeros(1)).item()
        1.0
        >>> m(tandem.zeros(1)).item()
        0.0
    """

    def __init__(self, hooks: dict[int, Any], *extra: dict[int, Any]) -> None:
        self.id = next(_handle_ids)
        self._hooks = (hooks, *extra)

    def hooks_dict_ref(self) -> dict[int, Any]:
        """The dict that holds the hook."""
        return self._hooks[0]

    def remove(self) -> None:
        """Remove the hook; does nothing the second time."""
        for hooks in self._hooks:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class TensorHookHandle(RemovableHandle):
    """The handle of a hook of a tensor or a node of the graph.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True)
    >>> with x.register_hook(lambda g: g * 10):
    ...     (x * 2).backward()
    >>> (x * 2).backward(); x.grad
    tensor([22.])
    """

    def __init__(self, owner: Any, id: int) -> None:
        self._owner = owner
        self.id = id

    def remove(self) -> None:
        """Remove the hook; does nothing the second time."""
        if self._owner is not None:
            _C._remove_hook(self._owner, self.id)
            self._owner = None


def register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    return TensorHookHandle(self, _C._register_hook(self, hook))


def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    return TensorHookHandle(self, _C._register_leaf_hook(self, hook))


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


def _picklable(cls: type) -> type | str:
    """A class of tensors for a pickle: of Tandem's own the name, as other processes may call the package otherwise."""
    if cls is _C.Tensor:
        return "Tensor"
    ours = cls.__module__ in ("tandem.nn.parameter", "torch.nn.parameter") and cls.__name__ in ("Parameter", "Buffer")
    return cls.__name__ if ours else cls


def _class_of(name: type | str) -> type:
    if isinstance(name, type):
        return name
    if name == "Tensor":
        return _C.Tensor
    from tandem.nn import parameter

    made: type = getattr(parameter, name)
    return made


def _rebuild(
    cls: type | str,
    data: bytes,
    dtype: Any,
    shape: tuple[int, ...],
    requires_grad: bool,
    device: str = "cpu",
    order: tuple[int, ...] | None = None,
) -> Tensor:
    flat = _C.frombuffer(bytearray(data), dtype=dtype) if data else _C.empty(0, dtype=dtype)
    if device != "cpu":
        check_place(device)
    if order is None:
        laid = flat.reshape(shape).to(device)
    else:
        laid = flat.reshape([shape[d] for d in order]).to(device)
        laid = laid.permute([order.index(d) for d in range(len(order))]).detach()
    return _C.Tensor._make_subclass(_class_of(cls), laid, requires_grad)


def _rebuild_meta(
    cls: type | str, dtype: Any, shape: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool
) -> Tensor:
    made = empty_strided(shape, stride, dtype=dtype, device="meta")
    return _C.Tensor._make_subclass(_class_of(cls), made, requires_grad)


def tensor_reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    plain = self.detach()
    cls = _picklable(type(self))
    if self.is_meta:
        meta = (_rebuild_meta, (cls, self.dtype, tuple(self.shape), self.stride(), self.requires_grad))
        return (*meta, _attributes(self)) if self.__dict__ else meta
    # Bytes as they are, so that every dtype and every bit pattern goes through, of dims as they lie in memory.
    place: tuple[Any, ...] = () if self.is_cpu else (str(self.device),)
    strides: tuple[int, ...] = plain.stride()
    if not plain.is_contiguous() and 0 not in strides:
        order = tuple(sorted(range(plain.dim()), key=lambda d: (-strides[d], -plain.shape[d])))
        if order != tuple(range(plain.dim())):
            plain, place = plain.permute(order), (str(self.device), order)
    data = _C._bytes_of(plain.contiguous().reshape(-1))
    state = (_rebuild, (cls, data, self.dtype, tuple(self.shape), self.requires_grad, *place))
    return (*state, _attributes(self)) if self.__dict__ else state


def is_view(self: Tensor) -> bool:
    return self._base is not None


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    return other.detach() if assign else self.detach().copy_(other).detach()


def tensor_copy(self: Tensor) -> Tensor:
    if self.requires_grad and not self.is_leaf:
        return self.view_as(self)
    copied = _C.Tensor._make_subclass(type(self), self.detach(), self.requires_grad)
    copied.__dict__.update(_attributes(self))
    return copied


def _all_elements(plain: Tensor) -> Tensor:
    return plain.as_strided((plain._storage_bytes() // plain.element_size(),), (1,), 0)


def _copied_with_memory(plain: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy whose memory is that of the copies of all tensors that share memory with `plain`, laid out alike."""
    memories: dict[Any, Tensor] = memo.setdefault(id(_copied_with_memory), {})
    key = plain._storage_id, plain.dtype
    of_all = memories.get(key)
    if of_all is None:
        if plain.numel() * plain.element_size() == plain._storage_bytes():
            copied = plain.clone()
            if copied.stride() == plain.stride():
                memories[key] = copied
                return copied
        of_all = memories[key] = _all_elements(plain).clone()
    return _all_elements(of_all).as_strided(plain.shape, plain.stride(), plain.storage_offset()).detach()


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
    copied = _C.Tensor._make_subclass(type(self), _copied_with_memory(self.detach(), memo), self.requires_grad)
    memo[id(self)] = copied
    if with_grad is not None:
        copied.grad = copy.deepcopy(with_grad, memo)
    copied.__dict__.update(copy.deepcopy(_attributes(self), memo))
    return copied
