"""scripts/gpu-check.sh on the emulated device: every step but the sanitizer, with tiny sizes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from devices import REAL

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(REAL, reason="the script itself is what runs this on a GPU")
def test_the_script_tries_everything_on_the_emulated_device():
    environment = {k: v for k, v in os.environ.items() if k not in ("TANDEM_TEST_DEVICE", "TANDEM_CACHE_DIR")}
    script = [str(ROOT / "scripts/gpu-check.sh"), "--emulated"]
    done = subprocess.run(script, capture_output=True, text=True, env={**environment, "JOBS": "1"}, timeout=900)
    report = (ROOT / "build/gpu-check/report.md").read_text()
    assert done.returncode == 0, done.stdout + done.stderr + report
    for name in ("preparing", "looking for a GPU", "tests marked gpu", "benchmarks, whose times mean nothing"):
        assert f"-- {name}: done in " in done.stdout, done.stdout
    assert "-- compute-sanitizer: left out, the emulated device checks memory itself" in done.stdout
    assert "times mean nothing" in report and "Failed" not in report
    for row in (
        "GELU of 64 MiB",
        "softmax over rows of 256",
        "softmax over rows of 16384",
        "layer_norm over rows of 256",
        "layer_norm over rows of 16384",
        "sums of the columns",
        "copy of 64 MiB",
        "GPT of 12 layers",
        "AdamW of 8 parameters",
        "`a + b` of one element",
    ):
        assert f"| {row}" in report, report
    # What of the copy's bandwidth kernels reach, beside what they are to reach.
    for row, bar in (
        ("GELU of 64 MiB", 90),
        ("layer_norm over rows of 16384, 64 MiB", 85),
        ("sums of the columns", 85),
    ):
        assert re.search(rf"^\| {row}[^|]*\| [^|]+ \| \d+ \| {bar} \|$", report, re.MULTILINE), report


@pytest.mark.slow
@pytest.mark.skipif(REAL, reason="the script itself is what runs this on a GPU")
def test_what_was_found_is_kept_when_the_script_is_ended(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("TANDEM_TEST_DEVICE", "TANDEM_CACHE_DIR")}
    script = [str(ROOT / "scripts/gpu-check.sh"), "--emulated"]
    environment |= {"JOBS": "1", "OUT": str(tmp_path)}
    running = subprocess.Popen(script, stdout=subprocess.PIPE, text=True, env=environment)
    for line in running.stdout:
        if line.startswith("-- looking for a GPU"):
            break
    assert "| looking for a GPU | done" in (tmp_path / "report.md").read_text()
    running.terminate()
    rest = running.communicate(timeout=60)[0]
    assert running.returncode == 1
    report = (tmp_path / "report.md").read_text()
    assert "| the rest | left out: the script was ended |" in report and report in rest


def test_an_unknown_option_shows_the_usage():
    done = subprocess.run([str(ROOT / "scripts/gpu-check.sh"), "--what"], capture_output=True, text=True)
    assert done.returncode == 2 and "--emulated runs all of it" in done.stderr
