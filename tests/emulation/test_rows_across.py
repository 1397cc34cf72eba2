"""Rows whose elements lie across and whose outputs follow from reductions of them, as a softmax of a transposed matrix:
lanes follow the dim that is dense, and what is dense along the rows changes hands in shared memory. They have the
CPU's bits in every mode and dtype."""

from __future__ import annotations

import re
from collections.abc import Callable

import devices
import pytest
import stand_ins
from same_bits import assert_same_bits

import tandem
from tandem import Tensor
from tandem.nn import functional as F

devices.emulate()

DTYPES = [tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16]

ROWS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "softmax": lambda x, b: x.t().softmax(1),
    "log_softmax": lambda x, b: x.t().log_softmax(1),
    "first dim": lambda x, b: x.softmax(0),
    "layer_norm": lambda x, b: F.layer_norm(x.t(), (x.shape[0],), x[:, 0].contiguous(), x[:, 1].contiguous()),
    "rms_norm": lambda x, b: F.rms_norm(x.t(), (x.shape[0],)),
    "images": lambda x, b: x[:70, :45].reshape(2, 35, 5, 9).permute(0, 2, 3, 1).softmax(3),
    "dims between": lambda x, b: x[:70, :45].reshape(70, 5, 9).permute(2, 1, 0).softmax(2),
    "with rows along": lambda x, b: (x.t() + x.reshape(x.shape[1], x.shape[0])).softmax(1),
    "scaled": lambda x, b: (x.t() * 2 + b[:, None]).softmax(1) * 3,
    "centred": lambda x, b: (x.t() - x.t().mean(1, keepdim=True)).t(),
    "norm": lambda x, b: x.t() / x.t().square().sum(1, keepdim=True).sqrt(),
    "results of rows": lambda x, b: (x.t() - x.t().amax(1, keepdim=True), x.t().exp().sum(1)),
    "several outputs": lambda x, b: (x.t().softmax(1) * b[:, None], x.t().softmax(1).exp()),
    "shared stage": lambda x, b: (x.t() * 2, (x.t() * 2).sum(1)),
    "masked": lambda x, b: x.t().masked_fill(x.t() > 1, float("-inf")).softmax(1),
    "written": lambda x, b: x.clone().t().sub_(x.t().amax(1, keepdim=True)).div_(b[:, None]),
    "strided": lambda x, b: x[:, ::2].t().softmax(1),
    "sum of both": lambda x, b: (x.t() * x.reshape(x.shape[1], x.shape[0])).sum(1),
}


def compare(f: Callable[..., object], *given: Tensor) -> None:
    """Eager, lazy and compiled on the device with the CPU's bits."""

    def each(value: object) -> list[Tensor]:
        return list(value) if isinstance(value, tuple) else [value]

    want, moved = each(f(*given)), [x.cuda() for x in given]
    found = [f(*moved), tandem.compile(f)(*moved)]
    with tandem.lazy():
        found.append(f(*moved))
    for got in found:
        for a, b in zip(each(got), want, strict=True):
            assert a.stride() == b.stride()
            assert_same_bits(a.cpu(), b)


def made(rows: int, columns: int, dtype: tandem.dtype = tandem.float32) -> tuple[Tensor, Tensor]:
    tandem.manual_seed(rows)
    x = (tandem.randn(rows, columns, dtype=tandem.float64) * 3).to(dtype)
    return x, tandem.randn(columns, dtype=tandem.float64).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("f", ROWS.values(), ids=ROWS)
def test_every_mode_and_dtype(f, dtype):
    compare(f, *made(70, 45, dtype))


@pytest.mark.parametrize("rows", [8, 32, 4096, 4099, 9000])
def test_blocks(rows):
    x, b = made(rows, 33)
    for name in ("softmax", "layer_norm", "with rows along", "results of rows", "sum of both"):
        compare(ROWS[name], x, b)


def test_values_that_are_not_finite():
    x, b = made(70, 40)
    x[3, 4], x[5, 6], x[7, 7], x[:, 9], x[:, 10] = float("inf"), float("nan"), -0.0, float("-inf"), 0.0
    for name in ("softmax", "log_softmax", "norm", "results of rows"):
        compare(ROWS[name], x, b)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "rms_norm", "norm", "images", "with rows along"])
def test_gradients(name):
    def gradient(x: Tensor, g: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        y = ROWS[name](x, x[0])
        return tandem.autograd.grad(y, x, g.reshape(-1)[: y.numel()].reshape(y.shape))[0]

    compare(gradient, *(made(70, 45)[0] for _ in range(2)))


def test_random_numbers_know_their_place():
    """Dropped elements are those of the CPU, whose place is that in the rows as they are counted."""

    def f(x: Tensor) -> Tensor:
        tandem.manual_seed(3)
        return F.dropout(x.t().softmax(1) * 8, 0.4)

    compare(f, made(70, 45)[0])


def test_channels_last():
    x = made(70, 45)[0].reshape(-1)[:2400].reshape(2, 40, 5, 6).contiguous(memory_format=tandem.channels_last)
    for f in (lambda v: v.softmax(2), lambda v: v.softmax(0), lambda v: v - v.mean((2, 3), keepdim=True)):
        compare(f, x)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("v.t().softmax(1)", "short1(f32:strided)"),
        ("tandem.nn.functional.rms_norm(v.t(), (300,), v.view(-1)[:300])", "short1(f32:strided, f32:unit, i64, f64)"),
        ("v.reshape(30, 10, 64).permute(0, 2, 1).softmax(2)", "short2(f32:strided)"),
        # Dense along its rows, too few beside each other, or of few elements: as it lies.
        ("v.softmax(1)", "row1(f32:unit)"),
        ("v[:, :8].t().softmax(1)", "row1(f32:strided)"),
        ("v[:4].t().softmax(1)", "row1(f32:strided)"),
    ],
)
def test_which_kernel_is_taken(tmp_path, expression, kind):
    program = (
        "import tandem\nx = tandem.zeros(300, 64, device='cuda')\n"
        f"tandem.compile(lambda v: {expression})(x)\ntandem.cuda.synchronize()"
    )
    heads = (re.search(r"^// (.*reduce.*)$", p.read_text(), re.MULTILINE) for p in stand_ins.dumped(tmp_path, program))
    (found,) = (head[1] for head in heads if head)
    assert found.startswith(kind), found


@pytest.mark.parametrize("length", [40, 80])
def test_a_saved_program_brings_the_kernel(tmp_path, length):
    """For a range of sizes, too, of which the CPU launches other kernels where rows are short."""
    rows = tandem.export.Dim("rows", min=2, max=100)
    x = made(50, length)[0]
    for sizes in (None, {"v": {0: rows}}):
        program = tandem.export.export(lambda v: v.t().softmax(1), (x.cuda(),), dynamic_shapes=sizes)
        tandem.export.save(program, tmp_path / "rows.tandem")
        for device in ("cuda", "cpu"):
            loaded = tandem.export.load(tmp_path / "rows.tandem", device=device, verify=True)
            assert_same_bits(loaded(x.to(device)).cpu(), x.t().softmax(1))
            for n in (2, 7, 99) if sizes else ():
                v = made(n, length)[0]
                assert_same_bits(loaded(v.to(device)).cpu(), v.t().softmax(1))
