"""Docstrings of what is written in Python: their examples run and print what they say, and every public class and
function of the packages below has one. Operations have test_operation_docstrings.py.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from operations import ROOT

import tandem

pytestmark = pytest.mark.cpu

# Not the package's Python: the extension module, its compiler, and the script.
TENSORBOARD = ("tandem.utils.tensorboard", "tandem.utils.tensorboard.writer")  # which need a package
SKIPPED = (
    "tandem._C",
    "tandem.__main__",
    *TENSORBOARD,
    *(f"tandem.libtandem_{name}" for name in ("compiler", "cuda", "gloo", "meta")),
)
DOCUMENTED = (
    "tandem",
    "tandem.amp",
    "tandem.amp.autocast_mode",
    "tandem.amp.grad_scaler",
    "tandem.autograd",
    "tandem.autograd.anomaly_mode",
    "tandem.autograd.forward_ad",
    "tandem.autograd.function",
    "tandem.autograd.functional",
    "tandem.autograd.grad_mode",
    "tandem.autograd.gradcheck",
    "tandem.autograd.graph",
    "tandem.compiler",
    "tandem.distributed",
    "tandem.distributed.algorithms.ddp_comm_hooks.default_hooks",
    "tandem.distributed.algorithms.join",
    "tandem.distributed.device_mesh",
    "tandem.distributed.nn.functional",
    "tandem.distributed.run",
    "tandem.distributions",
    "tandem.distributions.constraints",
    "tandem.distributions.transforms",
    "tandem.export",
    "tandem.func",
    "tandem.jit",
    "tandem.nn",
    "tandem.nn.functional",
    "tandem.nn.init",
    "tandem.nn.utils",
    "tandem.nn.utils.fusion",
    "tandem.nn.utils.parametrizations",
    "tandem.nn.utils.parametrize",
    "tandem.nn.utils.prune",
    "tandem.nn.utils.rnn",
    "tandem.optim",
    "tandem.optim.lr_scheduler",
    "tandem.optim.optimizer",
    "tandem.optim.swa_utils",
    "tandem.overrides",
    "tandem.random",
    "tandem.serialization",
    "tandem.signal.windows",
    "tandem.testing",
    "tandem.utils.checkpoint",
    "tandem.utils.data",
    "tandem.utils.dlpack",
)


def modules() -> list[ModuleType]:
    names = [m.name for m in pkgutil.walk_packages(tandem.__path__, "tandem.", onerror=lambda name: None)]
    return [tandem, *(importlib.import_module(name) for name in names if name not in SKIPPED)]


def examples() -> list[doctest.DocTest]:
    """The docstrings with an example, each of which finds `tandem` and nothing else."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = (test for m in modules() for test in finder.find(m, m.__name__, m, globs={"tandem": tandem}))
    return [test for test in found if test.examples and not test.name.startswith("tandem.Tensor.")]


@pytest.fixture
def imports_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forgets what an example installs under the name torch."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    yield
    tandem._C._set_package_name("tandem")
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "torch":
            del sys.modules[name]


@pytest.mark.usefixtures("imports_as_before")
@pytest.mark.parametrize("example", examples(), ids=lambda test: test.name)
def test_example(example: doctest.DocTest) -> None:
    tandem.manual_seed(0)
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed, _ = doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert not failed, "".join(said)


def public(module: ModuleType) -> dict[str, object]:
    """The classes and functions that a module offers and that are written in this package's Python."""
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    built_in = {id(value) for value in vars(tandem._C).values()}
    return {
        name: value
        for name in names
        if (inspect.isclass(value := getattr(module, name)) or inspect.isfunction(value))
        and (value.__module__ or "").startswith("tandem")
        and id(value) not in built_in
    }


@pytest.mark.parametrize("name", DOCUMENTED)
def test_public_names_have_an_example(name: str) -> None:
    found = public(importlib.import_module(name))
    lacking = sorted(key for key, value in found.items() if ">>>" not in (value.__doc__ or ""))
    assert found and not lacking, f"{len(lacking)} without an example: {lacking}"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_public_methods_are_documented(name: str) -> None:
    """A method says what it does, or overrides one of a base class that does."""
    lacking = []
    for key, value in public(importlib.import_module(name)).items():
        for method, member in vars(value).items() if inspect.isclass(value) else ():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if inspect.isfunction(function) and not method.startswith("_"):
                if not inspect.getdoc(member) and not inspect.getdoc(getattr(value, method)):
                    lacking.append(f"{key}.{method}")
    assert not lacking, f"{len(lacking)} without a docstring: {lacking}"


DOCUMENTS = sorted(path for path in (ROOT / "docs").glob("*.md") if path.stem != "deploy")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_documents(path: Path) -> None:
    """The examples of docs/, each document one program. deploy.md has C, too, and a test of its own."""
    tandem.manual_seed(0)
    test = doctest.DocTestParser().get_doctest(path.read_text().replace("```", ""), {}, path.name, str(path), 0)
    said: list[str] = []
    failed, _ = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert test.examples and not failed, "".join(said)
