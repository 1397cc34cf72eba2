"""The examples in docstrings run and print what they say, and every public class and function of `COVERED` has one."""

import doctest
import importlib
import inspect
import pkgutil
import warnings

import pytest

import tandem

pytestmark = pytest.mark.cpu

# The packages of which every public class and function has a docstring with an example.
COVERED = ("tandem.nn", "tandem.nn.functional", "tandem.nn.init", "tandem.nn.utils")
# What is compiled, and the script, have no docstrings to run.
NO_EXAMPLES = ("tandem._C", "tandem.libtandem_compiler", "tandem.__main__")


def _modules(package: str) -> list[str]:
    """A module and, if it is a package, all below it."""
    path = getattr(importlib.import_module(package), "__path__", [])
    found = pkgutil.walk_packages(path, package + ".", onerror=lambda name: None)
    return [package, *(module.name for module in found if module.name not in NO_EXAMPLES)]


def _examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = []
    for name in _modules("tandem"):
        module = importlib.import_module(name)
        found += [test for test in finder.find(module, name, module, globs={"tandem": tandem}) if test.examples]
    return found


@pytest.mark.parametrize("example", _examples(), ids=lambda test: test.name)
def test_example(example: doctest.DocTest) -> None:
    tandem.manual_seed(0)
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed, _ = doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert not failed, "".join(said)


def _public(package: str) -> dict[str, object]:
    """The classes and functions, written in Python, that a package and its public modules offer: those of `__all__`,
    where there is one.
    """
    root = ".".join(package.split(".")[:2])
    found = {}
    for name in _modules(package):
        if any(part.startswith("_") for part in name.split(".")):
            continue
        module = importlib.import_module(name)
        for key in getattr(module, "__all__", vars(module)):
            value = getattr(module, key)
            is_ours = (getattr(value, "__module__", None) or "").startswith(root)
            if is_ours and not key.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value)):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


@pytest.mark.parametrize("package", COVERED)
def test_public_names_have_examples(package: str) -> None:
    lacking = sorted(path for path, value in _public(package).items() if ">>>" not in (value.__doc__ or ""))
    assert not lacking, f"{len(lacking)} without an example: {lacking}"
