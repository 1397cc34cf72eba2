"""The scripts of tests/python/package/scripts under PyTorch and by Tandem, eager: how long each takes, and how far its
losses are apart. `--record` writes PyTorch's losses to the file that the test compares with.

    .venv/bin/python benchmarks/scripts.py [--torch PYTHON] [--record] [script ...]

Each library runs a script four times in one process, which it enters with everything imported; the time is the
smallest after the first, in which Tandem may compile kernels and PyTorch tunes its own. The two take turns.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parent / "tests/python/package/scripts"
LOSSES = SCRIPTS / "losses.json"

WORKER = """
import contextlib, io, json, runpy, sys, time
if sys.argv[1] == "tandem":
    import tandem
    tandem.install_as_torch()
import torch
path, times = sys.argv[2], []
sys.argv = [path]
for _ in range(4):
    torch.set_default_dtype(torch.float32)
    printed = io.StringIO()
    start = time.perf_counter()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(path, run_name="__main__")
    times.append(time.perf_counter() - start)
print(json.dumps([min(times[1:]), printed.getvalue()]))
"""


def losses(text):
    """The numbers behind `loss` in every line that a script printed."""
    return [[float(x) for x in line.split("loss ")[1].split()] for line in text.splitlines() if "loss " in line]


def run(python, library, script):
    """(seconds, losses) of a script; None where it failed, after saying why."""
    command = [python, "-c", WORKER, library, str(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{script.name}, {library}: {done.stderr}", file=sys.stderr)
        return None
    seconds, text = json.loads(done.stdout.splitlines()[-1])
    return seconds, losses(text)


def distance(a, b):
    """The largest relative distance of two lists of losses."""
    pairs = [(x, y) for xs, ys in zip(a, b, strict=True) for x, y in zip(xs, ys, strict=True)]
    return max(abs(x - y) / max(abs(y), 1e-12) for x, y in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", help="names without .py; all by default")
    parser.add_argument(
        "--torch", default=str(HERE.parent / "build/bench-env/bin/python"), help="a Python with PyTorch"
    )
    parser.add_argument("--record", action="store_true", help="write PyTorch's losses to losses.json")
    options = parser.parse_args()
    chosen = [SCRIPTS / f"{s}.py" for s in options.scripts] or sorted(SCRIPTS.glob("*.py"))
    recorded = json.loads(LOSSES.read_text()) if LOSSES.exists() else {}
    print(
        "| script | PyTorch, ms | Tandem, ms | PyTorch / Tandem | losses differ by |\n| --- | --- | --- | --- | --- |"
    )
    product, count = 1.0, 0
    for script in chosen:
        theirs = run(options.torch, "torch", script)
        if theirs is None:
            continue
        reference, expected = theirs
        recorded[script.stem] = expected
        if options.record:
            rows = (f"{json.dumps(name)}: {json.dumps(values)}" for name, values in sorted(recorded.items()))
            LOSSES.write_text("{\n" + ",\n".join(rows) + "\n}\n")
        ours = run(sys.executable, "tandem", script)
        if ours is None:
            continue
        own, actual = ours
        row = f"{reference * 1e3:.1f} | {own * 1e3:.1f} | {reference / own:.2f} | {distance(actual, expected):.1e}"
        print(f"| {script.stem} | {row} |", flush=True)
        product, count = product * reference / own, count + 1
    if count:
        print(f"\ngeometric mean of the ratios: {product ** (1 / count):.2f}")


if __name__ == "__main__":
    main()
