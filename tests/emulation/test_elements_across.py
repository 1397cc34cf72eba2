"""Elementwise operations whose operands lie in different orders, as a matrix and a transposed one: lanes follow what is
transposed, and what is dense along the rows changes hands in shared memory. They have the CPU's bits in every mode and
dtype; copies between two orders move whole lines both ways."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import devices
import pytest
import stand_ins
from same_bits import assert_same_bits
from test_rows_across import compare

import tandem
from tandem import Tensor
from tandem.nn import functional as F

devices.emulate()

DTYPES = [
    tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16, tandem.int64, tandem.int32, tandem.int16,
    tandem.uint8, tandem.bool,
]  # fmt: skip


def parts(x: Tensor, y: Tensor) -> Tensor:
    """Written to parts of a tensor, which kernels store there."""
    z = x.clone()
    z[1:-1, ::2] = y.t()[1:-1, ::2] + x[:-2, ::2]
    z[:, 1:4] *= x[:, 1:4]
    z.t()[5:, ::3] = y[5:, ::3] + y[5:, ::3]
    return z


# Of x, 150 x 130, and y, 130 x 150.
ELEMENTS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "both": lambda x, y: x + y.t(),
    "the other first": lambda x, y: x.t() * y,
    "compared": lambda x, y: x > y.t(),
    "selected": lambda x, y: tandem.where(x > 0, x, y.t()),
    "with a row": lambda x, y: x + y.t() + x[0],
    "with a column": lambda x, y: x[:, :1] + y.t() + x,
    "written": lambda x, y: x.clone().add_(y.t()),
    "written across": lambda x, y: y.clone().t().add_(x),
    "written to parts": parts,
    "written out": lambda x, y: tandem.add(x, y.t(), out=tandem.empty_like(y).t()),
    "several results": lambda x, y: (x + y.t(), (x + y.t()) * 2, x > y.t()),
    "images": lambda x, y: x.reshape(2, 75, 130).transpose(1, 2) + y.reshape(2, 130, 75),
    "dims between": lambda x, y: x.reshape(150, 26, 5).permute(1, 2, 0) + y.reshape(26, 5, 150),
    "dense outermost": lambda x, y: x.reshape(150, 26, 5).permute(1, 0, 2) + y.reshape(5, 26, 150).permute(1, 2, 0),
    "strided": lambda x, y: x[:, :: 2].repeat(1, 2) + y[:, ::1].t(),
    "converted": lambda x, y: (x + y.t()).to(tandem.float64),
    "a copy": lambda x, y: x.t().contiguous(),
    "written copy": lambda x, y: tandem.empty_like(y).t().copy_(x),
    "converted copy": lambda x, y: tandem.empty(130, 150, dtype=tandem.float32).to(x.device).t().copy_(x),
}  # fmt: skip


def made(dtype: tandem.dtype, rows: int = 150, columns: int = 130) -> list[Tensor]:
    tandem.manual_seed(rows)
    sizes = (rows, columns), (columns, rows)
    if dtype.is_floating_point:
        return [(tandem.randn(*size, dtype=tandem.float64) * 3).to(dtype) for size in sizes]
    return [tandem.randint(0, 100, size).to(dtype) for size in sizes]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_mode_and_dtype(dtype):
    for f in ELEMENTS.values():
        compare(f, *made(dtype))


@pytest.mark.parametrize(("rows", "columns"), [(4099, 8), (16, 1024), (17, 1021), (128, 128), (33, 600)])
def test_sizes(rows, columns):
    for name in (
        "both",
        "the other first",
        "with a column",
        "written across",
        "written to parts",
        "several results",
        "written copy",
    ):
        compare(ELEMENTS[name], *made(tandem.float32, rows, columns))


@pytest.mark.parametrize("seed", range(8))
def test_layouts_at_random(seed):
    """Operands of three or four dims in any order, with gaps, steps and repetitions, results of any order."""
    chance = random.Random(seed)
    shape = chance.choice([(33, 130, 5), (3, 8, 64, 17), (16, 200, 9), (200, 130), (17, 3, 33, 16)])
    dims = range(len(shape))

    def operand() -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        order, step = chance.sample(dims, len(shape)), chance.choice([1, 1, 2])
        sizes = [shape[d] for d in order]
        held = [n + chance.choice([0, 0, 3]) for n in sizes]
        held[-1] *= step
        cut = (*(slice(n) for n in sizes[:-1]), slice(0, sizes[-1] * step, step))
        repeated = chance.choice([None, None, None, chance.choice(dims)])

        def view(x: Tensor) -> Tensor:
            y = x[cut].permute([order.index(d) for d in dims])
            return y if repeated is None else y.narrow(repeated, 0, 1).expand(shape)

        dtype = chance.choice(DTYPES[:-1])
        return (tandem.randn(held, dtype=tandem.float64) * 5).abs().to(dtype), view

    tandem.manual_seed(seed)
    (x, of_x), (y, of_y), (z, of_z) = (operand() for _ in range(3))
    back = chance.sample(dims, len(shape))

    def f(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        a, b, c = of_x(x), of_y(y), of_z(z)
        written = tandem.zeros([shape[d] for d in back], device=x.device).permute([back.index(d) for d in dims])
        written.copy_(a).add_(b.float())
        return a + b, (a * c).float().exp(), tandem.where(b > a, c, b), written

    compare(f, x, y, z)


def test_what_knows_its_place():
    """Dropped elements are those of the CPU, counted in the order of the rows."""

    def f(x: Tensor, y: Tensor) -> Tensor:
        tandem.manual_seed(3)
        return F.dropout(x * 8 + y.t(), 0.4)

    compare(f, *made(tandem.float32))


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16, tandem.uint8], ids=str)
def test_frames(dtype):
    """Parts that lie in a whole, read as vectors where they are inside or outside of it, one by one at its ends."""

    def parts(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        whole = tandem.zeros(9, 130, dtype=x.dtype, device=x.device)
        first = tandem.select_scatter(whole, x[0], 0, 2) + tandem.select_scatter(whole, x[1], 0, 7)
        second = tandem.slice_scatter(whole.view(-1), y[:, 3].contiguous(), 0, 16, 146)
        third = tandem.slice_scatter(whole.view(-1), y[:, 5].contiguous(), 0, 1001, 1131)
        return first, second + third, F.pad(x[:8], (8, 16, 1, 2)) + F.pad(x[1:9], (13, 11, 2, 1))

    compare(parts, *made(dtype))


def test_gradients_of_parts():
    """Queries, keys and values of one product: their gradients lie in frames of its own."""

    def f(x: Tensor, y: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        q, k, v = x[:, :96].reshape(10, 15, 3, 4, 8).permute(2, 0, 3, 1, 4)
        (g,) = tandem.autograd.grad((q * k).sin() + v.exp(), x, y[:96, :100].reshape(10, 4, 15, 16)[..., 8:])
        return g

    for dtype in (tandem.float32, tandem.bfloat16):
        compare(f, *made(dtype))


def test_gradients():
    def f(x: Tensor, y: Tensor) -> list[Tensor]:
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        return list(tandem.autograd.grad((x * y.t().exp()).sin(), (x, y), y.t().contiguous()))

    compare(lambda x, y: tuple(f(x, y)), *made(tandem.float32))


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("x + y.t()", "short1(f32:unit, f32:strided)"),
        ("x.double() + y.double().t()", "short1(f64:unit, f64:strided)"),
        ("tandem.add(x, x, out=tandem.empty_like(y).t())", "short1(f32:strided, f32:strided)"),
        ("x.clone().div_(y.t())", "short1(f32:unit, f32:strided)"),
        # Of one order, of few elements, of few rows, of short rows: as they lie.
        ("x.t() + y.t().t().contiguous().view(160, 130).t()", "row0(f32:unit, f32:unit)"),
        ("x[:40, :40] + y[:40, :40].t()", "row1(f32:unit, f32:strided)"),
        ("x.view(4, -1) + y.view(-1, 4).t()", "row1(f32:unit, f32:strided)"),
        ("x.view(-1, 4) + y.view(4, -1).t()", "row1(f32:unit, f32:strided)"),
        # Strides that leave as much of each line unread either way.
        ("x[:, :128:2] + x[:, 1:129:2]", "row1(f32:strided, f32:strided)"),
    ],
)
def test_which_kernel_is_taken(tmp_path, expression, kind):
    program = (
        "import tandem\nx, y = tandem.zeros(160, 130, device='cuda'), tandem.zeros(130, 160, device='cuda')\n"
        f"{expression}\ntandem.cuda.synchronize()"
    )
    texts = (p.read_text() for p in stand_ins.dumped(tmp_path, program))
    heads = (re.search(r"^// (\w+\(.* = (?:add|div) .*)$", text, re.MULTILINE) for text in texts)
    (found,) = (head[1] for head in heads if head)
    assert found.startswith(kind), found


@pytest.mark.parametrize("expression", ["x.t().contiguous()", "tandem.empty_like(y).t().copy_(x)", "y.copy_(x.t())"])
def test_copies_are_turned(tmp_path, expression):
    program = (
        "import tandem\nx, y = tandem.empty(160, 130, device='cuda'), tandem.empty(130, 160, device='cuda')\n"
        f"{expression}\ntandem.cuda.synchronize()"
    )
    assert any("void turn_array" in p.read_text() for p in stand_ins.dumped(tmp_path, program))


def test_eager_softmax_reads_what_lies_across(tmp_path):
    """One kernel, as compiled: no copy in row-major order before it."""
    for call in ("x.t().softmax(1)", "x.t().log_softmax(1)", "tandem.nn.functional.layer_norm(x.t(), (160,))"):
        program = (
            f"import tandem\nx = tandem.empty(160, 130, device='cuda')\nbefore = tandem.counters()\n{call}\n"
            "after = tandem.counters()\nassert after['kernel_launches'] - before['kernel_launches'] == 1\n"
        )
        folder = tmp_path / call[:16]
        folder.mkdir()
        (text,) = [p.read_text() for p in stand_ins.dumped(folder, program)]
        assert re.search(r"^// short1\(f32:strided", text, re.MULTILINE), text[:300]


def test_a_saved_program_brings_the_kernel(tmp_path):
    rows = tandem.export.Dim("rows", min=2, max=300)
    x, y = made(tandem.float32)
    for sizes in (None, {"x": {0: rows}, "y": {1: rows}}):
        program = tandem.export.export(ELEMENTS["both"], (x.cuda(), y.cuda()), dynamic_shapes=sizes)
        tandem.export.save(program, tmp_path / "sum.tandem")
        for device in ("cuda", "cpu"):
            loaded = tandem.export.load(tmp_path / "sum.tandem", device=device, verify=True)
            for n in (2, 7, 150, 299) if sizes else (150,):
                given = made(tandem.float32, n)
                assert_same_bits(loaded(*[v.to(device) for v in given]).cpu(), ELEMENTS["both"](*given))
