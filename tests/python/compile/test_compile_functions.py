"""Compiled bodies that take their gradients themselves, through Functions of the user's own, custom operations and
hooks of what they compute. Calls run the plan where nothing else sees what those did, and are eager's everywhere."""

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

    for make in (counting, kept, of_a_parameter):
        assert_eagers(make, False)


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


def test_arguments_of_custom_operations():
    for args, kwargs in (((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"other": 2})):
        with pytest.raises(TypeError):
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
