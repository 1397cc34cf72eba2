"""What tests of programs on a GPU share: the device, which stand-ins for NVIDIA's libraries are here."""

from __future__ import annotations

import os
import subprocess
import sys

import devices
import pytest

import tandem

devices.emulate()
DEVICES = tandem.cuda.device_count()
MARKS = [pytest.mark.gpu, pytest.mark.skipif(DEVICES == 0, reason="no GPU")]
two = pytest.mark.skipif(DEVICES < 2, reason="one GPU")
late = pytest.mark.skipif(devices.REAL, reason="only the emulation's streams are late for certain")


def ones(*size: int, **options) -> tandem.Tensor:
    return tandem.ones(*size, device="cuda", **options)


def run(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program of its own on the same GPUs."""
    path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, "-c", "import tandem\n" + body],
        env={**os.environ, **path, **environment},
        capture_output=True,
        text=True,
    )
