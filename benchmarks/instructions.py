"""Instructions of a few calls, counted by callgrind: a figure that a busy machine does not disturb.

    instructions.py             compares with instructions.json; exits 1 if a call takes 3 % more than recorded
    instructions.py --record    writes instructions.json

A call's count is the difference of two runs of different length over the difference of their lengths, so that start-up
and compilation cancel. On a GPU they are what the host does for a launch, with the emulated driver, which takes kernels
and does not run them then. Counts belong to a Python version and an instruction set; both are recorded.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RECORD = Path(__file__).with_name("instructions.json")
TOLERANCE = 0.03
SHORT, LONG = 2_000, 42_000
SETUP = "import gc, tandem; tandem.set_num_threads(1); "
CALLS = {
    "a + b": ("a, b = tandem.ones(1), tandem.ones(1)", "a + b"),
    "a + b with tape": ("a, b = tandem.ones(1, requires_grad=True), tandem.ones(1)", "a + b"),
    "compiled call": ("a, f = tandem.ones(1), tandem.compile(lambda a: a + 1.0)", "f(a)"),
}
LIBRARIES = Path(__file__).parents[1] / "build" / os.environ.get("PRESET", "release") / "lib"
DRIVER, NVRTC = (LIBRARIES / f"libtandem_emulated_{name}.so" for name in ("driver", "nvrtc"))
# What is queued so far runs; then kernels are taken and not run.
IDLE = f"tandem.cuda.synchronize(); import ctypes; ctypes.CDLL({str(DRIVER)!r}).tandemEmulatedIdle()"
GPU_CALLS = {
    "a + b on a GPU": ("a, b = (tandem.ones(1, device='cuda') for _ in range(2))", "a + b"),
    "with tape on a GPU": ("a, b = (tandem.ones(1, device='cuda', requires_grad=True) for _ in range(2))", "a + b"),
}


def count(prepare, call, loops, cache, gpu):
    """Instructions of a process that makes `loops` calls."""
    # In a function, where names are quick to look up.
    code = (
        f"{SETUP}\ndef run():\n    {prepare}\n    {call}\n    {IDLE if gpu else 'pass'}\n"
        f"    for _ in range({loops}): {call}\ngc.disable()\nrun()\n"
    )
    out = Path(cache) / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, "-c", code]
    environment = {"PYTHONHASHSEED": "0", "TANDEM_CACHE_DIR": cache, "PATH": "/usr/bin:/bin"}
    if gpu:  # Valgrind has few addresses to give
        emulated = {"TANDEM_CUDA_DRIVER": DRIVER, "TANDEM_NVRTC": NVRTC, "TANDEM_EMULATED_ADDRESSES": 1 << 32}
        environment |= {name: str(value) for name, value in emulated.items()}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode:
        sys.exit(f"{call}: {run.stderr.strip()[-2000:]}")
    return int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M).group(1))


def measure():
    counts = {}
    for name, (prepare, call) in (CALLS | GPU_CALLS).items():
        gpu = name in GPU_CALLS
        with tempfile.TemporaryDirectory() as cache:
            count(prepare, call, 1, cache, gpu)  # fills the kernel cache
            short, long = (count(prepare, call, loops, cache, gpu) for loops in (SHORT, LONG))
        counts[name] = round((long - short) / (LONG - SHORT))
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write what is measured to instructions.json")
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed (Debian package valgrind)")
    counts = measure()
    where = {"python": platform.python_version(), "machine": platform.machine()}
    if args.record:
        RECORD.write_text(json.dumps({**where, "instructions": counts}, indent=2) + "\n")
    elif not RECORD.exists():
        sys.exit(f"{RECORD.name} is not there: make it with --record")
    recorded = json.loads(RECORD.read_text())
    if (was := {key: recorded[key] for key in where}) != where:
        print(f"recorded on {was}, measured on {where}: compare with care")
    worse = False
    for name, now in counts.items():
        before = recorded["instructions"][name]
        change = now / before - 1
        verdict = "more" if change > TOLERANCE else "fewer: record it" if change < -TOLERANCE else "same"
        worse = worse or change > TOLERANCE
        print(f"{name:18} {now:8,} instructions, recorded {before:,} ({change:+.1%}, {verdict})")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
