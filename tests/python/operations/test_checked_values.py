"""Values that operations refuse: at the line of the call in every mode, and without a change to anything else."""

from __future__ import annotations

import numpy as np
import pytest

import tandem
from tandem import linalg

SINGULAR = tandem.tensor([[[1.0, 2.0], [0.0, 3.0]], [[1.0, 2.0], [2.0, 4.0]]])


def pivots(*values):
    return tandem.tensor(values, dtype=tandem.int32)


REFUSED = {
    "lu_factor": (lambda: linalg.lu_factor(SINGULAR), r"torch.linalg.lu_factor: \(Batch element 1\): U\[2,2\] is zero"),
    "lu_factor of rows": (lambda: linalg.lu_factor(tandem.zeros(2, 3)), r"U\[1,1\] is zero"),
    "lu_factor_ex": (lambda: linalg.lu_factor_ex(SINGULAR, check_errors=True), r"torch.linalg.lu_factor_ex: \(Batch"),
    "lu_solve above": (lambda: linalg.lu_solve(tandem.eye(3), pivots(1, 2, 300), tandem.ones(3, 1)), "got 300"),
    "lu_solve below": (lambda: linalg.lu_solve(tandem.eye(2), pivots(1, 0), tandem.ones(2, 1)), "got 0"),
    "lu_solve of int64": (lambda: linalg.lu_solve(tandem.eye(1), tandem.tensor([1]), tandem.ones(1, 1)), "torch.int32"),
    "ldl_solve above": (lambda: linalg.ldl_solve(tandem.eye(2), pivots(1, -3), tandem.ones(2, 1)), "got -3"),
    "ldl_solve of half a pair": (lambda: linalg.ldl_solve(tandem.eye(2), pivots(1, -2), tandem.ones(2, 1)), "twice"),
    "ldl_solve of three": (
        lambda: linalg.ldl_solve(tandem.eye(4), pivots(-2, -2, -2, 4), tandem.ones(4, 1)),
        "twice, got -2",
    ),
    "cov of counts": (lambda: tandem.cov(tandem.ones(2, 3), fweights=tandem.tensor([1, -1, 2])), "fweights cannot be"),
    "cov of weights": (lambda: tandem.cov(tandem.ones(2, 3), aweights=tandem.tensor([1.0, -1, 2])), "aweights cannot"),
    "bernoulli_": (lambda: tandem.ones(3).bernoulli_(tandem.tensor([2.0, 0.1, 0.1])), "p_in >= 0 && p_in <= 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_once(name):
    call, words = REFUSED[name]
    with pytest.raises(RuntimeError, match=words):
        call()
    x = tandem.arange(3.0)
    with tandem.lazy():
        x.mul_(2)
        y = x + 1
        with pytest.raises(RuntimeError, match=words):
            call()
        z = y * x
    assert x.tolist() == [0, 2, 4] and z.tolist() == [0, 6, 20]


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_compiled_functions(name):
    call, words = REFUSED[name]
    with pytest.raises(RuntimeError, match=words):
        tandem.compile(call)()


def test_a_refused_draw_changes_nothing():
    x = tandem.arange(3.0)
    with pytest.raises(RuntimeError, match="p_in"):
        x.bernoulli_(tandem.tensor([2.0, 0, 1]))
    assert x.tolist() == [0, 1, 2]
    with tandem.lazy():
        x.bernoulli_(tandem.tensor([1.0, 0, 1]))
    assert x.tolist() == [1, 0, 1]


def test_pivots_of_blocks_are_taken():
    a = tandem.tensor(np.random.default_rng(0).standard_normal((3, 5, 5)))
    a = a + a.mT - 4 * tandem.eye(5, dtype=tandem.float64)
    b = tandem.ones(3, 5, 2, dtype=tandem.float64)
    assert (linalg.ldl_factor(a).pivots < 0).any()
    for mode in (tandem.compile, lambda f: f):
        found = mode(lambda: linalg.ldl_solve(*linalg.ldl_factor(a), b))()
        assert tandem.allclose(a @ found, b)
    assert linalg.ldl_solve(tandem.ones(0, 0), pivots(), tandem.ones(0, 2)).shape == (0, 2)


def test_factors_of_what_is_singular():
    found = linalg.lu_factor_ex(SINGULAR)
    assert found.info.tolist() == [0, 2]
    LU, swaps, info = tandem.lu(SINGULAR, get_infos=True)
    assert LU.equal(found.LU) and swaps.equal(found.pivots) and info.equal(found.info)
    assert len(tandem.lu(SINGULAR)) == 2
    assert linalg.lu_factor_ex(tandem.ones(2, 0, 3)).info.tolist() == [0, 0]
    assert linalg.lu_factor(tandem.ones(0, 0)).LU.shape == (0, 0)


def double(*shape):
    return tandem.ones(*shape, dtype=tandem.float64)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tandem.ones(3).norm(dtype=tandem.float16), r"vector_norm: the dtype of the input \(Float\) should be"),
        (lambda: tandem.ones(3).half().norm(dtype=tandem.bfloat16), "without narrowing"),
        (lambda: linalg.vector_norm(double(3), dtype=tandem.float32), "without narrowing"),
        (lambda: linalg.matrix_norm(double(3, 3), dtype=tandem.float32), r"matrix_norm: the dtype of the input \(Doub"),
        (lambda: linalg.matrix_norm(double(3, 3), 1, dtype=tandem.float32), "matrix_norm: the dtype"),
        (lambda: linalg.matrix_norm(double(3, 3), "nuc", dtype=tandem.float32), "matrix_norm: the dtype"),
        (lambda: tandem.norm(double(3, 3), "nuc", dtype=tandem.float32), "matrix_norm: the dtype"),
        (lambda: tandem.tensor([1, 2]).norm(dtype=tandem.float32), "Expected a floating point"),
        (lambda: tandem.ones(3).norm(dtype=tandem.int64), "dtype should be floating point or complex, but got Long"),
        (lambda: linalg.matrix_norm(tandem.ones(3, 3), 1, dtype=tandem.int64), "matrix_norm: dtype should be floating"),
        (lambda: tandem.ones(1, 1).squeeze((0, -2)), "dim 0 appears multiple times"),
        (lambda: tandem.ones(1, 1).squeeze_((1, 1)), "dim 1 appears multiple times"),
        (lambda: tandem.ones(3).cumsum_(0, dtype=tandem.float64), "Bad in-place call: input tensor dtype Float"),
        (lambda: tandem.ones(3).cumprod_(0, dtype=tandem.float16), "Bad in-place call"),
    ],
)
def test_dtypes_and_dims_that_do_not_fit(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_dtypes_that_fit():
    assert tandem.ones(4).norm(dtype=tandem.float64).dtype is tandem.float64
    assert linalg.matrix_norm(tandem.ones(3, 3).half(), dtype=tandem.float32).item() == 3
    assert tandem.ones(3, dtype=tandem.int32).cumsum_(0, dtype=tandem.int32).tolist() == [1, 2, 3]
    assert tandem.ones(3, dtype=tandem.int32).cumsum_(0).dtype is tandem.int32


def test_random_integers_from_a_bound_on():
    x = tandem.zeros(200, dtype=tandem.int8).random_(100, None)
    assert x.min() >= 100 and x.max() == 127
    assert tandem.zeros(50).random_(5, to=None).min() >= 5
