"""cross_entropy reads its scores and writes nothing of their size but their gradient, for which it keeps the scores
alone; its bits are those of log_softmax and nll_loss."""

from __future__ import annotations

import re

import pytest
from same_bits import assert_same_bits

import tandem
from tandem.nn import functional as F


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.bfloat16], ids=str)
def test_bits_are_those_of_log_softmax(reduction, dtype):
    for shape in ((9,), (70, 45), (2, 9, 3, 4)):
        x = tandem.randn(*shape).to(dtype)
        target = tandem.randint(0, 9, (*shape[:1], *shape[2:]) if len(shape) > 1 else ())
        if target.dim() > 0:
            target.view(-1)[1] = -100
        want = F.nll_loss(x.log_softmax(min(x.dim() - 1, 1)), target, reduction=reduction)
        found = [F.cross_entropy(y, target, reduction=reduction) for y in (x, x.clone().requires_grad_())]
        found.append(tandem.compile(lambda x, t: F.cross_entropy(x, t, reduction=reduction))(x, target))
        for got in found:
            assert tandem.equal(got.detach(), want)


def loss_and_gradient(x, target, **options):
    loss = F.cross_entropy(x, target, **options)
    return loss, *tandem.autograd.grad(loss.sum(), x)


def test_writes_nothing_of_the_scores_size():
    x, target = tandem.randn(4096, 64), tandem.randint(0, 64, (4096,))

    def temporaries(f, x):
        return int(re.search(r"(\d+) bytes of temporaries", str(tandem.compile(f).explain(x, target)))[1])

    assert temporaries(lambda x, t: F.nll_loss(x.log_softmax(1), t), x) >= x.nbytes
    assert temporaries(F.cross_entropy, x) < x.nbytes / 8
    assert temporaries(loss_and_gradient, x.clone().requires_grad_()) < x.nbytes / 8


def test_keeps_the_scores_alone():
    x, target = tandem.randn(512, 640, requires_grad=True), tandem.randint(0, 640, (512,))
    kept = []

    def keep(t):
        kept.append(t)
        return t

    with tandem.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        loss = F.cross_entropy(x, target)
    assert [t.data_ptr() for t in kept if t.nbytes >= x.nbytes] == [x.data_ptr()]
    loss.backward()


@pytest.mark.parametrize("options", [{}, {"reduction": "none"}, {"ignore_index": 3}, {"weight": True}], ids=str)
@pytest.mark.parametrize("shape", [(9,), (70, 45), (300, 301), (2, 9, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64, tandem.float16, tandem.bfloat16], ids=str)
def test_gradient(dtype, shape, options):
    x = tandem.randn(*shape).to(dtype).requires_grad_()
    classes = shape[0] if len(shape) == 1 else shape[1]
    target = tandem.randint(0, classes, (*shape[:1], *shape[2:]) if len(shape) > 1 else ())
    if "weight" in options:
        options = {"weight": tandem.rand(classes).to(dtype)}
    exact = x.detach().double().requires_grad_()
    wide = {k: v.double() if k == "weight" else v for k, v in options.items()}
    reduction = wide.get("reduction", "mean")
    want = F.nll_loss(exact.log_softmax(min(x.dim() - 1, 1)), target, **{**wide, "reduction": reduction})
    (want,) = tandem.autograd.grad(want.sum(), exact)
    rounding = 4 * tandem.finfo(dtype).eps
    for f in (loss_and_gradient, tandem.compile(loss_and_gradient)):
        found = f(x, target, **options)
        assert found[1].dtype == dtype
        for part, eager in zip(found, loss_and_gradient(x, target, **options), strict=True):
            assert_same_bits(part, eager)
        tandem.testing.assert_close(found[1].double(), want, rtol=rounding, atol=rounding * want.abs().max().item())


def test_derivatives_of_any_order():
    x = tandem.randn(5, 4, dtype=tandem.float64, requires_grad=True)
    target = tandem.tensor([0, 3, -100, 1, 1])

    def loss(x):
        return F.cross_entropy(x, target, reduction="none")

    def slope(x):
        return tandem.autograd.grad(loss(x).square().sum(), x, create_graph=True)[0]

    assert tandem.autograd.gradcheck(loss, (x,), check_forward_ad=True)
    assert tandem.autograd.gradgradcheck(loss, (x,))
    assert tandem.autograd.gradgradcheck(slope, (x,))
    # Of one row after another, and of a batch of them.
    each = tandem.func.vmap(tandem.func.grad(lambda r, t: F.cross_entropy(r, t)))
    rows = [tandem.func.grad(lambda r, t: F.cross_entropy(r, t))(r, t) for r, t in zip(x[:2], target[:2], strict=True)]
    tandem.testing.assert_close(each(x[:2], target[:2]), tandem.stack(rows))
    hessian = tandem.func.hessian(lambda r: F.cross_entropy(r, target[0]))(x[0].detach())
    p = x[0].detach().softmax(0)
    tandem.testing.assert_close(hessian, tandem.diag(p) - tandem.outer(p, p))


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [tandem.float64, tandem.float16], ids=str)
def test_gradient_of_one_element_a_row(dtype, dim):
    def picked(x, index, g):
        y = x.gather(dim, index)
        (first,) = tandem.autograd.grad(y, x, g, create_graph=True)
        return y, first, *tandem.autograd.grad(first.square().sum(), g)

    for shape in ((5,), (6, 300), (300, 7), (2, 3, 4)):
        if not -len(shape) <= dim < len(shape):
            continue
        x = tandem.randn(*shape).to(dtype).requires_grad_()
        rows = list(shape)
        rows[dim] = 1
        index = tandem.randint(0, shape[dim], rows)
        g = tandem.randn(*rows).to(dtype).requires_grad_()
        found = picked(x, index, g)
        assert tandem.equal(found[1], tandem.zeros_like(x).scatter_add(dim, index, g))
        assert tandem.equal(found[2], 2 * g)
        for part, compiled in zip(found, tandem.compile(picked)(x, index, g), strict=True):
            assert_same_bits(compiled, part)
    batch = tandem.randn(3, 4, 5, dtype=tandem.float64, requires_grad=True)
    index = tandem.tensor([[0, 4, 2, 2], [1, 1, 3, 0], [4, 4, 4, 4]])[..., None]
    each = tandem.func.vmap(tandem.func.grad(lambda x, i: x.gather(1, i).square().sum()))(batch, index)
    tandem.testing.assert_close(each, tandem.func.grad(lambda x: x.gather(2, index).square().sum())(batch))
    assert tandem.autograd.gradgradcheck(lambda x: x.gather(2, index).square(), (batch,))


def test_text_of_a_loss_with_its_layer():
    text = repr(tandem.nn.LinearCrossEntropyLoss(3, 2, out_features=(4,), ignore_index=1))
    assert text.splitlines()[1:3] == [
        "  in_features=3, num_classes=2, out_features=(4,), bias=False, reduction=mean, ignore_index=1, "
        "label_smoothing=0.0, options=None",
        "  (linear): Linear(in_features=3, out_features=8, bias=False)",
    ]
