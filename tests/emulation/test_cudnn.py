"""Convolutions by cuDNN, and what may be rounded to TF32, on the emulated device: values against the CPU's, which
engine computes, and that flags go where operations go."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated import DEVICE, there
from test_library_math import bits, compare, made, odd, random

import tandem
import tandem.nn.functional as F
from tandem import nn
from tandem.backends import cudnn
from tandem.backends.cuda import matmul

FORWARD, INPUT, WEIGHT = "forward", "input_grad", "weight_grad"


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The execution plans that were queued since it was last asked."""
    log = tmp_path / "cudnn"
    log.touch()
    monkeypatch.setenv("TANDEM_CUDNN_LOG", str(log))

    def queued() -> list[str]:
        tandem.cuda.synchronize()
        lines = log.read_text().splitlines()
        log.write_text("")
        return lines

    return queued


@pytest.fixture(autouse=True)
def flags_as_before() -> Iterator[None]:
    with cudnn.flags(enabled=True, allow_tf32=False):
        yield
    tandem.set_float32_matmul_precision("highest")


# ---- values

CONVOLUTIONS: list[dict[str, Any]] = [
    {},
    {"stride": 2, "padding": 1},
    {"stride": (1, 3), "padding": (2, 0), "dilation": (1, 2)},
    {"groups": 2, "padding": 1},
    {"groups": 4, "stride": 2, "dilation": 2, "padding": 2},
]


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16, tandem.float32])
@pytest.mark.parametrize("options", CONVOLUTIONS, ids=str)
def test_convolutions_and_their_gradients(options: dict[str, Any], dtype: tandem.dtype, plans: Any) -> None:
    groups = options.get("groups", 1)
    x, w = random((2, 4, 9, 8), dtype), random((8, 4 // groups, 3, 2), dtype, 1)
    compare(lambda x, w: F.conv2d(x, w, **options), x, w, exact=False, backward=True)
    engine = "tensor_cores" if dtype is not tandem.float32 else "exact" if groups == 1 else "plain"
    assert sorted(plans()) == sorted(f"{kind} {engine}" for kind in (FORWARD, INPUT, WEIGHT))


@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float32, tandem.float64])
@pytest.mark.parametrize("options", [*CONVOLUTIONS[:3], {"kernel": (1, 1)}, {"kernel": (1, 1), "stride": 2}], ids=str)
def test_weights_of_large_images(options: dict[str, Any], dtype: tandem.dtype, plans: Any) -> None:
    """Their cotangents are products, one of each image, where nothing is rounded."""
    options = dict(options)
    kernel = options.pop("kernel", (3, 2))
    x, w = random((5, 4, 33, 32), dtype), random((8, 4, *kernel), dtype, 1)
    compare(lambda x, w: F.conv2d(x, w, **options), x, w, exact=False, backward=True)
    assert (f"{WEIGHT} tensor_cores" in plans()) is (dtype is tandem.bfloat16)
    matmul.allow_tf32 = True
    with cudnn.flags(enabled=True, allow_tf32=True):
        compare(lambda x, w: F.conv2d(x, w, **options), x, w, exact=False, backward=True, tolerance=1e-2)
    assert (f"{WEIGHT} tensor_cores" in plans()) is (dtype is not tandem.float64)


def test_weights_of_images_that_take_turns() -> None:
    """Of windows that are not kept all at once."""
    x, w = random((3, 1, 1400, 1900)), random((1, 1, 3, 3), seed=1)
    compare(lambda x, w: F.conv2d(x, w), x, w, exact=False, backward=True, tolerance=1e-2)


def test_one_and_three_dims(plans: Any) -> None:
    compare(
        F.conv1d, random((2, 4, 9)), random((6, 2, 3), seed=1), random((6,), seed=2), 2, 1, 1, 2,
        exact=False, backward=True,
    )  # fmt: skip
    compare(F.conv3d, random((2, 3, 5, 6, 4)), random((4, 3, 2, 3, 2), seed=1), exact=False, backward=True)
    assert sorted(plans()) == sorted(f"{k} {e}" for k in (FORWARD, INPUT, WEIGHT) for e in ("exact", "plain"))


def test_transposed_convolutions(plans: Any) -> None:
    x, w = random((2, 4, 5, 4)), random((4, 3, 3, 2), seed=1)
    compare(F.conv_transpose2d, x, w, None, 2, 1, 1, exact=False, backward=True)
    compare(F.conv_transpose1d, x[0], random((5, 2, 3), seed=2), None, 3, exact=False, backward=True)
    queued = plans()
    assert len(queued) == 6 and {q.split()[0] for q in queued} == {FORWARD, INPUT, WEIGHT}


def test_output_that_is_smaller_than_the_input_has_room_for(plans: Any) -> None:
    """A padding of the output as large as the stride: cuDNN knows no such convolution."""
    x, w = random((1, 2, 4, 4)), random((2, 3, 2, 2), seed=1)
    compare(
        lambda x, w: F.conv_transpose2d(x, w, stride=1, dilation=2, output_padding=1), x, w, exact=False, backward=True
    )
    assert plans() == [f"{FORWARD} exact"]  # of the gradient that sees all there is


def test_gradients_of_gradients(plans: Any) -> None:
    def second(x: tandem.Tensor, w: tandem.Tensor) -> list[tandem.Tensor]:
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        y = F.conv2d(x, w, stride=2, padding=1, groups=2)
        first = tandem.autograd.grad((y * y * y).sum(), (x, w), create_graph=True)
        return list(tandem.autograd.grad(sum((g * g).sum() for g in first), (x, w)))

    compare(second, random((2, 4, 6, 5)) / 4, random((6, 2, 3, 3), seed=1) / 4, exact=False, tolerance=1e-4)
    queued = plans()
    assert all(q.endswith("plain") for q in queued)
    assert all(sum(kind in q for q in queued) > 1 for kind in (FORWARD, INPUT, WEIGHT))


def test_no_work_is_no_plan(plans: Any) -> None:
    compare(F.conv2d, random((0, 2, 5, 5)), random((3, 2, 3, 3)), backward=True)
    compare(F.conv2d, random((2, 0, 5, 5)), random((3, 0, 3, 3)), backward=True)
    assert plans() == []


def test_examples_with_a_weight_each_are_groups(plans: Any) -> None:
    x, w = random((3, 2, 4, 6, 6)), random((3, 5, 4, 3, 3), seed=1)
    compare(tandem.vmap(F.conv2d), x, w, exact=False)
    assert plans() == [f"{FORWARD} plain"]


@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float32])
def test_every_layout_has_the_same_bits(dtype: tandem.dtype) -> None:
    x, w = random((2, 3, 6, 7), dtype), random((5, 3, 3, 3), dtype, 1)
    first = bits(F.conv2d(there(x), there(w)))
    assert bits(F.conv2d(there(odd(x)), there(odd(w)))) == first
    nhwc = there(x).contiguous(memory_format=tandem.channels_last)
    assert bits(F.conv2d(nhwc, there(w))) == first
    askew = there(tandem.cat([tandem.zeros(1, dtype=dtype), x.flatten()]))[1:].view(x.shape)
    assert bits(F.conv2d(askew, there(w))) == first


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.float32, tandem.int32])
@pytest.mark.parametrize("function", [F.conv2d, F.conv_transpose2d])
def test_channels_that_lie_beside_each_other(function: Callable[..., Any], dtype: tandem.dtype) -> None:
    """Results lie so too; half types with a bias are rounded after it was added, of a convolution in the half type."""
    make = made if dtype == tandem.int32 else random
    x, w, b = make((2, 4, 6, 7), dtype), make((4, 4, 3, 2), dtype, 1), make((4,), dtype, 2)
    nhwc = there(x).contiguous(memory_format=tandem.channels_last)
    want = function(there(x), there(w))
    got = function(nhwc, there(w))
    assert got.is_contiguous(memory_format=tandem.channels_last) and bits(got.contiguous()) == bits(want)
    biased = function(nhwc, there(w), there(b))
    assert biased.dtype == dtype and biased.is_contiguous(memory_format=tandem.channels_last)
    assert bits(biased.contiguous()) == bits(want + there(b).view(-1, 1, 1))
    if dtype == tandem.int32:
        return
    cotangent = there(random(tuple(want.shape), dtype, 3))
    gradients = []
    for image in (there(x), nhwc):
        leaves = [image.detach().requires_grad_(), there(w).requires_grad_()]
        gradients.append(tandem.autograd.grad(function(*leaves), leaves, cotangent))
    for planes, images in zip(*gradients, strict=True):
        assert images.is_contiguous(memory_format=tandem.channels_last)
        assert bits(images.contiguous()) == bits(planes)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float16])
def test_pools_of_channels_that_lie_beside_each_other(dtype: tandem.dtype) -> None:
    x = random((2, 9, 7, 6), dtype).contiguous(memory_format=tandem.channels_last)
    compare(lambda x: F.avg_pool2d(x, 3, 2, 1), x, backward=True)
    compare(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x, backward=True)
    compare(lambda x: F.adaptive_avg_pool2d(x, 3), x, backward=True)
    leaf = there(x).requires_grad_()
    for y in (F.avg_pool2d(leaf, 2), F.max_pool2d(leaf, 2), F.max_pool2d(leaf.detach(), 2)):
        assert y.is_contiguous(memory_format=tandem.channels_last)
    (gradient,) = tandem.autograd.grad(F.max_pool2d(leaf, 2).sum(), leaf)
    assert gradient.is_contiguous(memory_format=tandem.channels_last)


def test_a_result_that_lies_askew(plans: Any) -> None:
    """A compiled function that returns a part of what it writes: results are put where they belong."""
    x, w = random((1, 1, 4, 4)), random((1, 1, 2, 2), seed=1)
    f = tandem.compile(lambda x, w: tandem.cat([x.flatten()[:1], F.conv2d(x, w).flatten()]))
    for _ in range(3):
        assert bits(f(there(x), there(w))) == bits(
            tandem.cat([x.flatten()[:1], F.conv2d(there(x), there(w)).flatten().cpu()])
        )


# ---- the choice of an engine


def test_each_time_the_same_bits() -> None:
    """The engine that the library would rather take adds in another order each time."""
    x, w = there(random((2, 8, 9, 9))), there(random((8, 8, 3, 3), seed=1))
    assert len({bits(F.conv2d(x, w)) for _ in range(4)}) == 1


def test_what_no_engine_serves(plans: Any) -> None:
    x, w = random((2, 3, 12, 6)), random((4, 3, 9, 1), seed=1)
    for _ in range(2):
        compare(F.conv2d, x, w, exact=False, backward=True)
    assert plans() == []


def test_what_is_not_asked_for(plans: Any) -> None:
    compare(F.conv2d, random((2, 3, 6, 7), tandem.float64), random((4, 3, 3, 2), tandem.float64, 1), exact=False)
    compare(F.conv2d, made((2, 3, 6, 7), tandem.int32), made((4, 3, 3, 2), tandem.int32, 1))
    F.conv2d(random((2, 3, 6, 7)), random((4, 3, 3, 2)))
    assert plans() == []


# ---- modes


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 4, 3, stride=2, groups=2)
        self.last = nn.Linear(4 * 3 * 3, 3)

    def forward(self, x: tandem.Tensor) -> tandem.Tensor:
        x = F.relu(self.second(F.gelu(self.first(x))))
        return self.last(x.flatten(1))


def losses(mode: str, steps: int = 6) -> tuple[list[bytes], list[int]]:
    """The bits of losses and parameters of a training, and how many kernels and graphs each step launches."""
    tandem.manual_seed(3)
    model = Net().to(DEVICE)
    optimizer = tandem.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x: tandem.Tensor, y: tandem.Tensor) -> tandem.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = tandem.compile(step) if mode == "compiled" else step
    found, launches = [], []
    for _ in range(steps):
        x, y = tandem.randn(4, 2, 8, 8).to(DEVICE), tandem.randint(0, 3, (4,)).to(DEVICE)
        before = tandem.counters()["kernel_launches"]
        if mode == "lazy":
            with tandem.lazy():
                loss = run(x, y)
        else:
            loss = run(x, y)
        found.append(bits(loss))
        launches.append(tandem.counters()["kernel_launches"] - before)
    return found + [bits(p) for p in model.parameters()], launches


def test_modes_have_the_same_bits() -> None:
    eager, _ = losses("eager")
    assert losses("lazy")[0] == eager
    compiled, launches = losses("compiled")
    assert compiled == eager
    assert launches[0] > 10 and launches[-1] == 0, launches  # one graph


def test_plans_as_graphs_whose_operands_lie_elsewhere(plans: Any) -> None:
    w = there(random((3, 2, 3, 3)))
    f = tandem.compile(
        lambda x: tandem.softmax(tandem.softmax(F.conv2d(x, w), 1) * F.conv2d(x, w, padding=1)[..., 1:-1, 1:-1], 1)
    )
    kept = []
    for k in range(8):
        x = there(random((2, 2, 6, 6), seed=k))
        kept.append((x, f(x)))
    for x, y in kept:
        want = tandem.softmax(tandem.softmax(F.conv2d(x, w), 1) * F.conv2d(x, w, padding=1)[..., 1:-1, 1:-1], 1)
        assert bits(y) == bits(want)
    assert 16 < len(plans()) < 32  # what a graph has is not queued again


def test_captured_by_a_program() -> None:
    x, w = there(random((2, 3, 6, 6))), there(random((4, 3, 3, 3), seed=1))
    with tandem.no_grad():
        F.conv2d(x, w)
        graph = tandem.cuda.CUDAGraph()
        with tandem.cuda.graph(graph):
            y = F.conv2d(x, w) + F.conv2d(x, w)
        for seed in (5, 6):
            new = random((2, 3, 6, 6), seed=seed)
            x.copy_(new)
            graph.replay()
            assert bits(y) == bits(2 * F.conv2d(there(new), w))


def test_saved_programs(tmp_path: Path, plans: Any) -> None:
    model = nn.Conv2d(3, 4, 3).eval()
    x = random((2, 3, 6, 6))
    with cudnn.flags(enabled=True, allow_tf32=True):
        program = tandem.export.export(model, (x,), targets=["x86-64-v3", "sm_90"])
    tandem.export.save(program, str(tmp_path / "model.tandem"))
    loaded = tandem.export.load(str(tmp_path / "model.tandem"), device="cuda")
    plans()
    y = loaded(x)
    assert plans() == [f"{FORWARD} tensor_cores"]  # as when it was saved
    np.testing.assert_allclose(y.numpy(), model(x).detach().numpy(), atol=5e-3)


# ---- flags


def test_names() -> None:
    assert cudnn.is_available() and cudnn.version() == 92800
    assert cudnn.enabled is True and cudnn.allow_tf32 is False and matmul.allow_tf32 is False
    cudnn.allow_tf32 = matmul.allow_tf32 = True
    assert cudnn.allow_tf32 is True and tandem.get_float32_matmul_precision() == "high"
    tandem.set_float32_matmul_precision("highest")
    assert matmul.allow_tf32 is False and cudnn.allow_tf32 is True
    with cudnn.flags(enabled=False, allow_tf32=False):
        assert cudnn.enabled is False and cudnn.allow_tf32 is False
    assert cudnn.enabled is True and cudnn.allow_tf32 is True


def test_without_the_library(plans: Any) -> None:
    x, w = random((2, 3, 6, 7)), random((4, 3, 3, 2), seed=1)
    with cudnn.flags(enabled=False, allow_tf32=False):
        compare(F.conv2d, x, w, exact=False, backward=True)
    assert plans() == []
    y = F.conv2d(there(x).requires_grad_(), there(w))
    with cudnn.flags(enabled=False):
        y.sum().backward()
    assert plans() == [f"{FORWARD} exact", f"{INPUT} exact"]  # the gradient of what cuDNN made


def convolution(x: tandem.Tensor, w: tandem.Tensor) -> tandem.Tensor:
    return F.conv2d(x, w) * 2


def product(x: tandem.Tensor, w: tandem.Tensor) -> tandem.Tensor:
    return (x @ w[:1, :1]) * 2


def allow(what: Callable[..., Any], value: bool) -> None:
    if what is convolution:
        cudnn.allow_tf32 = value
    else:
        matmul.allow_tf32 = value


@pytest.mark.parametrize("what", [convolution, product])
@pytest.mark.parametrize("first", [False, True])
def test_tf32_in_every_mode(what: Callable[..., Any], first: bool) -> None:
    """Whatever ran before, with whichever value."""
    x, w = there(random((2, 3, 7, 5))), there(random((4, 3, 5, 5), seed=1))
    compiled = tandem.compile(what)
    exact = bits(what(x, w))
    allow(what, True)
    rounded = bits(what(x, w))
    assert rounded != exact
    for value in (first, not first, first, first, not first):
        allow(what, value)
        with tandem.lazy():
            y = what(x, w)
            allow(what, not value)
            z = what(x, w)
        allow(what, value)
        assert bits(compiled(x, w)) == bits(y) == bits(what(x, w)) == (rounded if value else exact)
        assert bits(z) == (exact if value else rounded)


def test_tf32_reaches_the_libraries(plans: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "cublaslt"
    monkeypatch.setenv("TANDEM_CUBLASLT_LOG", str(log))
    x, w = random((2, 3, 6, 7)), random((4, 3, 3, 2), seed=1)
    cudnn.allow_tf32 = True
    compare(F.conv2d, x, w, exact=False, tolerance=1e-2, backward=True)
    assert sorted(plans()) == sorted(f"{kind} tensor_cores" for kind in (FORWARD, INPUT, WEIGHT))
    matmul.allow_tf32 = True
    compare(tandem.matmul, random((5, 7)), random((7, 3)), exact=False, tolerance=1e-2, backward=True)
    compare(tandem.einsum, "ij,jk->ik", random((5, 7)), random((7, 3)), exact=False, tolerance=1e-2)
    assert [line.split()[2:] for line in log.read_text().splitlines()] == [["tf32"]] * 4
    log.write_text("")
    for dtype in (tandem.float16, tandem.float64):
        compare(tandem.matmul, random((5, 7), dtype), random((7, 3), dtype), exact=False, backward=True)
    assert "tf32" not in log.read_text() and log.read_text()


def test_gradients_keep_the_flags_of_their_forward(plans: Any) -> None:
    x, w = there(random((2, 3, 6, 7))).requires_grad_(), there(random((4, 3, 3, 2), seed=1))
    for mode in (lambda f: f, tandem.compile):
        f = mode(lambda x: F.conv2d(x, w))
        cudnn.allow_tf32 = True
        y = f(x)
        cudnn.allow_tf32 = False
        y.sum().backward()
        assert plans() == [f"{FORWARD} tensor_cores", f"{INPUT} tensor_cores"]


def attended(x: tandem.Tensor) -> tandem.Tensor:
    """Whose mask has a derivative made of products, and whose own derivative's is, too."""
    return F.scaled_dot_product_attention(x, x, x, attn_mask=x @ x.transpose(-2, -1))


def factored(x: tandem.Tensor) -> tandem.Tensor:
    return tandem.linalg.cholesky(x @ x.transpose(-2, -1) + 4 * tandem.eye(x.shape[-2], device=x.device))


def recurrent(x: tandem.Tensor) -> tandem.Tensor:
    tandem.manual_seed(0)
    return nn.LSTM(5, 6, proj_size=2).to(x.device)(x)[0]


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("what", [attended, factored, recurrent])
def test_derivatives_that_are_made_of_products_keep_the_flag(
    what: Callable[..., Any], allowed: bool, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "cublaslt"
    monkeypatch.setenv("TANDEM_CUBLASLT_LOG", str(log))
    x = there(random((3, 4, 5))).requires_grad_()
    f = tandem.compile(what) if mode == "compiled" and what is not recurrent else what
    matmul.allow_tf32 = allowed
    y = f(x)
    matmul.allow_tf32 = not allowed
    log.write_text("")
    (g,) = tandem.autograd.grad((y * y).sum(), x, create_graph=True)
    (g * g).sum().backward()
    tandem.cuda.synchronize()
    products = [line.split()[2:] for line in log.read_text().splitlines()]
    assert len(products) > 2 and products == [["tf32"] if allowed else []] * len(products)
    assert x.grad is not None and bool(x.grad.isfinite().all())


def test_the_cpu_does_not_read_them() -> None:
    x, w = random((2, 3, 7, 5)), random((4, 3, 5, 5), seed=1)
    before = bits(convolution(x, w)), bits(product(x, w))
    matmul.allow_tf32 = cudnn.allow_tf32 = True
    cudnn.enabled = False
    assert (bits(convolution(x, w)), bits(product(x, w))) == before


# ---- the library itself


def alone(body: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own."""
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), *(p for p in sys.path if p)])
    return subprocess.run(
        [sys.executable, "-c", body],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        cwd=here,
    )


def test_a_library_that_is_named_and_cannot_be_used() -> None:
    body = (
        "import tandem, emulated\n"
        "x = emulated.there(tandem.ones(1, 1, 3, 3))\n"
        "with tandem.backends.cudnn.flags(enabled=False):\n"
        "    tandem.conv2d(x, x[..., :2, :2]).cpu()\n"
        "tandem.conv2d(x, x[..., :2, :2])"
    )
    done = alone(body, TANDEM_CUDNN="/nowhere/libcudnn.so.9")
    assert done.returncode == 1 and "$TANDEM_CUDNN is /nowhere/libcudnn.so.9" in done.stderr, done.stderr
    done = alone(body, TANDEM_CUDNN=os.environ["TANDEM_CUDA_DRIVER"])
    assert done.returncode == 1 and "it lacks cudnn" in done.stderr, done.stderr


def test_without_a_library() -> None:
    """Where neither the system nor a wheel has it."""
    names = ["libcudnn.so.9", *(f"{folder}/libcudnn.so.9" for folder in tandem._nvidia.folders())]
    for name in names:
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            pytest.skip(f"there is {name}")
    done = alone(
        "import os\n"
        "import emulated, tandem\n"
        "os.environ['TANDEM_CUDNN'] = ''\n"
        "import test_library_math as t\n"
        "assert tandem.backends.cudnn.version() is None and not tandem.backends.cudnn.is_available()\n"
        "t.test_convolutions({'groups': 2, 'padding': 1})"
    )
    assert done.returncode == 0, done.stderr


class Library:
    """The stand-in, called as a C library."""

    TENSOR, CONVOLUTION, GRAPH, PACK = 17, 1, 15, 16
    INT64, DATA_TYPE, DESCRIPTOR = 3, 1, 15

    def __init__(self) -> None:
        self.c = ctypes.CDLL(os.environ["TANDEM_CUDNN"])

    def make(self, kind: int) -> ctypes.c_void_p:
        d = ctypes.c_void_p()
        assert self.c.cudnnBackendCreateDescriptor(kind, ctypes.byref(d)) == 0
        return d

    def set(self, d: ctypes.c_void_p, name: int, kind: int, *values: int) -> int:
        array = ((ctypes.c_int if kind == self.DATA_TYPE else ctypes.c_int64) * len(values))(*values)
        return int(self.c.cudnnBackendSetAttribute(d, name, kind, ctypes.c_int64(len(values)), array))

    def tensor(self) -> ctypes.c_void_p:
        d = self.make(self.TENSOR)
        for name, kind, values in (
            (906, self.INT64, (1,)),
            (901, self.DATA_TYPE, (0,)),
            (900, self.INT64, (16,)),
            (902, self.INT64, (1, 2, 3, 4)),
        ):
            assert self.set(d, name, kind, *values) == 0
        return d


def test_the_stand_in_is_strict() -> None:
    library = Library()
    finalize = library.c.cudnnBackendFinalize
    d = library.tensor()
    assert finalize(d) == 2000  # without strides
    assert library.set(d, 903, library.DATA_TYPE, 24, 12, 4, 1) == 2010
    assert library.set(d, 903, library.INT64, 1) == 2000  # too few
    assert library.set(d, 104, library.INT64, 1, 1) == 2000  # of convolutions
    assert library.set(d, 903, library.INT64, 24, 12, 4) == 0 and finalize(d) == 2000  # a dim without a stride
    assert library.set(d, 903, library.INT64, 24, 12, 4, 1) == 0
    forward = library.make(10)
    assert library.set(forward, 704, library.DESCRIPTOR, d.value or 0) == 2004  # not finalized
    count = ctypes.c_int64()
    assert library.c.cudnnBackendGetAttribute(d, 903, 3, ctypes.c_int64(0), ctypes.byref(count), None) == 1001
    assert finalize(d) == 0
    assert finalize(d) == 2000 and library.set(d, 906, library.INT64, 2) == 2000  # once
    assert library.set(forward, 702, library.DESCRIPTOR, d.value or 0) == 2012  # no convolution
    assert library.set(forward, 704, library.DESCRIPTOR, d.value or 0) == 0
    assert library.c.cudnnBackendDestroyDescriptor(d) == 0 and library.c.cudnnBackendDestroyDescriptor(d) == 2000
    assert finalize(forward) == 2000
    handle = ctypes.c_void_p()
    assert library.c.cudnnCreate(ctypes.byref(handle)) == 0
    pack = library.make(library.PACK)
    assert library.c.cudnnBackendExecute(handle, pack, pack) == 2000
    text = ctypes.create_string_buffer(64)
    library.c.cudnnGetLastErrorString(text, ctypes.c_size_t(64))
    assert text.value == b"no plan, or no pack"
