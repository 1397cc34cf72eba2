"""The plug-in of GPUs is opened when one is asked for, and what is missing is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tandem

PLUGIN = Path(tandem.__file__).parent / "libtandem_cuda.so"


def run(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("TANDEM_CUDA", "TANDEM_CUDA_DRIVER")}
    path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, "-c", body], env={**kept, **path, **environment}, capture_output=True, text=True
    )


def error(body: str, **environment: str) -> str:
    done = run("import tandem\n" + body, **environment)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr.strip().splitlines()[-1]


def test_programs_without_a_gpu_open_nothing():
    body = (
        "import tandem\n"
        "x = tandem.ones(3, requires_grad=True)\n"
        "(x * 2).sum().backward()\n"
        "assert tandem.device('cuda').type == 'cuda'\n"  # names none yet
        "print('libtandem_cuda' in open('/proc/self/maps').read(), 'libcuda' in open('/proc/self/maps').read())"
    )
    done = run(body, TANDEM_CUDA="/nowhere/libtandem_cuda.so")
    assert done.stdout.strip() == "False False", done.stderr


def test_a_missing_driver_is_named():
    for body in ("tandem.ones(2, device='cuda')", "tandem.ones(2).to('cuda')", "tandem.ones(2).cuda()"):
        text = error(body, TANDEM_CUDA_DRIVER="/nowhere/libcuda.so.1")
        assert text.startswith("RuntimeError: ") and "computes on the CPU only here" in text, text
        assert "the CUDA driver /nowhere/libcuda.so.1 cannot be opened" in text, text
        assert "No such file or directory" in text and "TANDEM_CUDA_DRIVER names it" in text, text


def test_a_driver_that_is_none_is_named():
    text = error("tandem.ones(2, device='cuda')", TANDEM_CUDA_DRIVER="libm.so.6")
    assert "the CUDA driver libm.so.6 lacks cuInit" in text, text


def test_a_missing_plugin_is_named():
    text = error("tandem.ones(2, device='cuda')", TANDEM_CUDA="/nowhere/libtandem_cuda.so")
    assert "the devices /nowhere/libtandem_cuda.so cannot be opened" in text, text
    text = error("tandem.ones(2, device='xpu')")
    assert "device 'xpu' is not available" in text and "this build has no" in text, text


def test_the_reason_is_given_again():
    body = (
        "import tandem\n"
        "for _ in range(2):\n"
        "    try: tandem.ones(2, device='cuda')\n"
        "    except RuntimeError as e: print(e)\n"
        "print(tandem.ones(2).device, tandem._C._device_count('cuda'))"
    )
    lines = run(body, TANDEM_CUDA_DRIVER="/nowhere/libcuda.so.1").stdout.strip().splitlines()
    assert len(lines) == 3 and lines[0] == lines[1] and lines[2] == "cpu 0", lines


def test_it_exports_one_symbol():
    listed = subprocess.run(["nm", "-D", "--defined-only", str(PLUGIN)], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in listed.stdout.splitlines()] == ["tandemDevices"]
