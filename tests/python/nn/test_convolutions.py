"""Convolutions, whose bits do not depend on how they are made; those of half types are float32's, rounded once."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_rounded, assert_same_bits

import tandem
from tandem.nn import functional as F


def values(*shape: int, seed: int = 0) -> tandem.Tensor:
    return tandem.tensor(np.random.default_rng([seed, *shape]).standard_normal(shape))


@pytest.mark.parametrize("dtype", [tandem.float64, tandem.bfloat16, tandem.float16], ids=str)
@pytest.mark.parametrize("kernel", [(1, 1), (2, 2), (3, 2), (2, 4), (1, 3)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e-19])  # products of which are subnormal
def test_windows_that_cover_an_image_once(kernel, dtype, scale):
    """Sums that are subnormal are no zeros."""
    x, w = values(3, 24, 9, 17) * scale, values(24, 10, *kernel, seed=1) * scale
    x, w = x.to(dtype), w.to(dtype)
    wide = (x, w) if dtype == tandem.float64 else (x.float(), w.float())
    got = F.conv_transpose2d(x, w, stride=kernel)
    assert_rounded(got, F.conv_transpose2d(*wide, stride=kernel))
    parts = np.einsum("nchw,cokl->nohkwl", *(a.double().numpy() for a in (x, w)))
    want = tandem.tensor(parts.reshape(got.shape))
    assert (got.double() - want).abs().max() <= (1e-12 if dtype == tandem.float64 else 1e-2) * want.abs().max() + 1e-7
    if kernel == (1, 1):
        assert_rounded(F.conv2d(x, w.transpose(0, 1)), F.conv2d(wide[0], wide[1].transpose(0, 1)))


# Sizes of images, planes and outputs of a group, groups, filter, step, padding, dilation.
SIZES = [
    (33, 32, 16, 16, 1, (3, 3), (1, 1), (1, 1), (1, 1)),
    (32, 33, 16, 12, 1, (3, 3), (2, 2), (1, 1), (1, 1)),  # two rows of windows share vectors, the last one is alone
    (31, 16, 30, 50, 1, (3, 3), (1, 1), (0, 0), (1, 1)),  # more than one block of the filter
    (9, 7, 24, 13, 1, (2, 2), (1, 1), (1, 1), (1, 1)),  # vectors go on through the rows
    (70, 100, 3, 4, 2, (3, 5), (1, 2), (2, 1), (1, 2)),
    (1, 700, 20, 9, 1, (1, 3), (1, 3), (0, 1), (1, 1)),
    (40, 40, 5, 7, 3, (4, 3), (3, 1), (1, 2), (2, 1)),
    (64, 17, 1, 16, 1, (3, 3), (1, 1), (1, 1), (1, 1)),  # a single plane: an odd number of places
]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float16], ids=str)
@pytest.mark.parametrize("what", ["numbers", "small", "infinite", "zeros"])
def test_half_convolutions_are_those_of_float32(size, dtype, what, threads):
    h, w, planes, outputs, groups, kernel, stride, padding, dilation = size
    x = values(3, groups * planes, h, w).to(dtype)
    weight = values(groups * outputs, planes, *kernel, seed=1).to(dtype)
    if what == "small":  # products, and sums of them, are subnormal
        x, weight = x * 1e-20, weight * 1e-19
    if what == "infinite":
        x[1, 0, h // 2, w // 2], weight[-1, 0, 0, 0] = float("inf"), float("-inf")
    if what == "zeros":
        x[:, :, :, ::2] = -0.0
        weight[1] = 0.0
    got = F.conv2d(x, weight, None, stride, padding, dilation, groups)
    # What lies outside of an image is a zero like others, of which an infinite filter makes a NaN.
    padded = F.pad(x.float(), (padding[1], padding[1], padding[0], padding[0]))
    if what == "infinite" and dtype is tandem.bfloat16:
        assert_rounded(got, F.conv2d(padded, weight.float(), None, stride, 0, dilation, groups))
    else:
        assert_rounded(got, F.conv2d(x.float(), weight.float(), None, stride, padding, dilation, groups))
    beside = x.contiguous(memory_format=tandem.channels_last)
    assert_same_bits(F.conv2d(beside, weight, None, stride, padding, dilation, groups), got)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16, tandem.float16], ids=str)
@pytest.mark.parametrize(
    "sizes", [(1, 16, 9, 12), (3, 48, 7, 33), (2, 32, 1, 40), (2, 24, 6, 5), (1, 256, 70, 40)], ids=str
)
def test_filters_of_one_channel_each_read_channels_where_they_lie(sizes, dtype, threads):
    x = values(*sizes).to(dtype)
    for kernel, options in (
        ((3, 3), {"padding": 1}),
        ((2, 3), {"stride": 2, "padding": (2, 1)}),
        ((1, 5), {"stride": (1, 3), "padding": (0, 4), "dilation": 2}),
    ):
        weight = values(sizes[1], 1, *kernel, seed=1).to(dtype)
        got, want = (
            F.conv2d(a, weight, groups=sizes[1], **options)
            for a in (x.contiguous(memory_format=tandem.channels_last), x)
        )
        assert_same_bits(got.contiguous(), want)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_as_functions_have_a_history(dims):
    x, w = values(2, 4, *[5] * dims).requires_grad_(), values(6, 2, *[2] * dims, seed=1).requires_grad_()
    g = values(2, 6, *[4] * dims, seed=2).requires_grad_()
    of_input, of_weight = (getattr(tandem.nn.grad, f"conv{dims}d_{what}") for what in ("input", "weight"))
    assert tandem.autograd.gradcheck(lambda w, g: of_input(x.shape, w, g, groups=2), (w, g), fast_mode=True)
    assert tandem.autograd.gradcheck(lambda x, g: of_weight(x, w.shape, g, groups=2), (x, g), fast_mode=True)
    assert not of_weight(x.detach(), w.shape, g.detach(), groups=2).requires_grad
    with tandem.no_grad():
        assert not of_input(x.shape, w, g, groups=2).requires_grad


def test_a_transposed_convolution_takes_a_bias_of_another_dtype():
    x, w = tandem.ones(1, 1, 2), tandem.ones(1, 1, 1)
    for bias in (tandem.tensor([0.5], dtype=tandem.float64), tandem.tensor([0.5], dtype=tandem.float16)):
        for y in (F.conv_transpose1d(x, w, bias), F.conv1d(x, w, bias, padding="same")):
            assert y.dtype is tandem.float32 and y.tolist() == [[[1.5, 1.5]]]
