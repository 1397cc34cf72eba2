"""Kernel texts under NVRTC itself, which needs no GPU: what the generator and the library write for operations compiles
for every architecture that is shipped, and no elementwise kernel spills registers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import devices
import pytest
import stand_ins

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
FEW = (
    "add mul exp erf gelu pow where softmax layer_norm sum prod amax var cumsum sort gather scatter_add index_add "
    "matmul conv2d max_pool2d rand dropout lgamma"
).split()


def nvrtc() -> str | None:
    """The library of the wheel nvidia-cuda-nvrtc, or of the system."""
    for folder in map(Path, sys.path):
        for found in sorted(folder.glob("nvidia/*/lib/libnvrtc.so.*")):
            return str(found)
    return None


def texts(folder: Path, names: list[str]) -> list[Path]:
    """What the table's operations of these names have compiled on the emulated device, in a process of its own."""
    tables = stand_ins.ROOT / "tests/python"
    program = (
        "import itertools, sys, tandem\n"
        "from operations import VISIBLE, Typed, dtypes\nfrom references import UNSPECIFIED\n"
        "from samples import samples\nfrom devices import all_there, emulate\nemulate()\n"
        "for name in sys.argv[1:] or VISIBLE:\n"
        "    op = VISIBLE[name]\n"
        "    if name in UNSPECIFIED:\n        continue\n"
        "    for dtype in dtypes(op):\n"
        "        for sample in itertools.islice(samples(op, dtype), 2):\n"
        "            row = Typed.of(op, sample, dtype, 'contiguous')\n"
        "            moved = all_there((row.args, row.kwargs), tandem.device('cuda'))\n"
        "            if row.tensors:\n                Typed(op, *moved, dtype, 'contiguous').run()\n"
    )
    path = os.pathsep.join([str(tables / "tables"), str(tables), *sys.path])
    environment = {
        **os.environ, "TANDEM_CUDA_DRIVER": stand_ins.DRIVER, "TANDEM_NVRTC": stand_ins.NVRTC,
        "TANDEM_CACHE": "off", "TANDEM_DUMP": str(folder), "PYTHONPATH": path,
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program, *names], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return sorted(folder.glob("*.cu"))


def compile_all(files: list[Path], architectures: tuple[str, ...]) -> None:
    library = nvrtc()
    assert library is not None
    compiler = stand_ins.Compiler(library)
    for file in files:
        text = file.read_text()
        for architecture in architectures:
            options = ["--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--ptxas-options=-v"]
            compiler.compile(text, *options, name=file.name, architecture=architecture)
            spills = [int(n) for n in re.findall(r"(\d+) bytes spill", compiler.log)]
            kernel = text.partition("struct Args")[2]  # of a signature
            elementwise = kernel and "shuffleDown(" not in kernel and "__syncthreads(" not in kernel
            assert not (elementwise and any(spills)), f"{file.name} for {architecture} spills:\n{compiler.log}"


needed = pytest.mark.skipif(nvrtc() is None, reason="the wheel nvidia-cuda-nvrtc is not installed")


@needed
def test_texts_of_some_operations(tmp_path):
    files = texts(tmp_path, FEW)
    assert len(files) > 100
    compile_all(files[:: max(1, len(files) // 40)], ARCHITECTURES)


@needed
@pytest.mark.skipif(not devices.SLOW, reason="slow: run with TANDEM_SLOW=1")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_texts_of_all_operations(tmp_path, architecture):
    compile_all(texts(tmp_path, []), (architecture,))
