"""Dropout at the top level, with ATen's parameters: `train` is to be said, and a probability outside [0, 1] is a
RuntimeError; and the in-place forms, which return `input`."""

from __future__ import annotations

from typing import Any

from tandem import _C

__all__ = [
    "alpha_dropout",
    "alpha_dropout_",
    "dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "native_dropout",
]

Tensor = _C.Tensor


def _run(name: str, input: Tensor, p: float, train: bool, inplace: bool = False) -> Tensor:
    import tandem

    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if name.startswith("feature") and input.dim() < 2 and train and p > 0.0:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    function: Any = getattr(tandem.nn.functional, name)
    return function(input, p, train, inplace)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`, if `train`; else `input`.

    >>> import tandem
    >>> tandem.alpha_dropout(tandem.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return _run("alpha_dropout", input, p, train)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zeros whole channels of [N, C, ...] with probability `p` and scales the others by 1 / (1 - p), if `train`.

    RuntimeError for less than 2 dims.

    >>> import tandem
    >>> tandem.feature_dropout(tandem.ones(1, 2, 2), 1.0, True).sum()
    tensor(0.)
    """
    return _run("feature_dropout", input, p, train)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` of whole channels of [N, C, ...]. RuntimeError for less than 2 dims.

    >>> import tandem
    >>> tandem.feature_alpha_dropout(tandem.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    return _run("feature_alpha_dropout", input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` written into `input`.

    >>> import tandem
    >>> x = tandem.ones(2)
    >>> tandem.dropout_(x, 1.0, True) is x, x
    (True, tensor([0., 0.]))
    """
    return _run("dropout", input, p, train, True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` written into `input`.

    >>> import tandem
    >>> x = tandem.ones(2)
    >>> tandem.alpha_dropout_(x, 0.5, False) is x
    True
    """
    return _run("alpha_dropout", input, p, train, True)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout` written into `input`.

    >>> import tandem
    >>> tandem.feature_dropout_(tandem.ones(1, 2, 1), 1.0, True).sum()
    tensor(0.)
    """
    return _run("feature_dropout", input, p, train, True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout` written into `input`.

    >>> import tandem
    >>> x = tandem.ones(1, 2)
    >>> tandem.feature_alpha_dropout_(x, 0.5, False) is x
    True
    """
    return _run("feature_alpha_dropout", input, p, train, True)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`dropout`, and which elements were kept; all of them, and `input` itself as it is, if `train` is False.

    >>> import tandem
    >>> tandem.native_dropout(tandem.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if train is False:
        return input.clone(), _C.ones_like(input, dtype=_C.bool)
    kept = _run("dropout", _C.ones_like(input), p, True)
    return input * kept, kept != 0
