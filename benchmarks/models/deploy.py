"""Saved programs: what a call of one costs, and what it needs. Tandem's run by the C functions of libtandem_runtime,
PyTorch's by AOTInductor's package, both from Python; ONNX Runtime's session has the model that PyTorch exports.

Opening, the first call and memory are those of a process that does nothing else; memory is what it has then, less what
it had before it loaded the library."""

import copy
import ctypes
import functools
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from compare.timing import seconds_per_call
from models.networks import MLP, cnn, tanh_network, transformer

TITLE = "saved programs: a call, opening one, and its first call"
SIZES = {
    "mlp_1": "MLP 64-128-128-128-1, batch 1",
    "mlp_32": "the same, batch 32",
    "cnn_1": "CNN of 2 convolutions and 2 linear layers, batch 1",
    "cnn_64": "the same, batch 64",
    "gpt_1": "4 transformer layers of 128, 4 heads, 1 token",
    "gpt_128": "the same, 128 tokens",
}
THREADS = (1, 2)
ROWS = {
    **{f"{row}_{n}": (f"{text}, {n} thread{'s' * (n > 1)}", "us") for row, text in SIZES.items() for n in THREADS},
    "step_mlp": ("a training step of the MLP, AdamW, batch 32, 1 thread", "us"),
    "step_cnn": ("a training step of the CNN, SGD with momentum, batch 64, 1 thread", "us"),
    "open": ("opening the CNN's program", "us"),
    "first": ("its first call, batch 1", "us"),
    "together": ("128 tokens by each of two threads at once, over the time of one thread alone", "x"),
    "file": ("the CNN's file", "MB"),
    "library": ("the library that runs it", "MB"),
    "resident": ("memory for running it", "MB"),
}
LIBRARY = Path(__file__).resolve().parents[2] / "build/release/lib/libtandem_runtime.so"


def models(T):
    """Name → (module, its input), with the names of SIZES."""
    T.manual_seed(0)
    mlp, small, gpt = tanh_network(T, MLP), cnn(T), transformer(T, 4, 128, 4)
    return {
        "mlp_1": (mlp, T.randn(1, 64)),
        "mlp_32": (mlp, T.randn(32, 64)),
        "cnn_1": (small, T.randn(1, 1, 28, 28)),
        "cnn_64": (small, T.randn(64, 1, 28, 28)),
        "gpt_1": (gpt, T.randn(1, 1, 128)),
        "gpt_128": (gpt, T.randn(1, 128, 128)),
    }


def steps(T):
    """Name → (a training step, its arguments)."""
    functional = T.nn.functional
    optimizers = {
        "step_mlp": lambda parameters: T.optim.AdamW(parameters, lr=1e-3),
        "step_cnn": lambda parameters: T.optim.SGD(parameters, lr=0.01, momentum=0.9),
    }
    targets = {"step_mlp": T.randn(32, 1), "step_cnn": T.arange(64) % 10}
    losses = {"step_mlp": functional.mse_loss, "step_cnn": functional.cross_entropy}
    examples = models(T)
    for name, model_name in (("step_mlp", "mlp_32"), ("step_cnn", "cnn_64")):
        model, x = examples[model_name]
        model.train()
        optimizer = optimizers[name](model.parameters())

        def step(x, y, model=model, optimizer=optimizer, loss_of=losses[name]):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        yield name, step, (x, targets[name])


def address(values):
    return values.ctypes.data if hasattr(values, "ctypes") else values.data_ptr()


@functools.cache
def library():
    """The C functions, which a process loads once."""
    c = ctypes.CDLL(str(LIBRARY))
    for name in ("program_open", "context_create", "run"):
        getattr(c, f"tandem_{name}").restype = ctypes.c_void_p
    return c


class Opened:
    """A program opened by the C functions; a call runs its first entry."""

    def __init__(self, path, x, result):
        self.c = library()
        self.program = ctypes.c_void_p()
        assert not self.c.tandem_program_open(str(path).encode(), None, ctypes.byref(self.program))
        self.prepare(x, result)

    def prepare(self, x, result):
        self.context = ctypes.c_void_p()
        assert not self.c.tandem_context_create(self.program, ctypes.byref(self.context))
        arguments = x if isinstance(x, tuple) else (x,)
        self.keep = x, result
        self.places = [(ctypes.c_void_p * len(t))(*map(address, t)) for t in (arguments, (result,))]
        self.entry = ctypes.c_size_t(0)

    def another(self, result):
        """The same program in a context of its own."""
        other = copy.copy(self)
        other.prepare(self.keep[0], result)
        return other

    def __call__(self):
        assert not self.c.tandem_run(self.context, self.entry, self.places[0], None, self.places[1])


def calls_together(first, second, calls=60):
    """The time of two threads that call, each its own, over that of one which calls as often alone: at best 1."""

    def repeat(call):
        for _ in range(calls):
            call()

    def seconds(*each):
        threads = [threading.Thread(target=repeat, args=(call,)) for call in each]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - begin

    return min(seconds(first, second) / seconds(first) for _ in range(5))


def new_process(before, lines):
    """What is printed by `lines` of Python in a new process, after those before; `now()` is its memory in bytes."""
    code = [
        "import time",
        *before,
        "def now(): return int(open('/proc/self/statm').read().split()[1]) * 4096",
        "memory, clock = now(), time.perf_counter",
        *lines,
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    run = subprocess.run([sys.executable, "-c", "\n".join(code)], env=environment, capture_output=True, check=True)
    return [float(number) for number in run.stdout.split()]


def fresh(library, opening, call, before=()):
    """The rows of a process that opens the CNN's program and calls it once: best of three. Memory is counted from
    before the library is there, times from behind its import."""
    lines = [
        *library,
        "x = numpy.zeros((1, 1, 28, 28), numpy.float32)",
        f"start = clock(); program = {opening}; opened = clock(); {call}; end = clock()",
        "print(opened - start, end - opened, now() - memory)",
    ]
    runs = [new_process(["import numpy", *before], lines) for _ in range(3)]
    return zip(("open", "first", "resident"), map(min, zip(*runs, strict=True)), strict=True)


def bytes_of(files):
    return sum(file.stat().st_size for file in files)


def torch_like(T):
    ours = T.__name__ == "tandem"
    with tempfile.TemporaryDirectory() as folder, T.no_grad():
        for threads in THREADS:
            T.set_num_threads(threads)
            for name, (model, x) in models(T).items():
                model.eval()
                row = f"{name}_{threads}"
                yield row, "eager", seconds_per_call(lambda m=model, x=x: m(x))
                compiled = T.compile(model)
                yield row, "compiled", seconds_per_call(lambda m=compiled, x=x: m(x))
                path = Path(folder) / f"{row}.{'tandem' if ours else 'pt2'}"
                if ours:
                    T.export.export(model, (x,)).save(path)
                    call = Opened(path, x, result := T.empty(model(x).shape))
                    call.c.tandem_set_threads(ctypes.c_int(threads))
                    call()
                    assert bool((result == model(x)).all())
                else:
                    package = T._inductor.aoti_compile_and_package(T.export.export(model, (x,)), package_path=str(path))
                    opened = T._inductor.aoti_load_package(package)

                    def call(opened=opened, x=x):
                        return opened(x)

                yield row, "saved", seconds_per_call(call)
        T.set_num_threads(1)
        with T.enable_grad():
            for name, step, arguments in steps(T):
                yield name, "eager", seconds_per_call(lambda s=step, a=arguments: s(*a))
                compiled = T.compile(step)
                yield name, "compiled", seconds_per_call(lambda s=compiled, a=arguments: s(*a))
                if not ours:
                    continue
                path = Path(folder) / f"{name}.tandem"
                T.export.training_step(step, arguments).save(path)
                call = Opened(path, arguments, result := T.zeros(()))
                call.c.tandem_set_threads(ctypes.c_int(1))
                call()
                assert bool(result == step(*arguments))
                yield name, "saved", seconds_per_call(call)
        path = Path(folder) / f"cnn_1_2.{'tandem' if ours else 'pt2'}"
        yield "file", "saved", bytes_of([path])
        if ours:
            yield "library", "saved", bytes_of([LIBRARY])
            opening = f"Opened({str(path)!r}, x, numpy.zeros((1, 10), numpy.float32))"
            rows = fresh(["library()"], opening, "program()", ["from models.deploy import Opened, library"])
        else:
            yield "library", "saved", bytes_of((Path(T.__file__).parent / "lib").glob("lib*.so*"))
            opening = f"torch._inductor.aoti_load_package({str(path)!r})"
            rows = fresh(["import torch, torch._inductor"], opening, "program(torch.from_numpy(x))")
        for row, value in rows:
            yield row, "saved", value
        T.set_num_threads(1)
        path = Path(folder) / f"gpt_128_1.{'tandem' if ours else 'pt2'}"
        model, x = models(T)["gpt_128"]
        if ours:
            one = Opened(path, x, T.empty(x.shape))
            one.c.tandem_set_threads(ctypes.c_int(1))
            two = one.another(T.empty(x.shape))
        else:
            package = T._inductor.aoti_load_package(str(path))
            one = two = lambda: package(x)
        yield "together", "saved", calls_together(one, two)


def onnxruntime():
    import numpy as np
    import onnxruntime as ort
    import torch

    with tempfile.TemporaryDirectory() as folder:
        for threads in THREADS:
            for name, (model, x) in models(torch).items():
                path = str(Path(folder) / f"{name}.onnx")
                if not os.path.exists(path):
                    torch.onnx.export(model.eval(), (x,), path, dynamo=True, verbose=False)
                options = ort.SessionOptions()
                options.intra_op_num_threads = threads
                session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                feed = {session.get_inputs()[0].name: np.ascontiguousarray(x.numpy())}
                yield f"{name}_{threads}", "saved", seconds_per_call(lambda s=session, f=feed: s.run(None, f))
        path = str(Path(folder) / "cnn_1.onnx")
        yield "file", "saved", bytes_of(Path(folder).glob("cnn_1.onnx*"))
        yield "library", "saved", bytes_of((Path(ort.__file__).parent / "capi").glob("*.so*"))
        opening = f"onnxruntime.InferenceSession({path!r})"
        call = "program.run(None, {program.get_inputs()[0].name: x})"
        for row, value in fresh(["import onnxruntime"], opening, call):
            yield row, "saved", value
        options.intra_op_num_threads = 1
        path = str(Path(folder) / "gpt_128.onnx")
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feed = {session.get_inputs()[0].name: np.ascontiguousarray(models(torch)["gpt_128"][1].numpy())}
        call = lambda: session.run(None, feed)  # noqa: E731
        yield "together", "saved", calls_together(call, call)
