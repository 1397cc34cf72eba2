"""Counts that no memory holds, and numbers that no element of a dtype holds: errors at once, never a hang, a crash or
another number. Offsets of bags and indices with two ellipses, which were taken for something else."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import run_in

import tandem
from tandem import nn
from tandem.nn import functional as F

MOST, LEAST = 2**63 - 1, -(2**63)
X = tandem.arange(6.0)
IMAGE = X.view(1, 1, 6)
EIGHT, BYTES = tandem.zeros(2, dtype=tandem.int8), tandem.zeros(2, dtype=tandem.uint8)
MASK, PLACE = tandem.tensor([True, False]), tandem.tensor([0])

COUNTS = {
    "tensor_split": (lambda n: tandem.tensor_split(X, n), (2**62, MOST, 2**40), tandem.OutOfMemoryError),
    "chunk of nothing": (lambda n: tandem.zeros(0).chunk(n), (2**62, MOST, 2**40), tandem.OutOfMemoryError),
    "split_sizes": (lambda n: X.split([n, n, 6]), (2**62, MOST), RuntimeError),
    "fold": (lambda n: F.fold(tandem.ones(1, 4, 4), 3, n), (2**62, MOST, 2**40, 2**32), RuntimeError),
    "fold, padding": (lambda n: F.fold(tandem.ones(1, 4, 4), 3, 2, padding=n), (2**62, MOST), RuntimeError),
    "unfold": (lambda n: F.unfold(tandem.ones(1, 1, 4, 4), 2, padding=n), (2**62, MOST), RuntimeError),
    "unfold, dilation": (lambda n: F.unfold(tandem.ones(1, 1, 4, 4), 3, dilation=n), (2**62, MOST), RuntimeError),
    "pad": (lambda n: F.pad(X, (n, n)), (LEAST, MOST, 2**62, -(2**62)), RuntimeError),
    "reflect": (lambda n: F.pad(IMAGE, (n, 1), mode="reflect"), (LEAST, MOST, -(2**62)), RuntimeError),
    "replicate": (lambda n: F.pad(IMAGE, (n, 1), mode="replicate"), (LEAST, MOST, -(2**62)), RuntimeError),
    "circular": (lambda n: F.pad(IMAGE, (n, 1), mode="circular"), (LEAST, MOST, -(2**62)), RuntimeError),
    "ctc_loss": (
        lambda n: F.ctc_loss(tandem.zeros(4, 1, 3), tandem.tensor([[1, 2]]), tandem.tensor([4]), tandem.tensor([n])),
        (LEAST, MOST, -1),
        RuntimeError,
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    call, counts, error = COUNTS[name]
    for count in counts:
        with pytest.raises(error):
            call(count)


def test_chunks():
    assert [c.tolist() for c in X.chunk(MOST)] == [[v] for v in X.tolist()]
    assert [c.tolist() for c in X.split(MOST)] == [X.tolist()]
    assert [tuple(c.shape) for c in tandem.zeros(0, 2).chunk(3)] == [(0, 2)] * 3


def test_least_power():
    program = "import tandem; print(tandem.matrix_power(tandem.tensor([[0.5]]), -2**63).tolist())"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0 and "inf" in out.stdout, out.stderr
    assert tandem.matrix_power(tandem.eye(2) * 2, -3).tolist() == [[0.125, 0.0], [0.0, 0.125]]


FILLS = {
    "full": lambda n: tandem.full((2,), n, dtype=tandem.int8),
    "full_like": lambda n: tandem.full_like(EIGHT, n),
    "new_full": lambda n: EIGHT.new_full((2,), n),
    "fill_": lambda n: EIGHT.clone().fill_(n),
    "fill": lambda n: tandem.fill(EIGHT, n),
    "masked_fill": lambda n: EIGHT.masked_fill(MASK, n),
    "masked_fill_": lambda n: EIGHT.clone().masked_fill_(MASK, n),
    "index_fill": lambda n: EIGHT.index_fill(0, PLACE, n),
    "scatter": lambda n: EIGHT.scatter(0, PLACE, n),
    "pad": lambda n: F.pad(EIGHT, (1, 1), value=n),
    "threshold": lambda n: F.threshold(EIGHT, 1, n),
    "fill_diagonal_": lambda n: EIGHT.clone().view(1, 2).fill_diagonal_(n),
    "x[0] =": lambda n: EIGHT.clone().__setitem__(0, n),
    "x[mask] =": lambda n: EIGHT.clone().__setitem__(MASK, n),
    "x[places] =": lambda n: EIGHT.clone().__setitem__(PLACE, n),
}


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
@pytest.mark.parametrize("name", FILLS)
def test_numbers_that_no_element_holds(name, mode):
    for number in (128, -129, 300, 2**40, 128.5, -129.5, float("inf"), float("nan")):
        with pytest.raises(RuntimeError, match="cannot be converted to int8 without overflow"):
            run_in(mode, lambda number=number: FILLS[name](number))
    for number in (127, -128, 1.75, True):
        run_in(mode, lambda number=number: FILLS[name](number))
    assert EIGHT.tolist() == [0, 0]


def test_bounds_that_no_element_holds():
    for call in (lambda n: EIGHT.clamp(max=n), lambda n: EIGHT.clone().clamp_(min=n), lambda n: EIGHT.clamp(0, n)):
        for number in (128, -129, 2**40):
            with pytest.raises(RuntimeError, match="clamp: value .* cannot be converted to int8 without overflow"):
                call(number)
    assert EIGHT.clamp(max=300.0).tolist() == [0.0, 0.0]  # of the default dtype


def test_numbers_of_unsigned_and_wide_dtypes():
    assert BYTES.clone().fill_(-255).tolist() == [1, 1]  # as PyTorch wraps
    for number in (256, -256, -1.5, float("nan")):
        with pytest.raises(RuntimeError, match="fill_: value .* cannot be converted to uint8 without overflow"):
            BYTES.clone().fill_(number)
    whole = tandem.zeros(2, dtype=tandem.int64)
    assert whole.masked_fill(MASK, MOST).tolist() == [MOST, 0]
    assert whole.masked_fill(MASK, -(2.0**63)).tolist() == [LEAST, 0]
    for number in (2.0**63, float("-inf")):
        with pytest.raises(RuntimeError, match="masked_fill: value .* cannot be converted to int64"):
            whole.masked_fill(MASK, number)
    assert tandem.zeros(2, dtype=tandem.bool).fill_(300).tolist() == [True, True]


FACTORS = {
    "add": lambda n: tandem.add(EIGHT, EIGHT, alpha=n),
    "add_": lambda n: EIGHT.clone().add_(EIGHT, alpha=n),
    "sub": lambda n: tandem.sub(EIGHT, 1, alpha=n),
    "rsub": lambda n: tandem.rsub(EIGHT, EIGHT, alpha=n),
    "addcmul": lambda n: tandem.addcmul(EIGHT, EIGHT, EIGHT, value=n),
    "addmm": lambda n: tandem.addmm(EIGHT, EIGHT.view(2, 1), EIGHT.view(1, 2), alpha=n),
    "addmm, beta": lambda n: tandem.addmm(EIGHT, EIGHT.view(2, 1), EIGHT.view(1, 2), beta=n),
    "addmv": lambda n: tandem.addmv(EIGHT, EIGHT.view(2, 1), EIGHT[:1], alpha=n),
    "addr": lambda n: tandem.addr(EIGHT, EIGHT, EIGHT, beta=n),
    "baddbmm": lambda n: tandem.baddbmm(EIGHT, EIGHT.view(1, 2, 1), EIGHT.view(1, 1, 2), alpha=n),
    "addbmm": lambda n: tandem.addbmm(EIGHT, EIGHT.view(1, 2, 1), EIGHT.view(1, 1, 2), beta=n),
    "index_add": lambda n: EIGHT.index_add(0, PLACE, EIGHT[:1], alpha=n),
    "where": lambda n: tandem.where(MASK, EIGHT, n),
    "where, first": lambda n: tandem.where(MASK, n, EIGHT),
    "pow": lambda n: EIGHT**n,
    "pow_": lambda n: EIGHT.clone().pow_(n),
    "hardtanh": lambda n: F.hardtanh(EIGHT, -1000 if n < 0 else 0, n),
    "linspace": lambda n: tandem.linspace(0, n, 3, dtype=tandem.int8),
    "logspace": lambda n: tandem.logspace(n, 0, 3, dtype=tandem.int8),
}


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
@pytest.mark.parametrize("name", FACTORS)
def test_factors_and_choices_that_no_element_holds(name, mode):
    for number in (128, 300, 2**40) if "pow" in name else (128, -129, 300, 2**40):
        with pytest.raises(RuntimeError, match="value .* cannot be converted to int8 without overflow"):
            run_in(mode, lambda number=number: FACTORS[name](number))
    run_in(mode, lambda: FACTORS[name](127))
    assert EIGHT.tolist() == [0, 0]


def test_choices_at_one_site():
    ones = tandem.ones(2, dtype=tandem.int8)

    def chosen(number):
        return run_in("lazy", lambda: tandem.where(MASK, ones, number)).tolist()

    for number in (7, 127, 300, -128, 128, 5):
        if number in (300, 128):
            with pytest.raises(RuntimeError, match=f"where: value {number} cannot be converted to int8"):
                chosen(number)
        else:
            assert chosen(number) == [1, number]
    assert tandem.where(MASK, 300, tandem.zeros(2)).tolist() == [300.0, 0.0]
    assert tandem.where(MASK, EIGHT, 1e9).dtype == tandem.float32


def test_divisors_that_are_zero_in_the_dtype():
    for divide in (lambda n: EIGHT // n, lambda n: EIGHT % n, lambda n: tandem.fmod(EIGHT, n)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError: an integer is divided by zero, as 256 is in int8"):
            divide(256)
        assert divide(255).tolist() == [0, 0]  # -1
    with pytest.raises(RuntimeError, match="as 1099511627776 is in int32"):
        EIGHT.int().remainder_(2**40)


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
def test_nothing_is_divided(mode):
    nothing, zero = EIGHT[:0], tandem.tensor(0)
    for divide in (tandem.floor_divide, tandem.remainder, tandem.fmod):
        for by in (0, zero, zero.view(1)):
            assert run_in(mode, lambda divide=divide, by=by: divide(nothing, by).clone()).shape == (0,)
        with pytest.raises(RuntimeError, match="divided by zero"):
            run_in(mode, lambda divide=divide: divide(EIGHT, zero))


FLOATS = {
    "full": lambda x, n: tandem.full((2,), n, dtype=x.dtype),
    "fill_": lambda x, n: x.clone().fill_(n),
    "masked_fill": lambda x, n: x.masked_fill(MASK, n),
    "index_fill": lambda x, n: x.index_fill(0, PLACE, n),
    "scatter": lambda x, n: x.scatter(0, PLACE, n),
    "clamp": lambda x, n: x.clamp(max=n),
    "pad": lambda x, n: F.pad(x, (1, 1), value=n),
    "threshold": lambda x, n: F.threshold(x, 1, n),
    "hardtanh": lambda x, n: F.hardtanh(x, 0, n),
    "hardshrink": lambda x, n: F.hardshrink(x, n),
    "alpha": lambda x, n: tandem.add(x, x, alpha=n),
    "index_add": lambda x, n: x.index_add(0, PLACE, x[:1], alpha=n),
    "linspace": lambda x, n: tandem.linspace(0, n, 3, dtype=x.dtype),
}
WIDE = {
    "addcmul": lambda x, n: tandem.addcmul(x, x, x, value=n),
    "addcdiv": lambda x, n: tandem.addcdiv(x, x, x, value=n),
    "lerp": lambda x, n: tandem.lerp(x, x, n),
    "addmm": lambda x, n: tandem.addmm(x, x.view(2, 1), x.view(1, 2), alpha=n),
    "elu": lambda x, n: F.elu(x, n),
    "leaky_relu": lambda x, n: F.leaky_relu(x, n),
    "softplus": lambda x, n: F.softplus(x, 1, n),
}
LARGEST = {"float16": 65504.0, "bfloat16": float.fromhex("0x1.FEp127"), "float32": float.fromhex("0x1.FFFFFEp127")}


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
@pytest.mark.parametrize("name", [*FLOATS, *WIDE])
def test_numbers_beyond_a_floating_dtype(name, mode):
    for dtype, most in LARGEST.items():
        x = tandem.ones(2, dtype=getattr(tandem, dtype))
        call = FLOATS.get(name) or WIDE[name]
        range_ = "float32" if name in WIDE else dtype
        most = LARGEST[range_]
        for number in (1.5, most, float("inf")):
            run_in(mode, lambda call=call, x=x, number=number: call(x, number))
        with pytest.raises(RuntimeError, match=f"value .* cannot be converted to {range_} without overflow"):
            run_in(mode, lambda call=call, x=x, most=most: call(x, most * 1.001))


def test_infinities_of_half_types():
    # As in PyTorch: of a single element, and where something is assigned.
    x = tandem.zeros(2, dtype=tandem.float16)
    assert tandem.full((1,), 1e6, dtype=tandem.float16).tolist() == [float("inf")]
    x[0] = -1e6
    assert x.tolist() == [float("-inf"), 0.0]
    x[x == 0] = 1e6
    assert x.tolist() == [float("-inf"), float("inf")]
    assert tandem.where(MASK, x, 1e6).dtype == tandem.float16
    with pytest.raises(RuntimeError, match="__setitem__: value 1e\\+39 cannot be converted to float32"):
        tandem.zeros(2)[0] = 1e39


def test_a_run_time_factor_keeps_its_plan():
    f = tandem.compile(lambda x, s: x.masked_fill(MASK, s) + tandem.add(x, x, alpha=-s))
    x = tandem.ones(2)
    for s in (1.0, 2.0, 3.0, 4.0):
        assert f(x, s).tolist() == [1.0, 2.0 - s]
    assert f(x, float("inf"))[1].item() == float("-inf")
    assert f.runs == 1
    for s in (1e39, -1e39):
        with pytest.raises(RuntimeError, match="masked_fill: value .* cannot be converted to float32"):
            f(x, s)
    assert f(x, 5.0).tolist() == [1.0, -3.0] and f.runs == 3
    f = tandem.compile(lambda x, s: tandem.add(x, x, alpha=-s * 2 + 1))
    for s in (1.0, 2.0, 1e38):
        assert f(x, s).equal(x + x * (1 - 2 * s)) and f.runs == 1
    with pytest.raises(RuntimeError, match="add: value .* cannot be converted to float32"):
        f(x, 3e38)


def test_factors_of_bools():
    one = tandem.tensor([False, True])
    assert tandem.add(MASK, one, alpha=2).tolist() == [True, True]
    assert tandem.add(MASK, one, alpha=0).tolist() == [True, False]
    assert one.index_add(0, PLACE, MASK[:1], alpha=2).tolist() == [True, True]


def test_elements_that_no_dtype_holds():
    for make in (tandem.tensor, tandem.as_tensor, EIGHT.new_tensor):
        for number in (128.0, 127.9, -128.5, float("nan"), float("inf"), 128):
            with pytest.raises(RuntimeError, match="value .* cannot be converted to int8 without overflow"):
                make([number, 1], dtype=tandem.int8)
        assert make([126.9, -127.5], dtype=tandem.int8).tolist() == [126, -127]
    for number in (-0.5, 256.0):
        with pytest.raises(RuntimeError, match="cannot be converted to uint8"):
            tandem.tensor(number, dtype=tandem.uint8)


def test_elements_beyond_int64():
    assert tandem.tensor([2**64, 1.5]).tolist() == [2.0**64, 1.5]
    assert tandem.tensor([-(2**70)], dtype=tandem.float64).tolist() == [-(2.0**70)]
    assert tandem.tensor([2**64], dtype=tandem.bool).tolist() == [True]
    for elements in ([2**64], [True, 2**64]):
        with pytest.raises(ValueError, match="Overflow"):
            tandem.tensor(elements)
    with pytest.raises(OverflowError):
        tandem.tensor([10**400, 1.5])


def test_numbers_among_float64():
    x = tandem.tensor([0.1, 0.2, 0.3], dtype=tandem.float64)
    assert [tandem.searchsorted(x, n).item() for n in (0.1, 0.2, 0.3)] == [0, 1, 2]
    assert [tandem.bucketize(n, x, right=True).item() for n in (0.1, 0.2, 0.3)] == [1, 2, 3]
    assert tandem.isin(x, 0.2).tolist() == [False, True, False] and tandem.isin(0.3, x).item()
    half = x.half()
    assert tandem.isin(half, 0.1).tolist() == [True, False, False]
    assert tandem.searchsorted(half, tandem.tensor(0.1)).item() == 0
    assert tandem.isin(tandem.tensor([1, 2], dtype=tandem.int8), 258).tolist() == [False, False]


def test_searches_among_another_dtype():
    places, values = tandem.tensor([1, 3]), tandem.tensor([0.5, 1.5, 2.7, 3.2])
    assert tandem.bucketize(values, places).tolist() == tandem.searchsorted(places, values).tolist() == [0, 1, 1, 2]
    tenth = tandem.tensor([0.1])
    assert tandem.bucketize(tenth, tenth.double() - 1e-9).item() == 1
    assert tandem.bucketize(tandem.tensor([300, 2]), places.to(tandem.int8)).tolist() == [2, 1]


def test_single_elements_widen_nothing():
    eight, one = tandem.tensor([4, 6], dtype=tandem.int8), tandem.tensor(6)
    for function in (tandem.gcd, tandem.lcm):
        assert function(eight, one).dtype == function(one, eight).dtype == tandem.int8
    wide = tandem.tensor(2.0, dtype=tandem.float64)
    for function in (tandem.special.zeta, tandem.special.gammainc, tandem.special.gammaincc):
        assert function(tandem.tensor([2.0]), wide).dtype == tandem.float32


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda n: tandem.isclose(X, X, rtol=n), "rtol must be greater than or equal to zero"),
        (lambda n: tandem.allclose(X, X, atol=n), "atol must be greater than or equal to zero"),
        (lambda n: tandem.renorm(IMAGE, 2, 0, n), "expected maxnorm to be >= 0"),
        (lambda n: F.smooth_l1_loss(X, X, beta=n), "negative values for beta"),
    ],
)
def test_tolerances(call, text):
    for number in (-1.0, float("nan")):
        with pytest.raises(RuntimeError, match=text):
            call(number)
    call(0.5)


def test_ranges_that_are_not_finite():
    for low, high in ((0, float("inf")), (float("nan"), 1), (float("-inf"), 0)):
        with pytest.raises(RuntimeError, match="histc: range of .* is not finite"):
            tandem.histc(X, 4, low, high)
    for dtype, high in ((tandem.float32, float("inf")), (tandem.float16, 1e6), (tandem.float32, 1e39)):
        with pytest.raises(RuntimeError, match="uniform_: .* must be finite numbers"):
            tandem.zeros(2, dtype=dtype).uniform_(0, high)
    with pytest.raises(RuntimeError, match="their distance"):
        tandem.zeros(2, dtype=tandem.float16).uniform_(-60000, 60000)


def test_padding_and_threads_that_are_none():
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.conv_transpose1d(IMAGE, tandem.ones(1, 1, 3), padding=MOST)
    assert F.conv_transpose1d(IMAGE, tandem.ones(1, 1, 3), padding=3).shape == (1, 1, 2)
    before = tandem.get_num_threads()
    for number in (2**31, 2**62):
        with pytest.raises(ValueError, match="is more than a number of threads can be"):
            tandem.set_num_threads(number)
    assert tandem.get_num_threads() == before


def test_a_compiled_number_that_does_not_fit_later():
    f = tandem.compile(lambda x, s: x.masked_fill(MASK, s))
    for s in (1.0, 2.0, 3.0):
        assert f(EIGHT, s).tolist() == [int(s), 0]
    with pytest.raises(RuntimeError, match="cannot be converted to int8"):
        f(EIGHT, 300.0)
    assert f(EIGHT, 4.0).tolist() == [4, 0]


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
@pytest.mark.parametrize("kind", ["sum", "mean", "max"])
def test_offsets_of_bags(mode, kind):
    rows = tandem.tensor([[1.0], [2.0], [3.0]])

    def bags(offsets, last=False):
        at = tandem.tensor(offsets, dtype=tandem.int64)
        places = tandem.tensor([0, 1, 2])
        return run_in(mode, lambda: F.embedding_bag(places, rows, at, mode=kind, include_last_offset=last).clone())

    for offsets in ([1, 2], [0, 4], [0, 3, 2], [0, -1]):
        for last in (False, True):
            with pytest.raises(RuntimeError, match="embedding_bag: offsets must begin with 0, not decrease"):
                bags(offsets, last)
    two = {"sum": [[3.0], [3.0]], "mean": [[1.5], [3.0]], "max": [[2.0], [3.0]]}[kind]
    assert bags([0, 2]).tolist() == two
    assert bags([0, 2, 3], True).tolist() == two
    assert bags([0, 2], True).tolist() == two[:1]  # the last row is in no bag
    assert bags([0, 0], True).tolist() == [[0.0]]


def test_two_ellipses():
    x = tandem.ones(2, 3, 4)
    assert x[..., ...].shape == x.shape and x[0, ..., ...].shape == (3, 4)
    for index in ((..., 0, ..., 0), (..., slice(1), ..., PLACE)):
        with pytest.raises(IndexError, match=r"an index can only have a single ellipsis \('...'\)"):
            x[index]
        with pytest.raises(IndexError, match="single ellipsis"):
            x[index] = 1.0


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_layers_of_nothing(kind):
    with pytest.raises(ValueError, match="input_size must be greater than zero"):
        kind(0, 2)


BIG = 2**63
UNSIGNED = {
    "+": lambda x, n: x + n,
    "reflected -": lambda x, n: n - x,
    "in place": lambda x, n: x.clone().mul_(n),
    "/": lambda x, n: x / n,
    "power": lambda x, n: tandem.pow(n, x),
    "<": lambda x, n: x < n,
    "add": lambda x, n: tandem.add(x, x, alpha=n),
    "clamp": lambda x, n: x.clamp(max=n),
    "where": lambda x, n: tandem.where(MASK, x, n),
    "masked_fill": lambda x, n: x.masked_fill(MASK, n),
    "fill_": lambda x, n: x.clone().fill_(n),
    "full_like": lambda x, n: tandem.full_like(x, n),
    "new_full": lambda x, n: x.new_full((2,), n),
    "lerp": lambda x, n: tandem.lerp(x, x, n),
    "nan_to_num": lambda x, n: tandem.nan_to_num(x, posinf=n),
    "threshold": lambda x, n: F.threshold(x, n, 0),
}


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16])
def test_integers_of_64_bits_beside_floats(name, dtype, mode):
    """Those from 2^63 on, of which floats take the number."""
    x = tandem.tensor([1.0, 2.0], dtype=dtype)
    call = UNSIGNED[name]
    found, wanted = run_in(mode, lambda: call(x, BIG)), call(x, float(BIG))
    assert found.dtype == wanted.dtype and found.equal(wanted)


@pytest.mark.parametrize("name", "power < add clamp where masked_fill fill_ full_like new_full threshold".split())
def test_integers_of_64_bits_beside_integers(name):
    for dtype in (tandem.int64, tandem.int32, tandem.uint8):
        with pytest.raises(RuntimeError, match="value 9223372036854775808 cannot be converted to .* without overflow"):
            UNSIGNED[name](tandem.tensor([1, 2], dtype=dtype), BIG)


def test_integers_of_64_bits_as_those_of_a_hash(mode):
    """Sums, products and operations on bits count modulo 2^64, and so do their numbers."""
    factor, x = 0x9E3779B97F4A7C15, tandem.tensor([1, 2, -3])

    def hashed(x):
        y = (x + factor) * factor ^ factor
        y &= 2**64 - 1
        return factor - y | tandem.mul(x, factor)

    def wanted(v):
        y = ((v + factor) * factor ^ factor) % 2**64
        return ((factor - y | v * factor) + 2**63) % 2**64 - 2**63

    assert run_in(mode, lambda: hashed(x)).tolist() == [wanted(v) for v in x.tolist()]


def test_integers_of_64_bits_that_make_tensors():
    for dtype in (tandem.float32, tandem.float64):
        assert tandem.tensor([BIG, 1], dtype=dtype).tolist() == [2.0**63, 1.0]
        assert tandem.full((2,), 2**64 - 1, dtype=dtype).tolist() == [2.0**64] * 2
        assert tandem.linspace(0, BIG, 3, dtype=dtype).tolist() == [0, 2.0**62, 2.0**63]
        assert tandem.arange(0, BIG, 2**62, dtype=dtype).tolist() == [0, 2.0**62]
    assert tandem.linspace(0, BIG, 2).tolist() == [0, 2.0**63] and tandem.scalar_tensor(BIG).item() == 2.0**63
    assert tandem.full((2,), BIG, dtype=tandem.bool).tolist() == [True, True]
    for call in (
        lambda: tandem.full((2,), BIG),
        lambda: tandem.full((2,), BIG, dtype=tandem.int32),
        lambda: tandem.full((2,), BIG, dtype=tandem.float16),
        lambda: tandem.arange(0, BIG, 2**62),
    ):
        with pytest.raises(RuntimeError, match="cannot be converted to .* without overflow"):
            call()
    for call in (
        lambda: tandem.tensor(BIG),
        lambda: tandem.tensor([1, BIG]),
        lambda: tandem.tensor([BIG], dtype=tandem.int32),
        lambda: tandem.tensor(-BIG - 1),
        lambda: X.clone().__setitem__(0, BIG),
    ):
        with pytest.raises(ValueError, match="Overflow"):
            call()


def test_ramps_of_integers():
    """Negative ends of unsigned ones wrap, as in PyTorch; a step below 1 is 0."""
    u8 = {"dtype": tandem.uint8}
    assert tandem.linspace(-1, 5, 4, **u8).tolist() == [255, 171, 88, 5]
    assert tandem.linspace(5, -3, 5, **u8).tolist() == [5, 67, 129, 191, 253]
    assert tandem.linspace(tandem.tensor(-1), 5, 4, **u8).tolist() == [255, 171, 88, 5]
    with pytest.warns(UserWarning, match="range is deprecated"):
        assert tandem.range(-2, 3, **u8).tolist() == [254, 255, 0, 1, 2, 3]
    for dtype in (tandem.uint8, tandem.int8, tandem.int32):
        assert tandem.arange(0, 2, 0.5, dtype=dtype).tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="arange: step must be nonzero, but 0.5 is 0 as an integer"):
        tandem.arange(0, 2, 0.5, dtype=tandem.int64)
    assert tandem.linspace(3, 3, 1, dtype=tandem.bool).tolist() == [True]
    for call in (lambda: tandem.arange(3, dtype=tandem.bool), lambda: tandem.linspace(0, 1, 2, dtype=tandem.bool)):
        with pytest.raises(NotImplementedError, match="_cpu\" not implemented for 'Bool'"):
            call()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_histograms_of_a_range_that_is_not_finite(wrong, mode):
    x = tandem.tensor([1.0, wrong, 2.0])
    with pytest.raises(RuntimeError, match="histc: the range of the input's elements is not finite"):
        run_in(mode, lambda: tandem.histc(x, 3))
    assert run_in(mode, lambda: tandem.histc(x, 3, 0.0, 3.0)).tolist() == [0, 1, 1]
