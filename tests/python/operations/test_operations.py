"""Every operation record × dtype × layout × mode, and derivatives to order two. One test an operation and question.

Values are compared with NumPy or SciPy in higher precision, modes with eager bit for bit. All samples of one operation
and dtype are recorded into one graph, which keeps the suite quick and mixes what a plan has to hold.
"""

from __future__ import annotations

import re
import runpy
from typing import Any

import numpy as np
import pytest
from compiling import attempt, picture
from conftest import assert_same_bits
from covered import COVERED
from operations import (
    OPERATIONS,
    ROOT,
    TOLERANCE,
    VISIBLE,
    Operation,
    Typed,
    array_of,
    dtypes,
    layouts,
    leaves,
    map_leaves,
    name_of,
    result_dtype,
    tensor,
)
from references import PROPERTIES, UNSPECIFIED, reference
from sample_rows_math import POLYNOMIALS
from samples import for_gradients, samples

import tandem

by_name = pytest.mark.parametrize("name", VISIBLE)
DIFFERENTIABLE = {
    n: op
    for n, op in VISIBLE.items()
    if op.differentiable
    and n not in UNSPECIFIED
    and any(d in TOLERANCE for d in dtypes(op))
    and any(True for _ in for_gradients(op))
}


def typed_samples(op: Operation, dtype: str, layout: str = "contiguous") -> list[Typed]:
    return [Typed.of(op, s, dtype, layout) for s in samples(op, dtype)]


def usual_dtype(op: Operation) -> str:
    return "float32" if "float32" in dtypes(op) else "int64"


def all_samples(op: Operation, dtype: str) -> list[Typed]:
    return [t for layout in layouts(op) for t in typed_samples(op, dtype, layout)]


# ---- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@by_name
def test_values(name):
    op = VISIBLE[name]
    for dtype in dtypes(op):
        for sample in all_samples(op, dtype):
            tandem.manual_seed(1)
            check_values(op, sample)


def check_values(op: Operation, sample: Typed) -> None:
    before = [array_of(t).copy() for t in sample.tensors]
    try:
        got = sample.run()
    except Exception as e:
        raise AssertionError(f"{sample} raises {type(e).__name__}: {e}") from e
    for t, old in zip(sample.tensors, before, strict=True):
        np.testing.assert_array_equal(array_of(t), old, err_msg=f"{sample} wrote to its argument")
    assert not any(t._version for t in got), f"{sample} shows how it was written"
    args, kwargs = sample.arrays()
    if op.name in PROPERTIES:
        assert PROPERTIES[op.name](*args, **kwargs)(array_of(got[0])), f"{sample}: {got[0]}"
        return
    if op.types == "Float":  # integers are computed as floats
        args, kwargs = map_leaves((args, kwargs), np.ndarray, lambda a: a.astype(np.float64))
    want = reference(op)(*args, **kwargs)
    want = list(want) if isinstance(want, (tuple, list)) else [want]
    assert len(got) == len(want), str(sample)
    numbers = any(isinstance(a, (int, float)) for a in sample.args)
    expected = result_dtype(op, sample.dtype)
    if expected and not (numbers and op.samples in ("binary", "power", "integers", "shifts", "where")):
        assert name_of(got[0].dtype) == expected, str(sample)
    for g, w in zip(got, want, strict=True):
        assert g.shape == np.shape(w), f"{sample}: shape {list(g.shape)}, not {list(np.shape(w))}"
        if op.name in UNSPECIFIED:
            continue
        tolerance = TOLERANCE.get(name_of(g.dtype), 0)
        if op.types == "Float" and sample.dtype not in TOLERANCE:
            tolerance = TOLERANCE["float32"]
        # Sums cancel: what is left over is relative to the largest term, as in any order of summing.
        scale = max(1.0, float(np.abs(np.nan_to_num(np.asarray(w, np.float64), posinf=0, neginf=0)).max(initial=0)))
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                array_of(g),
                narrowed(np.asarray(w), g.dtype),
                rtol=tolerance,
                atol=tolerance * scale,
                err_msg=str(sample),
            )


def narrowed(want: np.ndarray, dtype: tandem.dtype) -> np.ndarray:
    """A reference beyond the range of a narrow dtype is an infinity there."""
    if want.dtype.kind != "f" or not dtype.is_floating_point:
        return want
    limit = tandem.finfo(dtype).max
    return np.where(np.abs(want) > limit, np.copysign(np.inf, want), want)


# ---- modes ----------------------------------------------------------------------------------------------------------


class Argument:
    """Stands where a sample holds a tensor."""


class Together:
    """All samples as one function of their tensors, which it reaches as its arguments only."""

    def __init__(self, rows: list[Typed]) -> None:
        self.tensors = [t for row in rows for t in row.tensors]
        self.calls = [
            (row.op.call, *map_leaves((row.args, row.kwargs), tandem.Tensor, lambda _: Argument())) for row in rows
        ]

    def __call__(self, *tensors: tandem.Tensor) -> list[tandem.Tensor]:
        rest = iter(tensors)
        out = []
        for call, args, kwargs in self.calls:
            args, kwargs = map_leaves((args, kwargs), Argument, lambda _: next(rest))
            out += leaves((call(*args, **kwargs),))
        return out


def run_in_modes(function: Together) -> tuple[dict[str, list[tandem.Tensor]], str]:
    """The results in every mode from one state of the generator, and why the compiled body runs again, if it does."""
    tensors = function.tensors
    results = {}
    tandem.manual_seed(7)
    results["eager"] = function(*tensors)
    tandem.manual_seed(7)
    with tandem.lazy():
        results["lazy"] = function(*tensors)
    compiled = tandem.compile(function)
    tandem.manual_seed(7)
    results["compiled, traced"] = compiled(*tensors)
    # A second run where memory is found to be reached beyond what the first knew.
    tandem.manual_seed(7)
    results["compiled, again"] = compiled(*tensors)
    runs = compiled.runs
    tandem.manual_seed(7)
    results["compiled"] = compiled(*tensors)
    return results, compiled.explain(*tensors) if compiled.runs > runs else ""


def assert_modes_agree(rows: list[Typed]) -> str:
    """Why a compiled call runs the body again, if it does."""
    results, reason = run_in_modes(Together(rows))
    eager = results.pop("eager")
    for mode, got in results.items():
        assert len(got) == len(eager), mode
        for i, (a, b) in enumerate(zip(got, eager, strict=True)):
            assert a.stride() == b.stride() or a.numel() == 0, (
                f"{mode}, result {i}: strides {a.stride()}, eager's {b.stride()}"
            )
            try:
                assert_same_bits(a, b)
            except AssertionError as e:
                raise AssertionError(f"{mode}, result {i} of {[str(r) for r in rows][:20]}: {e}") from None
    return reason


def assert_lazy_agrees(row: Typed) -> None:
    tandem.manual_seed(7)
    eager = row.run()
    tandem.manual_seed(7)
    with tandem.lazy():
        lazy = row.run()
    for a, b in zip(lazy, eager, strict=True):
        assert_same_bits(a, b)


@by_name
def test_modes(name):
    op = VISIBLE[name]
    if name in UNSPECIFIED:
        pytest.skip("its elements are not specified")
    reasons = []
    for dtype in dtypes(op):
        rows = all_samples(op, dtype)
        try:
            reasons.append(assert_modes_agree(rows))
            for row in rows[: len(rows) // len(layouts(op))]:  # alone it may be fused otherwise
                assert_lazy_agrees(row)
        except Exception:
            for row in rows:  # which one?
                try:
                    assert_modes_agree([row])
                except Exception as e:
                    raise AssertionError(f"{row}: {type(e).__name__}: {e}") from e
            raise
    assert not any(reasons), "\n".join(reasons)


def numbers_of(row: Typed) -> list[int | str]:
    """Where a sample holds a number that may be a float."""
    places = [*enumerate(row.args), *row.kwargs.items()]
    return [place for place, value in places if type(value) in (int, float)]


def replaced(row: Typed, place: int | str, value: float) -> tuple[list[Any], dict[str, Any]]:
    args, kwargs = map_leaves((list(row.args), dict(row.kwargs)), tandem.Tensor, lambda t: t.clone())
    if isinstance(place, int):
        args[place] = value
    else:
        kwargs[place] = value
    return args, kwargs


WITH_NUMBERS = [
    n
    for n, op in VISIBLE.items()
    if n not in UNSPECIFIED and any(numbers_of(t) for t in typed_samples(op, usual_dtype(op)))
]


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_floats_as_arguments_of_compiled_functions(name):
    """Each number of a sample as a float, which changes from call to call; errors are results, too."""
    op = VISIBLE[name]
    for row in typed_samples(op, usual_dtype(op)):
        for place in numbers_of(row):
            first = float(row.args[place] if isinstance(place, int) else row.kwargs[place])
            if isinstance(
                attempt(op.call, *replaced(row, place, first)[0], **replaced(row, place, first)[1]), TypeError
            ):
                continue
            compiled = tandem.compile(lambda *args, **kwargs: op.call(*args, **kwargs))
            for value in (first, first, first + 1, first * 0.5 + 0.5, -first, 3.0):
                seen = []
                for call in (op.call, compiled):
                    args, kwargs = replaced(row, place, value)
                    tandem.manual_seed(7)
                    seen.append(picture(attempt(call, *args, **kwargs)))
                assert seen[0] == seen[1], f"{row}: {place} is {value}"


# ---- derivatives ----------------------------------------------------------------------------------------------------


class Derived:
    """One sample as a function of those of its float64 tensors that are smooth arguments, giving smooth results."""

    def __init__(self, row: Typed, jitter: float) -> None:
        rng = np.random.default_rng(3)
        self.row = row
        self.smooth = [t.is_floating_point() for t in row.tensors]
        self.inputs = []
        for t in row.tensors:
            if t.is_floating_point():
                moved = np.asarray(array_of(t) + rng.uniform(-jitter, jitter, tuple(t.shape)))
                self.inputs.append(tandem.from_numpy(moved).to(t.dtype).requires_grad_())

    def __call__(self, *inputs: tandem.Tensor) -> tuple[tandem.Tensor, ...]:
        rest = iter(inputs)
        tensors = [next(rest) if smooth else t for t, smooth in zip(self.row.tensors, self.smooth, strict=True)]
        tandem.manual_seed(5)
        if self.row.op.name in BEHIND:
            tensors[0] = BEHIND[self.row.op.name](tensors[0])
        return tuple(t for t in self.row.run(tensors) if t.is_floating_point() and t.requires_grad)


# Operations whose derivative is right behind another one: ctc_loss gives that by the scores before log_softmax.
BEHIND = dict.fromkeys(("ctc_loss", "ctc_loss_lists"), lambda scores: scores.log_softmax(-1))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name):
    op = DIFFERENTIABLE[name]
    checked = 0
    for i, sample in enumerate(for_gradients(op)):
        function = Derived(Typed.of(op, sample, "float64", "contiguous"), 0.004)
        if not function(*function.inputs):
            continue
        checked += 1
        small = sum(x.numel() for x in function.inputs) <= 40
        try:
            tandem.autograd.gradcheck(function, function.inputs, fast_mode=not small)
            if i < 3 and has_second_order(function):
                tandem.autograd.gradgradcheck(function, function.inputs, fast_mode=True, atol=1e-4)
        except Exception as e:
            raise AssertionError(f"{function.row}: {type(e).__name__}: {e}") from e
    assert checked or name in WITHOUT_GRADIENT


def has_second_order(function: Derived) -> bool:
    """Not so for steps, whose derivative is a constant zero."""
    results = function(*function.inputs)
    seeds = [tandem.ones_like(y).requires_grad_() for y in results]
    grads = tandem.autograd.grad(results, function.inputs, seeds, create_graph=True, allow_unused=True)
    return any(g is not None and g.requires_grad for g in grads)


# Composites of operations that have no derivative, and such as leave the graph.
WITHOUT_GRADIENT = {
    "bincount",
    "count_nonzero",
    "heaviside",
    "histc",
    "isneginf",
    "isposinf",
    "isreal",
    *POLYNOMIALS,
    "argsort",
    "bernoulli",
    "isclose",
    "zeros_like",
    "ones_like",
    "full_like",
    "rand_like",
    "randn_like",
    "fill",
    "searchsorted",
    "bucketize",
    "isin",
    "linspace",
    "logspace",
    "randint_like",
    "randint_like_high",
    "multinomial",
}


def derivatives(function: Derived):
    """The results of `function`, then its first and second derivatives, as one function of its inputs."""

    def all_orders(*inputs: tandem.Tensor) -> list[tandem.Tensor]:
        results = list(function(*inputs))
        total = sum((y * y).sum() for y in results)
        first = tandem.autograd.grad(total, inputs, create_graph=True, allow_unused=True)
        found = [g for g in first if g is not None]
        again = [g for g in found if g.requires_grad]
        second = []
        if again:
            second = tandem.autograd.grad(sum((g * g).sum() for g in again), inputs, allow_unused=True)
        return [t.detach() for t in (*results, *found, *(g for g in second if g is not None))]

    return all_orders


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_in_modes(name):
    op = DIFFERENTIABLE[name]
    for sample in for_gradients(op):
        function = Derived(Typed.of(op, sample, "float32", "contiguous"), 0)
        if not function(*function.inputs):
            continue
        run = derivatives(function)
        eager = run(*function.inputs)
        with tandem.lazy():
            lazy = run(*function.inputs)
        compiled = tandem.compile(run)
        compiled(*function.inputs)
        split = derivatives_of_compiled(function)
        for mode, got in (("lazy", lazy), ("compiled", compiled(*function.inputs)), ("compiled forward", split)):
            assert len(got) == len(eager), f"{function.row}, {mode}"
            for i, (a, b) in enumerate(zip(got, eager, strict=True)):
                try:
                    assert_same_bits(a, b)
                except AssertionError as e:
                    raise AssertionError(f"{function.row}, {mode}, result {i}: {e}") from None


def derivatives_of_compiled(function: Derived) -> list[tandem.Tensor]:
    """The forward pass compiled, the derivatives taken outside."""
    compiled = tandem.compile(function)
    compiled(*function.inputs)
    return derivatives(compiled)(*function.inputs)


# ---- forms ----------------------------------------------------------------------------------------------------------


@by_name
def test_forms(name):
    """Method, in-place and `out=` forms give the function's bits; out= keeps its memory."""
    op = VISIBLE[name]
    if name in UNSPECIFIED:
        pytest.skip("its elements are not specified")
    for row in typed_samples(op, usual_dtype(op)):
        tandem.manual_seed(2)
        expected = row.run()
        if "method" in op.forms and row.args and isinstance(row.args[0], tandem.Tensor):
            tandem.manual_seed(2)
            for a, b in zip(
                leaves((getattr(row.args[0], op.python)(*row.args[1:], **row.kwargs),)), expected, strict=True
            ):
                assert_same_bits(a, b)
        if "inplace" in op.forms and isinstance(row.args[0], tandem.Tensor) and fits(row.args[0], expected[0]):
            written = row.args[0].clone()
            tandem.manual_seed(2)
            assert getattr(written, op.python + "_")(*row.args[1:], **row.kwargs) is written
            assert_same_bits(written, expected[0].to(written.dtype))
        if "out" in op.forms and row.tensors:
            out = tandem.zeros_like(expected[0])
            address = out.data_ptr()
            assert op.call(*row.args, **row.kwargs, out=out) is out
            assert out.data_ptr() == address
            assert_same_bits(out, expected[0])


def fits(written: tandem.Tensor, result: tandem.Tensor) -> bool:
    return written.shape == result.shape


# ---- the table ------------------------------------------------------------------------------------------------------


def test_every_record_without_samples_is_covered_by_a_named_test():
    without = {name for name, op in OPERATIONS.items() if not op.visible or op.samples == "none"}
    assert without == set(COVERED)
    for name, cover in COVERED.items():
        if "::" not in cover:
            assert cover in VISIBLE, name
            continue
        file, test = cover.split("::")
        (path,) = (ROOT / "tests").rglob(file)
        assert re.search(rf"^def {test}\(", path.read_text(), re.M), name


def test_the_reference_page_lists_every_operation():
    page = runpy.run_path(str(ROOT / "scripts/reference_page.py"))["page"]()
    assert [n for n, op in VISIBLE.items() if not re.search(rf"^## `[\w.]+\.{op.python}_?\(", page, re.M)] == []
    assert "(self" not in page and "$self" not in page


CONVERTED = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("source", CONVERTED)
def test_conversions(source, mode):
    from conftest import run_in

    numbers = np.array([[0.0, 1.25, 2.5, -1.75], [100.0, 3.0, -0.25, 0.75]])
    numbers = np.abs(numbers) if source in ("uint8", "bool") else numbers
    for layout in ("contiguous", "permuted", "strided"):
        x = tensor(numbers, source, layout)
        targets = [d for d in CONVERTED if not (d == "uint8" and source not in ("uint8", "bool"))]
        results = run_in(mode, lambda x, targets=targets: [x.to(getattr(tandem, d)) for d in targets], x)
        for target, got in zip(targets, results, strict=True):
            assert name_of(got.dtype) == target
            want = array_of(x)
            if target == "bool":
                want = want != 0
            elif target not in TOLERANCE:
                want = want.astype(target)
            np.testing.assert_array_equal(array_of(got), want, err_msg=f"{source} to {target}")


def test_detach_is_an_alias(mode):
    from conftest import run_in

    def f(x):
        y = x.detach()
        y.mul_(2)
        return y + x

    x = tandem.tensor([1.0, 2.0])
    run_in(mode, f, x)
    assert x.tolist() == ([4.0, 8.0] if mode == "compiled" else [2.0, 4.0])


def test_writes_through_views(mode):
    from conftest import run_in

    def f(x):
        y = x.clone()
        y[1:, ::2].mul_(3)
        y.t()[0].add_(1)
        y.select(1, -1).copy_(x[:, 0])
        y.diagonal().fill_(0.5)
        return y

    x = np.arange(1.0, 21.0, dtype=np.float32).reshape(4, 5)
    want = x.copy()
    want[1:, ::2] *= 3
    want.T[0] += 1
    want[:, -1] = x[:, 0]
    np.fill_diagonal(want, 0.5)
    np.testing.assert_array_equal(run_in(mode, f, tandem.from_numpy(x.copy())).numpy(), want)
