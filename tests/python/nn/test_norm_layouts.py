"""Norms of images and other fused programs whose channels lie beside each other: the bits and gradients of row-major
ones."""

from __future__ import annotations

import pytest
from conftest import assert_same_bits, run_in

import tandem

F = tandem.nn.functional
LAST = tandem.channels_last

NORMS = {
    "batch": lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    "running": lambda x, w, b: F.batch_norm(x, b.detach(), w.detach().abs() + 1, w, b),
    "group": lambda x, w, b: F.group_norm(x, 4, w, b),
    "groups of few": lambda x, w, b: F.group_norm(x, x.size(1) // 2, w, b),
    "all channels": lambda x, w, b: F.group_norm(x, 1, w, b),
    "instance": lambda x, w, b: F.instance_norm(x, None, None, w, b),
    "layer": lambda x, w, b: F.layer_norm(x.permute(0, 2, 3, 1), (x.size(1),), w, b),
}


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16])
@pytest.mark.parametrize("shape", [(2, 8, 3, 5), (3, 32, 24, 20), (1, 20, 70, 64), (2, 64, 80, 60)])
@pytest.mark.parametrize("name", NORMS)
def test_norms_of_channels_that_lie_beside_each_other(name, shape, dtype):
    norm = NORMS[name]
    tandem.manual_seed(0)
    x, g = (3 * tandem.randn(shape)).to(dtype), tandem.randn(shape).to(dtype)
    w, b = tandem.randn(shape[1]).to(dtype), tandem.randn(shape[1]).to(dtype)

    def step(x, g):
        inputs = [t.detach().requires_grad_() for t in (x, w, b)]
        y = norm(*inputs)
        if name == "layer":
            g = g.permute(0, 2, 3, 1)
        return y.detach(), *tandem.autograd.grad(y, inputs, g)

    want = step(x, g)
    last = x.contiguous(memory_format=LAST)
    for cotangent in (g.contiguous(memory_format=LAST), g):
        for got, wanted in zip(step(last, cotangent), want, strict=True):
            assert_same_bits(got.contiguous(), wanted.contiguous())


@pytest.mark.parametrize("name", ["batch", "group"])
def test_norms_in_every_mode(name, mode):
    shape = (2, 16, 33, 31)
    x = tandem.randn(shape).contiguous(memory_format=LAST)
    g = tandem.randn(shape)
    w, b = tandem.randn(16), tandem.randn(16)

    def step(x, w, b):
        inputs = [t.detach().requires_grad_() for t in (x, w, b)]
        y = NORMS[name](*inputs)
        first = tandem.autograd.grad(y, inputs, g, create_graph=True)
        return y.detach(), *(t.detach() for t in first), *tandem.autograd.grad(first[0].square().sum(), inputs[:2])

    for got, want in zip(run_in(mode, step, x, w, b), step(x.contiguous(), w, b), strict=True):
        assert_same_bits(got.contiguous(), want.contiguous())


def test_running_moments_of_channels_that_lie_beside_each_other():
    x = tandem.randn(4, 32, 30, 20)
    moments = []
    for image in (x, x.contiguous(memory_format=LAST)):
        moments.append((tandem.zeros(32), tandem.ones(32)))
        F.batch_norm(image, *moments[-1], training=True, momentum=0.3)
    for a, b in zip(*moments, strict=True):
        assert_same_bits(a, b)
    tandem.testing.assert_close(moments[0][0], 0.3 * x.mean((0, 2, 3)))
    tandem.testing.assert_close(moments[0][1], 0.7 + 0.3 * x.var((0, 2, 3)))


SUMS = {
    "of what is computed": lambda x, v: (x * v - 1).square().sum((2, 3)),
    "of one dim": lambda x, v: (x - v).abs().sum(3),
    "two": lambda x, v: ((x * 2).sum((2, 3)) + (x * x).sum((2, 3))).exp(),
    "in two stages": lambda x, v: (x - x.mean((2, 3), keepdim=True)).square().mean((2, 3)),
    "greatest": lambda x, v: (x + v).amax((2, 3)),
    "without NaN": lambda x, v: x.nansum((2, 3)),
    "of all but the channels": lambda x, v: (x * x).sum((0, 2, 3)),
}


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16, tandem.int32])
@pytest.mark.parametrize("shape", [(2, 16, 40, 30), (1, 19, 150, 40), (3, 70, 16, 16), (1, 16, 300, 100)])
@pytest.mark.parametrize("name", SUMS)
def test_fused_sums_of_channels_that_lie_beside_each_other(name, shape, dtype):
    if dtype == tandem.int32 and name in ("two", "in two stages"):
        pytest.skip("floating point")
    x = (8 * tandem.randn(shape)).to(dtype)
    v = (4 * tandem.randn(1, shape[1], 1, 1)).to(dtype)
    f = tandem.compile(SUMS[name])
    want = SUMS[name](x, v)
    with tandem.lazy():
        lazy = SUMS[name](x.contiguous(memory_format=LAST), v)
    for image in (x, x.contiguous(memory_format=LAST)):
        assert_same_bits(SUMS[name](image, v), want)
        assert_same_bits(f(image, v), want)
    assert_same_bits(lazy, want)


def test_batch_norm_wants_something_beside_the_variance():
    x, mean, var = tandem.randn(4, 3), tandem.zeros(3), tandem.ones(3)
    for eps in (0, -1.0):
        with pytest.raises(ValueError, match=f"batch_norm eps must be positive during training, but got {eps}"):
            F.batch_norm(x, mean, var, training=True, eps=eps)
        with pytest.raises(ValueError, match="eps must be positive"):
            tandem.nn.BatchNorm1d(3, eps=eps)(x)
    with pytest.raises(ValueError, match="batch_norm eps must be non-negative, but got -1.0"):
        F.batch_norm(x, mean, var, eps=-1.0)
    assert_same_bits(F.batch_norm(x, mean, var, eps=0.0), x)
