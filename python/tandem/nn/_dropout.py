"""The dropout functions of `nn.functional`. All return their input unless `training`."""

from __future__ import annotations

import tandem
from tandem import Tensor
from tandem._functions import _need_tensor

__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "feature_dropout",
]

# Where `selu` goes far to the left: what `alpha_dropout` puts in place of a value.
_FLOOR = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _finish(input: Tensor, out: Tensor, inplace: bool) -> Tensor:
    return input.copy_(out) if inplace else out


def _shared_shape(input: Tensor) -> list[int]:
    """The shape of one number a channel."""
    return list(input.shape[:2]) + [1] * (input.dim() - 2)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability `p` and scale the others by 1 / (1 - p), if `training` (Srivastava et al. 2014).

    `inplace` writes into the input. Takes a floating tensor of any shape; ValueError for a `p` outside [0, 1].

    Example:
        >>> import tandem
        >>> tandem.nn.functional.dropout(tandem.ones(3), 0.5, training=False)
        tensor([1., 1., 1.])
    """
    _check(p)
    out = tandem._C._nn.dropout(input, p, training)
    return _finish(input, out, inplace and training and p > 0.0)


def feature_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Zero whole channels of [N, C, ...] with probability `p` and scale the others by 1 / (1 - p), if `training`.

    RuntimeError for less than 2 dims, ValueError for a `p` outside [0, 1].

    Example:
        >>> import tandem
        >>> kept = tandem.nn.functional.feature_dropout(tandem.ones(1, 64, 3), 0.5, training=True)
        >>> kept.amax(2).equal(kept.amin(2))
        True
    """
    _check(p)
    if input.numel() == 0 or not training or p == 0.0:
        return input
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    mask = dropout(tandem.ones(_shared_shape(input), dtype=input.dtype, device=input.device), p, True)
    return _finish(input, input * mask, inplace)


def _warn_of_plain(name: str, spatial: int, input: Tensor) -> None:
    tandem._C._warn(
        f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will result in an error in a "
        f"future release. Use dropout instead: {name} zeroes channels of inputs with {spatial} spatial dimensions, a "
        "channel dimension, and an optional batch dimension.",
        3,
    )


def _spatial(name: str, spatial: int, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    _check(p)
    if input.dim() not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"{name}: Expected {spatial + 1}D or {spatial + 2}D input, but received a {input.dim()}D input."
        )
    if input.dim() == spatial + 1:
        out = feature_dropout(input.unsqueeze(0), p, training).squeeze(0)
        return _finish(input, out, inplace and training and p > 0.0)
    return feature_dropout(input, p, training, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of [N, C, L] or [C, L] with probability `p` and scale the others by 1 / (1 - p).

    RuntimeError for another number of dims, ValueError for a `p` outside [0, 1].

    Example:
        >>> import tandem
        >>> tandem.nn.functional.dropout1d(tandem.ones(2, 3), 1.0).sum()
        tensor(0.)
    """
    return _spatial("dropout1d", 1, input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of [N, C, H, W] with probability `p` and scale the others by 1 / (1 - p).

    Three dims are taken as [N, C, L], as PyTorch does. ValueError for a `p` outside [0, 1].

    Example:
        >>> import tandem
        >>> x = tandem.nn.functional.dropout2d(tandem.ones(1, 8, 2, 2))
        >>> sorted(set(x.sum((2, 3)).flatten().tolist()))
        [0.0, 8.0]
    """
    if input.dim() not in (3, 4):
        _warn_of_plain("dropout2d", 2, input)
    elif input.dim() == 3:
        tandem._C._warn(
            "dropout2d: Received a 3D input to dropout2d, taken as (N, C, L): channels of one spatial dimension. A "
            "future release will take it as (C, H, W). Use dropout1d for (N, C, L).",
            2,
        )
    return feature_dropout(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of [N, C, D, H, W] or [C, D, H, W] with probability `p`, scale the others by 1 / (1 - p).

    Another number of dims is deprecated: dim 1 are the channels then. ValueError for a `p` outside [0, 1].

    Example:
        >>> import tandem
        >>> tandem.nn.functional.dropout3d(tandem.ones(1, 2, 2, 2, 2), training=False).sum()
        tensor(16.)
    """
    if input.dim() not in (4, 5):
        _warn_of_plain("dropout3d", 3, input)
        return feature_dropout(input, p, training, inplace)
    return _spatial("dropout3d", 3, input, p, training, inplace)


def _alpha(input: Tensor, shape: list[int], p: float, training: bool, inplace: bool) -> Tensor:
    _check(p)
    if not training or p == 0.0:
        return input
    scale = ((1.0 - p) * (1.0 + p * _FLOOR * _FLOOR)) ** -0.5 if p < 1.0 else 0.0
    if shape == list(input.shape):
        drawn = tandem.rand_like(input, dtype=tandem.get_default_dtype())  # lies as the input
    else:
        drawn = tandem.rand(shape, device=input.device)
    kept = drawn >= p
    return _finish(input, tandem.where(kept, input, _FLOOR) * scale - scale * p * _FLOOR, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean 0 and variance 1 of inputs activated by `selu` (Klambauer et al. 2017).

    With probability `p` an element becomes the value that `selu` has far to the left, -1.7581; then all are scaled and
    shifted. Takes a floating tensor of any shape; ValueError for a `p` outside [0, 1].

    Example:
        >>> import tandem
        >>> x = tandem.nn.functional.alpha_dropout(tandem.randn(10000), 0.2, training=True)
        >>> abs(x.mean().item()) < 0.05, abs(x.std().item() - 1) < 0.05
        (True, True)
    """
    _need_tensor("alpha_dropout", input)
    return _alpha(input, list(input.shape), p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of [N, C, ...].

    Example:
        >>> import tandem
        >>> x = tandem.nn.functional.feature_alpha_dropout(tandem.zeros(1, 64, 3), 0.5, training=True)
        >>> x.amax(2).equal(x.amin(2))
        True
    """
    _need_tensor("feature_alpha_dropout", input)
    return _alpha(input, _shared_shape(input), p, training, inplace)
