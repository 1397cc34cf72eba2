"""Fills `tandem/kernels`, the kernel cache shipped with a build: common operations, dtypes and layouts.

    TANDEM_CACHE_DIR=python/tandem/kernels python scripts/ship_kernels.py

Every operation is simply run once; what it lacks is compiled and lands in the cache directory, under keys that belong
to this build of the compiler. Kernels do not know sizes, so small tensors serve.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import shutil

folder = pathlib.Path(os.environ["TANDEM_CACHE_DIR"])
shutil.rmtree(folder, ignore_errors=True)

import tandem  # noqa: E402
import tandem.nn.functional as F  # noqa: E402

FLOATS = (tandem.float32, tandem.float64)
UNARY = ("neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "square", "reciprocal", "sin", "cos")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge")


def layouts(dtype: tandem.dtype) -> list[tuple[tandem.Tensor, tandem.Tensor]]:
    """Pairs of operands: the same shape, a row and a column broadcast, transposed, strided, one element."""
    x = tandem.ones(3, 4, dtype=dtype)
    wide = tandem.ones(3, 8, dtype=dtype)
    return [(x, x), (x, x[0]), (x, x[:, :1]), (x, x[0, 0]), (x.t(), x.t()), (wide[:, ::2], wide[:, ::2])]


def run() -> None:
    """Runs every operation on every layout."""
    for dtype in (*FLOATS, tandem.int64):
        for (x, y), name in itertools.product(layouts(dtype), BINARY):
            getattr(tandem, name)(x, y)
        for x, _ in layouts(dtype):
            x.clone()
            x.sum()
            x.sum(0)
            x.sum(1)
            x.amax(1)
            for scalar in (1, 2.0):
                for name in BINARY:
                    getattr(tandem, name)(x, scalar)
            for to in (tandem.float32, tandem.float64, tandem.int64, tandem.bool):
                x.to(to)
        for make in (tandem.zeros, tandem.ones):
            make(4, dtype=dtype)
        tandem.arange(4, dtype=dtype)
        x = tandem.ones(3, 4, dtype=dtype)
        tandem.where(x > 0, x, x)
        x.add_(x).mul_(2).fill_(1)
    for dtype in FLOATS:
        for (x, _), name in itertools.product(layouts(dtype), UNARY):
            getattr(tandem, name)(x)
        x = tandem.ones(3, 4, dtype=dtype)
        x.mean()
        tandem.rand(4, dtype=dtype)
        tandem.randn(4, dtype=dtype)
        w = tandem.ones(3, 4, dtype=dtype, requires_grad=True)
        (tandem.tanh(w) * w).sum().backward()
        for optimizer in (tandem.optim.SGD([w], lr=0.1), tandem.optim.Adam([w], lr=0.1)):
            optimizer.step()
        # Derivatives of several steps are fused where there are many elements.
        large = tandem.ones(128, 128, dtype=dtype, requires_grad=True)
        for activation in (tandem.tanh, tandem.sigmoid, F.silu, F.gelu):
            activation(large).backward(tandem.ones_like(large))


run()
print(f"shipped kernels: {sum(1 for _ in folder.rglob('*.o'))}")
