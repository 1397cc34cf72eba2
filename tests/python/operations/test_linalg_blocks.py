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


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("dtype", [tandem.float32, F64])
def test_small_systems_side_by_side(n, dtype):
    """Several small systems share vectors; those with more columns do not, and give the same bits."""
    for count in (1, 2, 5, 11):
        a, b = matrix(count, n, n).to(dtype), matrix(count, n, 9, seed=4).to(dtype)
        lu, pivots = linalg.lu_factor(a)
        wide = linalg.lu_factor(tandem.cat([a, b[:, :, :1]], -1))
        assert_same_bits(lu, wide.LU[:, :, :n])
        assert pivots.tolist() == wide.pivots.tolist()
        for adjoint in (False, True):
            whole = linalg.lu_solve(lu, pivots, b, adjoint=adjoint)
            for columns in (1, 3, 8):
                some = b[:, :, :columns]
                assert_same_bits(linalg.lu_solve(lu, pivots, some, adjoint=adjoint), whole[:, :, :columns])
                lies = some.mT.contiguous().mT
                assert_same_bits(linalg.lu_solve(lu, pivots, lies, adjoint=adjoint), whole[:, :, :columns])
        assert_same_bits(linalg.solve(a, b[:, :, :2]), linalg.solve(a, b)[:, :, :2])
        assert_same_bits(linalg.inv(a)[-1], linalg.inv(a[-1]))
        close(a.double() @ linalg.inv(a).double(), np.broadcast_to(np.eye(n), a.shape), 1e-2 if dtype != F64 else 1e-9)
    # Ties, no pivot, and what is not finite beside others.
    a = tandem.ones(9, n, n, dtype=dtype)
    a[1], a[2, 0, 0], a[3, -1, 0], a[4, :, 0] = 0, float("nan"), float("inf"), 0
    a[5] = tandem.randint(-1, 2, (n, n))
    lu, pivots, _ = linalg.lu_factor_ex(a)
    wide = linalg.lu_factor_ex(tandem.cat([a, tandem.ones(9, n, 1, dtype=dtype)], -1))
    assert_same_bits(lu, wide.LU[:, :, :n])
    assert pivots.tolist() == wide.pivots.tolist()


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
    assert tandem.equal(linalg.lu_factor_ex(tandem.zeros(shape)).LU, tandem.zeros(shape))


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


@pytest.mark.parametrize("n", [64, 65, 130, 200, 800])
@pytest.mark.parametrize("more", [-40, 0, 90])
def test_factors_of_several_blocks_of_columns(n, more):
    a = matrix(n + more, n)
    p, low, up = linalg.lu(a)
    assert low.abs().amax() == 1
    close(p @ low @ up, a, 1e-10)


@pytest.mark.parametrize("n", [9, 33, 100, 129])
@pytest.mark.parametrize("dtype", [tandem.float32, F64])
def test_unit_matrices_have_bits_of_others(n, dtype):
    """Solving for a unit matrix leaves out what stays zero; beside another column nothing is left out."""
    factors = linalg.lu_factor(matrix(n, n).to(dtype))
    unit = tandem.eye(n, dtype=dtype)
    for adjoint in (False, True):
        beside = linalg.lu_solve(*factors, tandem.cat([unit, unit[:, :1]], 1), adjoint=adjoint)
        assert_same_bits(linalg.lu_solve(*factors, unit, adjoint=adjoint), beside[:, :n].contiguous())
    negative = unit * -1
    assert_same_bits(linalg.lu_solve(*factors, negative), -linalg.lu_solve(*factors, unit))


def test_pivots_that_are_none():
    lu, b = tandem.eye(3), tandem.ones(3, 1)
    for wrong in (0, 4):
        with pytest.raises(RuntimeError, match=f"pivots must lie between 1 and 3, got {wrong}"):
            linalg.lu_solve(lu, tandem.tensor([1, wrong, 3], dtype=tandem.int32), b)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads):
    a, b = matrix(200, 200) + 20 * tandem.eye(200, dtype=F64), matrix(200, 150, seed=4)
    spd, many = a @ a.mT, matrix(700, 700, seed=5)
    before = tandem.get_num_threads()

    def run() -> list[tandem.Tensor]:
        return [
            linalg.solve_triangular(a, b, upper=True), linalg.cholesky(spd), linalg.lu_factor(a).LU, linalg.inv(a),
            linalg.eigh(spd).eigenvectors, linalg.eigh(many).eigenvectors, tandem.matrix_exp(a / 40), linalg.qr(a).Q,
            linalg.lstsq(a, b).solution,
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
    made["a tiny block"] = made["spread"] * (np.arange(n) < n // 2) * (np.arange(n) < n // 2)[:, None]
    made["a tiny block"] += made["graded"] * 1e-200 * (np.arange(n) >= n // 2) * (np.arange(n) >= n // 2)[:, None]
    made["tiny"] = made["spread"] * 1e-300
    made["huge"] = made["spread"] * 1e300
    return made


@pytest.mark.parametrize("n", [1, 2, 3, 32, 33, 64, 65, 150])
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
        alone = np.asarray(linalg.eigvalsh(tandem.tensor(a)))
        assert np.abs(alone / size - values / size).max() <= limit and (np.diff(alone) >= 0).all(), name
        if name in ("tiny", "huge"):
            continue
        low = linalg.eigh(tandem.tensor(a).float())
        got = np.asarray(low.eigenvectors).astype(float)
        assert np.abs(got.T @ got - np.eye(n)).max() <= 4e-5, name
        assert np.abs(a @ got - got * np.asarray(low.eigenvalues)).max() <= 4e-5 * max(size, 1), name
        assert np.abs(np.asarray(linalg.eigvalsh(tandem.tensor(a).float())) - values).max() <= 4e-5 * max(size, 1), name


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


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16])
def test_matrix_exp_of_half_types(dtype):
    a = (matrix(3, 5, 5) / 3).to(dtype)
    assert_same_bits(tandem.matrix_exp(a), tandem.matrix_exp(a.float()).to(dtype))
    x = a.clone().requires_grad_()
    tandem.matrix_exp(x).sum().backward()
    assert x.grad.dtype is dtype and x.grad.isfinite().all()
    assert tandem.matrix_exp(tandem.zeros(0, 0, dtype=dtype)).dtype is dtype


@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (50, 50)])
def test_least_squares(shape):
    m, n = shape
    full = matrix(*shape)
    deficient = matrix(m, 7) @ matrix(7, n, seed=5)
    for a in (full, deficient, full * 1e-200, tandem.zeros(shape, dtype=F64)):
        b = matrix(m, 3, seed=4)
        for driver in ("gelsy", "gelsd"):
            found = linalg.lstsq(a, b, driver=driver)
            want = np.linalg.lstsq(a.numpy(), b.numpy(), rcond=np.finfo(float).eps * max(m, n))
            scale = max(1.0, np.abs(want[0]).max())
            close(found.solution / scale, want[0] / scale, 1e-9)
            assert found.rank.item() == want[2]
    batch = tandem.stack([full, deficient])
    found = linalg.lstsq(batch, matrix(2, m, 3, seed=4))
    assert found.rank.tolist() == [min(m, n), 7]
    assert linalg.lstsq(full.expand(4, m, n), matrix(4, m, 3, seed=6)).solution.shape == (4, n, 3)


def test_least_squares_of_nothing():
    assert linalg.lstsq(tandem.zeros(3, 0), tandem.ones(3, 2)).solution.shape == (0, 2)
    empty = linalg.lstsq(tandem.zeros(0, 3), tandem.zeros(0, 2))
    assert empty.solution.tolist() == [[0.0, 0.0]] * 3 and empty.rank.item() == 0


def indefinite(n: int, seed: int = 3) -> tandem.Tensor:
    a = matrix(n, n, seed=seed)
    a = a + a.mT
    return a - tandem.diag(a.diagonal())  # no element of the diagonal is a pivot


def unpacked(factors: tandem.Tensor, pivots: tandem.Tensor) -> np.ndarray:
    """A, of its factors and pivots as LAPACK's sytrf gives them for the lower triangle."""
    ld, n = factors.numpy(), factors.shape[-1]
    a, k, blocks = np.eye(n), 0, []
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        blocks.append((k, size))
        k += size
    d = np.zeros((n, n))
    for k, size in reversed(blocks):
        low = np.eye(n)
        low[k + size :, k : k + size] = ld[k + size :, k : k + size]
        d[k, k] = ld[k, k]
        if size == 2:
            d[k + 1, k + 1] = ld[k + 1, k + 1]
            d[k, k + 1] = d[k + 1, k] = ld[k + 1, k]
        row, other = k + size - 1, abs(int(pivots[k])) - 1
        a = low @ a
        a[[row, other]] = a[[other, row]]
    return a @ d @ a.T


@pytest.mark.parametrize("n", [1, 2, 3, 8, 33, 70])
def test_symmetric_indefinite_factors(n):
    a = indefinite(n) if n > 1 else tandem.tensor([[-3.0]], dtype=F64)
    factors, pivots, info = linalg.ldl_factor_ex(a.tril())
    assert pivots.dtype is tandem.int32 and info.item() == 0
    close(unpacked(factors, pivots), a)
    for got, want in zip(linalg.ldl_factor(a, hermitian=True), (factors, pivots), strict=True):
        assert_same_bits(got, want)
    assert (pivots < 0).any() == (n > 1)
    for b in (matrix(n, 3), matrix(2, n, 1), matrix(n, 0)):
        close(a @ linalg.ldl_solve(factors, pivots, b), b.expand(*b.shape), 1e-8)
    both = tandem.stack([a, indefinite(n, 5) + tandem.eye(n, dtype=F64)])
    close(both @ linalg.ldl_solve(*linalg.ldl_factor(both), matrix(n, 2)), matrix(n, 2).expand(2, n, 2), 1e-8)


def test_known_symmetric_indefinite_factors():
    a = tandem.tensor([[1.0, 2, 3], [2, 0, 5], [3, 5, 4]])
    factors, pivots = linalg.ldl_factor(a)
    close(factors, [[4.0, 0, 0], [1.25, -6.25, 0], [0.75, 0.28, -0.76]], 1e-5)
    assert pivots.tolist() == [3, 2, 3]


def test_symmetric_indefinite_factors_of_edge_cases():
    zero = tandem.stack([tandem.eye(2), tandem.zeros(2, 2)])
    assert linalg.ldl_factor_ex(zero).info.tolist() == [0, 1]
    message = r"\(Batch element 1\): The block of D at 1 is zero"
    with pytest.raises(linalg.LinAlgError, match=message):
        linalg.ldl_factor(zero)
    with pytest.raises(linalg.LinAlgError, match=message):
        linalg.ldl_factor_ex(zero, check_errors=True)
    nan = linalg.ldl_factor_ex(tandem.tensor([[float("nan"), 1.0], [1.0, 2.0]]))
    assert nan.info.item() > 0
    assert [t.shape for t in linalg.ldl_factor_ex(tandem.zeros(0, 3, 3))] == [(0, 3, 3), (0, 3), (0,)]
    assert [t.shape for t in linalg.ldl_factor_ex(tandem.zeros(2, 0, 0))] == [(2, 0, 0), (2, 0), (2,)]
    eye, pivots, b = tandem.eye(2), tandem.tensor([1, 2], dtype=tandem.int32), tandem.ones(2, 1)
    assert linalg.ldl_solve(eye, pivots.long(), b).tolist() == [[1.0], [1.0]]
    for wrong, text in (([1, 3], "got 3"), ([-1, 2], "a negative pivot must stand twice"), ([1, 0], "got 0")):
        with pytest.raises(RuntimeError, match=text):
            linalg.ldl_solve(eye, tandem.tensor(wrong, dtype=tandem.int32), b)
    for arguments, text in (
        ((eye, pivots, tandem.ones(3, 1)), "Incompatible matrix sizes"),
        ((eye, pivots[:1], b), "LD.shape"),
        ((eye, pivots.double(), b), "Expected pivots to be integers. Got Double"),
        ((eye, pivots, b.double()), "the same dtype"),
        ((tandem.ones(2, 3), pivots, b), "batches of square matrices"),
    ):
        with pytest.raises(RuntimeError, match=text):
            linalg.ldl_solve(*arguments)


def test_symmetric_indefinite_factors_have_no_derivative():
    a = indefinite(4).requires_grad_()
    factors, pivots = linalg.ldl_factor(a)
    with pytest.raises(RuntimeError, match="linalg.ldl_factor: the derivative is not implemented"):
        factors.sum().backward()
    b = matrix(4, 1).requires_grad_()
    with pytest.raises(RuntimeError, match="linalg.ldl_solve: the derivative is not implemented"):
        linalg.ldl_solve(factors.detach(), pivots, b).sum().backward()


@pytest.mark.parametrize("mode", ["lazy", "compiled"])
def test_modes(mode):
    def f(a: tandem.Tensor, b: tandem.Tensor) -> list[tandem.Tensor]:
        s = a @ a.mT + tandem.eye(40, dtype=F64)
        lu, pivots = linalg.lu_factor(a)
        return [
            linalg.solve_triangular(s, b, upper=False), linalg.cholesky(s), linalg.solve(s, b), linalg.det(a),
            linalg.lu_solve(lu, pivots, b), *linalg.eigh(s), tandem.matrix_exp(a / 9), *linalg.ldl_factor(s),
            linalg.ldl_solve(*linalg.ldl_factor(s), b), linalg.lstsq(a, b).solution, linalg.slogdet(a)[1],
            tandem.orgqr(*tandem.geqrf(a)), linalg.cross(a[:3], b[:3, :1], dim=0),
        ]  # fmt: skip

    a, b = matrix(2, 40, 40), matrix(2, 40, 3, seed=4)
    for got, want in zip(run_in(mode, f, a[0], b[0]), f(a[0], b[0]), strict=True):
        assert_same_bits(got, want)


def test_gradients_are_the_same_with_and_without_a_graph():
    a, b = (matrix(2, 40, 40) + 9 * tandem.eye(40, dtype=F64)).requires_grad_(), matrix(2, 40, 3).requires_grad_()
    for f in (
        lambda: linalg.solve(a, b),
        lambda: linalg.inv(a),
        lambda: linalg.det(a / 9),
        lambda: linalg.slogdet(a)[1],
    ):
        y = f()
        weight = matrix(*y.shape, seed=6)
        once = tandem.autograd.grad((y * weight).sum(), a, retain_graph=True)[0]
        again = tandem.autograd.grad((y * weight).sum(), a, create_graph=True)[0]
        close(once, again.detach(), 1e-9 * once.abs().max().item())
