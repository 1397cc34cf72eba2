"""Products of half types that add a bias before they round, as those of a GPU do: a layer is one call of cuBLASLt, or
of our own kernel, in all modes, with the CPU's bits where both add in one order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from emulated import DEVICE, there
from test_library_math import bits, compare, made, odd, random, run_without_cublaslt

import tandem
import tandem.nn.functional as F
from tandem import Tensor, nn
from tandem.export import Dim, export, load, save

HALVES = [tandem.bfloat16, tandem.float16]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """The products that cuBLASLt made since the last question."""
    file = tmp_path / "log"
    file.write_text("")
    monkeypatch.setenv("TANDEM_CUBLASLT_LOG", str(file))

    def lines() -> list[str]:
        found = file.read_text().splitlines()
        file.write_text("")
        return found

    yield lines


def launches(call: Callable[[], Any]) -> int:
    before = tandem.counters()["kernel_launches"]
    call()
    return tandem.counters()["kernel_launches"] - before


class Layer(nn.Module):
    """A layer and what follows it."""

    def __init__(self, dtype: tandem.dtype, follows: Callable[[Layer, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        tandem.manual_seed(0)
        self.linear, self.norm = nn.Linear(24, 24, dtype=dtype), nn.LayerNorm(24, dtype=dtype)
        self.follows = follows

    def forward(self, x: Tensor) -> Tensor:
        return self.follows(self, self.linear(x), x)


FOLLOWS: dict[str, Callable[[Layer, Tensor, Tensor], Tensor]] = {
    "nothing": lambda m, y, x: y,
    "gelu": lambda m, y, x: F.gelu(y),
    "tanh gelu": lambda m, y, x: F.gelu(y, approximate="tanh"),
    "residual and norm": lambda m, y, x: m.norm(x + y),
    "the bias once more": lambda m, y, x: y * m.linear.bias,
    "the product once more": lambda m, y, x: y + x @ m.linear.weight.t(),
}


def trained(model: Layer, x: Tensor, run: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """The result and the gradients."""
    x = x.detach().requires_grad_()
    y = run(x)
    y.backward(there(made(tuple(y.shape), y.dtype, 7)) if y.is_cuda else made(tuple(y.shape), y.dtype, 7))
    found = [y.detach(), x.grad, *(p.grad for p in model.parameters() if p.grad is not None)]
    model.zero_grad()
    return found


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("shape", [(5, 24), (3, 2, 24)])
@pytest.mark.parametrize("follows", FOLLOWS)
def test_layers(follows: str, shape: tuple[int, ...], dtype: tandem.dtype, tmp_path: Path) -> None:
    """With the same bits eager, lazy, compiled and saved; on the CPU, where elementwise work follows, nearly."""
    on_cpu, model = Layer(dtype, FOLLOWS[follows]), Layer(dtype, FOLLOWS[follows]).to(DEVICE)
    here = random(shape, dtype)
    x = there(here)
    eager = trained(model, x, model)
    want = trained(on_cpu, here, on_cpu)
    assert len(eager) == len(want)
    for a, b in zip(eager, want, strict=True):
        scale = max(1.0, float(b.abs().max()))
        assert (a.cpu().double() - b.double()).abs().max().item() <= (1e-2 if dtype is tandem.float16 else 6e-2) * scale

    def lazily(t: Tensor) -> Tensor:
        with tandem.lazy():
            return model(t)

    compiled = tandem.compile(model)
    for run in (lazily, compiled, compiled, compiled, compiled):
        assert [bits(t) for t in trained(model, x, run)] == [bits(t) for t in eager]
    path = str(tmp_path / "layer.tandem")
    save(export(model, (x,)), path)
    assert bits(load(path)(x)) == bits(eager[0])
    # The same program on the CPU, which adds the bias to a product in float32 too.
    assert bits(load(path, device="cpu")(here)) == bits(want[0])


@pytest.mark.parametrize("dtype", HALVES)
def test_a_layer_is_one_call(dtype: tandem.dtype, log: Callable[[], list[str]]) -> None:
    layer, x = nn.Linear(24, 16, dtype=dtype).to(DEVICE), there(random((3, 2, 24), dtype))
    compiled = tandem.compile(layer)
    for _ in range(4):
        for run in (layer, compiled):
            assert launches(lambda run=run: run(x)) == 0
    assert set(log()) == {"16x6x24 tn bias"}
    # What follows reads the half type.
    norm = nn.LayerNorm(16, dtype=dtype).to(DEVICE)
    with tandem.no_grad():
        gelu = tandem.compile(lambda x: F.gelu(layer(x)))
        assert launches(lambda: gelu(x)) == 1
        assert launches(lambda: tandem.compile(lambda x, y: norm(y + layer(x)))(x, x[..., :16])) == 1
    assert log() == ["16x6x24 tn bias"] * 2


def test_layers_under_autocast(log: Callable[[], list[str]]) -> None:
    layer, x = nn.Linear(24, 16).to(DEVICE), there(random((4, 24)))
    with tandem.autocast("cuda", dtype=tandem.bfloat16):
        got = layer(x)
        same = tandem.compile(layer)(x)
    assert log() == ["16x4x24 tn bias"] * 2 and bits(got) == bits(same)
    on_cpu = nn.Linear(24, 16)
    on_cpu.load_state_dict({name: t.cpu() for name, t in layer.state_dict().items()})
    with tandem.autocast("cpu", dtype=tandem.bfloat16):
        want = on_cpu(x.cpu())
    assert bits(got) == bits(want)


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_with_products(dtype: tandem.dtype, log: Callable[[], list[str]]) -> None:
    """What is added is a number for each column, or is added by itself."""

    def ways(f: Callable[..., Tensor], *shapes: tuple[int, ...], change: Any = None) -> bool:
        operands = [made(s, dtype, seed) for seed, s in enumerate(shapes)]
        if change:
            operands[0] = change(operands[0])
        log()
        compare(f, *operands)
        biased = log()
        assert len(biased) == 1
        compare(f, *operands, backward=True)
        return biased[0].endswith(" bias")

    a, b = (6, 8), (8, 5)
    assert ways(tandem.addmm, (5,), a, b) and ways(tandem.addmm, (1, 5), a, b)
    assert ways(tandem.addmm, (5,), a, b, change=odd) and ways(tandem.addmm, (6,), a, b, change=lambda x: x[1:])
    assert not ways(tandem.addmm, (6, 5), a, b) and not ways(tandem.addmm, (6, 1), a, b)
    assert not ways(tandem.addmm, (1,), a, b) and not ways(tandem.addmm, (), a, b)
    # There is no algorithm that adds to this one.
    assert not ways(tandem.addmm, (1,), (6, 8), (8, 1)) and not ways(tandem.baddbmm, (1,), (2, 6, 8), (2, 8, 1))
    assert not ways(lambda x, y, z: tandem.addmm(x, y, z, beta=2), (5,), a, b)
    assert not ways(lambda x, y, z: tandem.addmm(x, y, z, alpha=2), (5,), a, b)
    assert ways(tandem.baddbmm, (5,), (3, 6, 8), (3, 8, 5)) and ways(tandem.baddbmm, (1, 1, 5), (3, 6, 8), (3, 8, 5))
    assert not ways(tandem.baddbmm, (3, 1, 5), (3, 6, 8), (3, 8, 5))
    assert ways(tandem.addbmm, (5,), (3, 6, 8), (3, 8, 5))
    assert ways(lambda bias, x, w: F.linear(x, w, bias), (5,), (8,), (5, 8))
    assert ways(lambda bias, x, w: F.linear(x.transpose(0, 1), w, bias), (5,), (3, 6, 8), (5, 8))
    assert not ways(lambda bias, x, w: F.linear(x, w, bias), (1, 5), (8,), (5, 8))
    # A product that is read before the sum is one of its own.
    assert not ways(lambda bias, x, w: (x @ w) + bias, (5,), a, b)


def test_other_dtypes_add_afterwards(log: Callable[[], list[str]]) -> None:
    for dtype in (tandem.float32, tandem.float64):
        compare(F.linear, random((3, 8), dtype), random((5, 8), dtype, 1), random((5,), dtype, 2), exact=False)
    with pytest.raises(RuntimeError, match="greater or equal to the number of dimensions"):
        tandem.addmm(*(there(made(s, tandem.float16)) for s in ((1, 1, 5), (6, 8), (8, 5))))
    assert not any("bias" in line for line in log())


@pytest.mark.parametrize("dtype", HALVES)
def test_empty_sums(dtype: tandem.dtype) -> None:
    for a, b in (((4, 0), (0, 5)), ((0, 3), (3, 5)), ((4, 3), (3, 0))):
        compare(tandem.addmm, made(b[1:], dtype), made(a, dtype, 1), made(b, dtype, 2), backward=True)
    compare(tandem.addmm, odd(made((5,), dtype)), made((4, 0), dtype), made((0, 5), dtype))
    compare(tandem.baddbmm, made((5,), dtype), made((2, 4, 0), dtype), made((2, 0, 5), dtype))
    compare(tandem.addmm, -tandem.zeros(5, dtype=dtype), made((4, 0), dtype), made((0, 5), dtype))


def test_derivatives_of_every_order() -> None:
    def twice(bias: Tensor, x: Tensor, w: Tensor) -> Tensor:
        x = x if x.requires_grad else x.detach().requires_grad_()
        y = F.linear(x, w, bias)
        (g,) = tandem.autograd.grad((y * y).sum(), x, create_graph=True)
        return g

    compare(
        twice,
        made((3,), tandem.float16) / 8,
        made((4, 5), tandem.float16, 1) / 8,
        made((3, 5), tandem.float16, 2) / 8,
        backward=True,
    )
    x, w, bias = (made(s, tandem.float16, k) / 8 for k, s in enumerate(((4, 5), (3, 5), (3,))))
    compare(lambda x, w, b: tandem.func.jvp(lambda b: F.linear(x, w, b), (b,), (b * 2,)), x, w, bias)


def test_examples_of_vmap() -> None:
    w, ws = made((5, 8), tandem.bfloat16, 1), made((3, 5, 8), tandem.bfloat16, 2)
    bias, biases = made((5,), tandem.bfloat16, 3), made((3, 5), tandem.bfloat16, 4)
    for x in (made((3, 8), tandem.bfloat16), made((3, 6, 8), tandem.bfloat16)):
        for weight, weights in ((w, None), (ws, 0)):
            for b, bs in ((bias, None), (biases, 0)):
                compare(tandem.vmap(F.linear, (0, weights, bs)), x, weight, b)
                compare(tandem.vmap(F.linear, (None, weights, bs)), x, weight, b) if (weights, bs) != (
                    None,
                    None,
                ) else 0


def test_sizes_that_calls_choose(tmp_path: Path) -> None:
    layer = nn.Linear(8, 5, dtype=tandem.bfloat16).to(DEVICE)
    program = export(layer, (there(made((4, 8), tandem.bfloat16)),), dynamic_shapes=({0: Dim("rows", min=2, max=9)},))
    path = str(tmp_path / "layer.tandem")
    save(program, path)
    loaded = load(path)
    for n in (4, 2, 9):
        x = there(made((n, 8), tandem.bfloat16, n))
        assert bits(loaded(x)) == bits(layer(x))


def test_graphs_whose_bias_lies_elsewhere() -> None:
    """And that is used in several products, some of which are not aligned."""
    w = there(random((40, 40), tandem.float16))

    def f(x: Tensor, bias: Tensor) -> Tensor:
        for _ in range(3):
            x = tandem.softmax(tandem.addmm(bias, tandem.softmax(x, 0), w), 1)
        return x

    compiled = tandem.compile(f)
    kept = []
    for k in range(8):
        x, bias = there(random((6, 40), tandem.float16, k)), there(random((41,), tandem.float16, k))[k % 2 : 40 + k % 2]
        kept.append((x, bias, compiled(x, bias)))
    for x, bias, got in kept:
        assert bits(got) == bits(f(x, bias))


def test_by_our_own_kernel() -> None:
    """Sums that one and that several blocks make."""
    body = (
        "import tandem\n"
        "from test_library_math import compare, made, odd\n"
        "for dtype in (tandem.float16, tandem.bfloat16):\n"
        "    for a, b in (((6, 8), (8, 5)), ((3, 600), (600, 5)), ((70, 3), (3, 66)), ((4, 0), (0, 5))):\n"
        "        bias = made(b[1:], dtype)\n"
        "        for x in (bias, odd(bias)):\n"
        "            compare(tandem.addmm, x, made(a, dtype, 1), made(b, dtype, 2), backward=x is bias)\n"
        "    compare(tandem.baddbmm, made((5,), dtype), made((2, 4, 3), dtype), made((2, 3, 5), dtype))\n"
    )
    run_without_cublaslt(body)


def test_threads_with_biases_of_their_own() -> None:
    """One description serves products with different biases at once."""
    from concurrent.futures import ThreadPoolExecutor

    x, w = there(random((6, 8), tandem.bfloat16)), there(random((5, 8), tandem.bfloat16, 1))
    biases = [there(random((5,), tandem.bfloat16, k)) for k in range(8)]
    want = [bits(F.linear(x, w, b)) for b in biases]

    def many(k: int) -> bool:
        return all(bits(F.linear(x, w, biases[k])) == want[k] for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(many, range(8)))
