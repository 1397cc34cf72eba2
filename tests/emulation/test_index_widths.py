"""Indices of kernels: divided in 32 bits where they fit and in 64 where they do not, and right on both sides of the
border. A launch begins at the units beside 2^31 or 2^32, with pointers moved so that what it touches is there."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
import stand_ins
from test_kernel_texts import needed, nvrtc

PRELUDE = (stand_ins.ROOT / "codegen/cuda/prelude.cu").read_text()
COMMON = (stand_ins.ROOT / "runtime/lib/cuda/common.cu").read_text()
NUMBERS = sorted({max(2**k + d, 1) for k in (0, 8, 31, 32, 33, 62) for d in (-2, -1, 0, 1)})

DIVIDE = """
extern "C" __global__ void divided(long long* out, const long long* a, const long long* b, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = DIVISION(a[i], b[i]);
}"""


@pytest.mark.parametrize(("text", "division"), [(PRELUDE, "divide"), (COMMON, "View::divide")], ids=["own", "library"])
def test_quotients_beside_the_border(gpu, text, division):
    a, b = np.array(list(product([0, *NUMBERS], NUMBERS)), np.int64).T
    text += DIVIDE.replace("DIVISION", division)
    found = gpu.over(text, "divided", a, b, out=((len(a),), np.int64))
    assert (found == a // b).all()


@needed
@pytest.mark.parametrize(("text", "division"), [(PRELUDE, "divide"), (COMMON, "View::divide")], ids=["own", "library"])
def test_which_division_is_chosen(text, division):
    """What NVRTC leaves of the choice where the size is known, and where it is not."""

    def divisions(a: str, b: str) -> set[str]:
        kernel = f'extern "C" __global__ void f(long long* x) {{ x[0] = {division}({a}, {b}); }}'
        compiler = stand_ins.Compiler(nvrtc())
        ptx = compiler.compile(text + kernel, architecture="compute_80").decode()
        return set(re.findall(r"div\.[us]\d+", ptx))

    assert divisions("(unsigned)x[1]", "(unsigned)x[2]") == {"div.u32"}
    assert divisions("x[1] | 1ll << 32", "(unsigned)x[2]") == {"div.s64"}
    assert divisions("(unsigned)x[1]", "x[2] | 1ll << 32") <= {"div.s64", "div.u64"}
    assert divisions("x[1]", "x[2]") == {"div.u32", "div.s64"}


# ---- kernels of the generator, launched by hand

KERNELS = """
import tandem
x, y = tandem.zeros(5, 3, 6, device='cuda')[:, :, :4], tandem.zeros(5, 1, 4, device='cuda').expand(5, 3, 4)
x + y, x[:, :2].sum(2), tandem.zeros(7, 6, 40, device='cuda')[:, :, :33].sum(1)
a = tandem.zeros(64, device='cuda')
a + a
tandem.cuda.synchronize()
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> dict[str, str]:
    """By what the signature says first."""
    found = {}
    for path in stand_ins.dumped(tmp_path_factory.mktemp("texts"), KERNELS):
        text = path.read_text()
        head = re.search(r"^// (\w+\d.*)$", text, re.MULTILINE)
        if head:
            found[head[1].partition(" {")[0] + (" reduces" if "reduce" in head[1] else "")] = text
    return found


def kernel(gpu: stand_ins.Gpu, text: str) -> object:
    return gpu.kernels(text, re.search(r"(\w+)\(const __grid_constant__", text)[1])


def arguments(*numbers: int) -> np.generic:
    """The argument block, by value."""
    return np.array([tuple(n % 2**64 for n in numbers)], [(f"f{k}", "u8") for k in range(len(numbers))])[0]


BORDERS = (2**31, 2**32)


@pytest.mark.parametrize("border", BORDERS)
def test_elements(gpu, texts, border):
    text = texts["row0(f32:unit, f32:unit)"]
    begin, end = border - 40, border + 40
    x = gpu.array(np.arange(80, dtype=np.float32))
    out = gpu.empty((80,), np.float32)
    args = arguments(end, *(v for t in (x, x, out) for v in (t.address - begin * 4, 1)))
    gpu.launch(kernel(gpu, text), 3, 256, args, np.int64(begin), np.int64(end))
    assert (out.numpy() == 2 * np.arange(80)).all()


@pytest.mark.parametrize("sizes", [(2**32, 3), (3, 2**32), (2**16 + 1, 2**16 + 1)], ids=str)
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("kind", ["row2(f32:unit, f32:unit)", "row2(f32:unit) reduces"])
def test_rows(gpu, texts, kind, border, sizes):
    """Of an input row r begins at 4 * r, and 64 elements further on for each index of the first dim."""
    n, begin, end = 4, border - 9, border + 9
    places = np.array([4 * r + 64 * (r // sizes[1]) for r in range(begin, end)])
    low = int(places[0])
    memory = np.arange(places[-1] + n - low, dtype=np.float32)
    x = gpu.array(memory)
    want = memory[(places - low)[:, None] + np.arange(n)]
    reduces = "reduces" in kind
    width = 1 if reduces else n
    out = gpu.empty((len(places), width), np.float32)
    inputs = [x.address - low * 4, 1, sizes[1] * 4 + 64, 4] * (1 if reduces else 2)
    block = arguments(*sizes, n, *inputs, out.address - begin * width * 4, 1, sizes[1] * width, width)
    threads = (32, 8) if reduces else 256
    gpu.launch(kernel(gpu, texts[kind]), 2, threads, block, np.int64(begin), np.int64(end))
    assert (out.numpy() == (want.sum(1, keepdims=True) if reduces else 2 * want)).all()


@pytest.mark.parametrize("n", [3, 2**31 - 1, 2**32 + 1])
@pytest.mark.parametrize("border", BORDERS)
def test_columns(gpu, texts, border, n):
    """Column c, of two rows, begins at c, and 64 elements further on for each index of the outer dim."""
    begin, end, rows = border - 40, border + 40, 2
    places = np.array([c + 64 * (c // n) for c in range(begin, end)])
    low = int(places[0])
    memory = np.arange(places[-1] + 1 - low + 16, dtype=np.float32)
    x, out = gpu.array(memory), gpu.empty((end - begin,), np.float32)
    inputs = [x.address - low * 4, 1, 16, n + 64]
    block = arguments(-(-end // n), n, rows, *inputs, out.address - begin * 4, 1, 0, n)
    gpu.launch(kernel(gpu, texts["column1(f32:unit) reduces"]), 2, (32, 8), block, np.int64(begin), np.int64(end))
    assert (out.numpy() == memory[places - low] + memory[places - low + 16]).all()
