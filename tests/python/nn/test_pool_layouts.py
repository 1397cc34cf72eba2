"""Averages and interpolation of images as they lie: channels beside each other, many small planes, windows apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem.nn import functional as F

CHANNELS_LAST = {
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "avg_pool2d, apart": lambda x: F.avg_pool2d(x, 2, 3, 1, ceil_mode=True, count_include_pad=False),
    "avg_pool2d, overlapping": lambda x: F.avg_pool2d(x, 3, 1, 1),
    "avg_pool2d, padding not counted": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "avg_pool2d, a divisor": lambda x: F.avg_pool2d(x, (2, 3), divisor_override=5),
    "avg_pool2d, wide windows": lambda x: F.avg_pool2d(x, (1, 11), (1, 3)),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (3, 5)),
    "adaptive_avg_pool2d, wide windows": lambda x: F.adaptive_avg_pool2d(x, (2, 2)),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest-exact": lambda x: F.interpolate(x, size=(5, 7), mode="nearest-exact"),
    "bilinear": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, size=(9, 30), mode="bicubic", align_corners=True),
    "antialiased": lambda x: F.interpolate(x, scale_factor=0.4, mode="bilinear", antialias=True),
    "to its own size": lambda x: F.interpolate(x, size=x.shape[2:]),
    "area": lambda x: F.interpolate(x, size=(4, 20), mode="area"),
}


@pytest.mark.parametrize("name", CHANNELS_LAST)
@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16, tandem.float16], ids=str)
@pytest.mark.parametrize("shape", [(2, 16, 12, 25), (1, 3, 7, 23), (3, 9, 3, 22), (2, 130, 5, 24)], ids=str)
def test_channels_beside_each_other_give_the_bits_of_planes(shape, dtype, name):
    tandem.manual_seed(1)
    planes = tandem.randn(*shape).to(dtype)
    planes[0, 0, 0, 2], planes[0, 1, 0, 3] = float("inf"), -0.0
    f = CHANNELS_LAST[name]
    images = planes.contiguous(memory_format=tandem.channels_last)
    expected = f(planes)
    for given in (images, tandem.cat([images, images]).contiguous(memory_format=tandem.channels_last)[: shape[0]]):
        made = f(given)
        assert made.is_contiguous(memory_format=tandem.channels_last)
        assert_same_bits(made.contiguous(), expected)
    assert_same_bits(tandem.compile(f)(images).contiguous(), expected)
    cotangent = tandem.randn(*expected.shape).to(dtype)
    gradients = []
    last = cotangent.contiguous(memory_format=tandem.channels_last)
    for x, g in ((planes, cotangent), (images, cotangent), (images, last)):
        leaf = x.detach().requires_grad_()
        gradients.append(tandem.autograd.grad(f(leaf), leaf, g)[0])
        if x is images:
            pooled = name.startswith(("avg", "adaptive"))
            assert gradients[-1].is_contiguous(memory_format=tandem.channels_last) or not pooled
            assert_same_bits(gradients[-1].contiguous(), gradients[0])


MAXIMA = {
    "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "max_pool2d, meeting": lambda x: F.max_pool2d(x, 3, 1, 1, return_indices=True),
    "max_pool2d, apart": lambda x: F.max_pool2d(x, 2, 3, ceil_mode=True, return_indices=True),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True),
}


@pytest.mark.parametrize("name", MAXIMA)
@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16, tandem.int32], ids=str)
@pytest.mark.parametrize("shape", [(2, 16, 12, 25), (1, 3, 7, 23), (3, 9, 6, 22)], ids=str)
def test_maxima_of_channels_beside_each_other(shape, dtype, name):
    tandem.manual_seed(1)
    planes = (9 * tandem.randn(*shape)).to(dtype)
    images = planes.contiguous(memory_format=tandem.channels_last)
    f = MAXIMA[name]
    expected, made, compiled = f(planes), f(images), tandem.compile(f)(images)
    for want, *got in zip(expected, made, compiled, strict=True):
        for y in got:
            assert y.is_contiguous(memory_format=tandem.channels_last)
            assert_same_bits(y.contiguous(), want)
    alone = tandem.compile(lambda x: f(x)[0])(images)
    assert_same_bits(alone, made[0])
    if not dtype.is_floating_point:
        return
    cotangent = tandem.randn(*expected[0].shape).to(dtype)
    last = cotangent.contiguous(memory_format=tandem.channels_last)
    gradients = []
    for x, g in ((planes, cotangent), (images, cotangent), (images, last)):
        leaf = x.detach().requires_grad_()
        gradients.append(tandem.autograd.grad(f(leaf)[0], leaf, g)[0])
        if x is images:
            assert gradients[-1].is_contiguous(memory_format=tandem.channels_last)
            assert_same_bits(gradients[-1].contiguous(), gradients[0])


def test_pools_of_volumes_and_second_derivatives():
    """Maxima of volumes lie as they do, averages in order of rows, as in PyTorch."""
    volumes = tandem.randn(2, 9, 5, 6, 7).contiguous(memory_format=tandem.channels_last_3d)
    assert F.max_pool3d(volumes, 2).is_contiguous(memory_format=tandem.channels_last_3d)
    assert_same_bits(F.max_pool3d(volumes, 2).contiguous(), F.max_pool3d(volumes.contiguous(), 2))
    for pool in (lambda x: F.avg_pool3d(x, 2), lambda x: F.adaptive_max_pool3d(x, 2)):
        assert pool(volumes).is_contiguous()
        assert_same_bits(pool(volumes), pool(volumes.contiguous()))
    images = tandem.randn(2, 3, 4, 6, dtype=tandem.float64).contiguous(memory_format=tandem.channels_last)
    for pool in (lambda x: F.avg_pool2d(x, 3, 1, 1), lambda x: F.max_pool2d(x, 2)):
        assert tandem.autograd.gradcheck(pool, images.detach().requires_grad_())
        assert tandem.autograd.gradgradcheck(pool, images.detach().requires_grad_())
    cotangents = tandem.randn(5, *F.avg_pool2d(images, 2).shape, dtype=tandem.float64)
    pulled = tandem.func.vmap(tandem.func.vjp(lambda x: F.avg_pool2d(x, 2), images)[1])(cotangents)[0]
    for i in range(5):
        want = tandem.func.vjp(lambda x: F.avg_pool2d(x, 2), images)[1](cotangents[i])[0]
        tandem.testing.assert_close(pulled[i], want)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16], ids=str)
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (4, 4), (7, 9), (5, 15), (130, 7), (3, 300)], ids=str)
def test_averages_of_many_small_planes_are_those_of_each(size, dtype):
    tandem.manual_seed(3)
    x = tandem.randn(1, 75, *size).to(dtype)
    for f in (
        lambda t: F.avg_pool2d(t, 1, 2),
        lambda t: F.avg_pool2d(t, (1, 2), ceil_mode=True, padding=(0, 1)),
        lambda t: F.avg_pool2d(t, 3, 1, 1, count_include_pad=False),
        lambda t: F.avg_pool2d(t, (1, 11), (1, 3), (0, 5)),
        lambda t: F.adaptive_avg_pool2d(t, (3, 2)),
    ):
        together, alone = x.clone().requires_grad_(), x.clone().requires_grad_()
        y, each = f(together), tandem.cat([f(plane) for plane in alone.split(1, 1)], 1)
        assert_same_bits(y.detach(), each.detach())
        cotangent = tandem.randn(*y.shape).to(dtype)
        gradients = [tandem.autograd.grad(z, leaf, cotangent)[0] for z, leaf in ((y, together), (each, alone))]
        assert_same_bits(*gradients)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16, tandem.float16], ids=str)
@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_gradients_of_averages_whose_windows_meet_nowhere(mode, dtype):
    """Each is its window's share, added to nothing: -0 comes to 0, and what no window sees is 0."""
    for rows, columns in itertools.product((2, 5, 6, 31), (8, 16, 17, 33)):
        for kernel, stride in (((2, 2), (2, 2)), ((1, 2), (1, 2)), ((2, 2), (3, 2)), ((2, 3), (2, 4))):
            x = tandem.zeros(2, 3, rows, columns).to(dtype).requires_grad_()
            size = [(n - k) // s + 1 for n, k, s in zip((rows, columns), kernel, stride, strict=True)]
            g = tandem.randn(2, 3, *size).to(dtype)
            g[0, 0, 0, ::2] = -0.0
            share = 0.0 + (g / (kernel[0] * kernel[1])).double().numpy()
            want = np.zeros(x.shape)
            for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
                want[:, :, i :: stride[0], j :: stride[1]][:, :, : size[0], : size[1]] = share

            def gradient(x, g, kernel=kernel, stride=stride):
                return tandem.autograd.grad(F.avg_pool2d(x, kernel, stride), x, g)[0]

            assert_same_bits(run_in(mode, gradient, x, g), tandem.tensor(want).to(dtype))


def test_channels_stay_beside_each_other_where_pixels_are_taken_apart():
    x = tandem.randn(2, 3, 4, 6)
    y = x.contiguous(memory_format=tandem.channels_last)
    pixels = F.pixel_unshuffle(y, 2)
    assert pixels.is_contiguous(memory_format=tandem.channels_last)
    assert_same_bits(pixels, F.pixel_unshuffle(x, 2))
    assert_same_bits(F.pixel_shuffle(pixels, 2), x)
    unpooled = F.max_unpool2d(*F.max_pool2d(y, 2, return_indices=True), 2)
    assert unpooled.is_contiguous(memory_format=tandem.channels_last)
    assert_same_bits(unpooled, F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2))


def test_volumes_and_bytes_with_channels_beside_each_other():
    tandem.manual_seed(2)
    x = tandem.randn(2, 16, 4, 6, 9)
    y = x.contiguous(memory_format=tandem.channels_last_3d)
    for f in (lambda t: F.avg_pool3d(t, 2, 1, 1), lambda t: F.interpolate(t, scale_factor=2, mode="trilinear")):
        assert_same_bits(f(y), f(x))
    pixels = tandem.randint(0, 256, (2, 8, 9, 7), dtype=tandem.uint8)
    for mode in ("nearest", "bilinear", "bicubic"):
        f = lambda t, mode=mode: F.interpolate(t, size=(13, 5), mode=mode)  # noqa: E731
        assert_same_bits(f(pixels.contiguous(memory_format=tandem.channels_last)), f(pixels))
