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


def _scaled(parameter):
    scaler = tandem.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(parameter.sum()).backward()
    return scaler


class OwnScale(optim.SGD):
    """Divides by the scale and leaves bad steps out itself."""

    _step_supports_amp_scaling = True

    def step(self, closure=None):
        self.seen = (None if self.grad_scale is None else self.grad_scale.item(), self.found_inf.item())
        if not self.seen[1]:
            super().step(closure)


@pytest.mark.parametrize(("unscaled", "gradient", "seen", "after"), [
    (False, 4.0, (4.0, 0.0), 4.0),
    (True, 1.0, (None, 0.0), 4.0),
    (False, float("inf"), (4.0, 1.0), 2.0),
])  # fmt: skip
def test_optimizers_that_scale_themselves_find_the_scale(unscaled, gradient, seen, after):
    w = tandem.ones(2, requires_grad=True)
    optimizer = OwnScale([w], lr=0.5)
    scaler = _scaled(w)
    if gradient == float("inf"):
        w.grad[0] = gradient
    if unscaled:
        scaler.unscale_(optimizer)
    before = w.tolist()
    scaler.step(optimizer)
    assert optimizer.seen == seen and not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")
    assert w.tolist() == (before if seen[1] else [1 - 0.5 * gradient] * 2)
    scaler.update()
    assert scaler.get_scale() == after


def test_optimizers_that_ask_for_the_scaler_get_it():
    class Asks(optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None, *, grad_scaler=None):
            grad_scaler.unscale_(self)
            return super().step(closure)

    w = tandem.ones(2, requires_grad=True)
    scaler = _scaled(w)
    with pytest.warns(FutureWarning, match="grad_scaler"):
        scaler.step(Asks([w], lr=0.5))
    assert w.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("bad", [None, float("inf"), float("nan")])
def test_gradients_are_checked_and_unscaled_by_the_private_name(bad):
    grads = [tandem.full((2, 3), 4.0), tandem.full((3, 2), 4.0).t(), tandem.full((2,), 4.0, dtype=tandem.float16)]
    found = tandem.zeros(1)
    if bad is not None:
        grads[1][0, 1] = bad
    tandem._amp_foreach_non_finite_check_and_unscale_(grads, found, tandem.full((1,), 0.25))
    assert found.tolist() == [0.0 if bad is None else 1.0]
    assert all((g == 1).sum() == g.numel() - (bad is not None and i == 1) for i, g in enumerate(grads))
    with pytest.raises(RuntimeError, match=r"found_inf must be a 1-element tensor, but its shape is \[2\]"):
        tandem._amp_foreach_non_finite_check_and_unscale_(grads, tandem.zeros(2), tandem.ones(1))


def test_scales_are_updated_by_the_private_name():
    scale, tracker, found = tandem.full((1,), 4.0), tandem.zeros(1, dtype=tandem.int32), tandem.zeros(1)
    seen = []
    for bad in (0.0, 0.0, 1.0):
        assert tandem._amp_update_scale_(scale, tracker, found.fill_(bad), 2.0, 0.25, 2) is scale
        seen.append((scale.item(), tracker.item()))
    assert seen == [(4.0, 1), (8.0, 0), (2.0, 0)]
