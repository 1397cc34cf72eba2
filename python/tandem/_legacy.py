"""Older spellings that scripts still use: `FloatTensor` and its like, `Variable`, and settings of the whole program."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tandem import _C, _support
from tandem._storages import Storage as _Memory
from tandem._storages import TypedStorage, storage_from_buffer, storage_from_file

__all__ = [
    "BFloat16Storage",
    "BFloat16Tensor",
    "BoolStorage",
    "BoolTensor",
    "ByteStorage",
    "ByteTensor",
    "CharStorage",
    "CharTensor",
    "DoubleStorage",
    "DoubleTensor",
    "FloatStorage",
    "FloatTensor",
    "HalfStorage",
    "HalfTensor",
    "IntStorage",
    "IntTensor",
    "LongStorage",
    "LongTensor",
    "ShortStorage",
    "ShortTensor",
    "Storage",
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "typename",
    "use_deterministic_algorithms",
]

Tensor = _C.Tensor


class _TypedTensor(type):
    """Tensors of one dtype: `isinstance(x, FloatTensor)` asks for it, a call makes a tensor of it, on the memory of a
    tensor or storage that has it. Those of `tandem.cuda` are on a GPU."""

    dtype: Any
    place: str | None = None

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype is cls.dtype and x.is_cuda == (cls.place is not None)

    def __new__(cls, name: str, bases: tuple[type, ...], entries: dict[str, Any]) -> Any:
        if bases:
            raise TypeError(f"type '{bases[0]}' is not an acceptable base type: derive {name} from Tensor")
        return super().__new__(cls, name, bases, entries)

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        place = cls.place or "cpu"
        if device is not None and _C.device(device).type != place:
            raise RuntimeError(f"{cls}: legacy constructor expects device type: {place} but got {device}")
        if len(args) == 1 and not isinstance(args[0], (int, _C.Size)):
            if isinstance(args[0], Tensor):
                return _support.alias_of(args[0], cls.dtype, place)
            if isinstance(args[0], _Memory):
                return _support.tensor_of_storage(args[0], cls.dtype)
            return _C.tensor(args[0], dtype=cls.dtype, device=cls.place)
        size = args[0] if len(args) == 1 and isinstance(args[0], _C.Size) else args
        return _C.empty(tuple(size) if args else (0,), dtype=cls.dtype, device=cls.place)

    def __str__(cls) -> str:
        return f"{cls.__module__}.{cls.__name__}"


def on_gpu(name: str) -> Any:
    """`tandem.cuda.FloatTensor` and its like, by the last part of the name; None for another name."""
    kind = globals().get(name)
    if not isinstance(kind, _TypedTensor):
        return None
    doc = f"Tensors of {kind.dtype} on a GPU, as `tandem.{name}` makes them on the CPU."
    return _TypedTensor(name, (), {"dtype": kind.dtype, "place": "cuda", "__doc__": doc, "__module__": "tandem.cuda"})


def _typed(name: str, dtype: Any) -> Any:
    doc = f"""Tensors of {dtype}: {name}(sizes...) makes one without values, {name}(sequence) one of numbers.

    `isinstance(x, {name})` asks for tensors of this dtype.

    >>> import tandem
    >>> tandem.{name}([0, 1]).dtype, tandem.{name}(2, 3).shape
    ({dtype}, tandem.Size([2, 3]))
    """
    return _TypedTensor(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "tandem"})


FloatTensor = _typed("FloatTensor", _C.float32)
DoubleTensor = _typed("DoubleTensor", _C.float64)
HalfTensor = _typed("HalfTensor", _C.float16)
BFloat16Tensor = _typed("BFloat16Tensor", _C.bfloat16)
LongTensor = _typed("LongTensor", _C.int64)
IntTensor = _typed("IntTensor", _C.int32)
ShortTensor = _typed("ShortTensor", _C.int16)
CharTensor = _typed("CharTensor", _C.int8)
ByteTensor = _typed("ByteTensor", _C.uint8)
BoolTensor = _typed("BoolTensor", _C.bool)


class _OfDType(type):
    """Storages of one dtype: `isinstance(s, FloatStorage)` asks for it, a call makes a storage of it."""

    dtype: Any

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, TypedStorage) and x.dtype is cls.dtype

    def __call__(cls, data: Any = 0, *, device: Any = None) -> Any:
        return TypedStorage(data, dtype=cls.dtype, device=device)

    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The first `size` elements of a file, as `UntypedStorage.from_file` has its bytes."""
        return storage_from_file(cls.dtype, filename, shared, size)

    def from_buffer(cls, buffer: Any, *args: Any, **kwargs: Any) -> TypedStorage:
        """A copy of a buffer's elements: `from_buffer(buffer, byte_order="native", count=-1, offset=0)`, the order
        "native", "little" or "big". ValueError for another order, and for a buffer of too few bytes or of a part of an
        element."""
        return storage_from_buffer(cls.dtype, buffer, *args, **kwargs)


def _storage_of(name: str, dtype: Any) -> Any:
    doc = f"""Storages of {dtype}: {name}(n) is memory of n elements that are not set, {name}(sequence) of numbers.

    `isinstance(s, {name})` asks for storages of this dtype.

    >>> import tandem
    >>> tandem.{name}([0, 1]).dtype, tandem.{name}(3).size()
    ({dtype}, 3)
    """
    return _OfDType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "tandem"})


Storage = FloatStorage = _storage_of("FloatStorage", _C.float32)
DoubleStorage = _storage_of("DoubleStorage", _C.float64)
HalfStorage = _storage_of("HalfStorage", _C.float16)
BFloat16Storage = _storage_of("BFloat16Storage", _C.bfloat16)
LongStorage = _storage_of("LongStorage", _C.int64)
IntStorage = _storage_of("IntStorage", _C.int32)
ShortStorage = _storage_of("ShortStorage", _C.int16)
CharStorage = _storage_of("CharStorage", _C.int8)
ByteStorage = _storage_of("ByteStorage", _C.uint8)
BoolStorage = _storage_of("BoolStorage", _C.bool)


class _VariableType(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)


class _Engine:
    """What runs backwards, for those who ask it to call them back."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call a function when the backward that runs now has ended; RuntimeError where none runs."""
        _C._queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Does the backward that runs now go to every leaf, rather than to tensors that were named?"""
        return bool(_C._backwards_reach_all_leaves())


class Variable(metaclass=_VariableType):
    """Variable(data, requires_grad=False): a tensor of the same memory. Tensors themselves record gradients.

    `isinstance(x, Variable)` asks for a tensor; TypeError if `data` is none.

    >>> import tandem
    >>> tandem.autograd.Variable(tandem.ones(1), requires_grad=True)
    tensor([1.], requires_grad=True)
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile:
            warnings.warn("volatile was removed and now has no effect. Use `with no_grad():` instead.", stacklevel=2)
        return data.detach().requires_grad_(requires_grad)


def set_default_tensor_type(t: type[Any] | str) -> None:
    """The dtype of new float tensors, and the GPU as their device for one of `tandem.cuda`, as a tensor type or its
    name; TypeError for another object.

    >>> import tandem
    >>> tandem.set_default_tensor_type(tandem.DoubleTensor)
    >>> tandem.zeros(1).dtype
    tandem.float64
    >>> tandem.set_default_tensor_type("torch.FloatTensor")
    """
    _C._warn_once(
        "set_default_tensor_type() is deprecated: use set_default_dtype() and set_default_device() instead.", 2
    )
    name = t if isinstance(t, str) else getattr(t, "__name__", "")
    kind = globals().get(name.rpartition(".")[2])
    if not isinstance(kind, _TypedTensor):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    _C.set_default_dtype(kind.dtype)
    if getattr(t, "place", None) or ".cuda." in name:
        _C._set_default_device("cuda")
    elif _C._other_devices():
        _C._set_default_device(None)


def typename(obj: Any) -> str:
    """The name of a tensor's type, of a class or of an object's class, with its module.

    >>> import tandem
    >>> tandem.typename(tandem.zeros(1)), tandem.typename(3)
    ('tandem.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None) or ""
    return kind.__qualname__ if module in ("", "builtins", "__builtin__") else f"{module}.{kind.__qualname__}"


_settings = {"deterministic": False, "warn_only": False, "matmul_precision": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remembered only: every operation is deterministic. TypeError unless `mode` is a bool.

    >>> import tandem
    >>> tandem.use_deterministic_algorithms(True)
    >>> tandem.are_deterministic_algorithms_enabled()
    True
    >>> tandem.use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"use_deterministic_algorithms(): '{name}' must be bool, not {type(value).__name__}")
    _settings.update(deterministic=mode, warn_only=warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was last given.

    >>> import tandem
    >>> tandem.are_deterministic_algorithms_enabled()
    False
    """
    return bool(_settings["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The `warn_only` that `use_deterministic_algorithms` was last given.

    >>> import tandem
    >>> tandem.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return bool(_settings["warn_only"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Remembered only, as `use_deterministic_algorithms`: 0 or "default", 1 or "warn", 2 or "error"; else RuntimeError.

    >>> import tandem
    >>> tandem.set_deterministic_debug_mode("warn"); tandem.get_deterministic_debug_mode()
    1
    >>> tandem.set_deterministic_debug_mode("default")
    """
    modes = ("default", "warn", "error")
    if debug_mode not in (0, 1, 2, *modes):
        raise RuntimeError(
            f"invalid value of debug_mode, expected `default`, `warn`, `error`, 0, 1 or 2, but got {debug_mode!r}"
        )
    level = modes.index(debug_mode) if isinstance(debug_mode, str) else int(debug_mode)
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as `set_deterministic_debug_mode` takes.

    >>> import tandem
    >>> tandem.get_deterministic_debug_mode()
    0
    """
    if not _settings["deterministic"]:
        return 0
    return 1 if _settings["warn_only"] else 2


def set_flush_denormal(mode: bool) -> bool:
    """Whether subnormal numbers are flushed to zero as `mode` says: they never are, so True for False alone.

    >>> import tandem
    >>> tandem.set_flush_denormal(True), tandem.set_flush_denormal(False)
    (False, True)
    """
    return not mode


def set_warn_always(b: bool, /) -> None:
    """Give warnings that are given once a program every time; Python's filters still hold for them.

    >>> import tandem
    >>> tandem.set_warn_always(False)
    """
    _C._set_warn_always(bool(b))


def is_warn_always_enabled() -> bool:
    """Are warnings that are given once a program given every time?

    >>> import tandem
    >>> tandem.is_warn_always_enabled()
    False
    """
    return _C._warns_always()


def compiled_with_cxx11_abi() -> bool:
    """True: the C++ library has the ABI of C++11.

    >>> import tandem
    >>> tandem.compiled_with_cxx11_abi()
    True
    """
    return True


def set_float32_matmul_precision(precision: str) -> None:
    """How GPUs multiply matrices of float32: with "highest" in float32; with "high" and "medium" their operands may be
    rounded to TF32, as with `backends.cuda.matmul.allow_tf32`.

    ValueError unless `precision` is "highest", "high" or "medium".

    >>> import tandem
    >>> tandem.set_float32_matmul_precision("high"); tandem.get_float32_matmul_precision()
    'high'
    >>> tandem.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"precision has to be 'highest', 'high' or 'medium', got {precision!r}")
    _settings["matmul_precision"] = precision
    _, convolutions, cudnn = _C._compute_flags()
    _C._set_compute_flags(precision != "highest", convolutions, cudnn)


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was last given.

    >>> import tandem
    >>> tandem.get_float32_matmul_precision()
    'highest'
    """
    return str(_settings["matmul_precision"])


def get_default_device() -> _C.device:
    """Where this thread makes new tensors: the CPU, or what `set_default_device` or a `with device:` block says.

    >>> import tandem
    >>> tandem.get_default_device()
    device(type='cpu')
    """
    return _C._get_default_device()


def set_default_device(device: _C.device | str | int | None) -> None:
    """Make new tensors of this thread on `device`, where a call names no other; None is the CPU.

    RuntimeError for a device that is not here.

    >>> import tandem
    >>> tandem.set_default_device("cpu")
    """
    _C._set_default_device(device)


def get_num_interop_threads() -> int:
    """1: operations run one after the other, each on `get_num_threads()` threads.

    >>> import tandem
    >>> tandem.get_num_interop_threads()
    1
    """
    return 1


def set_num_interop_threads(n: int) -> None:
    """Does nothing: operations run one after the other. RuntimeError unless `n` is positive.

    >>> import tandem
    >>> tandem.set_num_interop_threads(2)
    """
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")


# Older names of questions about backends.
BUILT = {
    "has_cuda": "cuda.is_built",
    "has_mps": "mps.is_built",
    "has_cudnn": "cudnn.is_available",
    "has_mkldnn": "mkldnn.is_available",
}


def is_built(name: str) -> bool:
    """What `tandem.has_cuda` and its like are."""
    import tandem

    backend, question = BUILT[name].split(".")
    text = f"'{name}' is deprecated, please use 'torch.backends.{BUILT[name]}()'"
    warnings.warn(text, stacklevel=4)
    return bool(getattr(getattr(tandem.backends, backend), question)())
