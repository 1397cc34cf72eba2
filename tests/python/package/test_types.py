"""What a type checker knows: the stubs name what is there, and typed user code passes `mypy --strict`."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys

import pytest
from operations import ROOT, generated

import tandem
from tandem import _c_names

TYPED = sorted((ROOT / "tests/python/package/typed").glob("*.py"))
# Names of the stubs for annotations only, which the module itself does not have.
ONLY_IN_STUBS = {"Number", "_Device", "_Generator", "_bool", "_dtype", "_float", "_int", "_str"}


def names(body: list[ast.stmt]) -> set[str]:
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.asname}
    return found


def stub(name: str) -> list[ast.stmt]:
    return ast.parse((generated() / f"python/_C/{name}.pyi").read_text()).body


@pytest.mark.parametrize("name", ["__init__", "_nn", "_linalg", "_special"])
def test_the_stubs_name_what_the_module_has_and_nothing_else(name):
    module = tandem._C if name == "__init__" else getattr(tandem._C, name)
    there = {n for n in dir(module) if not n.startswith("__")} - {*_c_names.NAMES, *_c_names.NN_NAMES}
    tuples = {n.name for n in stub(name) if isinstance(n, ast.ClassDef) and n.name[:1] == "_" and n.name not in there}
    assert names(stub(name)) - ONLY_IN_STUBS - tuples == there


def test_the_stub_of_tensor_names_what_tensor_has_and_nothing_else():
    (tensor,) = (n for n in stub("__init__") if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    there = {n for n in dir(tandem.Tensor) if not n.startswith("__")}
    stated = names(tensor.body)
    assert {n for n in stated if not n.startswith("__")} == there
    assert [n for n in stated if not hasattr(tandem.Tensor, n)] == []


def test_typed_code_passes_a_strict_type_checker(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "--config-file", ""]
    # The package as the build put it into the tree; each file is a program of its own.
    for part in (sorted((ROOT / "examples").glob("*.py")), TYPED):
        out = subprocess.run(
            [*command, "--ignore-missing-imports", "--scripts-are-modules", *map(str, part)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={"MYPYPATH": str(ROOT / "python"), "PATH": ""},
        )
        assert out.returncode == 0, out.stdout + out.stderr


@pytest.mark.parametrize("path", TYPED, ids=lambda p: p.stem)
def test_typed_code_runs(path):
    tandem.manual_seed(0)
    runpy.run_path(str(path), run_name="__main__")
