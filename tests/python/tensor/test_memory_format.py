"""Memory formats: the strides that `to`, `clone`, `contiguous`, `expand` and elementwise operations give, in every
mode."""

from __future__ import annotations

import copy
import pickle

import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem import nn

ROWS, LAST, LAST3, KEEP = (
    tandem.contiguous_format,
    tandem.channels_last,
    tandem.channels_last_3d,
    tandem.preserve_format,
)
IMAGE = tandem.randn(2, 3, 4, 5)
VOLUME = tandem.randn(1, 2, 3, 4, 5)
IN_LAST = IMAGE.to(memory_format=LAST)
TURNED = IMAGE.permute(0, 2, 3, 1)
PIXELS = tandem.randn(2, 3, 1, 1).to(memory_format=LAST)  # rows, too

COPIES = {
    "to": (lambda x: x.to(memory_format=LAST), IMAGE, (60, 1, 15, 3)),
    "to, with dtype": (lambda x: x.to(tandem.float64, memory_format=LAST), IMAGE, (60, 1, 15, 3)),
    "to, with device": (lambda x: x.to("cpu", memory_format=LAST), IMAGE, (60, 1, 15, 3)),
    "to, as another": (lambda x: x.to(x.double(), memory_format=LAST), IMAGE, (60, 1, 15, 3)),
    "contiguous": (lambda x: x.contiguous(memory_format=LAST), IMAGE, (60, 1, 15, 3)),
    "clone": (lambda x: x.clone(memory_format=LAST), IMAGE, (60, 1, 15, 3)),
    "double": (lambda x: x.double(memory_format=LAST), IMAGE, (60, 1, 15, 3)),
    "back": (lambda x: x.contiguous(), IN_LAST, (60, 20, 5, 1)),
    "back, by clone": (lambda x: x.clone(memory_format=ROWS), IN_LAST, (60, 20, 5, 1)),
    "back, by to": (lambda x: x.to(memory_format=ROWS), IN_LAST, (60, 20, 5, 1)),
    "volume": (lambda x: x.to(memory_format=LAST3), VOLUME, (120, 1, 40, 10, 2)),
    "clone keeps": (lambda x: x.clone(), IN_LAST, (60, 1, 15, 3)),
    "clone keeps, when asked": (lambda x: x.clone(memory_format=KEEP), IN_LAST, (60, 1, 15, 3)),
    "dtype keeps": (lambda x: x.half(), IN_LAST, (60, 1, 15, 3)),
    "copy keeps": (lambda x: x.to(tandem.float32, copy=True), TURNED, (60, 5, 1, 20)),
    "another order": (lambda x: x.to(tandem.float32, copy=True, memory_format=LAST), TURNED, (60, 1, 12, 4)),
    "transposed, with gaps": (lambda x: x[::2].t().clone(), tandem.randn(6, 4), (1, 4)),
    "channels cut": (lambda x: x[:, :2].double(), IN_LAST, (40, 1, 10, 2)),
    "one channel": (lambda x: x[:, :1].clone(), IN_LAST, (20, 1, 5, 1)),
    "one pixel": (lambda x: x.clone(), PIXELS, (3, 1, 3, 3)),
    "one pixel, with dtype": (lambda x: x.double(), PIXELS, (3, 1, 3, 3)),
    "one pixel, copied": (lambda x: x.to(tandem.float32, copy=True), PIXELS, (3, 1, 3, 3)),
    "expanded": (lambda x: x.expand(3, 4).clone(), tandem.randn(3, 1), (4, 1)),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_have_the_strides_of_their_format(name, mode):
    function, x, strides = COPIES[name]
    y = run_in(mode, function, x)
    assert y.stride() == strides
    assert y._base is None
    reference = function(x)
    assert_same_bits(y, reference)
    assert_same_bits(y.contiguous(), reference.contiguous())
    assert (y != x[tuple(slice(n) for n in y.shape)].to(y.dtype)).sum() == 0 if y.dim() == x.dim() == 4 else True


LIKE = {
    "empty_like": tandem.empty_like,
    "zeros_like": tandem.zeros_like,
    "ones_like": tandem.ones_like,
    "full_like": lambda x, **kw: tandem.full_like(x, 7, **kw),
    "rand_like": tandem.rand_like,
    "randn_like": tandem.randn_like,
    "randint_like": lambda x, **kw: tandem.randint_like(x, 10, **kw),
    "randint_like, with low": lambda x, **kw: tandem.randint_like(x, 3, 10, **kw),
}
LAID_OUT = [
    (IN_LAST, {}, (60, 1, 15, 3)),
    (IN_LAST, {"memory_format": KEEP, "dtype": tandem.float64}, (60, 1, 15, 3)),
    (IN_LAST, {"memory_format": ROWS}, (60, 20, 5, 1)),
    (IMAGE, {"memory_format": LAST}, (60, 1, 15, 3)),
    (VOLUME, {"memory_format": LAST3}, (120, 1, 40, 10, 2)),
    (TURNED, {}, (60, 5, 1, 20)),
    (TURNED[:, :, ::2], {}, (36, 3, 1, 12)),
    (PIXELS, {}, (3, 1, 3, 3)),
    (tandem.ones(3, 1, 1).expand(3, 4, 5), {}, (20, 5, 1)),
    (tandem.ones(0, 3, 2).permute(2, 0, 1), {}, (1, 6, 2)),
]


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("case", range(len(LAID_OUT)))
def test_what_is_made_like_a_tensor_lies_as_it_does(name, case, mode):
    x, options, strides = LAID_OUT[case]
    tandem.manual_seed(0)
    y = run_in(mode, lambda t: LIKE[name](t, **options), x)
    assert y.shape == x.shape and y.stride() == strides and y._base is None
    assert y.dtype is options.get("dtype", x.dtype)
    if name != "empty_like" and mode != "compiled":  # where it is called more than once
        tandem.manual_seed(0)
        assert_same_bits(y.contiguous(), LIKE[name](x, **options).contiguous())


def test_draws_lie_in_the_order_of_memory():
    tandem.manual_seed(3)
    drawn = tandem.randn_like(IN_LAST)
    tandem.manual_seed(3)
    assert_same_bits(drawn.permute(0, 2, 3, 1), tandem.randn(2, 4, 5, 3))


def test_examples_of_a_map_are_made_like_each():
    y = tandem.vmap(lambda t: tandem.zeros_like(t) + t)(tandem.stack([IN_LAST, IN_LAST]))
    assert_same_bits(y[1].contiguous(), IMAGE + 0)


@pytest.mark.parametrize(
    ("make", "strides"),
    [
        (lambda: tandem.empty(2, 3, 4, 5, memory_format=LAST), (60, 1, 15, 3)),
        (lambda: tandem.empty((1, 2, 3, 4, 5), memory_format=LAST3), (120, 1, 40, 10, 2)),
        (lambda: tandem.empty((2, 3), memory_format=ROWS), (3, 1)),
        (lambda: tandem.empty((2, 3), memory_format=None), (3, 1)),
    ],
)
def test_empty_in_a_format(make, strides):
    assert make().stride() == strides and make()._base is None
    with tandem.lazy():
        assert make().stride() == strides


def test_what_is_in_the_format_is_not_copied():
    assert IN_LAST.contiguous(memory_format=LAST) is IN_LAST
    assert IN_LAST.to(memory_format=LAST) is IN_LAST and IMAGE.to(memory_format=ROWS) is IMAGE
    assert copy.deepcopy(IN_LAST).stride() == IN_LAST.stride()


@pytest.mark.parametrize("x", [IN_LAST, IMAGE.permute(2, 0, 3, 1), IMAGE.flatten(1).t(), IMAGE[:, :1].transpose(0, 3)])
def test_pickles_keep_the_order_of_dims(x):
    back = pickle.loads(pickle.dumps(x))
    assert_same_bits(back, x)
    assert sorted(range(x.dim()), key=back.stride) == sorted(range(x.dim()), key=x.stride)
    assert back.stride() == x.stride() or x.untyped_storage().nbytes() > 4 * x.numel()


def test_is_contiguous_in_a_format():
    assert IMAGE.is_contiguous() and not IMAGE.is_contiguous(memory_format=LAST)
    assert not IN_LAST.is_contiguous() and IN_LAST.is_contiguous(memory_format=LAST)
    assert not IN_LAST.is_contiguous(memory_format=LAST3) and not IN_LAST.is_contiguous(memory_format=KEEP)
    both = tandem.ones(1, 3, 1, 1)
    assert both.is_contiguous() and both.is_contiguous(memory_format=LAST)
    assert not tandem.ones(2, 3).is_contiguous(memory_format=LAST)


def test_gradients_and_writes_of_copies(mode):
    x = IMAGE.clone().requires_grad_()

    def f(x):
        y = x.to(memory_format=LAST)
        z = y.clone()
        z[0] = 2.0
        return (z * y).sum()

    loss = run_in(mode, f, x)
    loss.backward()
    expected = 2 * IMAGE.clone()
    expected[0] = 2.0
    tandem.testing.assert_close(x.grad, expected)


def test_mapped_copies():
    y = tandem.vmap(lambda t: t.contiguous(memory_format=LAST))(tandem.stack([IMAGE, IMAGE]))
    assert_same_bits(y[1].contiguous(), IMAGE)


def test_copies_of_filters_of_one_pixel_are_in_their_format():
    conv = nn.Conv2d(3, 4, 1).to(memory_format=LAST)
    copied = copy.deepcopy(conv)
    assert copied.weight.stride() == conv.weight.stride() == (3, 1, 3, 3)
    assert copied(IMAGE).stride() == conv(IMAGE).stride() == (80, 1, 20, 4)


def test_modules_in_a_format():
    conv = nn.Conv2d(3, 4, 2)
    before = conv(IMAGE)
    assert conv.to(memory_format=LAST).weight.stride() == (12, 1, 6, 3) and conv.bias.stride() == (1,)
    tandem.testing.assert_close(conv(IN_LAST), before)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tandem.ones(2, 3).to(memory_format=LAST), RuntimeError, r"to: required rank 4 .* shape \[2, 3\]"),
        (lambda: tandem.ones(2, 3).clone(memory_format=LAST3), RuntimeError, r"clone: required rank 5"),
        (lambda: IN_LAST.contiguous(memory_format=KEEP), RuntimeError, "contiguous: preserve memory format"),
        (lambda: IMAGE.contiguous(memory_format=3), TypeError, "'memory_format' must be tandem.memory_format, not int"),
        (lambda: tandem.empty(2, 3, memory_format=LAST), RuntimeError, r"empty: required rank 4 .* shape \[2, 3\]"),
        (lambda: tandem.zeros_like(tandem.ones(2), memory_format=LAST3), RuntimeError, "zeros_like: required rank 5"),
        (lambda: tandem.empty(2, memory_format=KEEP), RuntimeError, "no tensor whose format to preserve"),
        (lambda: tandem.rand_like(IMAGE, memory_format=3), TypeError, "must be tandem.memory_format, not int"),
        (lambda: tandem.zeros(2, memory_format=ROWS), TypeError, "zeros"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("shape", "to", "strides"),
    [
        ((3, 1), (3, 4), (1, 0)),
        ((3,), (2, 3), (0, 1)),
        ((3,), (1, 3), (3, 1)),
        ((3, 4), (1, 1, 3, 4), (12, 12, 4, 1)),
        ((3, 1), (2, 1, 3, 4), (0, 3, 1, 0)),
        ((), (1, 2), (0, 0)),
        ((1, 1), (1, 1, 1), (1, 1, 1)),
    ],
)
def test_strides_of_expanded_dims(shape, to, strides):
    assert tandem.ones(shape).expand(to).stride() == strides


# ---- elementwise results --------------------------------------------------------------------------------------------

GAPS = tandem.randn(2, 4, 5, 6).permute(0, 3, 1, 2)[:, ::2]  # [2, 3, 4, 5], every second channel
FLAT = tandem.randn(4, 3)

ELEMENTWISE = {
    "one operand": (tandem.sin, (IN_LAST,), (60, 1, 15, 3)),
    "a number": (lambda x: 2 * x + 1, (IN_LAST,), (60, 1, 15, 3)),
    "a tensor of no dims": (tandem.mul, (IN_LAST, tandem.tensor(2.0)), (60, 1, 15, 3)),
    "alike": (tandem.atan2, (IN_LAST, IN_LAST.flip(0).contiguous(memory_format=LAST)), (60, 1, 15, 3)),
    "of each channel": (tandem.add, (IN_LAST, tandem.randn(3, 1, 1)), (60, 1, 15, 3)),
    "broadcast first": (tandem.sub, (tandem.randn(5), IN_LAST), (60, 1, 15, 3)),
    "the first decides": (tandem.add, (IN_LAST, IMAGE), (60, 1, 15, 3)),
    "the first is row-major": (tandem.add, (IMAGE, IN_LAST), (60, 20, 5, 1)),
    "compared": (tandem.lt, (IN_LAST, 0.5), (60, 1, 15, 3)),
    "chosen": (lambda x: tandem.where(x > 0, x, 0.0), (IN_LAST,), (60, 1, 15, 3)),
    "another dtype beside it": (tandem.add, (IN_LAST, IN_LAST.double()), (60, 1, 15, 3)),
    "an order of its own": (tandem.neg, (TURNED,), (60, 5, 1, 20)),
    "with gaps": (tandem.neg, (GAPS,), (60, 1, 15, 3)),
    "a matrix": (lambda x: x.t() * 2, (FLAT,), (1, 3)),
    "expanded": (lambda x: x.t()[:, None].expand(3, 2, 4) + 1, (FLAT,), (1, 3, 6)),
    "a fused composite": (tandem.nn.functional.silu, (IN_LAST,), (60, 1, 15, 3)),
    "a fused composite, of halves": (tandem.nn.functional.silu, (IN_LAST.half(),), (60, 1, 15, 3)),
    "several roundings, of halves": (tandem.nn.functional.hardswish, (IN_LAST.bfloat16(),), (60, 1, 15, 3)),
    "checked values": (
        lambda x: tandem.nn.functional.binary_cross_entropy(x.sigmoid(), x.sigmoid(), reduction="none"),
        (IN_LAST,),
        (60, 1, 15, 3),
    ),
    "divided integers": (tandem.floor_divide, (IN_LAST.long(), IN_LAST.long().square() + 1), (60, 1, 15, 3)),
    "along rows": (lambda x: tandem.softmax(x, 1), (IN_LAST,), (60, 20, 5, 1)),
    "normalised": (lambda x: tandem.nn.functional.layer_norm(x, (5,)), (IN_LAST,), (60, 20, 5, 1)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_results_lie_as_their_operands(name, mode):
    function, operands, strides = ELEMENTWISE[name]
    y = run_in(mode, function, *operands)
    assert y.stride() == strides
    assert y._base is None
    rows = [x.contiguous() if isinstance(x, tandem.Tensor) else x for x in operands]
    assert_same_bits(y.contiguous(), function(*rows).contiguous())


def test_derivatives_of_elementwise_results(mode):
    """What is read of them, summed along other dims, written to, or made anew by further operations."""

    def step(x, weight):
        y = tandem.tanh(x * weight)
        z = y.clone()
        z[:, 0] = 1.0
        loss = (y.sum(1).square() + (z.transpose(1, 2) * 2).sum(2).exp()).sum()
        return tandem.autograd.grad(loss, (x, weight), create_graph=False)

    weight = tandem.randn(3, 1, 1).requires_grad_()
    last = run_in(mode, step, IN_LAST.clone().requires_grad_(), weight)
    rows = step(IMAGE.clone().requires_grad_(), weight)
    for a, b in zip(last, rows, strict=True):
        assert_same_bits(a.contiguous(), b.contiguous())


def test_elementwise_results_of_mapped_functions():
    got = tandem.vmap(lambda x: x.t() * 2 + 1)(IN_LAST.transpose(1, 2)[0])
    assert_same_bits(got.contiguous(), (IN_LAST[0].permute(1, 2, 0) * 2 + 1).contiguous())


def many(x):
    """Four times as many channels, which lie beside each other."""
    return x.repeat_interleave(4, 1).clone(memory_format=LAST)


KEPT = {
    "shuffled": (
        lambda x: tandem.nn.functional.pixel_shuffle(x.repeat_interleave(4, 1).clone(memory_format=LAST), 2),
        (240, 1, 30, 3),
    ),
    "constant": (lambda x: tandem.nn.functional.pad(x, (1, 2, 0, 1), value=0.5), (120, 1, 24, 3)),
    "constant, and the channels": (lambda x: tandem.nn.functional.pad(x, (1, 2, 0, 1, 1, 0)), (160, 1, 32, 4)),
    "cropped": (lambda x: tandem.nn.functional.pad(x, (-1, -1)), (36, 1, 9, 3)),
    "reflect": (lambda x: tandem.nn.functional.pad(x, (1, 2, 0, 1), mode="reflect"), (120, 1, 24, 3)),
    "replicate": (lambda x: tandem.nn.functional.pad(x, (1, 2, 0, 1), mode="replicate"), (120, 1, 24, 3)),
    "circular": (lambda x: tandem.nn.functional.pad(x, (1, 2, 0, 1), mode="circular"), (120, 40, 8, 1)),
    "rolled": (lambda x: x.roll((1, 3), (1, 2)), (60, 1, 15, 3)),
    "rolled, with gaps": (lambda x: x[:, :, ::2].roll(1, 1), (30, 10, 5, 1)),
    "flipped": (lambda x: x.flip(1, 3), (60, 1, 15, 3)),
    "joined": (lambda x: tandem.cat([x, x.double(), x[:, :2]], 1), (160, 1, 40, 8)),
    "joined, one behind the other": (lambda x: tandem.cat([x, 2 * x]), (60, 1, 15, 3)),
    "joined with rows": (lambda x: tandem.cat([x, x.contiguous()], 3), (120, 40, 10, 1)),
    "stacked": (lambda x: tandem.stack([x, 2 * x]), (120, 60, 1, 15, 3)),
    "stacked, as depths": (lambda x: tandem.stack([x, 2 * x], 2), (120, 1, 60, 15, 3)),
    "nearest": (lambda x: tandem.nn.functional.interpolate(x, size=(8, 11)), (264, 1, 33, 3)),
    "nearest, every second": (lambda x: tandem.nn.functional.interpolate(x, size=(2, 5)), (30, 1, 15, 3)),
    "nearest, of one size": (lambda x: tandem.nn.functional.interpolate(x, size=(4, 5)), (60, 1, 15, 3)),
    "linear": (lambda x: tandem.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"), (240, 1, 30, 3)),
    "linear, of many channels": (
        lambda x: tandem.nn.functional.interpolate(many(x), size=(3, 7), mode="bilinear", align_corners=True),
        (252, 1, 84, 12),
    ),
    "nearest, of many channels": (
        lambda x: tandem.nn.functional.interpolate(many(x), size=(6, 10), mode="nearest-exact"),
        (720, 1, 120, 12),
    ),
    "smoothed": (
        lambda x: tandem.nn.functional.interpolate(many(x), size=(2, 3), mode="bicubic", antialias=True),
        (72, 1, 36, 12),
    ),
    "normalised by the batch": (
        lambda x: tandem.nn.functional.batch_norm(x, None, None, training=True),
        (60, 1, 15, 3),
    ),
    "normalised as running": (
        lambda x: tandem.nn.functional.batch_norm(x, tandem.ones(3), tandem.ones(3), bias=tandem.ones(3)),
        (60, 1, 15, 3),
    ),
    "normalised in groups": (lambda x: tandem.nn.functional.group_norm(many(x), 4), (240, 1, 60, 12)),
    "cut": (lambda x: x[:, 1:, 1::2] * 2, (20, 1, 10, 2)),
    "picked": (lambda x: x[[1, 0, 1]], (60, 1, 15, 3)),
    "picked by a mask": (lambda x: x[tandem.tensor([True, True])], (60, 1, 15, 3)),
    "picked rows": (lambda x: x[:, :, [2, 0]], (30, 1, 3, 6)),
    "picked channels": (lambda x: x[:, [2, 0]], (40, 20, 5, 1)),
    "picked pixels": (lambda x: x[:, :, [2, 0], [1, 1]], (6, 2, 1)),
    "picked of images": (lambda x: x[[1, 0], :, 1:, [1, 1]], (9, 1, 3)),
    "picked, in an order of its own": (
        lambda x: x.permute(2, 0, 3, 1)[tandem.tensor([[1, 0], [0, 3]])],
        (60, 30, 15, 3, 1),
    ),
    "picked by places in another order": (lambda x: x[tandem.tensor([[1, 0], [0, 1]]).t()], (120, 60, 20, 5, 1)),
    "flipped, in an order of its own": (lambda x: x.permute(2, 0, 3, 1)[::2].flip(0, 1), (15, 30, 3, 1)),
}


@pytest.mark.parametrize("name", KEPT)
def test_images_lie_as_they_did(name, mode):
    function, strides = KEPT[name]

    def step(x):
        x = x.detach().requires_grad_()
        y = function(x)
        return y, tandem.autograd.grad(y.square().sum(), x)[0]

    y, grad = run_in(mode, step, IN_LAST)
    assert y.stride() == strides
    rows, wanted = step(IMAGE)
    assert_same_bits(y.detach().contiguous(), rows.detach().contiguous())
    assert_same_bits(grad.contiguous(), wanted)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16])
@pytest.mark.parametrize(
    ("dims", "options"),
    [
        (2, {"kernel_size": 2}),
        (2, {"kernel_size": 3, "stride": 2, "padding": 1}),
        (2, {"kernel_size": (3, 2), "stride": (1, 3), "dilation": (2, 1), "ceil_mode": True}),
        (3, {"kernel_size": 2, "stride": 1, "padding": 1, "dilation": 2}),
    ],
)
def test_maxima_of_channels_that_lie_beside_each_other(dims, options, dtype):
    """NaN, infinities and equal elements among them; few channels and many; more rows than are taken at once."""
    for shape in ((2, 9, 5, 6, 7), (1, 40, 33, 70, 4)):
        size = shape[: 2 + dims]
        x = tandem.randint(-4, 5, size).to(dtype)
        x[tandem.rand(size) < 0.05] = float("nan")
        x[tandem.rand(size) < 0.1] = float("-inf")
        x[:, 1] = float("-inf")
        last = x.contiguous(memory_format=LAST if dims == 2 else LAST3)
        pool = getattr(tandem.nn.functional, f"max_pool{dims}d")
        for got, want in zip(
            pool(last, **options, return_indices=True), pool(x, **options, return_indices=True), strict=True
        ):
            assert_same_bits(got, want)
        assert_same_bits(pool(last, **options), pool(x, **options))


def test_programs_give_rows():
    program = tandem.export.export(tandem.relu, (IN_LAST,))
    assert program(IN_LAST).stride() == (60, 20, 5, 1)
    assert_same_bits(program(IN_LAST), tandem.relu(IN_LAST).contiguous())


def test_the_function_clone_takes_a_memory_format(mode):
    x = tandem.randn(2, 3, 4, 5, requires_grad=True)

    def run(x):
        y = tandem.clone(x, memory_format=tandem.channels_last)
        return y, tandem.autograd.grad((y * y).sum(), x)[0]

    y, slope = run_in(mode, run, x)
    assert y.is_contiguous(memory_format=tandem.channels_last) and y.equal(x) and slope.equal(2 * x)
    assert tandem.clone(x.detach().mT).stride() == x.mT.stride()
    assert tandem.clone(input=x).equal(x)
    assert tandem.zeros_like(x, memory_format=tandem.legacy_contiguous_format).is_contiguous()


def test_alpha_dropout_lies_as_its_input():
    x = tandem.ones(2, 3, 4, 5).contiguous(memory_format=tandem.channels_last)
    assert tandem.nn.functional.alpha_dropout(x, 0.5, training=True).stride() == x.stride()
