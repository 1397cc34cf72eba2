"""What is said about a name that Tandem lacks: which one it is, and what to use where there is something."""

from __future__ import annotations

import difflib
import dis
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tandem import _C

IMPORT_FROM = dis.opmap["IMPORT_FROM"]

# What to use instead of names of PyTorch, the most particular first; a name stands for all below it.
INSTEAD = {
    "jit": "tandem.compile, which traces a function and runs it as one plan, or tandem.export, which saves it",
    "export.Dim": "tandem.export.entries, with an entry for each shape",
    "_dynamo": "tandem.compile and its explain() method",
    "_inductor": "tandem.compile and its explain() method",
    "fx": "tandem.compile, whose explain() method shows what was traced",
    "onnx": "save and load with the state_dict of a module",
    "hub": "load and the path of a file that was downloaded",
    "sparse": "dense tensors with index_add, scatter_add or nn.Embedding",
    "sparse_coo_tensor": "dense tensors with index_add, scatter_add or nn.Embedding",
    "sparse_csr_tensor": "dense tensors with index_add, scatter_add or nn.Embedding",
    "quantization": "dtypes float16 and bfloat16",
    "ao": "dtypes float16 and bfloat16",
    "profiler": "TANDEM_LOG=kernels, tandem.counters() and the explain() method of a compiled function",
    "autograd.profiler": "TANDEM_LOG=kernels, tandem.counters() and the explain() method of a compiled function",
    "utils.tensorboard": "the package tensorboardX, or a file of numbers",
    "utils.cpp_extension": "autograd.Function for a derivative of your own",
    "multiprocessing": "Python's multiprocessing",
    "ops.load_library": "tandem.library.custom_op, of Python functions",
    "optim.SparseAdam": "optim.Adam: gradients are dense",
    "fft": "numpy.fft, which takes tensors as arrays",
    "masked": "tensors beside a mask, with the functions of masked, where and masked_fill",
    "nested": "padded tensors beside a mask, or nn.utils.rnn.pack_sequence",
    "package": "tandem.export, which saves what a function computes",
    "monitor": "tandem.counters()",
    "utils.flop_counter": "tandem.counters(), which counts launches",
    "nn.attention.flex_attention": "nn.functional.scaled_dot_product_attention with a mask",
    "distributed.fsdp": "nn.parallel.DistributedDataParallel",
    "distributed": "the collective operations of tandem.distributed, or nn.parallel.DistributedDataParallel",
    "nn.qat": "modules in float16 or bfloat16",
    "nn.quantized": "modules in float16 or bfloat16",
    "complex64": "two real tensors, or a last dim of size 2",
    "complex128": "two real tensors, or a last dim of size 2",
    "cfloat": "two real tensors, or a last dim of size 2",
    "cdouble": "two real tensors, or a last dim of size 2",
    "view_as_complex": "two real tensors, or a last dim of size 2",
    "view_as_real": "two real tensors, or a last dim of size 2",
    "polar": "the products of the length with cos and sin of the angle",
}


def shown(module: str) -> str:
    """The name under which users know a module of the package: torch's where it was put under that name."""
    from tandem._as_torch import TorchModule

    root = "torch" if isinstance(sys.modules.get("torch"), TorchModule) else "tandem"
    return root + module[module.index(".") :] if "." in module else root


def instead(path: str) -> str:
    """A sentence on what to use instead of `path` (without the package's name), or nothing."""
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        if hint := INSTEAD.get(".".join(parts[:n])):
            return f" Use {hint} instead"
    return ""


def import_error(module: ModuleType, name: str) -> ImportError:
    near = difflib.get_close_matches(name, [n for n in dir(module) if not n.startswith("_")], n=1)
    path = f"{module.__name__}.{name}".partition(".")[2]
    hint = instead(path) or (f" Did you mean '{near[0]}'?" if near else "")
    own = shown(module.__name__)
    return ImportError(f"cannot import name '{name}' from '{own}'.{hint}".removesuffix("."), name=own)


def being_imported(depth: int) -> bool:
    """Is the frame that asks for the name at a `from ... import name`?"""
    return bool(_C._instruction_above(depth + 1) == IMPORT_FROM)


def fail(module: ModuleType, name: str, depth: int = 1) -> Any:
    """Raise what `module.name` raises where it is absent; `depth` frames lie between this call and who asked."""
    if not name.startswith("__") and being_imported(depth + 1):
        raise import_error(module, name)
    path = f"{module.__name__}.{name}".partition(".")[2]
    if found := _other_module(path):
        setattr(module, name, found)
        return found
    text = f"module '{shown(module.__name__)}' has no attribute '{name}'.{instead(path)}".removesuffix(".")
    raise AttributeError(text, name=name, obj=module)


def _other_module(path: str) -> ModuleType | None:
    """The module that PyTorch has at `path` and Tandem makes of the names of others."""
    from tandem import _module_names

    return _module_names.made(path)


def attribute_of(module: ModuleType) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has no other."""

    def __getattr__(name: str) -> Any:
        return fail(module, name)

    return __getattr__


def explain_missing_names() -> None:
    """Give every loaded public module of the package a `__getattr__`, unless it has its own."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tandem.") and "._" not in name and not hasattr(module, "__getattr__"):
            module.__getattr__ = attribute_of(module)  # type: ignore[method-assign]
