"""Kernels that come with the package: a GPU runs what they are for without NVRTC, and nothing is compiled."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import devices
import pytest

import tandem

devices.emulate()

ROOT = Path(__file__).resolve().parents[2]
# Both run what the other does: one on the device that notes code, one on the emulated GPU and on the CPU.
OPERATIONS = """
import sys
import tandem
import tandem.nn.functional as F

def operations():
    x, y = tandem.arange(12.0).reshape(3, 4), tandem.ones(3, 4)
    w = tandem.ones(4, 5, requires_grad=True)
    (F.relu(x @ w)).sum().backward()
    index = tandem.tensor([2, 0])
    return [x + y, x * 2, x.exp(), x.sum(), x.sum(0), x.t().contiguous(), x[index], tandem.cat([x, y]), w.grad]
"""
SHIP = """
sys.path.insert(0, "scripts")
import pathlib, ship_kernels
with tandem.device(tandem._C._survey_device("cuda", "sm_90")):
    operations()
made = tandem._C._compile_surveyed(sys.argv[1], 0, 2) + tandem._C._compile_surveyed(sys.argv[1], 1, 2)
assert made > 5, made
ship_kernels.pack(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
"""
RUN = """
expected = operations()
before = tandem.counters()["kernel_compiles"]
with tandem.device("cuda"):
    results = operations()
print(tandem.counters()["kernel_compiles"] - before)
for a, b in zip(expected, results, strict=True):
    assert b.device.type == "cuda"
    tandem.testing.assert_close(b.cpu(), a)
try:
    tandem.ones(3, device="cuda").sinh()
except RuntimeError as error:
    print(error)
"""


def linked(to: Path) -> Path:
    """A copy of the package without its kernels, of links where the file system allows."""

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)

    package = Path(tandem.__file__).parent
    shutil.copytree(package, to / "tandem", copy_function=link, ignore=shutil.ignore_patterns("kernels", "__pycache__"))
    return to


def python(program: str, *args: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", OPERATIONS + program, *args],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("target", ["sm_90", "compute_80"])
def test_a_gpu_without_nvrtc(tmp_path, target):
    """Machine code for the GPU, and PTX for an earlier one."""
    package = linked(tmp_path / "package")
    kernels, cache = package / "tandem/kernels", tmp_path / "cache"
    python(SHIP, target, str(cache), str(kernels), PYTHONPATH=str(package), TANDEM_CACHE_DIR=str(cache))
    assert [path.name for path in kernels.iterdir()] == [f"{target}.pack"]
    nowhere = {"PYTHONPATH": str(package), "TANDEM_CACHE_DIR": str(tmp_path / "empty")}
    nowhere["TANDEM_CUBLASLT"] = "/nowhere/libcublasLt.so"
    compiled, error = python(RUN, **nowhere, TANDEM_NVRTC="/nowhere/libnvrtc.so").splitlines()
    assert compiled == "0"
    assert "compiled by NVRTC, which cannot be opened" in error

    # What is damaged is as good as not there.
    pack = kernels / f"{target}.pack"
    content = bytearray(pack.read_bytes())
    count = struct.unpack_from("<Q", content, 8)[0]
    for k in range(count):
        _, at, size = struct.unpack_from("<16sQQ", content, 16 + 32 * k)
        content[at + size // 2] ^= 1
    pack.write_bytes(content)
    assert int(python(RUN, **nowhere).splitlines()[0]) >= count // 2


def test_earlier_code_of_the_same_generation_alone(tmp_path):
    """Machine code for another generation is not tried."""
    package = linked(tmp_path / "package")
    cache = tmp_path / "cache"
    environment = {"PYTHONPATH": str(package), "TANDEM_CACHE_DIR": str(cache)}
    python(SHIP, "sm_80", str(cache), str(package / "tandem/kernels"), **environment)
    environment["TANDEM_CACHE_DIR"] = str(tmp_path / "empty")
    assert int(python(RUN, **environment).splitlines()[0]) > 5


def test_by_nvrtc_itself(tmp_path):
    """The packs that wheels get have machine code and PTX."""
    from tandem import _nvidia

    found = [path for folder in _nvidia.folders() for path in Path(folder).glob("libnvrtc.so.1*")]
    if not found:
        pytest.skip("needs NVRTC")
    for target, magic in (("sm_100", b"\x7fELF"), ("compute_80", b"//")):
        cache, kernels = tmp_path / target, tmp_path / f"{target}.kernels"
        environment = {"TANDEM_CACHE_DIR": str(cache), "TANDEM_NVRTC": str(found[0])}
        python(SHIP, target, str(cache), str(kernels), **environment)
        content = (kernels / f"{target}.pack").read_bytes()
        count = struct.unpack_from("<Q", content, 8)[0]
        starts = [struct.unpack_from("<16sQQ", content, 16 + 32 * k)[1] + 32 for k in range(count)]
        assert count > 5 and all(content[at:].lstrip().startswith(magic) for at in starts)
