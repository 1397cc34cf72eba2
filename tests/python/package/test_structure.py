"""The tree keeps its rules, and what is generated from the records is complete."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest
from operations import OPERATIONS, ROOT, VISIBLE, generated

import tandem

PASSES = sorted(p.stem for p in (ROOT / "passes").glob("*.cpp") if "mlir::PassWrapper<" in p.read_text())


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def test_house_rules():
    out = subprocess.run([sys.executable, str(ROOT / "scripts/check_house.py")], capture_output=True, text=True)
    assert out.returncode == 0, out.stdout + out.stderr


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_is_one_file_one_test_and_one_name(name):
    text = (ROOT / f"passes/{name}.cpp").read_text()
    assert re.search(rf"\b(struct|class) {camel(name)}\w*\b", text), f"passes/{name}.cpp defines no {camel(name)}"
    flag = "td-" + name.replace("_", "-")
    assert flag in text, f"passes/{name}.cpp registers no --{flag}"
    test = ROOT / f"tests/passes/{name}.mlir"
    assert test.exists(), f"{test.relative_to(ROOT)} is missing"
    # The last pass needs what all before it make: its test may run the whole pipeline.
    assert re.search(rf"--({flag}|td-pipeline)\b", test.read_text()), f"{test.name} does not run --{flag}"
    assert camel(name) in (ROOT / "passes/pipeline.cpp").read_text(), f"{name} is not in the pipeline"


def test_every_pass_test_belongs_to_a_pass():
    tests = {p.stem for p in (ROOT / "tests/passes").glob("*.mlir")}
    assert PASSES and tests >= set(PASSES)


def test_every_visible_record_can_be_called_by_its_name():
    missing = []
    for op in VISIBLE.values():
        owners = {
            "function": tandem,
            "method": tandem.Tensor,
            "nn": tandem.nn.functional,
            "linalg": tandem.linalg,
            "special": tandem.special,
        }
        for form, owner in owners.items():
            if form in op.forms and not hasattr(owner, op.python):
                missing.append(f"{form} {op.python}")
        if "inplace" in op.forms and not hasattr(tandem.Tensor, op.python + "_"):
            missing.append(f"method {op.python}_")
    assert missing == []


def test_stubs_are_python_and_name_every_function():
    stubs = (generated() / "python/_C/__init__.pyi").read_text()
    tree = ast.parse(stubs)
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {op.python for op in VISIBLE.values() if "function" in op.forms} <= functions


def test_bound_functions_document_themselves():
    undocumented = [
        op.python for op in VISIBLE.values() if "function" in op.forms and not getattr(tandem, op.python).__doc__
    ]
    assert undocumented == []


def test_names_are_spelled_one_way():
    for name in OPERATIONS:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name), name


def test_the_example_of_an_operation_is_what_the_tree_has():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    (diff,) = re.findall(r"```diff\n(.*?)```", guide, re.S)
    path, shown = "", 0
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            path = line[6:]
        elif line.startswith("+") and line[1:].strip():
            assert line[1:] in (ROOT / path).read_text().splitlines(), f"{path} does not have: {line[1:]}"
            shown += 1
    assert shown > 15
