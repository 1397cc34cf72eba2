"""Functions of `nn.functional` about distances: compositions of differentiable operations."""

from __future__ import annotations

import functools

import tandem
from tandem import Tensor
from tandem._functions import _need_tensor

__all__ = [
    "bilinear",
]


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y[..., o] = input1[..., i] weight[o, i, j] input2[..., j] + bias[o], summed over i and j.

    Takes [..., D1], [..., D2] of the same leading dims, `weight` [O, D1, D2] and `bias` [O] or None; returns [..., O].
    RuntimeError where sizes do not fit or dtypes differ. Autocast lowers none, and takes the widest one on a GPU.

    Example:
        >>> import tandem
        >>> a, b = tandem.tensor([1.0, 2.0]), tandem.tensor([3.0, 4.0])
        >>> tandem.nn.functional.bilinear(a, b, tandem.eye(2).reshape(1, 2, 2))
        tensor([11.])
    """
    _need_tensor("bilinear", input1, "input1")
    _need_tensor("bilinear", input2, "input2", 2)
    _need_tensor("bilinear", weight, "weight", 3)
    outs, first, second = weight.shape
    if input1.shape[-1] != first or input2.shape[-1] != second:
        raise RuntimeError(
            f"bilinear: inputs of {list(input1.shape)} and {list(input2.shape)} do not fit weight {list(weight.shape)}"
        )
    lead = list(input1.shape[:-1])
    if input2.shape[:-1] != input1.shape[:-1]:
        raise RuntimeError(
            f"bilinear: input batch dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}"
        )
    if bias is not None and bias.shape != (outs,):
        raise RuntimeError(
            f"bilinear: bias size does not match weight size: got {list(bias.shape)} but expected [{outs}]"
        )
    device = input1.device.type
    if tandem.is_autocast_enabled(device):
        tensors = [input1, input2, weight] if bias is None else [input1, input2, weight, bias]
        if device != "cpu":
            widest = functools.reduce(tandem.promote_types, [t.dtype for t in tensors])
            tensors = [t.to(widest) for t in tensors]
        with tandem.autocast(device, enabled=False):
            return bilinear(*tensors)
    dtypes = [t.dtype for t in (input1, input2, weight, bias) if t is not None]
    if len(set(dtypes)) > 1:
        raise RuntimeError(f"bilinear: all tensors must have the same dtype, got {dtypes}")
    a, b = input1.reshape(-1, 1, first), input2.reshape(-1, 1, second)
    mixed = tandem.matmul(a, weight.permute([1, 0, 2]).reshape(first, outs * second)).reshape(-1, outs, second)
    out = (mixed * b).sum(-1, dtype=mixed.dtype).reshape([*lead, outs])
    return out if bias is None else out + bias
