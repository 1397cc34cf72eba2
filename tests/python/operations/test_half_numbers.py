"""Half types with Python numbers: which operations take the number as float32 and which round it first. And what is
computed of half types in several steps and rounded once.

PyTorch's CPU kernels decide: products, quotients and what scales or bends by a number (addcmul, lerp, leaky_relu ...)
read it as float32 and round once; sums, powers, remainders, comparisons and bounds round it to the tensor's dtype.
"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
import tandem.nn.functional as F

HALF = ("bfloat16", "float16")
NUMBERS = (0.3, 0.1, -1.7, 1e5, 3e-6, 257, 3)
SMALL = (0.3, 0.1, 1.7, 2.9)

# The number as float32, all in float32, one rounding.
WIDE = {
    "mul": lambda x, s: x * s,
    "mul, reflected": lambda x, s: s * x,
    "div": lambda x, s: x / s,
    "div, reflected": lambda x, s: s / x,
    "floor_divide": lambda x, s: x // s,
    "div trunc": lambda x, s: tandem.div(x, s, rounding_mode="trunc"),
}
WIDE_SMALL = {
    "addcmul": lambda x, s: tandem.addcmul(x, x, x, value=s),
    "addcdiv": lambda x, s: tandem.addcdiv(x, x, x + x, value=s),
    "lerp": lambda x, s: tandem.lerp(x, x.flip(0), s),
    "softshrink": F.softshrink,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "celu": F.celu,
    "softplus": lambda x, s: F.softplus(x, s, 2.3),
    "addmm": lambda x, s: tandem.addmm(x, x, x, beta=s, alpha=s + 1),
    "addmv": lambda x, s: tandem.addmv(x[0], x, x[1], beta=s, alpha=s + 1),
    "addr": lambda x, s: tandem.addr(x, x[0], x[1], beta=s, alpha=s + 1),
    "baddbmm": lambda x, s: tandem.baddbmm(x[None], x[None], x[None], beta=s, alpha=s + 1),
    "addbmm": lambda x, s: tandem.addbmm(x, x[None], x[None], beta=s, alpha=s + 1),
}
# The number rounded first, then likewise.
ROUNDED = {
    "add": lambda x, s: x + s,
    "sub": lambda x, s: x - s,
    "sub, reflected": lambda x, s: s - x,
    "remainder": lambda x, s: x % s,
    "fmod": lambda x, s: tandem.fmod(x, s),
    "lt": lambda x, s: x < s,
    "ge": lambda x, s: x >= s,
    "eq": lambda x, s: x == s,
    "clamp": lambda x, s: x.clamp(-abs(s), abs(s)),
    "where": lambda x, s: tandem.where(x > 0, x, s),
    "masked_fill": lambda x, s: x.masked_fill(x > 0, s),
    "hardshrink": F.hardshrink,
    "threshold": lambda x, s: F.threshold(x, s, s),
    "hardtanh": lambda x, s: F.hardtanh(x, -abs(s), abs(s)),
}


def values(dtype: str) -> tandem.Tensor:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(16, 16)) * 10.0 ** rng.uniform(-3, 1, (16, 16))
    x[0, :4] = 0.3, -0.3, 1.7, 2.9
    return tandem.tensor(x, dtype=getattr(tandem, dtype))


def cases(table, numbers):
    return [pytest.param(f, s, id=f"{name}-{s}") for name, f in table.items() for s in numbers]


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize(("function", "number"), cases(WIDE, NUMBERS) + cases(WIDE_SMALL, SMALL))
def test_numbers_that_stay_float32(function, number, dtype, mode):
    x = values(dtype)
    want = function(x.float(), number)
    assert_same_bits(run_in(mode, lambda t: function(t, number), x), want.to(x.dtype))


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize(("function", "number"), cases(ROUNDED, (0.3, 0.1, 1.7, 257)))
def test_numbers_that_are_rounded(function, number, dtype, mode):
    x = values(dtype)
    rounded = tandem.tensor(number, dtype=x.dtype).item()
    want = function(x.float(), rounded)
    got = run_in(mode, lambda t: function(t, number), x)
    assert_same_bits(got, want if want.dtype is tandem.bool else want.to(x.dtype))


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("number", SMALL)
@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_multiples_are_summed_in_float32(name, number, dtype, mode):
    x = values(dtype)
    y = x.flip(1)
    rounded = tandem.tensor(number, dtype=x.dtype).item()
    function = getattr(tandem, name)
    want = function(x.float(), y.float(), alpha=rounded).to(x.dtype)
    assert_same_bits(run_in(mode, lambda a, b: function(a, b, alpha=number), x, y), want)
    if name != "rsub":
        assert_same_bits(getattr(x.clone(), name + "_")(y, alpha=number), want)
        assert_same_bits(
            run_in(mode, lambda a: function(a, 2, alpha=number), x),
            function(x.float(), 2, alpha=rounded).to(x.dtype),
        )


@pytest.mark.parametrize("dtype", HALF)
def test_in_place_forms_and_the_gradient(dtype, mode):
    x = values(dtype)
    assert_same_bits(run_in(mode, lambda t: t.clone().mul_(0.1), x), x * 0.1)
    assert_same_bits(run_in(mode, lambda t: t.clone().div_(0.3), x), x / 0.3)
    assert_same_bits(run_in(mode, lambda t: tandem.mul(t, 0.1, out=tandem.empty_like(t)), x), x * 0.1)

    def gradient(t):
        t = t.detach().requires_grad_()
        return tandem.autograd.grad((t * 0.1).sum(), t)[0]

    want = tandem.full_like(x, 1).float() * 0.1
    assert_same_bits(run_in(mode, gradient, x), want.to(x.dtype))


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16])
def test_powers_of_a_number_that_the_dtype_does_not_hold(dtype, mode):
    """It is infinite there, which is no reason for a slope that is no number: the power times its logarithm."""

    def slope(e):
        return tandem.autograd.grad((1e10**e).sum(), e)[0]

    e = tandem.tensor([-1.0, -0.25], dtype=dtype, requires_grad=True)
    got = run_in(mode, slope, e)
    want = (1e10**e).detach().double() * np.log(1e10)
    tandem.testing.assert_close(got.double(), want, rtol=2e-2, atol=1e-7)


def test_the_instances_that_were_reported():
    assert (tandem.tensor(1.0, dtype=tandem.float16) / 1e5).item() == pytest.approx(1e-5, rel=1e-2)
    assert F.hardshrink(tandem.tensor([0.3], dtype=tandem.bfloat16), 0.3).item() == 0
    factor = tandem.compile(lambda x, s: x * s)
    x = values("bfloat16")
    for s in (0.1, 0.3, 0.1):
        assert_same_bits(factor(x, s), (x.float() * s).to(x.dtype))


def every_number(dtype):
    """Each of the 2^16, NaN that signal aside, which conversions make quiet."""
    x = tandem.arange(-(1 << 15), 1 << 15, dtype=tandem.int16).view(getattr(tandem, dtype))
    quiet = 0x0040 if dtype == "bfloat16" else 0x0200
    return x[~x.isnan() | ((x.view(tandem.int16) & quiet) != 0)]


def bits(x):
    return x.view(tandem.int16)


@pytest.mark.parametrize("dtype", HALF)
def test_signs_change_nothing_else(dtype, mode):
    x = every_number(dtype)
    y = x.flip(0)
    sign = tandem.tensor(-(1 << 15), dtype=tandem.int16)
    magnitude = bits(x) & 0x7FFF
    assert (bits(run_in(mode, lambda t: -t, x)) == (bits(x) ^ sign)).all()
    assert (bits(run_in(mode, abs, x)) == magnitude).all()
    assert (bits(run_in(mode, lambda t: -abs(-t), x)) == (magnitude | sign)).all()
    assert (bits(run_in(mode, tandem.copysign, x, y)) == (magnitude | (bits(y) & sign))).all()
    assert_same_bits(run_in(mode, lambda t: t.clone(), x), x)


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize(
    "choose",
    [
        lambda x, y, m: tandem.where(m, x, y),
        lambda x, y, m: tandem.where(m, -x, abs(y)),
        lambda x, y, m: x.masked_fill(m, 0.3),
        lambda x, y, m: tandem.where(m, x, 1.0 + 0 * x.nan_to_num(0, 0, 0)),
        lambda x, y, m: tandem.maximum(x, y),
        lambda x, y, m: F.relu(-x),
        lambda x, y, m: x.clamp(-0.3, 0.7),
        lambda x, y, m: m.to(x.dtype) * 0.3,
        lambda x, y, m: tandem.copysign(x * 0.3, y),
    ],
)
def test_numbers_that_are_chosen_are_not_rounded_again(dtype, choose, mode):
    x = every_number(dtype)
    x = x[~x.isnan()]
    y = x.roll(1001)
    m = tandem.arange(x.numel()) % 3 == 0
    want = choose(x.float(), y.float(), m).to(x.dtype)  # what is chosen is a number of the type, or is rounded once
    assert_same_bits(run_in(mode, choose, x, y, m), want)


@pytest.mark.parametrize("dtype", HALF)
def test_gelu_of_every_number(dtype):
    x = every_number(dtype)
    x = x[~x.isnan()]
    y, want = F.gelu(x), F.gelu(x.double()).to(x.dtype)
    steps = (bits(y).long() - bits(want).long()).abs()
    assert steps.max() <= 1
    assert (steps > 0).sum() < x.numel() / 50  # nearly always the number next to the exact value


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("size", [3e4, 1e-4])
def test_what_lies_between_may_be_out_of_range(dtype, size):
    """Variances, sums of neighbours, the width of a range: results that the type holds, of parts that it does not."""
    dtype = getattr(tandem, dtype)
    x = (tandem.tensor([[1.0, -0.8, 0.01, 0.3], [0.02, 2.0, -0.03, 0.7]]) * size).to(dtype)
    y = tandem.tensor([0.0, 1e-4, 3e-4, 4e-4], dtype=dtype)
    for f in (
        lambda x, y: x.std(1),
        lambda x, y: x.std(),
        lambda x, y: tandem.std_mean(x, 0, correction=0)[0],
        lambda x, y: tandem.trapezoid(x, dx=0.5),
        lambda x, y: tandem.trapezoid(x, y),
        lambda x, y: tandem.cumulative_trapezoid(x, dim=0),
        lambda x, y: tandem.cumulative_trapezoid(x, y),
        lambda x, y: tandem.histc(x, 5),
    ):
        got, want = f(x, y), f(x.double(), y.double())
        assert got.dtype == dtype and got.isfinite().all()
        np.testing.assert_allclose(got.double().numpy(), want.numpy(), rtol=tandem.finfo(dtype).eps * 2, atol=6e-8)
    many = tandem.zeros(5000, dtype=dtype)
    assert tandem.histc(many, 3, -1, 1).tolist() == [0, tandem.tensor(5000.0).to(dtype).item(), 0]


# ---- derivatives ----------------------------------------------------------------------------------------------------

ROUNDED_ONCE = {
    "gelu": F.gelu,
    "gelu, tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "glu": lambda x: F.glu(x, 0),
    "sin": tandem.sin,
    "atan": tandem.atan,
    "erf": tandem.erf,
    "log1p": lambda x: tandem.log1p(x.abs()),
    "i0": tandem.special.i0,
    "hypot": lambda x: tandem.hypot(x, x.flip(0).detach()),
}


@pytest.mark.parametrize("name", ROUNDED_ONCE)
@pytest.mark.parametrize("dtype", HALF)
def test_derivatives_of_several_steps_are_rounded_once(name, dtype, mode):
    """All steps of the derivative of one operation are taken in float32."""
    f = ROUNDED_ONCE[name]
    x = (tandem.arange(-40, 40) / 8 + 0.05).to(getattr(tandem, dtype))

    def gradient(x, cotangent):
        x = x.detach().requires_grad_()
        return tandem.autograd.grad(f(x), x, cotangent)[0]

    cotangent = tandem.linspace(-2, 3, f(x).numel()).to(x.dtype)
    got = run_in(mode, gradient, x, cotangent)
    assert got.dtype == x.dtype
    if name == "hypot":  # reads the rounded result
        y = f(x).float()
        assert_same_bits(got, (cotangent.float() * (x.float() / y)).to(x.dtype))
    elif name != "glu":
        assert_same_bits(got, gradient(x.float(), cotangent.float()).to(x.dtype))
    else:
        tandem.testing.assert_close(got.float(), gradient(x.float(), cotangent.float()), rtol=1e-2, atol=1e-2)


ACTIVATIONS = {
    "gelu": ROUNDED_ONCE["gelu, tanh"],
    "glu": F.glu,
    **{
        name: getattr(F, name)
        for name in "celu elu hardsigmoid hardswish logsigmoid mish selu silu softplus softsign tanh tanhshrink".split()
    },
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", HALF)
def test_activations_are_rounded_once(name, dtype, mode):
    x = (tandem.arange(-80, 80) / 8 + 0.05).to(getattr(tandem, dtype))
    assert_same_bits(run_in(mode, ACTIVATIONS[name], x), ACTIVATIONS[name](x.float()).to(x.dtype))


IMAGES = {
    "batch_norm": lambda x, v: F.batch_norm(x, v * 3, v, v + 1, v * 2),
    "batch_norm, training": lambda x, v: F.batch_norm(x, None, None, v + 1, v * 2, training=True),
    "instance_norm": lambda x, v: F.instance_norm(x, weight=v + 1, bias=v * 2),
    "instance_norm, running": lambda x, v: F.instance_norm(x, v * 3, v, v + 1, v * 2, use_input_stats=False),
    "bilinear": lambda x, v: F.interpolate(x, size=(7, 9), mode="bilinear"),
    "bilinear, smoothed": lambda x, v: F.interpolate(x, size=(3, 2), mode="bilinear", antialias=True),
    "bicubic": lambda x, v: F.interpolate(x, scale_factor=1.7, mode="bicubic", align_corners=True),
    "trilinear": lambda x, v: F.interpolate(x[:, None], size=(5, 7, 2), mode="trilinear"),
    "cdist": lambda x, v: tandem.cdist(x[:, 0], x[:, 1], p=1.0),
}


@pytest.mark.parametrize("format", [tandem.contiguous_format, tandem.channels_last], ids=str)
@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("dtype", HALF)
def test_what_is_made_of_images_is_rounded_once(name, dtype, format, mode):
    x = (tandem.arange(360).reshape(2, 9, 4, 5) * 37 % 101 / 16 - 3).to(getattr(tandem, dtype), memory_format=format)
    v = (tandem.arange(9) % 4 / 8 + 0.25).to(x.dtype)
    f = IMAGES[name]
    assert_same_bits(run_in(mode, f, x, v), f(x.float(), v.float()).to(x.dtype))


def test_gelu_by_tanh_keeps_its_digits_where_it_is_small():
    """Half of 1 + tanh has few of them left far below zero, where the logistic function has all."""
    x = tandem.linspace(-9, 9, 2001)
    exact = F.gelu(x.double(), approximate="tanh")
    tandem.testing.assert_close(F.gelu(x, approximate="tanh").double(), exact, rtol=1e-5, atol=0)
    ends = tandem.tensor([-tandem.inf, -1e30, -0.0, 0.0, 1e30, tandem.inf, tandem.nan])
    wanted = [tandem.nan, -0.0, -0.0, 0.0, 1e30, tandem.inf, tandem.nan]
    assert_same_bits(F.gelu(ends, approximate="tanh"), tandem.tensor(wanted))


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16], ids=str)
@pytest.mark.parametrize("more", [1, 8, 15, 37])
def test_products_of_every_half_number_with_one(dtype, more):
    """Wide rows are widened and rounded in vectors, and what is left over of them one by one."""
    patterns = np.arange(65536 + more).astype(np.uint16).view(np.int16)
    x = tandem.from_numpy(patterns).view(dtype)
    for factor in (1.0, 0.3):
        one = tandem.full((1, 1), factor, dtype=dtype)
        wanted = (one.float()[0] * x.float() + 0.0).to(dtype)
        found = (one @ x[None])[0]
        assert found.isnan().equal(wanted.isnan())
        assert_same_bits(found.nan_to_num(7.0), wanted.nan_to_num(7.0))


# What is added to a product that is not rounded for it: the operation, and the shapes of its operands.
SUMS = {
    "linear": (lambda b, x, w: F.linear(x, w, b), (33,), (40, 70), (33, 70)),
    "linear of one row": (lambda b, x, w: F.linear(x, w, b), (300,), (1, 300), (300, 300)),
    "linear of few rows": (lambda b, x, w: F.linear(x, w, b), (300,), (7, 300), (300, 300)),
    "linear of many rows": (lambda b, x, w: F.linear(x, w, b), (64,), (3, 100, 20), (64, 20)),
    "linear of a vector": (lambda b, x, w: F.linear(x, w, b), (9,), (70,), (9, 70)),
    "linear to a number": (lambda b, x, w: F.linear(x, w, b), (), (5, 70), (70,)),
    "linear of small ones": (lambda b, x, w: F.linear(x, w, b), (4,), (3, 5), (4, 5)),
    "linear, transposed": (lambda b, x, w: F.linear(x.mT, w.mT, b), (33,), (70, 40), (70, 33)),
    "addmm": (tandem.addmm, (40, 33), (40, 70), (70, 33)),
    "addmm, spread": (tandem.addmm, (40, 1), (40, 270), (270, 33)),
    "addmm of columns": (tandem.addmm, (5, 40000), (5, 1), (1, 40000)),
    "addmm to a column": (tandem.addmm, (400, 1), (400, 300), (300, 1)),
    "addmv": (tandem.addmv, (300,), (300, 290), (290,)),
    "baddbmm": (tandem.baddbmm, (3, 40, 33), (3, 40, 70), (3, 70, 33)),
    "baddbmm of rows": (tandem.baddbmm, (33,), (3, 1, 70), (3, 70, 33)),
    "addbmm": (tandem.addbmm, (40, 33), (3, 40, 70), (3, 70, 33)),
}


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", SUMS)
def test_what_is_added_to_a_product_is_added_before_it_is_rounded(name, dtype, mode):
    f, *shapes = SUMS[name]
    tandem.manual_seed(0)
    dtype = getattr(tandem, dtype)
    given = [tandem.randn(shape).to(dtype) for shape in shapes]
    want = f(*(t.float() for t in given)).to(dtype)
    g = tandem.randn(want.shape).to(dtype)

    def step(*tensors):
        leaves = [t.detach().requires_grad_() for t in tensors[:-1]]
        y = f(*leaves)
        return y.detach(), *tandem.autograd.grad(y, leaves, tensors[-1])

    got = run_in(mode, step, *given, g)
    assert_same_bits(got[0], want)
    assert_same_bits(f(*given), want)
    # Gradients are those of the product alone, and of a sum.
    leaves = [t.detach().requires_grad_() for t in given[1:]]
    apart = tandem.autograd.grad(f(tandem.zeros_like(given[0]), *leaves), leaves, g)
    for made, wanted in zip(got[2:], apart, strict=True):
        assert made.dtype == dtype
        assert_same_bits(made, wanted)
    widely = given[0].float().requires_grad_()
    (bias,) = tandem.autograd.grad(f(widely, *(t.float() for t in given[1:])), [widely], g.float())
    assert_same_bits(got[1], bias.to(dtype))


@pytest.mark.parametrize("dtype", HALF)
def test_products_that_are_added_to_in_place_and_saved(dtype, tmp_path):
    dtype = getattr(tandem, dtype)
    tandem.manual_seed(0)
    x, a, b = tandem.randn(40, 33).to(dtype), tandem.randn(40, 70).to(dtype), tandem.randn(70, 33).to(dtype)
    want = tandem.addmm(x, a, b)
    assert_same_bits(x.clone().addmm_(a, b), want)
    assert_same_bits(tandem.addmm(x, a, b, out=tandem.empty(40, 33, dtype=dtype)), want)
    # What is multiplied by 0 is not read, and one factor more makes no other sum.
    assert_same_bits(tandem.addmm(x * float("nan"), a, b, beta=0), a @ b)
    layer = tandem.nn.Linear(70, 33, dtype=dtype)
    want = layer(a)
    assert_same_bits(want, F.linear(a.float(), layer.weight.float(), layer.bias.float()).to(dtype))
    tandem.export.export(layer, (a,)).save(tmp_path / "layer.tandem")
    assert_same_bits(tandem.export.load(tmp_path / "layer.tandem")(a), want)
    with pytest.raises(RuntimeError, match="must have the same dtype"):
        F.linear(a, b.T.contiguous(), tandem.zeros(33))


# ---- random numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16])
def test_uniform_numbers_stay_below_their_end(dtype, mode):
    """Also where the number just below it, of a wider type, would be rounded to it."""
    steps = 2048 if dtype is tandem.float16 else 256
    tandem.manual_seed(0)
    x = run_in(mode, lambda: tandem.rand(100_000, dtype=dtype)).to(tandem.float64)
    assert x.min() == 0 and x.max() == 1 - 1 / steps
    assert (x * steps == (x * steps).round()).all() and x.unique().numel() == steps
    assert abs(x.mean().item() - 0.5 * (1 - 1 / steps)) < 0.005
    for low, high in ((0.5, 0.75), (-9, 9), (1, 2), (-1, 0), (-4, -2), (0, 1e-7), (0, 0.1)):
        y = run_in(mode, lambda low=low, high=high: tandem.empty(50_000, dtype=dtype).uniform_(low, high))
        y = y.to(tandem.float64)
        held = tandem.tensor(low, dtype=dtype).item()
        assert y.min() >= min(low, held) and y.max() < high, (low, high)
    assert (tandem.empty(3, dtype=dtype).uniform_(2, 2) == 2).all()
