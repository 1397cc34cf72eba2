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


def test_a_wheel_builds_what_it_installs():
    texts = [p.read_text() for p in [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))]]
    installed = {m for t in texts for m in re.findall(r"install\(TARGETS (\w+) [^)]*\bCOMPONENT python\b", t)}
    built = re.search(r"^build\.targets = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.M)
    assert built is not None and set(re.findall(r'"(\w+)"', built[1])) == installed


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


def test_the_examples_of_the_guide_are_what_the_tree_has():
    """What CONTRIBUTING.md shows of operations, of a pass and of a device."""
    diffs = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
    assert len(diffs) == 4
    for diff in diffs:
        path, shown = "", 0
        for line in diff.splitlines():
            if line.startswith("+++ b/"):
                path = line[6:]
            elif line.startswith("+") and line[1:].strip():
                assert line[1:] in (ROOT / path).read_text().splitlines(), f"{path} does not have: {line[1:]}"
                shown += 1
        assert shown > 15


GUIDES = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/deploy.md", "docs/terms.md"]
TOP = {p.name for p in ROOT.iterdir() if not p.name.startswith(".")}


def named(guide: str) -> set[str]:
    """What a guide names in code style that looks like a path of the tree."""
    text = re.sub(r"```diff.*?```", "", (ROOT / guide).read_text(), flags=re.S)
    words = {word.rstrip(".,:;)") for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()}
    shown = {word for block in re.findall(r"```sh\n(.*?)```", text, re.S) for word in block.split()}
    return {
        w for w in words | shown if "/" in w and w.split("/")[0] in TOP - {"build"} and not re.search(r"[<>*$={]", w)
    }


@pytest.mark.parametrize("guide", GUIDES)
def test_paths_that_a_guide_names_exist(guide):
    assert [path for path in sorted(named(guide)) if not (ROOT / path).exists()] == []


def test_the_table_of_folders_is_complete():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text[text.index("| folder |") : text.index("\n\n", text.index("| folder |"))]
    rows = [line.split("|")[1:4] for line in table.splitlines()[2:]]
    folders = {f for first, _, _ in rows for f in re.findall(r"`([^`]+)`", first)}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    sources = {p.rsplit("/", 1)[0] for p in tracked if "/" in p and not p.startswith(".")} - {"cmake"}
    # A folder whose files the table names, as ir/facets.td, or a folder below one that it has.
    missing = [
        s for s in sorted(sources) if not any(s == f or s.startswith(f + "/") or f.startswith(s + "/") for f in folders)
    ]
    assert missing == [], "no row of the table has them"
    for first, _, start in rows:
        homes = [ROOT / f for f in re.findall(r"`([^`]+)`", first)]
        for name in re.findall(r"`([^`]+)`", start):
            places = [h if h.is_dir() else h.parent for h in homes]
            assert (ROOT / name).exists() or any((h / name).exists() for h in places), f"{first}: no {name}"


def test_options_that_a_guide_names_are_known():
    known = {p.name: p.read_text() for p in (ROOT / "passes").glob("*.cpp")}
    options = "".join(known.values()) + (ROOT / "tools/td-opt.cpp").read_text()
    for guide in GUIDES:
        for flag in re.findall(r"--(td-[a-z-]+)", (ROOT / guide).read_text()):
            assert f'"{flag}"' in options, f"{guide} names --{flag}"
    sources = "".join(
        p.read_text()
        for folder in ("passes", "codegen", "runtime", "python", "scripts", "lazy")
        for p in (ROOT / folder).rglob("*")
        if p.suffix in (".cpp", ".h", ".py", ".sh")
    )
    for guide in GUIDES:
        for variable in set(re.findall(r"TANDEM_[A-Z_]+", (ROOT / guide).read_text())):
            assert variable in sources, f"{guide} names {variable}"
