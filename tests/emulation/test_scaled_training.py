"""Steps scaled by `GradScaler` on a GPU whose gradients overflow in float16, beside the CPU's numbers: a step with
infinite gradients changes nothing but the scale, and nothing waits."""

from __future__ import annotations

import contextlib

import pytest
from gpu_here import MARKS, late
from same_bits import assert_same_bits

import tandem
from tandem import nn, optim

pytestmark = MARKS

OPTIMIZERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: optim.Adam(p, lr=0.05),
    "AdamW": lambda p: optim.AdamW(p, lr=0.05, weight_decay=0.1, amsgrad=True),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.05),
}
#: Of a step: what float16 cannot hold when it is scaled, and what it can.
FACTORS = (1.0, 3e4, 1.0, 1.0, 6e4, 6e4, 1.0, 1.0, 1.0)


class Scaled(nn.Module):
    """Elementwise work, whose bits are those of the CPU, in float16."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(tandem.linspace(-1, 1, 12).reshape(3, 4))
        self.bias = nn.Parameter(tandem.linspace(0, 1, 4))

    def forward(self, x: tandem.Tensor, factor: tandem.Tensor) -> tandem.Tensor:
        half = (x * self.weight).half() * factor.half() + self.bias.half()
        return half.sum(0).float().mean()


def train(place: str, mode: str, kind: str = "AdamW", clip: bool = False) -> list[tandem.Tensor]:
    net = Scaled().to(place)
    optimizer = OPTIMIZERS[kind](net.parameters())
    scaler = tandem.amp.GradScaler(place, init_scale=64.0, growth_interval=2)
    x = tandem.linspace(-1, 1, 12).reshape(3, 4).to(place)

    def step(factor: tandem.Tensor) -> None:
        optimizer.zero_grad()
        scaler.scale(net(x, factor)).backward()
        if clip:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()

    call = tandem.compile(step) if mode == "compiled" else step
    kept = []
    for k, value in enumerate(FACTORS):
        factor = tandem.tensor(value).to(place)
        tandem.cuda.synchronize()
        with tandem.lazy() if mode == "lazy" else contextlib.nullcontext():
            call(factor)
        if place == "cuda" and k > 1:
            assert not tandem.cuda.current_stream().query(), "the step waited"
        # Copies on the device, which do not wait.
        kept += [p.detach().clone() for p in net.parameters()]
        kept += [
            v.clone() for p in net.parameters() for v in optimizer.state[p].values() if isinstance(v, tandem.Tensor)
        ]
        kept += [scaler._scale.clone(), scaler._growth_tracker.clone()]
    return [t.cpu() for t in kept]


@late
@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_overflow(kind, mode):
    want = train("cpu", "eager", kind)
    for one, other in zip(train("cuda", mode, kind), want, strict=True):
        assert_same_bits(one, other)


@late
@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
def test_clipped_between(mode):
    want = train("cpu", "eager", clip=True)
    for one, other in zip(train("cuda", mode, clip=True), want, strict=True):
        assert_same_bits(one, other)


def test_the_scale():
    """Halved at once where a gradient is infinite or NaN, doubled after the interval without one."""
    w = nn.Parameter(tandem.ones(2, device="cuda"))
    optimizer = optim.SGD([w], lr=1.0)
    scaler = tandem.amp.GradScaler("cuda", init_scale=2.0**15, growth_interval=3)
    scales = []
    for value in (1.0, float("inf"), 1.0, 1.0, 1.0, float("nan"), 1.0):
        before = w.detach().clone()
        optimizer.zero_grad()
        scaler.scale((w * tandem.tensor([value, 1.0], device="cuda")).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        moved = (before - w.detach()).cpu()
        assert moved.tolist() == ([1.0, 1.0] if value == 1.0 else [0.0, 0.0])
        scales.append(scaler.get_scale())
    assert scales == [2.0**15, 2.0**14, 2.0**14, 2.0**14, 2.0**15, 2.0**14, 2.0**14]


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
def test_several_optimizers_with_one_scaler(mode):
    """One with infinite gradients is left out, the others step; the scale is lowered once."""

    def run(place: str, mode: str) -> list[tandem.Tensor]:
        weights = [nn.Parameter(tandem.full((3,), float(k + 1), device=place)) for k in range(3)]
        makes = (OPTIMIZERS["SGD"], OPTIMIZERS["Adam"], OPTIMIZERS["AdamW"])
        optimizers = [make([w]) for make, w in zip(makes, weights, strict=True)]
        scaler = tandem.amp.GradScaler(place, init_scale=4.0, growth_interval=2)

        def step(factors: tandem.Tensor) -> None:
            for optimizer in optimizers:
                optimizer.zero_grad()
            scaler.scale(sum((w * factors[k]).square().mean() for k, w in enumerate(weights))).backward()
            scaler.unscale_(optimizers[1])
            nn.utils.clip_grad_norm_([weights[1]], 1.0)
            for optimizer in optimizers:
                scaler.step(optimizer)
            scaler.update()

        call, kept = tandem.compile(step) if mode == "compiled" else step, []
        for k in range(7):
            factors = tandem.ones(3)
            if k in (1, 2, 5):
                factors[k % 3] = float("inf")
            with tandem.lazy() if mode == "lazy" else contextlib.nullcontext():
                call(factors.to(place))
            kept += [w.detach().clone() for w in weights] + [scaler._scale.clone()]
        return [t.cpu() for t in kept]

    for one, other in zip(run("cuda", mode), run("cpu", "eager"), strict=True):
        assert_same_bits(one, other)


def test_state_goes_on_in_another_scaler():
    """From device to device, through a file."""

    def step(scaler, optimizer, w, value):
        optimizer.zero_grad()
        scaler.scale((w * value).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    for first, second in (("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda")):
        w = nn.Parameter(tandem.ones(2, device=first))
        optimizer, scaler = optim.Adam([w], lr=0.1), tandem.amp.GradScaler(first, init_scale=8.0, growth_interval=3)
        for value in (1.0, 1.0, float("inf"), 1.0):
            step(scaler, optimizer, w, value)
        state = scaler.state_dict()
        assert state == {
            "scale": 4.0,
            "growth_factor": 2.0,
            "backoff_factor": 0.5,
            "growth_interval": 3,
            "_growth_tracker": 1,
        }
        other_w = nn.Parameter(w.detach().to(second))
        other = tandem.amp.GradScaler(second)
        other.load_state_dict(state)
        other_optimizer = optim.Adam([other_w], lr=0.1)
        other_optimizer.load_state_dict(optimizer.state_dict())
        for value in (1.0, 1.0, float("nan"), 1.0):
            step(scaler, optimizer, w, value)
            step(other, other_optimizer, other_w, value)
            assert other.get_scale() == scaler.get_scale() and other.state_dict() == scaler.state_dict()
            assert_same_bits(other_w.detach().cpu(), w.detach().cpu())


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "ASGD", "Adagrad", "SGD"])
@pytest.mark.parametrize(("first", "second"), [("cuda", "cpu"), ("cpu", "cuda")])
def test_state_of_an_optimizer_moves(kind, first, second):
    """All of it goes where its parameter is, the number of steps included."""

    def steps(w: nn.Parameter, optimizer: optim.Optimizer) -> None:
        for k in range(2):
            optimizer.zero_grad()
            (w * (k + 1.0)).square().sum().backward()
            optimizer.step()

    w = nn.Parameter(tandem.linspace(-1, 1, 5).to(first))
    optimizer = getattr(optim, kind)([w], lr=0.1)
    steps(w, optimizer)
    other_w = nn.Parameter(w.detach().to(second))
    other = getattr(optim, kind)([other_w], lr=0.1)
    other.load_state_dict(optimizer.state_dict())
    assert all(v.device == other_w.device for v in other.state[other_w].values() if isinstance(v, tandem.Tensor))
    steps(w, optimizer)
    steps(other_w, other)
    assert_same_bits(other_w.detach().cpu(), w.detach().cpu())
