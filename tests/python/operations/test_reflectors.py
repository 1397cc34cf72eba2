"""QR, what is made of its reflectors, and least squares: sizes around those of blocks, numbers of every size."""

from __future__ import annotations

import numpy as np
import pytest

import tandem
from tandem import linalg

F32, F64 = tandem.float32, tandem.float64
SIZES = [(1, 1), (1, 5), (5, 1), (3, 3), (17, 16), (31, 33), (33, 31), (40, 64), (65, 65), (150, 20), (20, 150)]


def off(a: np.ndarray, b: np.ndarray | float) -> float:
    return float(np.abs(a - b).max(initial=0))


def matrices(m: int, n: int, tiny: float, huge: float) -> dict[str, np.ndarray]:
    r = np.random.default_rng(m * 1000 + n)
    normal = r.normal(size=(m, n))
    made = {"normal": normal, "zero": np.zeros((m, n)), "ones": np.ones((m, n)), "unit": np.eye(m, n)}
    made["rank one"] = np.outer(normal[:, 0], normal[0])
    made["columns of zeros"] = np.where(np.arange(n) % 3 == 0, 0, normal)
    made["tiny"] = normal * tiny
    made["huge"] = normal * huge
    made["columns of every size"] = normal * np.geomspace(tiny, huge, n)
    return made


@pytest.mark.parametrize(("m", "n"), SIZES)
@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_qr(m, n, dtype):
    tiny, huge = (1e-305, 1e305) if dtype is F64 else (1e-36, 1e36)
    limit = float(tandem.finfo(dtype).eps) * 8 * (8 + max(m, n))
    for name, a in matrices(m, n, tiny, huge).items():
        x = tandem.tensor(a, dtype=dtype)
        a = np.asarray(x).astype(float)
        sizes = np.abs(a).max(axis=0)
        sizes[sizes == 0] = 1
        for mode in ("reduced", "complete"):
            q, r = (np.asarray(t).astype(float) for t in linalg.qr(x, mode))
            assert off(q.T @ q, np.eye(q.shape[1])) <= limit, name
            assert off(q @ (r / sizes), a / sizes) <= limit * 4, name
            assert off(np.tril(r, -1), 0) == 0, name
        packed, tau = tandem.geqrf(x)
        k = min(m, n)
        again = linalg.householder_product(packed[:, :k], tau)
        assert off(np.asarray(again).astype(float), np.asarray(linalg.qr(x).Q).astype(float)) <= limit, name
        assert off(np.triu(np.asarray(packed).astype(float))[:k], np.asarray(linalg.qr(x).R).astype(float)) == 0, name


def test_what_is_not_finite_stays_where_it_is_seen():
    x = tandem.ones(2, 20, 20, dtype=F64) + tandem.eye(20, dtype=F64)
    x[1, 7, 3] = float("nan")
    q, r = linalg.qr(x)
    assert q[0].isfinite().all() and r[0].isfinite().all()
    assert q[1].isnan().any() and r[1].isnan().any()


@pytest.mark.parametrize(("m", "n"), [(1, 1), (4, 9), (9, 4), (40, 40), (70, 20), (20, 70)])
@pytest.mark.parametrize("right", [1, 3, 40])
def test_least_squares(m, n, right):
    r = np.random.default_rng(m + n + right)
    for rank in {min(m, n), max(1, min(m, n) // 2)}:
        a = r.normal(size=(m, rank)) @ r.normal(size=(rank, n))
        b = r.normal(size=(m, right))
        found = linalg.lstsq(tandem.tensor(a), tandem.tensor(b))
        expected = np.linalg.lstsq(a, b, rcond=None)[0]
        scale = max(np.abs(expected).max(), 1)
        assert int(found.rank) == rank
        assert off(np.asarray(found.solution) / scale, expected / scale) <= 1e-9
        shared = linalg.lstsq(tandem.tensor(np.stack([a, 2 * a])), tandem.tensor(np.stack([b, b])))
        assert off(np.asarray(shared.solution[0]), np.asarray(found.solution)) == 0
        assert off(np.asarray(shared.solution[1]) * 2 / scale, expected / scale) <= 1e-9
