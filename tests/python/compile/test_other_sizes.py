"""For sizes that were not met before, what the passes decided for others is used again: no pass runs, no kernel is
compiled, and the bits are those of eager."""

from __future__ import annotations

import numpy as np
import pytest
from operations import VISIBLE, Typed, map_leaves
from samples import samples

import tandem
from tandem import nn
from tandem.nn import functional as F

# Two shapes teach; all values of the others stay in a cache, so that nothing else is worth fusing.
SIZES = [6, 7, 5, 9, 8, 3]


class Counted:
    def __enter__(self):
        self.before = tandem.counters()
        return self

    def __exit__(self, *_):
        after = tandem.counters()
        self.builds, self.sizings, self.compiles = (
            after[name] - self.before[name] for name in ("plan_builds", "plan_sizings", "kernel_compiles")
        )


def gelu(x, b):
    y = x + b
    return 0.5 * y * (1 + tandem.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))


def attention(x):
    q, k, v = (t.unflatten(-1, (2, -1)).transpose(1, 2) for t in x.chunk(3, -1))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


def in_place(x):
    y = x.clone()
    y[:, 1:] += x[:, :-1]
    y.mul_(2)
    return y, y.t()


def half_layer(x, w, b):
    """Gradients in a half type are widened for the sum of the bias, and rounded again for the products."""
    leaves = [t.bfloat16().requires_grad_() for t in (x, w, b)]
    return tandem.autograd.grad(F.gelu(F.linear(*leaves)).float().square().sum(), leaves)


def normed(x):
    return (x - x.mean((0, 2), keepdim=True)) / (x.var((0, 2), keepdim=True) + 1e-5).sqrt()


CASES = {
    "gelu": (gelu, lambda n: (tandem.randn(n, 2 * n), tandem.randn(2 * n))),
    "softmax": (lambda x: (x - x.amax(-1, keepdim=True)).exp().softmax(-1), lambda n: (tandem.randn(n, n + 4),)),
    "differences": (lambda x: x[:, 1:] - x[:, :-1], lambda n: (tandem.randn(n, n + 2),)),
    "products": (lambda x: (x @ x.T).tanh().sum(0), lambda n: (tandem.randn(n, 9),)),
    "joined": (lambda x: tandem.cat([x, x * 2], 1).t().contiguous() + 1, lambda n: (tandem.randn(n, n + 3),)),
    "attention": (attention, lambda n: (tandem.randn(2, n, 24),)),
    "writes": (in_place, lambda n: (tandem.randn(n, n + 2),)),
    "two groups of dims": (normed, lambda n: (tandem.randn(n, 3, n + 2),)),
    "half precision": (lambda x: x.bfloat16().cumsum(0).float().mean(0), lambda n: (tandem.randn(n, 5),)),
    "half layer": (half_layer, lambda n: (tandem.randn(n, 5), tandem.randn(4, 5), tandem.randn(4))),
    "convolution": (
        lambda x, w: F.conv2d(x, w).relu().amax((2, 3)),
        lambda n: (tandem.randn(n, 2, n + 2, 7), tandem.ones(4, 2, 3, 3)),
    ),
    "random": (lambda x: x * tandem.rand_like(x) + tandem.randn(3).sum(), lambda n: (tandem.randn(n, 5),)),
}


def bits(result):
    return [t.detach().float().numpy().tobytes() for t in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("name", CASES)
def test_other_sizes_need_no_pass(name):
    function, arguments = CASES[name]
    compiled = tandem.compile(function)
    for size in SIZES[:2]:
        compiled(*arguments(size))
    for size in SIZES[2:]:
        given = arguments(size)
        tandem.manual_seed(1)
        with Counted() as counted:
            got = compiled(*given)
        assert (counted.builds, counted.compiles) == (0, 0) and counted.sizings == 1, size
        tandem.manual_seed(1)
        assert bits(got) == bits(function(*given)), size


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.head = nn.Linear(16, 11)

    def forward(self, x):
        return self.head(self.layer(self.embedding(x)))


def steps(model, make):
    optimizer = tandem.optim.AdamW(model.parameters(), lr=1e-2)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        return loss

    run = make(step)
    return lambda x, y: run(x, y).item().hex()


MODELS = {
    "dense": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 11)),
        lambda n: (tandem.randn(n, 8), tandem.randint(0, 11, (n,))),
    ),
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 11)
        ),
        lambda n: (tandem.randn(n, 1, 8, 8), tandem.randint(0, 11, (n,))),
    ),
    "transformer": (Transformer, lambda n: (tandem.randint(0, 11, (2, n)), tandem.randint(0, 11, (2, n)))),
}


@pytest.mark.parametrize("name", MODELS)
def test_training_steps_of_other_sizes(name, monkeypatch, tmp_path):
    """Forward pass, gradients and optimizer; state, random draws and all."""
    monkeypatch.setenv("TANDEM_CACHE_DIR", str(tmp_path))  # where no plan is kept yet
    make, data = MODELS[name]
    tandem.manual_seed(3)
    batches = [data(n) for n in SIZES + SIZES]
    losses, weights, counts = [], [], []
    for mode in (tandem.compile, lambda step: step):
        tandem.manual_seed(0)
        model = make()
        run = steps(model, mode)
        with Counted() as counted:
            losses.append([run(x, y) for x, y in batches])
        counts.append((counted.builds, counted.sizings))
        weights.append([p.detach().numpy().tobytes() for p in model.parameters()])
    assert losses[0] == losses[1] and weights[0] == weights[1]
    builds, sizings = counts[0]
    assert sizings >= 2, (builds, sizings)


def plain(t):
    """The bits; of any NaN the same."""
    a = t.float().numpy() if t.dtype in (tandem.bfloat16, tandem.float16) else t.numpy()
    return (np.where(np.isnan(a), 7.25, a) if a.dtype.kind == "f" else a).tobytes(), t.dtype, t.shape, t.stride()


UNSPECIFIED = [name for name in VISIBLE if name.startswith("empty") or name == "new_empty"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in VISIBLE if name not in UNSPECIFIED])
def test_every_operation_of_other_sizes(name):
    """Between others that may share a kernel with it, and with its derivative; all dims that are not 1 grow alike."""
    op = VISIBLE[name]

    def grown(sample, by):
        def resized(a):
            return np.resize(a, [n + by if n > 1 else n for n in a.shape]) if a.size else a

        return Typed.of(op, map_leaves(sample, np.ndarray, resized), "float32", "contiguous")

    def function(*tensors):
        results = row.run([t.neg().neg() if t.is_floating_point() else t for t in tensors])
        results = [r * 2 + 1 if r.is_floating_point() else r for r in results]
        if any(r.requires_grad for r in results):
            loss = sum((r * r.detach()).sum() for r in results if r.requires_grad)
            inputs = [t for t in tensors if t.requires_grad]
            results += [g for g in tandem.autograd.grad(loss, inputs, allow_unused=True) if g is not None]
        return tuple(r.detach() for r in results)

    def run(way):
        given = [t.detach().clone().requires_grad_(t.is_floating_point() and op.gradient) for t in row.tensors]
        tandem.manual_seed(5)
        return [plain(t) for t in way(*given)]

    for sample in list(samples(op, "float32"))[:2]:
        compiled = tandem.compile(function)
        for by in (0, 1, 3, 6, 2):
            row = grown(sample, by)
            try:
                expected = run(function)
            except Exception:  # the operation has no such sizes
                break
            assert run(compiled) == expected, (by, str(row))


def test_a_recording_of_other_sizes():
    def run(n):
        with tandem.lazy():
            x = tandem.full((n, 9), 0.5)
            y = (x @ x.T).softmax(-1).sum(0)
        return y

    for n in (4, 5):
        run(n)
    with Counted() as counted:
        for n in (6, 12, 31):
            y = run(n)
            assert np.array_equal(y.numpy(), np.full(n, y[0].item(), np.float32)), n
    assert (counted.builds, counted.sizings) == (0, 3)


def test_what_reads_other_values_is_compiled_anew():
    """Windows that meet at one size and not at others: `a` and `b` are one value for 8 columns alone."""

    def overlapping(x):
        a, b = x[:, :4] * 2, x[:, -4:] * 2
        return a + b, a * b

    compiled = tandem.compile(overlapping)
    for columns in (4, 4, 5, 6, 4, 7, 12, 4):
        for rows in (2, 3, 5):
            x = tandem.randn(rows, columns)
            assert bits(compiled(x)) == bits(overlapping(x)), (rows, columns)


def test_sizes_that_become_one_or_none():
    def function(x):
        return x.sum(0), x.mean(-1), x.softmax(0), x[..., :1] + x, x.reshape(-1).cumsum(0)

    compiled = tandem.compile(function)
    for rows in (3, 4, 1, 2, 0, 5, 1, 7):
        for columns in (4, 1, 3, 6, 1):
            x = tandem.randn(rows, columns)
            assert bits(compiled(x)) == bits(function(x)), (rows, columns)


def test_long_rows_after_short_ones():
    """Few long rows are cut into blocks, and what follows them is not fused: the passes decide again."""

    def function(x):
        return (x / x.sum(-1, keepdim=True)).tanh()

    compiled = tandem.compile(function)
    built = []
    for shape in ((20, 30), (21, 31), (22, 30), (3, 70_000), (4, 70_001), (5, 66_000), (300, 64)):
        x = tandem.rand(*shape)
        with Counted() as counted:
            got = compiled(x)
        built.append(counted.builds)
        assert bits(got) == bits(function(x)), shape
    assert built == [1, 1, 0, 1, 0, 0, 0]
