"""Random histories of a small world, made twice: one whose functions are compiled, one whose are not. After every call
results, parameters, gradients, buffers, the optimizer and Python's objects must be the same, to the bit."""

from __future__ import annotations

import collections
import os

import pytest
from compiling import CHECKED, Box, attempt, picture
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import tandem
from tandem import nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)
        self.register_buffer("seen", tandem.zeros(3))
        self.scale = 1.0

    def forward(self, x):
        y = self.second(nn.functional.dropout(tandem.tanh(self.norm(self.first(x))), 0.3, self.training))
        self.seen.add_(y.detach().sum(0))
        return y * self.scale


class World:
    def __init__(self, wrap):
        tandem.manual_seed(1)
        self.net = net = Net()
        self.optimizer = optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
        self.box = box = Box(s=1.0, n=2, t=tandem.ones(3))
        self.items = items = [tandem.ones(3), 2.0]
        self.table = table = {"a": 1.0, "t": tandem.full((3,), 0.5)}
        self.log, self.handles = [], []
        factor = 1.0

        def rebind(value):
            nonlocal factor
            factor = value

        def forward(x):
            return net(x) * factor

        def read(x, s):
            for item in items:
                x = x * item
            x = x + table["a"] * box.t * box.s + (table["t"] if "t" in table else 0)
            return {"x": x * s, "n": box.n, "part": x[:1]}

        def step(x, y):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x) * factor, y)
            loss.backward()
            optimizer.step()
            return loss

        def accumulate(x):
            (net(x) * box.t).sum().backward()

        def derive(x):
            x = x.detach().requires_grad_()
            (g,) = tandem.autograd.grad((net(x) ** 2).sum(), x, create_graph=net.scale > 1)
            return g

        def count(x):
            box.n += 1
            table["last"] = x.sum() * box.n
            return table["last"] + factor

        def write(x):
            box.t.mul_(0.5).add_(x.detach()[0])
            x[1:].add_(box.s)
            return x

        def fail(x):
            box.t.add_(1)
            return x @ items[0]

        def look(x):
            return x * 2 if x.sum() > 0 else x - box.t

        def lend(x):
            return tandem.func.functional_call(net, {"second.bias": box.t * box.s}, (x,))

        def descend(x):
            (net(x) * box.t).sum().backward()
            with tandem.no_grad():
                for group in optimizer.param_groups:
                    for p in group["params"]:
                        if p.grad is not None:
                            p.sub_(p.grad, alpha=group["lr"] * table["a"])

        def outcome(x):
            parts = collections.OrderedDict(a=x * box.s, b=[x[:1], len(items)])
            return Box(x=net(x), scale=net.scale, parts=parts)

        self.rebind = rebind
        bodies = forward, read, step, accumulate, derive, count, write, fail, look, lend, descend, outcome
        self.calls = {f.__name__: wrap(f) for f in bodies}
        self.calls["module"] = wrap(net)
        self.calls["optimizer"] = wrap(optimizer.step)

    def state(self):
        groups = [{k: v for k, v in g.items() if k != "params"} for g in self.optimizer.param_groups]
        parameters = [(n, p, p.grad) for n, p in self.net.named_parameters()]
        momenta = [self.optimizer.state.get(p, {}) for p in self.net.parameters()]
        flags = [m.training for m in self.net.modules()]
        objects = [self.box, self.items, self.table, self.log, self.net.scale]
        return picture([parameters, list(self.net.named_buffers()), groups, [dict(m) for m in momenta], flags, objects])


INPUTS = {"forward": "x", "read": "xs", "step": "xy", "accumulate": "x", "derive": "x", "count": "x", "write": "x"}
INPUTS |= {"fail": "x", "look": "x", "lend": "x", "descend": "x", "outcome": "x", "module": "x", "optimizer": ""}

numbers = st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.5])
linears = st.sampled_from(["first", "second"])
HOOKS = {
    "forward": lambda w: w.net.second.register_forward_hook(lambda m, a, out: out * 2),
    "forward pre": lambda w: w.net.register_forward_pre_hook(lambda m, a: (a[0] + 1,)),
    "counting": lambda w: w.net.first.register_forward_hook(lambda m, a, out: w.log.append(len(w.log))),
    "gradient": lambda w: w.net.second.bias.register_hook(lambda g: g * 3) if w.net.second.bias.requires_grad else None,
    "backward": lambda w: w.net.second.register_full_backward_hook(lambda m, i, o: (i[0] and i[0] * 2,)),
    "step": lambda w: w.optimizer.register_step_post_hook(lambda o, a, k: w.log.append("step")),
}


class Twins(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.worlds = World(lambda f: f), World(tandem.compile)
        self.seed = 0

    def change(self, action):
        for w in self.worlds:
            action(w)

    # ---- what changes between calls

    @rule(name=st.sampled_from(["s", "n"]), value=numbers)
    def set_attribute(self, name, value):
        self.change(lambda w: setattr(w.box, name, int(value) if name == "n" else value))

    @rule(value=numbers, how=st.sampled_from(["new", "fill", "data", "part", "strided"]))
    def set_tensor(self, value, how):
        def action(w):
            if how == "new":
                w.box.t = tandem.full((3,), value)
            elif how == "fill":
                w.box.t.fill_(value)
            else:
                w.box.t.data = {
                    "data": lambda: tandem.full((3,), value),
                    "part": lambda: tandem.arange(6.0)[2:5],
                    "strided": lambda: tandem.arange(9.0).reshape(3, 3)[:, 1],
                }[how]()

        self.change(action)

    @rule(value=numbers, where=st.sampled_from(["append", "first", "pop"]))
    def change_list(self, value, where):
        def action(w):
            if where == "append" and len(w.items) < 4:
                w.items.append(value)
            elif where == "first":
                w.items[0] = tandem.full((3,), value)
            elif len(w.items) > 1:
                w.items.pop()

        self.change(action)

    @rule(value=numbers, key=st.sampled_from(["a", "t", "new"]))
    def change_dict(self, value, key):
        def action(w):
            if key == "t" and "t" in w.table:
                del w.table["t"]
            else:
                w.table[key] = tandem.full((3,), value) if key == "t" else value

        self.change(action)

    @rule(value=numbers)
    def rebind_cell(self, value):
        self.change(lambda w: w.rebind(value))

    @rule(value=numbers)
    def set_scale(self, value):
        self.change(lambda w: setattr(w.net, "scale", value))

    @rule(mode=st.booleans(), part=st.sampled_from(["", "norm"]))
    def set_training(self, mode, part):
        self.change(lambda w: w.net.get_submodule(part).train(mode))

    @rule(flag=st.booleans(), name=linears)
    def set_requires_grad(self, flag, name):
        self.change(lambda w: getattr(w.net, name).requires_grad_(flag))

    @rule(name=linears, how=st.sampled_from(["parameter", "part", "tie", "data"]))
    def replace(self, name, how):
        def action(w):
            tandem.manual_seed(5)
            m = getattr(w.net, name)
            if how == "parameter":
                m.weight = nn.Parameter(tandem.randn(*m.weight.shape))
            elif how == "part":
                setattr(w.net, name, nn.Linear(m.in_features, m.out_features))
            elif how == "tie":
                w.net.norm.weight = w.net.norm.bias
            else:
                m.weight.data = tandem.randn(*m.weight.shape)

        self.change(action)

    @rule(name=linears, how=st.sampled_from(["none", "ones", "transposed"]))
    def set_gradient(self, name, how):
        def action(w):
            p = getattr(w.net, name).weight
            grads = {"none": lambda: None, "ones": lambda: tandem.ones_like(p)}
            p.grad = grads.get(how, lambda: tandem.ones(*reversed(p.shape)).cumsum(0).t())()

        self.change(action)

    @rule(key=st.sampled_from(["lr", "momentum", "weight_decay"]), value=st.sampled_from([0.0, 0.1, 0.5]))
    def set_rate(self, key, value):
        self.change(lambda w: w.optimizer.param_groups[0].__setitem__(key, value))

    @rule()
    def clear_state(self):
        self.change(lambda w: w.optimizer.state.clear())

    @rule()
    def follow_parameters(self):
        self.change(lambda w: w.optimizer.param_groups[0].__setitem__("params", [*w.net.parameters()]))

    @rule(name=st.sampled_from(sorted(HOOKS)))
    def add_hook(self, name):
        self.change(lambda w: w.handles.append(HOOKS[name](w)) if len(w.handles) < 3 else None)

    @precondition(lambda self: self.worlds[0].handles)
    @rule()
    def remove_hook(self):
        self.change(lambda w: (lambda h: h and h.remove())(w.handles.pop()))

    @rule()
    def load_state(self):
        self.change(lambda w: w.net.load_state_dict({k: v * 0.5 for k, v in w.net.state_dict().items()}))

    # ---- calls

    @rule(
        name=st.sampled_from(sorted(INPUTS)),
        times=st.integers(1, 3),
        rows=st.sampled_from([2, 3, 5]),
        s=numbers,
        grad=st.sampled_from([True, True, True, False]),
    )
    def call(self, name, times, rows, s, grad):
        for _ in range(times):
            self.seed += 1
            seen = []
            for w in self.worlds:
                tandem.manual_seed(self.seed)
                given = {"x": tandem.randn(rows, 3), "y": tandem.randn(rows, 3), "s": s}
                with tandem.set_grad_enabled(grad):
                    got = attempt(w.calls[name], *(given[k] for k in INPUTS[name]))
                seen.append((picture(got), picture(given), w.state(), tandem.rand(1).item()))
            for what, a, b in zip(("result", "arguments", "state", "next draw"), *seen, strict=True):
                assert a == b, f"{name}: {what}: {b}, eager's {a}"

    @invariant()
    def same_state(self):
        assert self.worlds[0].state() == self.worlds[1].state()


def run(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Twins,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            # Explaining traces the interpreter; a function that is compiled then is recorded on every call.
            phases=[p for p in Phase if p is not Phase.explain],
            deadline=None,
            derandomize=not os.environ.get("TANDEM_SLOW"),
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_histories():
    run(40, 25)


@pytest.mark.slow
def test_many_histories():
    run(1500, 40)


def test_the_worlds_are_on_the_fast_path():
    w = World(tandem.compile)
    w.net.eval()
    x, y = tandem.randn(3, 3), tandem.randn(3, 3)
    given = {"x": x, "y": y, "s": 0.5}
    fast = {"forward", "read", "step", "accumulate", "derive", "write", "lend", "outcome", "optimizer"}
    for name in fast:
        args = [given[k] for k in INPUTS[name]]
        for _ in range(3):
            w.calls[name](*args)
        before = w.calls[name].runs
        w.calls[name](*args)
        assert CHECKED or w.calls[name].runs == before, (name, w.calls[name].explain(*args))
