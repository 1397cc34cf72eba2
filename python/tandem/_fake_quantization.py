"""`fake_quantize_per_tensor_affine` and its form of channels: numbers as a few bits would have them, for training."""

from __future__ import annotations

from tandem import _C
from tandem._functions import _need_tensor

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]

Tensor = _C.Tensor


def _quantized(op: str, x: Tensor, scale: Tensor, zero: Tensor, low: int, high: int) -> Tensor:
    if not x.is_floating_point():
        raise NotImplementedError(f"{op}: expected an input of a floating dtype, got {x.dtype}")
    if scale.requires_grad or zero.requires_grad:
        raise RuntimeError(f"{op}: not differentiable with respect to 'scale' and 'zero_point'")
    if low > high:
        raise RuntimeError(f"{op}: `quant_min` should be less than or equal to `quant_max`, got {low} and {high}")
    numbers = x.detach()
    if x.dtype in (_C.float16, _C.bfloat16):
        numbers = numbers.float()
    scaled = numbers * scale.reciprocal()
    # A zero point that is no integer is added before the number is rounded.
    steps = (scaled + zero).round() if zero.is_floating_point() else scaled.round() + zero
    steps = _C.where(steps.isnan(), low - 1, steps)
    value = ((steps.clamp(low, high) - zero).float() * scale).to(x.dtype)
    if not x.requires_grad:
        return value
    # The gradient passes where nothing was cut off, as if nothing had been rounded.
    inside = (steps >= low) & (steps <= high)
    return value + _C.where(inside, x - x.detach(), 0)


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: float | Tensor, zero_point: int | Tensor, quant_min: int, quant_max: int
) -> Tensor:
    """(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale, rounding to even.

    `scale`, a number or a tensor of one, is taken as float32. The gradient is passed on where nothing was cut
    off. RuntimeError where `zero_point` is not between `quant_min` and `quant_max`.

    >>> import tandem
    >>> tandem.fake_quantize_per_tensor_affine(tandem.tensor([-3.0, 0.2, 0.4]), 0.25, 0, -8, 7)
    tensor([-2.0000,  0.2500,  0.5000])
    """
    _need_tensor("fake_quantize_per_tensor_affine", input)
    op = "fake_quantize_per_tensor_affine"
    whole = isinstance(zero_point, int)
    if whole and not quant_min <= zero_point <= quant_max and quant_min <= quant_max:
        raise RuntimeError(f"{op}: `zero_point` must be between `quant_min` and `quant_max`, got {zero_point}")
    step = scale.float().reshape(()) if isinstance(scale, Tensor) else _C.tensor(scale, dtype=_C.float32)
    zero = zero_point.reshape(()).long() if isinstance(zero_point, Tensor) else _C.tensor(zero_point)
    return _quantized(op, input, step, zero, quant_min, quant_max)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each index of the dim `axis`.

    `scale` is a float32 tensor of one dim, `zero_point` one of int32, or floating: then it is added before rounding.
    RuntimeError for other dtypes and sizes, and for a zero point that is not between `quant_min` and `quant_max`.

    >>> import tandem
    >>> x, scale = tandem.tensor([[0.2, 0.4], [0.2, 0.4]]), tandem.tensor([0.25, 1.0])
    >>> tandem.fake_quantize_per_channel_affine(x, scale, tandem.zeros(2, dtype=tandem.int32), 0, -8, 7)
    tensor([[0.2500, 0.5000],
            [0.0000, 0.0000]])
    """
    _need_tensor("fake_quantize_per_channel_affine", input)
    _need_tensor("fake_quantize_per_channel_affine", scale, "scale", 2)
    _need_tensor("fake_quantize_per_channel_affine", zero_point, "zero_point", 3)
    op = "fake_quantize_per_channel_affine"
    if scale.dtype not in (_C.float32, _C.bfloat16):
        raise RuntimeError(f"{op}: scale must be float32 or bfloat16, got {scale.dtype}")
    if zero_point.dtype not in (_C.int32, _C.float32, _C.float16):
        raise RuntimeError(f"{op}: zero_point must be int32, float32 or float16, got {zero_point.dtype}")
    if not -input.dim() <= axis < input.dim():
        raise IndexError(f"{op}: axis {axis} of an input of shape {list(input.shape)}")
    sizes = [input.shape[axis]]
    if list(scale.shape) != sizes or list(zero_point.shape) != sizes:
        raise RuntimeError(
            f"{op}: dimensions of scale {list(scale.shape)} and zero_point {list(zero_point.shape)} are not consistent "
            f"with {sizes[0]} indices of the input's axis {axis}"
        )
    if bool(((zero_point < quant_min) | (zero_point > quant_max)).any()):
        raise RuntimeError(f"{op}: `zero_point` must be between `quant_min` and `quant_max`")
    along = [-1 if d == axis % input.dim() else 1 for d in range(input.dim())]
    zero = zero_point.reshape(along)
    return _quantized(op, input, scale.float().reshape(along), zero, quant_min, quant_max)
