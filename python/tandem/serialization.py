"""`tandem.save` and `tandem.load`: nested state in one file of the safetensors layout.

The file is: 8 bytes, the header's length (little endian) · the header, JSON that gives each member's dtype, shape and
range of bytes · the bytes. `__metadata__` in the header holds under "tandem" the tree of dicts, lists, tuples, scalars,
strings and None as JSON, in which a tensor is a member's name with strides, offset, whether it requires grad, its
attributes and the name of its class (one on the device meta has no member), and a storage is a tensor of all of it. A
member is a whole storage's used part, flat, so tensors that shared storage share it again after loading. Any reader of
safetensors can open the file; a file without the tree loads as a flat dict.

An object that is no plain value, and one of a class that derives from a plain one's, is a member of bytes, its
pickle, in which a tensor is a number in a list of tensors. What is there twice, or within itself, is named by its
number in the order of the tree the second time. Nothing of a file is executed, unless `load` is told to read such
objects, or what they may name. Writing goes to a temporary file beside the target, is synced, and is renamed over it.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypeGuard

import tandem
from tandem import Tensor
from tandem._file_bytes import FileBytes, memory_of
from tandem._file_moves import Mover, default_restore_location, move_all
from tandem._file_objects import pickled, unpickled
from tandem._file_options import (
    SafeUnpickler,
    add_safe_globals,
    clear_safe_globals,
    get_crc32_options,
    get_safe_globals,
    safe_globals,
    set_crc32_options,
    tensor_class,
    trusted,
)
from tandem._files import replace_file
from tandem._stand_in import lacking_class
from tandem._storages import Storage, TypedStorage
from tandem._torch_files import TorchFile, is_torch_file
from tandem.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
    "set_crc32_options",
]

#: What `map_location` may be, and how PyTorch's files are pickled.
MAP_LOCATION: TypeAlias = "Callable[[Any, str], Any] | tandem.device | str | dict[str, str] | None"
DEFAULT_PROTOCOL = 2
PyTorchFileReader: Any = lacking_class("PyTorchFileReader")
PyTorchFileWriter: Any = lacking_class("PyTorchFileWriter")
_FORMAT = "1"
_MAX_HEADER = 100_000_000
_ALIGNMENT = 64  # of the first member in the file
_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
}
_DTYPES = {code: name for name, code in _NAMES.items()}
_MAPPINGS: dict[type, str] = {dict: "dict", OrderedDict: "ordered", Counter: "counter"}
_MAPPING_TYPES = {name: kind for kind, name in _MAPPINGS.items()}
# Nodes of what has an identity: in the order of the tree each has a number, by which "again" means the same object.
_NUMBERED = {*_MAPPING_TYPES, *"list set bytearray uninitialized tensor storage array bytes_of object".split()}


def _dtype_name(dtype: tandem.dtype) -> str:
    return str(dtype).rpartition(".")[2]


# --- writing --------------------------------------------------------------------------------------------------------


class _Writer:
    """Turns a tree into JSON, and its tensors into members: one a storage and dtype."""

    def __init__(self, pickle_module: Any = None) -> None:
        self.pickle_module = pickle_module
        self.groups: dict[tuple[Any, str], list[tuple[Tensor, dict[str, Any], str]]] = {}
        self.numbers: dict[int, int] = {}  # of what has an identity, by its id
        self.anchors: list[Any] = []  # the same objects
        self.storages: list[Tensor] = []
        self.copies: dict[Any, Tensor] = {}  # of storages on devices

    def encode(self, value: Any, path: str) -> Any:
        import numpy as np

        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if abs(value) < 2**53 else {"int": str(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is tuple or kind is tandem.Size:
            return {"tuple" if kind is tuple else "size": self._items(value, path)}
        if kind is bytes:
            return {"bytes": value.hex()}
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            return {"scalar": [value.dtype.str, value.tobytes().hex()]}
        if isinstance(value, tandem.dtype):
            return {"dtype": _dtype_name(value)}
        if isinstance(value, tandem.device):
            return {"device": str(value)}
        # What is there for the second time, or within itself, is named by its number in the order of the tree.
        number = self.numbers.setdefault(id(value), len(self.numbers))
        if number < len(self.anchors):
            return {"again": number}
        self.anchors.append(value)  # no other object gets its id
        return self._object(value, path)

    def _items(self, values: Iterable[Any], path: str) -> list[Any]:
        return [self.encode(item, f"{path}.{i}" if path else str(i)) for i, item in enumerate(values)]

    def _object(self, value: Any, path: str) -> Any:
        """The node of what has an identity: one of `_NUMBERED`, or a list."""
        import numpy as np

        kind = type(value)
        if kind is list:
            return self._items(value, path)
        if kind is set:
            return {"set": self._items(value, path)}
        if kind in _MAPPINGS:
            return {
                _MAPPINGS[kind]: [
                    [self.encode(k, path), self.encode(v, f"{path}.{k}" if path else str(k))] for k, v in value.items()
                ]
            }
        if kind is bytearray:
            return {"bytearray": value.hex()}
        if is_lazy(value):
            names = kind.__name__, _dtype_name(value.dtype), str(value.device)
            return {"uninitialized": [*names, value.requires_grad]}
        if isinstance(value, Tensor):
            return self._tensor(value, path)
        if isinstance(value, Storage):
            return {"storage": self._tensor(value._elements(), path)}
        if kind is np.ndarray and value.dtype.isnative and value.dtype.name in _NAMES:
            return {"array": self._tensor(tandem.from_numpy(np.ascontiguousarray(value)), path)}
        if kind is np.ndarray and value.dtype.kind in "biufcSU":
            raw = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8).copy()
            return {"bytes_of": [value.dtype.str, list(value.shape), self._tensor(tandem.from_numpy(raw), path)]}
        data, tensors = pickled(value, path, self.pickle_module)
        path = path or "object"
        held = tandem.frombuffer(bytearray(data), dtype=tandem.uint8)
        return {"object": [self._tensor(held, f"{path}.pickle"), self._items(tensors, path)]}

    def _tensor(self, tensor: Tensor, path: str) -> dict[str, Any]:
        name = _dtype_name(tensor.dtype)
        if name not in _NAMES:
            raise TypeError(f"save: {path}: tensors of {tensor.dtype} have no place in the file format")
        record: dict[str, Any] = {"shape": list(tensor.shape), "stride": list(tensor.stride())}
        if tensor.requires_grad:
            record["requires_grad"] = True
        if isinstance(tensor, tandem.nn.Parameter):
            record["parameter"] = True
        if tensor.__dict__:
            record["attributes"] = self.encode(dict(tensor.__dict__), f"{path}.attributes")
        if type(tensor) not in (Tensor, tandem.nn.Parameter):
            record["class"] = [type(tensor).__module__, type(tensor).__qualname__]
        values = tensor.detach()
        if values.is_meta:
            return {"tensor": record | {"device": "meta", "dtype": name}}
        if not values.is_cpu:
            record["device"] = str(values.device)
            values = self._on_host(values)
        self.storages.append(values)  # kept apart: a freed one's address could be used again
        base = values.data_ptr() - values.storage_offset() * values.element_size()
        key = (base, name) if values.numel() else (object(), name)
        self.groups.setdefault(key, []).append((values, record, path))
        return {"tensor": record}

    def _on_host(self, tensor: Tensor) -> Tensor:
        """The tensor as a view of a copy of its whole storage, which tensors of one storage share."""
        if tensor.numel() == 0:
            return tensor.cpu()
        key = (tensor.device, tensor.data_ptr() - tensor.storage_offset() * tensor.element_size(), tensor.dtype)
        if key not in self.copies:
            self.storages.append(tensor)
            elements = tensor._storage_bytes() // tensor.element_size()
            self.copies[key] = tensor.as_strided((elements,), (1,), 0).cpu()
        return self.copies[key].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def members(self) -> dict[str, np.ndarray[Any, Any]]:
        """The flat arrays by name; completes the records with member and offset."""
        import numpy as np

        result: dict[str, np.ndarray[Any, Any]] = {}
        for group in self.groups.values():
            name = self._free_name(group[0][2] or "tensor", result)
            if len(group) == 1:
                values, record, _ = group[0]
                # Alone in its storage: saved in row-major order, without what the view leaves out.
                record.update(member=name, offset=0)
                del record["stride"]
                result[name] = np.ascontiguousarray(memory_of(values.contiguous()))
                continue
            start = min(v.storage_offset() for v, _, _ in group)
            stop = max(_end(v) for v, _, _ in group)
            whole = np.zeros(stop - start, dtype=memory_of(group[0][0]).dtype)
            for values, record, _ in group:
                offset = values.storage_offset() - start
                record.update(member=name, offset=offset)
                steps = [n * whole.itemsize for n in values.stride()]
                window = np.lib.stride_tricks.as_strided(whole[offset:], list(values.shape), steps)
                window[...] = memory_of(values)
            result[name] = whole
        return result

    @staticmethod
    def _free_name(wanted: str, taken: dict[str, Any]) -> str:
        name, count = wanted, 1
        while name in taken or name == "__metadata__":
            count += 1
            name = f"{wanted}#{count}"
        return name


def _end(tensor: Tensor) -> int:
    """One past the last element of the storage that `tensor` reaches."""
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.storage_offset() + reach + 1


def save(
    obj: Any,
    f: str | os.PathLike[str] | BinaryIO,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write `obj` (nested dicts, lists, tuples, numbers, strings, None and tensors) to a file.

    Args:
        obj: what to write; of a module or an optimizer best its `state_dict()`. An object of any other kind is written
            as a pickle, which `load` reads with `weights_only=False`, or where `add_safe_globals` has all it names.
        f: a path, which is written whole or not at all, or a file open for writing bytes.
        pickle_module: what pickles such objects, where that is not to be `pickle`: `dill` and its like.
        pickle_protocol: accepted: it chooses between forms of pickles, which the file is none of.

    TypeError, naming the place, for an object that has no pickle; AttributeError where `f` is none of these.

    Example:
        >>> import tandem, tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "state.tandem")
        >>> tandem.save({"w": tandem.ones(2), "epoch": 3}, path)
        >>> tandem.load(path)["epoch"]
        3
    """
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    writer = _Writer(pickle_module)
    tree = writer.encode(obj, "")
    members = writer.members()
    dtypes = {record["member"]: key[1] for key, group in writer.groups.items() for _, record, _ in group}
    # Wide elements first, so that each one's address is a multiple of its size where the file is mapped.
    order = sorted(members, key=lambda name: -members[name].itemsize)
    ends = dict(zip(order, accumulate(members[name].nbytes for name in order), strict=True))
    header: dict[str, Any] = {
        name: {
            "dtype": _NAMES[dtypes[name]],
            "shape": list(array.shape),
            "data_offsets": [ends[name] - array.nbytes, ends[name]],
        }
        for name, array in members.items()
    }
    header["__metadata__"] = {"format": "tandem", "version": _FORMAT, "tandem": json.dumps(tree, allow_nan=False)}
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    arrays = (members[name] for name in order)
    chunks: list[Any] = [struct.pack("<Q", len(text)), text, *(array.data for array in arrays if array.nbytes)]
    if isinstance(f, (str, os.PathLike)):
        replace_file(f, lambda out: out.writelines(chunks))
        return
    for chunk in chunks:
        f.write(chunk)
    if hasattr(f, "flush"):
        f.flush()  # whoever reads the file by its name finds it whole


# --- reading --------------------------------------------------------------------------------------------------------


class _ObjectError(Exception):
    """What an object of the file raised while it was made."""


class _Reader:
    """The members of one file's bytes, checked as they are asked for."""

    def __init__(self, data: FileBytes, unpickle: bool, move: Mover, pickle_module: Any = None) -> None:
        self.where = data.where
        self.unpickle, self.pickle_module = unpickle, pickle_module
        self.move = move
        if data.size < 8:
            raise self.error("the header's length", f"the file has only {data.size} bytes")
        (length,) = struct.unpack("<Q", data.read(0, 8))
        if length > min(_MAX_HEADER, data.size - 8):
            raise self.error("the header", f"{length} bytes announced, {data.size - 8} there")
        try:
            header = json.loads(data.read(8, 8 + length).decode())
        except (ValueError, RecursionError) as exc:
            raise self.error("the header", f"not readable as JSON ({exc})") from None
        if not isinstance(header, dict):
            raise self.error("the header", "not a JSON object")
        self.metadata = header.pop("__metadata__", {})
        if not isinstance(self.metadata, dict):
            raise self.error("__metadata__", "not a JSON object")
        self.entries = header
        self.data = data
        self.start = 8 + length
        self.loaded: dict[str, Tensor] = {}
        self.objects: list[Any] = []  # what may be there again, in the order of the tree; None where it is not made yet

    def error(self, member: str, what: object) -> RuntimeError:
        return RuntimeError(f"load: {self.where} is damaged or not a tensor file: {member}: {what}")

    def member(self, name: Any) -> Tensor:
        """The member `name` as a tensor; each is read once."""
        if name in self.loaded:
            return self.loaded[name]
        entry = self.entries.get(name) if isinstance(name, str) else None
        if not isinstance(entry, dict):
            raise self.error(f"member {name!r}", "missing in the header")
        what = f"member {name!r}"
        dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
        if dtype not in _DTYPES:
            raise self.error(what, f"unknown dtype {dtype!r}")
        if not _sizes(shape):
            raise self.error(what, f"bad shape {shape!r}")
        if not _sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
            raise self.error(what, f"bad range of bytes {offsets!r}")
        here = self.data.size - self.start
        if offsets[1] > here:
            raise self.error(what, f"ends at byte {offsets[1]} of {here}: the file is cut off")
        element = getattr(tandem, _DTYPES[dtype])
        count = math.prod(shape)
        if count * element.itemsize != offsets[1] - offsets[0]:
            raise self.error(what, f"shape {shape} of {_DTYPES[dtype]} does not fill {offsets[1] - offsets[0]} bytes")
        try:
            tensor = self.data.elements(element, self.start + offsets[0], count)
            if len(shape) != 1:
                tensor = tensor.reshape(shape)
        except (EOFError, RuntimeError) as exc:
            raise self.error(what, exc) from None
        self.loaded[name] = tensor
        return tensor

    def read(self) -> Any:
        """The object that was saved; of a file without a tree, a dict of its members."""
        text = self.metadata.get("tandem")
        if text is None:
            return {name: self.member(name) for name in self.entries}
        try:
            tree = json.loads(text)
        except (TypeError, ValueError, RecursionError) as exc:
            raise self.error("the tree", f"not readable as JSON ({exc})") from None
        for name in self.entries:
            self.member(name)
        self.data.end = self.start + max((entry["data_offsets"][1] for entry in self.entries.values()), default=0)
        try:
            return self.decode(tree)
        except _ObjectError as error:
            raise error.args[0] from None

    def decode(self, node: Any) -> Any:
        """The object that `node` of the tree stands for."""
        if not isinstance(node, (list, dict)):
            return node
        if isinstance(node, dict) and len(node) != 1:
            raise self.error("the tree", f"unknown node {str(node)[:80]}")
        kind, value = ("list", node) if isinstance(node, list) else next(iter(node.items()))
        try:
            return self._numbered(kind, value) if kind in _NUMBERED else self._plain(kind, value)
        except (TypeError, ValueError, AttributeError, LookupError) as exc:
            raise self.error("the tree", f"bad node of kind {kind!r} ({exc})") from None

    def _plain(self, kind: str, value: Any) -> Any:
        if kind in ("tuple", "size"):
            return (tuple if kind == "tuple" else tandem.Size)(self.decode(item) for item in value)
        if kind == "int":
            return int(value)
        if kind == "float":
            return float(value)
        if kind == "bytes":
            return bytes.fromhex(value)
        if kind == "device":
            return tandem.device(value)
        if kind == "dtype":
            return getattr(tandem, value if value in _NAMES else "")
        if kind == "scalar":
            return self._array(value[0], [], bytes.fromhex(value[1]))[()]
        if kind == "again":
            if type(value) is not int or not 0 <= value < len(self.objects) or self.objects[value] is None:
                raise self.error("the tree", f"no object has the number {value!r} yet")
            return self.objects[value]
        if kind == "pickle" and isinstance(value, dict):  # of before objects had tensors of the file
            return self._unpickled(value, [])
        raise self.error("the tree", f"unknown kind {kind!r}")

    def _numbered(self, kind: str, value: Any) -> Any:
        """What may be there again: its number is taken before those of what it holds."""
        number = len(self.objects)
        self.objects.append(None)
        made: Any
        if kind == "list":
            made = self.objects[number] = []
            made.extend(self.decode(item) for item in value)
        elif kind in _MAPPING_TYPES:
            made = self.objects[number] = _MAPPING_TYPES[kind]()
            for k, v in value:
                made[self.decode(k)] = self.decode(v)
        elif kind == "set":
            made = {self.decode(item) for item in value}
        elif kind == "bytearray":
            made = bytearray.fromhex(value)
        elif kind == "uninitialized":
            name, dtype, device, requires_grad = value
            lazy = {t.__name__: t for t in (UninitializedParameter, UninitializedBuffer)}
            made = lazy[name](bool(requires_grad), tandem.device(device), self.decode({"dtype": dtype}))
        elif kind == "tensor":
            made = self._held({kind: value})
        elif kind == "storage":
            made = TypedStorage(self.move(self._held(value)))
        elif kind == "array":
            made = self._held(value).numpy()
        elif kind == "bytes_of":
            made = self._array(value[0], value[1], self._held(value[2]).numpy().tobytes()).copy()
        else:
            data, tensors = value
            made = self._unpickled(data, [self.move(self.decode(tensor)) for tensor in tensors])
        self.objects[number] = made
        return made

    def _held(self, node: Any) -> Tensor:
        """The tensor of a node that is a part of another one, and has no number."""
        if not (isinstance(node, dict) and list(node) == ["tensor"] and isinstance(node["tensor"], dict)):
            raise self.error("the tree", f"no tensor: {str(node)[:80]}")
        return self._tensor(node["tensor"])

    @staticmethod
    def _array(dtype: str, shape: list[int], data: bytes) -> np.ndarray[Any, Any]:
        import numpy as np

        kind = np.dtype(dtype)
        if kind.kind not in "biufcSU":
            raise ValueError(f"dtype {dtype!r}")
        return np.frombuffer(data, kind).reshape(shape)

    def _unpickled(self, node: Any, tensors: list[Tensor]) -> Any:
        data = self._held(node).numpy().tobytes()
        try:
            if self.unpickle:
                return unpickled(data, tensors, self.pickle_module)
            return SafeUnpickler(data, self.where, tensors).load()
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            raise _ObjectError(error) from None  # the object's own: the tree is not to blame

    def _tensor(self, record: dict[str, Any]) -> Tensor:
        made = self._without_elements(record) if record.get("device") == "meta" else self._elements(record)
        wants_grad = bool(record.get("requires_grad"))
        if "class" in record:
            tensor: Tensor = Tensor._make_subclass(self._class(record["class"]), made, wants_grad)
        elif record.get("parameter"):
            tensor = tandem.nn.Parameter(made, requires_grad=wants_grad)
        else:
            tensor = made.requires_grad_() if wants_grad else made
        if "attributes" in record:
            attributes = self.decode(record["attributes"])
            if not isinstance(attributes, dict) or not all(isinstance(name, str) for name in attributes):
                raise self.error("the tree", "bad attributes of a tensor")
            tensor.__dict__.update(attributes)
        place = record.get("device", "cpu")
        if not isinstance(place, str):
            raise self.error(f"member {record.get('member')!r}", f"bad device {place!r} in the tree")
        if place not in ("cpu", "meta"):
            self.move.places[id(tensor)] = tensor, place
        return tensor

    def _class(self, name: Any) -> type:
        if not (isinstance(name, list) and len(name) == 2 and all(isinstance(part, str) for part in name)):
            raise self.error("the tree", f"bad class of a tensor {name!r}")
        found = tensor_class(name[0], name[1], self.where, self.unpickle)
        if not (isinstance(found, type) and issubclass(found, Tensor)):
            raise self.error("the tree", f"{'.'.join(name)} is no class of tensors")
        return found

    def _without_elements(self, record: dict[str, Any]) -> Tensor:
        shape, stride, dtype = record.get("shape"), record.get("stride"), record.get("dtype")
        if not _sizes(shape) or not _sizes(stride) or len(stride) != len(shape) or dtype not in _NAMES:
            raise self.error("the tree", f"bad layout: shape {shape!r}, stride {stride!r}, dtype {dtype!r}")
        return tandem.empty_strided(shape, stride, dtype=getattr(tandem, dtype), device="meta")

    def _elements(self, record: dict[str, Any]) -> Tensor:
        base = self.member(record.get("member"))
        what = f"member {record.get('member')!r}"
        shape, stride = record.get("shape"), record.get("stride")
        offset: Any = record.get("offset")
        if not _sizes(shape):
            raise self.error(what, f"bad shape {shape!r} in the tree")
        if stride is None:
            if math.prod(shape) != base.numel():
                raise self.error(what, f"shape {shape} in the tree, {base.numel()} elements in the file")
            tensor = base.reshape(shape)
        else:
            if not _sizes(stride) or len(stride) != len(shape) or not _sizes([offset]):
                raise self.error(what, f"bad layout: shape {shape}, stride {stride!r}, offset {offset!r}")
            reach = offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
            if math.prod(shape) and reach >= base.numel():
                raise self.error(what, f"shape {shape} with stride {stride} reaches past its {base.numel()} elements")
            tensor = base.as_strided(shape, stride, offset)
        return tensor


def _sizes(value: Any) -> TypeGuard[list[int]]:
    """Whether `value` is a list of integers that are not negative."""
    return isinstance(value, list) and all(type(v) is int and v >= 0 for v in value)


def load(
    f: str | os.PathLike[str] | BinaryIO,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    encoding: str = "utf-8",
) -> Any:
    """Read what `save` wrote, any safetensors file (as a flat dict) or what PyTorch's `torch.save` wrote.

    From a path or a binary file. Of PyTorch's files dicts, lists, numbers and dense tensors are read, and so the state
    of modules and optimizers; modules that were saved whole are not (NotImplementedError).

    RuntimeError, naming the member, if the file is damaged, EOFError if there is nothing. Loading executes nothing that
    is in the file, unless it is asked to: UnpicklingError for a file with a pickled object in it, without
    `weights_only=False` or, of what it names, `add_safe_globals`.

    Args:
        f: a path, or a file open for reading bytes.
        map_location: where tensors go: a device, a dict from devices of the file to devices, or a function of a tensor,
            which is on the CPU, and its device's name in the file that returns a tensor (None leaves it). Tensors go
            back to the GPU that they were saved from unless it says otherwise.
        pickle_module: what reads pickled objects in place of `pickle`, of a file that is trusted: with it,
            `weights_only` is False where it is not given, and not to be True.
        weights_only: False reads pickled objects, too, which may run any code: only of files that you trust. Where it
            is not given, the environment's `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1` says the same.
        mmap: True maps a file that is named by its path into memory instead of reading it: what is never looked at is
            never read, and what is written to a tensor stays in this process. The file must not be cut short while
            tensors of it live. ValueError for a file that is open.

    Example:
        >>> import io, tandem
        >>> file = io.BytesIO()
        >>> tandem.save({"w": tandem.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> tandem.load(file, map_location="cpu", weights_only=True)
        {'w': tensor([1., 1.])}
    """
    if not hasattr(f, "read") and not isinstance(f, (str, os.PathLike)):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'read': a path or a binary file is read")
    if pickle_module is not None and weights_only:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    anything = trusted(False if weights_only is None and pickle_module is not None else weights_only)
    places: dict[int, tuple[Tensor, str]] = {}
    move = Mover(places, map_location)
    with FileBytes(f, bool(mmap)) as data:
        if data.size == 0:
            raise EOFError(f"load: {data.where} is empty, or was read to its end")
        if is_torch_file(data.read(0, 32)):
            value = TorchFile(data, anything, places).read()
        else:
            value = _Reader(data, anything, move, pickle_module).read()
    return value if map_location is None and not places else move_all(value, move)
