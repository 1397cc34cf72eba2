"""Control flow that depends on values, and functions of numbers that PyTorch may know as symbols.

A branch is taken by the value of the predicate, which is read (of a `vmap` whose examples have their own, both are):
compiled functions run their body on every call then, and what needs a whole trace (`compile(fullgraph=True)`,
`export`) says so.
"""

from __future__ import annotations

import builtins
import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from tandem import _C

__all__ = [
    "cond",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
    "while_loop",
]

Tensor = _C.Tensor


def _leaves(tree: Any) -> list[Any]:
    """What lists, tuples and dicts hold, from left to right."""
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in _leaves(part)]
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in _leaves(part)]
    return [tree]


def _copied(tree: Any) -> Any:
    """The same with copies of the tensors."""
    if isinstance(tree, (list, tuple)):
        parts = [_copied(part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, dict):
        return {key: _copied(part) for key, part in tree.items()}
    return tree.clone() if isinstance(tree, Tensor) else tree


def cond(
    pred: bool | int | float | Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:
    """`true_fn(*operands)` where `pred` holds, else `false_fn(*operands)`; the other one is not called.

    Inside `vmap`, where `pred` differs between the examples, both are called, and each example takes its own result.

    Args:
        pred: a number or a tensor of one element.
        true_fn, false_fn: functions of the operands; results of one structure, shape and dtype if both are called.
        operands: tensors, also in lists, tuples and dicts.

    Raises:
        RuntimeError: another `pred`, branches that cannot be called, other operands with a tensor as `pred`, results
            that differ if both are called.
        DataReadError: where a function that calls it is traced as a whole, and `pred` is a tensor.

    >>> import tandem
    >>> x = tandem.tensor([1.0, 2.0])
    >>> tandem.cond(x.sum() > 2, lambda x: x + 1, lambda x: x - 1, (x,))
    tensor([2., 3.])
    """
    if not isinstance(pred, (builtins.bool, builtins.int, builtins.float)):
        if not isinstance(pred, Tensor):
            raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
        if pred.numel() != 1:
            raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
        if not callable(true_fn) or not callable(false_fn):
            raise RuntimeError("Expect both branches to be callable.")
        if not isinstance(operands, (tuple, list)) or not all(isinstance(t, Tensor) for t in _leaves(operands)):
            raise RuntimeError(
                "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
                f"but got {operands}."
            )
        if _C._batch_axes(pred):
            return _of_each(pred, true_fn(*operands), false_fn(*operands))
    return true_fn(*operands) if pred else false_fn(*operands)


def _of_each(pred: Tensor, if_true: Any, if_false: Any) -> Any:
    """The results of both branches, chosen between for each example of a vmap."""
    from tandem.utils._pytree import same_structure, tree_flatten, tree_unflatten

    (these, spec), (those, other) = tree_flatten(if_true), tree_flatten(if_false)
    if not same_structure(spec, other) or not all(map(_alike, these, those)):
        kinds = (", ".join(map(_kind, leaves)) for leaves in (these, those))
        raise RuntimeError("cond: expected both branches to return the same, but got ({}) and ({})".format(*kinds))
    holds = pred.reshape(()).bool()
    chosen = [_C.where(holds, a, b) if isinstance(a, Tensor) else a for a, b in zip(these, those)]
    return tree_unflatten(chosen, spec)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: tuple[Any, ...] | list[Any]
) -> Any:
    """`carried_inputs = body_fn(*carried_inputs)` as long as `cond_fn(*carried_inputs)` holds; the last of them.

    Args:
        cond_fn: gives a bool, or a tensor of one element.
        body_fn: gives as many values as it takes, tensors of the same shapes and dtypes.
        carried_inputs: tensors and ints, also in lists, tuples and dicts.

    Tensors of the result are none of `carried_inputs`.

    Raises:
        RuntimeError: functions that cannot be called, other inputs, or results of `body_fn` that differ from them.
        DataReadError: where a function that calls it is traced as a whole, and `cond_fn` gives a tensor.

    >>> import tandem
    >>> tandem.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (tandem.tensor(0), tandem.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    first = _leaves(carried_inputs)
    if not isinstance(carried_inputs, (tuple, list)) or not all(isinstance(t, (Tensor, builtins.int)) for t in first):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only consists of tensor or "
            f"int leaves, but got {carried_inputs}."
        )
    values: Any = carried_inputs
    while _holds(cond_fn(*values)):
        values = body_fn(*values)
        values = values if isinstance(values, (tuple, list)) else (values,)
        _check_same(first, _leaves(values))
    return _copied(values) if values is carried_inputs else values


def _holds(answer: Any) -> bool:
    if isinstance(answer, Tensor) and answer.numel() != 1:
        raise RuntimeError(
            f"while_loop: expected cond_fn to return a bool or a tensor of one element, but got shape "
            f"{list(answer.shape)}"
        )
    return builtins.bool(answer)


def _kind(value: Any) -> str:
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.dtype is b.dtype and a.shape == b.shape
    return type(a) is type(b)


def _check_same(first: list[Any], now: list[Any]) -> None:
    if len(first) != len(now) or not all([_alike(a, b) for a, b in zip(first, now)]):
        before, after = ", ".join(map(_kind, first)), ", ".join(map(_kind, now))
        raise RuntimeError(
            f"while_loop: expected body_fn to return values like carried_inputs, ({before}), but got ({after})"
        )


# ---- numbers


def _floating(value: Any) -> bool:
    return isinstance(value, builtins.float) or not isinstance(value, (builtins.int, numbers.Integral))


def _extreme(choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    for value in (a, b):
        if not isinstance(value, (builtins.int, builtins.float, numbers.Real)):
            raise AssertionError(f"expected an int or a float, got {type(value)}")
    chosen = choose(a, b)
    return builtins.float(chosen) if _floating(a) or _floating(b) else chosen


def sym_max(a: float, b: float) -> float:
    """The larger number, a float if either is one. AssertionError for anything but ints and floats.

    >>> import tandem
    >>> tandem.sym_max(3, 2.0)
    3.0
    """
    return _extreme(builtins.max, a, b)


def sym_min(a: float, b: float) -> float:
    """The smaller number, a float if either is one. AssertionError for anything but ints and floats.

    >>> import tandem
    >>> tandem.sym_min(3, 2)
    2
    """
    return _extreme(builtins.min, a, b)


def sym_int(a: Any) -> int:
    """The number as an int, rounded towards zero.

    >>> import tandem
    >>> tandem.sym_int(-2.7)
    -2
    """
    return builtins.int(a)


def sym_float(a: Any) -> float:
    """The number as a float.

    >>> import tandem
    >>> tandem.sym_float(2)
    2.0
    """
    return builtins.float(a)


def sym_not(a: Any) -> bool:
    """`not a`.

    >>> import tandem
    >>> tandem.sym_not(True)
    False
    """
    return not a


def sym_sqrt(a: float) -> float:
    """The square root, as a float. ValueError for a negative number.

    >>> import tandem
    >>> tandem.sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


def sym_sum(*args: float | Sequence[float]) -> float:
    """The sum of the arguments, or of those in one list or tuple.

    >>> import tandem
    >>> tandem.sym_sum([1, 2, 3]), tandem.sym_sum(1, 2)
    (6, 3)
    """
    numbers: Any = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return builtins.sum(numbers)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t` where `b` is True, else `f`. AssertionError unless `b` is a bool, and the others have one type.

    >>> import tandem
    >>> tandem.sym_ite(False, 1, 2)
    2
    """
    if not isinstance(b, builtins.bool):
        raise AssertionError(f"expected bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f
