"""Every operation on tensors with zeros in every place of their shapes: forward, backward, eager, lazy and compiled.

The arguments are the samples of test_operations.py with one extent after the other set to 0: everywhere that it occurs,
also among the sizes in the arguments, and in one tensor alone. What an operation makes of them, a result or an error,
is the same in every mode; gradients have the shapes of what they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import run_in
from operations import VISIBLE, Operation, Typed, dtypes, leaves, map_leaves
from samples import samples

import tandem

ERRORS = (RuntimeError, ValueError, IndexError, TypeError)
# What differs from run to run, or from seed to seed.
UNSET = ("empty", "empty_like", "empty_strided", "new_empty")
MOST = 16


def cleared(array: np.ndarray, places: set[int]) -> np.ndarray:
    return np.zeros([0 if d in places else n for d, n in enumerate(array.shape)], array.dtype)


def variants(args: Any, kwargs: Any) -> Iterator[tuple[Any, Any]]:
    """One sample with zeros: an extent everywhere, with the sizes that equal it and without, and one dim alone."""
    arrays = leaves((args, kwargs), np.ndarray)
    for extent in sorted({n for a in arrays for n in a.shape if n > 0}):

        def everywhere(a: np.ndarray, extent: int = extent) -> np.ndarray:
            places = {d for d, n in enumerate(a.shape) if n == extent}
            return cleared(a, places) if places else a

        joined = map_leaves((args, kwargs), np.ndarray, everywhere)
        yield joined

        def size(n: int, extent: int = extent) -> int:
            return 0 if n == extent and type(n) is int else n

        yield map_leaves(joined, int, size)
    for number, array in enumerate(arrays):
        for place in range(array.ndim):
            count = iter(range(len(arrays)))

            def alone(a: np.ndarray, count: Any = count, number: int = number, place: int = place) -> np.ndarray:
                return cleared(a, {place}) if next(count) == number else a

            yield map_leaves((args, kwargs), np.ndarray, alone)
    if arrays:
        yield map_leaves((args, kwargs), np.ndarray, lambda a: cleared(a, set(range(a.ndim))))


def empties(op: Operation, dtype: str) -> Iterator[tuple[Any, Any]]:
    """What differs among all variants of all samples, few of each rank."""
    seen: set[str] = set()
    counts: dict[str, int] = {}
    for sample in samples(op, dtype):
        ranks = repr(map_leaves(sample, np.ndarray, lambda a: a.ndim))
        for variant in variants(*sample):
            if all(a.size for a in leaves(variant, np.ndarray)):
                continue
            key = repr(map_leaves(variant, np.ndarray, lambda a: (a.shape, a.dtype)))
            if key in seen or counts.setdefault(ranks, 0) >= MOST:
                continue
            seen.add(key)
            counts[ranks] += 1
            yield variant


def outcome(call: Any) -> Any:
    """What `call` returns, as comparable data, or what it raises."""
    tandem.manual_seed(3)
    try:
        results = call()
    except tandem.OutOfMemoryError:
        raise
    except ERRORS as error:
        assert "internal error" not in str(error), error
        return type(error), str(error).split("\n  recorded at ")[0]
    return [
        None if t is None else (tuple(t.shape), t.dtype, t.requires_grad, t.detach().contiguous().numpy().tobytes())
        for t in results
    ]


def with_gradients(typed: Typed, tensors: list[tandem.Tensor]) -> list[Any]:
    """The results, and the gradients of those that have any."""
    wanted = [t.detach().requires_grad_() if t.is_floating_point() else t for t in tensors]
    results = typed.run(wanted)
    tracked = [r for r in results if r.requires_grad]
    inputs = [t for t in wanted if t.requires_grad]
    if not tracked or not inputs:
        return results
    grads = tandem.autograd.grad(tracked, inputs, [tandem.ones_like(r) for r in tracked], allow_unused=True)
    for t, g in zip(inputs, grads, strict=True):
        assert g is None or (g.shape == t.shape and g.dtype == t.dtype), (str(typed), t.shape, g.shape)
    return [*results, *grads]


def lazily(call: Any) -> Any:
    with tandem.lazy():
        results = call()
    return results


@pytest.mark.parametrize("name", [n for n, op in VISIBLE.items() if op.samples != "none"])
def test_zeros_in_every_place(name):
    op = VISIBLE[name]
    dtype = "float32" if "float32" in dtypes(op) else dtypes(op)[0]
    for args, kwargs in empties(op, dtype):
        typed = Typed.of(op, (args, kwargs), dtype, "contiguous")
        tensors = typed.tensors

        for run in (typed.run, lambda t, typed=typed: with_gradients(typed, t)):
            if run is not typed.run and not op.gradient:
                continue
            fresh = [[t.clone() for t in tensors] for _ in range(3)]
            eager = outcome(lambda run=run, fresh=fresh: run(fresh[0]))
            if name in UNSET:
                continue
            lazy = outcome(lambda run=run, fresh=fresh: lazily(lambda: run(fresh[1])))
            assert lazy == eager, str(typed)
            compiled = tandem.compile(lambda *t, run=run: run(list(t)))
            assert outcome(lambda fresh=fresh, compiled=compiled: compiled(*fresh[2])) == eager, str(typed)


@pytest.mark.parametrize("inner", [1, 15, 16, 300])
def test_rows_of_a_table_without_rows(inner):
    """Nothing is written to no place, however wide a place is."""
    none = tandem.zeros(0, dtype=tandem.int64)
    reads = (
        lambda x: x.index_select(0, none),
        lambda x: x[none],
        lambda x: x[tandem.zeros(0, dtype=tandem.bool)],
        lambda x: tandem.nn.functional.embedding(none, x),
        lambda x: x.index_add(0, none, tandem.ones(0, inner)),
        lambda x: x.index_put((none,), tandem.ones(0, inner), accumulate=True),
        lambda x: tandem.unique(x, dim=0),
    )
    for read in reads:
        x = tandem.zeros(0, inner, requires_grad=True)
        y = read(x)
        (g,) = tandem.autograd.grad(y.sum(), x, create_graph=True)
        assert y.shape == (0, inner) and g.shape == (0, inner)


@pytest.mark.parametrize("function", [tandem.softmax, tandem.log_softmax])
@pytest.mark.parametrize("shape", [(0, 10), (10, 0)])
@pytest.mark.parametrize("dim", [0, 1])
def test_rows_without_elements_have_second_derivatives(function, shape, dim, mode):
    def step(x, g):
        (first,) = tandem.autograd.grad(function(x, dim), x, g, create_graph=True)
        return first, tandem.autograd.grad(first.sum(), x)[0]

    first, second = run_in(mode, step, tandem.ones(shape, requires_grad=True), tandem.ones(shape))
    assert first.shape == second.shape == shape
