"""Measures Tandem beside NumPy, PyTorch and JAX and writes one table: `make bench`, or `run.py [case ...]`.

Cases are the modules of micro/ and models/; each measures the same work with every library (`torch_like` serves Tandem
and PyTorch). Tandem and NumPy run in the project's .venv, PyTorch and JAX in build/bench-env. Libraries take turns
measurement by measurement, in some cases all of them several times (`TURNS`, the best counts), so that a busy machine
disturbs all of them alike.
"""

import argparse
import datetime
import importlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from compare.table import markdown

HERE = Path(__file__).resolve().parent
BENCH_PYTHON = HERE.parent / "build/bench-env/bin/python"
CASES = (
    "micro.dispatch",
    "micro.everyday",
    "micro.kernels",
    "micro.products",
    "micro.factorisations",
    "micro.compiling",
    "models.training",
    "models.deploy",
    "micro.operations",
    "micro.layouts",
)


def interpreters():
    """Library → the interpreter that has it, for the libraries that can be imported."""
    found = {}
    for library, python in (
        ("tandem", sys.executable),
        ("numpy", sys.executable),
        ("torch", BENCH_PYTHON),
        ("jax", BENCH_PYTHON),
        ("onnxruntime", BENCH_PYTHON),
    ):
        if (
            Path(python).exists()
            and not subprocess.run([python, "-c", f"import {library}"], capture_output=True).returncode
        ):
            found[library] = str(python)
        else:
            print(f"{library} cannot be imported by {python}: left out", file=sys.stderr)
    return found


def start(case, library, python, cache):
    """A process that measures a case with a library, each time that it is asked (compare/worker.py)."""
    # Compile times are measured from empty caches.
    environment = {**os.environ, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TANDEM_CACHE_DIR": cache}
    command = [python, str(HERE / "compare/worker.py"), case, library]
    return subprocess.Popen(command, text=True, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def ask(worker):
    """The next measurement; None after the last, or where the worker failed."""
    try:
        print(file=worker.stdin, flush=True)
        for line in worker.stdout:
            if line.startswith('{"row"'):
                return json.loads(line)
    except BrokenPipeError:
        pass
    return None


def run_case(case, pythons):
    """{row: {(library, mode): seconds}} of one case; what a library printed before a failure counts."""
    rows = {}
    with tempfile.TemporaryDirectory() as cache:
        workers = {name: start(case, name, python, str(Path(cache) / name)) for name, python in pythons.items()}
        while workers:
            for library, worker in list(workers.items()):
                if entry := ask(worker):
                    rows.setdefault(entry["row"], {})[library, entry["mode"]] = entry["seconds"]
                    continue
                worker.communicate()
                if worker.returncode:
                    print(f"{case}, {library}: failed ({worker.returncode})", file=sys.stderr)
                del workers[library]
    return rows


def versions(pythons):
    for library, python in pythons.items():
        text = subprocess.run(
            [python, "-c", f"import {library}; print({library}.__version__)"], capture_output=True, text=True
        )
        yield f"{library} {text.stdout.strip()}"


def processor():
    try:
        model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        model = None
    return model.group(1) if model else platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--machine", help="name of this machine in the file's name (default: made of its processor)")
    parser.add_argument("--print", action="store_true", help="print the table only, write no file")
    args = parser.parse_args()
    chosen = args.cases or CASES
    if unknown := set(chosen) - set(CASES):
        parser.error(f"unknown case {', '.join(unknown)}")

    pythons, tables, results, notes = interpreters(), [], {}, []
    for case in chosen:
        module = importlib.import_module(case)
        measured = {}
        for _ in range(getattr(module, "TURNS", 1)):
            print(f"{case} ...", file=sys.stderr, flush=True)
            for row, values in run_case(case, pythons).items():
                best = measured.setdefault(row, {})
                best.update({key: min(seconds, best.get(key, seconds)) for key, seconds in values.items()})
        texts = module.ROWS or {row: (row, module.UNIT) for row in measured}
        tables.append((module.TITLE, {f"{case}.{row}": text for row, text in texts.items()}))
        results.update({f"{case}.{row}": values for row, values in measured.items()})
        if hasattr(module, "summary"):
            notes.append(module.summary(measured))

    cpu, cores, today = processor(), os.cpu_count(), datetime.date.today().isoformat()
    text = (
        f"# Benchmarks, {today}\n\n"
        f"{cpu}, {cores} cores; {', '.join(versions(pythons))}; Python {platform.python_version()}.\n"
        "Best of repeats, lower is better. A ratio above 1 means that Tandem's best mode is faster than the peer's.\n"
        "Made by `make bench`.\n\n" + markdown(tables, results) + "\n" + "".join(f"\n{note}\n" for note in notes)
    )
    print(text)
    if not args.print:
        machine = args.machine or re.sub(r"[^a-z0-9]+", "-", f"{cpu} {cores} cores".lower()).strip("-")
        path = HERE / "results" / f"{today}-{machine}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f"Wrote {path.relative_to(HERE.parent)}.")


if __name__ == "__main__":
    main()
