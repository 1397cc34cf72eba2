"""`tandem.fft`: frequencies, and their order. Transforms have complex values, which there are none of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tandem
from tandem import Tensor
from tandem._functions import _need_tensor
from tandem._stand_in import lacking_functions

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _frequencies(name: str, steps: Tensor, n: int, d: float, out: Tensor | None, requires_grad: bool) -> Tensor:
    if not steps.is_floating_point():
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    result = steps * (1.0 / (n * d) if n * d != 0 else float("inf"))
    return out.resize_as_(result).copy_(result) if out is not None else result.requires_grad_(requires_grad)


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: tandem.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of a discrete Fourier transform of n samples that are d apart, `[n]`: those from 0 on, then the
    negative ones.

    RuntimeError for a negative n or a dtype that is not floating.

    >>> import tandem
    >>> tandem.fft.fftfreq(5)
    tensor([ 0.0000,  0.2000,  0.4000, -0.4000, -0.2000])
    """
    at = tandem.arange(n, dtype=dtype or tandem.get_default_dtype(), layout=layout, device=device)
    return _frequencies("fftfreq", tandem.where(at < (n + 1) // 2, at, at - n), n, d, out, requires_grad)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: tandem.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of a transform of n real samples that are d apart, from 0 to the highest, `[n // 2 + 1]`.

    RuntimeError for a negative n or a dtype that is not floating.

    >>> import tandem
    >>> tandem.fft.rfftfreq(5)
    tensor([0.0000, 0.2000, 0.4000])
    """
    at = tandem.arange(n // 2 + 1, dtype=dtype or tandem.get_default_dtype(), layout=layout, device=device)
    return _frequencies("rfftfreq", at, n, d, out, requires_grad)


def _rolled(input: Tensor, dim: int | Sequence[int] | None, forward: bool) -> Tensor:
    _need_tensor("fft.fftshift" if forward else "fft.ifftshift", input)
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    shifts = [input.size(d) // 2 if forward else (input.size(d) + 1) // 2 for d in dims]
    return input.roll(shifts, dims) if dims else input.clone()


def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Frequencies in the order of `fftfreq` along `dim`, or all dims, in rising order: 0 goes to the middle.

    IndexError for a dim that there is not.

    >>> import tandem
    >>> tandem.fft.fftshift(tandem.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _rolled(input, dim, True)


def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`.

    IndexError for a dim that there is not.

    >>> import tandem
    >>> tandem.fft.ifftshift(tandem.fft.fftshift(tandem.arange(5)))
    tensor([0, 1, 2, 3, 4])
    """
    return _rolled(input, dim, False)


globals().update(
    lacking_functions(
        __name__,
        "fft fft2 fftn hfft hfft2 hfftn ifft ifft2 ifftn ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftn",
    )
)
