"""`GradScaler` where nothing is read: in compiled and recorded steps an infinite gradient leaves parameters and state
as they were, as in an eager step that reads."""

from __future__ import annotations

import contextlib

import pytest
from compiling import CHECKED
from conftest import assert_same_bits

import tandem
from tandem import nn, optim

OPTIMIZERS = {
    "SGD": (optim.SGD, {}),
    "SGD with momentum": (optim.SGD, {"momentum": 0.9, "dampening": 0.1}),
    "Adam": (optim.Adam, {"amsgrad": True}),
    "AdamW": (optim.AdamW, {}),
    "NAdam": (optim.NAdam, {}),
    "RAdam": (optim.RAdam, {}),
    "Adamax": (optim.Adamax, {}),
    "RMSprop": (optim.RMSprop, {"centered": True, "momentum": 0.5}),
    "Adagrad": (optim.Adagrad, {}),
    "Adadelta": (optim.Adadelta, {}),
    "ASGD": (optim.ASGD, {}),
    "Rprop": (optim.Rprop, {}),
    "Adafactor": (optim.Adafactor, {}),
    "Muon": (optim.Muon, {}),
}

#: By step: is a gradient infinite?
BAD = (False, True, False, False, True, True, False, False, False)


def train(kind, mode, unscaled=False):
    make, options = OPTIMIZERS[kind]
    tandem.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4, bias=kind != "Muon"), nn.Tanh(), nn.Linear(4, 2, bias=kind != "Muon"))
    optimizer = make(net.parameters(), lr=0.05, **options)
    scaler = tandem.amp.GradScaler("cpu", init_scale=64.0, growth_interval=2)

    def step(x, factor):
        optimizer.zero_grad()
        loss = (net(x) * factor).square().mean()
        scaler.scale(loss).backward()
        if unscaled:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    call = tandem.compile(step) if mode == "compiled" else step
    found = []
    for bad in BAD:
        with tandem.lazy() if mode == "lazy" else contextlib.nullcontext():
            found.append(call(tandem.randn(5, 3), tandem.tensor(float("inf") if bad else 1.0)))
        found += [p.detach().clone() for p in net.parameters()]
        found += [value.clone() for p in net.parameters() for value in optimizer.state[p].values()]
        found += [tandem.tensor(scaler.get_scale()), tandem.tensor(scaler.state_dict()["_growth_tracker"])]
    assert mode != "compiled" or CHECKED or call.runs <= 3, call.explain(tandem.randn(5, 3), tandem.tensor(1.0))
    return found


@pytest.mark.parametrize("mode", ["compiled", "lazy"])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_steps_with_infinite_gradients(kind, mode):
    for one, other in zip(train(kind, "eager"), train(kind, mode), strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("mode", ["compiled", "lazy"])
def test_gradients_clipped_between(mode):
    for one, other in zip(train("AdamW", "eager", True), train("AdamW", mode, True), strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_step_is_one_write(kind):
    """A step that is decided by a tensor counts as many writes to parameters and state as one that reads."""

    def versions(record):
        make, options = OPTIMIZERS[kind]
        tandem.manual_seed(0)
        net = nn.Linear(3, 4, bias=False)
        optimizer, scaler = make(net.parameters(), lr=0.05, **options), tandem.amp.GradScaler("cpu")
        for _ in range(3):
            with record():
                optimizer.zero_grad()
                scaler.scale(net(tandem.ones(2, 3)).square().mean()).backward()
                scaler.step(optimizer)
                scaler.update()
        return [t._version for t in (net.weight, *optimizer.state[net.weight].values())]

    assert versions(tandem.lazy) == versions(contextlib.nullcontext)


def test_two_optimizers():
    """One with infinite gradients is left out, the other steps; the scale is lowered."""

    def run(compile):
        tandem.manual_seed(0)
        nets = nn.Linear(2, 2), nn.Linear(2, 2)
        optimizers = [optim.SGD(net.parameters(), lr=0.1) for net in nets]
        scaler = tandem.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)

        def step(x, factor):
            for optimizer in optimizers:
                optimizer.zero_grad()
            first, second = (net(x).square().mean() for net in nets)
            scaler.scale(first * factor + second).backward()
            for optimizer in optimizers:
                scaler.step(optimizer)
            scaler.update()

        call = compile(step)
        found = []
        for bad in BAD:
            call(tandem.randn(3, 2), tandem.tensor(float("inf") if bad else 1.0))
            found += [p.detach().clone() for net in nets for p in net.parameters()]
            found.append(tandem.tensor(scaler.get_scale()))
        assert CHECKED or getattr(call, "runs", 0) <= 3
        return found

    for one, other in zip(run(lambda f: f), run(tandem.compile), strict=True):
        assert_same_bits(one, other)


def test_steps_of_other_peoples_code():
    """Hooks and steps of subclasses run where the gradients are finite, and nowhere else."""
    calls = []

    class Counted(optim.SGD):
        def step(self, closure=None):
            calls.append("step")
            return super().step(closure)

    class Wrapped:
        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def step(self):
            calls.append("wrapped")
            self.inner.step()

    w = tandem.ones(2, requires_grad=True)
    hooked = optim.SGD([w], lr=0.1)
    hooked.register_step_post_hook(lambda *_: calls.append("hook"))
    wrapped = Wrapped(optim.SGD([w], lr=0.1))
    for optimizer, name in ((Counted([w], lr=0.1), "step"), (hooked, "hook"), (wrapped, "wrapped")):
        scaler = tandem.amp.GradScaler("cpu")
        calls.clear()
        for bad in (False, True, False):
            with tandem.lazy():
                optimizer.zero_grad()
                scaler.scale((w * (float("inf") if bad else 1.0)).sum()).backward()
                scaler.step(optimizer)
                scaler.update()
        assert calls == [name] * 2


def test_a_saved_step():
    w = nn.Parameter(tandem.ones(2))
    optimizer = optim.Adam([w], lr=0.1)
    scaler = tandem.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)

    def step(x):
        optimizer.zero_grad()
        loss = (w * x).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    step(tandem.ones(2))  # makes the scale, and the optimizer's state
    program = tandem.export.training_step(step, (tandem.ones(2),))
    for x in (tandem.ones(2), tandem.tensor([1.0, float("inf")]), tandem.ones(2) * 3, tandem.ones(2)):
        assert_same_bits(program.run("step", x), step(x))
    assert_same_bits(program.state_dict["w"], w)
    assert_same_bits(next(v for k, v in program.state_dict.items() if k.endswith("_scale")), scaler._scale)
