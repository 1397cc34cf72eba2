"""Importing this module gives the process GPUs: the emulated ones of tests/emulation, two of 4 GiB, unless
$TANDEM_REAL_GPU says that the machine's own are meant."""

from __future__ import annotations

import os
import subprocess
import sys

import stand_ins

REAL = os.environ.get("TANDEM_REAL_GPU", "") not in ("", "0")
if not REAL:
    os.environ.setdefault("TANDEM_CUDA_DRIVER", stand_ins.DRIVER)
    os.environ.setdefault("TANDEM_NVRTC", stand_ins.NVRTC)
    os.environ.setdefault("TANDEM_EMULATED_DEVICES", "2")

import tandem  # noqa: E402

DEVICES = tandem.cuda.device_count()


def run(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program of its own on the same GPUs."""
    path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, "-c", "import tandem\n" + body],
        env={**os.environ, **path, **environment},
        capture_output=True,
        text=True,
    )
