"""Operations on lists of tensors, under PyTorch's private names `_foreach_add` and so on, which optimizers written for
it call. Each does the operation on every tensor of the first list; other lists go along, all else is for each. In-place
forms return the list, the others a tuple."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import tandem
from tandem import _C

Tensor = _C.Tensor

_PLAIN = """
abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor frac lerp lgamma
log log10 log1p log2 mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc
""".split()
_WITHOUT_IN_PLACE = ["clone", "max", "maximum", "minimum", "mm"]
# Single operations, which a list goes through together: on a GPU by a launch or two for all tensors.
_SINGLE = set(
    """
abs acos add asin atan ceil cos cosh div erf erfc exp expm1 floor frac lgamma log log10 log1p log2 maximum minimum mul
neg reciprocal rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc
""".split()
)


_NEEDED = object()


class _Operand(NamedTuple):
    """What goes along with the first list: by its place, or by one of the names."""

    names: tuple[str, ...]
    tensors: bool = False  # a list of tensors, nothing else
    default: Any = _NEEDED


_OTHER = _Operand(("other", "scalar", "scalars"))
_FACTOR = _Operand(("value", "scalars"), default=1)
_OPERANDS: dict[str, tuple[_Operand, ...]] = {
    **dict.fromkeys("add clamp_max clamp_min div maximum minimum mul sub".split(), (_OTHER,)),
    **dict.fromkeys(["addcdiv", "addcmul"], (_Operand(("tensor1",), True), _Operand(("tensor2",), True), _FACTOR)),
    "copy_": (_Operand(("src",), True), _Operand(("non_blocking",), default=False)),
    "lerp": (_Operand(("tensors1",), True), _Operand(("weight", "weights"))),
    "mm": (_Operand(("mat2",), True),),
    "pow": (_Operand(("exponent",)),),
}
_OPTIONS = {"add": {"alpha"}, "sub": {"alpha"}, "clone": {"memory_format"}}
# What these are where the other one is a number. Tensors have no in-place form of them.
_BOUNDS = {"maximum": Tensor.clamp_min, "minimum": Tensor.clamp_max}


def _are_tensors(values: Sequence[Any]) -> bool:
    """Tensors all, or of classes that have a say in operations on tensors?"""
    kinds = {*map(type, values)}
    return kinds <= {Tensor, tandem.nn.Parameter} or all(hasattr(kind, "__torch_function__") for kind in kinds)


def _need_tensors(function: str, place: int, values: Any) -> None:
    if not isinstance(values, (list, tuple)):
        kind = type(values).__name__
        raise TypeError(f"{function}(): argument {place + 1} must be a list or a tuple of tensors, not {kind}")
    if not values:
        raise RuntimeError("Tensor list must have at least one tensor.")
    if not _are_tensors(values):
        i = next(i for i, value in enumerate(values) if not _are_tensors([value]))
        kind = type(values[i]).__name__
        raise TypeError(f"expected Tensor as element {i} in argument {place}, but got {kind}")


def _operands(name: str, function: str, args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
    """A value for every operand; in `options` what is none of them stays."""
    operands = _OPERANDS.get(name, ())
    if len(args) > len(operands):
        given = f"{len(args) + 1} were given"
        raise TypeError(f"{function}() takes at most {len(operands) + 1} positional arguments, but {given}")
    values = list(args)
    for operand in operands[len(args) :]:
        named = [options.pop(n) for n in operand.names if n in options]
        if len(named) > 1 or (not named and operand.default is _NEEDED):
            raise TypeError(f"{function}() needs one of its arguments {' or '.join(map(repr, operand.names))}")
        values.append(named[0] if named else operand.default)
    if unknown := options.keys() - _OPTIONS.get(name, set()):
        raise TypeError(f"{function}() got an unexpected keyword argument {min(unknown)!r}")
    return values


def _checked(function: str, place: int, operand: _Operand, count: int, value: Any, scaled: bool) -> Any:
    """The value of an operand, as it goes along with `count` tensors. What is `scaled` by alpha are tensors."""
    if isinstance(value, Tensor) and operand is _FACTOR:
        if value.ndim != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {value.ndim} instead.")
        if len(value) != count:
            raise RuntimeError(
                f"Expected length of scalars to match input of length {count} but got {len(value)} instead."
            )
        return value.tolist()
    if isinstance(value, Tensor) and not operand.tensors:
        if value.ndim:
            error = RuntimeError if function.strip("_") in ("foreach_add", "foreach_mul", "foreach_div") else TypeError
            raise error(f"{function}(): a tensor for all tensors of the list must have 0 dims, but it has {value.ndim}")
        return value
    numbers = isinstance(value, (list, tuple)) and (not value or not _are_tensors(value[:1]))
    if operand.tensors or (isinstance(value, (list, tuple)) and not numbers) or scaled:
        _need_tensors(function, place, value)
    elif not isinstance(value, (list, tuple)):
        return value
    if len(value) != count:
        if numbers:
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}")
    return value


def _goes_together(self: Sequence[Tensor], args: Sequence[Any]) -> bool:
    """Are these lists of tensors, and tensors and numbers for all, of which no class has a say?"""
    if _C._is_recording():
        return False
    types = {*map(type, self)}
    for a in args:
        types |= {*map(type, a)} if isinstance(a, (list, tuple)) else {type(a)}
    return types <= {Tensor, tandem.nn.Parameter, int, float}


def _bounded(method: Callable[..., Tensor], bound: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda t, other: (method if isinstance(other, Tensor) else bound)(t, other)


def _each(name: str, in_place: bool) -> Callable[..., Any]:
    single = name.removesuffix("_") if in_place else name
    known = name if name in _OPERANDS else single
    title = f"_foreach_{name}"
    method = getattr(Tensor, name)
    each = _bounded(method, _BOUNDS[name]) if name in _BOUNDS else method

    def function(self: Sequence[Tensor], *args: Any, **options: Any) -> Any:
        _need_tensors(title, 0, self)
        values: list[Any] = []
        places = _OPERANDS.get(known, ())
        for place, value in enumerate(_operands(known, title, args, options)):
            values.append(_checked(title, place + 1, places[place], len(self), value, "alpha" in options))
        if single in _SINGLE and not options and _goes_together(self, values):
            made = _C._each(single, in_place, self, *values)
            return self if in_place else tuple(made)
        columns = [a if isinstance(a, (list, tuple)) else repeat(a) for a in values]
        if places and places[-1] is _FACTOR:
            *rest, factors = columns
            made = [each(t, *row, value=value) for t, value, *row in zip(self, factors, *rest, strict=False)]
        else:
            made = list(map(partial(each, **options) if options else each, self, *columns))
        return self if in_place else tuple(made)

    function.__name__ = function.__qualname__ = title
    function.__doc__ = f"`Tensor.{name}` of every tensor of a list."
    return function


def _written(name: str) -> Callable[..., Any]:
    """The in-place form of what tensors lack one of."""
    plain = _each(name, False)

    def function(self: Sequence[Tensor], *args: Any, **options: Any) -> Sequence[Tensor]:
        for t, value in zip(self, plain(self, *args, **options), strict=True):
            if not tandem.can_cast(value.dtype, t.dtype):
                raise RuntimeError(f"result type {value.dtype} can't be cast to the desired output type {t.dtype}")
            t.copy_(value)
        return self

    function.__name__ = function.__qualname__ = f"_foreach_{name}_"
    return function


def _foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: _C.dtype | None = None) -> tuple[Tensor, ...]:
    """`Tensor.norm` of order `ord` of every tensor of a list."""
    _need_tensors("_foreach_norm", 0, self)
    if not isinstance(ord, (int, float)):
        raise TypeError(f"_foreach_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    return tuple(t.norm(ord, dtype=dtype) for t in self)


def _foreach_powsum(self: Sequence[Tensor], ord: Any = 2, dtype: _C.dtype | None = None) -> tuple[Tensor, ...]:
    """The sum of the powers `ord` of the magnitudes of every tensor of a list."""
    _need_tensors("_foreach_powsum", 0, self)
    return tuple((t if dtype is None else t.to(dtype)).abs().pow(ord).sum() for t in self)


def _foreach_pow(self: Any, exponent: Any) -> tuple[Tensor, ...]:
    """`tandem.pow` of every tensor of a list, or of one base and every tensor of a list."""
    if isinstance(self, (list, tuple)):
        return _POWERS(self, exponent)
    _need_tensors("_foreach_pow", 1, exponent)
    return tuple(tandem.pow(self, e) for e in exponent)


_POWERS = _each("pow", False)
FOREACH = {f"_foreach_{name}": _each(name, False) for name in (*_PLAIN, *_WITHOUT_IN_PLACE)}
FOREACH |= {f.__name__: f for f in (_foreach_norm, _foreach_pow, _foreach_powsum)}
FOREACH |= {f"_foreach_{name}_": _each(f"{name}_", True) for name in (*_PLAIN, "copy", "zero")}
FOREACH |= {f"_foreach_{name}_": _written(name) for name in _BOUNDS}
