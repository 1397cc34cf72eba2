"""Values at the edges of what operations are for: NaN bounds, infinities, empty lists of dims, integers where floats
are meant, one variable, empty matrices. What is expected is what PyTorch 2.13 gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
import tandem.nn.functional as F
from tandem import linalg, tensor

INF, NAN = math.inf, math.nan


def check(got: tandem.Tensor, want, dtype: tandem.dtype) -> None:
    assert got.dtype is dtype
    assert list(got.shape) == list(np.shape(want))
    np.testing.assert_allclose(got.double().numpy(), np.asarray(want, dtype=np.float64), rtol=1e-6)


# ---- bounds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "want"),
    [
        (NAN, 5, [NAN, NAN, NAN, NAN]),
        (0.0, NAN, [NAN, NAN, NAN, NAN]),
        (NAN, None, [NAN, NAN, NAN, NAN]),
        (None, NAN, [NAN, NAN, NAN, NAN]),
        (1.5, 2.5, [1.5, 2, 2.5, NAN]),
        (3.0, 2.0, [2, 2, 2, NAN]),
        ([NAN, 0.0, 5.0, 1.0], [9.0, NAN, 1.0, 2.0], [NAN, NAN, 1, NAN]),
    ],
)
def test_clamp(low, high, want, mode):
    x = tensor([1.0, 2.0, 3.0, NAN])
    low, high = (tensor(b) if isinstance(b, list) else b for b in (low, high))
    check(run_in(mode, lambda t: t.clamp(low, high), x), want, tandem.float32)
    check(run_in(mode, lambda t: t.clone().clamp_(low, high), x), want, tandem.float32)
    if high is None:
        check(run_in(mode, lambda t: tandem.clamp_min(t, low), x), want, tandem.float32)
    if low is None:
        check(run_in(mode, lambda t: tandem.clamp_max(t, high), x), want, tandem.float32)


def test_clamp_of_integers_by_nan():
    x = tensor([1, 2, 3])
    check(x.clamp(min=NAN), [NAN] * 3, tandem.float32)
    check(x.clamp(tensor([NAN, 0, 5.0])), [NAN, 2, 5], tandem.float32)
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.clamp_(min=NAN)


def test_a_bound_that_becomes_nan_later():
    bounded = tandem.compile(lambda x, low: x.clamp(min=low))
    x = tensor([1.0, 2.0, NAN])
    for low in (1.5, 1.75, NAN, 0.5):
        assert_same_bits(bounded(x, low), x.clamp(min=low))


def test_the_gradient_of_clamp():
    x = tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    x.clamp(2, tensor([4.0, 4.0, NAN, 4.0])).sum().backward()
    assert x.grad.tolist() == [0, 1, 0, 1]


# ---- integers -------------------------------------------------------------------------------------------------------


def test_lcm(mode):
    got = run_in(mode, tandem.lcm, tensor([0, 0, 4, -4, 5]), tensor([0, 3, 0, 6, 5]))
    check(got, [0, 0, 0, 12, 5], tandem.int64)
    assert tandem.lcm(tensor(0), tensor(0)).item() == 0


@pytest.mark.parametrize("dtype", [tandem.int64, tandem.int8, tandem.uint8])
def test_activations_of_integers(dtype, mode):
    x = tensor([1, 2, 3], dtype=dtype)
    check(run_in(mode, F.softsign, x), [1 / 2, 2 / 3, 3 / 4], tandem.float32)
    check(run_in(mode, F.tanhshrink, x), [v - math.tanh(v) for v in (1, 2, 3)], tandem.float32)


@pytest.mark.parametrize(
    ("arguments", "dtype", "want"),
    [
        ((0, 5.5, 1.5), tandem.int64, [0, 1, 2, 3, 4]),
        ((0, 5.5, 1.5), tandem.int32, [0, 1, 2, 3]),
        ((0.9, 5.9), tandem.int64, [0, 1, 2, 3, 4]),
        ((0.9, 5.9), tandem.int32, [0, 1, 2, 3, 4]),
        ((1, 10, 2.5), tandem.int64, [1, 3, 5, 7, 9]),
        ((2.7,), tandem.int64, [0, 1]),
        ((2.7,), tandem.int16, [0, 1, 2]),
        ((5.5, 0.5, -1.5), tandem.int64, [5, 4, 3, 2, 1]),
    ],
)
def test_arange_of_an_integer_dtype_with_float_bounds(arguments, dtype, want, mode):
    check(run_in(mode, lambda: tandem.arange(*arguments, dtype=dtype)), want, dtype)


@pytest.mark.parametrize("dtype", [tandem.int16, tandem.int32, tandem.int64], ids=str)
@pytest.mark.parametrize(
    ("arguments", "want"),
    [((1.5, 3), [1, 2, 3]), ((3, 1.5, -1), [3, 2, 1]), ((2.7, -1.2, -1.5), [2, 1, 0, -1]), ((1.5, 1.9), [1])],
)
def test_range_of_an_integer_dtype_with_float_bounds(arguments, dtype, want):
    with pytest.warns(UserWarning, match="deprecated"):
        check(tandem.range(*arguments, dtype=dtype), want, dtype)


@pytest.mark.parametrize("value", [0.5, -0.3, 2, 0])
def test_bools_are_padded_with_what_a_number_is(value, mode):
    padded = run_in(mode, lambda: tandem.nn.functional.pad(tandem.zeros(1, dtype=tandem.bool), (1, 0), value=value))
    check(padded, [value != 0, False], tandem.bool)


def test_arange_whose_step_is_no_integer():
    with pytest.raises(ValueError, match="step must be nonzero"):
        tandem.arange(0, 1, 0.1, dtype=tandem.int64)


def test_outer_products_of_bools(mode):
    a, b = tensor([True, False]), tensor([True, True])
    zeros, ones = tandem.zeros(2, 2, dtype=tandem.bool), tandem.ones(2, 2, dtype=tandem.bool)
    check(run_in(mode, tandem.addr, zeros, a, b), [[1, 1], [0, 0]], tandem.bool)
    check(run_in(mode, lambda *t: tandem.addr(*t, beta=False), ones, a, b), [[1, 1], [0, 0]], tandem.bool)
    check(run_in(mode, lambda *t: tandem.addr(*t, alpha=False), zeros, a, b), [[0, 0], [0, 0]], tandem.bool)
    check(run_in(mode, lambda *t: tandem.addr(*t, alpha=2), zeros, a, b), [[1, 1], [0, 0]], tandem.bool)
    check(run_in(mode, lambda *t: tandem.addr(*t, beta=2, alpha=0), ones, a, b), [[1, 1], [1, 1]], tandem.bool)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("addmm", [(2, 3), (2, 4), (4, 3)]),
        ("addmm", [(3,), (2, 4), (4, 3)]),
        ("addmv", [(2,), (2, 4), (4,)]),
        ("addr", [(2, 3), (2,), (3,)]),
        ("baddbmm", [(1, 3), (2, 2, 4), (2, 4, 3)]),
        ("addbmm", [(2, 3), (2, 2, 4), (2, 4, 3)]),
    ],
)
def test_a_factor_of_zero_leaves_a_gradient_of_zeros(name, shapes, mode):
    x, a, b = (tandem.ones(shape) for shape in shapes)
    x = tandem.full_like(x, NAN)

    def gradients(x, a, b):
        x, a = x.detach().requires_grad_(), a.detach().requires_grad_()
        y = getattr(tandem, name)(x, a, b, beta=0)
        return y.detach(), *tandem.autograd.grad(y.sum(), (x, a))

    y, of_x, of_a = run_in(mode, gradients, x, a, b)
    assert not y.isnan().any()
    check(of_x, np.zeros(shapes[0]), tandem.float32)
    assert of_a.abs().sum() > 0


# ---- reductions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [tandem.all, tandem.any])
def test_all_and_any_of_no_dims(function, mode):
    x = tensor([[True, False]])
    check(run_in(mode, lambda t: function(t, dim=()), x), [[1, 0]], tandem.bool)
    check(run_in(mode, lambda t: function(t, dim=(), keepdim=True), x), [[1, 0]], tandem.bool)
    check(run_in(mode, lambda t: function(t, dim=()), tensor([[2.0, 0.0, NAN]])), [[1, 0, 1]], tandem.bool)
    assert x.all().item() is False
    assert x.all(dim=None).item() is False
    assert x.sum(dim=()).item() == 1


@pytest.mark.parametrize("order", [-1, -2, -0.5, -3])
def test_norms_of_negative_order(order, mode):
    x = tensor([[INF, INF], [INF, 2.0], [0.0, 1.0], [0.0, INF], [NAN, 1.0]])
    got = run_in(mode, lambda t: linalg.vector_norm(t, order, dim=1), x)
    check(got, [INF, 2.0, 0.0, 0.0, NAN], tandem.float32)


def test_one_variable():
    x = [1.0, 2.0, 4.0]
    for form in (x, [x]):
        check(tandem.cov(tensor(form)), np.cov(x), tandem.float32)
        check(tandem.corrcoef(tensor(form)), 1, tandem.float32)
    assert tandem.cov(tensor([x, x])).shape == (2, 2)


def test_cosine_similarity():
    with pytest.raises(RuntimeError, match="expected common dtype to be floating point, yet common dtype is Char"):
        F.cosine_similarity(tensor([[1, 2]], dtype=tandem.int8), tensor([[3, 4]], dtype=tandem.int8))
    x = tensor([[3.0, 4.0]], dtype=tandem.float16)
    assert F.cosine_similarity(x, tensor([[300.0, 400.0]])).dtype is tandem.float32
    check(F.cosine_similarity(tensor([1]), tensor([2.0]), dim=0), 1, tandem.float32)


# ---- matrices -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("driver", ["gelsd", "gelss"])
@pytest.mark.parametrize("rcond", [-1, None])
def test_least_squares_of_deficient_rank(driver, rcond, mode):
    a, b = tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]), tensor([[1.0], [2.0], [3.0]])
    x, residuals, rank, values = run_in(mode, lambda *t: tuple(linalg.lstsq(*t, rcond=rcond, driver=driver)), a, b)
    check(x, [[1.0], [1.0]], tandem.float32)
    assert residuals.shape == (0,)
    assert rank.item() == 1
    assert values[0].item() == pytest.approx(math.sqrt(6))


def test_least_squares_of_full_rank():
    a, b = tensor([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]]), tensor([[1.0], [2.0], [3.0]])
    for driver in ("gels", "gelsd", "gelss"):
        got = linalg.lstsq(a, b, rcond=-1, driver=driver)
        want = np.linalg.lstsq(a.numpy(), b.numpy(), rcond=None)
        np.testing.assert_allclose(got.solution.numpy(), want[0], rtol=1e-5)
        np.testing.assert_allclose(got.residuals.numpy(), want[1], rtol=1e-4)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 2, 3)])
def test_pinv_of_empty_matrices(shape):
    a = tandem.zeros(shape, requires_grad=True)
    p = linalg.pinv(a)
    assert p.shape == (*shape[:-2], shape[-1], shape[-2])
    p.sum().backward()
    assert a.grad.shape == shape


# ---- refusals -------------------------------------------------------------------------------------------------------

ONE, WIDE, WHOLE = tandem.ones(1, 2, 2), tandem.ones(1, 2, 2, dtype=tandem.float64), tensor([1, 2])
REFUSED = {
    "baddbmm": (lambda: tandem.baddbmm(ONE, WIDE, WIDE), "baddbmm: input and factors must have the same dtype"),
    "addbmm": (lambda: tandem.addbmm(WIDE[0], ONE, ONE), "addbmm: input and factors must have the same dtype"),
    "addmm": (lambda: tandem.addmm(ONE[0], WIDE[0], WIDE[0]), "addmm: input and factors must have the same dtype"),
    "addmv": (lambda: tandem.addmv(WIDE[0, 0], ONE[0], ONE[0, 0]), "addmv: input and factors must have the same dtype"),
    "addr": (lambda: tandem.addr(WHOLE.outer(WHOLE), WHOLE, WHOLE, alpha=0.5), "argument alpha must not be a floating"),
    "addr alpha": (lambda: tandem.addr(ONE[0], ONE[0, 0], ONE[0, 0], alpha=True), "Boolean alpha only supported"),
    "addcdiv": (
        lambda: tandem.addcdiv(ONE[0, 0], WHOLE, WHOLE),
        "Integer division with addcdiv is no longer supported",
    ),
    "alpha": (lambda: tandem.add(WHOLE, WHOLE, alpha=True), "Boolean alpha only supported for Boolean results"),
    "sub alpha": (lambda: tandem.sub(WHOLE, WHOLE, alpha=True), "Boolean alpha only supported for Boolean results"),
    "take_along_dim": (lambda: tandem.take_along_dim(WHOLE, WHOLE.int() * 0, 0), "indices should be Long but got Int"),
    "random_": (lambda: tandem.zeros(3, dtype=tandem.uint8).random_(0, 300), "to - 1 is out of bounds for uint8"),
    "random_ low": (lambda: tandem.zeros(3, dtype=tandem.int8).random_(-200, 3), "from is out of bounds for int8"),
    "randint": (lambda: tandem.randint(0, 3, (3,), dtype=tandem.bool), "to - 1 is out of bounds for bool"),
    "linspace": (lambda: tandem.linspace(0, 1, 5, dtype=tandem.bool), "not implemented for 'Bool'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses(name):
    call, message = REFUSED[name]
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        call()


def test_the_ends_of_ranges_of_draws():
    x = tandem.zeros(4000, dtype=tandem.uint8).random_(0, 256)
    assert x.max().item() > 250
    assert tandem.zeros(10, dtype=tandem.int64).random_(-(2**63), 2**63 - 1).shape == (10,)
    assert tandem.add(tensor([True]), tensor([False]), alpha=True).item() is True


@pytest.mark.parametrize("tensors", [False, True])
def test_spaced_integers(tensors, mode):
    def end(v):
        return tensor(v) if tensors else v

    def spaced(function, *arguments, **options):
        return run_in(mode, lambda: function(end(arguments[0]), end(arguments[1]), *arguments[2:], **options))

    check(spaced(tandem.logspace, -2, 2, 5, dtype=tandem.int64), [0, 0, 1, 10, 100], tandem.int64)
    check(spaced(tandem.logspace, 0.5, 2.5, 3, dtype=tandem.int64), [1, 10, 100], tandem.int64)
    check(spaced(tandem.logspace, -2.9, 2.9, 5, base=2, dtype=tandem.int32), [0, 0, 1, 2, 4], tandem.int32)
    check(spaced(tandem.linspace, 0.5, 10.7, 4, dtype=tandem.int64), [0, 3, 6, 10], tandem.int64)
    check(spaced(tandem.linspace, -3.7, 3.7, 5, dtype=tandem.int32), [-3, -1, 0, 1, 3], tandem.int32)
    check(tandem.range(0, 5.5, 1.5, dtype=tandem.int64), [0, 1, 2, 3, 4, 5], tandem.int64)


@pytest.mark.parametrize("order", [2, 3, 0.5, -1, 1, INF])
def test_norms_of_one_element(order):
    for value in (1e-30, -1e30, 0.0):
        assert linalg.vector_norm(tensor([value]), order).item() == pytest.approx(abs(value))
    x = tensor([[2.0], [-3.0]], requires_grad=True)
    linalg.vector_norm(x, order, dim=1).sum().backward()
    assert x.grad.tolist() == [[1], [-1]]


def test_lengths_of_half_numbers():
    x, y = tensor([[3.0, 4.0]], dtype=tandem.float16), tensor([[300.0, 400.0]], dtype=tandem.float16)
    assert F.cosine_similarity(x, y).item() == pytest.approx(1, abs=2e-3)
    assert F.pairwise_distance(y, x).item() == pytest.approx(495, rel=2e-3)


def test_the_gradient_of_atan2_where_squares_leave_the_range(mode):
    """It is 0 where x^2 + y^2 comes to 0 or infinity, as where both are 0."""

    def run(y, x):
        first = tandem.autograd.grad(tandem.atan2(y, x).sum(), (y, x), create_graph=True)
        return (*first, tandem.autograd.grad(first[0].sum(), y)[0][1:2])

    y = tensor([1e-200, 1e200, 0.0, 5e-324, 1e308, 3.0], dtype=tandem.float64).requires_grad_()
    x = tensor([1e-200, 1e200, 0.0, 0.0, 1e308, 4.0], dtype=tandem.float64).requires_grad_()
    wrt_y, wrt_x, second = run_in(mode, run, y, x)
    assert wrt_y.tolist() == [0.0] * 5 + [0.16] and wrt_x.tolist() == [0.0] * 5 + [-0.12]
    assert second.tolist() == [0.0]


@pytest.mark.parametrize("shape", [(100,), (7, 9)])
def test_any_byte_but_zero_is_true(shape):
    bytes_ = (tandem.arange(63 if len(shape) > 1 else 100, dtype=tandem.uint8) * 7 % 4 * 85).reshape(shape)
    odd, good = bytes_.view(tandem.bool), bytes_ != 0
    for f in (tandem.nonzero, tandem.unique, tandem.argmax, tandem.argmin, tandem.argsort):
        assert tandem.equal(f(odd), f(good))
    for f in (tandem.sort, tandem.cummax, tandem.cummin, tandem.max, tandem.min, tandem.mode):
        for found, wanted in zip(f(odd, dim=0), f(good, dim=0), strict=True):
            assert tandem.equal(found, wanted)
    x = tandem.arange(bytes_.numel()).reshape(shape)
    assert tandem.equal(x[odd], x[good])
    assert tandem.equal(x.T[odd.T], x.T[good.T])
