"""Writes everything that follows from the operation records into the build tree.

main.py --tblgen llvm-tblgen-22 --records ir/ops.td --out BUILD/generated
main.py --list      the names of the files, for the build
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import cpp
import docstrings
import python_side
import stubs
from records import RecordError, load

FILES = {
    "ir/schema/op_code.h": cpp.op_code,
    "ir/schema/op_table.inc": cpp.op_table,
    "runtime/base/op_names.inc": cpp.op_names,
    "runtime/base/library_table.inc": cpp.library_table,
    "codegen/bodies.inc": cpp.bodies,
    "codegen/combiners.inc": cpp.combiners,
    "autograd/derivatives.inc": cpp.derivatives,
    "eager/ops.inc": cpp.ops_source,
    "eager/updates.inc": cpp.updates,
    "eager/batch_rules.inc": cpp.batch_rules,
    "eager/ops.h": cpp.ops_header,
    "python/bindings.inc": python_side.bindings,
    "python/docs_by_hand.inc": docstrings.by_hand_docs,
    "python/_C/__init__.pyi": stubs.core,
    "python/_C/_nn.pyi": stubs.namespace("nn"),
    "python/_C/_linalg.pyi": stubs.namespace("linalg"),
    "python/_C/_special.pyi": stubs.namespace("special"),
    "tests/operations.json": python_side.test_table,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tblgen")
    parser.add_argument("--records")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    if args.list:
        print(";".join(FILES))
        return 0
    try:
        records = load(args.tblgen, args.records)
        texts = {name: text(records) for name, text in FILES.items()}
    except RecordError as e:
        print(f"opgen: {e}", file=sys.stderr)
        return 1
    for name, text in texts.items():
        path = args.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # An unchanged file keeps its time, so that nothing is compiled again for it.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    (args.out / "stamp").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
