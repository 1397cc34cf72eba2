"""How the gradient of a leaf lies in memory: as the leaf does where that has no gaps, else row-major, as in PyTorch."""

from __future__ import annotations

import pytest

import tandem
from tandem import nn

CHANNELS_LAST = tandem.channels_last
LEAVES = {  # a leaf and the strides of its gradient
    "rows": (lambda: tandem.randn(4, 3), (3, 1)),
    "columns": (lambda: tandem.randn(3, 4).t(), (1, 4)),
    "channels last": (lambda: tandem.randn(2, 3, 4, 5).contiguous(memory_format=CHANNELS_LAST), (60, 1, 15, 3)),
    "three dims": (lambda: tandem.randn(2, 3, 4).permute(2, 0, 1), (1, 12, 4)),
    "a dim of one element": (lambda: tandem.randn(3, 1, 4).permute(2, 1, 0), (1, 4, 4)),
    "expanded": (lambda: tandem.randn(3, 1).expand(3, 4), (4, 1)),
    "with gaps": (lambda: tandem.randn(3, 8)[:, ::2], (4, 1)),
    "empty": (lambda: tandem.randn(0, 4).t(), (1, 1)),
}
LOSSES = {
    "elementwise": lambda p: (p * p).sum(),
    "sum": lambda p: p.sum(),
    "rows": lambda p: (p.contiguous() * 2).tanh().sum(),
    "turned": lambda p: (p.transpose(0, -1) * 3).exp().sum(),
    "twice": lambda p: (p * p.flip(0)).sum() + p.sum(),
}


def strides(t):
    """Those that say something."""
    return tuple(step for step, size in zip(t.stride(), t.shape, strict=True) if size > 1)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", LEAVES)
def test_gradients_lie_as_their_leaves(name, loss):
    make, wanted = LEAVES[name]
    data = make()
    expected = tuple(step for step, size in zip(wanted, data.shape, strict=True) if size > 1)
    rows = data.detach().contiguous().requires_grad_()
    LOSSES[loss](rows).backward()
    for create_graph in (False, True):
        p = data.detach().requires_grad_()
        (grad,) = tandem.autograd.grad(LOSSES[loss](p), p, create_graph=create_graph)
        p.backward(grad)
        assert strides(p.grad) == expected
        assert p.grad.equal(rows.grad)
        p.grad = None

    def step(p):
        p.grad = None
        LOSSES[loss](p).backward()
        return p.grad

    compiled = tandem.compile(step)
    for run in (step, compiled, compiled):
        p = data.detach().requires_grad_()
        assert strides(run(p)) == expected
        assert p.grad.equal(rows.grad)
        LOSSES[loss](p).backward()  # into the one that is there
        assert strides(p.grad) == expected
        assert p.grad.equal(rows.grad * 2)


def test_second_derivatives_go_through_the_copy():
    p = tandem.randn(3, 4).t().requires_grad_()
    with pytest.warns(UserWarning, match="create_graph"):
        (p**3).sum().backward(create_graph=True)
    assert p.grad.stride() == (1, 4)
    (second,) = tandem.autograd.grad(p.grad.sum(), p)
    assert second.allclose(6 * p)
    p.grad = None


@pytest.mark.parametrize("optimizer", [tandem.optim.SGD, tandem.optim.AdamW, tandem.optim.LBFGS])
@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_steps_of_weights_in_channels_last(optimizer, mode):
    """Are those of rows, and gradients lie as their weights."""

    def trained(layout):
        tandem.manual_seed(3)
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Conv2d(4, 2, 1)).to(memory_format=layout)
        o = optimizer(net.parameters(), lr=0.1)
        x = tandem.randn(2, 3, 5, 5)

        def closure():
            o.zero_grad()
            loss = (net(x) ** 2).sum()
            loss.backward()
            return loss

        def step():
            return o.step(closure)

        run = step if mode == "eager" or optimizer is tandem.optim.LBFGS else tandem.compile(step)
        for _ in range(3):
            run()
        return list(net.parameters())

    for mine, rows in zip(trained(CHANNELS_LAST), trained(tandem.contiguous_format), strict=True):
        assert strides(mine.grad) == strides(mine)
        assert mine.allclose(rows, rtol=1e-4, atol=1e-5)
