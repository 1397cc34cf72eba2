"""Fake quantization: PyTorch's numbers, gradients that pass where nothing was cut off, and what is refused."""

from __future__ import annotations

import math

import pytest
from conftest import run_in

import tandem
from tandem import tensor

ZERO = tensor([0, 1], dtype=tandem.int32)


@pytest.mark.parametrize("dtype", [tandem.float64, tandem.float32, tandem.float16, tandem.bfloat16])
def test_one_scale(dtype, mode):
    def run(x):
        y = tandem.fake_quantize_per_tensor_affine(x, 0.25, 1, -4, 3)
        return y, tandem.autograd.grad(y.sum(), x)[0]

    x = tensor([-1.3, -0.375, 0.125, 0.375, 0.5, 3.0, math.nan, math.inf], dtype=dtype).requires_grad_()
    y, g = run_in(mode, run, x)
    assert y.dtype is dtype and y.tolist() == [-1.25, -0.5, 0.0, 0.5, 0.5, 0.5, -1.25, 0.5]
    assert g.tolist() == [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    # The product is float32's.
    third = tandem.fake_quantize_per_tensor_affine(tensor(0.3, dtype=tandem.float64), 0.1, 0, 0, 15)
    assert third.item() == tensor(0.3).item()
    scale, zero = tensor(0.25), tensor(1, dtype=tandem.int32)
    assert tandem.fake_quantize_per_tensor_affine(x.detach(), scale, zero, -4, 3).equal(y)


def test_scales_of_channels(mode):
    def run(x, scale, zero):
        return tandem.fake_quantize_per_channel_affine(x, scale, zero, 1, -4, 3)

    x, scale = tensor([[0.125, 0.125], [-9.0, 0.375]]), tensor([0.25, 0.25])
    assert run_in(mode, run, x, scale, ZERO).tolist() == [[0.0, 0.0], [-1.0, 0.5]]
    # Before it is rounded, where the zero point is no integer's.
    assert run_in(mode, run, x, scale, ZERO.float()).tolist() == [[0.0, 0.25], [-1.0, 0.25]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: tandem.fake_quantize_per_tensor_affine(x, 0.5, 9, 0, 8), RuntimeError, "must be between"),
        (lambda x: tandem.fake_quantize_per_tensor_affine(x, 0.5, 0, 8, 0), RuntimeError, "less than or equal"),
        (lambda x: tandem.fake_quantize_per_tensor_affine(x.long(), 0.5, 0, 0, 8), NotImplementedError, "int64"),
        (
            lambda x: tandem.fake_quantize_per_tensor_affine(x, tensor(0.5).requires_grad_(), 0, 0, 8),
            RuntimeError,
            "not differentiable",
        ),
        (lambda x: tandem.fake_quantize_per_channel_affine(x, x[0].double(), ZERO, 0, 0, 8), RuntimeError, "float64"),
        (lambda x: tandem.fake_quantize_per_channel_affine(x, x[0], ZERO.long(), 0, 0, 8), RuntimeError, "int64"),
        (lambda x: tandem.fake_quantize_per_channel_affine(x, x[0, :1], ZERO, 0, 0, 8), RuntimeError, r"scale \[1\]"),
        (lambda x: tandem.fake_quantize_per_channel_affine(x, x[0], ZERO, 2, 0, 8), IndexError, r"axis 2 .* \[2, 2\]"),
        (lambda x: tandem.fake_quantize_per_channel_affine(x, x[0], ZERO, 0, 1, 8), RuntimeError, "must be between"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(tandem.ones(2, 2))
