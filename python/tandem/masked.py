"""`tandem.masked`: reductions and normalizations of the elements that a mask is True for.

A mask broadcasts to its tensor. Elements for which it is False count as the value that leaves a result as it is, 0 of a
sum, and have a gradient of 0. A result of no elements is that value; of `mean`, `median`, `var` and `std` it is NaN.
There are no tensors that carry a mask (`MaskedTensor`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import TYPE_CHECKING, Any

import tandem
from tandem import Tensor, linalg
from tandem._stand_in import lacking_classes, lacking_functions
from tandem.nn import functional as F  # noqa: N812

if TYPE_CHECKING:
    from tandem._C import dtype as _DType  # noqa: N812

    Dims = int | Sequence[int] | None

_FUNCTIONS = (
    "amax amin argmax argmin cumprod cumsum log_softmax logaddexp logsumexp mean median norm normalize prod softmax "
    "softmin std sum var"
)
_ABSENT = lacking_classes("tandem.masked", "MaskedTensor") | lacking_functions(
    "tandem.masked", "as_masked_tensor masked_tensor"
)
globals().update(_ABSENT)

__all__ = sorted([*_FUNCTIONS.split(), *_ABSENT, "is_masked_tensor"])  # noqa: PLE0605


def is_masked_tensor(obj: Any, /) -> bool:
    """False: no tensor carries a mask.

    >>> import tandem
    >>> tandem.masked.is_masked_tensor(tandem.ones(2))
    False
    """
    return False


# ---- masks, dims and dtypes


def _input_mask(input: Tensor, *args: Any, mask: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The mask as bools of the shape of `input`."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.dim() > input.dim():
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input): a mask of "
            f"shape {list(mask.shape)} and an input of shape {list(input.shape)}"
        )
    return mask.expand(input.shape).to(tandem.bool)


def _filled(name: str, input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """`input`, and where the mask is False `value`: of integers the least or greatest one where it is infinite."""
    if mask is None:
        return input
    if not input.dtype.is_floating_point and value in (inf, -inf):
        if input.dtype is tandem.bool:
            raise NotImplementedError(f"identity of {name} on {input.dtype} input")
        value = getattr(tandem.iinfo(input.dtype), "max" if value > 0 else "min")
    return tandem.where(_input_mask(input, mask=mask), input, bool(value) if input.dtype is tandem.bool else value)


def _dims(dim: Dims, count: int) -> tuple[int, ...]:
    """The dims of a tensor of `count` dims that are meant, ascending: all by None and ()."""
    if dim is None or dim == ():
        return tuple(range(count))
    count = max(count, 1)
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -count <= d < count:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {d})"
            )
        found.append(d % count)
    return tuple(sorted(found))


def _total_dtype(input: Tensor, dtype: _DType | None) -> _DType:
    """What integers are added and multiplied in: int64."""
    if dtype is not None:
        return dtype
    return input.dtype if input.dtype.is_floating_point else tandem.int64


# ---- reductions


def sum(  # noqa: A001
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Sums over `dim` (all dims if None) of the elements that `mask` is True for, 0 where there are none.

    `mask` broadcasts to `input`, None is True everywhere; `dtype` is that of the result, int64 of integers by default.
    IndexError for a mask of more dims than `input`.

    >>> import tandem
    >>> x = tandem.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tandem.masked.sum(x, 1, mask=tandem.tensor([[True, False], [False, False]]))
    tensor([1., 0.])
    """
    x = _filled("sum", input, mask, 0)
    return tandem.sum(x, _dims(dim, x.dim()), bool(keepdim), dtype=_total_dtype(input, dtype))


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Products over `dim` (all dims if None) of the elements that `mask` is True for, 1 where there are none;
    `mask` and `dtype` as in `sum`.

    >>> import tandem
    >>> tandem.masked.prod(tandem.tensor([2.0, 3.0, 5.0]), mask=tandem.tensor([True, False, True]))
    tensor(10.)
    """
    product = _filled("prod", input, mask, 1).to(_total_dtype(input, dtype))
    for d in reversed(_dims(dim, input.dim())):
        product = product.prod(d, bool(keepdim))
    return product


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The greatest over `dim` (all dims if None) of the elements that `mask` is True for, -inf (the least integer)
    where there are none, converted to `dtype`.

    >>> import tandem
    >>> x = tandem.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tandem.masked.amax(x, 1, mask=tandem.tensor([[True, False], [False, False]]))
    tensor([1., -inf])
    """
    x = _filled("amax", input, mask, -inf)
    return tandem.amax(x, _dims(dim, x.dim()), bool(keepdim)).to(dtype or input.dtype)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The least over `dim` (all dims if None) of the elements that `mask` is True for, inf (the greatest integer) where
    there are none, converted to `dtype`.

    >>> import tandem
    >>> tandem.masked.amin(tandem.tensor([1.0, 2.0, 3.0]), mask=tandem.tensor([False, True, True]))
    tensor(2.)
    """
    x = _filled("amin", input, mask, inf)
    return tandem.amin(x, _dims(dim, x.dim()), bool(keepdim)).to(dtype or input.dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where along `dim` (in the flat tensor if None) the greatest element is that `mask` is True for, in `dtype`,
    that of `input` by default.

    >>> import tandem
    >>> tandem.masked.argmax(tandem.tensor([1, 2, 3]), mask=tandem.tensor([True, True, False]))
    tensor(1)
    """
    return tandem.argmax(_filled("argmax", input, mask, -inf), dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where along `dim` (in the flat tensor if None) the least element is that `mask` is True for, in `dtype`, that of
    `input` by default.

    >>> import tandem
    >>> tandem.masked.argmin(tandem.tensor([1, 2, 3]), mask=tandem.tensor([False, True, True]))
    tensor(1)
    """
    return tandem.argmin(_filled("argmin", input, mask, inf), dim, bool(keepdim)).to(dtype or input.dtype)


def _count(input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements the mask is True for."""
    ones = tandem.ones(input.shape, dtype=tandem.bool) if mask is None else _input_mask(input, mask=mask)
    return tandem.sum(ones, _dims(dim, input.dim()), keepdim)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Means over `dim` (all dims if None) of the elements that `mask` is True for, NaN where there are none.

    ValueError unless `dtype`, or that of `input`, is floating.

    >>> import tandem
    >>> tandem.masked.mean(tandem.tensor([1.0, 2.0, 6.0]), mask=tandem.tensor([True, True, False]))
    tensor(1.5000)
    """
    source = "Input" if dtype is None else "Optional"
    dtype = dtype or input.dtype
    if not dtype.is_floating_point:
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {dtype}"
        )
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, bool(keepdim), mask)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Medians along `dim` of the elements that `mask` is True for, the lower of two; NaN where there are none.

    Integers are compared in float32 and given in `dtype`; ValueError where none of them counts.

    >>> import tandem
    >>> tandem.masked.median(tandem.tensor([3.0, 1.0, 2.0]), mask=tandem.tensor([True, False, True]))
    tensor(2.)
    """
    along = _dims(dim, input.dim())[0]
    floating = input.dtype.is_floating_point
    x = _filled("median", input if floating else input.to(tandem.float32), mask, nan)
    middle: Tensor = tandem.nanmedian(x, along, keepdim).values
    if floating:
        return middle
    if bool(tandem.isnan(middle).any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return middle.to(dtype or input.dtype)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """log(sum(exp(x))) over `dim` (all dims if None) of the elements that `mask` is True for, -inf where there are
    none.

    >>> import tandem
    >>> tandem.masked.logsumexp(tandem.zeros(3), mask=tandem.tensor([True, False, False]))
    tensor(0.)
    """
    x = _filled("logsumexp", input, mask, -inf)
    return tandem.logsumexp(x, _dims(dim, x.dim()), keepdim).to(dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: _DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), each -inf where its mask is False, converted to `dtype`.

    >>> import tandem
    >>> tandem.masked.logaddexp(tandem.zeros(2), tandem.ones(2), input_mask=tandem.tensor([True, False]))
    tensor([1.3133, 1.0000])
    """
    added = tandem.logaddexp(
        _filled("logaddexp", input, input_mask, -inf), _filled("logaddexp", other, other_mask, -inf)
    )
    return added.to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,  # noqa: A002
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """`linalg.vector_norm` of order `ord` over `dim` (all dims if None) of the elements that `mask` is True for, 0
    where there are none, inf of the order -inf.

    >>> import tandem
    >>> tandem.masked.norm(tandem.tensor([3.0, 4.0, 5.0]), mask=tandem.tensor([True, True, False]))
    tensor(5.)
    """
    x = _filled("norm", input, mask, inf if ord == -inf else 0)
    order = 2.0 if ord is None else ord
    return linalg.vector_norm(x, order, _dims(dim, x.dim()), bool(keepdim), dtype=dtype or input.dtype)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: int | float | None = None,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Variances over `dim` (all dims if None) of the elements that `mask` is True for: squared deviations from the
    mean, divided by their count less `correction` (1; 0 by `unbiased=False`); NaN where there are none.

    AssertionError where both `unbiased` and `correction` are given.

    >>> import tandem
    >>> tandem.masked.var(tandem.tensor([1.0, 3.0, 7.0]), mask=tandem.tensor([True, True, False]))
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    if dtype is None:
        dtype = input.dtype if input.dtype.is_floating_point else tandem.float32
    wide = dtype if dtype.is_floating_point else tandem.float32
    count = _count(input, dim, True, mask)
    deviation = input - sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    total = sum(deviation * deviation, dim, keepdim=keepdim, dtype=wide, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    if correction != 0:
        count = (count.to(wide) - correction).clamp_min(0)
    return (total / count).to(dtype)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: int | float | None = None,
    keepdim: bool | None = False,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The square roots of `var`.

    >>> import tandem
    >>> tandem.masked.std(tandem.tensor([1.0, 3.0, 7.0]), unbiased=False, mask=tandem.tensor([True, True, False]))
    tensor(1.)
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


# ---- what keeps the shape


def cumsum(input: Tensor, dim: int, *, dtype: _DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Sums of the elements up to each along `dim` that `mask` is True for, in `dtype`, that of `input` by default.

    >>> import tandem
    >>> tandem.masked.cumsum(tandem.tensor([1, 2, 3]), 0, mask=tandem.tensor([True, False, True]))
    tensor([1, 1, 4])
    """
    return tandem.cumsum(_filled("cumsum", input, mask, 0), _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: _DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Products of the elements up to each along `dim` that `mask` is True for, in `dtype`, that of `input` by default.

    >>> import tandem
    >>> tandem.masked.cumprod(tandem.tensor([1, 2, 3]), 0, mask=tandem.tensor([True, False, True]))
    tensor([1, 1, 3])
    """
    return tandem.cumprod(_filled("cumprod", input, mask, 1), _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def softmax(input: Tensor, dim: int, *, dtype: _DType | None = None, mask: Tensor | None = None) -> Tensor:
    """`nn.functional.softmax` along `dim` of the elements that `mask` is True for; the others are 0, and NaN where
    all are such.

    >>> import tandem
    >>> tandem.masked.softmax(tandem.zeros(3), 0, mask=tandem.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return F.softmax(_filled("softmax", input, mask, -inf), _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: _DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`, -inf where `mask` is False.

    >>> import tandem
    >>> tandem.masked.log_softmax(tandem.zeros(3), 0, mask=tandem.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    x = _filled("log_softmax", input, mask, -inf)
    return F.log_softmax(x, _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def softmin(input: Tensor, dim: int, *, dtype: _DType | None = None, mask: Tensor | None = None) -> Tensor:
    """`softmax` of -input.

    >>> import tandem
    >>> tandem.masked.softmin(tandem.tensor([0.0, 1.0]), 0)
    tensor([0.7311, 0.2689])
    """
    return F.softmin(_filled("softmin", input, mask, inf), _dims(dim, input.dim())[0], dtype=dtype or input.dtype)


def normalize(
    input: Tensor,
    ord: float,  # noqa: A002
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: _DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that `mask` is True for, divided by their norm of order `ord` along `dim`, or by `eps` if that is
    greater; the others are 0.

    >>> import tandem
    >>> tandem.masked.normalize(tandem.tensor([3.0, 4.0, 5.0]), 2.0, 0, mask=tandem.tensor([True, True, False]))
    tensor([0.6000, 0.8000, 0.0000])
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled("normalize", input, mask, 0) / tandem.maximum(length, tandem.full((), eps, dtype=length.dtype))
