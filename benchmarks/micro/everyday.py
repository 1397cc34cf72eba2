"""What scripts do around the arithmetic: tensors from lists and NumPy, indexing, modules and their state, optimizers,
files, data loaders, small gradients. The library's own time counts here, not its kernels'.
"""

import copy
import importlib
import io
import itertools
import pickle
import tempfile
import warnings
from pathlib import Path

from compare.timing import seconds_per_call

TITLE = "everyday calls"
ROWS: dict[str, tuple[str, str]] = {}  # every name that was measured, in µs
UNIT = "us"


def conversions(T):
    import numpy as np

    numbers, whole = [float(i) for i in range(10000)], list(range(10000))
    nested = [[float(i * j) for i in range(100)] for j in range(100)]
    array, rows = np.arange(10000, dtype=np.float32), [np.ones(8, np.float32)] * 64
    vector, matrix, one = T.randn(1000), T.randn(100, 100), T.tensor(1.5)
    large = T.randn(1000, 1000)
    return {
        "tensor of 10,000 floats": lambda: T.tensor(numbers),
        "tensor of 10,000 ints": lambda: T.tensor(whole),
        "tensor of 100 lists of 100": lambda: T.tensor(nested),
        "tensor of 64 arrays of 8": lambda: T.tensor(rows),
        "from_numpy": lambda: T.from_numpy(array),
        "tensor of a number": lambda: T.tensor(1.5),
        "tolist of 1000": vector.tolist,
        "tolist of 100×100": matrix.tolist,
        "float(tensor)": lambda: float(one),
        "numpy()": matrix.numpy,
        "repr of 100×100": lambda: repr(matrix),
        "repr of 1000×1000": lambda: repr(large),
        "pickle and back": lambda: pickle.loads(pickle.dumps(vector)),
    }


def indexing(T):
    x, mask = T.randn(100, 100), T.randn(100, 100) > 0
    i, j = T.randint(0, 100, (50,)), T.randint(0, 100, (50,))
    vectors, numbers = [T.randn(10) for _ in range(1000)], [T.tensor(float(i)) for i in range(1000)]

    def put(key, value):
        x[key] = value

    return {
        "x[3]": lambda: x[3],
        "x[3, 4]": lambda: x[3, 4],
        "x[3:10]": lambda: x[3:10],
        "x[:, None]": lambda: x[:, None],
        "x[..., 0]": lambda: x[..., 0],
        "x[[1, 5, 7]]": lambda: x[[1, 5, 7]],
        "x[mask]": lambda: x[mask],
        "x[i]": lambda: x[i],
        "x[i, j]": lambda: x[i, j],
        "x[3:10] = 1": lambda: put(slice(3, 10), 1.0),
        "x[mask] = 0.5": lambda: put(mask, 0.5),
        "x[i, j] = 1": lambda: put((i, j), 1.0),
        "views of views": lambda: x.view(10, 10, 100).permute(2, 0, 1).reshape(-1).unsqueeze(0).squeeze(0),
        "rows of a matrix by `for`": lambda: list(x),
        "stack of 1000 vectors": lambda: T.stack(vectors),
        "cat of 1000 vectors": lambda: T.cat(vectors),
        "stack of 1000 numbers": lambda: T.stack(numbers),
        "nonzero": mask.nonzero,
        "one_hot": lambda: T.nn.functional.one_hot(i, 100),
    }


def modules(T):
    nn = T.nn
    mlp = nn.Sequential(*itertools.chain.from_iterable((nn.Linear(64, 64), nn.ReLU()) for _ in range(10)))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2)
    state, x, words = encoder.state_dict(), T.randn(8, 64), T.randn(4, 10, 64)
    sequences = [T.randn(5 + i % 30, 16) for i in range(64)]
    for p in mlp.parameters():
        p.grad = T.zeros_like(p)
    adam, sgd = T.optim.AdamW(mlp.parameters()), T.optim.SGD(mlp.parameters(), lr=1e-9, momentum=0.9)

    def without_gradient():
        with T.no_grad():
            mlp(x)

    def schedule():
        steps = T.optim.lr_scheduler.CosineAnnealingLR(sgd, 100)
        for _ in range(10):
            steps.step()

    sgd.step()
    return {
        "make Linear(64, 64)": lambda: nn.Linear(64, 64),
        "make a TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(64, 4, 128),
        "10 layers of 64, 8 rows": lambda: mlp(x),
        "the same without gradients": without_gradient,
        "the same with backward": lambda: mlp(x).sum().backward(),
        "encoder of 2 layers, 4×10 words": lambda: encoder(words),
        "state_dict": encoder.state_dict,
        "load_state_dict": lambda: encoder.load_state_dict(state),
        "deepcopy of the encoder": lambda: copy.deepcopy(encoder),
        "list of parameters": lambda: list(encoder.parameters()),
        "repr of the encoder": lambda: repr(encoder),
        "eval and train": lambda: encoder.eval().train(),
        "zero_grad": mlp.zero_grad,
        "make AdamW": lambda: T.optim.AdamW(mlp.parameters()),
        "AdamW step": adam.step,
        "SGD step": sgd.step,
        "clip_grad_norm_": lambda: nn.utils.clip_grad_norm_(mlp.parameters(), 1.0),
        "10 steps of a schedule": schedule,
        "pad_sequence of 64": lambda: nn.utils.rnn.pad_sequence(sequences, batch_first=True),
        "pack_sequence of 64": lambda: nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False),
    }


def files(T, folder):
    large = {f"w{i}": T.randn(1000, 1000) for i in range(10)}
    small = T.nn.TransformerEncoderLayer(64, 4, 128).state_dict()
    path, stream = str(folder / "large.pt"), io.BytesIO()
    T.save(large, path)
    T.save(small, stream)

    def load_small():
        stream.seek(0)
        return T.load(stream)

    return {
        "save 40 MB": lambda: T.save(large, path),
        "load 40 MB": lambda: T.load(path),
        "load 40 MB, mapped": lambda: T.load(path, mmap=True),
        "save a layer's state": lambda: T.save(small, io.BytesIO()),
        "load a layer's state": load_small,
    }


def data(T):
    pairs = T.utils.data.TensorDataset(T.randn(2048, 16), T.randint(0, 10, (2048,)))
    loader = T.utils.data.DataLoader
    return {
        "DataLoader of 2048 in 64s": lambda: list(loader(pairs, batch_size=64)),
        "the same, shuffled": lambda: list(loader(pairs, batch_size=64, shuffle=True)),
        "random_split": lambda: T.utils.data.random_split(pairs, [1000, 1048]),
    }


def gradients(T):
    func, functional = (importlib.import_module(f"{T.__name__}.{name}") for name in ("func", "autograd.functional"))
    x, batch = T.ones(10, requires_grad=True), T.randn(8, 64)

    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def twice():
        (g,) = T.autograd.grad((x**3).sum(), x, create_graph=True)
        return T.autograd.grad(g.sum(), x)

    return {
        "autograd.grad": lambda: T.autograd.grad((x * x).sum(), x),
        "its gradient": twice,
        "a Function, backward": lambda: T.autograd.grad(Double.apply(x).sum(), x),
        "jacobian of 10": lambda: functional.jacobian(lambda a: a**2, x.detach()),
        "hessian of 10": lambda: func.hessian(lambda a: (a**3).sum())(x.detach()),
        "vmap of grad": lambda: func.vmap(func.grad(lambda a: (a**2).sum()))(batch),
    }


def torch_like(T):
    warnings.simplefilter("ignore")
    for module in ("utils.data", "optim.lr_scheduler", "nn.utils.rnn", "nn.functional"):
        importlib.import_module(f"{T.__name__}.{module}")
    T.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for calls in (conversions(T), indexing(T), modules(T), files(T, Path(folder)), data(T), gradients(T)):
            for row, call in calls.items():
                yield row, "eager", seconds_per_call(call, budget=0.1, shortest=0.003)
