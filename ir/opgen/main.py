"""Writes everything that follows from the operation records into the build tree.

main.py --tblgen llvm-tblgen-22 --records ir/ops.td --out BUILD/generated
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import cpp
import python_side
from records import RecordError, load


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tblgen", required=True)
    parser.add_argument("--records", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()
    try:
        ops = load(args.tblgen, args.records)
        files = {
            "ir/schema/op_code.h": cpp.op_code(ops),
            "ir/schema/op_table.inc": cpp.op_table(ops),
            "runtime/lib/library_table.inc": cpp.library_table(ops),
            "codegen/bodies.h": cpp.bodies(ops),
            "autograd/derivatives.inc": cpp.derivatives(ops),
            "eager/ops.inc": cpp.ops_source(ops),
            "eager/ops.h": cpp.ops_header([cpp.without_state(o) for o in ops]),
            "python/bindings.inc": python_side.bindings(ops),
            "python/_C.pyi": python_side.stubs(ops),
            "docs/operations.md": python_side.reference(ops),
            "tests/operations.json": python_side.test_table(ops),
        }
    except RecordError as e:
        print(f"opgen: {e}", file=sys.stderr)
        return 1
    for name, text in files.items():
        path = args.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # An unchanged file keeps its time, so that nothing is compiled again for it.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    (args.out / "stamp").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
