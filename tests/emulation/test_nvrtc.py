"""The stand-in for NVRTC: options, errors, what it must refuse, its cache; and the real one, where it is installed, on
the same texts."""

import concurrent.futures
import ctypes
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import stand_ins
import test_driver
import test_shim
import test_threads
from stand_ins import CompileError, Compiler

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def compiler():
    return Compiler()


def test_version_and_architectures(compiler):
    major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    assert compiler.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0
    assert major.value == 13
    compiler.library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    known = (ctypes.c_int * count.value)()
    compiler.library.nvrtcGetSupportedArchs(known)
    assert {80, 90, 100} <= set(known)


def test_errors_name_the_line_of_the_text(compiler):
    text = 'extern "C" __global__ void f(int* x) {\n  x[0] = 1;\n  x[1] = unknown;\n}\n'
    with pytest.raises(CompileError, match=r"kernel\.cu:3:\d+: error: .*unknown"):
        compiler.compile(text, name="kernel.cu")
    # Also where something before the line was changed.
    text = 'extern "C" __global__ void f(int* x) {\n  extern __shared__\n  float s[];\n  s[1] = unknown;\n}\n'
    with pytest.raises(CompileError, match=r"test\.cu:4:\d+: error: .*unknown"):
        compiler.compile(text)


REFUSED = [
    "#include <cstdio>\n",
    "__device__ void f(long long* x) { atomicAdd(x, 1LL); }",
    "__device__ void f(float* x) { atomicMin(x, 1.0f); }",
    "__device__ void f(unsigned short* x) { atomicAdd(x, (unsigned short)1); }",
    "__device__ int f(int x) { return __builtin_ctz(x); }",
    "struct S { int x; }; __device__ S f(const S* x) { return __ldg(x); }",
    "struct S { int x; }; __device__ S f(S x) { return __shfl_sync(~0u, x, 0); }",
    "__device__ int* f(int* x) { return __shfl_sync(~0u, x, 0); }",
    "__device__ float f(float x) { return __reduce_add_sync(~0u, x); }",
    "__device__ void f() { threadIdx.x = 1; }",
    "__device__ std::size_t f() { return 0; }",
    "__device__ int64_t f() { return 0; }",
    "__device__ float f() { return INFINITY; }",
    "__device__ unsigned f(unsigned x) { return __popcount(x); }",
]


@pytest.mark.parametrize("text", REFUSED)
def test_texts_that_are_refused(compiler, text):
    with pytest.raises(CompileError, match="error"):
        compiler.compile(text)


def test_functions_with_other_bits_are_refused(compiler):
    """NVRTC has them; a GPU's results are not a host's."""
    for call in ("expf(x)", "sinf(x)", "powf(x, x)", "__expf(x)", "rsqrtf(x)", "tanhf(x)", "__fdividef(x, x)"):
        with pytest.raises(CompileError, match="error"):
            compiler.compile(f"__device__ float f(float x) {{ return {call}; }}")


@pytest.mark.parametrize("declaration", ["int x = 1", "int x = 0"])
def test_shared_memory_has_no_initialiser(gpu, declaration):
    text = f'extern "C" __global__ void f(int* o) {{ __shared__ {declaration}; o[0] = x++; }}'
    with pytest.raises(stand_ins.DriverError, match="initialiser"):
        gpu.kernels(text, "f")


@pytest.mark.parametrize("option", ["--gpu-architecture=sm_12", "--fast", "--use_fast_math", "--ftz=true", "-O3"])
def test_options_that_are_refused(compiler, option):
    with pytest.raises(CompileError, match=re.escape(option)):
        compiler.compile("", option)


def test_options(gpu):
    text = """
    extern "C" __global__ void value(float* out, int n) {
    #ifdef UNSEEN
      this is no text;
    #endif
      float a = 1.0f + n * 0x1p-12f;
      out[0] = a * a - (1.0f + 0x1p-11f) + VALUE;
    }"""
    for fmad, expected in (("false", 0.0), ("true", 2.0**-24)):
        out = gpu.over(text, "value", out=((1,), np.float32), options=[f"--fmad={fmad}", "-DVALUE=0.0f", "-UUNSEEN"])
        assert out == expected
    # Contraction is what NVRTC does unless it is told not to.
    assert gpu.over(text, "value", out=((1,), np.float32), options=["--define-macro=VALUE=2"]) == 2


def test_kernels_that_macros_name(gpu):
    text = """
    #define KERNEL(name, v) extern "C" __global__ void name##_v(int* out) { out[0] = v; }
    KERNEL(one, 1)
    KERNEL(two, 2)
    #if 0
    KERNEL(three, 3)
    #endif
    extern "C" __global__ void CALLED(int* out) { out[0] = 4; }
    """
    out = gpu.empty((1,), np.int32)
    for name, expected in (("one_v", 1), ("two_v", 2), ("four", 4)):
        gpu.launch(gpu.kernels(text, name, options=["-DCALLED=four"]), 1, 1, out)
        assert out.numpy() == expected
    with pytest.raises(stand_ins.DriverError, match="500"):
        gpu.kernels(text, "three_v", options=["-DCALLED=four"])


def test_kernels_that_the_preprocessor_takes_away(gpu):
    text = """
    #ifdef WITH
    extern "C" __global__ void with(int* out) { out[0] = 1; }
    #endif
    // extern "C" __global__ void comment(int* out) {}
    extern "C" __global__ void always(int* out);
    extern "C" __global__ void always(int* out) { out[0] = 2; }"""
    gpu.kernels(text, "always")
    with pytest.raises(stand_ins.DriverError, match="500"):
        gpu.kernels(text, "with")
    gpu.kernels(text, "with", "always", options=["-DWITH"])


def test_the_cache(tmp_path):
    program = """
import sys, stand_ins
sys.stdout.buffer.write(stand_ins.Compiler().compile('extern "C" __global__ void f(int* x) { x[0] = 1; }'))"""
    environment = {**os.environ, "TANDEM_CACHE_DIR": str(tmp_path)}

    def run():
        command = [sys.executable, "-c", program]
        return subprocess.run(command, cwd=HERE, env=environment, capture_output=True, check=True).stdout

    first = run()
    (kept,) = (tmp_path / "emulated").iterdir()
    assert kept.read_bytes() == first
    kept.write_bytes(b"something else")
    assert run() == b"something else"


def test_threads_compile_at_once(gpu):
    def value(k):
        return compiler.compile(f'extern "C" __global__ void f(int* x) {{ x[0] = {k}; }}')

    compiler = Compiler()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        images = list(pool.map(value, range(24)))
    out = gpu.empty((1,), np.int32)
    for k, image in enumerate(images):
        gpu.launch(gpu.make("cuModuleGetFunction", gpu.load(image), b"f"), 1, 1, out)
        assert out.numpy() == k


TOGETHER = """
import ctypes, sys, tandem
from stand_ins import NVRTC
stub = ctypes.CDLL(NVRTC)
x = tandem.ones(8, 40, device='cuda')
def plan(x):
    return x.softmax(0).sum(1), x.cumsum(0).amax(0), (x * 2).sum(0)
program = tandem.compile(plan)
stub.tandemCompileTogether(int(sys.argv[1]), int(sys.argv[2]))
try:
    program(x)
except RuntimeError as e:
    print(e)
print(stub.tandemCompiledTogether())
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor compiles one text at a time")
def test_the_kernels_of_a_plan_are_compiled_at_once():
    """Two compilations wait for each other; were they made in turn, the first would be given up and the plan fail."""
    libraries = {"TANDEM_CUDA_DRIVER": stand_ins.DRIVER, "TANDEM_NVRTC": stand_ins.NVRTC}
    environment = {**os.environ, **libraries, "TANDEM_CACHE": "off"}

    def run(count, seconds):
        command = [sys.executable, "-c", TOGETHER, str(count), str(seconds)]
        done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    assert int(run(2, 60)) >= 2
    # That many never meet: the error is the compiler's.
    assert "did not come" in run(1000, 0)


# ---- the real NVRTC, which needs no GPU


def real_nvrtc():
    if "TANDEM_REAL_NVRTC" in os.environ:
        return os.environ["TANDEM_REAL_NVRTC"]
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else []:
        for found in pathlib.Path(folder).glob("*/lib/libnvrtc.so.1*"):
            return str(found)
    return None


@pytest.fixture(scope="module")
def real():
    path = real_nvrtc()
    if path is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    return Compiler(path)


def shim_text():
    class Loader:
        def kernels(self, text, *names):
            return text

    return test_shim.kernels.__wrapped__(Loader())


TEXTS = {
    "sum": test_threads.SUM,
    "shuffles": test_threads.SHUFFLES,
    "atomics": test_threads.ATOMICS,
    "add": test_driver.ADD,
    "vectors": test_shim.VECTORS,
    "functions": shim_text,
}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", TEXTS)
def test_nvrtc_takes_the_texts_of_these_tests(real, name, architecture):
    text = TEXTS[name]
    assert real.compile(text() if callable(text) else text, architecture=architecture)


@pytest.mark.parametrize("text", REFUSED)
def test_nvrtc_refuses_them_too(real, text):
    with pytest.raises(CompileError, match="error"):
        real.compile(text)
