"""Windows of signal processing, symmetric (`sym`) or one period of a longer symmetric one.

All are computed in float64 and rounded once, to float32 or float64. They have M elements, at n = 0, 1, ...; N is M - 1,
or M without `sym`. ValueError for a negative M, another dtype or a layout that is not strided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import tandem
from tandem import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _places(name: str, M: int, dtype: Any, layout: Any, device: Any) -> Tensor:
    """0, 1, ..., M - 1 in float64, if these arguments are right."""
    if not isinstance(M, int):
        raise TypeError(f"{name}(): argument 'M' must be int, not {type(M).__name__}")
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout not in (None, tandem.strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    to = tandem.get_default_dtype() if dtype is None else dtype
    if to not in (tandem.float32, tandem.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {to}")
    return tandem.arange(M, dtype=tandem.float64, device=device)


def _rounded(window: Tensor, dtype: Any, requires_grad: bool) -> Tensor:
    return window.to(tandem.get_default_dtype() if dtype is None else dtype).requires_grad_(requires_grad)


def _last(M: int, sym: bool) -> int:
    """N; a window of one element has no period."""
    return M if not sym and M > 1 else M - 1


def _cosines(
    name: str, M: int, a: Iterable[float], *, sym: bool, dtype: Any, layout: Any, device: Any, requires_grad: bool
) -> Tensor:
    n = _places(name, M, dtype, layout, device)
    if M == 1:
        return _rounded(tandem.ones_like(n), dtype, requires_grad)
    window = tandem.zeros_like(n)
    for i, weight in enumerate(a):
        window = window + (-1) ** i * weight * (2 * math.pi * i / _last(M, sym) * n).cos()
    return _rounded(window, dtype, requires_grad)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """1 - |2 n / N - 1|.

    >>> import tandem
    >>> tandem.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    n = _places("bartlett", M, dtype, layout, device)
    if M == 1:
        return _rounded(tandem.ones_like(n), dtype, requires_grad)
    return _rounded(1 - (2 * n / _last(M, sym) - 1).abs(), dtype, requires_grad)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum over i of (-1)^i a[i] cos(2 pi i n / N). ValueError without coefficients.

    >>> import tandem
    >>> tandem.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(
        "general_cosine", M, weights, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).

    >>> import tandem
    >>> tandem.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return _cosines(
        "blackman",
        M,
        (0.42, 0.5, 0.08),
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The `general_cosine` of the coefficients 0.3635819, 0.4891775, 0.1365995 and 0.0106411 (Nuttall 1981).

    >>> import tandem
    >>> tandem.signal.windows.nuttall(5)[1:4]
    tensor([0.2270, 1.0000, 0.2270])
    """
    return _cosines(
        "nuttall",
        M,
        (0.3635819, 0.4891775, 0.1365995, 0.0106411),
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi n / N).

    >>> import tandem
    >>> tandem.signal.windows.general_hamming(3, alpha=0.75)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _cosines(
        "general_hamming",
        M,
        (alpha, 1.0 - alpha),
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.54 - 0.46 cos(2 pi n / N).

    >>> import tandem
    >>> tandem.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines(
        "hamming", M, (0.54, 0.46), sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """sin^2(pi n / N).

    >>> import tandem
    >>> tandem.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _cosines(
        "hann", M, (0.5, 0.5), sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """sin(pi (n + 1/2) / (N + 1)).

    >>> import tandem
    >>> tandem.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    n = _places("cosine", M, dtype, layout, device)
    return _rounded(((n + 0.5) * (math.pi / max(_last(M, sym) + 1, 1))).sin(), dtype, requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-|n - center| / tau), center N / 2 if None. ValueError for a center with `sym`, or tau <= 0.

    >>> import tandem
    >>> tandem.signal.windows.exponential(3, tau=2.0)
    tensor([0.6065, 1.0000, 0.6065])
    """
    n = _places("exponential", M, dtype, layout, device)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = _last(M, sym) / 2 if center is None else center
    return _rounded((-(n - middle).abs() / tau).exp(), dtype, requires_grad)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-((n - N / 2) / std)^2 / 2). ValueError for std <= 0.

    >>> import tandem
    >>> tandem.signal.windows.gaussian(3, std=2.0)
    tensor([0.8825, 1.0000, 0.8825])
    """
    n = _places("gaussian", M, dtype, layout, device)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    middle = _last(M, sym) / 2
    return _rounded((-((n - middle) / std).square() / 2).exp(), dtype, requires_grad)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`tandem.kaiser_window`: I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta). ValueError for beta < 0.

    >>> import tandem
    >>> tandem.signal.windows.kaiser(5, beta=3.0)
    tensor([0.2049, 0.7269, 1.0000, 0.7269, 0.2049])
    """
    _places("kaiser", M, dtype, layout, device)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return tandem.kaiser_window(M, not sym, beta, dtype=dtype, device=device, requires_grad=requires_grad)
