"""Eigenvalues and singular values by cuSOLVER, on its stand-in, against the CPU: close, and vectors up to signs."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import devices
import numpy as np
import pytest
from emulated import DEVICE, there
from gpu_here import MARKS
from test_library_math import bits, compare, leaves, odd, positive, random

import tandem
from tandem import linalg

pytestmark = MARKS
stand_in = pytest.mark.skipif(devices.REAL, reason="of the stand-in alone")

WIDE = [tandem.float32, tandem.float64]
TOLERANCE = {tandem.float32: 3e-5, tandem.float64: 1e-12}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stand-in was called for, a line a call."""
    path = tmp_path / "log"
    monkeypatch.setenv("TANDEM_CUSOLVER_LOG", str(path))
    path.write_text("")
    return path


def close(got: tandem.Tensor, expected: tandem.Tensor, tolerance: float | None = None) -> None:
    assert got.shape == expected.shape and got.dtype is expected.dtype
    bound = (tolerance or TOLERANCE[expected.dtype]) * max(1.0, float(expected.abs().max()) if expected.numel() else 0)
    np.testing.assert_allclose(got.cpu().numpy(), expected.cpu().numpy(), rtol=0, atol=bound)


def are_orthonormal(vectors: tandem.Tensor) -> None:
    n = vectors.shape[-1]
    close(vectors.mT @ vectors, tandem.eye(n, dtype=vectors.dtype).expand(*vectors.shape[:-2], n, n))


def of_svd(a: tandem.Tensor) -> tandem.Tensor:
    return tandem.cat([p.abs().flatten() for p in linalg.svd(a, full_matrices=False)])


# ---- symmetric matrices


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("upper", ["L", "U"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 6, 6), (2, 3, 4, 4), (1, 7, 7), (40, 40), (2, 33, 33)])
def test_eigenvalues(shape: tuple[int, ...], upper: str, dtype: tandem.dtype) -> None:
    a = random(shape, dtype)  # not symmetric: one triangle is read
    triangle = a.triu() if upper == "U" else a.tril()
    symmetric = triangle + triangle.mT - tandem.diag_embed(a.diagonal(0, -2, -1))
    for given in (there(a), there(odd(a)), there(a).mT.contiguous().mT):
        values, vectors = linalg.eigh(given, UPLO=upper)
        assert values.device == DEVICE and vectors.is_contiguous()
        close(values.cpu(), linalg.eigh(a, UPLO=upper).eigenvalues, 10 * TOLERANCE[dtype])
        vectors = vectors.cpu()
        are_orthonormal(vectors)
        close(symmetric @ vectors, vectors * values.cpu().unsqueeze(-2), 10 * TOLERANCE[dtype])
    close(linalg.eigvalsh(there(a), UPLO=upper).cpu(), values.cpu(), 10 * TOLERANCE[dtype])


def test_eigenvectors_are_the_cpus_but_for_signs() -> None:
    a = positive((3, 6, 6), tandem.float64)
    close(linalg.eigh(there(a)).eigenvectors.abs().cpu(), linalg.eigh(a).eigenvectors.abs(), 1e-9)


@stand_in
def test_routines_for_symmetric_matrices(log: Path) -> None:
    linalg.eigh(there(random((5, 5))))
    linalg.eigh(there(random((1, 4, 4))), UPLO="U")
    linalg.eigh(there(random((2, 3, 4, 4))))
    linalg.eigvalsh(there(random((5, 5))))
    linalg.eigvalsh(there(random((5, 5))).requires_grad_())
    linalg.eigvalsh(there(random((2, 4, 4))))
    # A lower triangle of rows is an upper one of columns.
    assert log.read_text().splitlines() == [
        "syevd upper vectors 5x5x1",
        "syevd lower vectors 4x4x1",
        "syevBatched upper vectors 4x4x6",
        *["syevd upper values 5x5x1"] * 2,  # a derivative finds the vectors where it is asked for
        "syevBatched upper values 4x4x2",
    ]


# ---- singular values

MATRICES = [(1, 1), (5, 5), (7, 3), (3, 7), (2, 5, 3), (2, 3, 5), (1, 6, 2, 3), (3, 1, 4, 4), (2, 40, 33), (33, 40)]


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("shape", MATRICES)
def test_singular_values(shape: tuple[int, ...], dtype: tandem.dtype) -> None:
    a = random(shape, dtype)
    m, n = shape[-2:]
    k = min(m, n)
    expected = linalg.svd(a, full_matrices=False).S
    for given in (there(a), there(odd(a)), there(a).mT.contiguous().mT):
        for full in (False, True):
            u, s, vh = (p.cpu() for p in linalg.svd(given, full_matrices=full))
            assert u.shape[-2:] == (m, m if full else k) and vh.shape[-2:] == (n if full else k, n)
            close(s, expected)
            are_orthonormal(u)
            are_orthonormal(vh.mT)
            close(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], a)
        close(linalg.svdvals(given).cpu(), expected)


@pytest.mark.parametrize("shape", [(5, 5), (6, 4), (4, 6), (3, 4, 4), (2, 4, 6), (2, 6, 4)])
def test_singular_vectors_are_the_cpus_but_for_signs(shape: tuple[int, ...]) -> None:
    a = random(shape, tandem.float64)
    for got, expected in zip(linalg.svd(there(a), False), linalg.svd(a, False), strict=True):
        close(got.abs().cpu(), expected.abs(), 1e-9)
    tandem.testing.assert_close(tandem.svd(there(a)).V.cpu().abs(), tandem.svd(a).V.abs())


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (2, 5, 5), (2, 6, 3), (2, 3, 6)])
def test_matrices_of_low_rank(shape: tuple[int, ...]) -> None:
    column, row = random((*shape[:-1], 1), tandem.float64), random((*shape[:-2], 1, shape[-1]), tandem.float64, 1)
    for a in (column @ row, tandem.zeros(*shape, dtype=tandem.float64)):
        u, s, vh = (p.cpu() for p in linalg.svd(there(a)))
        are_orthonormal(u)
        are_orthonormal(vh.mT)
        k = s.shape[-1]
        close(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], a)


@stand_in
def test_routines_for_singular_values(log: Path) -> None:
    """Columns in memory are rows of what is factored, which has no fewer of them than columns."""
    linalg.svd(there(random((7, 3))))
    linalg.svd(there(random((3, 7))), full_matrices=False)
    linalg.svd(there(random((2, 40, 4))))
    linalg.svd(there(random((2, 3, 5, 4))))
    linalg.svdvals(there(random((3, 7))))
    linalg.svdvals(there(random((2, 3, 5, 4))))
    linalg.svdvals(there(random((3, 7))).requires_grad_())
    linalg.matrix_rank(there(random((3, 3))))
    assert log.read_text().splitlines() == [
        "gesvdj vectors full 7x3x1",
        "gesvdj vectors thin 7x3x1",
        *["gesvdj vectors full 40x4x1"] * 2,
        "gesvdjBatched vectors 4x5x6",
        "gesvdj values thin 7x3x1",  # a derivative finds the vectors where it is asked for
        "gesvdjBatched values 4x5x6",
        "gesvdj values thin 7x3x1",
        "gesvdj values thin 3x3x1",
    ]


@stand_in
def test_float64_and_large_matrices_are_factored_by_qr(log: Path) -> None:
    """Jacobi's method is that of float32, in float64."""
    given = [random((5, 3), tandem.float64), *([tandem.eye(1025, 1024)] if devices.SLOW else [])]
    for a in given:
        u, s, vh = (p.cpu() for p in linalg.svd(there(a), full_matrices=False))
        close((u * s) @ vh, a)
    assert log.read_text().splitlines() == ["gesvd S 5x3x1", "gesvd S 1025x1024x1"][: len(given)]


@stand_in
@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (2, 5, 40)])
def test_qr_serves_where_jacobi_does_not_converge(
    shape: tuple[int, ...], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANDEM_CUSOLVER_FAIL", "0:2:gesvdj")
    a = random(shape)
    for full in (False, True):
        u, s, vh = (p.cpu() for p in linalg.svd(there(a), full_matrices=full))
        are_orthonormal(u)
        are_orthonormal(vh.mT)
        k = s.shape[-1]
        close(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], a)
    close(linalg.svdvals(there(a)).cpu(), linalg.svdvals(a))
    routines = [line.split()[0] for line in log.read_text().splitlines()]
    assert routines == ["gesvdj", "gesvd"] * (len(routines) // 2)


@stand_in
def test_many_matrices_are_several_calls(log: Path) -> None:
    a = random((16385, 2, 2), tandem.float64)
    a = a + a.mT
    close(linalg.eigh(there(a)).eigenvalues.cpu(), linalg.eigh(a).eigenvalues)
    close(linalg.svd(there(a)).S.cpu(), linalg.svd(a).S)
    assert [line.split("x")[-1] for line in log.read_text().splitlines()] == ["16384", "1", "16384", "1"]


# ---- what is special


@pytest.mark.parametrize("shape", [(0, 0), (0, 4, 4), (2, 0, 0)])
def test_no_symmetric_matrices(shape: tuple[int, ...]) -> None:
    compare(linalg.eigh, tandem.zeros(*shape))
    compare(linalg.eigvalsh, tandem.zeros(*shape))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0, 4, 3), (2, 0, 3), (2, 3, 0)])
def test_no_elements(shape: tuple[int, ...]) -> None:
    for full in (False, True):
        compare(lambda a, f=full: linalg.svd(a, full_matrices=f), tandem.zeros(*shape, dtype=tandem.float64))
    compare(linalg.svdvals, tandem.zeros(*shape))


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_matrices_that_are_not_finite(wrong: float, dtype: tandem.dtype) -> None:
    """Their results are NaN; the others of the batch are what they are without them."""
    for n in (4, 34):
        a = positive((3, n, n), dtype)
        whole = a.clone()
        a[1, 0, n - 1] = wrong
        for f in (linalg.svd, linalg.eigh):
            for got, alone in zip(f(there(a)), f(there(whole)), strict=True):
                assert got[1].isnan().all()
                assert bits(got[0]) == bits(alone[0]) and bits(got[2]) == bits(alone[2])
    a = tandem.full((3, 3), wrong, dtype=dtype)
    for part in (*linalg.svd(there(a)), *linalg.eigh(there(a))):
        assert part.isnan().all()


@pytest.mark.parametrize("name", ["eigh", "svd", "svd_tall", "svd_wide", "svdvals", "eigvalsh", "pinv", "nuclear"])
def test_gradients(name: str) -> None:
    """Of the first and second order, of what does not depend on signs."""
    f, shape = {
        "eigh": (lambda a: tandem.cat([p.abs().flatten() for p in linalg.eigh(a @ a.mT)]), (2, 4, 4)),
        "svd": (of_svd, (3, 3)),
        "svd_tall": (of_svd, (2, 4, 2)),
        "svd_wide": (of_svd, (2, 4)),
        "svdvals": (linalg.svdvals, (2, 3, 4)),
        "eigvalsh": (lambda a: linalg.eigvalsh(a @ a.mT), (3, 3)),
        "pinv": (linalg.pinv, (4, 2)),
        "nuclear": (lambda a: tandem.norm(a, "nuc"), (3, 5)),
    }[name]
    seen = []
    for a in (random(shape, tandem.float64), there(random(shape, tandem.float64))):
        a.requires_grad_()
        out = f(a)
        weights = random(tuple(out.shape), tandem.float64, 5).to(out.device)
        first = tandem.autograd.grad((out * weights).sum(), a, create_graph=True)[0]
        second = tandem.autograd.grad(first.sin().sum(), a)[0]
        seen.append((out, first, second))
    for expected, got in zip(*seen, strict=True):
        close(got.detach().cpu(), expected.detach(), 1e-8)


def test_what_is_made_of_singular_values() -> None:
    a, b = random((6, 4), tandem.float64), random((6, 2), tandem.float64, 1)
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        for matrix in (a, a[:4], a[:3]):
            compare(
                lambda a, b, d=driver: tuple(linalg.lstsq(a, b, driver=d)),
                matrix,
                b[: matrix.shape[0]],
                exact=False,
                tolerance=1e-9,
            )
    square = positive((3, 5, 5), tandem.float64)
    for f in (linalg.matrix_rank, linalg.pinv, linalg.cond, lambda x: linalg.matrix_norm(x, 2)):
        compare(f, square, exact=False, tolerance=1e-9)
    compare(lambda a: linalg.pinv(a, hermitian=True), square, exact=False, tolerance=1e-9)


# ---- errors


@stand_in
def test_what_does_not_converge_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the next wait; a single matrix is the first of its call."""
    monkeypatch.setenv("TANDEM_CUSOLVER_FAIL", "1:4")
    batch, single = there(random((3, 4, 4))), there(random((4, 4)))
    u = linalg.svd(batch).U
    with pytest.raises(
        linalg.LinAlgError, match=r"linalg.svd: \(Batch element 1\): .* singular values \(error code: 4"
    ):
        u.cpu()
    values = linalg.eigh(batch).eigenvalues
    with pytest.raises(linalg.LinAlgError, match=r"linalg.eigh: \(Batch element 1\): .* eigenvalues \(error code: 4"):
        values.cpu()
    linalg.svd(single).U.cpu()
    monkeypatch.setenv("TANDEM_CUSOLVER_FAIL", "0:2")
    values = linalg.eigvalsh(single)
    with pytest.raises(linalg.LinAlgError, match=r"linalg.eigh: The algorithm failed to converge .*code: 2\)"):
        values.cpu()
    monkeypatch.setenv("TANDEM_CUSOLVER_FAIL", "0:-3")
    values = linalg.eigvalsh(single)
    with pytest.raises(RuntimeError, match=r"linalg.eigh: cuSOLVER refuses its argument 3"):
        values.cpu()
    monkeypatch.delenv("TANDEM_CUSOLVER_FAIL")
    close(linalg.eigh(single).eigenvalues.cpu(), linalg.eigh(single.cpu()).eigenvalues)


@stand_in
def test_the_error_of_a_recorded_call_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_CUSOLVER_FAIL", "0:1")
    a = there(random((4, 4)))
    line = sys._getframe().f_lineno + 4
    with pytest.raises(linalg.LinAlgError, match=rf"recorded at .*test_cusolver.py:{line}"):
        with tandem.lazy():
            b = a * 2
            values = linalg.eigh(b).eigenvalues
        values.cpu()


def test_routines_cannot_be_chosen() -> None:
    for f in (linalg.svd, linalg.svdvals):
        with pytest.raises(
            NotImplementedError, match=rf"linalg.{f.__name__}: `driver=` is not implemented: sizes decide"
        ):
            f(there(random((3, 3))), driver="gesvdj")
        with pytest.raises(RuntimeError, match="only supported on CUDA inputs"):
            f(random((3, 3)), driver="gesvdj")


def test_a_graph_that_is_captured_refuses_it() -> None:
    """cuSOLVER may wait for its stream."""
    a = there(random((4, 4)))
    linalg.eigh(a)
    graph = tandem.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match=r"linalg.eigh: cuSOLVER may wait for its stream"), tandem.cuda.graph(graph):
        linalg.eigh(a)
    close(linalg.eigh(a).eigenvalues.cpu(), linalg.eigh(a.cpu()).eigenvalues)


# ---- modes, streams


def steps(a: tandem.Tensor) -> Any:
    b = a @ a.mT
    values, vectors = linalg.eigh(b)
    u, s, vh = linalg.svd(tandem.softmax(a, -1), full_matrices=False)
    return (vectors * values.sqrt().unsqueeze(-2)) @ vectors.mT, u * s.unsqueeze(-2) @ vh, linalg.svdvals(b)


@pytest.mark.parametrize("shape", [(5, 5), (2, 6, 4)])
def test_modes_give_the_same_bits(shape: tuple[int, ...]) -> None:
    """Also those of plans that are run again, which no graph holds."""
    compiled = tandem.compile(steps)
    for seed in range(6):
        a = there(random(shape, seed=seed))
        expected = [bits(t) for t in leaves(steps(a))]
        assert [bits(t) for t in leaves(compiled(a))] == expected
        with tandem.lazy():
            recorded = steps(a)
        assert [bits(t) for t in leaves(recorded)] == expected


def test_a_compiled_training_step() -> None:
    def step(a: tandem.Tensor) -> tandem.Tensor:
        a = a.detach().requires_grad_()
        loss = linalg.eigvalsh(a @ a.mT).log().sum() + linalg.svdvals(a).square().sum() + linalg.pinv(a).sum()
        loss.backward()
        return a.grad

    compiled = tandem.compile(step)
    for seed in range(4):
        a = there(random((4, 4), tandem.float64, seed))
        assert bits(compiled(a)) == bits(step(a))


def test_streams_have_solvers_of_their_own() -> None:
    a = [there(positive((9, 9), tandem.float64) + k) for k in range(4)]
    expected = [bits(linalg.eigh(x).eigenvectors) for x in a]
    streams = [tandem.cuda.Stream() for _ in a]
    tandem.cuda.synchronize()
    found = []
    for x, stream in zip(a, streams, strict=True):
        with tandem.cuda.stream(stream):
            found.append(linalg.eigh(x).eigenvectors)
    tandem.cuda.synchronize()
    assert [bits(f) for f in found] == expected


# ---- the library itself


def run(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), *(p for p in sys.path if p)])
    kept = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run([sys.executable, "-c", body], env=kept, capture_output=True, text=True, cwd=here)


@pytest.mark.parametrize(
    "library, why",
    [("/nowhere/libcusolver.so.12", "cannot be opened: /nowhere"), ("libm.so.6", "lacks cusolverDnCreate")],
)
def test_without_cusolver_the_host_does_it(library: str, why: str) -> None:
    """With a warning once an operation, which says why."""
    body = (
        "import warnings, tandem, test_cusolver as t\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(2):\n"
        "        t.test_what_is_made_of_singular_values()\n"
        "        t.test_no_elements((2, 0, 3))\n"
        "        t.test_eigenvalues((3, 6, 6), 'U', tandem.float64)\n"
        "        t.test_singular_values((2, 5, 3), tandem.float32)\n"
        "        t.test_modes_give_the_same_bits((5, 5))\n"
        "print('\\n'.join(str(w.message) for w in seen))"
    )
    done = run(body, TANDEM_CUSOLVER=library)
    assert done.returncode == 0, done.stderr
    seen = [line for line in done.stdout.splitlines() if "on the CPU" in line]
    assert [line.split()[0] for line in sorted(seen)] == ["eigh", "eigvalsh", "svd", "svdvals"], done.stdout
    assert all(f"also for tensors on a GPU: cuSOLVER {why}" in line for line in seen), seen


@stand_in
def test_a_library_without_the_routine_for_batches(tmp_path: Path, log: Path) -> None:
    """That of CUDA before 12.6: one matrix after another."""
    library = tmp_path / "libcusolver.so.11"
    text = Path(os.environ["TANDEM_CUSOLVER"]).read_bytes()
    library.write_bytes(text.replace(b"cusolverDnXsyevBatched", b"cusolverDnXsyevMissing"))
    body = (
        "import tandem, test_cusolver as t\n"
        "t.test_eigenvalues((3, 6, 6), 'U', tandem.float64)\n"
        "open(t.os.environ['TANDEM_CUSOLVER_LOG'], 'w').close()\n"
        "t.linalg.eigh(t.there(t.random((2, 3, 4, 4))))"
    )
    done = run(body, TANDEM_CUSOLVER=str(library))
    assert done.returncode == 0, done.stderr
    assert log.read_text().splitlines() == ["syevd upper vectors 4x4x1"] * 6


def test_a_gpu_with_cusolver_needs_no_host() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linalg.eigh(there(random((3, 3)))), linalg.svd(there(random((3, 3)))), linalg.svdvals(there(random((2, 3, 3))))


class Solver:
    """The stand-in, called as a C library."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.environ["TANDEM_CUSOLVER"])
        self.handle, self.options = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.library.cusolverDnCreate(ctypes.byref(self.handle)) == 0
        assert self.library.cusolverDnCreateParams(ctypes.byref(self.options)) == 0
        self.a, self.w = there(random((3, 3))), there(random((3,)))
        self.info, self.memory = there(tandem.zeros(1, dtype=tandem.int32)), there(tandem.zeros(4096))
        self.host = ctypes.create_string_buffer(4096)
        tandem.cuda.synchronize()

    def begin(self) -> None:
        assert self.library.cusolverDnSetStream(self.handle, None) == 0
        assert self.library.cusolverDnSetDeterministicMode(self.handle, 1) == 0

    def matrix(self, n: int, a: int) -> list[Any]:
        return [
            self.handle,
            self.options,
            1,
            0,
            ctypes.c_int64(n),
            0,
            pointer(a),
            ctypes.c_int64(n),
            0,
            self.at(self.w),
            0,
        ]

    @staticmethod
    def at(t: tandem.Tensor) -> ctypes.c_void_p:
        return pointer(t.data_ptr())

    def ask(self, n: int = 3, a: int | None = None) -> tuple[int, int]:
        device, host = ctypes.c_size_t(), ctypes.c_size_t()
        sizes = (ctypes.byref(device), ctypes.byref(host))
        result = self.library.cusolverDnXsyevd_bufferSize(*self.matrix(n, a or self.a.data_ptr()), *sizes)
        return result, device.value

    def solve(self, device: int, n: int = 3, a: int | None = None, host: Any = True, memory: int | None = None) -> int:
        given = self.matrix(n, a or self.a.data_ptr())
        workspace = [pointer(memory or self.memory.data_ptr()), ctypes.c_size_t(device)]
        rest = [self.host if host else None, ctypes.c_size_t(4096), self.at(self.info)]
        return self.library.cusolverDnXsyevd(*given, *workspace, *rest)


def pointer(address: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(address)


@stand_in
def test_the_stand_in_is_strict() -> None:
    solver = Solver()
    assert solver.ask()[0] == 1  # no stream was given
    solver.begin()
    result, size = solver.ask()
    assert result == 0 and size == 72
    assert solver.solve(size) == 0
    assert solver.solve(size) == 3  # its workspace was asked for once
    outside = ctypes.addressof(solver.host)

    def refused(ask: Callable[[], Any], **given: Any) -> bool:
        ask()
        return solver.solve(**{"device": size, **given}) == 3

    assert refused(solver.ask, device=size - 4)
    assert refused(solver.ask, n=2)
    assert refused(solver.ask, host=None)
    assert refused(solver.ask, memory=outside)
    assert refused(lambda: solver.ask(a=outside), a=outside)
    solver.library.cusolverDnSetDeterministicMode(solver.handle, 2)
    assert refused(solver.ask)
    tandem.cuda.synchronize()
