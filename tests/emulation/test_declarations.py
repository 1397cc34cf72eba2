"""Our own declarations of the vendor's libraries beside the vendor's headers: names, parameters, layouts and values.
The headers of the driver and of NVRTC are installed with the tests; others are compared where the machine has them, or
$TANDEM_CUDA_HEADERS, folders with colons between, says where."""

import glob
import os
import pathlib
import subprocess
import sysconfig

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent

# The vendor's header of each file of declarations/, and whether the tests install it.
HEADERS = {
    "driver": ("cuda.h", True),
    "nvrtc": ("nvrtc.h", True),
    "cublaslt": ("cublasLt.h", False),
    "cudnn": ("cudnn_backend.h", False),
    "cusolver": ("cusolverDn.h", False),
    "nccl": ("nccl.h", False),
}


def folders():
    packages = glob.glob(f"{sysconfig.get_path('purelib')}/nvidia/*/include")
    toolkits = glob.glob("/usr/local/cuda*/include") + glob.glob("/usr/local/cuda*/targets/*/include")
    named = [folder for folder in os.environ.get("TANDEM_CUDA_HEADERS", "").split(":") if folder]
    return [*named, *packages, *toolkits]


def compile_with(source, more=()):
    command = ["c++", "-std=c++20", "-fsyntax-only", f"-I{ROOT}", f"-I{HERE / 'declarations'}"]
    for folder in folders():
        command.append(f"-isystem{folder}")
    return subprocess.run([*command, *more, str(source)], capture_output=True, text=True)


@pytest.mark.parametrize("library", HEADERS)
def test_ours_are_the_vendors(library):
    header, installed = HEADERS[library]
    if not any((pathlib.Path(folder) / header).exists() for folder in folders()):
        assert not installed, f"{header} belongs to the test's packages"
        pytest.skip(f"{header} is not installed")
    done = compile_with(HERE / "declarations" / f"{library}.cpp")
    assert done.returncode == 0, done.stderr


def test_every_file_is_compared():
    assert {path.stem for path in (HERE / "declarations").glob("*.cpp")} == set(HEADERS)


WRONG = {
    "a value": ("TANDEM_SAME_VALUE(tandem::cuda::kOutOfMemory, CUDA_ERROR_INVALID_VALUE)", "kOutOfMemory is not"),
    "a parameter": ("TANDEM_SAME_FUNCTION(x, cuInit, (void* flags))", "cuInit"),
    "a size": ("TANDEM_SAME_FUNCTION(x, cuInit, (unsigned long flags))", "cuInit"),
    "a number of parameters": ("TANDEM_SAME_FUNCTION(x, cuInit, (unsigned flags, int more))", "cuInit"),
    "a pointer's target": ("TANDEM_SAME_FUNCTION(x, cuDeviceGetCount, (long* count))", "cuDeviceGetCount"),
    "a member": (
        "TANDEM_SAME_MEMBER(tandem::cuda::KernelNodeParameters, extra, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams)",
        "extra lies elsewhere",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_declaration_is_found(kind, tmp_path):
    statement, named = WRONG[kind]
    source = tmp_path / "wrong.cpp"
    source.write_text(f'#include <cuda.h>\n#include "agree.h"\n#include "runtime/device/cuda/driver.h"\n{statement}\n')
    done = compile_with(source)
    assert done.returncode != 0
    assert named in done.stderr
