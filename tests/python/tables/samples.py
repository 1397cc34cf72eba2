"""Arguments for every operation, by the generator that its record names.

`samples(op, dtype)` yields (args, kwargs). float64 arrays take the dtype under test; integer and bool arrays are
indices and masks, and stay. `for_gradients(op)` yields few and small ones, for which central differences are
meaningful. Operations of one structure share a generator here; the others have rows of their own in sample_rows.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from operations import Operation
from sample_rows import ROWS as ROWS_OF_TENSORS
from sample_rows import SPECIAL, Sample, Values, call
from sample_rows_math import ROWS as MATH_ROWS
from sample_rows_math import shifts
from sample_rows_nn import ROWS_NN
from shape_rows import ROWS as SHAPE_ROWS

import tandem

ROWS = ROWS_OF_TENSORS | ROWS_NN

# ---- by structure ---------------------------------------------------------------------------------------------------


def unary(op: Operation, v: Values) -> Iterator[Sample]:
    for shape in ((4, 5), (37,), (2, 3, 4), (), (0, 3)):
        yield call(v(*shape))
    yield call(np.tile(SPECIAL, 5))


def binary(op: Operation, v: Values) -> Iterator[Sample]:
    second = v.away_from_zero
    for shapes in (
        ((4, 5), (4, 5)),
        ((4, 1), (5,)),
        ((3, 1, 4), (2, 1)),
        ((), (6,)),
        ((), ()),
        ((0, 3), (1, 3)),
        ((37,), (1,)),
    ):
        yield call(v(*shapes[0]), second(*shapes[1]))
    if op.params[1][1] == "Operand":
        for number in (3, 2.5):
            yield call(v(4, 5), number)
    if op.params[0][1] == "Operand":
        yield call(3, second(4, 5))
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    if op.types != "Promote" or "divide" not in op.name:
        yield call(a, b)


def power(op: Operation, v: Values) -> Iterator[Sample]:
    for shapes in (((4, 5), (4, 5)), ((4, 1), (5,)), ((), (6,)), ((0, 3), (1, 3))):
        yield call(v(*shapes[0], low=0.2), v(*shapes[1], low=0.2, high=2))
    for number in (0, 1, 2, 3, 0.5, 2.5):
        yield call(v(4, 5, low=0.2), number)
    yield call(2, v(4, 5, low=0.2))


def integers(op: Operation, v: Values) -> Iterator[Sample]:
    if len(op.params) == 1:
        yield from unary(op, v)
        return
    for shapes in (((4, 5), (4, 5)), ((4, 1), (5,)), ((), (6,)), ((0, 3), (1, 3))):
        yield call(v(*shapes[0]), v(*shapes[1]))
    yield call(v(4, 5), 1)


def where(op: Operation, v: Values) -> Iterator[Sample]:
    yield call(v.mask(4, 5), v(4, 5), v(4, 5))
    yield call(v.mask(4, 1), v(5), v(1, 5))
    yield call(v.mask(6), 2, v(6))
    yield call(v.mask(6), v(), 3)
    yield call(v.mask(0, 3), v(3), v(1, 1))


def reduction(op: Operation, v: Values) -> Iterator[Sample]:
    x = v(4, 5, 6)
    yield call(x)
    for dim, keep in ((0, False), (1, True), (-1, False)):
        yield call(x, dim, keep)
    if op.name != "prod":  # which takes one dim
        yield call(x, (0, 2), True)
        yield call(x, [1, 2], False)
        yield call(x, dim=(0, 1), keepdim=False)
    yield call(v(300))
    yield call(v(3, 67), 1)
    yield call(v(67, 3), 0)
    yield call(v())
    yield call(v(0, 3), 1)
    if op.name not in ("amax", "amin"):
        yield call(v(0, 3), 0)
        yield call(v(0, 3))
    yield call(np.tile(SPECIAL[:3], (2, 3)), 0)


ROWS |= SHAPE_ROWS | MATH_ROWS
BY_NAME = ("view", "creation", "random", "library", "composite")
GENERATORS = {
    "unary": unary,
    "binary": binary,
    "power": power,
    "integers": integers,
    "shifts": shifts,
    "where": where,
    "reduction": reduction,
    # Domains too narrow for common samples: tests of their own (test_special_functions.py, test_distributions.py).
    "none": lambda op, v: iter(()),
}
# Factories take the dtype under test as an argument.
FACTORIES = (
    "arange arange_end empty eye full linspace logspace ones rand randint randint_high randn randperm zeros".split()
)


def samples(op: Operation, dtype: str) -> Iterator[Sample]:
    """The samples of an operation for a dtype."""
    v = Values(op)
    rows = ROWS[op.name](v) if op.samples in BY_NAME else GENERATORS[op.samples](op, v)
    for args, kwargs in rows:
        if op.name in FACTORIES:
            kwargs = {**kwargs, "dtype": getattr(tandem, dtype)}
        if dtype in ("int64", "int32", "int16", "int8", "uint8", "bool"):
            # Integers hold neither NaN nor infinities.
            if any(np.isnan(a).any() for a in arrays((args, kwargs))):
                continue
        yield args, kwargs


def arrays(tree: Any) -> Iterator[np.ndarray]:
    """The arrays in a sample that take the dtype under test."""
    if isinstance(tree, np.ndarray):
        if tree.dtype == np.float64:
            yield tree
    elif isinstance(tree, dict):
        yield from arrays(tuple(tree.values()))
    elif isinstance(tree, (list, tuple)):
        for t in tree:
            yield from arrays(t)


def for_gradients(op: Operation) -> Iterator[Sample]:
    """A few samples of moderate size without special values."""
    rows = [s for s in samples(op, "float64") if any(True for _ in arrays(s))]
    finite = [s for s in rows if all(np.isfinite(a).all() and 0 < a.size <= 150 for a in arrays(s))]
    return itertools.islice(iter(finite), 6)
