"""Convolutions of images and filters whose channels lie beside each other: how results and gradients lie, and that they
have the bits of planes; half types with a bias, which are rounded once."""

from __future__ import annotations

import itertools

import pytest
from conftest import assert_rounded, assert_same_bits, run_in

import tandem
from tandem.nn import functional as F

LAST, LAST3 = tandem.channels_last, tandem.channels_last_3d
DTYPES = [tandem.float32, tandem.float64, tandem.bfloat16, tandem.float16]


def last(t: tandem.Tensor) -> tandem.Tensor:
    return t.contiguous(memory_format=LAST if t.dim() == 4 else LAST3)


# Operation, image, filter, bias, further arguments.
CONVOLUTIONS = {
    "windows": (F.conv2d, (2, 16, 20, 23), (24, 16, 3, 3), True, {"padding": 1}),
    "few outputs": (F.conv2d, (2, 20, 20, 40), (3, 20, 3, 2), False, {}),
    "apart": (F.conv2d, (3, 5, 21, 30), (40, 5, 3, 3), True, {"padding": 1, "stride": 2}),
    "three channels": (F.conv2d, (1, 3, 40, 50), (33, 3, 7, 7), False, {"padding": 3, "stride": (2, 3)}),
    "dilated": (F.conv2d, (2, 7, 19, 20), (16, 7, 3, 2), False, {"dilation": (2, 3)}),
    "groups": (F.conv2d, (2, 12, 18, 21), (18, 4, 3, 3), True, {"groups": 3, "padding": 1}),
    "products of groups": (F.conv2d, (2, 12, 9, 11), (18, 4, 1, 1), False, {"groups": 3}),
    "products": (F.conv2d, (2, 33, 17, 15), (40, 33, 1, 1), True, {}),
    "long products": (F.conv2d, (1, 3000, 4, 5), (17, 3000, 1, 1), False, {}),
    "small planes": (F.conv2d, (3, 40, 3, 4), (33, 40, 3, 3), False, {"padding": 1}),
    "filters of channels": (F.conv2d, (2, 32, 33, 20), (32, 1, 3, 3), True, {"groups": 32, "padding": 1}),
    "filters of few channels": (F.conv2d, (3, 19, 18, 20), (19, 1, 5, 3), False, {"groups": 19, "stride": 2}),
    "filters of channels, apart": (F.conv2d, (2, 40, 33, 20), (40, 1, 3, 3), True, {"groups": 40, "stride": 2}),
    "filters of channels, dilated": (
        F.conv2d,
        (1, 24, 19, 30),
        (24, 1, 3, 2),
        False,
        {"groups": 24, "padding": (3, 1), "dilation": (3, 2), "stride": (1, 3)},
    ),
    "filters of channels, wide": (F.conv2d, (2, 16, 9, 8), (16, 1, 5, 7), False, {"groups": 16, "padding": (2, 3)}),
    "filters of channels, wider": (F.conv2d, (2, 16, 3, 4), (16, 1, 5, 7), False, {"groups": 16, "padding": (3, 3)}),
    "filters of channels, of many rows": (
        F.conv2d,
        (1, 64, 150, 40),
        (64, 1, 3, 3),
        False,
        {"groups": 64, "padding": 1, "stride": (2, 1)},
    ),
    "transposed": (F.conv_transpose2d, (2, 16, 9, 13), (16, 24, 3, 3), True, {"padding": 1, "stride": 2}),
    "transposed, closed": (F.conv_transpose2d, (2, 16, 9, 13), (16, 10, 2, 2), False, {"stride": 2}),
    "transposed, closed by rows": (F.conv_transpose2d, (2, 20, 5, 7), (20, 33, 3, 4), True, {"stride": (3, 4)}),
    "transposed, one column": (F.conv_transpose2d, (2, 50, 5, 1), (50, 10, 2, 2), False, {"stride": 2}),
    "transposed, long sums": (F.conv_transpose2d, (1, 4100, 3, 5), (4100, 24, 2, 2), False, {"stride": 2}),
    "transposed, closed by groups": (
        F.conv_transpose2d,
        (2, 16, 5, 6),
        (16, 10, 2, 2),
        False,
        {"stride": 2, "groups": 2},
    ),
    "transposed, with more": (
        F.conv_transpose2d,
        (1, 8, 9, 10),
        (8, 3, 3, 2),
        False,
        {"stride": 3, "output_padding": 1, "groups": 2},
    ),
    "transposed filters of channels": (
        F.conv_transpose2d,
        (2, 32, 14, 20),
        (32, 1, 3, 3),
        False,
        {"groups": 32, "stride": 2},
    ),
    "volumes": (F.conv3d, (2, 6, 5, 8, 9), (10, 6, 3, 3, 2), True, {"padding": 1}),
    "transposed volumes": (F.conv_transpose3d, (2, 6, 4, 5, 6), (6, 8, 3, 2, 3), False, {"stride": 2, "padding": 1}),
}


def step(function, x, weight, bias, cotangent, more):
    inputs = [t.detach().requires_grad_() for t in (x, weight, bias) if t is not None]
    y = function(*inputs, **more)
    return y.detach(), *tandem.autograd.grad(y, inputs, cotangent)


def case(name, dtype):
    function, image, filters, has_bias, more = CONVOLUTIONS[name]
    tandem.manual_seed(0)
    x, weight = tandem.randn(image).to(dtype), tandem.randn(filters).to(dtype)
    bias = None
    if has_bias:
        bias = tandem.randn(filters[0]).to(dtype)
        if function is F.conv_transpose2d:
            bias = tandem.randn(filters[1]).to(dtype)
    return function, x, weight, bias, tandem.randn(function(x, weight, **more).shape).to(dtype), more


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_channels_beside_each_other_give_the_bits_of_planes(name, dtype):
    function, x, weight, bias, g, more = case(name, dtype)
    want = step(function, x, weight, bias, g, more)
    # Gradients of volumes lie as the windows that they are made of.
    asked = 3 if x.dim() == 4 else 1
    assert all(t.is_contiguous() for t in want[:asked])
    volumes_stay = x.dim() == 5 and dtype == tandem.float64
    for image, filters, cotangent in itertools.product((x, last(x)), (weight, last(weight)), (g, last(g))):
        got = step(function, image, filters, bias, cotangent, more)
        # Where filters lie both ways they say nothing of what is made of them.
        turned = image is not x or not last(weight).is_contiguous()
        if turned and (image is not x or filters is not weight) and not volumes_stay:
            assert all(t.is_contiguous(memory_format=LAST if t.dim() == 4 else LAST3) for t in got[:asked])
        else:
            assert all(t.is_contiguous() for t in got[:asked])
        for made, wanted in zip(got, want, strict=True):
            assert_same_bits(made.contiguous(), wanted)


@pytest.mark.parametrize("name", ["windows", "products", "filters of channels", "transposed, closed", "volumes"])
def test_layouts_in_every_mode(name, mode, threads):
    function, x, weight, bias, g, more = case(name, tandem.float32)
    x = last(x)

    def twice(x, weight, g):
        inputs = [t.detach().requires_grad_() for t in (x, weight)]
        y = function(*inputs, bias, **more)
        first = tandem.autograd.grad(y, inputs, g, create_graph=True)
        second = tandem.autograd.grad(sum(t.square().sum() for t in first), inputs)
        return y.detach(), *(t.detach() for t in first), *second

    want = twice(x, weight, g)
    for made, wanted in zip(run_in(mode, twice, x, weight, g), want, strict=True):
        assert made.stride() == wanted.stride()
        assert_same_bits(made, wanted)
    rows = twice(x.contiguous(), weight, g)
    for made, wanted in zip(rows, want, strict=True):
        assert_same_bits(made, wanted.contiguous())


def test_integers_and_rows_of_numbers():
    x = tandem.arange(2 * 3 * 5 * 6).reshape(2, 3, 5, 6) % 7 - 3
    weight = tandem.arange(4 * 3 * 2 * 2).reshape(4, 3, 2, 2) % 5
    for dtype in (tandem.int64, tandem.int32, tandem.int8, tandem.uint8):
        want = F.conv2d(x.to(dtype), weight.to(dtype))
        got = F.conv2d(last(x.to(dtype)), weight.to(dtype))
        assert got.is_contiguous(memory_format=LAST)
        assert_same_bits(got.contiguous(), want)
    rows = tandem.randn(2, 40, 16).transpose(1, 2)
    assert F.conv1d(rows, tandem.randn(24, 16, 3)).is_contiguous()
    # Neither part of an image that stands alone.
    alone = tandem.randn(20, 21, 16).permute(2, 0, 1)
    assert F.conv2d(alone, tandem.randn(24, 16, 3, 3)).is_contiguous()


@pytest.mark.parametrize("weights", [None, 0])
@pytest.mark.parametrize("function", [F.conv2d, F.conv_transpose2d], ids=["conv", "transposed"])
def test_vmap_over_cotangents_of_images_that_lie_so(function, weights):
    x, weight = last(tandem.randn(2, 4, 6, 7)), tandem.randn(3, 4, 4, 2, 2)
    if weights is None:
        weight = weight[0]
    g = tandem.randn(3, *function(x, weight.reshape(-1, 4, 4, 2, 2)[0]).shape)

    def pulled(g, w):
        return tandem.func.vjp(lambda x, w: function(x, w), x, w)[1](g)

    got = tandem.func.vmap(pulled, in_dims=(0, weights))(g, weight)
    for i in range(3):
        for made, wanted in zip(got, pulled(g[i], weight if weights is None else weight[i]), strict=True):
            tandem.testing.assert_close(made[i], wanted)
    first = tandem.func.vmap(tandem.func.vjp(lambda x: function(x, weight.reshape(-1, 4, 4, 2, 2)[0]), x)[1])(g)[0]
    assert first.shape == (3, *x.shape)


@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float16], ids=str)
@pytest.mark.parametrize("name", [name for name, row in CONVOLUTIONS.items() if row[3]])
def test_a_bias_is_added_before_half_types_are_rounded(name, dtype, mode):
    function, x, weight, bias, g, more = case(name, dtype)
    wide = function(x.float(), weight.float(), bias.float(), **more)
    want = function(x, weight, bias, **more)
    for image in (x, last(x)):
        got = run_in(mode, lambda *given: step(function, *given, more), image, weight, bias, g)
        assert_rounded(got[0].contiguous(), wide)
        assert_same_bits(got[0].contiguous(), want)
        # Gradients are those of a sum of both.
        apart = step(function, image, weight, None, g, more)
        assert_same_bits(got[1], apart[1])
        assert_same_bits(got[2], apart[2])
        dims = [d for d in range(g.dim()) if d != 1]
        tandem.testing.assert_close(got[3], g.float().sum(dims).to(dtype))
