"""`out=` of every operation that takes it: strided, transposed, narrowed and repeated memory, other shapes and dtypes,
memory shared with the arguments. The bits are those of the operation without `out=`, in every mode, and nothing else of
the memory changes."""

from __future__ import annotations

import contextlib
import inspect
import re
import warnings

import numpy as np
import pytest
from conftest import assert_same_bits, run_in
from operations import VISIBLE, Operation, Typed, dtypes, leaves
from samples import samples

import tandem
from tandem import tensor

MARK = 77  # what memory holds that no operation may touch


FUNCTIONS = {"function", "linalg", "special", "nn"}
FACTORIES = "zeros ones full empty arange range linspace logspace eye rand randn randint randperm normal".split()

# Functions written in Python around a record do not take it.
OPERATIONS = {
    name: op
    for name, op in VISIBLE.items()
    if op.takes_out and FUNCTIONS & set(op.forms) and not inspect.isfunction(op.call)
}
by_name = pytest.mark.parametrize("name", OPERATIONS)
# What they hold is not specified; draws write at another place of the generator's stream.
UNSPECIFIED = {"empty", "empty_like", "empty_strided"}


def rows(op: Operation, count: int = 4) -> list[Typed]:
    """The first samples whose results are tensors of known content."""
    dtype = "float32" if "float32" in dtypes(op) else dtypes(op)[0]
    found = []
    for sample in samples(op, dtype):
        if len(found) == count:
            break
        found.append(Typed.of(op, sample, dtype, "contiguous"))
    return found


def filled(shape: list[int], like: tandem.Tensor) -> tandem.Tensor:
    return tandem.full(shape, MARK, dtype=tandem.float64).to(like.dtype)


def contiguous(like: tandem.Tensor) -> tuple[tandem.Tensor, tandem.Tensor]:
    base = filled(list(like.shape), like)
    return base, base


def strided(like):
    base = filled([2 * n + 1 for n in like.shape], like)
    return base, base[tuple(slice(1, None, 2) for _ in like.shape)] if like.dim() else base


def transposed(like):
    base = filled(list(like.shape)[::-1], like)
    return base, base.permute(*reversed(range(like.dim()))) if like.dim() else base


def narrowed(like):
    base = filled([n + 2 for n in like.shape], like)
    view = base
    for d, n in enumerate(like.shape):
        view = view.narrow(d, 1, n)
    return base, view


LAYOUTS = {f.__name__: f for f in (contiguous, strided, transposed, narrowed)}


def call(row: Typed, out):
    return row.op.call(*row.args, **row.kwargs, out=out[0] if len(out) == 1 else tuple(out))


def where_written(base: tandem.Tensor, view: tandem.Tensor) -> np.ndarray:
    """Which elements of the memory belong to the view."""
    places = tandem.arange(base.numel()).view(base.shape)
    window = places.as_strided(view.shape, view.stride(), view.storage_offset())
    written = np.zeros(base.numel(), bool)
    written[window.flatten().numpy()] = True
    return written


@by_name
def test_layouts(name):
    op = OPERATIONS[name]
    if name in UNSPECIFIED:
        pytest.skip("its elements are not specified")
    for row in rows(op):
        tandem.manual_seed(3)
        want = row.run()
        for layout, made in LAYOUTS.items():
            for mode in ("eager", "lazy", "compiled"):
                pairs = [made(w) for w in want]
                outs = [view for _, view in pairs]
                strides = [o.stride() for o in outs]

                def body(*outs, row=row):
                    return call(row, outs)

                tandem.manual_seed(3)
                if mode == "lazy":
                    with tandem.lazy():
                        got = body(*outs)
                else:
                    got = (tandem.compile(body) if mode == "compiled" else body)(*outs)
                for g, o, w, s, (base, _) in zip(leaves((got,)), outs, want, strides, pairs, strict=True):
                    label = f"{row}, {layout}, {mode}"
                    assert g is o, label
                    assert o.stride() == s and o.shape == w.shape, label
                    try:
                        assert_same_bits(o, w)
                    except AssertionError as e:
                        raise AssertionError(f"{label}: {e}") from None
                    rest = base.to(tandem.float64).flatten().numpy()[~where_written(base, o)]
                    mark = filled([], w).to(tandem.float64).item()
                    assert (rest == mark).all(), f"{label}: wrote outside of the view"


@by_name
def test_repeated_memory_is_refused(name):
    op = OPERATIONS[name]
    for row in rows(op):
        want = row.run()
        if any(w.numel() < 2 for w in want):
            continue
        outs = [filled([1] * w.dim(), w).expand(w.shape) for w in want]
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single"):
            call(row, outs)


@by_name
def test_other_shapes_are_resized(name):
    op = OPERATIONS[name]
    if name in UNSPECIFIED:
        pytest.skip("its elements are not specified")
    for row in rows(op):
        tandem.manual_seed(3)
        want = row.run()
        for shape in ([0], [3, 17]):
            if any(list(w.shape) == shape or w.numel() == 51 for w in want):
                continue
            outs = [filled(shape, w) for w in want]
            tandem.manual_seed(3)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                warnings.filterwarnings("ignore", "reduction: 'mean'")
                got = leaves((call(row, outs),))
            for g, o, w in zip(got, outs, want, strict=True):
                assert g is o
                assert_same_bits(o, w)
                assert o.shape == w.shape and o.is_contiguous()
            factory = op.python in FACTORIES and op.python != "arange" and op.name not in ("normal_at", "normal_around")
            assert bool(seen) == (shape != [0] and not factory), [str(s.message) for s in seen]
            assert all(re.search("output with one or more elements was resized", str(s.message)) for s in seen)


@by_name
def test_the_memory_of_an_argument(name):
    """`out` may be an argument itself, where PyTorch allows it: it then reads what was there before."""
    op = OPERATIONS[name]
    for row in rows(op):
        tandem.manual_seed(3)
        want = row.run()
        if len(want) != 1 or not row.tensors or row.args == () or not isinstance(row.args[0], tandem.Tensor):
            continue
        x, w = row.args[0], want[0]
        if x.shape != w.shape or x.dtype is not w.dtype:
            continue
        own = x.clone()
        tandem.manual_seed(3)
        try:
            assert op.call(own, *row.args[1:], **row.kwargs, out=own) is own
        except RuntimeError as e:
            assert "refer to a single memory location" in str(e)
            continue
        assert_same_bits(own, w)


# The out says the dtype to compute in, as in PyTorch.
IN_DTYPE_OF_OUT = ("cumprod", "cumsum", "nansum", "prod", "sum")


@pytest.mark.parametrize("name", IN_DTYPE_OF_OUT)
def test_out_says_the_dtype(name, mode):
    function = getattr(tandem, name)
    for dtype in (
        tandem.bool,
        tandem.uint8,
        tandem.int32,
        tandem.int64,
        tandem.float16,
        tandem.float32,
        tandem.float64,
    ):
        for x in (tandem.tensor([1.5, 2.5, -3.0]), tandem.tensor([2, 3, 4]), tandem.tensor([True, False, True])):

            def body(x, dtype=dtype):
                out = tandem.empty(0, dtype=dtype)
                function(x, 0, out=out)
                return out, function(x, 0, dtype=dtype), function(x, 0, dtype=dtype, out=tandem.empty(0, dtype=dtype))

            out, asked, both = run_in(mode, body, x)
            assert_same_bits(out, asked)
            assert_same_bits(both, asked)
    assert function(tandem.tensor([1.5, 2.5]), 0, out=tandem.empty(0, dtype=tandem.int64)).dtype is tandem.int64
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        function(tandem.ones(3), 0, dtype=tandem.float32, out=tandem.empty(0, dtype=tandem.float64))


# Zeros and ones, which every dtype has.
OF_ANY_DTYPE = ("bernoulli", "bernoulli_prob")


@by_name
def test_a_dtype_that_cannot_hold_the_result(name):
    op = OPERATIONS[name]
    if name in (*IN_DTYPE_OF_OUT, *OF_ANY_DTYPE):
        return
    for row in rows(op, 1):
        want = row.run()
        if not want[0].is_floating_point() or not row.tensors:
            continue
        outs = [tandem.zeros(w.shape, dtype=tandem.int64 if w.is_floating_point() else w.dtype) for w in want]
        with pytest.raises((RuntimeError, TypeError)):
            call(row, outs)


# ---- factories ------------------------------------------------------------------------------------------------------


def test_numbers_in_a_row_keep_the_shape_of_out():
    x = tandem.zeros(4, 4)
    view = x.narrow(1, 1, 2)
    assert tandem.arange(0, 8, out=view) is view
    assert x.tolist() == [[0, 0, 1, 0], [0, 2, 3, 0], [0, 4, 5, 0], [0, 6, 7, 0]]
    x = tandem.zeros(2, 4)
    tandem.arange(0, 4, out=x.narrow(1, 1, 2))
    assert x.tolist() == [[0, 0, 1, 0], [0, 2, 3, 0]]
    assert tandem.linspace(0, 1, 4, out=tandem.zeros(2, 2)).shape == (2, 2)
    assert tandem.logspace(0, 3, 4, out=tandem.zeros(2, 2)).tolist() == [[1, 10], [100, 1000]]
    x = tandem.zeros(4, 6)
    view = x.narrow(1, 1, 3)
    assert tandem.arange(0, 4, out=view).tolist() == [0, 1, 2, 3]
    assert view.stride() == (1,)
    assert x[0].tolist() == [0, 0, 1, 2, 3, 0]


def test_factories_take_the_dtype_of_out():
    whole = tandem.zeros(4, dtype=tandem.int32)
    assert tandem.arange(4.0, out=whole).tolist() == [0, 1, 2, 3]
    assert tandem.linspace(0, 9, 4, out=whole).tolist() == [0, 3, 6, 9]
    assert tandem.full((4,), 2.5, out=whole).tolist() == [2, 2, 2, 2]
    assert tandem.ones(2, 2, out=whole).tolist() == [[1, 1], [1, 1]]
    assert tandem.randperm(4, out=whole).sort().values.tolist() == [0, 1, 2, 3]
    for call in (tandem.rand, tandem.randn):
        out = tandem.empty(0, dtype=tandem.float64)
        assert call(3, 2, out=out) is out and out.shape == (3, 2)
    with pytest.raises(RuntimeError, match="dtype Double does not match dtype of out parameter"):
        tandem.zeros(4, dtype=tandem.float64, out=whole)


# ---- memory shared in part ------------------------------------------------------------------------------------------


def test_parts_of_an_argument():
    x = tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    tandem.mul(x[:, 0], 2, out=x[:, 1])
    assert x.tolist() == [[1, 2], [3, 6], [5, 10]]
    tandem.sum(x, 0, out=x[0])
    assert x[0].tolist() == [9, 18]


def test_bounds_that_are_tensors_go_with_a_wider_dtype():
    x, low = tandem.arange(3.0), tandem.ones(3)
    for call in (tandem.clamp, tandem.clip):
        out = tandem.empty(3, dtype=tandem.float64)
        assert call(x, low, low * 1.5, out=out) is out and out.tolist() == [1, 1, 1.5]
        with pytest.raises(RuntimeError, match="dtype"):
            call(x, 1, 1.5, out=out)


def test_a_dtype_that_is_asked_for_is_that_of_out():
    for call in (tandem.mean, tandem.nanmean):
        for asked, given in ((tandem.float32, tandem.float64), (tandem.float64, tandem.float32)):
            with pytest.raises(RuntimeError, match="dtype"):
                call(tandem.ones(3), 0, dtype=asked, out=tandem.empty((), dtype=given))
        assert call(tandem.ones(3), 0, out=tandem.empty((), dtype=tandem.float64)).item() == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.add(x, out=x.clone()),
        lambda x: x.sum(out=tandem.empty(())),
        lambda x: tandem.t(x, out=x.clone()),
        lambda x: tandem.flip(x, [0], out=x.clone()),
        lambda x: tandem.isnan(x, out=x > 0),
        lambda x: tandem.nn.functional.relu(x, out=x.clone()),
        lambda x: tandem.nn.functional.mse_loss(x, x, out=tandem.empty(())),
    ],
)
def test_methods_views_and_losses_have_none(call):
    with pytest.raises(TypeError, match="out"):
        call(tandem.ones(2, 2))


def test_functions_of_nn_that_have_one():
    x, out = tandem.ones(2, 2), tandem.empty(2, 2)
    assert tandem.nn.functional.softplus(x, out=out) is out and tandem.equal(out, tandem.nn.functional.softplus(x))


def test_an_operand_is_not_resized():
    x = tandem.ones(3)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        tandem.add(x, tandem.ones(2, 3), out=x)
    assert x.shape == (3,)


def test_parts_of_a_factorisation():
    x = tensor([[4.0, 1.0], [1.0, 3.0]])
    for infos in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = tandem.lu(x, get_infos=infos)
            out = [tandem.empty(0, dtype=w.dtype) for w in want]
            assert all(made is given for made, given in zip(tandem.lu(x, get_infos=infos, out=out), out, strict=True))
        for w, given in zip(want, out, strict=True):
            assert_same_bits(given, w)
        with pytest.raises(TypeError):
            tandem.lu(x, out=out[:1])
    want = tandem.lu_unpack(*want[:2])
    out = [tandem.empty(0) for _ in want]
    assert tandem.lu_unpack(*tandem.linalg.lu_factor(x), out=out).P is out[0]
    for w, given in zip(want, out, strict=True):
        assert_same_bits(given, w)


OVERLAPS = {
    "add_": lambda x: x[1:].add_(x[:-1]),
    "+=": lambda x: x[1:].__iadd__(x[:-1]),
    "copy_": lambda x: x[:2].copy_(x[1:3]),
    "mul_ by a row": lambda x: x.view(2, 3).mul_(x[:3]),
    "out=": lambda x: tandem.mul(x[:-1], 2, out=x[1:]),
    "transposed": lambda x: x[:4].view(2, 2).t().add_(x[:4].view(2, 2)),
    "kthvalue": lambda x: tandem.kthvalue(x, 2, out=(x[0], tandem.empty((), dtype=tandem.int64))),
    "topk": lambda x: tandem.topk(x, 2, out=(x[:2], tandem.empty(2, dtype=tandem.int64))),
    "max": lambda x: tandem.max(x, 0, out=(x[0], tandem.empty((), dtype=tandem.int64))),
    "median": lambda x: tandem.median(x, 0, out=(x[0], tandem.empty((), dtype=tandem.int64))),
    "mode": lambda x: tandem.mode(x, out=(x[0], tandem.empty((), dtype=tandem.int64))),
    "aminmax": lambda x: tandem.aminmax(x, dim=0, out=(x[0], x[1])),
    "masked_select": lambda x: tandem.masked_select(x, x > 3, out=x[:2]),
    "take_along_dim": lambda x: tandem.take_along_dim(x, tensor([1, 0]), 0, out=x[:2]),
    "gather": lambda x: tandem.gather(x, 0, tensor([1, 0]), out=x[:2]),
    "take": lambda x: tandem.take(x, tensor([1, 0]), out=x[:2]),
    "cat": lambda x: tandem.cat([x[:1], x[2:3]], out=x[:2]),
    "masked_select, of another shape": lambda x: tandem.masked_select(x, x > 3, out=x),
    "take, of another shape": lambda x: tandem.take(x, tensor([1, 0]), out=x),
    "cat, of another shape": lambda x: tandem.cat([x[:1], x[2:3]], out=x),
}


@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize("lazy", [False, True])
def test_memory_that_meets_the_memory_written(name, lazy):
    x = tandem.arange(6.0)
    with tandem.lazy() if lazy else contextlib.nullcontext():
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to"):
            OVERLAPS[name](x)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_memory_that_is_the_same_or_apart():
    x = tandem.arange(6.0)
    assert x.add_(x).tolist() == [0, 2, 4, 6, 8, 10]
    assert x[:3].add_(x[3:]).tolist() == [6, 10, 14]
    assert x[::2].mul_(x[1::2]).tolist() == [60, 84, 80]
    m = tandem.ones(2, 2).t()
    assert m.add_(m).tolist() == [[2, 2], [2, 2]]


def test_new_tensors_into_memory_require_gradients():
    made = [
        tandem.zeros(2, out=tandem.empty(0), requires_grad=True),
        tandem.full((2,), 1.0, out=tandem.empty(2), requires_grad=True),
        tandem.arange(2.0, out=tandem.empty(0), requires_grad=True),
        tandem.rand(2, out=tandem.empty(0), requires_grad=True),
    ]
    assert all(t.requires_grad and t.is_leaf for t in made)
    with pytest.warns(UserWarning, match="resized"):
        assert tandem.arange(5, out=tandem.empty(3)).shape == (5,)
