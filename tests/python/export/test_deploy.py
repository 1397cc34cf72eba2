"""The loader as it is installed: the example programs, built against it, give the bits that Python gives."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from operations import generated

import tandem
from tandem.export import load

BUILD = generated().parent
EXAMPLES = Path(__file__).parents[3] / "examples" / "deploy"
STEPS = 5


def run(*command: object, **environment: str) -> str:
    """What a command prints; its errors if it fails."""
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A prefix with the loader."""
    if "TANDEM_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
        pytest.skip("programs of users are not built under a sanitizer")
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--component", "runtime", "--prefix", prefix)
    return prefix


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What export.py writes."""
    folder = tmp_path_factory.mktemp("files")
    run(sys.executable, EXAMPLES / "export.py", folder, "--steps", 3)
    return folder


@pytest.fixture(scope="module")
def programs(installed, tmp_path_factory):
    """The folder with the examples, built with find_package."""
    build = tmp_path_factory.mktemp("build")
    run("cmake", "-G", "Ninja", "-S", EXAMPLES, "-B", build, f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", build, "-j", 2)
    return build


def printed(text: str, column: int) -> np.ndarray:
    """A column of numbers, printed with nine digits, which say every bit of a float32."""
    return np.array([line.split()[column] for line in text.splitlines()], np.float64).astype(np.float32)


def test_classifier(programs, files):
    program = load(files / "digits.tandem")
    tests = read_idx(files / "tests.idx")
    for image, arguments in ((tests[0], ["image.pgm"]), (tests[7], ["tests.idx", "7"])):
        expected = program(tandem.from_numpy(image.copy())).numpy()
        text = run(programs / "digits", files / "digits.tandem", files / arguments[0], *arguments[1:])
        lines = text.splitlines()
        assert [line[0] == ">" for line in lines] == [k == expected.argmax() for k in range(10)]
        assert lines[2].split()[-1 - ("#" in lines[2]) - 1 : -1 - ("#" in lines[2])] == ["pullover"]
        assert printed("\n".join(line[2:] for line in lines), 1).tobytes() == expected.tobytes()


def read_idx(path: Path) -> np.ndarray:
    return np.frombuffer(path.read_bytes(), np.uint8, offset=16).reshape(-1, 28, 28)


def test_training(programs, files, tmp_path):
    """Two runs, the second from the first one's file and at another rate, against the steps of Python."""
    program = load(files / "train.tandem")
    x = tandem.from_numpy(read_idx(files / "images.idx").copy())
    y = tandem.from_numpy(np.frombuffer((files / "labels.idx").read_bytes(), np.uint8, offset=8).copy())
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    data = [files / "train.tandem", files / "images.idx", files / "labels.idx", STEPS]
    for rate, command in ((2e-3, [first]), (1e-4, [second, 1e-4, first])):
        text = run(programs / "train", *data, *command)
        losses = [
            program.run("step", x[k : k + 64], y[k : k + 64], numbers={"lr": rate}).item()
            for k in range(0, 64 * STEPS, 64)
        ]
        assert printed(text, 3).tobytes() == np.array(losses, np.float32).tobytes()
        state = tandem.load(command[0])
        assert state.keys() == program.state_dict.keys()
        for name, value in program.state_dict.items():
            assert state[name].numpy().tobytes() == value.numpy().tobytes(), name
    model = runpy.run_path(str(EXAMPLES / "export.py"))["make_model"]()
    model.load_state_dict({name: state[name] for name in model.state_dict()})


def test_text(programs, tmp_path):
    """What the program writes, over the end of its context, is what the two entries give in Python."""
    run(sys.executable, EXAMPLES / "language.py", tmp_path, "--steps", 2, "--text", EXAMPLES / "language.py")
    program = load(tmp_path / "text.tandem")
    most = program._about["entries"][0]["sizes"][0][2]
    program.manual_seed(5)
    tokens, cached, keys, values = list(b"import "), 0, None, None
    for _ in range(most + 20):
        if cached in (0, most):
            last = tokens[-(most // 2) :]
            token, keys, values = program.run("prompt", tandem.tensor(last), 1.5)
            cached = len(last)
        else:
            token, keys, values = program.run("next", tandem.tensor(tokens[-1:]), keys, values, 1.5)
            cached += 1
        tokens.append(token.item())
    done = subprocess.run(
        [programs / "text", tmp_path / "text.tandem", "import ", str(most + 20), "1.5", "5"],
        capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout == bytes(tokens) + b"\n"


def test_errors(programs, files, tmp_path):
    """Exceptions of program.hpp say what the C functions say."""
    (tmp_path / "small.pgm").write_bytes(b"P5 2 2 255\nabcd")
    for arguments, text in (
        ([files / "image.pgm", files / "image.pgm"], "image.pgm"),
        ([files / "digits.tandem", tmp_path / "small.pgm"], "image: expected 784 bytes, got 4"),
        ([files / "train.tandem", files / "image.pgm"], "forward"),
    ):
        done = subprocess.run([programs / "digits", *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and text in done.stderr, done


def test_from_c(installed, programs, files, tmp_path):
    """A C program with the flags of pkg-config: with the shared object, the archive, and all libraries as archives."""
    x = [0.5, -1.25, 3.0]
    expected = load(files / "minimal.tandem")(tandem.tensor(x)).numpy()
    assert printed(run(programs / "minimal", files / "minimal.tandem", *x), 0).tobytes() == expected.tobytes()
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    flags = {"PKG_CONFIG_PATH": str(installed / "lib" / "pkgconfig")}
    library = str(installed / "lib")
    for static in ("", "archive", "whole"):
        ask = ["pkg-config", "--cflags", "--libs", *(["--static"] if static else []), "tandem"]
        options = run(*ask, **flags).split()
        if static:
            options = ["-l:libtandem_runtime.a" if o == "-ltandem_runtime" else o for o in options]
            options += ["-static"] if static == "whole" else []
        program = tmp_path / f"minimal{static}"
        run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", EXAMPLES / "minimal.c", "-o", program, *options)
        text = run(program, files / "minimal.tandem", *x, **({} if static else {"LD_LIBRARY_PATH": library}))
        assert printed(text, 0).tobytes() == expected.tobytes()
        needed = run("readelf", "-d", program)
        assert ("libtandem_runtime" in needed) == (static == "") and ("libc.so" in needed) == (static != "whole")
        assert not any(name in needed for name in ("dnnl", "gomp", "libz", "sodium"))
    # A whole one convolves, too: all kernels are in it.
    images = tandem.arange(512.0).sin()
    weight = tandem.randn(16, 8, 3, 3)
    convolved = tandem.export.export(lambda x: tandem.conv2d(x.view(1, 8, 8, 8), weight).flatten(), (images,))
    convolved.save(tmp_path / "convolved.tandem")
    text = run(program, tmp_path / "convolved.tandem", *images.tolist())
    assert printed(text, 0).tobytes() == convolved(images).numpy().tobytes()


FUNCTIONS = """
cmake_minimum_required(VERSION 3.25)
project(functions LANGUAGES C CXX)
find_package(Tandem REQUIRED)
foreach(name every named none)
  add_executable(${name} @EXAMPLES@/minimal.c)
  target_link_libraries(${name} PRIVATE Tandem::runtime_static)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -s)
endforeach()
tandem_program_functions(named product.tandem)
tandem_program_functions(none plain.tandem)
"""


def test_functions(installed, tmp_path):
    """A program that holds the functions alone which its files call is smaller, and says which it lacks."""
    weight = tandem.eye(3)
    tandem.export.export(lambda x: x.view(1, 3) @ weight, (tandem.ones(3),)).save(tmp_path / "product.tandem")
    tandem.export.export(lambda x: x.relu(), (tandem.ones(3),)).save(tmp_path / "plain.tandem")
    (tmp_path / "CMakeLists.txt").write_text(FUNCTIONS.replace("@EXAMPLES@", str(EXAMPLES)))
    build = tmp_path / "build"
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", build, "-j", 2)
    everything, product, nothing = [(build / name).stat().st_size for name in ("every", "named", "none")]
    assert nothing < product < everything * 0.6, (everything, product, nothing)
    both = ("product", "plain")
    for name, opened in (("every", both), ("named", both), ("none", ("plain",))):
        for file in opened:
            assert run(build / name, tmp_path / f"{file}.tandem", 1, 2, 3).split() == ["1", "2", "3"]
    done = subprocess.run([build / "none", tmp_path / "product.tandem", "1"], capture_output=True, text=True)
    assert done.returncode == 1 and "calls the library function `matmul_plain`, which is not linked" in done.stderr
    table = run(sys.executable, "-m", "tandem", "inspect", "--functions", tmp_path / "product.tandem")
    assert table == (build / "named_functions.cpp").read_text()


@pytest.mark.slow
def test_emulated(programs, files):
    """On a processor that only has AVX2, which an emulator plays, programs run the code of x86-64-v3."""
    if shutil.which("qemu-x86_64") is None:
        pytest.skip("qemu-user is not installed")
    emulator = ["qemu-x86_64", "-cpu", "max"]  # of version 7.2: AVX2, FMA and F16C; no AVX-512
    x = [0.5, -1.25, 3.0]
    found = printed(run(*emulator, programs / "minimal", files / "minimal.tandem", *x), 0)
    assert found.tobytes() == load(files / "minimal.tandem")(tandem.tensor(x)).numpy().tobytes()
    image = read_idx(files / "tests.idx")[0]
    lines = run(*emulator, programs / "digits", files / "digits.tandem", files / "image.pgm").splitlines()
    expected = load(files / "digits.tandem")(tandem.from_numpy(image.copy())).numpy()
    assert printed("\n".join(line[2:] for line in lines), 1).tobytes() == expected.tobytes()
