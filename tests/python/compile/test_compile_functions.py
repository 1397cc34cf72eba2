"""Compiled bodies with Functions of the user's own, custom operations and hooks of what they compute: such as take
their gradients themselves, and such as leave that to others. Calls run the plan where nothing else sees what those did,
and are eager's everywhere."""

from __future__ import annotations

import random

import pytest
from compiling import CHECKED

import tandem
from tandem import nn
from tandem.nn import functional as F


def function(forward=None, backward=None):
    """x * w, with what happens beside it, and another gradient where `backward` gives one."""

    class Product(tandem.autograd.Function):
        factor = 1.0

        @staticmethod
        def forward(ctx, x, w):
            if forward is not None:
                forward(ctx, x, w)
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            own = backward(ctx, g, x, w) if backward is not None else None
            return (g * w, g * x) if own is None else own

    return Product


def step_through(product, hook=None):
    """A step over `product(x, w)`, with a hook of its result, and what others see of it."""
    w = nn.Parameter(tandem.ones(3) * 2)
    optimizer = tandem.optim.SGD([w], lr=0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        y = product(x, w)
        if hook is not None:
            hook(y)
        loss = y.sin().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, lambda: w.tolist()


def calls_of(make, wrap):
    tandem.manual_seed(0)
    random.seed(0)
    step, seen = make()
    step, out = wrap(step), []
    for k in range(5):
        try:
            out.append(step(tandem.arange(3.0) + k).tolist())
        except Exception as error:  # whichever eager raises
            out.append((type(error), str(error)))
        out.append(seen())
    return out, getattr(step, "runs", None)


def assert_eagers(make, plan):
    eager, _ = calls_of(make, lambda f: f)
    compiled, runs = calls_of(make, tandem.compile)
    assert compiled == eager
    if not CHECKED:
        assert (runs <= 2) is plan


def scaled(ctx, g, x, w):
    ctx.scale = 3.0
    return g * w * ctx.scale, g * x * 3


def derivative_inside(ctx, x, w):
    with tandem.enable_grad():
        inner = x.detach().requires_grad_()
        (ctx.slope,) = tandem.autograd.grad((inner**2).sum(), inner)


def with_slope(ctx, g, x, w):
    return g * w + ctx.slope, g * x + ctx.slope


def drawn(ctx, g, x, w):
    noise = tandem.rand(3)
    return g * w * noise, g * x * noise


FUNCTIONS = {
    "plain": ({}, True),
    "another gradient": ({"backward": scaled}, True),
    "a gradient of one": ({"backward": lambda ctx, g, x, w: (None, g * x)}, True),
    "what an input needs": (
        {"backward": lambda ctx, g, x, w: (g * w if ctx.needs_input_grad[0] else None, g * x)},
        True,
    ),
    "derivative inside": ({"forward": derivative_inside, "backward": with_slope}, True),
    "draws": ({"backward": drawn}, True),
    "reads": ({"backward": lambda ctx, g, x, w: (g, g * x * (1 if g.sum().item() > 0 else -1))}, False),
    "random": ({"backward": lambda ctx, g, x, w: (g, g * x * random.random())}, False),
    "raises": ({"backward": lambda ctx, g, x, w: {}["own"]}, False),
    "another shape": ({"backward": lambda ctx, g, x, w: (g, g[:2])}, False),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_steps_through_functions(name):
    parts, plan = FUNCTIONS[name]
    assert_eagers(lambda: step_through(function(**parts).apply), plan)


@pytest.mark.parametrize("part", ["forward", "backward"])
def test_functions_that_count(part):
    def make():
        count = [0]

        def counts(*_):
            count[0] += 1

        step, seen = step_through(function(**{part: counts}).apply)
        return step, lambda: (seen(), count[0])

    assert_eagers(make, False)


@pytest.mark.parametrize("part", ["factor", "forward", "backward"])
def test_functions_that_others_change(part):
    def make():
        product = function(backward=lambda ctx, g, x, w: (g, g * x * product.factor))
        step, seen = step_through(product.apply)
        others = {
            "factor": 2.0,
            "forward": staticmethod(lambda ctx, x, w: ctx.save_for_backward(x, w) or x + w),
            "backward": staticmethod(lambda ctx, g: (g, g * 5)),
        }

        def see():
            if seen.calls == 2:
                setattr(product, part, others[part])
            seen.calls += 1
            return seen()

        seen.calls = 0
        return step, see

    eager, _ = calls_of(make, lambda f: f)
    assert calls_of(make, tandem.compile)[0] == eager


def own_hooks(y):
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: g * 2)


def hook_that_goes(y):
    y.register_hook(lambda g: g * 100).remove()


def keeps_gradient(y):
    y.retain_grad()


HOOKS = {
    "two": (own_hooks, True),
    "removed": (hook_that_goes, True),
    "kept gradient": (keeps_gradient, True),
    "clipped": (lambda y: y.register_hook(lambda g: g.clamp(-0.5, 0.5)), True),
    "raises": (lambda y: y.register_hook(lambda g: {}["own"]), False),
    "another shape": (lambda y: y.register_hook(lambda g: g[:2]), False),
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_of_what_a_body_computes(name):
    hook, plan = HOOKS[name]
    assert_eagers(lambda: step_through(lambda x, w: x * w, hook), plan)


def test_hooks_that_others_see():
    def counting():
        count = []
        step, seen = step_through(lambda x, w: x * w, lambda y: y.register_hook(lambda g: count.append(1)))
        return step, lambda: (seen(), len(count))

    def kept():
        handles = []
        step, seen = step_through(lambda x, w: x * w, lambda y: handles.append(y.register_hook(lambda g: g * 2)))
        return step, lambda: (seen(), len(handles))

    def of_a_parameter():
        return step_through(lambda x, w: (w.to(tandem.float32).register_hook(lambda g: g * 2), x * w)[1])

    for make, plan in ((counting, True), (kept, True), (of_a_parameter, False)):
        assert_eagers(make, plan)


def test_a_gradient_that_a_hook_keeps():
    """As maps of what a network looked at are computed."""
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3))

    def weighed(x):
        features, gradients = net[0](x), []
        features.register_hook(gradients.append)
        net.zero_grad()
        net[1:](features)[0, 1].backward()
        return (gradients[0].mean((2, 3), keepdim=True) * features).sum(1).relu().detach()

    compiled = tandem.compile(weighed)
    for _ in range(4):
        x = tandem.randn(1, 1, 6, 6)
        assert compiled(x).tolist() == weighed(x).tolist()
    assert CHECKED or compiled.runs <= 2


def test_results_with_kept_gradients():
    """The history of a result is repeated with what it says of its gradient, or not at all."""
    w = nn.Parameter(tandem.ones(3))

    def f(x, hooked):
        y = x * w
        y.retain_grad()
        if hooked:
            y.register_hook(lambda g: g * 3)
        return y, (y * y).sum()

    for hooked in (False, True):
        compiled = tandem.compile(f)
        for k in range(4):
            found = []
            for call in (f, compiled):
                w.grad = None
                y, total = call(tandem.arange(3.0) + k, hooked)
                total.backward()
                found.append((y.tolist(), y.retains_grad, y.grad.tolist(), w.grad.tolist()))
            assert found[0] == found[1]


@tandem.library.custom_op("tests::scaled", mutates_args=())
def scaled_by(x: tandem.Tensor, factor: float = 2.0, *, shift: float = 0.0) -> tandem.Tensor:
    return x * factor + shift


def keep_factor(ctx, inputs, output, keyword_only_inputs):
    ctx.factor = inputs[1]


scaled_by.register_autograd(lambda ctx, g: (g * ctx.factor, None), setup_context=keep_factor)


@pytest.mark.parametrize("arguments", [((), {}), ((3.0,), {}), ((), {"factor": 3.0, "shift": 1.0})])
def test_steps_through_custom_operations(arguments):
    args, kwargs = arguments
    assert_eagers(lambda: step_through(lambda x, w: x * scaled_by(w, *args, **kwargs)), True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tandem.from_numpy(x.detach().numpy() + 1),
        lambda x: x + 1 if x.sum() < 100 else x - 1,
        lambda x: [print(end=""), x + 1][1],
    ],
)
def test_whole_traces_do_not_look_into_custom_operations(function):
    said = tandem.library.custom_op("tests::opaque", function, mutates_args=(), schema="(Tensor x) -> Tensor")
    said.register_autograd(lambda ctx, g: g * 3)

    @tandem.compile(fullgraph=True)
    def whole(x):
        return said(x * 2) * 2

    for size in (3, 3, 3, 4):
        x = tandem.arange(float(size)).requires_grad_()
        y = whole(x)
        y.sum().backward()
        assert y.tolist() == (4 * x.detach() + 2).tolist() and x.grad.tolist() == [12] * size
    with pytest.raises(RuntimeError, match="fullgraph"):
        tandem.compile(function, fullgraph=True)(tandem.ones(1))


def test_arguments_of_custom_operations():
    for args, kwargs in (((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"other": 2})):
        with pytest.raises(RuntimeError, match="tests::scaled"):
            scaled_by(*args, **kwargs)


@pytest.mark.parametrize("cut", [lambda t: t.mul_(2), lambda t: t.copy_(tandem.ones(3))])
def test_an_outer_tensor_that_is_detached_in_place(cut):
    """And gets another history at each call, which later ones find."""

    def make():
        w, state = nn.Parameter(tandem.ones(3)), tandem.ones(3)

        def step(x):
            state.detach_()
            cut(state).add_(w * x)
            return state.detach() * 1

        def seen():
            w.grad = None
            state.sum().backward()
            return w.grad.tolist()

        return step, seen

    assert_eagers(make, False)


def test_own_tensors_are_detached_in_place():
    def detached(x, w):
        hidden = (x * w).tanh()
        hidden.detach_()
        return hidden * w

    assert_eagers(lambda: step_through(detached), True)


class Reverse(tandem.autograd.Function):
    """The gradient is turned round, as where two networks work against each other."""

    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.strength * g, None


def test_saved_steps_through_functions_and_hooks():
    tandem.manual_seed(0)
    net, judge = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), nn.Linear(4, 2)
    optimizer = tandem.optim.Adam([*net.parameters(), *judge.parameters()], lr=0.01)
    target = tandem.tensor([0, 1, 0, 1, 1])

    def step(x, strength):
        optimizer.zero_grad()
        hidden = net(x)
        hidden.register_hook(lambda g: g.clamp(-0.1, 0.1))
        loss = F.cross_entropy(judge(Reverse.apply(scaled_by(hidden), strength)), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    x = tandem.randn(5, 3)
    step(x, 0.1)
    program = tandem.export.training_step(step, (x, 0.1))
    for k in range(4):
        x, strength = tandem.randn(5, 3), 0.1 * k
        assert program(x, strength).tolist() == step(x, strength).tolist()


# ---- histories that a body leaves -----------------------------------------------------------------------------------


def keeps(**attributes):
    """A forward that keeps these in its context."""

    def forward(ctx, x, number):
        for name, value in attributes.items():
            setattr(ctx, name, value(x, number) if callable(value) else value)
        ctx.save_for_backward(x)
        return x * number

    return forward


def counts_up(ctx, g):
    ctx.n += 1
    return g * ctx.n, None


def cubes(ctx, g):
    (x,) = ctx.saved_tensors
    return g * 3 * x * x, None


HISTORIES = {
    "saved": (keeps(), cubes, True),
    "a text and a flag": (
        keeps(kind="twice", on=True),
        lambda ctx, g: (g * 2 if ctx.on and ctx.kind == "twice" else g, None),
        True,
    ),
    "a shape, a dtype, a device": (
        keeps(like=lambda x, _: (x.shape, x.dtype, x.device)),
        lambda ctx, g: (g + tandem.ones(ctx.like[0], dtype=ctx.like[1], device=ctx.like[2]), None),
        True,
    ),
    "a number of its own": (keeps(n=1), counts_up, True),
    "a number of the call": (
        keeps(number=lambda _, number: number),
        lambda ctx, g: (g * ctx.number, None),
        None,  # a plan for each number
    ),
    "a list": (keeps(n=lambda *_: [1]), lambda ctx, g: (g * len(ctx.n), ctx.n.append(1)), False),
    "a tensor": (keeps(y=lambda x, _: x * 5), lambda ctx, g: (g * ctx.y, None), False),
    "a function": (keeps(f=lambda x, _: lambda g: g * x), lambda ctx, g: (ctx.f(g), None), False),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_functions_in_the_history_of_results(name):
    forward, backward, plan = HISTORIES[name]
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    own = type("Own", (tandem.autograd.Function,), members)

    def f(x, number):
        return own.apply(x.sin(), number) * 2

    compiled, numbers = tandem.compile(f), (1.5, 1.5, 2.5, 3.5, 2.5)
    for number in numbers:
        found = []
        for call in (f, compiled):
            x = (tandem.arange(3.0) + number).requires_grad_()
            y = call(x, number)
            y.sum().backward(retain_graph=True)
            y.sum().backward()
            found.append((y.tolist(), x.grad.tolist()))
        assert found[0] == found[1]
    if not CHECKED and plan is not None:
        assert (compiled.runs <= 2) is plan


@pytest.mark.parametrize("when", ["before the call", "between call and backward"])
def test_a_backward_that_is_replaced(when):
    product = function()
    original = product.backward
    compiled = tandem.compile(lambda x, w: product.apply(x * 1, w))
    for k in range(5):
        found = []
        for call in (lambda x, w: product.apply(x * 1, w), compiled):
            product.backward = staticmethod(original if k < 3 else lambda ctx, g: (g * 7, g))
            x, w = (tandem.arange(3.0) + k).requires_grad_(), tandem.ones(3, requires_grad=True)
            y = call(x, w)
            if when == "between call and backward":
                product.backward = staticmethod(lambda ctx, g: (g * 100, g))
            y.sum().backward()
            found.append((y.tolist(), x.grad.tolist(), w.grad.tolist()))
        assert found[0] == found[1]


def test_steps_outside_of_a_network_that_rounds():
    """Its derivative passes the rounding as if it were not there."""

    class Rounded(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x, steps):
            return (x * steps).round() / steps

        @staticmethod
        def backward(ctx, g):
            return g, None

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.last(Rounded.apply(self.first(x).tanh(), 4))

    losses = []
    for wrap in (lambda m: m, tandem.compile):
        tandem.manual_seed(0)
        net = Net()
        model, optimizer = wrap(net), tandem.optim.Adam(net.parameters(), lr=0.05)
        for _ in range(6):
            optimizer.zero_grad()
            loss = model(tandem.randn(5, 3)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:6] == losses[6:]
