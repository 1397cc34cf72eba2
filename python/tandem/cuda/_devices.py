"""Which GPUs there are, and which one names without an index mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tandem import _C
from tandem._no_device import absent

if TYPE_CHECKING:
    from uuid import UUID

Device = _C.device | str | int | None


def fail_without(name: str) -> NoReturn:
    """Raise the RuntimeError of `tandem.cuda.name`, which needs a GPU, where there is none."""
    absent("cuda", name, _C._gpu_why_none())


def index_of(device: Any, name: str) -> int:
    """The index of the GPU that the argument of `tandem.cuda.name` means; None is the current one.

    RuntimeError where there is none, ValueError for another kind of device.
    """
    count = device_count()
    if count == 0:
        fail_without(name)
    index = device if isinstance(device, int) else None
    if isinstance(device, str | _C.device):
        named = _C.device(device)
        if named.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        index = named.index
    elif device is not None and index is None:
        raise TypeError(f"tandem.cuda.{name}(): expected a device, its name or its index, not {type(device).__name__}")
    if index is None:
        return int(_C._gpu_current())
    if not 0 <= index < count:
        raise RuntimeError(f"tandem.cuda.{name}(): there is no device 'cuda:{index}': there are {count} of its kind")
    return index


def is_available() -> bool:
    """Is there a GPU? Opens the driver when it is first asked; nothing that fails is an error.

    >>> import tandem
    >>> device = "cuda" if tandem.cuda.is_available() else "cpu"
    >>> tandem.zeros(2, device=device).device
    device(type='cpu')
    """
    return bool(_C._device_count("cuda") > 0)


def device_count() -> int:
    """How many GPUs there are."""
    return int(_C._device_count("cuda"))


def is_initialized() -> bool:
    """Was a GPU found so far? Does not look for one."""
    return bool(_C._other_devices()) and is_available()


def init() -> None:
    """Opens the driver, as anything that names a GPU does; RuntimeError where there is none."""
    index_of(None, "init")


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Does the current GPU compute in bfloat16? False without one."""
    if not is_available():
        return False
    return including_emulation or get_device_capability()[0] >= 8


def is_tf32_supported() -> bool:
    """Has the current GPU products in TF32? False without one."""
    return is_available() and get_device_capability()[0] >= 8


def current_device() -> int:
    """The index of the GPU that `"cuda"` means on this thread: 0, unless `set_device` chose another."""
    return index_of(None, "current_device")


def set_device(device: Device) -> None:
    """Choose the GPU that `"cuda"` means on this thread from now on. Tensors are made on the CPU still, where no
    `device=` is given. A negative index chooses nothing."""
    if isinstance(device, int) and device < 0:
        return
    _C._gpu_set_current(index_of(device, "set_device"))


class device:  # noqa: N801
    """A `with` block in which `"cuda"` means a GPU, by index or name; None, or a negative index, chooses nothing."""

    def __init__(self, device: Any) -> None:
        nothing = device is None or (isinstance(device, int) and device < 0)
        self._device = None if nothing else device
        self._before: list[int] = []

    def __enter__(self) -> device:
        if self._device is not None:
            self._before.append(_C._gpu_set_current(index_of(self._device, "device")))
        return self

    def __exit__(self, *exc: object) -> None:
        if self._before:
            _C._gpu_set_current(self._before.pop())


class device_of(device):  # noqa: N801
    """A `with` block on the GPU of a tensor; that of a tensor on the CPU chooses nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device())


class _DeviceProperties:
    """What a GPU is: `name`, `major`, `minor`, `total_memory`, `multi_processor_count` and more."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    gcnArchName: str  # noqa: N815
    uuid: UUID

    def __init__(self, values: dict[str, Any]) -> None:
        from uuid import UUID

        self.__dict__.update(values)
        self.uuid = UUID(bytes=values["uuid"])
        self.gcnArchName = values["architecture"]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the properties of a device have no '{name}'; they have {', '.join(vars(self))}")

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


def get_device_properties(device: Device = None) -> _DeviceProperties:
    """What a GPU is, as an object: `name`, `major`, `minor`, `total_memory`, `multi_processor_count`, ..."""
    return _DeviceProperties(_C._gpu_properties(index_of(device, "get_device_properties")))


def get_device_name(device: Device = None) -> str:
    """The name that the driver gives a GPU."""
    return str(_C._gpu_properties(index_of(device, "get_device_name"))["name"])


def get_device_capability(device: Device = None) -> tuple[int, int]:
    """(major, minor): of what generation a GPU is."""
    found = _C._gpu_properties(index_of(device, "get_device_capability"))
    return found["major"], found["minor"]


def get_arch_list() -> list[str]:
    """The architectures of the GPUs that are here, for which kernels are compiled as they are needed."""
    return sorted({_C._gpu_properties(k)["architecture"] for k in range(device_count())})


def get_gencode_flags() -> str:
    """Those architectures, as options of NVCC.

    >>> import tandem
    >>> tandem.cuda.get_gencode_flags() if tandem.cuda.is_available() else ""  # doctest: +SKIP
    '-gencode compute=compute_90,code=sm_90'
    """
    numbers = (name.partition("_")[2] for name in get_arch_list())
    return " ".join(f"-gencode compute=compute_{n},code=sm_{n}" for n in numbers)


def can_device_access_peer(device: Device, peer_device: Device) -> bool:
    """Can kernels of a GPU reach the memory of another one?"""
    name = "can_device_access_peer"
    return bool(_C._gpu_can_access_peer(index_of(device, name), index_of(peer_device, name)))


def synchronize(device: Device = None) -> None:
    """Wait for all streams of a GPU. Errors of their work that nobody has heard of yet are raised here."""
    _C._gpu_synchronize(index_of(device, "synchronize"))
