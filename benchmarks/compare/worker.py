"""Runs one case with one library: `worker.py CASE LIBRARY`. For each line of input it measures once more and prints a
JSON line, so that libraries can take turns.

It runs under the interpreter that has the library; run.py starts one process a case and library.
"""

import importlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def measurements(case, library):
    """Yields (row, mode, seconds) of a case. A case module has a function a library, and `torch_like(T)` for two."""
    if library in ("tandem", "torch"):
        module = importlib.import_module(library)
        module.set_num_threads(os.cpu_count())
        yield from case.torch_like(module)
    elif hasattr(case, library):
        yield from getattr(case, library)()


def main():
    case, library = sys.argv[1:]
    left = measurements(importlib.import_module(case), library)
    for _, (row, mode, seconds) in zip(sys.stdin, left, strict=False):
        print(json.dumps({"row": row, "mode": mode, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
