"""Singular values and vectors of matrices that make it hard: equal, clustered, graded and missing values, zeros, sizes
around those at which the method changes."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same_bits, run_in

import tandem
from tandem import linalg

F32, F64 = tandem.float32, tandem.float64


def matrices(m: int, n: int) -> dict[str, np.ndarray]:
    r = np.random.default_rng(m * 1000 + n)
    k = min(m, n)
    u = np.linalg.qr(r.normal(size=(m, k)))[0]
    v = np.linalg.qr(r.normal(size=(n, k)))[0]
    kinds = {
        "equal": np.ones(k),
        "nearly equal": 1 + 1e-14 * np.arange(k),
        "pairs": np.repeat(np.arange(1.0, k // 2 + 2), 2)[:k],
        "two clusters": np.where(np.arange(k) < k // 2, 1.0, 1e-9),
        "graded": 10.0 ** -np.linspace(0, 30, k),
        "low rank": np.where(np.arange(k) < 3, 1.0 + np.arange(k), 0.0),
    }
    made = {name: (u * values) @ v.T for name, values in kinds.items()}
    made["normal"] = r.normal(size=(m, n))
    made["ones"] = np.ones((m, n))
    made["zero"] = np.zeros((m, n))
    made["unit"] = np.eye(m, n)
    made["above the diagonal alone"] = np.eye(m, n, k=1)
    made["graded bands"] = (np.eye(m, n) + np.eye(m, n, k=1)) * 10.0 ** (-np.arange(m) / 3)[:, None]
    made["graded bands, upwards"] = made["graded bands"][::-1, ::-1].copy()
    made["triangle of ones"] = np.eye(m, n) - np.triu(np.ones((m, n)), 1)
    made["hilbert"] = 1 / (1.0 + np.arange(m)[:, None] + np.arange(n))
    made["zeros between"] = r.normal(size=(m, n))
    made["zeros between"][m // 2] = 0
    made["zeros between"][:, n // 2] = 0
    made["a tiny block"] = np.zeros((m, n))
    made["a tiny block"][: k // 2, : k // 2] = r.normal(size=(k // 2, k // 2))
    made["a tiny block"][k // 2 :, k // 2 :] = 1e-200 * r.normal(size=(m - k // 2, n - k // 2))
    made["sparse"] = r.normal(size=(m, n)) * (r.random((m, n)) < 0.05)
    made["tiny"] = 1e-300 * made["normal"]
    made["huge"] = 1e300 * made["normal"]
    return made


def off(a: np.ndarray, b: np.ndarray | float) -> float:
    return float(np.abs(a - b).max(initial=0))


SIZES = [
    (1, 1),
    (1, 4),
    (2, 2),
    (3, 3),
    (7, 4),
    (16, 16),
    (32, 32),
    (33, 33),
    (40, 34),
    (65, 66),
    (100, 30),
    (130, 130),
]


@pytest.mark.parametrize(("m", "n"), SIZES)
@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_factors(m, n, dtype):
    limit = float(tandem.finfo(dtype).eps) * 8 * (8 + max(m, n))
    for name, a in matrices(m, n).items():
        if dtype is F32 and name in ("tiny", "huge"):
            a = a * (1e265 if name == "tiny" else 1e-265)
        x = tandem.tensor(a, dtype=dtype)
        a = np.asarray(x).astype(float)
        size = np.abs(a).max() or 1
        expected = np.linalg.svd(a / size, compute_uv=False)
        for full in (False, True):
            u, s, vh = (np.asarray(t).astype(float) for t in linalg.svd(x, full_matrices=full))
            k = len(s)
            assert off(u.T @ u, np.eye(u.shape[1])) <= limit, name
            assert off(vh @ vh.T, np.eye(len(vh))) <= limit, name
            assert off((u[:, :k] * (s / size)) @ vh[:k], a / size) <= limit * max(expected[0], 1), name
            assert off(s / size, expected) <= limit * max(expected[0], 1), name
            assert (np.diff(s) <= 0).all() and (s >= 0).all(), name
        alone = np.asarray(linalg.svdvals(x)).astype(float)
        assert off(alone / size, expected) <= limit * max(expected[0], 1), name
        assert (np.diff(alone) <= 0).all() and (alone >= 0).all(), name
        if name == "zero":
            assert not s.any() and not alone.any()


@pytest.mark.parametrize("shape", [(200, 200), (40, 300), (3, 80, 60), (9, 8, 8)])
def test_threads_change_no_bit(shape):
    x = tandem.tensor(np.random.default_rng(0).normal(size=shape))
    before = tandem.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            tandem.set_num_threads(threads)
            found.append([*linalg.svd(x), linalg.svdvals(x), *linalg.svd(x.float())])
    finally:
        tandem.set_num_threads(before)
    for other in found[1:]:
        for got, want in zip(other, found[0], strict=True):
            assert_same_bits(got, want)


def test_what_is_not_finite():
    x = tandem.ones(3, 40, 40)
    x[1, 2, 3] = float("nan")
    x[2, 0, 0] = float("inf")
    u, s, vh = linalg.svd(x)
    for part in (u, s, vh, linalg.svdvals(x)):
        assert part[0].isfinite().all() and part[1:].isnan().all()


# ---- with and without a gradient ------------------------------------------------------------------------------------


def symmetric(x):
    return x @ x.mT + x.mT @ x


FUNCTIONS = {
    "svdvals": linalg.svdvals,
    "svd without vectors": lambda x: tandem.svd(x, compute_uv=False)[1],
    "eigvalsh": lambda x: linalg.eigvalsh(symmetric(x)),
    "cond": linalg.cond,
    "nuclear norm": lambda x: linalg.matrix_norm(x, "nuc"),
    "2-norm": lambda x: linalg.matrix_norm(x, 2),
    "pinv": linalg.pinv,
    "householder_product": lambda x: linalg.householder_product(x, x[..., 0, :-1] * 0.5),
    "lu_solve": lambda x: linalg.lu_solve(*linalg.lu_factor(x), x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("n", [3, 7, 40])
def test_values_do_not_depend_on_whether_a_gradient_is_needed(name, n, mode):
    f = FUNCTIONS[name]
    for dtype in (F32, F64):
        x = tandem.randn(2, n, n, dtype=dtype)
        with tandem.no_grad():
            plain = f(x)
        kept = run_in(mode, f, x.clone().requires_grad_())
        assert kept.requires_grad
        assert_same_bits(kept.detach(), plain)


@pytest.mark.parametrize("name", ["svdvals", "eigvalsh", "householder_product"])
def test_what_the_derivative_reads_outlives_the_memory(name):
    """Of a matrix that is overwritten between the two passes."""
    tau = tandem.full((3,), 0.5, dtype=F64, requires_grad=True)
    f = (lambda x: linalg.householder_product(x, tau)) if name == "householder_product" else getattr(linalg, name)
    x = tandem.randn(4, 4, dtype=F64)
    leaf, kept = x.clone().requires_grad_(), x.clone().requires_grad_()
    written = leaf * 1
    (expected,) = tandem.autograd.grad(f(kept * 1).square().sum(), kept)
    loss = f(written).square().sum()
    with tandem.no_grad():
        written.zero_()
    (got,) = tandem.autograd.grad(loss, leaf)
    assert_same_bits(got, expected)


@pytest.mark.parametrize("m, n, k", [(4, 4, 4), (6, 3, 2), (5, 4, 1)])
def test_derivatives_of_products_of_reflections(m, n, k):
    a = tandem.randn(2, m, n, dtype=F64, requires_grad=True)
    tau = tandem.rand(2, k, dtype=F64, requires_grad=True)
    assert tandem.autograd.gradcheck(linalg.householder_product, (a, tau))
    assert tandem.autograd.gradgradcheck(linalg.householder_product, (a, tau))


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 4, 3)])
def test_derivatives_of_full_matrices(shape):
    """What is beyond the singular values is constant."""
    a = tandem.randn(*shape, dtype=tandem.float64, requires_grad=True)
    k = min(shape[-2:])
    parts, full = linalg.svd(a, full_matrices=False), linalg.svd(a)
    for part, whole in zip(parts, (full.U[..., :k], full.S, full.Vh[..., :k, :]), strict=True):
        assert tandem.allclose(part.abs(), whole.abs())
    weights = [tandem.randn(full.U.shape, dtype=a.dtype), tandem.randn(full.Vh.shape, dtype=a.dtype)]
    (mine,) = tandem.autograd.grad((full.U**2 * weights[0]).sum() + (full.Vh**2 * weights[1]).sum(), a)
    narrow = (parts.U**2 * weights[0][..., :k]).sum() + (parts.Vh**2 * weights[1][..., :k, :]).sum()
    assert tandem.allclose(mine, tandem.autograd.grad(narrow, a)[0])


def test_derivatives_of_no_elements():
    for full in (False, True):
        a = tandem.zeros(2, 0, 3, requires_grad=True)
        u, s, vh = tandem.linalg.svd(a, full_matrices=full)
        (g,) = tandem.autograd.grad([u.sum() + s.sum() + vh.sum()], a)
        assert g.shape == a.shape
