"""Exponentials of matrices, which the emulated GPU makes itself, against the CPU's to rounding."""

from __future__ import annotations

import warnings

import devices
import numpy as np
import pytest
from emulated import there
from gpu_here import MARKS
from test_library_math import bits, compare, odd, random

import tandem

pytestmark = MARKS

WIDE = [tandem.float32, tandem.float64]


def of_norm(shape: tuple[int, ...], norm: float, dtype: tandem.dtype, seed: int = 0) -> tandem.Tensor:
    """Matrices of a 1-norm; their exponentials are about as large as that of the norm by the root of the size."""
    a = random(shape, tandem.float64, seed)
    return (a * (norm / a.abs().sum(-2).amax(-1)[..., None, None])).to(dtype)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 7, 7), (2, 2, 5, 5), (32, 32), (2, 33, 33), (70, 70)])
def test_values(shape: tuple[int, ...], dtype: tandem.dtype) -> None:
    for norm in (0.0, 1e-9, 0.3, 0.78, 1.0, 1.5, 3.0, 20.0):
        a = of_norm(shape, norm, dtype)
        compare(tandem.matrix_exp, a, exact=False, tolerance=2e-5 if dtype is tandem.float32 else 1e-13)
    compare(tandem.linalg.matrix_exp, odd(of_norm(shape, 2.0, dtype)), exact=False)


def test_of_what_is_known() -> None:
    zero = tandem.zeros(2, 3, 3)
    assert bits(tandem.matrix_exp(there(zero))) == bits(tandem.eye(3).expand(2, 3, 3).contiguous())
    angle = tandem.tensor([[0.0, -2.0], [2.0, 0.0]], dtype=tandem.float64)
    turned = np.array([[np.cos(2), -np.sin(2)], [np.sin(2), np.cos(2)]])
    np.testing.assert_allclose(tandem.matrix_exp(there(angle)).cpu().numpy(), turned, atol=1e-15)


@pytest.mark.parametrize("dtype", WIDE)
def test_each_matrix_of_a_batch_is_scaled_by_itself(dtype: tandem.dtype) -> None:
    for n in (3, 35):
        a = tandem.stack([of_norm((n, n), norm, dtype, k) for k, norm in enumerate((1e-3, 40.0, 0.5, 7.0))])
        whole = tandem.matrix_exp(there(a))
        for i in range(4):
            alone = tandem.matrix_exp(there(a[i]))
            if devices.REAL:  # where products of a batch may add in another order than one
                rounding = 1e-5 if dtype is tandem.float32 else 1e-13
                assert (whole[i] - alone).norm() <= rounding * alone.norm()
            else:
                assert bits(whole[i]) == bits(alone)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("n", [2, 40])
def test_large_norms(n: int, dtype: tandem.dtype) -> None:
    """More squarings than are launched: what is left of them a block makes."""
    large = 1e30 if dtype is tandem.float32 else 1e250
    nilpotent = tandem.zeros(n, n, dtype=dtype)
    nilpotent[0, n - 1] = large
    expected = tandem.eye(n, dtype=dtype) + nilpotent
    decay = tandem.eye(n, dtype=dtype) * -large
    growth = tandem.eye(n, dtype=dtype) * 1000
    got = tandem.matrix_exp(there(tandem.stack([nilpotent, decay, nilpotent * 0, growth]))).cpu()
    np.testing.assert_array_equal(got[0].numpy(), expected.numpy())
    assert bits(got[1]) == bits(nilpotent * 0) and bits(got[2]) == bits(tandem.eye(n, dtype=dtype))
    assert not got[3].diagonal().isfinite().any()
    if dtype is tandem.float64:
        compare(tandem.matrix_exp, of_norm((n, n), 3e5, dtype) - 3e5 * tandem.eye(n, dtype=dtype), exact=False)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_matrices_that_are_not_finite(wrong: float) -> None:
    for n in (3, 36):
        a = of_norm((3, n, n), 2.0, tandem.float32)
        a[1, n - 1, 0] = wrong
        got, expected = tandem.matrix_exp(there(a)).cpu(), tandem.matrix_exp(a)
        assert got[1].isnan().all() and expected[1].isnan().all()
        np.testing.assert_allclose(got[[0, 2]].numpy(), expected[[0, 2]].numpy(), atol=1e-4)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_no_elements(shape: tuple[int, ...]) -> None:
    compare(tandem.matrix_exp, tandem.zeros(*shape))


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (17, 17)])
def test_gradients(shape: tuple[int, ...]) -> None:
    seen = []
    for a in (of_norm(shape, 1.5, tandem.float64), there(of_norm(shape, 1.5, tandem.float64))):
        a.requires_grad_()
        weights = random(shape, tandem.float64, 3).to(a.device)
        first = tandem.autograd.grad((tandem.matrix_exp(a) * weights).sum(), a, create_graph=True)[0]
        seen.append((first, tandem.autograd.grad(first.sin().sum(), a)[0]))
    for expected, got in zip(*seen, strict=True):
        np.testing.assert_allclose(got.detach().cpu().numpy(), expected.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("n", [4, 34])
def test_plans_are_one_graph(n: int) -> None:
    """With the bits of eager, for matrices of any norm: nothing goes to the host."""
    compiled = tandem.compile(lambda a: tandem.matrix_exp(a * 2) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for norm in (1.0, 1e-5, 30.0, 0.5, 2.0, 8.0):
            a = there(of_norm((2, n, n), norm, tandem.float32))
            before = tandem.counters()["graph_launches"]
            got = compiled(a)
            launched = tandem.counters()["graph_launches"] - before
            assert bits(got) == bits(tandem.matrix_exp(a * 2) + 1)
    assert launched == 1
