"""What the table of operations does not ask of arithmetic, statistics and contractions: argument forms, dtypes, errors,
derivatives where the formula has a hole, memory."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem

F = tandem.nn.functional
X = tandem.arange(12.0).reshape(3, 4)
I = tandem.tensor([3, -2, 5])  # noqa: E741


def nth_derivative(function, at, order):
    x = tandem.tensor(at, dtype=tandem.float64, requires_grad=True)
    y = function(x)
    for _ in range(order):
        (y,) = tandem.autograd.grad(y, x, create_graph=True)
    return y.item()


def test_sinc_at_zero():
    # sin(pi x) / (pi x) = sum of (-1)^k (pi x)^2k / (2k + 1)!
    for order, want in enumerate([1, 0, -(math.pi**2) / 3, 0, math.pi**4 / 5]):
        assert nth_derivative(tandem.sinc, 0.0, order) == pytest.approx(want, rel=1e-12, abs=1e-12)
    # The series and the quotient agree where one takes over from the other.
    for order in (1, 2, 3):
        near, far = (nth_derivative(tandem.sinc, at, order) for at in (0.3999999999, 0.4000000001))
        assert near == pytest.approx(far, rel=1e-7)


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, math.inf])
def test_norms_have_a_derivative_at_zero(p, mode):
    def slope(x):
        (g,) = tandem.autograd.grad(tandem.norm(x, p, -1).sum(), x, create_graph=True, allow_unused=p == 0)
        return None if p == 0 else g.detach(), tandem.norm(x, p, -1).detach()

    x = tandem.tensor([[0.0, 0.0], [3.0, 0.0]], dtype=tandem.float64, requires_grad=True)
    g, y = run_in(mode, slope, x)
    assert g is None if p == 0 else g[0].tolist() == [0, 0]
    assert y.tolist() == [0, pytest.approx(1 if p == 0 else 3)]
    if p:
        assert g[1].tolist() == [pytest.approx(1), 0]


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16, tandem.float32, tandem.float64])
def test_infinities_become_the_largest_number(dtype):
    x = tandem.tensor([math.nan, math.inf, -math.inf, 1.5], dtype=dtype)
    most = tandem.finfo(dtype).max
    assert tandem.nan_to_num(x).tolist() == [0, most, -most, 1.5]


def test_std_of_equal_elements_has_a_derivative():
    x = tandem.ones(4, requires_grad=True)
    for y in (x.std(), tandem.std_mean(x)[0]):
        assert tandem.autograd.grad(y, x)[0].tolist() == [0] * 4
    assert F.normalize(tandem.zeros(2, 3)).tolist() == [[0] * 3] * 2


def test_ties_of_a_median_share_its_gradient():
    x = tandem.tensor([1.0, 2, 2, 2, 5], requires_grad=True)
    assert tandem.autograd.grad(x.median(), x)[0].tolist() == [0, pytest.approx(1 / 3)] + [pytest.approx(1 / 3)] * 2 + [
        0
    ]


def test_quantiles_of_lines_with_nan(mode):
    x = tandem.tensor([[1.0, math.nan, 3.0], [4.0, 5.0, 6.0], [math.nan] * 3])
    plain, ignoring = run_in(mode, lambda x: (tandem.quantile(x, 0.5, 1), tandem.nanquantile(x, 0.5, 1)), x)
    np.testing.assert_array_equal(plain.numpy(), [math.nan, 5, math.nan])
    np.testing.assert_array_equal(ignoring.numpy(), [2, 5, math.nan])


# ---- dtypes and operators -------------------------------------------------------------------------------------------

b = tandem.tensor([True, False, True])
f = tandem.tensor([1.0, -2.0, 3.0])
u = tandem.tensor([1, 2, 200], dtype=tandem.uint8)
DTYPES = [
    (lambda: tandem.hypot(f, I), tandem.float32),
    (lambda: tandem.fmax(I, b), tandem.int64),
    (lambda: tandem.fmin(b, b), tandem.bool),
    (lambda: tandem.copysign(I, -1), tandem.float32),
    (lambda: tandem.signbit(b), tandem.bool),
    (lambda: tandem.heaviside(b, b), tandem.bool),
    (lambda: tandem.logaddexp(f, I), tandem.float32),
    (lambda: tandem.xlogy(2, I), tandem.float32),
    (lambda: tandem.logit(b), tandem.float32),
    (lambda: tandem.sinc(I), tandem.float32),
    (lambda: tandem.nan_to_num(b), tandem.bool),
    (lambda: tandem.deg2rad(I), tandem.float32),
    (lambda: tandem.ldexp(I, I), tandem.float32),
    (lambda: tandem.ldexp(f.double(), I), tandem.float64),
    (lambda: tandem.float_power(2, I), tandem.float64),
    (lambda: tandem.clamp_max(I, 1.5), tandem.float32),
    (lambda: tandem.clamp_min(b, 1), tandem.int64),
    (lambda: tandem.nansum(b), tandem.int64),
    (lambda: tandem.nansum(f, dtype=tandem.float64), tandem.float64),
    (lambda: tandem.count_nonzero(f), tandem.int64),
    (lambda: tandem.trace(tandem.eye(3, dtype=tandem.int32)), tandem.int64),
    (lambda: tandem.addr(b, b, b), tandem.bool),
    (lambda: tandem.norm(f, dtype=tandem.float64), tandem.float64),
    (lambda: tandem.bincount(u), tandem.int64),
    (lambda: tandem.bincount(u, tandem.ones(3, dtype=tandem.int64)), tandem.float64),
    (lambda: b << 1, tandem.int64),
    (lambda: u << 1, tandem.uint8),
    (lambda: tandem.einsum("i,j", f, f), tandem.float32),
    (lambda: tandem.einsum("i->", u), tandem.int64),
    (lambda: tandem.einsum("ij,j->i", u.expand(2, 3), u), tandem.uint8),
    (lambda: tandem.addcmul(u, u, u, value=2.5), tandem.uint8),
    (lambda: tandem.addcmul(u, b, u, value=3), tandem.uint8),
    (lambda: tandem.cov(X.half(), aweights=X[0]), tandem.float32),
    (lambda: tandem.cov(X[:, :3], fweights=u.long(), aweights=X[0, 1:].double()), tandem.float64),
    (lambda: tandem.cov(X.long(), aweights=X[0].bfloat16()), tandem.bfloat16),
]


@pytest.mark.parametrize("case", range(len(DTYPES)))
def test_dtypes(case):
    run, dtype = DTYPES[case]
    assert run().dtype == dtype


def test_einsum_sums_integers_in_int64():
    assert tandem.einsum("i->", u).item() == 203
    assert tandem.einsum("ik,j->ij", u.expand(2, 3), I).tolist() == [[609, -406, 1015]] * 2


def test_addcmul_of_integers_takes_a_whole_factor():
    assert tandem.addcmul(I, I, tandem.tensor([1, 2, 3]), value=3.7).tolist() == [12, -14, 50]
    y = I.clone()
    assert y.addcmul_(I, I, value=-1.9).tolist() == [-6, -6, -20]


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16])
def test_halves_are_rounded_to_decimals_in_float32(dtype, mode):
    x = tandem.tensor([-8.4765625, 60000.0, 0.123, float("inf")], dtype=dtype)
    for decimals in (4, 1, -2):
        got = run_in(mode, lambda x, n=decimals: tandem.round(x, decimals=n), x)
        want = tandem.round(x.float(), decimals=decimals).to(dtype)
        assert_same_bits(got, want)


def test_nothing_has_no_variance_whatever_the_correction():
    for correction in (1, 0, -1, -5):
        assert math.isnan(tandem.var(tandem.zeros(0, 3), correction=correction))
        assert tandem.std(tandem.zeros(3, 0), 1, correction=correction).isnan().all()


def test_the_largest_of_a_tensor_without_dims():
    for k in (0, 1):
        values, places = tandem.topk(tandem.tensor(-8.5), k)
        assert values.item() == -8.5 and places.item() == 0


def test_operators_of_shifts():
    assert (I << 2).tolist() == [12, -8, 20]
    assert (I >> 1).tolist() == [1, -1, 2]
    assert (2 << tandem.tensor([0, 3, -1])).tolist() == [2, 16, 0]
    assert (u << 1).tolist() == [2, 4, 144]
    x = I.clone()
    x <<= 1
    x >>= tandem.tensor([0, 1, 70])
    assert x.tolist() == [6, -2, 0]
    assert I.__rdiv__(6).tolist() == [2, -3, pytest.approx(1.2)]


def test_results_have_names():
    low, high = X.aminmax(dim=1)
    assert X.aminmax().max.item() == 11 and low.tolist() == [0, 4, 8] and high.tolist() == [3, 7, 11]
    assert tandem.cummax(X, 0).indices.tolist()[2] == [2] * 4
    assert tandem.median(X, 1).values.tolist() == [1, 5, 9]
    assert type(tandem.var_mean(X)) is tuple
    out = (tandem.empty(4), tandem.empty(4, dtype=tandem.int64))
    assert tandem.kthvalue(X, 2, 0, out=out).values is out[0] and out[0].tolist() == [4, 5, 6, 7]


# ---- contractions ---------------------------------------------------------------------------------------------------


def test_einsum_forms():
    a, c = tandem.randn(2, 3), tandem.randn(3, 4)
    want = a @ c
    for got in (
        tandem.einsum("ij,jk->ik", a, c),
        tandem.einsum("ij,jk", [a, c]),
        tandem.einsum(a, [0, 1], c, [1, 2]),
        tandem.einsum(a, [0, 1], c, [1, 2], [0, 2]),
        tandem.einsum(a, [..., 1], c, [1, 30], [..., 30]),
        tandem.tensordot(a, c, 1),
        tandem.tensordot(a, c, ([1], [0])),
        tandem.tensordot(a, c, dims=tandem.tensor([[1], [0]])),
    ):
        assert_same_bits(got, want)
    out = tandem.empty(2, 4)
    assert tandem.tensordot(a, c, 1, out=out) is out
    assert_same_bits(out, want)


def test_contractions_copy_nothing_that_strides_allow():
    q, k = (tandem.randn(2, 16, 4, 32) for _ in range(2))
    tandem.einsum("bqhd,bkhd->bhqk", q, k)
    before = tandem.counters()["bytes_allocated"]
    scores = tandem.einsum("bqhd,bkhd->bhqk", q, k)
    assert tandem.counters()["bytes_allocated"] - before == scores.numel() * 4
    # Merged dims of a view are merged without a copy where they lie one after the other.
    x, w = tandem.randn(8, 8, 4, 4), tandem.randn(4, 4, 8)
    tandem.einsum("abcd,cde->abe", x, w)
    before = tandem.counters()["bytes_allocated"]
    y = tandem.einsum("abcd,cde->abe", x, w)
    assert tandem.counters()["bytes_allocated"] - before == y.numel() * 4


def test_einsum_lays_a_result_out_as_it_is_wanted():
    """Dims of one operand alone are merged in the order of the result, so that it can be viewed."""
    for equation, a, b, strides in (
        ("ab,cd->acbd", (2, 2), (3, 3), (18, 6, 3, 1)),
        ("ij,kl->ikjl", (3, 4), (4, 5), (80, 20, 5, 1)),
        ("ildsk,iokl->olsd", (4, 6, 2, 8, 3), (4, 5, 3, 6), (16, 80, 2, 1)),
        ("ikj,kl->jil", (2, 3, 4), (3, 5), (10, 5, 1)),
        ("abik,kj->baij", (2, 3, 4, 5), (5, 6), (48, 24, 6, 1)),
    ):
        x, y = tandem.randn(a, dtype=tandem.float64), tandem.randn(b, dtype=tandem.float64)
        got = tandem.einsum(equation, x, y)
        assert got.stride() == strides
        np.testing.assert_allclose(got.numpy(), np.einsum(equation, x.numpy(), y.numpy()), atol=1e-12)


def test_einsum_takes_the_cheap_order():
    n = 200
    a, c, v = tandem.randn(n, n), tandem.randn(n, n), tandem.randn(n)
    tandem.einsum("ij,jk,k->i", a, c, v)
    before = tandem.counters()["bytes_allocated"]
    got = tandem.einsum("ij,jk,k->i", a, c, v)
    # No matrix in between.
    assert tandem.counters()["bytes_allocated"] - before < n * n * 4
    assert tandem.allclose(got, a @ (c @ v), rtol=1e-4, atol=1e-3)


def test_bincount_in_modes(mode):
    x = tandem.tensor([1, 3, 3, 0])
    assert run_in(mode, lambda x: tandem.bincount(x, minlength=2) * 2, x).tolist() == [2, 2, 0, 4]


# ---- errors ---------------------------------------------------------------------------------------------------------

ERRORS = [
    (lambda: tandem.hypot(I, I), NotImplementedError, "\"hypot_cpu\" not implemented for 'Long'"),
    (lambda: tandem.frac(I), NotImplementedError, "not implemented for 'Long'"),
    (lambda: f & f, NotImplementedError, "\"bitwise_and_cpu\" not implemented for 'Float'"),
    (lambda: f << 1, NotImplementedError, "not implemented for 'Float'"),
    (lambda: tandem.gcd(f, f), NotImplementedError, "\"gcd_cpu\" not implemented for 'Float'"),
    (lambda: I.clone().clamp_(0.5, 2), RuntimeError, "result type Float can't be cast to the desired output type Long"),
    (lambda: I.clone().copysign_(I), RuntimeError, "result type Float can't be cast to the desired output type Long"),
    (
        lambda: tandem.heaviside(f, I),
        RuntimeError,
        "heaviside is not yet implemented for tensors with different dtypes",
    ),
    (lambda: tandem.nanmean(I), RuntimeError, r"nanmean\(\): expected input to have floating point or complex dtype"),
    (lambda: tandem.norm(I), RuntimeError, "Expected a floating point or complex tensor as input. Got Long"),
    (lambda: tandem.norm(X, "abc"), RuntimeError, "Order abc not supported"),
    (lambda: tandem.kthvalue(f, 4), RuntimeError, "selected number k out of range for dimension 0"),
    (lambda: tandem.quantile(X, 1.5), RuntimeError, r"q must be in the range \[0, 1\] but got 1.5"),
    (lambda: tandem.quantile(I, 0.5), RuntimeError, "must be either float or double dtype"),
    (lambda: tandem.bincount(I), RuntimeError, "bincount only supports 1-d non-negative integral inputs"),
    (lambda: tandem.cdist(X, f), RuntimeError, "cdist only supports at least 2D tensors, X2 got: 1D"),
    (lambda: tandem.cross(f, tandem.ones(4)), RuntimeError, "dimension 3|must have length 3|do not|broadcast"),
    (lambda: tandem.trace(f), RuntimeError, "trace: expected a matrix, but got tensor with dim 1"),
    (lambda: tandem.addmm(tandem.ones(2), X, X.T), RuntimeError, "expand"),
    (
        lambda: tandem.addmv(tandem.ones(4), X, f),
        RuntimeError,
        r"size mismatch, got input \(4\), mat \(3x4\), vec \(3\)",
    ),
    (lambda: tandem.inner(f, tandem.ones(2)), RuntimeError, "last dimension must match on both input tensors"),
    (lambda: tandem.tensordot(X, X, 1), RuntimeError, "contracted dimensions need to match"),
    (lambda: tandem.tensordot(X, X, 3), RuntimeError, "tensordot expects dims < ndim_a or ndim_b, but got dims=3"),
    (lambda: tandem.tensordot(X, X, ([0, 1], [0])), RuntimeError, "both dimension lists should have same length"),
    (lambda: tandem.matrix_power(X, 2), RuntimeError, "batches of square matrices, but they are 3 by 4 matrices"),
    (
        lambda: tandem.einsum("ij", f),
        RuntimeError,
        r"subscripts in the equation \(2\) does not match the number of dimen",
    ),
    (lambda: tandem.einsum("i1", X), RuntimeError, "invalid subscript given at index 1 in the equation string"),
    (lambda: tandem.einsum("i->j", f), RuntimeError, "output subscript j does not appear in the equation"),
    (lambda: tandem.einsum("i->ii", f), RuntimeError, "output subscript i appears more than once in the output"),
    (lambda: tandem.einsum("i,i,i", f, f), RuntimeError, "fewer operands were provided than specified"),
    (lambda: tandem.einsum("i", f, f), RuntimeError, "more operands were provided than specified"),
    (
        lambda: tandem.einsum("i,i", f, tandem.ones(2)),
        RuntimeError,
        "subscript i has size 2 for operand 1 which does not",
    ),
    (lambda: tandem.einsum("..i", f), RuntimeError, "that is not part of any ellipsis"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    run, error, text = ERRORS[case]
    with pytest.raises(error, match=text):
        run()


def test_clamp_promotes_over_both_bounds(mode):
    wide, vector = tandem.tensor(0.0, dtype=tandem.float64), tandem.ones(2)
    cases = [
        ((tandem.tensor([True, False]), wide, vector), tandem.float32),
        ((tandem.tensor([1, 2]), wide, vector), tandem.float32),
        ((tandem.tensor(3.0, dtype=tandem.float64), wide, vector), tandem.float32),
        ((tandem.tensor([1, 2]), wide, None), tandem.float64),
        ((tandem.tensor([1, 2], dtype=tandem.int32), tandem.tensor(0), vector.short()), tandem.int32),
    ]
    for (x, low, high), dtype in cases:
        y = run_in(mode, tandem.clamp, x, low, high)
        assert y.dtype is dtype
        bounded = [min(max(v, 0), 1 if high is not None else v) for v in x.expand(y.shape).tolist()]
        assert y.tolist() == bounded
