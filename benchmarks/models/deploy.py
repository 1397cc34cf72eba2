"""Saved programs: what a call of one costs. Tandem's run by the C functions of libtandem_runtime, PyTorch's by
AOTInductor's package, both from Python; ONNX Runtime's session has the model that PyTorch exports."""

import ctypes
import os
import tempfile
from pathlib import Path

from compare.timing import seconds_once, seconds_per_call
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
    "open": ("opening the CNN's program", "us"),
    "first": ("its first call, batch 1", "us"),
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


class Opened:
    """A program opened by the C functions; a call runs its first entry."""

    def __init__(self, path, x, result):
        self.c = ctypes.CDLL(str(LIBRARY))
        for name in ("program_open", "context_create", "run"):
            getattr(self.c, f"tandem_{name}").restype = ctypes.c_void_p
        program, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        assert not self.c.tandem_program_open(str(path).encode(), None, ctypes.byref(program))
        assert not self.c.tandem_context_create(program, ctypes.byref(self.context))
        self.keep = x, result
        self.places = [(ctypes.c_void_p * 1)(t.data_ptr()) for t in (x, result)]
        self.entry = ctypes.c_size_t(0)

    def __call__(self):
        assert not self.c.tandem_run(self.context, self.entry, self.places[0], None, self.places[1])


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
        path = Path(folder) / f"cnn_1_2.{'tandem' if ours else 'pt2'}"
        model, x = models(T)["cnn_1"]
        result = T.empty(1, 10)
        opened = []

        def open_it():
            opened.append(Opened(path, x, result) if ours else T._inductor.aoti_load_package(str(path)))

        yield "open", "saved", seconds_once(open_it)
        yield "first", "saved", seconds_once(opened[0] if ours else lambda: opened[0](x))


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
        opened = []
        path = str(Path(folder) / "cnn_1.onnx")
        yield "open", "saved", seconds_once(lambda: opened.append(ort.InferenceSession(path, options)))
        feed = {opened[0].get_inputs()[0].name: np.zeros((1, 1, 28, 28), np.float32)}
        yield "first", "saved", seconds_once(lambda: opened[0].run(None, feed))
