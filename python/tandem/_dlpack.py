"""Memory shared with other libraries, on the CPU and on GPUs: DLPack's protocol (https://dmlc.github.io/dlpack) and
`__cuda_array_interface__`. Capsules are made and taken by python/src/dlpack.cpp."""

from __future__ import annotations

import warnings
from typing import Any

from tandem import _C
from tandem._functions import _need_tensor

Tensor = _C.Tensor
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST = 1, 2, 3


def to_dlpack(
    self: Tensor,
    *,
    stream: int | None = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if not self.is_cuda and stream not in (None, -1):
        raise BufferError(f"stream should be None for a tensor on {self.device}, got {stream}")
    given = self
    if dl_device is not None:
        kind, index = dl_device
        if kind not in (_DL_CPU, _DL_CUDA, _DL_CUDA_HOST):
            raise BufferError(f"Unsupported device_type: {int(kind)}")
        place = _C.device("cuda", index) if kind == _DL_CUDA else _C.device("cpu")
        if place != self.device:
            if copy is False:
                raise ValueError(f"cannot move (i.e. copy=False) tensor from {self.device} to {place} without copying.")
            given = self.to(place)
    if copy and given is self:
        given = self.clone()
    if given.is_cuda and stream != -1:
        _order_streams(given, stream)
    versioned = max_version is not None and max_version[0] >= 1
    return _C._to_dlpack(given, versioned, given is not self)


def _order_streams(tensor: Tensor, stream: int | None) -> None:
    """Has the stream of whoever takes the tensor wait for the work that makes it: None and 1 are the default one."""
    from tandem import cuda

    if stream == 0 or stream == 2:
        what = "per-thread default stream" if stream == 2 else "stream 0, which may be the default one or not,"
        raise BufferError(f"{what} is not supported.")
    current = cuda.current_stream(tensor.device)
    if stream is None or stream == 1:
        taker: Any = cuda.default_stream(tensor.device)
    else:
        taker = cuda.ExternalStream(stream, tensor.device)
    if taker.cuda_stream != current.cuda_stream:
        taker.wait_stream(current)
        tensor.record_stream(taker)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    from tandem.utils.dlpack import DLDeviceType

    if self.is_cuda:
        return DLDeviceType.kDLCUDA, self.get_device()
    return DLDeviceType.kDLCUDAHost if self.is_pinned() else DLDeviceType.kDLCPU, 0


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


def from_cuda_array(array: Any) -> Tensor:
    """A tensor on the memory of a GPU that an object's `__cuda_array_interface__` tells of, which it keeps alive.

    https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, versions 2 and 3.
    """
    from tandem import cuda

    said = array.__cuda_array_interface__
    shape, text, (address, read_only) = tuple(said["shape"]), said["typestr"], said["data"]
    dtypes = {
        "b1": _C.bool, "u1": _C.uint8, "i1": _C.int8, "i2": _C.int16, "i4": _C.int32, "i8": _C.int64,
        "f2": _C.float16, "f4": _C.float32, "f8": _C.float64,
    }  # fmt: skip
    if text[:1] not in "<|=" or text[1:] not in dtypes:
        raise TypeError(f"__cuda_array_interface__: elements of type {text!r}, which no dtype of Tandem is")
    dtype = dtypes[text[1:]]
    steps = said.get("strides")
    if steps is None:
        strides, step = [0] * len(shape), 1
        for d in reversed(range(len(shape))):
            strides[d], step = step, step * max(shape[d], 1)
    else:
        if any(s % dtype.itemsize for s in steps):
            raise ValueError(
                "__cuda_array_interface__: strides are no multiples of the element's size. Make a copy of the array."
            )
        strides = [s // dtype.itemsize for s in steps]
        if any(s < 0 for s in strides):
            raise ValueError("__cuda_array_interface__: negative strides are not supported. Make a copy of the array.")
    if 0 in shape:
        return _C.empty(shape, dtype=dtype, device="cuda")
    if read_only:
        warnings.warn(
            "__cuda_array_interface__: the memory is not writable: writing to the tensor would write to it all the "
            "same. Copy the array to protect it or to make it writable.",
            UserWarning,
            stacklevel=2,
        )
    found: Tensor = _C._from_address(address, dtype, shape, tuple(strides), array)
    stream = said.get("stream")
    if stream is not None:
        of = cuda.default_stream(found.device) if stream == 1 else cuda.ExternalStream(stream, found.device)
        cuda.current_stream(found.device).wait_stream(of)
    return found


def _exported(ext_tensor: Any, options: dict[str, Any]) -> tuple[Any, bool]:
    """The capsule, and whether the object knew of `copy`: older ones know fewer options."""
    for without in ((), ("max_version",), ("max_version", "copy")):
        try:
            taken = {name: value for name, value in options.items() if name not in without}
            return ext_tensor.__dlpack__(**taken), "copy" not in without
        except TypeError:
            continue
    return ext_tensor.__dlpack__(**{k: v for k, v in options.items() if k == "stream"}), False


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor sharing the memory of any object that exports DLPack (`__dlpack__`, `__dlpack_device__`), on the CPU or
    on a GPU.

    Args:
        ext_tensor: that object, or a capsule.
        device: where the tensor is to be; a copy where the memory is elsewhere.
        copy: True for a copy in any case; False for an error where memory cannot be shared.

    What is on a GPU is ready for the current stream there. ValueError for `copy=False` and another device.

    >>> import tandem, numpy
    >>> array = numpy.zeros(2, dtype=numpy.float32)
    >>> tandem.from_dlpack(array).fill_(3); array.tolist()
    tensor([3., 3.])
    [3.0, 3.0]
    >>> tandem.from_dlpack(array, copy=True).fill_(4); array.tolist()
    tensor([4., 4.])
    [3.0, 3.0]
    """
    place = None if device is None else _C.device(device)
    if not hasattr(ext_tensor, "__dlpack__"):  # a capsule, which may have been made long ago
        found = _C._from_dlpack(ext_tensor)
        moves, copied = place is not None and place.type != found.device.type, False
    else:
        kind, index = ext_tensor.__dlpack_device__()
        options: dict[str, Any] = {"max_version": (1, 0)}
        if copy is not None:
            options["copy"] = copy
        if kind == _DL_CUDA:
            from tandem import cuda

            # 1 is the default stream.
            options["stream"] = cuda.current_stream(index).cuda_stream or 1
        of = _C.device("cuda", index) if kind == _DL_CUDA else _C.device("cpu")
        moves = place is not None and (place.type != of.type or place.index not in (None, of.index))
        if moves and copy is False:
            raise ValueError(f"cannot move DLPack tensor from device {of} to {place} without copying")
        capsule, copied = _exported(ext_tensor, options)
        found = _C._from_dlpack(capsule)
    if moves:
        if copy is False:
            raise ValueError(f"cannot move DLPack tensor from device {found.device} to {place} without copying")
        return found.to(place)
    return found.clone() if copy and not copied else found


def tensor_to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor's memory, to be taken once.

    BufferError for a tensor that requires a gradient.

    >>> import tandem
    >>> capsule = tandem.utils.dlpack.to_dlpack(tandem.ones(2))
    >>> type(capsule).__name__
    'PyCapsule'
    """
    return _need_tensor("to_dlpack", tensor, "tensor").__dlpack__()


tensor_to_dlpack.__name__ = tensor_to_dlpack.__qualname__ = "to_dlpack"
