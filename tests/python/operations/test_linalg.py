"""Linear algebra: values beside NumPy's, derivatives, batches, errors, and the same bits in every mode."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem import linalg
from tandem.autograd import gradcheck, gradgradcheck

F64 = tandem.float64


def matrix(*shape: int, seed: int = 3, shift: float = 0.0) -> tandem.Tensor:
    values = np.random.default_rng(seed).normal(size=shape)
    if shift:
        values += shift * np.eye(*shape[-2:])
    return tandem.tensor(values)


def symmetric(*shape: int) -> tandem.Tensor:
    a = matrix(*shape)
    return a @ a.mT + tandem.eye(shape[-1], dtype=F64)


def close(a, b, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


SQUARE = {
    "inv": (linalg.inv, np.linalg.inv),
    "det": (linalg.det, np.linalg.det),
    "slogdet": (lambda a: linalg.slogdet(a).logabsdet, lambda a: np.linalg.slogdet(a)[1]),
    "sign": (lambda a: linalg.slogdet(a).sign, lambda a: np.linalg.slogdet(a)[0]),
    "power": (lambda a: tandem.matrix_power(a, -3), lambda a: np.linalg.matrix_power(a, -3)),
    "cond": (linalg.cond, np.linalg.cond),
    "cond1": (lambda a: linalg.cond(a, 1), lambda a: np.linalg.cond(a, 1)),
    "condfro": (lambda a: linalg.cond(a, "fro"), lambda a: np.linalg.cond(a, "fro")),
}
ANY = {
    "svdvals": (linalg.svdvals, lambda a: np.linalg.svd(a, compute_uv=False)),
    "pinv": (linalg.pinv, np.linalg.pinv),
    "rank": (linalg.matrix_rank, np.linalg.matrix_rank),
    "nuc": (lambda a: linalg.matrix_norm(a, "nuc"), lambda a: np.linalg.norm(a, "nuc", (-2, -1))),
    "two": (lambda a: linalg.matrix_norm(a, 2), lambda a: np.linalg.norm(a, 2, (-2, -1))),
    "minus_two": (lambda a: linalg.norm(a, -2, (-2, -1)), lambda a: np.linalg.norm(a, -2, (-2, -1))),
}


@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 5, 5), (20, 20)])
def test_values_of_square_matrices(name, shape):
    ours, theirs = SQUARE[name]
    a = matrix(*shape, shift=3.0)
    close(ours(a), theirs(a.numpy()), 1e-9)
    low = ours(a.float())
    assert low.dtype is tandem.float32
    close(low, theirs(a.numpy()), 2e-3)


@pytest.mark.parametrize("name", ANY)
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 3, 20, 17)])
def test_values_of_any_matrices(name, shape):
    ours, theirs = ANY[name]
    a = matrix(*shape)
    close(ours(a), theirs(a.numpy()))
    close(ours(a.mT), theirs(a.mT.numpy()))


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (2, 5, 5), (0, 3, 3), (40, 30), (30, 40)])
def test_factors_multiply_to_the_matrix(shape):
    a = matrix(*shape)
    m, n = shape[-2:]
    k = min(m, n)
    q, r = linalg.qr(a)
    assert q.shape[-2:] == (m, k)
    close(q @ r, a)
    close(q.mT @ q, np.broadcast_to(np.eye(k), (*shape[:-2], k, k)))
    assert linalg.qr(a, "complete").Q.shape[-2:] == (m, m)
    assert_same_bits(linalg.qr(a, "r").R, r)
    u, s, vh = linalg.svd(a, full_matrices=False)
    close((u * s.unsqueeze(-2)) @ vh, a)
    full = linalg.svd(a)
    assert full.U.shape[-2:] == (m, m) and full.Vh.shape[-2:] == (n, n)
    close(tandem.svd(a).V, vh.mT)
    p, low, up = linalg.lu(a)
    close(p @ low @ up, a)
    if m == n:
        b = matrix(*shape[:-1], 2, seed=4)
        lu, pivots = linalg.lu_factor(a)
        assert pivots.dtype is tandem.int32
        for adjoint in (False, True):
            x = linalg.lu_solve(lu, pivots, b, adjoint=adjoint)
            close((a.mT if adjoint else a) @ x, b, 1e-8)
    packed, tau = tandem.geqrf(a)
    if m >= n:
        close(linalg.householder_product(packed, tau), q)


def test_names_outside_linalg():
    a = matrix(4, 4, shift=3.0)
    close(tandem.pinverse(a), linalg.pinv(a))
    close(tandem.inverse(a), linalg.inv_ex(a).inverse)
    close(tandem.logdet(symmetric(4, 4)), linalg.slogdet(symmetric(4, 4)).logabsdet)
    close(tandem.qr(a).R, linalg.qr(a).R)
    close(tandem.orgqr(*tandem.geqrf(a)), linalg.qr(a).Q)
    close(tandem.frobenius_norm(a, dim=(0, 1)), np.linalg.norm(a.numpy()))
    close(tandem.nuclear_norm(a), np.linalg.norm(a.numpy(), "nuc"))
    close(tandem.nuclear_norm(matrix(3, 4, 4), (1, 2)), np.linalg.norm(matrix(3, 4, 4).numpy(), "nuc", (1, 2)))


def test_symmetric_matrices():
    a = symmetric(2, 6, 6)
    values, vectors = linalg.eigh(a)
    close(vectors @ tandem.diag_embed(values) @ vectors.mT, a)
    close(values, np.linalg.eigvalsh(a.numpy()))
    close(linalg.eigvalsh(a.triu(), "U"), values)
    close(linalg.pinv(a, hermitian=True), np.linalg.inv(a.numpy()), 1e-8)
    factor, info = linalg.cholesky_ex(a)
    close(factor, linalg.cholesky(a))
    assert info.tolist() == [0, 0]
    close(a @ tandem.cholesky_solve(matrix(6, 2), factor), np.broadcast_to(matrix(6, 2).numpy(), (2, 6, 2)))
    close(tandem.cholesky_inverse(factor), np.linalg.inv(a.numpy()), 1e-8)
    assert linalg.cholesky_ex(-tandem.eye(3)).info.item() == 1


def test_systems_of_equations():
    a, b = matrix(4, 4, shift=3.0), matrix(4, 2, seed=4)
    close(a @ linalg.solve(a, b), b)
    close(linalg.solve(a, b.T, left=False) @ a, b.T)
    close(a @ linalg.solve(a, b[:, 0]), b[:, 0])
    batch = matrix(3, 4, 4, shift=3.0)
    close(batch @ linalg.solve(batch, b), np.broadcast_to(b.numpy(), (3, 4, 2)))
    close(linalg.solve_ex(a, b).result, linalg.solve(a, b))
    t = matrix(2, 3, 6, shift=1.0)
    close(linalg.tensorinv(t.reshape(2, 3, 6), 2), np.linalg.tensorinv(t.numpy(), 2))
    close(linalg.tensorsolve(t, matrix(2, 3)), np.linalg.tensorsolve(t.numpy(), matrix(2, 3).numpy()))


@pytest.mark.parametrize("driver", [None, "gels", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4)])
def test_least_squares(shape, driver):
    a, b = matrix(*shape), matrix(shape[0], 2, seed=4)
    found = linalg.lstsq(a, b, driver=driver)
    expected, residuals, rank, values = np.linalg.lstsq(a.numpy(), b.numpy(), rcond=None)
    close(found.solution, expected, 1e-8)
    if driver in ("gelsd", "gelss"):
        close(found.singular_values, values)
        close(found.residuals, residuals)
    assert found.rank.tolist() == ([] if driver == "gels" else rank)
    close(linalg.lstsq(a, b[:, 0], driver=driver).solution, expected[:, 0], 1e-8)


def test_residuals_have_a_derivative():
    a, b = matrix(6, 3).requires_grad_(), matrix(6, 2, seed=4).requires_grad_()
    for driver in ("gels", "gelsd"):
        assert tandem.autograd.gradcheck(lambda a, b, d=driver: linalg.lstsq(a, b, driver=d).residuals, (a, b))


def test_values_that_are_not_finite():
    a = tandem.stack([tandem.eye(2), tandem.ones(2, 2) / 0])
    values = (linalg.svdvals(a), linalg.eigvalsh(a))
    for result in (*linalg.svd(a), *linalg.eigh(a), *values, tandem.matrix_exp(a)):
        assert result[0].isfinite().all() and result[1].isnan().all()
    assert linalg.cond(tandem.zeros(2, 2), 1).item() == float("inf")


@pytest.mark.parametrize("shape", [(1, 1), (4, 6), (6, 4), (2, 20, 20), (0, 3), (3, 0), (0, 2, 2)])
def test_values_are_the_same_with_a_derivative(shape):
    """Without one, no vectors are found."""
    a = matrix(*shape)
    close(linalg.svdvals(a), linalg.svdvals(a.clone().requires_grad_()).detach())
    if shape[-1] == shape[-2]:
        close(linalg.eigvalsh(a), linalg.eigvalsh(a.clone().requires_grad_()).detach())
    assert a.numel() == 0 or "svdvals_plain" in str(tandem.compile(linalg.svdvals).explain(a))


def test_matrix_exp():
    close(tandem.matrix_exp(tandem.zeros(2, 2)), np.eye(2))
    a = matrix(3, 4, 4)
    values, vectors = np.linalg.eig(a.numpy())
    expected = (vectors * np.exp(values)[:, None]) @ np.linalg.inv(vectors)
    close(linalg.matrix_exp(a), expected.real, 1e-9)


GRADS = {
    "inv": (linalg.inv, (3, 3)),
    "det": (linalg.det, (2, 3, 3)),
    "slogdet": (lambda a: linalg.slogdet(a).logabsdet, (3, 3)),
    "solve": (lambda a: linalg.solve(a, a[:, :2].cos()), (3, 3)),
    "solve_right": (lambda a: linalg.solve(a, a[:2].cos(), left=False), (3, 3)),
    "lu": (lambda a: tandem.cat(linalg.lu(a)[1:], -1), (3, 3)),
    "lu_tall": (lambda a: linalg.lu_factor(a).LU, (4, 2)),
    "lu_wide": (lambda a: linalg.lu_factor(a).LU, (2, 4)),
    "qr": (lambda a: tandem.cat([linalg.qr(a).Q, linalg.qr(a).R.mT], -2), (3, 3)),
    "qr_tall": (lambda a: linalg.qr(a).Q @ linalg.qr(a).R.sin(), (4, 2)),
    "qr_wide": (lambda a: linalg.qr(a).Q.sin() @ linalg.qr(a).R, (2, 4)),
    "svdvals": (linalg.svdvals, (3, 4)),
    "svd": (lambda a: tandem.cat([p.abs().flatten() for p in linalg.svd(a, False)]), (3, 3)),
    "svd_tall": (lambda a: tandem.cat([p.abs().flatten() for p in linalg.svd(a, False)]), (4, 2)),
    "eigh": (lambda a: tandem.cat([p.abs().flatten() for p in linalg.eigh(a @ a.mT)]), (3, 3)),
    "pinv": (linalg.pinv, (4, 2)),
    "pinv_wide": (linalg.pinv, (2, 4)),
    "lstsq": (lambda a: linalg.lstsq(a, a.cos()).solution, (4, 2)),
    "nuc": (lambda a: tandem.norm(a, "nuc"), (2, 3)),
    "two": (lambda a: linalg.matrix_norm(a, 2), (2, 3)),
    "exp": (tandem.matrix_exp, (2, 2, 2)),
    "power": (lambda a: tandem.matrix_power(a, -2), (2, 2)),
    "householder": (lambda a: linalg.householder_product(a, a[0].sin()), (4, 2)),
    "cholesky_solve": (
        lambda a: tandem.cholesky_solve(a, linalg.cholesky(a @ a.mT + tandem.eye(3, dtype=F64))),
        (3, 3),
    ),
}


@pytest.mark.parametrize("name", GRADS)
def test_derivatives(name):
    function, shape = GRADS[name]
    shift = 2.0 if shape[-1] == shape[-2] else 0.0
    a = matrix(*shape, shift=shift).requires_grad_()
    assert gradcheck(function, (a,))
    assert gradgradcheck(function, (a,))


def test_the_derivative_of_a_singular_determinant():
    a = tandem.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=F64, requires_grad=True)
    (g,) = tandem.autograd.grad(linalg.det(a), a)
    close(g, [[4.0, -2.0], [-2.0, 1.0]])


def cofactors(a: np.ndarray) -> np.ndarray:
    """By minors, exactly enough for small matrices."""
    n = a.shape[-1]
    out = np.empty_like(a)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(a, i, 0), j, 1)
            out[i, j] = (-1) ** (i + j) * (np.linalg.det(minor) if n > 1 else 1.0)
    return out


DEGENERATE = {
    "one pivot": [[1.0, 2.0], [2.0, 4.0]],
    "a pivot of rounding": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
    "two pivots": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [-1.0, -2.0, -3.0]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
    "zero, three": [[0.0] * 3] * 3,
    "zero, five": [[0.0] * 5] * 5,
    "rank two of four": [[1.0, 2, 0, 1], [0, 1, 1, 1], [1, 3, 1, 2], [2, 5, 1, 3]],
    "regular": [[2.0, 1.0], [1.0, 3.0]],
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_the_second_derivative_of_a_determinant(name):
    """Determinants are polynomials, singular or not: differences of cofactors are compared."""
    base = np.array(DEGENERATE[name])
    n = base.shape[0]
    weights = np.arange(1.0, n * n + 1).reshape(n, n)
    a = tandem.tensor(base, requires_grad=True)
    (g,) = tandem.autograd.grad(linalg.det(a), a, create_graph=True)
    close(g.detach(), cofactors(base), 1e-12)
    (h,) = tandem.autograd.grad((g * tandem.tensor(weights)).sum(), a)
    want = np.empty_like(base)
    for i in range(n):
        for j in range(n):
            step = np.zeros_like(base)
            step[i, j] = 0.5  # cofactors are linear in one element
            want[i, j] = ((cofactors(base + step) - cofactors(base - step)) * weights).sum()
    close(h, want, 1e-11)


def test_the_second_derivative_of_a_singular_logarithm():
    """There is none: the backward that would be differentiated again is refused, as in PyTorch."""
    a = tandem.tensor(DEGENERATE["one pivot"], requires_grad=True)
    for function in (lambda a: linalg.slogdet(a).logabsdet, tandem.logdet):
        y = function(a)
        assert y.item() == -np.inf
        (g,) = tandem.autograd.grad(y, a, retain_graph=True)
        assert not tandem.isfinite(g).any()
        with pytest.raises(tandem.linalg.LinAlgError, match="The solver failed because the input matrix is singular"):
            tandem.autograd.grad(y, a, create_graph=True)


def test_the_derivative_of_a_sign_is_zero():
    a = tandem.tensor(DEGENERATE["one pivot"], requires_grad=True)
    sign, _ = linalg.slogdet(a)
    (g,) = tandem.autograd.grad(sign, a)
    assert sign.requires_grad and not g.any()


@pytest.mark.parametrize("values", [[[0.0]], [[[3.0]], [[0.0]], [[-2.0]]]], ids=["zero", "batch"])
def test_the_cofactor_of_a_single_element_depends_on_nothing(values):
    a = tandem.tensor(values, dtype=tandem.float64, requires_grad=True)
    scale = tandem.tensor(3.0, requires_grad=True)
    (g,) = tandem.autograd.grad(linalg.det(a).sum(), a, create_graph=True)
    assert not g.requires_grad and (g == 1).all() and g.shape == a.shape
    (g,) = tandem.autograd.grad((linalg.det(a) * scale).sum(), a, create_graph=True)
    again = tandem.autograd.grad(g.sum(), (a, scale), allow_unused=True)
    assert again[0] is None and again[1] == a.numel()


@pytest.mark.parametrize(
    "distances", [lambda x: tandem.cdist(x, x + 1, p=0), lambda x: tandem.nn.functional.pdist(x, p=0)]
)
def test_counts_of_differences_have_gradient_zero(distances):
    x = tandem.tensor([[1.0, 2.0], [1.0, tandem.nan], [tandem.inf, 0.0]], requires_grad=True)
    y = distances(x)
    assert set(y.unique().tolist()) <= {0.0, 1.0, 2.0}
    (g,) = tandem.autograd.grad(y.sum(), x)
    assert (g == 0).all()


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 2, 5), (1, 1), (0, 0)])
def test_factors_by_their_older_names(shape):
    a = matrix(*shape).requires_grad_()
    factors = linalg.lu_factor(a)
    for ours, want in zip(tandem.lu(a), factors, strict=True):
        assert_same_bits(ours, want)
    p, low, up = tandem.lu_unpack(*factors)
    for ours, want in zip((p, low, up), linalg.lu(a), strict=True):
        close(ours.detach(), want.detach())
    parts = tandem.lu_unpack(*factors, unpack_data=False)
    assert [t.numel() for t in (parts.P, parts.L, parts.U)] == [p.numel(), 0, 0]
    assert tandem.lu_unpack(*factors, unpack_pivots=False)[0].shape == (0,)
    (g,) = tandem.autograd.grad(low.sin().sum() + up.sum(), a)
    _, other_low, other_up = linalg.lu(a)
    close(g, tandem.autograd.grad(other_low.sin().sum() + other_up.sum(), a)[0])
    if shape[-1] == shape[-2]:
        b = matrix(*shape, seed=5)
        assert_same_bits(tandem.lu_solve(b, *factors), linalg.lu_solve(*factors, b))
        assert_same_bits(b.lu_solve(*factors), linalg.lu_solve(*factors, b))
        out = tandem.empty_like(b)
        with tandem.no_grad():
            assert tandem.lu_solve(b, *factors, out=out) is out
            assert_same_bits(out, linalg.lu_solve(*factors, b))
        assert_same_bits(b.triangular_solve(a).solution, tandem.triangular_solve(b, a).solution)
    assert_same_bits(a.lu()[0], factors[0])


def test_where_a_factor_is_singular():
    a = tandem.tensor([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    assert tandem.lu(a, get_infos=True)[2].tolist() == [2, 1, 0]
    assert tandem.lu(a, get_infos=True)[2].dtype is tandem.int32


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("unitriangular", [True, False])
def test_triangular_systems_by_their_older_name(upper, transpose, unitriangular):
    a, b = matrix(2, 3, 3, shift=3), matrix(2, 3, 2, seed=4)
    x, copy = tandem.triangular_solve(b, a, upper, transpose, unitriangular)
    used = a.triu() if upper else a.tril()
    if unitriangular:
        used = used - tandem.diag_embed(a.diagonal(0, -2, -1)) + tandem.eye(3, dtype=F64)
    close((used.mT if transpose else used) @ x, b)
    assert_same_bits(copy, a)
    assert copy.data_ptr() != a.data_ptr()


def test_derivatives_of_nothing_and_of_symmetric_matrices():
    a = tandem.zeros(2, 0, 0, requires_grad=True)
    assert tandem.autograd.grad(linalg.det(a).sum(), a)[0].shape == (2, 0, 0)
    a = symmetric(3, 3).requires_grad_()
    weights = matrix(3, 3, seed=5)
    (g,) = tandem.autograd.grad((linalg.pinv(a, hermitian=True) * weights).sum(), a)
    (plain,) = tandem.autograd.grad((linalg.inv(a) * weights).sum(), a)
    close(g, plain, 1e-8)


@pytest.mark.parametrize("uplo", "LU")
def test_gradients_of_eigenvectors_are_symmetric(uplo):
    """As the matrix is that a triangle stands for: half of each element's gradient goes to the one across."""
    a, weights = symmetric(2, 5, 5).requires_grad_(), matrix(2, 5, 5, seed=5)

    def loss(a):
        values, vectors = linalg.eigh(a, uplo)
        return (vectors.square() * weights).sum() + (values * weights[..., 0]).sum()

    (g,) = tandem.autograd.grad(loss(a), a)
    close(g, g.mT)
    (of_both,) = tandem.autograd.grad(loss((a + a.mT) / 2), a)
    close(g, of_both)
    step = matrix(2, 5, 5, seed=7)
    step = 1e-6 * (step + step.mT)
    moved = loss(a.detach() + step) - loss(a.detach() - step)
    close(moved / 2e-6, (g * step).sum() / 1e-6, 1e-6)


@pytest.mark.parametrize("mode", ["lazy", "compile"])
@pytest.mark.parametrize("name", ["inv", "det", "lu", "qr_tall", "svd", "eigh", "pinv", "exp", "lstsq"])
def test_modes_give_the_same_bits(name, mode):
    function, shape = GRADS[name]

    def body(a):
        a = a.detach().requires_grad_()
        y = function(a)
        (g,) = tandem.autograd.grad(y.sin().sum(), a)
        return y, g

    a = matrix(*shape, shift=2.0)
    for actual, expected in zip(run_in(mode, body, a), body(a), strict=True):
        assert_same_bits(actual, expected)


def test_threads_change_no_bits():
    a = matrix(9, 40, 40, shift=1.0)
    functions = (linalg.inv, linalg.det, lambda a: linalg.qr(a).Q, lambda a: linalg.svd(a).U, tandem.matrix_exp)
    before = tandem.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            tandem.set_num_threads(threads)
            results.append([f(a) for f in functions])
    finally:
        tandem.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        assert_same_bits(one, two)


def test_vmap():
    a = matrix(4, 3, 3, shift=2.0)
    for function in (linalg.inv, linalg.det, linalg.svdvals, tandem.matrix_exp):
        close(tandem.func.vmap(function)(a), function(a))


SINGULAR = "The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."
ERRORS = [
    (lambda: linalg.inv(tandem.ones(2, 2)), linalg.LinAlgError, f"linalg.inv: {SINGULAR}"),
    (lambda: tandem.ones(1, 2, 2).inverse(), linalg.LinAlgError, r"linalg.inv: \(Batch element 0\): The diagonal"),
    (lambda: linalg.solve(tandem.zeros(2, 2), tandem.ones(2)), linalg.LinAlgError, "input matrix is singular"),
    (lambda: linalg.inv(tandem.ones(2, 3)), RuntimeError, "batches of square matrices, but they are 2 by 3 matrices"),
    (lambda: linalg.inv(tandem.ones(2)), RuntimeError, "must have at least 2 dimensions"),
    (lambda: linalg.inv(tandem.ones(2, 2).long()), RuntimeError, "Expected a floating point or complex tensor"),
    (lambda: linalg.solve(tandem.eye(2), tandem.ones(3, 2)), RuntimeError, r"Incompatible shapes .* \(2x2 and 3x2\)"),
    (lambda: linalg.solve(tandem.eye(2), tandem.ones(2).double()), RuntimeError, "found A of type Float and B of type"),
    (lambda: linalg.qr(tandem.ones(2, 2), "x"), RuntimeError, "unrecognized mode 'x'"),
    (lambda: linalg.lstsq(tandem.ones(3, 2), tandem.ones(2)), RuntimeError, "should match other.size"),
]


@pytest.mark.parametrize(("mistake", "error", "text"), ERRORS)
def test_errors(mistake, error, text):
    with pytest.raises(error, match=text):
        mistake()


@pytest.mark.parametrize("mode", ["lazy", "compile"])
def test_a_singular_matrix_is_an_error_in_every_mode(mode):
    def inverse(a):
        return linalg.inv(a) + 1

    with pytest.raises(linalg.LinAlgError, match="diagonal element 2 is zero"):
        run_in(mode, inverse, tandem.ones(2, 2))
    close(run_in(mode, inverse, tandem.eye(2)), tandem.eye(2) + 1)


def test_pinv_takes_its_limit_from_the_values_it_compares():
    tandem.manual_seed(0)
    for _ in range(50):
        a = tandem.randn(5, 5, dtype=tandem.float64)
        assert not tandem.linalg.pinv(a, rtol=1.0).any()
        assert not tandem.linalg.pinv(a + a.mT, rtol=1.0, hermitian=True).any()
        assert tandem.linalg.matrix_rank(a, rtol=1.0) == 0


def test_empty_results_have_a_history():
    a, b = tandem.randn(3, 3, requires_grad=True), tandem.randn(3, 1)
    residuals = tandem.linalg.lstsq(a, b).residuals
    assert residuals.shape == (0,) and residuals.requires_grad
    product = tandem.linalg.householder_product(a, tandem.empty(0))
    assert product.requires_grad and tandem.autograd.grad(product.sum(), a)[0].count_nonzero() == 0
    assert not tandem.linalg.lstsq(a.detach(), b).residuals.requires_grad


@pytest.mark.parametrize("driver", ["gelss", "gelsd"])
def test_least_squares_of_every_example(driver):
    tandem.manual_seed(0)
    a, b = tandem.randn(3, 4, 2), tandem.randn(3, 4, 1)
    want = tandem.linalg.lstsq(a, b, driver=driver)
    found = tandem.func.vmap(lambda a, b: tuple(tandem.linalg.lstsq(a, b, driver=driver)))(a, b)
    for w, f in zip(want, found, strict=True):
        assert tandem.allclose(w.double(), f.double(), atol=1e-5) and w.shape == f.shape


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("rcond", [None, -1.0, 0.5])
def test_least_squares_of_no_right_sides(driver, rcond):
    for m, n in ((1, 1), (3, 2), (2, 3)):
        a = tandem.randn(m, n, dtype=tandem.float64)
        found = linalg.lstsq(a, tandem.zeros(m, 0, dtype=tandem.float64), rcond=rcond, driver=driver)
        assert found.solution.shape == (n, 0)


@pytest.mark.parametrize("shape", [(6, 4, 4), (4, 6, 4), (6, 6, 3), (3, 5, 2), (1, 4, 1)])
def test_least_squares_truncates_by_columns(shape):
    """Pivots decide, not singular values: at large cutoffs the ranks are others."""
    scipy_linalg = pytest.importorskip("scipy.linalg")
    m, n, rank = shape
    for seed in range(5):
        rng = np.random.default_rng(seed)
        a, b = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n)), rng.standard_normal((m, 2))
        for scale, rcond in ((1, 1e-12), (1, 0.1), (1e-200, 0.1), (1, 0.3), (1, 0.6), (1e200, 0.6), (1, 1.0)):
            want = scipy_linalg.lstsq(a, b, cond=rcond, lapack_driver="gelsy")
            found = linalg.lstsq(tandem.tensor(a * scale), tandem.tensor(b), rcond=rcond, driver="gelsy")
            assert found.rank == want[2]
            np.testing.assert_allclose(found.solution.numpy() * scale, want[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("driver", ["gelsd", "gelss"])
def test_least_squares_by_values_with_cutoffs_beyond_one(driver):
    scipy_linalg = pytest.importorskip("scipy.linalg")
    a, b = np.random.default_rng(0).standard_normal((4, 3)), np.ones(4)
    a[:, 2] = a[:, 0] + a[:, 1]
    for rcond in (-1.0, 0.2, 1.0, 2.0):
        want = scipy_linalg.lstsq(a, b, cond=rcond, lapack_driver=driver)
        found = linalg.lstsq(tandem.tensor(a), tandem.tensor(b), rcond=rcond, driver=driver)
        assert found.rank == want[2]
        np.testing.assert_allclose(found.solution.numpy(), want[0], rtol=1e-9, atol=1e-12)


def test_least_squares_of_one_matrix_for_many_right_sides():
    a, b = tandem.randn(1, 4, 3, dtype=tandem.float64), tandem.randn(5, 4, 2, dtype=tandem.float64)
    for rcond in (None, 0.9):
        found, each = linalg.lstsq(a, b, rcond=rcond), [linalg.lstsq(a[0], x, rcond=rcond) for x in b]
        assert found.rank.tolist() == [each[0].rank.item()]
        assert tandem.allclose(found.solution, tandem.stack([e.solution for e in each]))


def test_condition_numbers_of_no_elements():
    for p in ("fro", "nuc"):
        assert linalg.cond(tandem.zeros(2, 0, 0), p).tolist() == [0, 0]
        with pytest.raises(RuntimeError, match="square"):
            linalg.cond(tandem.zeros(0, 3), p)
