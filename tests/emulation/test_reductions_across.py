"""Reductions whose operands lie across: dense along a dim that is kept, as transposed and permuted ones are. Lanes
follow that dim, in the order of the CPU: every kind and dtype, in every mode, as launches turn them and where reduced
dims do not merge."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import stand_ins
from emulated import there
from operations import VISIBLE, Operation, dtypes
from same_bits import assert_same_bits

import tandem

REDUCTIONS = [op for op in VISIBLE.values() if op.samples == "reduction"]


def layouts(x: tandem.Tensor) -> list[tuple[tandem.Tensor, tuple[int, ...]]]:
    """Views that are dense along a kept dim, and the dims to reduce."""
    image = x.reshape(-1)[: 3 * 4 * 5 * 18].reshape(3, 4, 5, 18)
    return [
        (x.t(), (1,)),
        (x[:, :40].t()[::2], (1,)),
        (x.t()[None].expand(2, -1, -1), (2,)),
        (image.permute(3, 0, 2, 1), (2, 3)),  # reduced dims that do not merge
        (image.permute(3, 1, 0, 2), (1,)),  # between kept ones
    ]


def compare(f: Callable[[tandem.Tensor], tandem.Tensor], x: tandem.Tensor) -> None:
    """Eager, lazy and compiled on the device with the CPU's bits."""
    want = f(x)
    moved = there(x)
    assert moved.stride() == x.stride()
    assert_same_bits(f(moved).cpu(), want)
    with tandem.lazy():
        lazy = f(moved)
    assert_same_bits(lazy.cpu(), want)
    assert_same_bits(tandem.compile(f)(moved).cpu(), want)


@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
def test_every_reduction(op: Operation) -> None:
    for dtype in dtypes(op):
        kind = getattr(tandem, dtype)
        x = (tandem.randn(70, 45, dtype=tandem.float64) * 3).to(kind)
        if kind.is_floating_point and "prod" not in op.name:
            x[3, 4], x[5, 6], x[7, 7] = float("inf"), float("nan"), -0.0
        for view, dims in layouts(x):
            if op.params[1][1] == "dim" or op.name in {"prod", "any", "all"}:
                dims = dims[:1]
            compare(lambda v, dims=dims: op.call(v, dims[0] if len(dims) == 1 else dims), view)


def fused(x: tandem.Tensor, bias: tandem.Tensor) -> tuple[tandem.Tensor, ...]:
    """What comes before and behind a reduction in one kernel, and several that need each other."""
    t = x.t()
    return (
        (t * 2).sum(1) * 3 + bias,
        t.var(1, correction=0),
        (t - t.amax(1, keepdim=True)).exp().sum(1),
        (t + bias[:, None]).mean(1),
        (t * x.t().exp()).sum(1),
    )


@pytest.mark.parametrize("rows", [40, 4099, 9000], ids=["short", "two blocks", "blocks"])
def test_fused_kernels(rows):
    x, bias = tandem.randn(rows, 33), tandem.randn(33)
    want = fused(x, bias)
    moved = x.cuda(), bias.cuda()
    with tandem.lazy():
        lazy = fused(*moved)
    for got in (fused(*moved), lazy, tandem.compile(fused)(*moved)):
        for a, b in zip(got, want, strict=True):
            assert_same_bits(a.cpu(), b)


def test_few_long_rows_are_cut():
    """So few columns leave multiprocessors idle: the turned kernel runs in blocks."""
    x = tandem.randn(140_001, 17)
    assert_same_bits(x.cuda().t().sum(1).cpu(), x.t().sum(1))


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("x.t().sum(1)", "trailing column0(f32:unit)"),
        ("x.t()[:, ::2].sum(1)", "trailing column0(f32:unit)"),
        ("x.reshape(30, 10, 64).permute(2, 0, 1)[:, :, :9].sum((1, 2))", "trailing column0 over 2(f32:unit)"),
        # Dense along its rows, too few columns, or of few rows: as it lies.
        ("x.sum(1)", "row1(f32:unit)"),
        ("x[:, :8].t().sum(1)", "row1(f32:strided)"),
        ("x[:4].t().sum(1)", "row1(f32:strided)"),
        # Of the leading class, the dense dim behind and before the reduced one.
        ("x.sum(0)", "column0(f32:unit)"),
        ("x.reshape(30, 10, 64).permute(2, 1, 0).sum(1)", "column1(f32:unit)"),
    ],
)
def test_which_kernel_is_taken(tmp_path, expression, kind):
    program = f"import tandem\nx = tandem.zeros(300, 64, device='cuda')\n{expression}\ntandem.cuda.synchronize()"
    heads = (re.search(r"^// (.*reduce.*)$", p.read_text(), re.MULTILINE) for p in stand_ins.dumped(tmp_path, program))
    (found,) = (head[1] for head in heads if head)
    assert found.startswith(kind), found


def test_a_saved_program_brings_the_turned_kernel(tmp_path):
    x = tandem.randn(50, 40, device="cuda")
    program = tandem.export.export(lambda v: v.t().sum(1), (x,))
    tandem.export.save(program, tmp_path / "sums.tandem")
    loaded = tandem.export.load(tmp_path / "sums.tandem", device="cuda")
    assert_same_bits(loaded(x).cpu(), x.cpu().t().sum(1))


def test_sizes_of_a_saved_program_that_turn_it(tmp_path):
    """Sizes decide whether a kernel is turned; one that a program lacks is run as it lies."""
    rows = tandem.export.Dim("rows", min=2, max=100)
    x = tandem.randn(50, 40, device="cuda")
    program = tandem.export.export(lambda v: v.t().sum(1), (x,), dynamic_shapes={"v": {0: rows}})
    tandem.export.save(program, tmp_path / "sums.tandem")
    loaded = tandem.export.load(tmp_path / "sums.tandem", device="cuda")
    for n in (2, 5, 8, 50, 99):
        v = tandem.randn(n, 40)
        assert_same_bits(loaded(v.cuda()).cpu(), v.t().sum(1))


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.bfloat16], ids=str)
def test_images_with_channels_last(dtype):
    x = tandem.randn(8, 3, 10, 12).to(dtype).contiguous(memory_format=tandem.channels_last)
    for f in (
        lambda v: v.sum((2, 3)),
        lambda v: v.mean((2, 3)),
        lambda v: v.amax((2, 3)),
        lambda v: v.var((0, 2, 3)),
        lambda v: v.sum((0, 2)),
        lambda v: v.softmax(1).sum((2, 3)),
        lambda v: tandem.nn.functional.layer_norm(v, (12,)).sum(3),
    ):
        compare(f, x)


def test_repeated_empty_and_nan():
    row = tandem.randn(1, 40)
    compare(lambda v: v.expand(50, 40).t().sum(1), row)
    compare(lambda v: v.t().sum(1), tandem.zeros(0, 40))
    x = tandem.randn(70, 33)
    x[3] = float("nan")
    compare(lambda v: v.t().amax(1), x)
