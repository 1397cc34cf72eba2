"""What projects use of `torch._dynamo.testing` that has nothing to do with a tracer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import tandem
from tandem import Tensor

__all__ = ["rand_strided", "reduce_to_scalar_loss", "requires_bwd_pass", "reset", "reset_rng_state"]

reset = tandem.compiler.reset


def rand_strided(
    size: Sequence[int], stride: Sequence[int], dtype: Any = tandem.float32, device: Any = "cpu", extra_size: int = 0
) -> Tensor:
    """Normal draws, or integers that are 0, in memory of these strides and `extra_size` elements more."""
    needed = sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1 if all(size) else 0
    if dtype.is_floating_point:
        flat = tandem.randn(needed + extra_size, dtype=dtype, device=device)
    else:
        flat = tandem.zeros(needed + extra_size, dtype=dtype, device=device)
    return flat.as_strided(tuple(size), tuple(stride))


def requires_bwd_pass(out: Any) -> bool:
    """Does a result, or one in a list of them, require a gradient?"""
    if isinstance(out, Tensor):
        return out.requires_grad
    if isinstance(out, (list, tuple)):
        return any(requires_bwd_pass(x) for x in out)
    if out is None or isinstance(out, int):
        return False
    raise NotImplementedError("Don't know how to reduce", type(out))


def reduce_to_scalar_loss(out: Any) -> Any:
    """The mean of a result, of lists and dicts the mean of theirs."""
    if isinstance(out, Tensor):
        return out.sum() / out.numel()
    if isinstance(out, (list, tuple, dict)):
        parts = list(out.values()) if isinstance(out, dict) else out
        return sum(reduce_to_scalar_loss(x) for x in parts) / len(parts)
    raise NotImplementedError("Don't know how to reduce", type(out))


def reset_rng_state(use_xla: bool = False) -> None:
    """Seeds the generators of Tandem, Python and NumPy with 1337."""
    import numpy

    tandem.manual_seed(1337)
    random.seed(1337)
    numpy.random.seed(1337)
