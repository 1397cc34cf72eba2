"""Cholesky, LU, QR and triangular systems of a GPU by kernels of our own, on the emulated device, against the CPU."""

from __future__ import annotations

import devices
import pytest
from emulated import there
from gpu_here import MARKS
from test_library_math import bits, compare, odd, positive, random

import tandem

pytestmark = MARKS
slow = pytest.mark.skipif(not devices.SLOW, reason="slow: run with TANDEM_SLOW=1")


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (3, 33, 33), (70, 70), (0, 0), (0, 3, 3)])
def test_cholesky(shape: tuple[int, ...], dtype: tandem.dtype) -> None:
    tolerance = 1e-4 if dtype is tandem.float32 else 1e-12
    compare(tandem.linalg.cholesky, positive(shape, dtype), exact=False, tolerance=tolerance)
    compare(lambda a: tandem.linalg.cholesky_ex(a), odd(positive(shape, dtype)), exact=False, tolerance=tolerance)


def test_matrices_without_a_factor() -> None:
    a = positive((3, 40, 40), tandem.float64)
    a[1, 35, 35] = -1
    a[2, 3, 3] = 0
    compare(lambda a: tandem.linalg.cholesky_ex(a)[1], a)
    with pytest.raises(tandem.linalg.LinAlgError, match=r"\(Batch element 1\).*leading minor of order 36 "):
        tandem.linalg.cholesky(there(a)).cpu()


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems(unit: bool, upper: bool, dtype: tandem.dtype) -> None:
    for n, m in ((1, 1), (6, 3), (45, 2), (70, 40), (3, 0)):
        a, b = random((2, n, n), dtype) + 4 * tandem.eye(n, dtype=dtype), random((2, n, m), dtype, 1)
        compare(
            lambda a, b: tandem.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit),
            a,
            odd(b),
            exact=False,
            tolerance=1e-4 if dtype is tandem.float32 else 1e-12,
        )


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (2, 40, 40), (9, 4), (4, 9), (2, 70, 35), (35, 70), (0, 3), (3, 0)])
def test_lu(shape: tuple[int, ...], dtype: tandem.dtype) -> None:
    compare(
        lambda a: tandem.linalg.lu(a),
        random(shape, dtype),
        exact=False,
        tolerance=1e-4 if dtype is tandem.float32 else 1e-11,
    )


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
def test_systems(dtype: tandem.dtype) -> None:
    for n, m in ((1, 1), (5, 2), (40, 3), (66, 34)):
        a, b = random((2, n, n), dtype) + 3 * tandem.eye(n, dtype=dtype), random((2, n, m), dtype, 1)
        compare(
            tandem.linalg.solve, a, b, exact=False, tolerance=1e-3 if dtype is tandem.float32 else 1e-10, backward=True
        )
    compare(tandem.linalg.det, random((2, 5, 5), dtype), exact=False, tolerance=1e-4)
    compare(tandem.linalg.inv, positive((4, 4), dtype), exact=False, tolerance=1e-4)


def test_other_factors() -> None:
    a, b = random((2, 3, 40, 40), tandem.float64), random((2, 1, 40, 5), tandem.float64, 1)
    lu, pivots = tandem.linalg.lu_factor(a + 30 * tandem.eye(40, dtype=tandem.float64))
    for adjoint in (False, True):
        compare(lambda f, p, b, t=adjoint: tandem.linalg.lu_solve(f, p, b, adjoint=t), lu, pivots, b, exact=False)
    with pytest.raises(RuntimeError, match="pivots must lie between 1 and 40, got 41"):
        tandem.linalg.lu_solve(there(lu), there(pivots + (pivots == 40)), there(b)).cpu()
    compare(tandem.linalg.householder_product, odd(a[0, :, :, :5]), b[0, 0, :4, 0].expand(3, 4), exact=False)
    with pytest.warns(UserWarning, match="computed on the CPU"):
        compare(lambda a, b: tandem.linalg.ldl_solve(*tandem.linalg.ldl_factor(a + a.mT), b), a, b)


def of_magnitude(a: tandem.Tensor) -> float:
    return float(a.abs().max()) if a.numel() else 0.0


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize(
    "shape", [(65, 65), (130, 300), (2, 290, 140), (600, 530), (1050, 40), (2060, 20), (4100, 11), (9, 3, 16, 16)]
)
def test_factors_of_larger_matrices(shape: tuple[int, ...], dtype: tandem.dtype) -> None:
    """Of as many rows as each kind of panel has, and more than any: a product of factors is the matrix. So are those of
    a batch what they are alone."""
    a = random(shape, dtype)
    bound = (2e-5 if dtype is tandem.float32 else 4e-14) * of_magnitude(a)
    p, l, u = (t.cpu() for t in tandem.linalg.lu(there(a)))
    assert of_magnitude(p @ l @ u - a) < bound and of_magnitude(l) == 1
    q, r = (t.cpu() for t in tandem.linalg.qr(there(a)))
    assert of_magnitude(q @ r - a) < bound and of_magnitude(r.tril(-1)) == 0
    assert of_magnitude(q.mT @ q - tandem.eye(q.shape[-1], dtype=dtype)) < bound
    for f in (tandem.linalg.lu_factor, tandem.linalg.qr):
        for alone, several in zip(f(there(a[-1])), f(there(a)), strict=True) if a.ndim > 2 else ():
            assert bits(alone) == bits(several[-1].contiguous())


@pytest.mark.parametrize("rows", [9, 300, 4100])
def test_qr_of_columns_whose_squares_have_no_numbers(rows: int) -> None:
    for dtype, power in ((tandem.float32, 36), (tandem.float64, 290)):
        for least, most in ((-power, -power), (power, power), (-power, power)):
            a = random((rows, 6), dtype) * tandem.logspace(least, most, 6, dtype=dtype)
            a[:, 2] = 0
            q, r = (t.cpu() for t in tandem.linalg.qr(there(a)))
            bound = 2e-5 if dtype is tandem.float32 else 2e-13
            assert of_magnitude(q.mT @ q - tandem.eye(6, dtype=dtype)) < bound
            for k in range(6):
                assert of_magnitude(q @ r[:, k] - a[:, k]) <= bound * of_magnitude(a[:, k])  # also of zeros


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("n, m", [(97, 1), (200, 9), (330, 260), (40, 1200)])
def test_larger_systems(n: int, m: int, dtype: tandem.dtype) -> None:
    """Of several blocks of rows, for few right sides and many, which are solved for side by side."""
    a = random((n, n), dtype)
    bound = (1e-4 if dtype is tandem.float32 else 1e-12) * n
    b, square = random((n, m), dtype, 1), a @ a.mT / n + tandem.eye(n, dtype=dtype)
    l = tandem.linalg.cholesky(there(square))
    assert of_magnitude((l @ l.mT).cpu() - square) < bound and of_magnitude(l.cpu().triu(1)) == 0
    for left, x in (
        (square, tandem.linalg.solve(there(square), there(b))),
        (l.cpu(), tandem.linalg.solve_triangular(l, there(b), upper=False)),
        (l.cpu().mT, tandem.linalg.solve_triangular(l.mT, there(b), upper=True)),
        (square, tandem.cholesky_solve(there(b), l)),
    ):
        assert of_magnitude(left @ x.cpu() - b) < bound * of_magnitude(x)
    first = tandem.linalg.solve_triangular(l, there(b[:, :1]), upper=False)
    assert bits(first) == bits(tandem.linalg.solve_triangular(l, there(b), upper=False)[:, :1].contiguous())


@pytest.mark.parametrize("n", [1, 257, 600, pytest.param(8200, marks=slow)])
def test_order_of_many_swaps(n: int) -> None:
    """One swap after the other, of rows further down."""
    swaps = tandem.tensor([[(7 * i * i) % (n - i) + i + 1 for i in range(n)]] * 2, dtype=tandem.int32)
    b = tandem.arange(2.0 * n).reshape(2, n, 1)
    compare(tandem.linalg.lu_solve, tandem.eye(n).expand(2, n, n), swaps, b)


def test_the_first_of_equal_pivots_is_taken() -> None:
    a = tandem.tensor([[1.0, 2.0, 3.0], [-1.0, 1.0, 0.5], [1.0, -2.0, 4.0]])
    compare(lambda a: tandem.linalg.lu_factor(a), a)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 40, 7), (7, 40), (2, 34, 34), (4, 0), (0, 3)])
def test_qr(shape: tuple[int, ...], dtype: tandem.dtype) -> None:
    tolerance = 1e-4 if dtype is tandem.float32 else 1e-12
    a = random(shape, dtype)
    if shape == (5, 5):
        a[1:, 0] = 0  # a column that is a multiple of the first unit vector already
    for kind in ("reduced", "complete", "r"):
        compare(lambda a, k=kind: tandem.linalg.qr(a, k), a, exact=False, tolerance=tolerance)
    compare(lambda a: tandem.geqrf(a), odd(a), exact=False, tolerance=tolerance)
