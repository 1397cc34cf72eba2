"""`tandem.testing`: comparing results with what was expected, and tensors to try things on."""

from __future__ import annotations

import cmath
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tandem import _C
from tandem._dtypes import finfo, iinfo

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

Tensor = _C.Tensor

# (rtol, atol) of a comparison in which both sides have the dtype; the larger one counts where they differ.
TOLERANCES = {
    _C.float16: (1e-3, 1e-5),
    _C.bfloat16: (1.6e-2, 1e-5),
    _C.float32: (1.3e-6, 1e-5),
    _C.float64: (1e-7, 1e-7),
}


_NUMBERS = (bool, int, float, complex)


def larger_tolerances(
    dtypes: Iterable[Any], known: Mapping[Any, tuple[float, float]] = TOLERANCES
) -> tuple[float, float]:
    """(rtol, atol) of a comparison of several dtypes: the larger ones."""
    pairs = [known.get(t, (0.0, 0.0)) for t in dtypes]
    return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)


def need_both(rtol: float | None, atol: float | None) -> None:
    """ValueError for one tolerance without the other."""
    if (rtol is None) != (atol is None):
        absent = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}.")


class _Options:
    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, checks: set[str], msg: Any):
        need_both(rtol, atol)
        self.rtol, self.atol, self.equal_nan, self.checks, self.msg = rtol, atol, equal_nan, checks, msg

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        return larger_tolerances(dtypes)

    def fail(self, text: str, where: str, error: type[Exception] = AssertionError) -> None:
        if where:
            text += f"\n\nThe failure occurred for item {where}"
        if self.msg is not None and error is AssertionError:
            text = self.msg(text) if callable(self.msg) else self.msg
        raise error(text)


def _bounds(title: str, rtol: float, atol: float) -> str:
    return f"{title} are not {'equal' if rtol == atol == 0 else 'close'}!\n\n"


def _allowed(bound: float) -> str:
    return f" (up to {bound} allowed)" if bound else ""


def _compare_numbers(actual: Any, expected: Any, options: _Options, where: str) -> None:
    kinds = {bool: None, int: None, float: _C.float64, complex: _C.float64}
    rtol, atol = options.tolerances(kinds[type(actual)], kinds[type(expected)])
    if "dtype" in options.checks and type(actual) is not type(expected):
        names = f"{type(actual)} != {type(expected)}"
        options.fail(f"The (d)types do not match: {names}.", where)
    if actual == expected or (options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if math.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return
    relative = difference / abs(expected) if expected else math.inf
    text = _bounds("Scalars", rtol, atol) + f"Expected {expected} but got {actual}.\n"
    text += f"Absolute difference: {difference}{_allowed(atol)}\nRelative difference: {relative}{_allowed(rtol)}"
    options.fail(text, where)


def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options, where: str) -> None:
    if actual.shape != expected.shape:
        shapes = f"{actual.shape} != {expected.shape}"
        options.fail(f"The values for attribute 'shape' do not match: {shapes}.", where)
    for attribute in ("device", "dtype", "layout"):
        a, e = getattr(actual, attribute), getattr(expected, attribute)
        if attribute in options.checks and a != e:
            options.fail(f"The values for attribute '{attribute}' do not match: {a} != {e}.", where)
    if "stride" in options.checks and actual.stride() != expected.stride():
        strides = f"{actual.stride()} != {expected.stride()}"
        options.fail(f"The values for attribute 'stride()' do not match: {strides}.", where)
    if actual.is_meta or expected.is_meta:
        return  # no elements
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    common = _C.promote_types(actual.dtype, expected.dtype)
    a, e = actual.detach().to(common), expected.detach().to(common)
    if common is _C.bool:
        a, e = a.to(_C.int64), e.to(_C.int64)
    close = a.isclose(e, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if bool(close.all()):
        return
    total = close.numel()
    wrong = total - int(close.sum())
    text = _bounds("Tensor-likes", rtol, atol)
    if a.dim() == 0:
        text = _bounds("Scalars", rtol, atol) + f"Expected {e.item()} but got {a.item()}.\n"
    else:
        text += f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})\n"
    difference = (a - e).abs()
    for name, values, bound in (
        ("absolute", difference, atol),
        ("relative", difference / e.abs(), rtol),
    ):
        flat = values.masked_fill(close, 0).reshape(-1)
        place = int(flat.argmax())
        if a.dim() == 0:
            text += f"{name.capitalize()} difference: {flat[place].item()}{_allowed(bound)}\n"
        else:
            index = []
            rest = place
            for size in reversed(a.shape):
                rest, at = divmod(rest, size)
                index.append(at)
            at_index = tuple(reversed(index))
            text += f"Greatest {name} difference: {flat[place].item()} at index {at_index}{_allowed(bound)}\n"
    options.fail(text.rstrip("\n"), where)


def _as_tensor(x: Any) -> Tensor | None:
    if isinstance(x, Tensor):
        return x
    try:
        return _C.as_tensor(x)
    except Exception:
        return None


def _compare(actual: Any, expected: Any, options: _Options, where: str) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            options.fail(f"None mismatch: {actual} is not {expected}", where)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            text = "The keys of the mappings do not match:"
            missing = sorted(map(repr, expected.keys() - actual.keys()))
            extra = sorted(map(repr, actual.keys() - expected.keys()))
            text += f"\nMissing keys in the actual mapping: [{', '.join(missing)}]" if missing else ""
            text += f"\nAdditional keys in the actual mapping: [{', '.join(extra)}]" if extra else ""
            options.fail(text, where)
        for key in expected:
            _compare(actual[key], expected[key], options, f"{where}[{key!r}]")
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            options.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where)
        for i, (a, e) in enumerate(zip(actual, expected)):
            _compare(a, e, options, f"{where}[{i}]")
    elif type(actual) in _NUMBERS and type(expected) in _NUMBERS:
        _compare_numbers(actual, expected, options, where)
    else:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        a, e = (_as_tensor(actual), _as_tensor(expected)) if related else (None, None)
        if a is None or e is None or type(actual) in _NUMBERS or type(expected) in _NUMBERS:
            kinds = f"{type(actual)} and {type(expected)}"
            options.fail(f"No comparison pair was able to handle inputs of type {kinds}.", where, TypeError)
        else:
            _compare_tensors(a, e, options, where)


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert that |actual - expected| <= atol + rtol * |expected| for all elements, and that shapes and dtypes agree.

    Args:
        actual, expected: tensors, arrays or numbers, or sequences or mappings of them.
        allow_subclasses: False: the types must be the same.
        rtol, atol: both or neither; by default those of the dtype (float32: 1.3e-6 and 1e-5; float64: 1e-7 both;
            integers: 0).
        equal_nan: NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: what else must be the same.
        msg: the text of the error, or a function of the text that would be used.

    Raises:
        AssertionError: they differ; the text says where most.
        TypeError: values that cannot be compared.

    Example:
        >>> import tandem
        >>> tandem.testing.assert_close(tandem.ones(3) / 3, tandem.full((3,), 0.3333333))
    """
    if not allow_subclasses and type(actual) is not type(expected):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")
    chosen = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    options = _Options(rtol, atol, equal_nan, {name for name, on in chosen.items() if on}, msg)
    _compare(actual, expected, options, "")


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older spelling of `assert_close`, which compares values only and lets NaN equal NaN.

    Args:
        actual, expected: tensors, or what `tandem.tensor` takes.
        rtol, atol: both or neither; by default those of the dtype.
        equal_nan: NaN equals NaN.
        msg: the text of the error; empty for the one that says where they differ.

    >>> import tandem
    >>> tandem.testing.assert_allclose([1.0, 2.0], tandem.tensor([1.0, 2.0]))
    """
    assert_close(
        actual if isinstance(actual, Tensor) else _C.tensor(actual),
        expected if isinstance(expected, Tensor) else _C.tensor(expected),
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=False,
        check_dtype=False,
        msg=msg or None,
    )


def _range(
    dtype: Any, low: float | None, high: float | None, usual: tuple[float, float], held: tuple[float, float]
) -> tuple[float, float]:
    """`low` and `high`, or the usual ones, as far as the dtype holds what is between them."""
    least = usual[0] if low is None else low
    end = usual[1] if high is None else high
    if least != least or end != end:  # integers may be beyond all that isnan takes
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={least} and high={end}")
    if least == end and dtype.is_floating_point:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif least >= end:
        raise ValueError(f"`low` must be less than `high`, but got {least} >= {end}")
    elif end < held[0] or least >= held[1]:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{least}, {end}), but {dtype} only supports "
            f"[{held[0]}, {held[1]})"
        )
    return min(max(least, held[0]), held[1]), min(max(end, held[0]), held[1])


def make_tensor(
    *shape: int | Sequence[int],
    dtype: _C.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of uniform draws from `low` on, below `high`.

    Args:
        shape: the sizes, one by one or as a sequence.
        dtype, device: of the result.
        low, high: by default -9 and 9 for floating dtypes, -9 and 10 for integers, 0 and 2 for bool; what the dtype
            does not hold is cut off.
        requires_grad: of floating tensors.
        noncontiguous: every second element of a row of twice as many, where there are several.
        exclude_zero: 1, or of floating dtypes the smallest normal number, in place of 0.
        memory_format: as of `clone`; not with `noncontiguous`.

    Raises:
        ValueError: `requires_grad` of integers, an empty or impossible range, `noncontiguous` and `memory_format`.

    >>> import tandem
    >>> x = tandem.testing.make_tensor((2, 3), dtype=tandem.float32, device="cpu", low=0, high=1)
    >>> x.shape, bool(((x >= 0) & (x < 1)).all())
    (tandem.Size([2, 3]), True)
    """
    given: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    sizes = tuple(given)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    floating = dtype.is_floating_point
    if requires_grad and not floating:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    apart = noncontiguous and math.prod(sizes) > 1
    drawn = (*sizes[:-1], 2 * sizes[-1]) if apart else sizes
    if floating:
        limits = finfo(dtype)
        least, end = _range(dtype, low, high, (-9, 9), (limits.min, limits.max))
        # Of the whole range of a dtype the width is no number of it.
        half = _C.empty(drawn, dtype=dtype, device=device).uniform_(least / 2, end / 2)
        out = half.mul_(2) if end - least > limits.max else half.uniform_(least, end)
    else:
        if dtype is _C.bool:
            least, end = _range(dtype, low, high, (0, 2), (0, 2))
        else:
            held = iinfo(dtype)
            last = held.max if dtype is _C.int64 else held.max + 1
            least, end = _range(dtype, low, high, (-9, 10), (held.min, last))
        out = _C.randint(math.ceil(least), math.ceil(end), drawn, dtype=dtype, device=device)
    if apart:
        out = out[..., 1::2]
    elif memory_format is not None:
        out = out.clone(memory_format=memory_format)
    if exclude_zero:
        out.masked_fill_(out == 0, finfo(dtype).tiny if floating else 1)
    return out.requires_grad_(requires_grad)
