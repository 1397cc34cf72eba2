"""Factorisations of matrices that are larger than the blocks they are worked on in, and of many kinds."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem import linalg

F64 = tandem.float64
SIZES = [5, 16, 31, 33, 64, 65, 97, 150]


def matrix(*shape: int, seed: int = 3) -> tandem.Tensor:
    return tandem.tensor(np.random.default_rng(seed).normal(size=shape))


def close(a, b, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [0, 1, 3, 8, 19, 70])
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_systems(n, columns, upper):
    a = matrix(2, n, n) / n + 2 * tandem.eye(n, dtype=F64)
    other = (tandem.ones(n, n).triu(1) if not upper else tandem.ones(n, n).tril(-1)).bool()
    a[:, other] = float("nan")  # that triangle is not read
    b = matrix(2, n, columns, seed=4)
    used = a.triu() if upper else a.tril()
    used[:, other] = 0
    for unit in (False, True):
        whole = used - tandem.diag_embed(used.diagonal(0, -2, -1)) + tandem.eye(n, dtype=F64) if unit else used
        x = linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)
        close(whole @ x, b, 1e-9)
        lies = a.mT.contiguous().mT  # dense along columns
        assert_same_bits(linalg.solve_triangular(lies, b, upper=upper, unitriangular=unit), x)
        across = linalg.solve_triangular(a.mT, b.mT, upper=not upper, left=False, unitriangular=unit)
        assert_same_bits(across, x.mT)
        assert_same_bits(linalg.solve_triangular(a[0], b[0], upper=upper, unitriangular=unit), x[0])
    low = linalg.solve_triangular(a.float(), b.float(), upper=upper)
    close(used @ low.double(), b, 1e-4)


@pytest.mark.parametrize("n", SIZES)
def test_cholesky(n):
    a = matrix(2, n, n)
    a = a @ a.mT + tandem.eye(n, dtype=F64)
    factor = linalg.cholesky(a)
    close(factor, np.linalg.cholesky(a.numpy()))
    assert_same_bits(linalg.cholesky(a[1]), factor[1])
    assert_same_bits(linalg.cholesky(a.mT.tril(), upper=False), factor)
    close(linalg.cholesky(a.float()).double(), factor, 1e-3 * n)
    for minor in {1, n // 2, n}:
        bad = a.clone()
        bad[1, minor - 1, minor - 1] = -1
        info = linalg.cholesky_ex(bad).info
        assert info.tolist() == [0, minor]
        assert linalg.cholesky_ex(bad).L[1].isnan().all()


@pytest.mark.parametrize(
    "shape", [(5, 5), (17, 17), (33, 33), (64, 64), (130, 130), (90, 40), (40, 90), (70, 1), (1, 70)]
)
def test_lu(shape):
    a = matrix(2, *shape)
    p, low, up = linalg.lu(a)
    close(p @ low @ up, a)
    assert low.abs().max() <= 1
    one = linalg.lu_factor(a[1])
    assert_same_bits(one.LU, linalg.lu_factor(a).LU[1])
    p, low, up = linalg.lu(a.float())
    close((p @ low @ up).double(), a, 1e-4)
    assert tandem.equal(linalg.lu_factor(tandem.zeros(shape)).LU, tandem.zeros(shape))


@pytest.mark.parametrize("n", SIZES)
def test_systems(n):
    a, b = matrix(2, n, n) + 3 * tandem.eye(n, dtype=F64), matrix(2, n, 5, seed=4)
    x = linalg.solve(a, b)
    close(a @ x, b, 1e-8)
    assert_same_bits(linalg.solve(a[0], b[0]), x[0])
    close(linalg.inv(a), np.linalg.inv(a.numpy()), 1e-8)
    close(linalg.solve(a, b.mT, left=False) @ a, b.mT, 1e-8)
    lu, pivots = linalg.lu_factor(a)
    for adjoint in (False, True):
        used = a.mT if adjoint else a
        close(used @ linalg.lu_solve(lu, pivots, b, adjoint=adjoint), b, 1e-8)
        close(linalg.lu_solve(lu, pivots, b.mT, left=False, adjoint=adjoint) @ used, b.mT, 1e-8)
        taped = linalg.lu_solve(lu.clone().requires_grad_(), pivots, b, adjoint=adjoint)
        close(linalg.lu_solve(lu, pivots, b, adjoint=adjoint), taped.detach(), 1e-8)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads):
    a, b = matrix(200, 200) + 20 * tandem.eye(200, dtype=F64), matrix(200, 70, seed=4)
    spd = a @ a.mT
    before = tandem.get_num_threads()

    def run() -> list[tandem.Tensor]:
        return [
            linalg.solve_triangular(a, b, upper=True), linalg.cholesky(spd), linalg.lu_factor(a).LU, linalg.inv(a),
            linalg.eigh(spd).eigenvectors, tandem.matrix_exp(a / 40), linalg.qr(a).Q, linalg.lstsq(a, b).solution,
        ]  # fmt: skip

    tandem.set_num_threads(1)
    expected = run()
    tandem.set_num_threads(threads)
    try:
        for got, want in zip(run(), expected, strict=True):
            assert_same_bits(got, want)
    finally:
        tandem.set_num_threads(before)


def spectra(n: int) -> dict[str, np.ndarray]:
    """Symmetric matrices of eigenvalues that are spread, equal, in clusters, graded, and of many zeros."""
    q = np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0]
    kinds = {
        "spread": np.linspace(-1, 2, n),
        "equal": np.ones(n),
        "two values": np.repeat([1.0, -3.0], [n // 2, n - n // 2]),
        "clusters": 1 + np.arange(n) % 3 + 1e-13 * np.arange(n),
        "graded": 10.0 ** -np.linspace(0, 14, n),
        "low rank": np.where(np.arange(n) < 3, 1.0 + np.arange(n), 0.0),
    }
    made = {name: (q * values) @ q.T for name, values in kinds.items()}
    made["diagonal"] = np.diag(np.arange(n) % 7 - 3.0)
    made["second differences"] = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    made["wilkinson"] = np.diag(np.abs(np.arange(n) - n // 2) * 1.0) + np.eye(n, k=1) + np.eye(n, k=-1)
    made["zero"] = np.zeros((n, n))
    made["tiny"] = made["spread"] * 1e-300
    made["huge"] = made["spread"] * 1e300
    return made


@pytest.mark.parametrize("n", [32, 33, 64, 65, 150])
def test_symmetric_eigenvalues(n):
    for name, a in spectra(n).items():
        a = (a + a.T) / 2
        size = max(np.abs(a).max(), np.finfo(float).tiny)
        values, vectors = (np.asarray(t) for t in linalg.eigh(tandem.tensor(a)))
        limit = 1e-15 * n * 8
        assert np.abs(values / size - np.linalg.eigvalsh(a / size)).max() <= limit, name
        assert np.abs(vectors.T @ vectors - np.eye(n)).max() <= limit, name
        assert np.abs((a / size) @ vectors - vectors * (values / size)).max() <= limit, name
        assert (np.diff(values) >= 0).all(), name
        if name in ("tiny", "huge"):
            continue
        low = linalg.eigh(tandem.tensor(a).float())
        got = np.asarray(low.eigenvectors).astype(float)
        assert np.abs(got.T @ got - np.eye(n)).max() <= 4e-5, name
        assert np.abs(a @ got - got * np.asarray(low.eigenvalues)).max() <= 4e-5 * max(size, 1), name


def test_a_triangle_is_read():
    a = matrix(70, 70)
    a = a + a.mT
    expected = linalg.eigh(a)
    for uplo, kept in (("L", a.tril()), ("U", a.triu())):
        for got, want in zip(linalg.eigh(kept, uplo), expected, strict=True):
            assert_same_bits(got, want)


@pytest.mark.parametrize("n", [1, 2, 20, 70])
@pytest.mark.parametrize("norm", [1e-3, 0.3, 0.9, 2.0, 5.0, 40.0])
def test_matrix_exp(n, norm):
    values = np.random.default_rng(n).normal(size=(n, n))
    a = values / np.abs(values).sum(0).max() * norm
    expected = np.eye(n)  # by the series for a small part, squared
    part = a / 2**12
    for k in range(12, 0, -1):
        expected = np.eye(n) + part @ expected / k
    for _ in range(12):
        expected = expected @ expected
    scale = np.abs(expected).max()
    close(tandem.matrix_exp(tandem.tensor(a)) / scale, expected / scale, 1e-11)
    close(tandem.matrix_exp(tandem.tensor(a).float()) / scale, expected / scale, 2e-4 if norm > 5 else 1e-5)


@pytest.mark.parametrize("mode", ["lazy", "compiled"])
def test_modes(mode):
    def f(a: tandem.Tensor, b: tandem.Tensor) -> list[tandem.Tensor]:
        s = a @ a.mT + tandem.eye(40, dtype=F64)
        lu, pivots = linalg.lu_factor(a)
        return [
            linalg.solve_triangular(s, b, upper=False), linalg.cholesky(s), linalg.solve(s, b), linalg.det(a),
            linalg.lu_solve(lu, pivots, b), *linalg.eigh(s), tandem.matrix_exp(a / 9), linalg.lstsq(a, b).solution,
            linalg.slogdet(a)[1], tandem.orgqr(*tandem.geqrf(a)), linalg.cross(a[:3], b[:3, :1], dim=0),
        ]  # fmt: skip

    a, b = matrix(2, 40, 40), matrix(2, 40, 3, seed=4)
    for got, want in zip(run_in(mode, f, a[0], b[0]), f(a[0], b[0]), strict=True):
        assert_same_bits(got, want)
