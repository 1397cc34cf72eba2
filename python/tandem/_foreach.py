"""Operations on lists of tensors, under PyTorch's private names `_foreach_add` and so on, which optimizers written for
it call. Each does the operation on every tensor of the first list; other lists go along, all else is for each. In-place
forms return the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import tandem
from tandem import _C

Tensor = _C.Tensor

_PLAIN = """
abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor frac lerp lgamma
log log10 log1p log2 mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc
""".split()
_WITHOUT_IN_PLACE = ["max", "maximum", "minimum"]
# Single operations, which a list goes through together: on a GPU by a launch or two for all tensors.
_SINGLE = set(
    """
abs acos add asin atan ceil cos cosh div erf erfc exp expm1 floor frac lgamma log log10 log1p log2 maximum minimum mul
neg reciprocal rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc
""".split()
)


def _goes_together(self: Sequence[Tensor], args: tuple[Any, ...]) -> bool:
    """Are these lists of tensors, and tensors and numbers for all, of which no class has a say?"""
    if _C._is_recording() or not isinstance(self, (list, tuple)):
        return False
    types = {*map(type, self)}
    for a in args:
        types |= {*map(type, a)} if isinstance(a, (list, tuple)) else {type(a)}
    return types <= {Tensor, tandem.nn.Parameter, int, float}


def _each(name: str, in_place: bool) -> Callable[..., Any]:
    method = getattr(Tensor, name)
    single = name.removesuffix("_") if in_place else name

    def function(self: Sequence[Tensor], *args: Any, **options: Any) -> Any:
        for a in args:
            if isinstance(a, (list, tuple)) and len(a) != len(self):
                raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(self)} and {len(a)}")
        if single in _SINGLE and not options and _goes_together(self, args):
            made = _C._each(single, in_place, self, *args)
            return self if in_place else made
        # The factor of addcmul and addcdiv may come by its place here.
        *rest, factors = args if name.startswith("addc") and len(args) == 3 else (*args, None)
        columns = [a if isinstance(a, (list, tuple)) else repeat(a) for a in rest]
        if isinstance(factors, (list, tuple)):
            made = [method(t, *row, value=value) for t, value, *row in zip(self, factors, *columns, strict=False)]
        else:
            if factors is not None:
                options = {**options, "value": factors}
            made = list(map(partial(method, **options) if options else method, self, *columns))
        return self if in_place else made

    function.__name__ = function.__qualname__ = f"_foreach_{name}"
    function.__doc__ = f"`Tensor.{name}` of every tensor of a list."
    return function


def _written(name: str) -> Callable[..., Any]:
    """The in-place form of what tensors lack one of."""
    plain = _each(name, False)

    def function(self: Sequence[Tensor], *args: Any) -> Sequence[Tensor]:
        for t, value in zip(self, plain(self, *args), strict=True):
            t.copy_(value)
        return self

    function.__name__ = function.__qualname__ = f"_foreach_{name}_"
    return function


def _foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: _C.dtype | None = None) -> list[Tensor]:
    """`Tensor.norm` of order `ord` of every tensor of a list."""
    return [t.norm(ord, dtype=dtype) for t in self]


def _foreach_pow(self: Any, exponent: Any) -> list[Tensor]:
    """`tandem.pow` of every tensor of a list, or of one base and every tensor of a list."""
    if isinstance(self, (list, tuple)):
        return _POWERS(self, exponent)
    return [tandem.pow(self, e) for e in exponent]


_POWERS = _each("pow", False)
FOREACH = {f"_foreach_{name}": _each(name, False) for name in (*_PLAIN, *_WITHOUT_IN_PLACE)}
FOREACH |= {"_foreach_norm": _foreach_norm, "_foreach_pow": _foreach_pow}
FOREACH |= {f"_foreach_{name}_": _each(f"{name}_", True) for name in (*_PLAIN, "copy", "zero")}
FOREACH |= {f"_foreach_{name}_": _written(name) for name in ("maximum", "minimum")}
