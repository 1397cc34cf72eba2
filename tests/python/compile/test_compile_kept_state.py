"""Compiled bodies that keep state between calls in attributes, items and variables (`self.h = cell(x, self.h)`): each
call finds what is there and leaves what the body would leave, and the body is run where that is something else."""

from __future__ import annotations

import pytest
from compiling import CHECKED, Box, attempt, picture, runs_of, vector

import tandem
from tandem import nn

# ---- forms, each a plan from its third call on -----------------------------------------------------------------------


class Recurrent(nn.Module):
    def __init__(self, buffer):
        super().__init__()
        self.cell = nn.RNNCell(3, 4)
        self.register_buffer("h", tandem.zeros(2, 4)) if buffer else setattr(self, "h", tandem.zeros(2, 4))

    def forward(self, x):
        self.h = self.cell(x, self.h).detach()
        return self.h.sum()


class Average:
    def __init__(self):
        self.mean = vector(0, 0, 0)

    def __call__(self, x):
        self.mean = self.mean * 0.9 + x.sum(0) * 0.1
        return x - self.mean


class Cache(nn.Module):
    """Of the last four."""

    def __init__(self):
        super().__init__()
        self.keys = None

    def forward(self, x):
        self.keys = x if self.keys is None else tandem.cat([self.keys, x])[-4:]
        return self.keys @ x.t()


total = vector(0, 0, 0)


def global_variable(x):
    global total  # noqa: PLW0603
    total = total + x.sum(0)
    return total * 2


def outer_variable():
    mean = vector(0, 0, 0)

    def body(x):
        nonlocal mean
        mean = mean * 0.5 + x.sum(0)
        return mean.sum()

    return body, lambda: body.__closure__[0].cell_contents


def pair():
    box = Box(state=(vector(0, 0, 0), vector(1, 1, 1)))

    def body(x):
        h, c = box.state
        box.state = (h + x.sum(0), c * 0.5 + h)
        return box.state[0] * box.state[1]

    return body, lambda: box


def item():
    kept = {"m": vector(0, 0, 0), "v": vector(0, 0, 0)}

    def body(x):
        g = x.sum(0)
        kept["m"] = kept["m"] * 0.9 + g * 0.1
        kept["v"] = kept["v"] * 0.99 + g * g * 0.01
        return kept["m"] / (kept["v"].sqrt() + 1e-8)

    return body, lambda: kept


def descent():
    box = Box(w=vector(1, 2, 3, requires_grad=True))

    def body(x):
        loss = (x @ box.w).square().sum()
        (g,) = tandem.autograd.grad(loss, box.w)
        box.w = (box.w - 0.01 * g).detach().requires_grad_()
        return loss

    return body, lambda: box


def swapped():
    box = Box(a=vector(1, 2, 3), b=vector(4, 5, 6))

    def body(x):
        box.a, box.b = box.b, box.a + x.sum(0)
        return box.a * 1, box.b

    return body, lambda: (box, box.a is box.b)


def items_of_a_list():
    box = Box(states=[vector(0, 0, 0), vector(1, 1, 1)])

    def body(x):
        h = x.sum(0)
        for k in range(len(box.states)):
            box.states[k] = h = (box.states[k] * 0.5 + h).tanh()
        box.states[-1] = box.states[-1] * 2
        return h

    return body, lambda: box


def caches_of_layers():
    caches = [None, None]

    def body(x):
        for k, cache in enumerate(caches):
            keys, values = cache if cache is not None else (x[:0], x[:0])
            caches[k] = (tandem.cat([keys, x])[-4:], tandem.cat([values, x * 2])[-4:])
        return sum((k * v).sum() for k, v in caches)

    return body, lambda: caches


def weights_in_a_dict():
    weights = {"w": vector(1, 2, 3, requires_grad=True), "b": vector(0, 0, requires_grad=True)}

    def body(x):
        loss = (x @ weights["w"] + weights["b"]).square().sum()
        grads = tandem.autograd.grad(loss, list(weights.values()))
        for name, g in zip(list(weights), grads):
            weights[name] = (weights[name] - 0.01 * g).detach().requires_grad_()
        return loss

    return body, lambda: weights


class OwnOptimizer:
    """With momentum, which it keeps in a dict of dicts."""

    def __init__(self, params):
        self.params, self.state = list(params), {}

    @tandem.no_grad()
    def step(self):
        for k, p in enumerate(self.params):
            state = self.state.setdefault(k, {})
            if "momentum" not in state:
                state["momentum"] = tandem.zeros_like(p)
            state["momentum"] = state["momentum"] * 0.9 + p.grad
            p.sub_(state["momentum"], alpha=0.1)


def own_optimizer():
    net = nn.Linear(3, 1)
    optimizer = OwnOptimizer(net.parameters())

    def body(x):
        net.zero_grad()
        loss = (net(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return body, lambda: (vars(optimizer), net.weight)


def lists_that_grow():
    losses, seen = [], {"x": [], "steps": []}

    def body(x):
        loss = x.square().sum()
        losses.append(loss.item())
        seen["x"].append(x.sum(0))
        seen["x"].append(x)
        seen["steps"].append("step")
        return loss

    return body, lambda: (losses, seen)


def history():
    box = Box(h=vector(1, 2, 3, requires_grad=True))

    def body(x):
        box.h = box.h * x.sum(0).tanh()
        return box.h.sum()

    return body, lambda: box


def whole(make):
    def form():
        kept = make()
        return kept, lambda: kept if not isinstance(kept, nn.Module) else vars(kept)

    return form


FORMS = {
    "an attribute of a module": (whole(lambda: Recurrent(False)), 2),
    "a buffer": (whole(lambda: Recurrent(True)), 2),
    "an attribute of an object": (whole(Average), 2),
    "a cache that fills": (whole(Cache), None),
    "a global": (lambda: (global_variable, lambda: total), 2),
    "a variable of an outer function": (outer_variable, 2),
    "a tuple": (pair, 2),
    "items of a dict": (item, 2),
    "weights that are replaced": (descent, 2),
    "two that are swapped": (swapped, 2),
    "items of a list": (items_of_a_list, 2),
    "caches of layers": (caches_of_layers, None),
    "weights in a dict": (weights_in_a_dict, 2),
    "lists that grow": (lists_that_grow, 1),
    "an optimizer of one's own": (own_optimizer, 3),  # the first call makes the dicts
    "a history that grows": (history, 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_state(form):
    def begin():
        global total  # noqa: PLW0603
        tandem.manual_seed(0)
        total = vector(0, 0, 0)

    make, runs = FORMS[form]
    ran = runs_of(make, lambda k: tandem.arange(6.0).reshape(2, 3) * (k - 3) / 10, begin)
    assert CHECKED or runs is None or ran == runs


def test_the_first_call_of_fullgraph_learns():
    box = Box(h=vector(0, 0))

    @tandem.compile(fullgraph=True)
    def step(x):
        box.h = box.h + x
        return box.h

    assert [step(vector(1, 2)).tolist() for _ in range(3)] == [[1, 2], [2, 4], [3, 6]]


def test_functions_that_share_state():
    box = Box(h=vector(0, 0))

    def adds(x):
        box.h = box.h + x
        return box.h * 2

    seen = []
    for wrap in (lambda f: f, tandem.compile):
        box.h = vector(0, 0)
        inner = wrap(adds)
        outer = wrap(lambda x, inner=inner: inner(x) + inner(x * 2) + box.h)
        calls = [outer, inner, outer, outer, inner, inner, outer, outer]
        seen.append([picture((f(vector(k, 1)), box)) for k, f in enumerate(calls)])
    assert seen[0] == seen[1]


class Stepper:
    def __init__(self):
        self.h = vector(0, 0)

    @tandem.compile
    def step(self, x):
        self.h = self.h * 0.5 + x
        return self.h.sum()


def test_one_method_of_many_objects():
    steppers = [Stepper() for _ in range(4)]
    before = Stepper.__dict__["step"].runs
    for _ in range(5):
        for k, s in enumerate(steppers):
            expected = s.h * 0.5 + k
            assert s.step(vector(k, k)).item() == expected.sum().item() and s.h.tolist() == expected.tolist()
    assert CHECKED or Stepper.__dict__["step"].runs - before == 2 * len(steppers)


def test_a_call_that_fails_leaves_what_eager_leaves():
    seen = []
    for wrap in (lambda f: f, tandem.compile):
        box = Box(h=vector(0, 0, 0))

        def body(x, i, box=box):
            box.h = box.h + x
            return box.h[i]

        call = wrap(body)
        indices = (0, 1, 2, 7, 1, 5, 2)
        seen.append([picture((attempt(call, vector(1, 2, 3), tandem.tensor(i)), box)) for i in indices])
    assert seen[0] == seen[1]


def test_modes_of_autograd():
    seen = []
    for wrap in (lambda f: f, tandem.compile):
        box = Box(h=vector(0, 0))
        call = wrap(lambda x, box=box: (setattr(box, "h", box.h * 0.5 + x), box.h.sum())[1])
        found = []
        for k in range(12):
            with (tandem.no_grad, tandem.inference_mode, tandem.enable_grad)[k % 3]():
                result = attempt(call, vector(1, 2, requires_grad=k % 4 == 0))
            found.append(picture((result, box, box.h.is_inference())))
        seen.append(found)
    assert seen[0] == seen[1]


def test_what_is_replaced_is_freed():
    import weakref

    box = Box(h=vector(0, 0))
    step = tandem.compile(lambda x: setattr(box, "h", box.h + x))
    for _ in range(4):
        old = weakref.ref(box.h)
        step(vector(1, 2))
        assert old() is None
