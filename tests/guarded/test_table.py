"""The table of operations on the device under test: in every mode the CPU's bits, and on the device all the way."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import assert_same_bits
from guarded import DEVICE, GUARDED, all_there, has_own_order, slow
from operations import VISIBLE, Operation, Typed, dtypes, layouts, leaves
from references import UNSPECIFIED
from samples import for_gradients, samples

import tandem


def compare(got: list[tandem.Tensor], want: list[tandem.Tensor], what: str) -> None:
    assert len(got) == len(want), what
    for a, b in zip(got, want, strict=True):
        assert a.device == DEVICE, f"{what}: a result on {a.device}"
        assert a.shape == b.shape and (a.stride() == b.stride() or not a.numel()), what
        try:
            assert_same_bits(a.cpu(), b.cpu())
        except AssertionError as e:
            raise AssertionError(f"{what}: {e}") from None


def reference(got: list[tandem.Tensor], want: list[tandem.Tensor], row: Typed) -> list[tandem.Tensor]:
    """What other modes are compared with: the CPU's results, or where the device adds in an order of its own and is
    close to them, its own."""
    try:
        compare(got, want, f"eager, {row}")
    except AssertionError:
        if not has_own_order(lambda: row.run()):
            raise
        for a, b in zip(got, want, strict=True):
            assert a.device == DEVICE and a.shape == b.shape and a.dtype is b.dtype, row
            tandem.testing.assert_close(a.cpu(), b, msg=f"eager, {row}", equal_nan=True)
        return [t.cpu() for t in got]
    return want


def check(op: Operation, dtype: str, layout: str) -> None:
    """All samples of an operation, in every mode."""
    for sample in samples(op, dtype):
        row = Typed.of(op, sample, dtype, layout)
        if not row.tensors:
            continue
        tandem.manual_seed(7)
        want = row.run()
        moved = Typed(op, *all_there((row.args, row.kwargs)), dtype, layout)
        tandem.manual_seed(7)
        want = reference(moved.run(), want, row)
        tandem.manual_seed(7)
        with tandem.lazy():
            lazy = moved.run()
        compare(lazy, want, f"lazy, {row}")
        compiled = tandem.compile(lambda *tensors, moved=moved: moved.run(list(tensors)))
        for _ in range(2):
            tandem.manual_seed(7)
            compare(leaves(compiled(*moved.tensors)), want, f"compiled, {row}")


def kinds(op: Operation) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Dtypes and layouts that are tried at once, and those that slow tests try. A kernel of an emulated GPU takes a
    twentieth of a second to compile: at once it gets one of them, another one for each operation, mostly float32."""
    pairs = [(dtype, layout) for dtype in dtypes(op) for layout in layouts(op)]
    if GUARDED:
        return pairs, []
    number = sum(op.name.encode())
    some = [p for p in pairs if p[0] == "float32"] if number % 3 else []
    first = (some or pairs)[number % len(some or pairs)]
    return [first], [p for p in pairs if p != first]


@pytest.mark.parametrize("name", VISIBLE)
def test_operation(name):
    if name in UNSPECIFIED:
        pytest.skip("its elements are not specified")
    for dtype, layout in kinds(VISIBLE[name])[0]:
        check(VISIBLE[name], dtype, layout)


@slow
@pytest.mark.skipif(GUARDED, reason="is done at once")
@pytest.mark.parametrize("name", [name for name in VISIBLE if name not in UNSPECIFIED])
def test_all_dtypes_and_layouts(name):
    for dtype, layout in kinds(VISIBLE[name])[1]:
        check(VISIBLE[name], dtype, layout)


DIFFERENTIABLE = [
    n for n, op in VISIBLE.items() if op.differentiable and n not in UNSPECIFIED and "float32" in dtypes(op)
]


def some_slow(names: list[str]) -> list[Any]:
    """On an emulated GPU all but every eighth are slow tests."""
    return [n if GUARDED or k % 8 == 0 else pytest.param(n, marks=slow) for k, n in enumerate(names)]


@pytest.mark.parametrize("name", some_slow(DIFFERENTIABLE))
def test_gradients(name):
    """First and second order, of samples that are small."""
    op = VISIBLE[name]
    for sample in for_gradients(op):
        row = Typed.of(op, sample, "float32", "contiguous")
        seen = []
        for tensors in (row.tensors, all_there(row.tensors)):
            inputs = [t.detach().clone().requires_grad_(t.is_floating_point()) for t in tensors]
            tandem.manual_seed(7)
            outputs = [o for o in row.run(inputs) if o.requires_grad]
            wanted = [t for t in inputs if t.requires_grad]
            if not outputs or not wanted:
                break
            first = tandem.autograd.grad([o.sum() for o in outputs], wanted, create_graph=True, allow_unused=True)
            first = [g for g in first if g is not None]
            again = [g for g in first if g.requires_grad]
            second = tandem.autograd.grad([g.sum() for g in again], wanted, allow_unused=True) if again else []
            seen.append([g.detach() for g in [*first, *second] if g is not None])
        if len(seen) == 2:
            reference(seen[1], seen[0], row)
