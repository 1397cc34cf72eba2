"""Saved programs with code for GPUs: the same file runs on the CPU and, on the emulated GPU, with the same bits."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from c_program import CProgram, Memory, RunOptions
from devices import libraries
from emulated import DEVICE
from same_bits import assert_same_bits

import tandem
from tandem import nn

TARGETS = ["x86-64-v3", "sm_90"]


def saved(tmp_path, program) -> str:
    path = str(tmp_path / "program.tandem")
    tandem.export.save(program, path)
    return path


def body(x, y):
    """Generated kernels alone: rows, columns, a long sum, elements."""
    z = tandem.softmax(x * y, 1).exp() + x.sum(0)
    return z, z.t(), (x * 2).sum(), x.amax(0)


@pytest.mark.parametrize("shape", [(8, 40), (3, 9000), (5000, 3)])
def test_generated_kernels(tmp_path, shape):
    x, y = tandem.randn(shape), tandem.randn(shape)
    path = saved(tmp_path, tandem.export.export(body, (x, y), targets=TARGETS))
    here, there = tandem.export.load(path), tandem.export.load(path, device="cuda")
    for args in ((x, y), (tandem.randn(shape), tandem.randn(shape))):
        for a, b, c in zip(here(*args), there(*args), body(*args), strict=True):
            assert a.is_cpu and b.is_cpu
            assert_same_bits(a, c)
            assert_same_bits(b, c)


def test_where_the_code_is(tmp_path):
    program = tandem.export.export(body, (tandem.randn(8, 40), tandem.randn(8, 40)), targets=["x86-64-v3"])
    path = saved(tmp_path, program)
    with pytest.raises(NotImplementedError, match="has code for x86-64-v3; this GPU is sm_90"):
        tandem.export.load(path, device="cuda")
    tandem.export.add_target(path, "sm_90")
    names = zipfile.ZipFile(path).namelist()
    assert any(n.startswith("gpu/sm_90/") and n.endswith(".cubin") for n in names), names
    assert tandem.export.load(path, device="cuda", verify=True).target == "sm_90"
    assert tandem.export.load(path).target == "x86-64-v3"


def test_earlier_code_runs(tmp_path):
    """Of the same major number, or PTX; what is newer or of another major number does not."""
    args = (tandem.randn(8, 40), tandem.randn(8, 40))
    for targets, target in ((["sm_80", "compute_80"], "compute_80"), (["sm_90", "compute_80"], "sm_90")):
        path = saved(tmp_path, tandem.export.export(body, args, targets=["x86-64-v3", *targets]))
        assert tandem.export.load(path, device="cuda").target == target
    for targets in (["sm_80"], ["sm_100"], ["compute_100"]):
        path = saved(tmp_path, tandem.export.export(body, args, targets=["x86-64-v3", *targets]))
        with pytest.raises(NotImplementedError, match="this GPU is sm_90"):
            tandem.export.load(path, device="cuda")


def test_sizes_that_calls_choose(tmp_path):
    batch = tandem.export.Dim("batch", min=2, max=40)
    program = tandem.export.export(
        lambda x: tandem.softmax(x, 1) * x.sum(0), (tandem.randn(8, 40),), dynamic_shapes=({0: batch},), targets=TARGETS
    )
    there = tandem.export.load(saved(tmp_path, program), device="cuda")
    for n in (8, 2, 40, 17, 8):
        x = tandem.randn(n, 40)
        assert_same_bits(there(x), tandem.softmax(x, 1) * x.sum(0))


def test_a_training_step(tmp_path):
    """State that changes lies on the GPU; its copies are what the CPU's program has, to rounding of products."""
    tandem.manual_seed(2)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = tandem.optim.Adam(model.parameters(), lr=1e-2)

    def step(x, target):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    x, target = tandem.randn(10, 6), tandem.randint(0, 3, (10,))
    path = saved(tmp_path, tandem.export.training_step(step, (x, target), targets=TARGETS))
    here, there = tandem.export.load(path), tandem.export.load(path, device="cuda")
    for _ in range(6):
        x, target = tandem.randn(10, 6), tandem.randint(0, 3, (10,))
        tandem.testing.assert_close(there(x, target), here(x, target), rtol=1e-4, atol=1e-5)
    ours, theirs = here.state_dict, there.state_dict
    assert ours.keys() == theirs.keys()
    for name in ours:
        tandem.testing.assert_close(theirs[name].cpu(), ours[name], rtol=1e-3, atol=1e-4)


def test_values_that_are_wrong(tmp_path):
    """An error of a value leaves the caller's results unwritten, and the program usable."""
    x = tandem.randn(5, 4)
    path = saved(tmp_path, tandem.export.export(lambda x, i: x[i] * 2, (x, tandem.tensor([0, 4])), targets=TARGETS))
    there = tandem.export.load(path, device="cuda")
    with pytest.raises(IndexError, match="out of bounds"):
        there(x, tandem.tensor([0, 9]))
    assert_same_bits(there(x, tandem.tensor([3, 1])), x[tandem.tensor([3, 1])] * 2)


def test_tensors_elsewhere_are_refused(tmp_path):
    path = saved(tmp_path, tandem.export.export(body, (tandem.randn(8, 40), tandem.randn(8, 40)), targets=TARGETS))
    x = tandem.randn(8, 40)
    with pytest.raises(TypeError, match="forward: x is on cuda:0, and the program runs on cpu"):
        tandem.export.load(path)(x.to(DEVICE), x)
    with pytest.raises(
        TypeError, match="forward: y is on the CPU, and x on cuda:0: expected all of them on one device"
    ):
        tandem.export.load(path, device="cuda")(x.to(DEVICE), x)


def changing(x, i, state):
    """A result that is a view, an argument that changes, and one that is given back."""
    state.add_(x.sum(0))
    return (x * 2).t(), x[i], state


def test_tensors_stay_on_the_gpu(tmp_path):
    """Aligned or not, on streams that change; nothing is copied to the host."""
    n = tandem.export.Dim("n", min=4, max=20)
    args = (tandem.randn(8, 12), tandem.tensor([0, 3]), tandem.zeros(12))
    program = tandem.export.export(changing, args, targets=TARGETS, dynamic_shapes=({0: n}, None, None))
    there = tandem.export.load(saved(tmp_path, program), device="cuda")
    for size, offset, stream in ((8, 0, None), (20, 1, None), (8, 0, tandem.cuda.Stream()), (20, 5, None)):
        memory = tandem.randn(size * 12 + offset)
        x, i, state = memory[offset:].reshape(size, 12), tandem.tensor([1, 2]), tandem.randn(12)
        given = memory.to(DEVICE)[offset:].reshape(size, 12), i.to(DEVICE), state.to(DEVICE)
        tandem.cuda.synchronize()
        with tandem.cuda.stream(stream or tandem.cuda.current_stream()):
            results = there(*given)
            copies = [r.cpu() for r in results] + [given[2].cpu()]
        assert all(r.device == DEVICE and r.is_contiguous() for r in results)
        expected = changing(x, i, state)
        for got, want in zip(copies, [*expected, state], strict=True):
            assert_same_bits(got, want.contiguous())


def test_wrong_values_on_the_gpu(tmp_path):
    """Nobody waits in the run; whoever does next gets the error."""
    x = tandem.randn(5, 4)
    path = saved(tmp_path, tandem.export.export(lambda x, i: x[i] * 2, (x, tandem.tensor([0, 4])), targets=TARGETS))
    there = tandem.export.load(path, device="cuda")
    there(x.to(DEVICE), tandem.tensor([0, 9]).to(DEVICE))
    with pytest.raises(IndexError, match="out of bounds"):
        tandem.cuda.synchronize()
    assert_same_bits(there(x.to(DEVICE), tandem.tensor([3, 1]).to(DEVICE)).cpu(), x[tandem.tensor([3, 1])] * 2)


@pytest.fixture
def of_c(tmp_path, monkeypatch):
    path = saved(tmp_path, tandem.export.export(body, (tandem.randn(8, 40), tandem.randn(8, 40)), targets=TARGETS))
    monkeypatch.setenv("TANDEM_CUDA", str(libraries().parent / "python/tandem/libtandem_cuda.so"))
    program = CProgram(path)
    yield program
    program.close()


def test_from_c(of_c):
    assert of_c.library.tandem_program_target(of_c.program) == b"sm_90"
    x, y = tandem.randn(8, 40), tandem.randn(8, 40)
    want = body(x, y)
    results = [tandem.empty(w.shape) for w in want]
    pointers = (ctypes.c_void_p * 2)(x.data_ptr(), y.data_ptr())
    places = (ctypes.c_void_p * len(results))(*[r.data_ptr() for r in results])
    of_c.check(of_c.library.tandem_run(of_c.context, ctypes.c_size_t(0), pointers, None, places))
    for got, expected in zip(results, want, strict=True):
        assert_same_bits(got, expected.contiguous())


@pytest.mark.parametrize("own_stream", [False, True])
def test_memory_of_the_gpu_from_c(of_c, own_stream):
    """Arguments and results on the GPU, on the host, and some of each; in the caller's stream."""
    stream = tandem.cuda.Stream()
    options = RunOptions(16, stream.cuda_stream if own_stream else None, 7)
    for places in ("gggggg", "hhhhhh", "ghghgh", "gggggg"):
        x, y = tandem.randn(8, 40), tandem.randn(8, 40)
        want = [w.contiguous() for w in body(x, y)]

        def at(place, t):
            return t if place == "h" else t.to(DEVICE)

        given = [at(p, t) for p, t in zip(places, (x, y), strict=False)]
        results = [at(p, tandem.zeros(w.shape)) for p, w in zip(places[2:], want, strict=True)]
        tandem.cuda.synchronize()
        of_c.run_on(given, results, options)
        of_c.check(of_c.library.tandem_wait(of_c.context))
        for got, expected in zip(results, want, strict=True):
            assert_same_bits(got.cpu(), expected)


def test_runs_that_are_refused_in_c(of_c):
    x = tandem.randn(8, 40)
    results = [tandem.zeros(w.shape) for w in body(x, x)]
    with pytest.raises(RuntimeError, match="options of a run have 8 bytes, and should have 16"):
        of_c.run_on([x, x], results, RunOptions(8, None, 0))
    with pytest.raises(RuntimeError, match="of a later version, and ask for what this one lacks"):
        of_c.run_on([x, x], results, RunOptions(24, None, 1))
    places = (Memory * 2)(Memory(x.data_ptr(), 2, 1), Memory(x.data_ptr(), 1, 0))
    other = (Memory * 4)(*[Memory(r.data_ptr(), 1, 0) for r in results])
    with pytest.raises(RuntimeError, match="forward: x is on cuda:1, and the program runs on cuda:0"):
        of_c.check(of_c.library.tandem_run_on(of_c.context, ctypes.c_size_t(0), places, None, other, None))
    places[0].device_kind = 9
    with pytest.raises(RuntimeError, match="memory of a device of kind 9: expected 1, the CPU, or 2, CUDA"):
        of_c.check(of_c.library.tandem_run_on(of_c.context, ctypes.c_size_t(0), places, None, other, None))


def test_memory_of_the_gpu_from_cpp(tmp_path):
    """A program of users, built against the loader as it is installed, with Input::onGpu and Output::onGpu."""
    build = libraries().parent
    if "TANDEM_SANITIZE:STRING=\n" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("programs of users are not built under a sanitizer")
    prefix, program = tmp_path / "prefix", tmp_path / "on_gpu"
    install = ["cmake", "--install", build, "--component", "runtime", "--prefix", prefix]
    source = Path(__file__).parent / "program/on_gpu.cpp"
    compiler = [os.environ.get("CXX", "c++"), "-std=c++20", source, f"-I{prefix}/include", f"-L{prefix}/lib"]
    for command in (install, [*compiler, f"-Wl,-rpath,{prefix}/lib", "-ltandem_runtime", "-ldl", "-o", program]):
        subprocess.run([str(c) for c in command], check=True, capture_output=True)
    x = tandem.arange(24.0).reshape(3, 8) / 8
    y = 1 - tandem.arange(24.0).reshape(3, 8) / 16

    def body(x, y):
        return tandem.softmax(x * y, 1) + x.sum(1, keepdim=True)

    path = saved(tmp_path, tandem.export.export(body, (x, y), targets=TARGETS))
    done = subprocess.run([str(program), path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    target, first, second, error = done.stdout.splitlines()
    assert target == "sm_90"
    for line, want in ((first, body(x, y)), (second, body(y, x))):
        assert [float.fromhex(v) for v in line.split()] == want.flatten().tolist()
    assert error == "forward: x is on cuda:1, and the program runs on cuda:0"


def functions(x, i):
    """Library functions with texts of their own, and a result that is a view."""
    y = tandem.cat([x[i], x.sort(1)[0]]).cumsum(0) @ x.t()
    return y, y.t(), nn.functional.max_pool1d(x[None], 2), x.to(tandem.float64).t()


RUN = """
import sys, tandem
x, i = (tandem.load(sys.argv[2])[k] for k in "xi")
program = tandem.export.load(sys.argv[1], device="cuda")
results = program(x, i)
print(tandem.counters()["kernel_compiles"])
tandem.save({str(k): r for k, r in enumerate(results)}, sys.argv[3])
"""


@pytest.mark.parametrize("target", ["sm_90", "compute_80"])
def test_library_functions_without_nvrtc(tmp_path, target):
    """Their code is in the file, beside that of generated kernels."""
    n = tandem.export.Dim("n", min=4, max=8)
    x, i = tandem.randn(3, 8), tandem.tensor([2, 0])
    dims = ({1: n}, None)
    program = tandem.export.export(functions, (x, i), targets=["x86-64-v3", target], dynamic_shapes=dims)
    path = saved(tmp_path, program)
    tandem.save({"x": x, "i": i}, tmp_path / "given")
    files = [path, str(tmp_path / "given"), str(tmp_path / "results")]
    nowhere = {"TANDEM_NVRTC": "/nowhere/libnvrtc.so", "TANDEM_CUBLASLT": "/nowhere/libcublasLt.so"}
    environment = {**os.environ, **nowhere, "TANDEM_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", RUN, *files], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0"
    results = tandem.load(tmp_path / "results")
    for k, expected in enumerate(functions(x, i)):
        tandem.testing.assert_close(results[str(k)], expected.contiguous())


def test_the_code_of_library_functions_is_checked(tmp_path):
    program = tandem.export.export(functions, (tandem.randn(3, 8), tandem.tensor([2, 0])), targets=["x86-64-v3"])
    path = saved(tmp_path, program)
    tandem.export.add_target(path, "sm_90")
    with zipfile.ZipFile(path) as archive:
        texts = [m for m in archive.infolist() if m.filename.startswith("gpu/sm_90/s")]
        assert texts
        at = texts[0].header_offset + texts[0].file_size // 2
    content = bytearray(open(path, "rb").read())
    content[at + 200] ^= 1
    open(path, "wb").write(content)
    with pytest.raises(ValueError, match="is damaged"):
        tandem.export.load(path, device="cuda")
    tandem.export.load(path)  # which does not read it
