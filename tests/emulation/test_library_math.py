"""Library functions of a GPU that compute: products, convolutions, pools, attention, order and special functions,
on the emulated device against the CPU. Bit for bit where both add in one order; with a tolerance where
they do not, and then at least the same bits for every layout of the operands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated import DEVICE, there

import tandem
import tandem.nn.functional as F
from tandem import nn

INTEGERS = [tandem.uint8, tandem.int8, tandem.int16, tandem.int32, tandem.int64]
FLOATING = [tandem.float16, tandem.bfloat16, tandem.float32, tandem.float64]
TOLERANCE = {tandem.float16: 4e-3, tandem.bfloat16: 3e-2, tandem.float32: 2e-5, tandem.float64: 1e-12}


def made(shape: tuple[int, ...], dtype: tandem.dtype = tandem.float32, seed: int = 0) -> tandem.Tensor:
    """Numbers of both signs with few digits, many of them equal."""
    values = np.random.default_rng(seed).integers(-20, 20, shape)
    if dtype is tandem.bool:
        return tandem.tensor(values > 0)
    if dtype is tandem.uint8:
        return tandem.tensor(np.abs(values)).to(dtype)
    return tandem.tensor(values / 8 if dtype in FLOATING else values).to(dtype)


def random(shape: tuple[int, ...], dtype: tandem.dtype = tandem.float32, seed: int = 0) -> tandem.Tensor:
    return tandem.tensor(np.random.default_rng(seed).standard_normal(shape)).to(dtype)


def odd(x: tandem.Tensor) -> tandem.Tensor:
    """The same elements every second one of memory, dims the other way round."""
    n = x.dim()
    turned = x.permute(*reversed(range(n)))
    wide = tandem.stack([turned, tandem.zeros_like(turned)], -1)
    return wide[..., 0].permute(*reversed(range(n)))


def leaves(result: Any) -> list[tandem.Tensor]:
    return [result] if isinstance(result, tandem.Tensor) else [t for part in result for t in leaves(part)]


def bits(t: tandem.Tensor) -> bytes:
    t = t.detach().cpu().contiguous()
    return (t.view(tandem.int16) if t.dtype is tandem.bfloat16 else t).numpy().tobytes()


def compare(
    f: Callable[..., Any], *operands: Any, exact: bool = True, tolerance: float | None = None, backward: bool = False
) -> None:
    """f of the operands on both devices; with the gradients of its floating operands if `backward`."""

    def run(args: list[Any]) -> list[tandem.Tensor]:
        args = [
            a.detach().requires_grad_() if backward and isinstance(a, tandem.Tensor) and a.dtype in FLOATING else a
            for a in args
        ]
        results = leaves(f(*args))
        if not backward:
            return results
        results[0].backward(there(weights) if results[0].device == DEVICE else weights)
        return [t.detach() for t in results] + [
            a.grad for a in args if isinstance(a, tandem.Tensor) and a.grad is not None
        ]

    if backward:
        first = leaves(f(*operands))[0]
        weights = made(tuple(first.shape), first.dtype, 9)
    expected = run(list(operands))
    got = run([there(a) if isinstance(a, tandem.Tensor) else a for a in operands])
    assert len(expected) == len(got)
    for e, g in zip(expected, got, strict=True):
        assert g.device == DEVICE and g.shape == e.shape and g.dtype is e.dtype
        if exact or e.dtype not in FLOATING:
            assert bits(g) == bits(e), (e, g.cpu())
        else:
            x, y = e.double().numpy(), g.cpu().double().numpy()
            bound = (tolerance or TOLERANCE[e.dtype]) * max(1.0, float(np.abs(x[np.isfinite(x)]).max(initial=0)))
            np.testing.assert_allclose(y, x, rtol=0, atol=bound)


# ---- products

SHAPES = [((5, 7), (7, 3)), ((65, 17), (17, 70)), ((1, 40), (40, 9)), ((33, 1), (1, 33)), ((3, 600), (600, 5))]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("shapes", SHAPES)
def test_products(shapes: Any, dtype: tandem.dtype) -> None:
    compare(tandem.matmul, random(shapes[0], dtype), random(shapes[1], dtype, 1), exact=False)
    if dtype.itemsize == 2:
        # What is added meets sums in float32, where those of such numbers are exact.
        compare(tandem.addmm, *map(made, ((1, 1), *shapes), [dtype] * 3, range(3)), backward=True)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_integers_wrap(dtype: tandem.dtype) -> None:
    compare(tandem.matmul, made((9, 70), dtype), made((70, 66), dtype, 1))
    compare(tandem.matmul, odd(made((3, 9, 5), dtype)), made((3, 5, 6), dtype, 1))


@pytest.mark.parametrize("shapes", [((0, 4), (4, 3)), ((3, 0), (0, 5)), ((0, 2, 3), (0, 3, 2)), ((2, 3, 0), (2, 0, 2))])
def test_empty_products(shapes: Any) -> None:
    compare(tandem.matmul, random(shapes[0]), random(shapes[1]))


@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float32, tandem.float64])
@pytest.mark.parametrize("depth", [19, 530])
def test_products_have_the_same_bits_in_every_layout(depth: int, dtype: tandem.dtype) -> None:
    """By cuBLASLt, whose order depends on which operands are transposed, in every other respect."""
    a, b = there(random((2, 3, 6, depth), dtype)), there(random((2, 3, depth, 7), dtype, 1))
    by_cublaslt = Path(os.environ["TANDEM_CUBLASLT"]).exists()
    found: dict[tuple[bool, bool], bytes] = {}

    def same(x: tandem.Tensor, y: tandem.Tensor) -> bool:
        turned = (by_cublaslt and x.stride(-2) == 1, by_cublaslt and y.stride(-2) == 1)
        return bits(x @ y) == found.setdefault(turned, bits(x @ y))

    for x in (a, a.mT.contiguous().mT, there(odd(a.cpu())), a.transpose(0, 1).contiguous().transpose(0, 1)):
        for y in (b, b.mT.contiguous().mT, there(odd(b.cpu())), there(odd(b.mT.contiguous().cpu())).mT):
            assert same(x, y)
    assert len(found) == (4 if by_cublaslt else 1)
    y = b[1, 2].mT.contiguous().mT
    assert bits(a[1, 2] @ y) == bits(a[1:2, 2].contiguous()[0] @ y)


def test_products_by_cublaslt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands are taken as they lie; what no algorithm takes is made contiguous first, what lies askew dense."""
    log = tmp_path / "log"
    monkeypatch.setenv("TANDEM_CUBLASLT_LOG", str(log))

    def ways(a: tandem.Tensor, b: tandem.Tensor) -> list[str]:
        log.write_text("")
        compare(tandem.matmul, a, b, exact=False)
        return log.read_text().splitlines()

    a, b = random((12, 8)), random((8, 16), seed=1)
    # It takes columns: the second operand comes first.
    assert ways(a, b) == ["16x12x8 nn"]
    assert ways(a, random((16, 8)).t()) == ["16x12x8 tn"]
    assert ways(random((8, 12)).t(), b) == ["16x12x8 nt"]
    assert ways(random((8, 12)).t(), random((16, 8)).t()) == ["16x12x8 nn"]
    assert ways(random((12, 24))[:, 8:16], odd(b)) == ["16x12x8 nn"]
    assert ways(random((8, 6)).t(), b) == ["16x6x8 nt"]
    assert ways(random((3, 12, 8)), b.expand(3, 8, 16)) == ["16x12x8 nn"]
    assert ways(random((6, 1)), random((1, 5))) == ["5x6x1 nn"]
    assert ways(made((6, 8), tandem.int32), made((8, 5), tandem.int32)) == []


def run_without_cublaslt(body: str) -> None:
    """A program that has these tests' modules, in a process of its own."""
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), *(p for p in sys.path if p)])
    environment = {**os.environ, "PYTHONPATH": path, "TANDEM_CUBLASLT": "/nowhere/libcublasLt.so.13"}
    done = subprocess.run([sys.executable, "-c", body], env=environment, capture_output=True, text=True, cwd=here)
    assert done.returncode == 0, done.stderr


def test_products_without_cublaslt() -> None:
    """The kernel of our own, of every floating dtype, with sums that one and that several blocks make."""
    body = (
        "import tandem, test_library_math as t\n"
        "for dtype in t.FLOATING:\n"
        "    for a, b in t.SHAPES:\n"
        "        t.test_products((a, b), dtype)\n"
        "    for depth in (19, 530):\n"
        "        t.test_products_have_the_same_bits_in_every_layout(depth, dtype)\n"
        "t.test_batches_that_are_expanded()"
    )
    run_without_cublaslt(body)


def test_batches_that_are_expanded() -> None:
    a, b = random((4, 1, 5, 6)), random((3, 6, 2), seed=1)
    compare(tandem.matmul, a, b, exact=False)
    compare(lambda x, y: x.expand(3, 5, 6) @ y, a[0], b, exact=False)


def test_packed_products() -> None:
    tandem.manual_seed(0)
    lstm = nn.LSTM(5, 7, batch_first=True)
    x = random((3, 6, 5))
    moved = nn.LSTM(5, 7, batch_first=True).to(DEVICE)
    moved.load_state_dict(lstm.state_dict())
    with tandem.no_grad():
        for e, g in zip(leaves(lstm(x)), leaves(moved(there(x))), strict=True):
            np.testing.assert_allclose(g.cpu().numpy(), e.numpy(), atol=1e-5)


# ---- convolutions


@pytest.fixture
def own_kernels() -> Iterator[None]:
    """Those by cuDNN are in test_cudnn.py."""
    with tandem.backends.cudnn.flags(enabled=False, allow_tf32=False):
        yield


CONVOLUTIONS = [
    {},
    {"stride": 2, "padding": 1},
    {"stride": (1, 3), "padding": (2, 0), "dilation": (1, 2)},
    {"groups": 2, "padding": 1},
    {"groups": 4, "stride": 2},
]


@pytest.mark.usefixtures("own_kernels")
@pytest.mark.parametrize("options", CONVOLUTIONS, ids=str)
def test_convolutions(options: dict[str, Any]) -> None:
    groups = options.get("groups", 1)
    x, w = random((2, 4, 9, 8)), random((8, 4 // groups, 3, 2), seed=1)
    compare(lambda x, w: F.conv2d(x, w, **options), x, w, exact=False, backward=True)
    compare(lambda x, w: F.conv2d(x, w, **options), odd(x), odd(w), exact=False)


@pytest.mark.usefixtures("own_kernels")
@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16, tandem.float64])
def test_convolutions_of_other_dtypes(dtype: tandem.dtype) -> None:
    x, w = random((2, 3, 6, 7), dtype), random((5, 3, 3, 3), dtype, 1)
    compare(lambda x, w: F.conv2d(x, w, padding=1), x, w, exact=False, backward=True)


@pytest.mark.usefixtures("own_kernels")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_convolutions_of_integers_wrap(dtype: tandem.dtype) -> None:
    compare(F.conv2d, made((2, 3, 6, 7), dtype), made((4, 3, 3, 2), dtype, 1))


@pytest.mark.usefixtures("own_kernels")
def test_long_sums_of_convolutions() -> None:
    """The gradient of a weight adds up more positions than one block does."""
    compare(F.conv2d, random((3, 2, 20, 20)), random((3, 2, 3, 3), seed=1), exact=False, backward=True)


@pytest.mark.usefixtures("own_kernels")
@pytest.mark.parametrize("dtype", [tandem.float16, tandem.float32])
def test_convolutions_of_single_positions(dtype: tandem.dtype) -> None:
    x, w = random((2, 5, 4, 7), dtype), random((6, 5, 1, 1), dtype, 1)
    compare(F.conv2d, x, w, exact=False, backward=True)
    compare(F.conv2d, odd(x), odd(w), exact=False, backward=True)
    compare(lambda x, w: F.conv2d(x, w, stride=2), x, w, exact=False, backward=True)
    compare(F.conv2d, made((2, 5, 4, 7), tandem.int32), made((6, 5, 1, 1), tandem.int32, 1))


@pytest.mark.usefixtures("own_kernels")
def test_empty_convolutions() -> None:
    compare(F.conv2d, random((0, 2, 5, 5)), random((3, 2, 3, 3)), backward=True)
    compare(F.conv1d, random((2, 4, 9)), random((6, 2, 3), seed=1), None, 1, 0, 1, 2, exact=False, backward=True)
    compare(
        F.conv_transpose2d, random((2, 4, 5, 4)), random((4, 3, 3, 2), seed=1), None, 2, 1, exact=False, backward=True
    )


# ---- pools and windows


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": (3, 4), "stride": (2, 1), "padding": (1, 2)},
        {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
        {"kernel_size": (2, 9), "stride": (1, 3), "padding": (0, 1), "ceil_mode": True},
        {"kernel_size": 2, "stride": 3, "divisor_override": 3},
    ],
    ids=str,
)
def test_average_pools(options: dict[str, Any], dtype: tandem.dtype) -> None:
    compare(lambda x: F.avg_pool2d(x, **options), random((2, 3, 8, 19), dtype), backward=True)


@pytest.mark.parametrize("dtype", [tandem.bfloat16, tandem.float32])
@pytest.mark.parametrize("size", [(1, 1), (3, 4), (5, 12), (2, 19)])
def test_adaptive_pools(size: tuple[int, int], dtype: tandem.dtype) -> None:
    x = random((2, 2, 7, 19), dtype)
    compare(lambda x: F.adaptive_avg_pool2d(x, size), x, backward=True)
    compare(lambda x: F.adaptive_max_pool2d(x, size), odd(x), backward=True)


def test_pools_of_other_ranks() -> None:
    compare(lambda x: F.avg_pool1d(x, 3, 1, 1), random((2, 3, 11)), backward=True)
    compare(lambda x: F.avg_pool3d(x, (2, 3, 2), (2, 1, 2), 1), random((2, 5, 6, 7)), backward=True)
    compare(lambda x: F.max_pool3d(x, (2, 3, 2), (2, 1, 2), 1), random((2, 5, 6, 7)), backward=True)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATING])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 1, "padding": 1},
        {"kernel_size": (3, 2), "stride": (2, 3), "dilation": (2, 3), "padding": (1, 1)},
    ],
    ids=str,
)
def test_max_pools(options: dict[str, Any], dtype: tandem.dtype) -> None:
    """Ties go to the first place, and their cotangents are added in the order of the windows."""
    x = made((2, 3, 8, 9), dtype)
    if dtype in FLOATING:
        x[0, 1, 2, 3] = float("nan")
        x[1, 1] = -float("inf")
    compare(lambda x: F.max_pool2d(x, return_indices=True, **options), x, backward=dtype in FLOATING)
    with tandem.no_grad():
        compare(lambda x: F.max_pool2d(x, **options), odd(x))


def test_many_windows_with_one_maximum() -> None:
    x = random((1, 1, 9, 9))
    x[0, 0, 4, 4] = 100
    compare(lambda x: F.max_pool2d(x, 7, 1, 3), x, backward=True)


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.float32, tandem.float64])
@pytest.mark.parametrize(
    "options", [{"kernel_size": (2, 3)}, {"kernel_size": 3, "dilation": 2, "padding": 2, "stride": (1, 2)}], ids=str
)
def test_unfold_and_fold(options: dict[str, Any], dtype: tandem.dtype) -> None:
    x = random((2, 3, 7, 8), dtype)
    compare(lambda x: F.unfold(x, **options), x, backward=True)
    compare(lambda c: F.fold(c, (7, 8), **options), F.unfold(odd(x), **options), backward=True)


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.float32, tandem.float64])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(5, 13), (9, 4), (2, 2)])
def test_resampling(size: tuple[int, int], mode: str, dtype: tandem.dtype) -> None:
    options = {"align_corners": True} if mode == "bicubic" else {}
    x = random((2, 2, 6, 7), dtype)
    compare(lambda x: F.interpolate(x, size, mode=mode, **options), x, backward=True)
    if mode.startswith("bi"):
        compare(lambda x: F.interpolate(x, size, mode=mode, antialias=True), odd(x), backward=True)


def test_resampling_bytes() -> None:
    x = made((1, 2, 6, 7), tandem.uint8) * 6
    compare(lambda x: F.interpolate(x, (9, 4), mode="bilinear", antialias=True), x)
    compare(lambda x: F.interpolate(x, (9, 4), mode="nearest"), x)


# ---- attention


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
@pytest.mark.parametrize(
    ("rows", "keys", "width", "values"), [(5, 7, 4, 3), (67, 70, 18, 66), (3, 1, 1, 1), (40, 33, 130, 5)]
)
@pytest.mark.parametrize("mask", ["none", "bool", "added", "causal"])
def test_attention(mask: str, rows: int, keys: int, width: int, values: int, dtype: tandem.dtype) -> None:
    q, k = random((2, 2, rows, width), dtype), random((2, 2, keys, width), dtype, 1)
    v = random((2, 2, keys, values), dtype, 2)
    options: dict[str, Any] = {"is_causal": mask == "causal"}
    extra = []
    if mask == "bool":
        extra = [made((rows, keys), tandem.bool, 3)]
    elif mask == "added":
        extra = [random((2, 1, rows, keys), dtype, 3)]
    compare(
        lambda q, k, v, m=None: F.scaled_dot_product_attention(q, k, v, m, **options),
        q,
        k,
        v,
        *extra,
        exact=False,
        backward=True,
    )


def test_attention_with_shared_heads_and_strides() -> None:
    q, k, v = random((1, 6, 4, 8)), random((1, 5, 2, 8), seed=1), random((1, 5, 2, 8), seed=2)
    compare(
        lambda q, k, v: F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), enable_gqa=True, is_causal=True
        ),
        q, k, v, exact=False, backward=True,
    )  # fmt: skip


def test_attention_without_anything_to_attend_to() -> None:
    q, k, v = random((1, 1, 3, 4)), random((1, 1, 5, 4), seed=1), random((1, 1, 5, 4), seed=2)
    mask = tandem.tensor([[True] * 5, [False] * 5, [True, False, True, False, True]])
    compare(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), q, k, v, mask, exact=False, backward=True)
    q[0, 0, 0, 0] = float("nan")
    compare(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), q, k, v, exact=False)


def test_dropout_of_attention_keeps_the_same_elements() -> None:
    q, k, v = random((2, 1, 9, 4)), random((2, 1, 66, 4), seed=1), random((2, 1, 66, 4), seed=2)

    def dropped(q: tandem.Tensor, k: tandem.Tensor, v: tandem.Tensor) -> tandem.Tensor:
        tandem.manual_seed(7)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.4)

    compare(dropped, q, k, v, exact=False, backward=True)


# ---- order


def ties(shape: tuple[int, ...], dtype: tandem.dtype) -> tandem.Tensor:
    x = made(shape, dtype)
    if dtype in FLOATING and x.numel() > 12:
        flat = x.view(-1)
        flat[3], flat[7], flat[11] = float("nan"), -0.0, float("inf")
        flat[5] = 0.0
        flat[-1] = float("nan")
    return x


@pytest.mark.parametrize("dtype", [tandem.bool, *INTEGERS, *FLOATING])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(descending: bool, dtype: tandem.dtype) -> None:
    for shape, dim in (((3, 17), 1), ((40, 2, 3), 0), ((2, 1100), 1), ((1,), 0), ((), 0), ((0, 3), 0), ((2, 0), 1)):
        compare(lambda x, d=dim: tandem.sort(x, d, descending), ties(shape, dtype))
    compare(lambda x: tandem.sort(x, 0, descending), odd(ties((20, 4), dtype)))


def test_long_lines() -> None:
    for dtype in (tandem.int64, tandem.float32):
        compare(lambda x: tandem.sort(x, stable=True), ties((5000,), dtype))
    compare(lambda x: tandem.topk(x, 7), ties((2, 5200), tandem.float32))
    compare(lambda x: tandem.topk(x, 1500, largest=False), ties((5200,), tandem.int64))


@pytest.mark.parametrize("dtype", [tandem.uint8, tandem.int64, tandem.float16, tandem.float64])
def test_topk(dtype: tandem.dtype) -> None:
    for largest in (False, True):
        compare(lambda x, h=largest: tandem.topk(x, 5, 0, h), ties((30, 3), dtype))
        compare(lambda x, h=largest: tandem.topk(x, 0, 1, h), ties((3, 9), dtype))
    with pytest.raises(RuntimeError):
        tandem.topk(there(made((2, 3), dtype)), 4)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATING])
def test_choices(dtype: tandem.dtype) -> None:
    x = ties((5, 41), dtype)
    for y, dim in ((x, 1), (odd(x), 0), (ties((2, 7, 3), dtype), 1)):
        compare(lambda y, d=dim: tandem.kthvalue(y, 2, d), y)
        compare(lambda y, d=dim: tandem.median(y, d), y)
        compare(lambda y, d=dim: tandem.nanmedian(y, d, keepdim=True), y)
        compare(lambda y, d=dim: tandem.mode(y, d), y)
    if dtype in FLOATING:
        nans = tandem.full((2, 3), float("nan"), dtype=dtype)
        for choose in (tandem.median, tandem.nanmedian, tandem.mode):
            compare(lambda y, c=choose: c(y, 1), nans)


@pytest.mark.parametrize("dtype", [tandem.int16, tandem.float32])
def test_order_of_rows(dtype: tandem.dtype) -> None:
    rows = made((150, 2), dtype) if dtype is tandem.int16 else ties((150, 2), dtype).clamp(-1, 1)
    compare(lambda x: tandem.unique(x, dim=0, return_inverse=True, return_counts=True), rows)


# ---- functions


def test_gamma_functions() -> None:
    a = tandem.tensor(
        [0.0, 0.01, 0.3, 1.0, 2.5, 7.0, 12.0, 90.0, 1e4, float("inf"), -1.0, float("nan")], dtype=tandem.float64
    )
    x = tandem.tensor(
        [0.0, 1e-5, 0.2, 0.9, 2.0, 6.0, 15.0, 100.0, 1.1e4, float("inf"), -2.0, float("nan")], dtype=tandem.float64
    )
    a, x = a[:, None], x[None, :]
    compare(tandem.special.gammainc, a, x, exact=False, tolerance=1e-13)
    compare(tandem.special.gammaincc, a, x, exact=False, tolerance=1e-13)
    large = tandem.tensor([2e10, 1e12, 1e20, 1e308], dtype=tandem.float64)[:, None]
    near = large + large.sqrt() * tandem.tensor([-40.0, -3.0, 0.0, 1.0, 20.0], dtype=tandem.float64)
    for function in (tandem.special.gammainc, tandem.special.gammaincc):
        compare(function, large, near, exact=False, tolerance=1e-12)
    inside = (a[1:9].expand(8, 8).contiguous(), x[:, 1:9].expand(8, 8).contiguous())
    compare(tandem.special.gammainc, *inside, exact=False, tolerance=1e-11, backward=True)
    s = tandem.tensor([1.0, 1.5, 2.0, 3.0, 11.0, 70.0, 0.5, float("nan")], dtype=tandem.float64)[:, None]
    far = [-2000.5, -2000.25, -(2.0**21) - 0.75]
    q = tandem.tensor([0.2, 1.0, 1.5, 40.0, -1.5, -3.0, 0.0, float("nan"), *far], dtype=tandem.float64)[None, :]
    on_cpu, on_gpu = tandem.special.zeta(s, q).numpy(), tandem.special.zeta(there(s), there(q)).cpu().numpy()
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-13)


@pytest.mark.parametrize(
    "name",
    [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"]
    + ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"],
)
def test_polynomials(name: str) -> None:
    x = tandem.tensor(
        [-1e200, -3.0, -1.0, -0.4, 0.0, 0.3, 1.0, 1.5, 20.0, float("inf"), float("nan")], dtype=tandem.float64
    )
    n = tandem.tensor([-1.0, 0.0, 1.0, 2.0, 3.7, 10.0, 77.0, 400.0, float("nan")], dtype=tandem.float64)
    f = getattr(tandem.special, name)
    compare(f, x[:, None].expand(11, 9), n.expand(11, 9))
    compare(f, x.float()[:, None], n[:7].float())


# ---- plans


def positive(shape: tuple[int, ...], dtype: tandem.dtype) -> tandem.Tensor:
    a = random(shape, dtype)
    return a @ a.mT + tandem.eye(shape[-1], dtype=dtype)


def test_plans_that_are_run_again() -> None:
    """As eager, also as graphs: what the host prepares of a call (taps of a resampling) is there in each."""
    w, a = there(random((4, 3, 3, 3))), there(positive((6, 6), tandem.float32))

    def step(x: tandem.Tensor) -> Any:
        y = F.max_pool2d(F.conv2d(x, w, padding=1), 2)
        y = F.interpolate(y, (6, 6), mode="bilinear")
        z = F.scaled_dot_product_attention(y, y * 2, y + 1)
        l = tandem.linalg.cholesky(a + z[0, 0] @ z[0, 0].mT)
        return tandem.sort(z, -1), tandem.linalg.solve_triangular(l, z, upper=False), tandem.unique(z.round())

    compiled = tandem.compile(step)
    for seed in range(6):
        x = there(random((2, 3, 8, 8), seed=seed))
        for e, g in zip(leaves(step(x)), leaves(compiled(x)), strict=True):
            assert bits(e) == bits(g)
