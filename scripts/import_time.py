"""Prints how long `import tandem` takes beside `import numpy`: the best of new processes of each, which take turns."""

from __future__ import annotations

import subprocess
import sys

ROUNDS = 15


def milliseconds(module: str) -> float:
    """The time of the import alone, in a process of its own."""
    code = f"import time; t = time.perf_counter(); import {module}; print((time.perf_counter() - t) * 1e3)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


numpy, tandem = (min(times) for times in zip(*((milliseconds("numpy"), milliseconds("tandem")) for _ in range(ROUNDS))))
print(f"import tandem: {tandem:.1f} ms, {tandem / numpy:.2f} of import numpy ({numpy:.1f} ms)")
