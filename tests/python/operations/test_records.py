"""The operation records: what is incomplete or contradicts itself is refused with its name, and the tree has what
CONTRIBUTING.md shows of one operation."""

import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "ir/opgen"))
records = pytest.importorskip("records")
TBLGEN = shutil.which("llvm-tblgen-22") or "/usr/lib/llvm-22/bin/llvm-tblgen"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the records, one of which each test changes."""
    folder = tmp_path_factory.mktemp("ir")
    shutil.copytree(ROOT / "ir/ops", folder / "ops")
    for name in ("ops.td", "facets.td"):
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
    refused(tree, "arithmetic.td", 'def Neg : Unary<"neg"', 'def Neg : Unary<"abs"', "a second record of `abs`")


def test_an_unreadable_parameter_is_refused(tree):
    refused(
        tree, "arithmetic.td", "Operand input, Operand tensor1,", "Operand input, whole tensor1,", "`whole tensor1`"
    )


def test_a_record_without_example_is_refused(tree):
    text = (tree / "ops/rounding.td").read_text()
    (example,) = re.findall(r"^def Floor .*?^(  let example = \[\{.*?^  \}\];\n)", text, re.M | re.S)
    refused(tree, "rounding.td", example, "", "`floor` has no example")
