"""Batch normalisation in evaluation as part of the layer before it."""

from __future__ import annotations

import copy
from typing import Any

import tandem
from tandem import Tensor
from tandem.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _scaled(
    weight: Tensor, bias: Tensor | None, bn: tuple[Any, ...], first: int, ones: int
) -> tuple[Parameter, Parameter]:
    mean, var, eps, gain, shift = bn
    gain = tandem.ones_like(mean) if gain is None else gain
    shift = tandem.zeros_like(mean) if shift is None else shift
    scale = gain * tandem.rsqrt(var + eps)
    shape = [1] * first + [-1] + [1] * ones
    bias = tandem.zeros_like(mean) if bias is None else bias
    fused = (weight * scale.reshape(shape)).to(weight.dtype)
    moved = ((bias - mean) * scale + shift).to(bias.dtype)
    return Parameter(fused, weight.requires_grad), Parameter(moved, bias.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that computes what it and the batch normalisation after it compute.

    Args:
        conv_w, conv_b: weight [out, in / groups, ...] (with `transpose` [in, out, ...]) and bias [out] or None.
        bn_rm, bn_rv, bn_eps: running mean and variance [out], and what is added to the variance.
        bn_w, bn_b: gain and shift [out], or None.

    >>> import tandem
    >>> one = tandem.ones(1)
    >>> w, b = tandem.nn.utils.fusion.fuse_conv_bn_weights(tandem.ones(1, 1, 1, 1), None, one, 4 * one, 0.0, one, one)
    >>> w.item(), b.item()
    (0.5, 0.5)
    """
    first = 1 if transpose else 0
    return _scaled(conv_w, conv_b, (bn_rm, bn_rv, bn_eps, bn_w, bn_b), first, conv_w.dim() - 1 - first)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """`fuse_conv_bn_weights` of a linear layer's weight [out, in] and bias.

    >>> import tandem
    >>> one = tandem.ones(1)
    >>> w, b = tandem.nn.utils.fusion.fuse_linear_bn_weights(tandem.ones(1, 1), one, one, 4 * one, 0.0, None, None)
    >>> w.item(), b.item()
    (0.5, 0.0)
    """
    return _scaled(linear_w, linear_b, (bn_rm, bn_rv, bn_eps, bn_w, bn_b), 0, linear_w.dim() - 1)


def _fused(layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Only support fusing batch normalisation with running statistics")
    fused = copy.deepcopy(layer)
    weights = (layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = fuse_conv_bn_weights(*weights, transpose)
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that computes what it and `bn` compute, both in evaluation (AssertionError else).

    >>> import tandem
    >>> conv, bn = tandem.nn.Conv2d(1, 2, 1).eval(), tandem.nn.BatchNorm2d(2).eval()
    >>> x = tandem.randn(1, 1, 2, 2)
    >>> tandem.allclose(tandem.nn.utils.fusion.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that computes what it and `bn` compute, both in evaluation (AssertionError else).

    >>> import tandem
    >>> linear, bn = tandem.nn.Linear(2, 3).eval(), tandem.nn.BatchNorm1d(3).eval()
    >>> x = tandem.randn(4, 2)
    >>> tandem.allclose(tandem.nn.utils.fusion.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-6)
    True
    """
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fused(linear, bn, False)
