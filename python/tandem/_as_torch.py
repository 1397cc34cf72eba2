"""Tandem under the name torch, for code that says `import torch`.

`torch` is a module of its own that holds Tandem's names; `torch.nn` and all other submodules are Tandem's modules
themselves. A finder at the head of `sys.meta_path` answers every import of `torch` and what lies below it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import tandem
from tandem import _C, _missing
from tandem._module_names import AT_ONCE, ELSEWHERE, LACKING, NAMES, Names, lacking, named
from tandem.torch_version import TorchVersion

# The release of PyTorch whose names and behaviour are meant; the local part says what runs.
TORCH_VERSION = TorchVersion(f"2.13.0+tandem.{tandem.__version__}")


class TorchModule(ModuleType):
    """The module `torch`."""

    def __getattr__(self, name: str) -> Any:
        try:
            value = getattr(tandem, name)
        except AttributeError:
            return _missing.fail(self, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(tandem)})


def counterpart(name: str) -> str | None:
    """The name of the module of Tandem that is `name`, of torch; None where there is none."""
    path = name.partition(".")[2]
    candidate = f"tandem.{ELSEWHERE.get(path, path)}"
    try:
        return candidate if importlib.util.find_spec(candidate) is not None else None
    except ModuleNotFoundError:  # the parent is no package, or absent
        return None


class TorchFinder:
    """Finds `torch` and its submodules in Tandem, and loads them."""

    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        """The distribution `torch`, where it is asked for, or all are."""
        from tandem._torch_distribution import TorchDistribution  # whoever asks has paid for importlib.metadata

        if getattr(context, "name", None) in (None, "torch"):
            yield TorchDistribution(TORCH_VERSION)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "torch" and not name.startswith("torch."):
            return None
        if name != "torch" and counterpart(name) is None:
            parent, _, last = name.rpartition(".")
            if hasattr(sys.modules[parent], last) and not isinstance(getattr(sys.modules[parent], last), ModuleType):
                raise ModuleNotFoundError(f"No module named '{name}': it is not a module", name=name)
            text = f"No module named '{name}'.{_missing.instead(name.partition('.')[2])}".removesuffix(".")
            raise ModuleNotFoundError(text, name=name)
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return TorchModule("torch", tandem.__doc__) if spec.name == "torch" else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name != "torch":
            # What stands in sys.modules after this call is what the import gives.
            sys.modules[name] = importlib.import_module(str(counterpart(name)))
            _missing.explain_missing_names()
            return
        for path in AT_ONCE.split():
            importlib.import_module(f"tandem.{path}")
        own = {n: v for n, v in vars(tandem).items() if not n.startswith("__")}
        module.__dict__.update(own, __version__=TORCH_VERSION, __file__=tandem.__file__, torch=module)
        give_torchs_names()
        tandem.nn.Parameter.__module__ = tandem.nn.Buffer.__module__ = "torch.nn.parameter"


def give_torchs_names() -> None:
    """Put all loaded modules under torch's names, so that an import of one finds it there.

    An import of what is not there yet would put the module in its parent's place for the name, which may be that of a
    function: `torch.autograd.gradcheck`.
    """
    for name, loaded in list(sys.modules.items()):
        if name.startswith("tandem."):
            sys.modules.setdefault(f"torch.{name.partition('.')[2]}", loaded)
    sys.modules["torch.ops"] = tandem.ops
    # Installed with PyTorch: names that are in torch.func since, and what that replaced.
    sys.modules["functorch"] = Names("functorch", ["tandem.func", "tandem.func._older"])
    # Those that others are in before these: torch.distributed.tensor before its placement_types.
    for path in sorted(LACKING):
        put(path, lacking(path))
    for path in NAMES:
        put(path, named(path))


def put(path: str, module: ModuleType) -> None:
    """Let `torch.<path>` be `module`, unless the parent has another thing of that name."""
    sys.modules[f"torch.{path}"] = module
    parent, _, last = path.rpartition(".")
    if parent and f"torch.{parent}" not in sys.modules:
        if counterpart(f"torch.{parent}") is not None:
            importlib.import_module(f"torch.{parent}")
        else:
            empty = ModuleType(f"tandem.{parent}")
            empty.__path__ = []
            put(parent, empty)
    above = sys.modules[f"torch.{parent}" if parent else "torch"]
    if last not in vars(above):
        setattr(above, last, module)


def install_as_torch() -> None:
    """Put Tandem under the name `torch`, so that code which says `import torch` runs on it unchanged.

    From this call on `import torch`, `import torch.nn as nn`, `from torch.utils.data import DataLoader` and the like
    give Tandem's modules, also where PyTorch is installed. A name that Tandem lacks raises AttributeError or
    ImportError, which says what to use instead where there is something. `torch.__version__` names the release of
    PyTorch whose interface is meant. dtypes, sizes, layouts, named tuples and `Tensor.type()` show the name torch from
    then on. A second call does nothing.

    `python -m tandem script.py` does this and runs a script.

    Raises:
        RuntimeError: PyTorch itself was imported before.

    Example:
        >>> import tandem
        >>> tandem.install_as_torch()
        >>> import torch
        >>> from torch import nn
        >>> nn.Linear(3, 2)(torch.ones(4, 3)).shape
        torch.Size([4, 2])
    """
    known = sys.modules.get("torch")
    if isinstance(known, TorchModule):
        return
    if known is not None:
        where = getattr(known, "__file__", None) or "an unknown place"
        raise RuntimeError(
            f"install_as_torch(): another torch is already imported, from {where}; call it before the first import"
        )
    _C._set_package_name("torch")
    sys.meta_path.insert(0, TorchFinder())
    importlib.import_module("torch")
