"""Saved programs for the fuzzers to begin with: seeds.py FOLDER [CORPUS_OF_FILES CORPUS_OF_MANIFESTS]."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import tandem
from tandem import nn
from tandem.export import dims, export, training_step
from tandem.nn import functional as F


def conv() -> object:
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)
    )
    return export(model.eval(), (tandem.randn(2, 1, 4, 4),))


def depthwise() -> object:
    model = nn.Sequential(nn.Conv2d(4, 4, 3, groups=4, stride=2, padding=1), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1))
    return export(model.eval(), (tandem.randn(2, 4, 9, 9),))


def training() -> object:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3))
    opt = tandem.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = tandem.randn(2, 1, 6, 6), tandem.randint(0, 3, (2,))

    def step(x: tandem.Tensor, y: tandem.Tensor) -> tandem.Tensor:
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    return training_step(step, (x, y))


def attention() -> object:
    def f(q: tandem.Tensor, k: tandem.Tensor, v: tandem.Tensor, m: tandem.Tensor) -> tandem.Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m, dropout_p=0.5)

    a = tandem.randn(1, 2, 5, 4)
    return export(f, (a, a.clone(), a.clone(), tandem.randn(5, 5)))


def gathers() -> object:
    def f(x: tandem.Tensor, i: tandem.Tensor) -> list[tandem.Tensor]:
        return [
            x.gather(1, i), x.scatter(1, i, 2.0), x.scatter_add(0, i, x), x.index_select(1, i[0]), x[i[0], i[1]],
            x.index_add(0, i[:, 0], x), x.index_put((i[0],), x[:3], accumulate=True), tandem.take_along_dim(x, i, 0),
        ]  # fmt: skip

    return export(f, (tandem.randn(3, 3), tandem.tensor([[0, 1, 2], [2, 1, 0], [1, 1, 1]])))


def orders() -> object:
    def f(x: tandem.Tensor) -> list[tandem.Tensor]:
        return [
            x.sort(1)[1], x.topk(2)[0], x.kthvalue(2)[0], x.median(0)[0], x.mode()[0], x.argmax(), x.max(1)[1],
            x.cumsum(0), x.cummax(1)[0], x.logcumsumexp(0), tandem.searchsorted(x.sort(1)[0], x), x.flip(0).roll(1, 1),
        ]  # fmt: skip

    return export(f, (tandem.randn(4, 5),))


def recurrent() -> object:
    model = nn.LSTM(3, 4, batch_first=True)
    return export(model.eval(), (tandem.randn(2, 3, 3),))


def draws() -> object:
    def f(x: tandem.Tensor) -> list[tandem.Tensor]:
        return [F.dropout(x), tandem.rand_like(x), tandem.poisson(x.abs()), tandem.randperm(5), tandem.bernoulli(x)]

    return export(f, (tandem.rand(3, 4),))


def halves() -> object:
    def f(x: tandem.Tensor, y: tandem.Tensor) -> list[tandem.Tensor]:
        return [x @ y, (x * 2 + y.T).softmax(1), y.sum(0), x.to(tandem.float32).mean()]

    return export(f, (tandem.randn(3, 4).half(), tandem.randn(4, 3).half()))


def factors() -> object:
    def f(x: tandem.Tensor) -> list[tandem.Tensor]:
        a = x @ x.mT + tandem.eye(3)
        l = tandem.linalg
        return [
            l.cholesky(a),
            l.solve(a, x),
            l.qr(x)[1],
            l.svdvals(x),
            l.eigvalsh(a),
            l.lu_factor(a)[0],
            l.matrix_exp(a),
        ]

    return export(f, (tandem.randn(2, 3, 3),))


def windows() -> object:
    def f(x: tandem.Tensor) -> list[tandem.Tensor]:
        y = F.pad(x, (1, 2, 0, 1), mode="reflect")
        return [F.interpolate(x, scale_factor=2, mode="bilinear"), F.unfold(y, 2), F.fold(F.unfold(x, 2), (4, 4), 2)]

    return export(f, (tandem.randn(1, 2, 4, 4),))


def reductions() -> object:
    def f(x: tandem.Tensor, y: tandem.Tensor, p: float) -> list[tandem.Tensor]:
        z = (x.T + y) * p
        return [
            z.sum((0, 2)),
            z.amax(0),
            z.var(1),
            x.prod(0),
            tandem.cat([x.T, y[0]], 0),
            tandem.stack([x, x], 1)[:, 0],
        ]

    return export(f, (tandem.randn(4, 6), tandem.randn(3, 6, 4), 2.0))


def sizes() -> object:
    """Sizes that calls choose, of which some have plans of other structures."""
    model = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.GELU())

    def f(x: tandem.Tensor, i: tandem.Tensor) -> list[tandem.Tensor]:
        y = model(x)
        return [y, y.softmax(0), y[i], tandem.cat([x, x[1:]]), (x.T @ x).sum(0), x.cumsum(0).reshape(-1)]

    n, m = dims("n", "m", max=6)
    return export(f, (tandem.randn(3, 4), tandem.tensor([0, 0])), dynamic_shapes=({0: n}, {0: m}))


PROGRAMS: list[Callable[[], object]] = [
    conv, depthwise, training, attention, gathers, orders, recurrent, draws, halves, factors, windows, reductions,
    sizes,
]  # fmt: skip


def main() -> None:
    folder, *corpora = map(Path, sys.argv[1:])
    for path in (folder, *corpora):
        path.mkdir(parents=True, exist_ok=True)
    for program in sorted(PROGRAMS, key=lambda p: p.__name__):
        tandem.manual_seed(1)
        program().save(folder / f"{program.__name__}.tandem")
    for number, path in enumerate(sorted(folder.glob("*.tandem"))):
        if corpora:
            (corpora[0] / path.stem).write_bytes(path.read_bytes())
            with zipfile.ZipFile(path) as archive:
                (corpora[1] / path.stem).write_bytes(bytes([number]) + archive.read("manifest"))


if __name__ == "__main__":
    main()
