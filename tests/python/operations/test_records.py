"""The operation records: what is incomplete or contradicts itself is refused with its name, and the tree has what
CONTRIBUTING.md shows of one operation."""

import ast
import re
import shutil
import sys
import types
from pathlib import Path

import pytest
from operations import VISIBLE

import tandem

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "ir/opgen"))
records = pytest.importorskip("records")
TBLGEN = shutil.which("llvm-tblgen-22") or "/usr/lib/llvm-22/bin/llvm-tblgen"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the records, one of which each test changes."""
    folder = tmp_path_factory.mktemp("ir")
    shutil.copytree(ROOT / "ir/ops", folder / "ops")
    for name in ("ops.td", "facets.td", "params.td"):
        shutil.copy(ROOT / "ir" / name, folder)
    return folder


def refused(tree, path, old, new, message):
    file = tree / "ops" / path
    text = file.read_text()
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new))
    try:
        with pytest.raises(records.RecordError, match=message):
            records.load(TBLGEN, str(tree / "ops.td"))
    finally:
        file.write_text(text)


CASES = {
    "summary": ("arithmetic.td", '  let summary = "Negative.";\n', "", "`neg` has no summary"),
    "body": ("arithmetic.td", "  let body = [(neg $input)];\n", "", "`neg` has 0 bodies for 1 results"),
    "derivative": ("arithmetic.td", "  let derivative = [(neg $g)];\n", "", "`neg` has no derivative statement"),
    "both": (
        "arithmetic.td",
        "[(neg $g)];\n",
        '[(neg $g)];\n  let rule = "neg";\n',
        "`neg` has a derivative and a rule",
    ),
    "samples": (
        "arithmetic.td",
        'def : Unary<"neg", "Promote"> {',
        'def : Unary<"neg", "Promote"> {\n  let samples = "";',
        "`neg` has no samples",
    ),
    "spelling": (
        "arithmetic.td",
        'def : Unary<"neg", "Promote"> {',
        'def : Unary<"neg", "Promote"> {\n  let python = "minus";',
        "`neg` is `minus` in Python",
    ),
    "rule": (
        "scan.td",
        'let rule = "logcumsumexp";',
        'let rule = "logCumSumExp";',
        "is spelt `logCumSumExp` in C\\+\\+",
    ),
    "shape": (
        "scan.td",
        '"cumsum_plain", "Tensor input, int dim", "sameAsInput"',
        '"cumsum_plain", "Tensor input, int dim", ""',
        "`cumsum_plain` has no shape rule",
    ),
    "operands": ("arithmetic.td", "[(neg $g)]", "[(neg $g), (neg $g)]", "`neg` has 2 derivatives for 1 operands"),
    "name": ("arithmetic.td", "[(neg $input)]", "[(neg $other)]", r"`neg` uses the unknown name \$other"),
    "batching": (
        "arithmetic.td",
        "[(neg $g)];\n",
        '[(neg $g)];\n  let batching = "leading";\n',
        "its batching follows",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_incomplete_record_is_refused_by_name(tree, case):
    refused(tree, *CASES[case])


def test_a_second_record_of_a_name_is_refused(tree):
    refused(tree, "arithmetic.td", 'def : Unary<"neg"', 'def : Unary<"abs"', "a second record of `abs`")


def test_an_unreadable_parameter_is_refused(tree):
    refused(
        tree, "arithmetic.td", "Operand input, Operand tensor1,", "Operand input, whole tensor1,", "`whole tensor1`"
    )


def test_a_record_without_example_is_refused(tree):
    text = (tree / "ops/rounding.td").read_text()
    (example,) = re.findall(r"^def : Unary<\"floor\".*?^(  let example = \[\{.*?^  \}\];\n)", text, re.M | re.S)
    refused(tree, "rounding.td", example, "", "`floor` has no example")


@pytest.mark.parametrize("name", ["nextafter", "gcd"])
def test_contributing_shows_all_of_an_operation(name):
    """Every file that says more of it than its name in a list."""
    shown = (ROOT / "CONTRIBUTING.md").read_text()
    for folder in ("ir", "codegen", "eager", "autograd", "runtime", "passes", "lazy"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".h", ".cpp", ".td") and re.search(rf"\b{name}\b", path.read_text()):
                assert f"+++ b/{path.relative_to(ROOT)}\n" in shown, path


# ---- what is bound by hand -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_hand():
    return records.load(TBLGEN, str(ROOT / "ir/ops.td")).by_hand


def test_what_is_bound_by_hand_says_what_its_record_says(by_hand):
    for b in by_hand:
        bound = getattr(tandem._C if b.owner == "function" else tandem._C.Tensor, b.name)
        assert bound.__doc__ == b.text.strip("\n"), b.name
        if b.owner != "property":
            receiver = "$self" if b.owner == "method" else "$module"
            assert bound.__text_signature__ == f"({', '.join(filter(None, [receiver, b.params]))})", b.name


def test_what_is_bound_has_a_record(by_hand):
    kinds = (types.BuiltinFunctionType, types.MethodDescriptorType, types.GetSetDescriptorType)
    known = {n + ending for op in VISIBLE.values() for n in (op.python, *op.aliases) for ending in ("", "_")}
    for owner, home in (("function", tandem._C), ("method", tandem._C.Tensor)):
        stated = {b.name for b in by_hand if b.owner == owner or (owner, b.owner) == ("method", "property")}
        bound = {n for n, f in vars(home).items() if isinstance(f, kinds) and not n.startswith("_")}
        assert bound - known - stated == set()


def test_stubs_have_the_parameters_of_records(by_hand):
    """All that the forms in the stub take, and nothing that the record does not name."""
    body = ast.parse((ROOT / "ir/opgen/core.pyi").read_text()).body
    (tensor,) = (n for n in body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    for owner, stub in (("function", body), ("method", tensor.body)):
        taken: dict[str, set[str]] = {}
        for f in (n for n in stub if isinstance(n, ast.FunctionDef)):
            a = f.args
            every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]
            taken.setdefault(f.name, set()).update(p.arg for p in every if p.arg != "self")
        for b in by_hand:
            if b.owner == owner and b.name in taken:
                assert set(re.findall(r"(?:^|, )\*{0,2}(\w+)", b.params)) == taken[b.name], b.name
