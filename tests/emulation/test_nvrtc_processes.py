"""Texts of several threads at once are compiled by processes of `tandem-nvrtc`: what such a process says, when there
are some, and what becomes of a text whose process dies."""

import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest
import stand_ins
from stand_ins import DRIVER, NVRTC

import tandem

PROGRAM = pathlib.Path(tandem.__file__).parent / "tandem-nvrtc"
TEXT = 'extern "C" __global__ void f(int* x) { x[0] = 7; }\n'


class Process:
    """One, and the socket to it."""

    def __init__(self, library=NVRTC):
        own, other = socket.socketpair()
        environment = {**os.environ, "TANDEM_NVRTC": library}
        self.running = subprocess.Popen([PROGRAM], stdin=other, env=environment)
        other.close()
        self.socket = own

    def ask(self, *texts):
        for text in texts:
            self.socket.sendall(struct.pack("<Q", len(text)) + text.encode())
        return [self.receive(struct.unpack("<Q", self.receive(8))[0]) for _ in range(3)]

    def receive(self, count):
        parts = b""
        while len(parts) < count:
            part = self.socket.recv(count - len(parts))
            if not part:
                raise EOFError
            parts += part
        return parts


def test_a_process_compiles_until_nobody_asks():
    process = Process()
    expected = stand_ins.Compiler().compile(TEXT, name="f.cu")
    for _ in range(2):
        error, code, _ = process.ask(TEXT, "f.cu", "sm_90")
        assert error == b"" and len(code) == len(expected)
    error, code, _ = process.ask(TEXT.replace("7", "unknown"), "g.cu", "sm_90")
    assert b"g.cu" in error and b"unknown" in error and code == b""
    assert process.ask(TEXT, "f.cu", "sm_90")[0] == b""  # goes on after an error
    process.socket.shutdown(socket.SHUT_RDWR)
    assert process.running.wait(10) == 0


def test_a_process_without_nvrtc_goes():
    process = Process("/nowhere/libnvrtc.so")
    with pytest.raises((EOFError, ConnectionError)):
        process.ask(TEXT, "f.cu", "sm_90")
    assert process.running.wait(10) == 0


# A plan of many kernels.
MANY = """
import tandem
from tandem.nn import functional as F

def f(x):
    y = F.softmax(x, 1) * 2
    z = F.layer_norm(x.t().contiguous(), (8,)).sum(0)
    return y.sum(0) @ x.t() + x.cumsum(1)[0, 0], z.exp().mean(), (x * 3).amax(1), x.var(1)

tandem.manual_seed(0)
x = tandem.randn(8, 300)
out = tandem.compile(f)(x.cuda())
print(all(tandem.allclose(a.cpu(), b, rtol=1e-4) for a, b in zip(out, f(x))))
print(tandem.counters()['kernel_compiles'] > 3, flush=True)
input()
"""


def compilers(pid):
    """The processes that one has made to compile."""
    found = []
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = file.read_text().split()
            found += [int(c) for c in children if pathlib.Path(f"/proc/{c}/comm").read_text().strip() == "tandem-nvrtc"]
        except OSError:
            continue  # it has ended
    return found


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor compiles one text at a time")
@pytest.mark.parametrize("kills", [False, True])
def test_a_plan_is_compiled_by_processes(kills, tmp_path):
    """Which are gone when it is; what one that is killed was to compile is compiled all the same."""
    environment = {
        **os.environ, "TANDEM_CUDA_DRIVER": DRIVER, "TANDEM_NVRTC": NVRTC, "TANDEM_CACHE": "off",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    seen = set()
    said = tmp_path / "said"
    with (
        said.open("w") as out,
        subprocess.Popen([sys.executable, "-c", MANY], env=environment, stdin=subprocess.PIPE, stdout=out) as running,
    ):
        while said.read_text().count("\n") < 2 and running.poll() is None:
            for pid in set(compilers(running.pid)) - seen:
                seen.add(pid)
                if kills:
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.002)
        assert said.read_text().split() == ["True", "True"] and seen and not compilers(running.pid)
        running.communicate(b"\n")
    assert running.returncode == 0
