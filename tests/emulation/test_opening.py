"""The plug-in of GPUs is opened when one is asked for, and what is missing is said."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from stand_ins import DRIVER, NVRTC

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
    done = run(body, LD_DEBUG="files")
    assert done.stdout.strip() == "False False", done.stderr
    assert "_C.cpython" in done.stderr and "libtandem_cuda" not in done.stderr and "libcuda" not in done.stderr


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


# ---- with the stand-ins


def on_gpu(body: str, **environment: str) -> str:
    """What a program prints."""
    stand_ins = {"TANDEM_CUDA_DRIVER": DRIVER, "TANDEM_NVRTC": NVRTC}
    done = run("import tandem\n" + body, **stand_ins, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_programs_run_there():
    body = (
        "x = tandem.ones(2, device='cuda')\n"
        "y = tandem.arange(4.0).cuda().reshape(2, 2).to('cuda:0')\n"
        "print(x.device, y.is_cuda, (x + y).cpu().tolist(), y.t().contiguous().tolist())\n"
        "print(tandem.softmax(y, 1).cpu().equal(tandem.softmax(y.cpu(), 1)))"
    )
    assert on_gpu(body).splitlines() == ["cuda:0 True [[1.0, 2.0], [3.0, 4.0]] [[0.0, 2.0], [1.0, 3.0]]", "True"]


def test_a_forked_process_is_told():
    body = (
        "import os\n"
        "x = tandem.ones(2, device='cuda')\n"
        "if os.fork() == 0:\n"
        "    assert tandem.ones(2).sum().item() == 2\n"
        "    try: x + 1\n"
        "    except RuntimeError as e: print(e, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print((x + 1).tolist())"
    )
    lines = on_gpu(body).splitlines()
    assert "cannot be used in a process that was forked" in lines[0] and lines[1] == "[2.0, 2.0]", lines


def test_the_machine_code_is_kept_on_the_disk(tmp_path):
    """Of generated kernels, and of library functions: the next process compiles none, and opens no NVRTC."""
    body = (
        "x = tandem.arange(6.0, device='cuda').reshape(2, 3)\n"
        "y = tandem.compile(lambda x: (x.exp() * 2 + 1).sum(0).cumsum(0))(x).tolist()\n"
        "print(tandem.counters()['kernel_compiles'] > 0, 'nvrtc' in open('/proc/self/maps').read(), y)"
    )
    kept = {"TANDEM_CACHE_DIR": str(tmp_path), "TANDEM_CACHE": ""}
    first = on_gpu(body, **kept)
    assert first.startswith("True True [")
    second = on_gpu(body, **kept)
    assert second == first.replace("True True", "False False")
    assert on_gpu(body, **{**kept, "TANDEM_CACHE": "off"}) == first


def test_files_of_the_cache_that_are_damaged_are_made_again(tmp_path):
    """Each process that meets one compiles its kernel, and leaves a good one; files are replaced as a whole."""
    body = (
        "x = tandem.arange(6.0, device='cuda').reshape(2, 3)\n"
        "y = tandem.compile(lambda x: (x.exp() * 2 + 1).sum(0).cumsum(0))(x).tolist()\n"
        "print(tandem.counters()['kernel_compiles'], y)"
    )
    kept = {"TANDEM_CACHE_DIR": str(tmp_path), "TANDEM_CACHE": ""}
    first = on_gpu(body, **kept)
    (code,) = tmp_path.glob("sm_*")
    files = sorted(p for p in code.rglob("*") if p.is_file())
    good = [p.read_bytes() for p in files]
    assert first.startswith(f"{len(files)} [") and all(p.suffix == ".o" for p in files), files
    for damage in (
        lambda b: b"",
        lambda b: b[: len(b) // 2],
        lambda b: bytes([*b[:-9], b[-9] ^ 1, *b[-8:]]),
        bytes.swapcase,
    ):
        for path, content in zip(files, good, strict=True):
            path.write_bytes(damage(content))
        assert on_gpu(body, **kept) == first
        assert [p.read_bytes()[:32] for p in files] == [b[:32] for b in good]
        assert on_gpu(body, **kept) == "0" + first[1:]
    for path in files:  # nothing else is left there
        path.unlink()
    assert not [p for p in code.rglob("*") if p.is_file()]
    assert on_gpu(body, **kept) == first


BAD_INDEX = (
    "x = tandem.arange(4.0, device='cuda')\n"
    "where = 'queueing'\n"
    "try:\n"
    "    y = x.gather(0, tandem.tensor([1, 9], device='cuda'))\n"
    "    where = 'waiting'\n"
    "    y.cpu()\n"
    "except RuntimeError as e: print(where, e)"
)


def test_errors_of_values_come_when_somebody_waits():
    assert on_gpu(BAD_INDEX).startswith("waiting gather: index 9 is out of bounds for dimension 0 with size 4")


def test_errors_of_values_come_at_once_where_launches_wait():
    assert on_gpu(BAD_INDEX, TANDEM_LAUNCH_BLOCKING="1").startswith("queueing gather: index 9 is out of bounds")


LATE = {
    "x.gather(0, i + 9)": r"RuntimeError gather: index 1[01] is out of bounds for dimension 0 with size 4",
    "x[i + 9]": r"IndexError index: index 1[01] is out of bounds for dimension 0 with size 4",
    "f.embedding(i + 9, a)": r"IndexError index out of range in self",
    "f.cross_entropy(a, i + 9)": r"IndexError Target 1[01] is out of bounds",
    "f.one_hot(i, 2)": r"RuntimeError Class values must be smaller than num_classes",
    "f.binary_cross_entropy(x, x)": r"RuntimeError all elements of input should be between 0 and 1",
    "tandem.linalg.inv(a * 0)": r"LinAlgError linalg.inv: The diagonal element 1 is zero",
    "tandem.linalg.solve(a * 0, a)": r"LinAlgError torch.linalg.solve: The solver failed",
    "tandem.linalg.cholesky(-a)": r"LinAlgError linalg.cholesky: The factorization could not be completed",
    "i // (i - 1)": r"RuntimeError ZeroDivisionError: an integer is divided by zero",
    "i % (i - 1)": r"RuntimeError ZeroDivisionError: an integer is divided by zero",
    "tandem.bernoulli(x)": r"RuntimeError bernoulli: Expected p_in >= 0",
    "tandem.multinomial(-x - 1, 1)": r"RuntimeError probability tensor contains",
    "tandem.normal(x, -x)": r"RuntimeError normal expects all elements of std >= 0.0",
    "tandem.poisson(-x)": r"RuntimeError invalid Poisson rate",
    "x.quantile(x)": r"RuntimeError quantile\(\) q values must be in the range",
    "x.masked_scatter(x >= 0, x[:1])": r"RuntimeError masked_scatter: Number of elements of source < number of ones",
}


def test_wrong_values_are_raised_with_their_line_by_whoever_waits():
    """Where launches wait, the line is that of the traceback."""
    body = (
        "f = tandem.nn.functional\n"
        "x, i = tandem.arange(4.0, device='cuda'), tandem.tensor([1, 2], device='cuda')\n"
        "a = tandem.eye(2, device='cuda')\n"
        "def late(act):\n"
        "    at = 'queueing'\n"
        "    try:\n"
        "        act()\n"
        "        at = 'waiting'\n"
        "        tandem.cuda.synchronize()\n"
        "    except Exception as e: print(at, type(e).__name__, str(e).replace('\\n', ' '))\n"
    )
    first = body.count("\n") + 2  # after the import
    body += "".join(f"late(lambda: {call})\n" for call in LATE)
    late, at_once = (on_gpu(body, TANDEM_LAUNCH_BLOCKING=block).splitlines() for block in ("0", "1"))
    assert len(late) == len(at_once) == len(LATE), late + at_once
    for k, wanted in enumerate(LATE.values()):
        assert re.match("waiting " + wanted, late[k]) and late[k].endswith(f"called at <string>:{first + k}"), late[k]
        assert re.match("queueing " + wanted, at_once[k]) and "called at" not in at_once[k], at_once[k]


def test_wrong_values_of_a_plan_have_the_line_of_the_body():
    body = (
        "x, i = tandem.arange(4.0, device='cuda'), tandem.tensor([1, 2], device='cuda')\n"
        "@tandem.compile\n"
        "def f(x, i):\n"
        "    y = tandem.softmax(x, 0)\n"
        "    return y.gather(0, i) * 2\n"  # the sixth line
        "for k in (0, 0, 0, 9):\n"
        "    try: f(x, i + k).tolist()\n"
        "    except RuntimeError as e: print(e)\n"
    )
    first, second = on_gpu(body).splitlines()
    assert "out of bounds for dimension 0" in first and second == "  recorded at <string>:6"


def test_memory_runs_out_as_an_error_of_its_class():
    body = (
        "x = tandem.ones(1000, device='cuda')\n"
        "try: tandem.empty(1 << 50, device='cuda', dtype=tandem.uint8)\n"
        "except tandem.OutOfMemoryError as e: print(e)\n"
        "print(x.sum().item())"
    )
    lines = on_gpu(body).splitlines()
    assert "CUDA out of memory: tried to allocate 1024.00 TiB on cuda:0" in lines[0], lines
    assert "Tensors of this process hold" in lines[0] and lines[1] == "1000.0", lines


def test_nvrtc_is_used_wherever_it_is_found(tmp_path):
    """By a later name than the first, in a folder of $TANDEM_CUDA_PATH."""
    (tmp_path / "libnvrtc.so.12").symlink_to(NVRTC)
    body = "print(tandem._C._kernel_compiler('sm_90'))"
    done = run("import tandem\n" + body, TANDEM_CUDA_PATH=str(tmp_path), TANDEM_NVRTC="")
    assert "-nvrtc" in done.stdout and not done.stdout.strip().endswith("nvrtc"), done.stdout + done.stderr
