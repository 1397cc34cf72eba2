"""Factorisations of which only some vectors are wanted, and products with those of a factorisation."""

from __future__ import annotations

import pytest

import tandem
from tandem import linalg


def drawn(*shape, dtype=tandem.float64):
    tandem.manual_seed(1)
    return tandem.randn(*shape, dtype=dtype)


@pytest.mark.parametrize("shape", [(8, 5), (5, 8), (2, 3, 6, 7)])
def test_decomposition_of_low_rank(shape):
    x = drawn(*shape[:-1], 3) @ drawn(*shape[:-2], 3, shape[-1])
    U, S, V = tandem.svd_lowrank(x, 4)
    assert U.shape == (*shape[:-1], 4) and S.shape == (*shape[:-2], 4) and V.shape == (*shape[:-2], shape[-1], 4)
    tandem.testing.assert_close((U * S.unsqueeze(-2)) @ V.mT, x, rtol=0, atol=1e-10)
    tandem.testing.assert_close(S[..., :3], linalg.svdvals(x)[..., :3])
    shift = drawn(shape[-1])
    U, S, V = tandem.svd_lowrank(x, 5, None, shift)
    tandem.testing.assert_close((U * S.unsqueeze(-2)) @ V.mT, x - shift, rtol=0, atol=1e-10)
    assert tandem.svd_lowrank(x, None, 0)[1].shape[-1] == min(6, *shape[-2:])


def test_its_gradient():
    x = (drawn(6, 2) @ drawn(2, 4)).requires_grad_()
    U, S, V = tandem.svd_lowrank(x, 2)
    (grad,) = tandem.autograd.grad(S.sum(), x)
    tandem.testing.assert_close(grad, U @ V.mT, rtol=0, atol=1e-8)


def test_principal_components():
    x = drawn(20, 5) * tandem.tensor([5.0, 3.0, 1.0, 1.0, 1.0]) + 7
    U, S, V = tandem.pca_lowrank(x, 2, niter=20)
    tandem.testing.assert_close(S, linalg.svdvals(x - x.mean(0))[:2])
    tandem.testing.assert_close(V.mT @ V, tandem.eye(2, dtype=tandem.float64))
    assert tandem.pca_lowrank(x)[1].shape == (5,)
    tandem.testing.assert_close(tandem.pca_lowrank(x, 5, center=False)[1], linalg.svdvals(x))
    with pytest.raises(ValueError, match=r"q\(=9\) must be non-negative integer and not greater than min\(m, n\)=5"):
        tandem.pca_lowrank(x, 9)
    with pytest.raises(ValueError, match=r"niter\(=-1\) must be non-negative integer"):
        tandem.pca_lowrank(x, 2, niter=-1)


def positive(n, *batch, dtype=tandem.float64):
    x = drawn(*batch, n, n, dtype=dtype)
    return x @ x.mT + tandem.eye(n, dtype=dtype)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
def test_some_eigenvalues(dtype, largest):
    A, B = positive(12, dtype=dtype), positive(12, 2, dtype=dtype)
    close = {"rtol": 0, "atol": 1e-2 if dtype is tandem.float32 else 1e-5}
    E, X = tandem.lobpcg(A, 3, largest=largest)
    every = linalg.eigvalsh(A)
    tandem.testing.assert_close(E, every.flip(0)[:3] if largest else every[:3], **close)
    tandem.testing.assert_close(A @ X, X * E, **close)
    tandem.testing.assert_close(X.mT @ X, tandem.eye(3, dtype=dtype), rtol=0, atol=1e-4)
    E, X = tandem.lobpcg(A, 2, B[0], largest=largest, method="basic")
    tandem.testing.assert_close(A @ X, (B[0] @ X) * E, **close)
    tandem.testing.assert_close(X.mT @ B[0] @ X, tandem.eye(2, dtype=dtype), rtol=0, atol=1e-4)
    E, X = tandem.lobpcg(B, 2, largest=largest)
    assert E.shape == (2, 2) and X.shape == (2, 12, 2)
    every = linalg.eigvalsh(B)
    tandem.testing.assert_close(E, every.flip(-1)[:, :2] if largest else every[:, :2], **close)


def test_other_starts_of_the_search():
    A = tandem.diag(tandem.arange(1.0, 21.0, dtype=tandem.float64))
    start = drawn(20, 4)
    E, X = tandem.lobpcg(A, X=start)
    tandem.testing.assert_close(E, tandem.tensor([20.0, 19.0, 18.0, 17.0], dtype=tandem.float64))
    E, X = tandem.lobpcg(A, 1, X=start, iK=linalg.inv(A), largest=False, niter=-1, tol=1e-9)
    tandem.testing.assert_close(E, tandem.ones(1, dtype=tandem.float64))
    assert tandem.lobpcg(A, 1, n=3, niter=0)[0].shape == (1,)
    assert tandem.lobpcg(A)[0].shape == (1,)
    repeated = tandem.eye(9)
    E, X = tandem.lobpcg(repeated, 2)
    tandem.testing.assert_close(E, tandem.ones(2))


def test_gradients_of_some_eigenvalues():
    A, B = positive(9).requires_grad_(), positive(9, 1)[0].requires_grad_()
    start = drawn(9, 2)
    E, X = tandem.lobpcg(A, X=start, tol=1e-12)
    ours = tandem.autograd.grad((E * tandem.tensor([1.0, 3.0])).sum() + (X**2)[0].sum(), A)[0]
    values, vectors = linalg.eigh((A + A.mT) / 2)
    values, vectors = values.flip(0)[:2], vectors.flip(1)[:, :2]
    theirs = tandem.autograd.grad((values * tandem.tensor([1.0, 3.0])).sum() + (vectors**2)[0].sum(), A)[0]
    tandem.testing.assert_close(ours, theirs)
    tandem.testing.assert_close(ours, ours.mT)
    plain = tandem.lobpcg(A.detach(), X=start, tol=1e-12)[1]
    tandem.testing.assert_close(X.detach(), plain, rtol=0, atol=1e-4)
    E, X = tandem.lobpcg(A, 1, B, X=start, tol=1e-12)
    slope_a, slope_b = tandem.autograd.grad(E.sum(), (A, B))
    x = X.detach()
    tandem.testing.assert_close(slope_a, x @ x.mT)
    tandem.testing.assert_close(slope_b, -E.detach() * x @ x.mT)


def test_errors_of_the_search():
    A = positive(9)
    for call, error, words in (
        (lambda: tandem.lobpcg(A[:3], 1), AssertionError, "A must be square"),
        (lambda: tandem.lobpcg(A, 1, A[:3]), AssertionError, "A and B must have same shape"),
        (lambda: tandem.lobpcg(A, 4), ValueError, r"\(=9\) is smaller than 3 x the number .* \(=4\)"),
        (lambda: tandem.lobpcg(A, 1, method="other"), ValueError, "'basic' or 'ortho', but got 'other'"),
        (lambda: tandem.lobpcg(A, 1, X=drawn(4, 1)), AssertionError, r"got \[4, 1\], expected \[9, 1\]"),
        (lambda: tandem.lobpcg(A, 1, tracker=print), NotImplementedError, "no tracker"),
    ):
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize("m", [5, 40])  # whose whole matrix is made, and not
@pytest.mark.parametrize("batch", [(), (2,)])
def test_products_with_reflectors(batch, m):
    x = drawn(*batch, m, 3)
    reflectors, tau = tandem.geqrf(x)
    eye = tandem.eye(m, dtype=x.dtype).expand(*batch, m, m)
    Q = tandem.ormqr(reflectors, tau, eye)
    tandem.testing.assert_close(Q @ Q.mT, eye)
    tandem.testing.assert_close(Q @ reflectors.triu(), x)
    other, row = drawn(*batch, m, 2), drawn(*batch, 2, m)
    for transpose in (False, True):
        q = Q.mT if transpose else Q
        tandem.testing.assert_close(tandem.ormqr(reflectors, tau, other, transpose=transpose), q @ other)
        tandem.testing.assert_close(reflectors.ormqr(tau, row, False, transpose), row @ q)
    tandem.testing.assert_close(
        tandem.ormqr(reflectors, tau[..., :2], other), tandem.ormqr(reflectors[..., :2], tau[..., :2], other)
    )
    out = tandem.empty(0, dtype=x.dtype)
    assert tandem.ormqr(reflectors, tau, other, out=out) is out and out.equal(tandem.ormqr(reflectors, tau, other))
    free = other.clone().requires_grad_()
    tandem.testing.assert_close(
        tandem.autograd.grad(tandem.ormqr(reflectors, tau, free).sum(), free)[0], Q.mT @ tandem.ones_like(free)
    )


def test_errors_of_products_with_reflectors():
    reflectors, tau = tandem.geqrf(drawn(3, 2))
    eye = tandem.eye(3, dtype=tandem.float64)
    for args, words in (
        ((reflectors[0], tau, eye), "input must have at least 2 dimensions"),
        ((reflectors, tau, eye[:2, :2]), r"other.shape\[-2\] must be equal to input.shape\[-2\], but got \[2, 2\]"),
        ((reflectors, tau, eye[:, :2], False), r"other.shape\[-1\] must be equal to"),
        ((reflectors, tandem.ones(3, dtype=tandem.float64), eye), r"tau.shape\[-1\] must be equal to min"),
        (
            (reflectors, tau, eye.expand(2, 3, 3)),
            r"batch dimensions .* to be equal, but got \[3, 2\], \[2\] and \[2, 3, 3\]",
        ),
        (
            (reflectors, tau, eye.float()),
            r"same dtype, but input has dtype tandem.float64 and other has dtype tandem.float32",
        ),
    ):
        with pytest.raises(RuntimeError, match=words):
            tandem.ormqr(*args)


def test_factors_with_what_failed():
    x = tandem.tensor([[[2.0, 4.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]])
    found = linalg.lu_factor_ex(x)
    assert found.info.tolist() == [2, 0] and found.info.dtype is tandem.int32 and found.LU.equal(found[0])
    LU, pivots = linalg.lu_factor(x[1])
    assert found.LU[1].equal(LU) and found.pivots[1].equal(pivots)
    with pytest.raises(RuntimeError, match=r"torch.linalg.lu_factor_ex: \(Batch element 0\): U\[2,2\] is zero"):
        linalg.lu_factor_ex(x, check_errors=True)
    outs = tandem.empty(0), tandem.empty(0, dtype=tandem.int32), tandem.empty(0, dtype=tandem.int32)
    made = linalg.lu_factor_ex(x, out=outs)
    assert made.LU is outs[0] and outs[2].tolist() == [2, 0]
    free = x[1].clone().requires_grad_()
    linalg.lu_factor_ex(free).LU.sum().backward()
    assert free.grad.isfinite().all()
