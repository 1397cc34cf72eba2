"""What PyTorch's `torch.fx.experimental.symbolic_shapes` asks of sizes: here sizes are numbers, and questions about
them have answers."""

from __future__ import annotations

from typing import Any

from tandem._stand_in import lacking_classes


def guard_bool(a: Any) -> bool:
    """Does `a` hold?"""
    return bool(a)


guard_or_false = guard_or_true = guard_size_oblivious = statically_known_true = expect_true = guard_bool


def statically_known_false(x: Any) -> bool:
    """Does `x` not hold?"""
    return not x


def guard_int(a: int) -> int:
    """The number itself."""
    return int(a)


def guard_float(a: float) -> float:
    """The number itself."""
    return float(a)


def guard_scalar(a: Any) -> Any:
    """The number itself."""
    return a


def is_concrete_int(a: Any) -> bool:
    """True: every size is a number."""
    return True


is_concrete_bool = is_concrete_float = has_static_value = is_concrete_int


def is_symbolic(val: Any) -> bool:
    """False: no size is a symbol."""
    return False


has_free_symbols = has_free_unbacked_symbols = is_nested_int = is_symbolic


def free_symbols(val: Any) -> set[Any]:
    """No symbols."""
    return set()


free_unbacked_symbols = free_symbols


def sym_and(x: Any, *others: Any) -> bool:
    """Do all hold?"""
    return bool(x) and all(others)


def sym_or(x: Any, *others: Any) -> bool:
    """Does one hold?"""
    return bool(x) or any(others)


def sym_eq(x: Any, y: Any) -> bool:
    """Are they equal?"""
    return bool(x == y)


globals().update(
    lacking_classes("tandem.fx.experimental.symbolic_shapes", "ShapeEnv DimDynamic StatelessSymbolicContext")
)
globals().update(lacking_classes("tandem", "SymBool SymFloat SymInt"))
