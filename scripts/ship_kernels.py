"""Fills the kernel cache that is shipped with a build: common operations, dtypes and layouts.

    python scripts/ship_kernels.py python/tandem/kernels           # for the CPU that this runs on
    python scripts/ship_kernels.py python/tandem/kernels --gpus    # for GPUs too, where NVRTC can be opened

Every operation is simply run once; what it lacks is compiled and lands in a cache directory, under keys that belong to
this build of the compiler. Kernels do not know sizes, so small tensors serve. For GPUs, which need not be here, the
operations run on a device that notes what code they need, and that is compiled for each of `GPUS`. What was compiled is
written to one file an architecture, which runtime/kernel/shipped_kernels.h describes.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable

# Machine code for data centres' GPUs, which also runs on those of the same major number that came later (sm_80 on
# sm_86 and sm_89, sm_100 on sm_103), and PTX, which a driver compiles for all others and those that are yet to come.
GPUS = ("sm_80", "sm_90", "sm_100", "compute_80")
WORKERS = 2
FLOATS = ("float32", "float64")
LIBRARY_FLOATS = ("float32", "float16", "bfloat16")
UNARY = ("neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "square", "reciprocal", "sin", "cos")
WITH_NUMBERS = ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge")
BINARY = (*WITH_NUMBERS, "maximum", "minimum")


def layouts(dtype) -> list:
    """Pairs of operands: the same shape, a row and a column broadcast, transposed, strided, one element."""
    x = tandem.ones(3, 4, dtype=dtype)
    wide = tandem.ones(3, 8, dtype=dtype)
    return [(x, x), (x, x[0]), (x, x[:, :1]), (x, x[0, 0]), (x.t(), x.t()), (wide[:, ::2], wide[:, ::2])]


def run_pairs(dtype) -> None:
    """Operations of two operands, conversions, sums, and what makes tensors, on every layout."""
    for (x, y), name in itertools.product(layouts(dtype), BINARY):
        getattr(tandem, name)(x, y)
    for x, _ in layouts(dtype):
        x.clone()
        x.sum()
        x.sum(0)
        x.sum(1)
        x.amax(1)
        for scalar in (1, 2.0):
            for name in WITH_NUMBERS:
                getattr(tandem, name)(x, scalar)
        for to in (tandem.float32, tandem.float64, tandem.int64, tandem.bool):
            x.to(to)
    for make in (tandem.zeros, tandem.ones):
        make(4, dtype=dtype)
    tandem.arange(4, dtype=dtype)
    x = tandem.ones(3, 4, dtype=dtype)
    tandem.where(x > 0, x, x)
    x.add_(x).mul_(2).fill_(1)


def run_floating(dtype) -> None:
    """Functions of one operand, draws, derivatives and optimizers."""
    for (x, _), name in itertools.product(layouts(dtype), UNARY):
        getattr(tandem, name)(x)
    x = tandem.ones(3, 4, dtype=dtype)
    x.mean()
    tandem.rand(4, dtype=dtype)
    tandem.randn(4, dtype=dtype)
    w = tandem.ones(3, 4, dtype=dtype, requires_grad=True)
    (tandem.tanh(w) * w).sum().backward()
    others = [tandem.ones(3, 4, dtype=dtype, requires_grad=True) for _ in range(2)]
    for other in others:
        other.grad = w.grad
    for params in ([w], others):  # on GPUs by another kernel
        for optimizer in (tandem.optim.SGD(params, lr=0.1), tandem.optim.Adam(params, lr=0.1)):
            optimizer.step()
    # Derivatives of several steps are fused where there are many elements.
    large = tandem.ones(128, 128, dtype=dtype, requires_grad=True)
    for activation in (tandem.tanh, tandem.sigmoid, F.silu, F.gelu):
        activation(large).backward(tandem.ones_like(large))


def run_common(floats: Iterable[str]) -> None:
    """The table: what is shipped for every processor, and of which dtypes beside int64."""
    for name in (*floats, "int64"):
        run_pairs(getattr(tandem, name))
    for name in floats:
        run_floating(getattr(tandem, name))


def run_library(dtype) -> None:
    """Calls of the functions whose kernels are texts of CUDA C++, with their derivatives; layers and losses."""

    def leaf(*shape: int):
        return tandem.ones(*shape, dtype=dtype, requires_grad=True)

    def step(result) -> None:
        result.sum().backward()

    x, index = leaf(6, 8), tandem.zeros(6, dtype=tandem.int64)
    step(x @ leaf(8, 4))
    step(F.linear(leaf(2, 6, 8), leaf(4, 8), leaf(4)))
    step(leaf(2, 6, 8) @ leaf(2, 8, 4))
    for conv, dims in ((F.conv1d, 1), (F.conv2d, 2)):
        step(conv(leaf(2, 3, *[8] * dims), leaf(4, 3, *[3] * dims), leaf(4), padding=1))
    step(F.max_pool2d(leaf(2, 3, 8, 8), 2))
    step(F.avg_pool2d(leaf(2, 3, 8, 8), 2))
    step(F.adaptive_avg_pool2d(leaf(2, 3, 8, 8), 1))
    step(F.interpolate(leaf(2, 3, 4, 4), scale_factor=2.0))
    q = [leaf(2, 2, 8, 16) for _ in range(3)]
    step(F.scaled_dot_product_attention(*q))
    step(F.scaled_dot_product_attention(*q, is_causal=True))
    step(F.embedding(index, leaf(10, 8)))
    step(x.gather(1, tandem.zeros(6, 2, dtype=tandem.int64)))
    step(x.index_select(0, index))
    step(x[index])
    step(x[:, ::2].contiguous())
    step(tandem.cat([x, x]))
    step(tandem.stack([x, x]))
    step(x.t().contiguous())
    step(x.cumsum(1))
    step(x.sort(1)[0])
    step(x.topk(2)[0])
    for norm in (F.layer_norm(x, (8,), leaf(8), leaf(8)), F.softmax(x, 1), F.log_softmax(x, 1)):
        step(norm)
    mean, var = tandem.zeros(3, dtype=dtype), tandem.ones(3, dtype=dtype)
    step(F.batch_norm(leaf(2, 3, 4, 4), mean, var, leaf(3), leaf(3), training=True))
    F.batch_norm(leaf(2, 3, 4, 4), mean, var)
    step(F.dropout(leaf(6, 8)))
    step(F.cross_entropy(x, index))
    step(F.mse_loss(x, leaf(6, 8)))
    with tandem.no_grad():
        tandem.zeros(10, 8, dtype=dtype).scatter_add_(0, index[:, None].expand(6, 8), x)
        x.argmax(1)
        x.argsort(1)
        x.flip(0)
        x[x > 0]
        (x > 0).nonzero()
        (x > 0).any()
        x.triu()
        tandem.randperm(8)


def survey(architecture: str, light: bool) -> None:
    """Notes what code the operations need on GPUs."""
    kind = tandem._C._survey_device("cuda", architecture)
    with tandem.device(kind):
        floats = FLOATS[:1] if light else FLOATS
        run_common(floats)
        for name in floats if light else LIBRARY_FLOATS:
            run_library(getattr(tandem, name))


def pack(work: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes the objects of a cache directory to one file an architecture."""
    folder.mkdir(parents=True, exist_ok=True)
    for architecture in sorted(path for path in work.iterdir() if path.name.startswith(("x86-64", "sm_", "compute_"))):
        objects = {file.parent.name + file.stem: file.read_bytes() for file in architecture.rglob("*.o")}
        at = 16 + 32 * len(objects)
        table = b""
        for key, content in sorted(objects.items()):
            table += struct.pack("<16sQQ", bytes.fromhex(key), at, len(content))
            at += len(content)
        with open(folder / f"{architecture.name}.pack", "wb") as out:
            out.write(b"tdpack01" + struct.pack("<Q", len(objects)) + table)
            out.writelines(content for _, content in sorted(objects.items()))
        print(f"shipped kernels: {len(objects)} for {architecture.name}, {at / 1e6:.1f} MB")


def compile_for_gpus(work: pathlib.Path, targets: list[str], light: bool) -> None:
    """Has processes of this script fill the cache directory, each with a part."""
    command = [sys.executable, __file__, str(work), "--gpus", *targets] + ["--light"] * light
    workers = [subprocess.Popen([*command, "--part", str(part)]) for part in range(WORKERS)]
    if any([worker.wait() for worker in workers]):
        raise SystemExit("ship_kernels.py: kernels for GPUs could not be made")


def has_nvrtc() -> bool:
    """Can the compiler for GPUs be opened?"""
    _nvidia.name_folders()
    return not tandem._C._kernel_compiler(GPUS[0]).endswith("nvrtc")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fill the kernel cache that is shipped with a build.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gpus", nargs="*", metavar="TARGET", help=f"for GPUs too; for these instead of {GPUS}")
    parser.add_argument("--light", action="store_true", help="for GPUs float32 alone")
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)  # of a worker, whose folder is the cache
    return parser.parse_args()


if __name__ == "__main__":
    args = arguments()
    if args.part is None:
        shutil.rmtree(args.folder, ignore_errors=True)  # which would be found
        os.environ["TANDEM_CACHE_DIR"] = tempfile.mkdtemp()
    else:
        os.environ["TANDEM_CACHE_DIR"] = str(args.folder)

import tandem  # noqa: E402
import tandem.nn.functional as F  # noqa: E402
from tandem import _nvidia  # noqa: E402


def main() -> None:
    work = pathlib.Path(os.environ["TANDEM_CACHE_DIR"])
    if args.part is not None:
        survey(args.gpus[0], args.light)
        for target in args.gpus:
            tandem._C._compile_surveyed(target, args.part, WORKERS)
        return
    try:
        run_common(FLOATS)
        if args.gpus is not None and has_nvrtc():
            compile_for_gpus(work, args.gpus or list(GPUS), args.light)
        elif args.gpus is not None:
            print("no kernels are shipped for GPUs: NVRTC cannot be opened")
        pack(work, args.folder)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
