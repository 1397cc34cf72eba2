"""Kernels and training steps on a GPU, of Tandem and of PyTorch where it can be imported, by CUDA events.

    benchmarks/models/gpu.py [--tiny] [--rows NAME ...] [--out FILE]

writes a Markdown table. Each library runs in a process of its own; a row that fails is left out and named at the end.
`--tiny` takes sizes that an emulated device can do: it shows that everything runs, and its times mean nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compare.table import figure, markdown  # noqa: E402
from models.networks import MLP, cnn, tanh_network, transformer  # noqa: E402

TITLE = "a GPU"
MIB_64 = 64 << 20
ROWS = {
    "gelu": ("GELU of 64 MiB", "us"),
    "gelu_grad": ("the same with its gradient", "us"),
    "softmax": ("softmax over rows of 4096, 64 MiB", "us"),
    "softmax_grad": ("the same with its gradient", "us"),
    "layer_norm": ("layer_norm over rows of 4096, 64 MiB", "us"),
    "layer_norm_grad": ("the same with its gradient", "us"),
    "cross_entropy": ("cross_entropy of 4096 classes, 64 MiB", "us"),
    "cross_entropy_grad": ("the same with its gradient", "us"),
    "copy": ("copy of 64 MiB", "us"),
    "softmax_256": ("softmax over rows of 256, 64 MiB", "us"),
    "softmax_16384": ("softmax over rows of 16384, 64 MiB", "us"),
    "layer_norm_256": ("layer_norm over rows of 256, 64 MiB", "us"),
    "layer_norm_16384": ("layer_norm over rows of 16384, 64 MiB", "us"),
    "column_sum": ("sums of the columns of 4096 x 4096, 64 MiB", "us"),
    "mlp_32": ("MLP 64-128-128-128-1, SGD, batch 32", "us"),
    "mlp_4096": ("MLP 1024-4096-4096-10, SGD, batch 4096", "us"),
    "cnn": ("CNN of 2 convolutions and 2 linear layers, Adam, batch 512", "us"),
    "pinn": ("u'' = -sin, 4×64 tanh, 1024 points, Adam (third order)", "us"),
    "gpt": ("GPT of 12 layers of 768, AdamW, bfloat16, 8×1024 tokens", "ms"),
    "gpt_first": ("the first step of it", "s"),
    "adamw_300": ("AdamW of 300 parameters of 64 elements", "us"),
    "adamw_8": ("AdamW of 8 parameters of 16 M elements", "us"),
    "cholesky": ("Cholesky factor of 1024 x 1024", "us"),
    "solve": ("a system of 1024 equations, one right side", "us"),
    "qr": ("QR of 1024 x 1024", "us"),
    "eigh": ("eigenvectors of 512 x 512", "us"),
    "eigh_many": ("eigenvectors of 1024 matrices 16 x 16", "us"),
    "svd": ("singular vectors of 512 x 256", "us"),
    "matrix_exp": ("exponential of 512 x 512", "us"),
    "add_host": ("`a + b` of one element: time of the host", "ns"),
}
# Bytes that have to be read and written, of the rows that memory bounds.
TRAFFIC = {
    "gelu": 2 * MIB_64,
    "gelu_grad": 5 * MIB_64,
    "softmax": 2 * MIB_64,
    "softmax_grad": 5 * MIB_64,
    "layer_norm": 2 * MIB_64,
    "layer_norm_grad": 5 * MIB_64,
    "cross_entropy": MIB_64,
    "cross_entropy_grad": 3 * MIB_64,
    "copy": 2 * MIB_64,
    "softmax_256": 2 * MIB_64,
    "softmax_16384": 2 * MIB_64,
    "layer_norm_256": 2 * MIB_64,
    "layer_norm_16384": 2 * MIB_64,
    "column_sum": MIB_64,
    "adamw_8": 7 * 8 * (16 << 20) * 4,
}
# Percent of the copy's bytes a second that kernels are to reach.
BARS = {
    "gelu": 90,
    **dict.fromkeys(("softmax", "softmax_256", "softmax_16384", "column_sum"), 85),
    **dict.fromkeys(("layer_norm", "layer_norm_256", "layer_norm_16384"), 85),
    "adamw_8": 90,
}


def seconds(T, call, tiny, budget=0.5):
    """The best mean time of a call on the device, from events around several."""
    for _ in range(1 if tiny else 3):
        call()
    T.cuda.synchronize()

    def timed(loops):
        start, end = (T.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(loops):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1000

    if tiny:
        return timed(1)
    once = max(timed(3) / 3, 1e-6)
    loops = max(1, min(200, int(0.02 / once)))
    return min(timed(loops) for _ in range(max(3, min(20, int(budget / (once * loops)))))) / loops


def host_seconds(T, call, tiny):
    """Of the host alone: fewer calls at a time than a stream holds."""
    loops, best = 5 if tiny else 500, float("inf")
    for _ in range(2 if tiny else 20):
        T.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(loops):
            call()
        best = min(best, (time.perf_counter() - begin) / loops)
    T.cuda.synchronize()
    return best


def cases(T, tiny):
    """{row: a function that yields (mode, seconds)}."""
    nn, F = T.nn, T.nn.functional
    place = {"device": "cuda"}
    rows = 4 if tiny else 4096
    width = 64 if tiny else 4096
    whole_steps = T.__name__ == "tandem"

    def both(forward, *inputs, grad=False):
        for mode in ("eager", "compiled"):
            function = T.compile(forward) if mode == "compiled" else forward
            if not grad:
                yield mode, seconds(T, lambda f=function: f(*inputs), tiny)
                continue
            leaves = [t.detach().requires_grad_() if t.is_floating_point() else t for t in inputs]
            differentiable = [t for t in leaves if t.requires_grad]
            cotangent = T.ones_like(function(*leaves))

            def run(f=function, leaves=leaves, differentiable=differentiable, cotangent=cotangent):
                return T.autograd.grad(f(*leaves), differentiable, cotangent)

            yield mode, seconds(T, run, tiny)

    def copy():
        a, b = (T.randn(rows, width, **place) for _ in range(2))
        yield "eager", seconds(T, lambda: a.copy_(b), tiny)

    def over_rows(function, wide):
        """Of 64 MiB in rows of that width; the function has weights of a row, too."""
        wide = 8 if tiny else wide
        x = (4 if tiny else (1 << 24) // wide, wide)
        return kernel(lambda x, w, b: function(x, (wide,), w, b), x, (wide,), (wide,))[0]

    def kernel(forward, *shapes, labels=False):
        def make(grad):
            def measure():
                inputs = [T.randn(*shape, **place) for shape in shapes]
                if labels:
                    inputs.append(T.randint(0, width, (rows,), **place))
                yield from both(forward, *inputs, grad=grad)

            return measure

        return make(False), make(True)

    def steps(make, budget=1.0):
        def measure():
            for mode in ("eager", "compiled"):
                model, optimizer, loss = make()
                forward = T.compile(model) if mode == "compiled" and not whole_steps else model

                def step(forward=forward, optimizer=optimizer, loss=loss):
                    optimizer.zero_grad()
                    value = loss(forward)
                    value.backward()
                    optimizer.step()
                    return value

                yield mode, seconds(T, T.compile(step) if mode == "compiled" and whole_steps else step, tiny, budget)

        return measure

    def mlp(sizes, batch):
        def make():
            T.manual_seed(0)
            model = tanh_network(T, sizes).to("cuda")
            x, y = T.randn(batch, sizes[0], **place), T.randn(batch, sizes[-1], **place)
            return model, T.optim.SGD(model.parameters(), lr=0.01), lambda forward: F.mse_loss(forward(x), y)

        return make

    def images():
        T.manual_seed(0)
        batch = 2 if tiny else 512
        model = cnn(T).to("cuda")
        x, y = T.randn(batch, 1, 28, 28, **place), T.randint(0, 10, (batch,), **place)
        return model, T.optim.Adam(model.parameters(), lr=1e-3), lambda forward: F.cross_entropy(forward(x), y)

    def pinn():
        T.manual_seed(0)
        model = tanh_network(T, (1, 8, 8, 1) if tiny else (1, 64, 64, 64, 64, 1)).to("cuda")
        points = T.rand(4 if tiny else 1024, 1, **place) * 3.14159

        def residual(_):
            x = points.detach().requires_grad_()
            (du,) = T.autograd.grad(model(x).sum(), x, create_graph=True)
            (ddu,) = T.autograd.grad(du.sum(), x, create_graph=True)
            return (ddu + T.sin(x)).square().mean()

        return model, T.optim.Adam(model.parameters(), lr=1e-3), residual

    def gpt():
        T.manual_seed(0)
        layers, wide, heads, vocabulary = (1, 8, 2, 16) if tiny else (12, 768, 12, 50304)
        shape = (1, 8) if tiny else (8, 1024)
        model = nn.Sequential(
            nn.Embedding(vocabulary, wide), transformer(T, layers, wide, heads), nn.LayerNorm(wide),
            nn.Linear(wide, vocabulary, bias=False),
        ).to("cuda")  # fmt: skip
        tokens, targets = (T.randint(0, vocabulary, shape, **place) for _ in range(2))

        def loss(forward):
            with T.autocast("cuda", dtype=T.bfloat16):
                logits = forward(tokens)
            return F.cross_entropy(logits.float().reshape(-1, vocabulary), targets.reshape(-1))

        return model, T.optim.AdamW(model.parameters(), lr=1e-4), loss

    def first_step():
        """From nothing compiled to the first results."""
        model, optimizer, loss = gpt()
        forward = model if whole_steps else T.compile(model)

        def step():
            optimizer.zero_grad()
            value = loss(forward)
            value.backward()
            optimizer.step()

        step = T.compile(step) if whole_steps else step
        T.cuda.synchronize()
        begin = time.perf_counter()
        step()
        T.cuda.synchronize()
        yield "compiled", time.perf_counter() - begin

    def adamw(count, elements):
        def measure():
            parameters = [T.zeros(elements, **place).requires_grad_() for _ in range(count)]
            for p in parameters:
                p.grad = T.ones_like(p)
            yield "eager", seconds(T, T.optim.AdamW(parameters, lr=1e-3).step, tiny)

        return measure

    def matrices(function, *shape):
        """Of symmetric positive-definite matrices where they are square."""

        def measure():
            x = T.randn(*((*shape[:-2], 4, 4 if shape[-1] == shape[-2] else 3) if tiny else shape), **place)
            square = x.shape[-1] == x.shape[-2]
            a = x @ x.mT / x.shape[-1] + T.eye(x.shape[-1], **place) if square else x
            yield "eager", seconds(T, lambda: function(a), tiny)

        return measure

    def add_host():
        a, b = T.ones(1, **place), T.ones(1, **place)
        yield "eager", host_seconds(T, lambda: a + b, tiny)

    found = {}
    found["gelu"], found["gelu_grad"] = kernel(F.gelu, (rows, width))
    found["softmax"], found["softmax_grad"] = kernel(lambda x: F.softmax(x, -1), (rows, width))
    found["layer_norm"], found["layer_norm_grad"] = kernel(
        lambda x, w, b: F.layer_norm(x, (width,), w, b), (rows, width), (width,), (width,)
    )
    found["cross_entropy"], found["cross_entropy_grad"] = kernel(F.cross_entropy, (rows, width), labels=True)
    found["copy"] = copy
    for wide in (256, 16384):
        found[f"softmax_{wide}"] = over_rows(lambda x, *_: F.softmax(x, -1), wide)
        found[f"layer_norm_{wide}"] = over_rows(F.layer_norm, wide)
    found["column_sum"] = kernel(lambda x: x.sum(0), (rows, width))[0]
    found["mlp_32"] = steps(mlp((4, 8, 8, 1) if tiny else MLP, 2 if tiny else 32))
    found["mlp_4096"] = steps(mlp((4, 16, 16, 2) if tiny else (1024, 4096, 4096, 10), 2 if tiny else 4096))
    found["cnn"], found["pinn"] = steps(images), steps(pinn)
    found["gpt_first"], found["gpt"] = first_step, steps(gpt, budget=2.0)
    found["adamw_300"] = adamw(3 if tiny else 300, 64)
    found["adamw_8"] = adamw(2 if tiny else 8, 128 if tiny else 16 << 20)
    linalg = T.linalg
    found["cholesky"], found["qr"] = matrices(linalg.cholesky, 1024, 1024), matrices(linalg.qr, 1024, 1024)
    found["solve"] = matrices(lambda a: linalg.solve(a, a[:, :1]), 1024, 1024)
    found["eigh"], found["eigh_many"] = matrices(linalg.eigh, 512, 512), matrices(linalg.eigh, 1024, 16, 16)
    found["svd"] = matrices(lambda a: linalg.svd(a, full_matrices=False), 512, 256)
    found["matrix_exp"] = matrices(T.matrix_exp, 512, 512)
    found["add_host"] = add_host
    return found


def torch_like(T, tiny=False, rows=(), failed=None):
    """Yields (row, mode, seconds). Rows that fail are added to `failed`, or raise."""
    for row, measure in cases(T, tiny).items():
        if rows and row not in rows:
            continue
        try:
            for mode, value in measure():
                yield row, mode, value
        except Exception:
            if failed is None:
                raise
            failed.append(row)
            traceback.print_exc()


def measure_here(library, tiny, rows):
    """Prints a JSON line a measurement, and the rows that failed."""
    failed = []
    T = __import__(library)
    if not T.cuda.is_available():
        raise SystemExit(f"{library} finds no GPU here")
    print(json.dumps({"device": T.cuda.get_device_name(), "version": T.__version__}), flush=True)
    for row, mode, value in torch_like(T, tiny, rows, failed):
        print(json.dumps({"row": row, "mode": mode, "seconds": value}), flush=True)
    print(json.dumps({"failed": failed}), flush=True)


def measure(library, tiny, rows, told):
    """(facts, {row: {(library, mode): seconds}}, rows that failed) of a library in a process of its own; `told` is
    called with the first two after each measurement."""
    command = [sys.executable, __file__, "--library", library, *(["--tiny"] if tiny else [])]
    process = subprocess.Popen([*command, *(["--rows", *rows] if rows else [])], text=True, stdout=subprocess.PIPE)
    facts, results, failed = {}, {}, None
    for line in process.stdout:
        found = json.loads(line) if line.startswith("{") else {}
        if "device" in found:
            facts = found
        elif "failed" in found:
            failed = found["failed"]
        elif "row" in found:
            results.setdefault(found["row"], {})[library, found["mode"]] = found["seconds"]
            print(f"{library} {found['mode']}: {ROWS[found['row']][0]}: {found['seconds'] * 1e6:.4g} µs", flush=True)
            told(facts, results)
    if process.wait() != 0 or failed is None:
        failed = [*(failed or []), f"the process of {library}, which ended with {process.returncode}"]
    return facts, results, failed


def importable(library):
    return subprocess.run([sys.executable, "-c", f"import {library}"], capture_output=True).returncode == 0


def traffic_table(results):
    """How much of what must be read and written each of the memory-bound rows moves in a second, beside a copy."""

    def moved(row):
        values = [s for (name, _), s in results.get(row, {}).items() if name == "tandem"]
        return TRAFFIC[row] / min(values) if values else None

    lines = ["", "| what | Tandem GB/s | % of the copy's | bar |", "| --- | ---: | ---: | ---: |"]
    copied = moved("copy")
    for row in ROWS:
        if row in TRAFFIC and (rate := moved(row)):
            title = f"{ROWS[row.removesuffix('_grad')][0]}, {ROWS[row][0]}" if row.endswith("_grad") else ROWS[row][0]
            share = f"{100 * rate / copied:.0f}" if copied else "–"
            lines.append(f"| {title} | {figure(rate / 1e9)} | {share} | {BARS.get(row, '–')} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--rows", nargs="*", default=[], choices=[*ROWS, []], help="only these")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--library", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library:
        return measure_here(options.library, options.tiny, options.rows)
    libraries = ["tandem", *(["torch"] if not options.tiny and importable("torch") else [])]
    results, failures, heads = {}, [], {}

    def take(library, facts, found):
        heads[library] = f"{library} {facts.get('version', '?')} on {facts.get('device', '?')}"
        for row, values in found.items():
            results.setdefault(row, {}).update(values)

    def report():
        text = "; ".join(heads.values()) + ", by CUDA events.\n\n"
        if options.tiny:
            text += "**Tiny sizes: these times mean nothing.**\n\n"
        text += markdown([(TITLE, {r: t for r, t in ROWS.items() if r in results})], results) + "\n"
        text += traffic_table(results) + "\n"
        if failures:
            text += "\nFailed: " + "; ".join(failures) + ".\n"
        if options.out:  # after each measurement: what was measured is kept, however this ends
            new = options.out.with_suffix(".new")
            new.write_text(text)
            new.replace(options.out)
        return text

    for library in libraries:

        def told(facts, found, library=library):
            take(library, facts, found)
            report()

        facts, found, failed = measure(library, options.tiny, options.rows, told)
        take(library, facts, found)
        failures += [f"{library}: {row}" for row in failed]
    text = report()
    print(text)
    print(f"{len(results)} rows measured, {len(failures)} failed")
    sys.exit(1 if any(f.startswith("tandem") for f in failures) else 0)


if __name__ == "__main__":
    main()
