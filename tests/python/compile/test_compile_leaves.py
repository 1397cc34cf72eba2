"""Compiled bodies that make tensors require grad: arguments, windows on them, and tensors of their own. Calls run the
plan, and what they leave behind is what the body would have left."""

from __future__ import annotations

import pytest
from compiling import CHECKED, counting, picture

import tandem
from tandem import nn


@pytest.fixture
def net():
    tandem.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))


def derivatives(net, x):
    """The network, its derivative by `x`, and the first column's second one."""
    y = net(x)
    (dy,) = tandem.autograd.grad(y.sum(), x, create_graph=True)
    (ddy,) = tandem.autograd.grad(dy[:, 0].sum(), x, create_graph=True)
    return y, dy, ddy


def made_leaf(net, x):
    x.requires_grad_()
    return derivatives(net, x)


def flag_assigned(net, x):
    x.requires_grad = True
    return derivatives(net, x)


def shape_asked_first(net, x):
    assert x.shape[-1] == 2 and x.dtype == tandem.float32 and isinstance(x, tandem.Tensor)
    return derivatives(net, x.requires_grad_(True))


def in_a_container(net, x):
    batch = {"inputs": (x, 1)}
    for value in batch.values():
        value[0].requires_grad_()
    return derivatives(net, batch["inputs"][0])


def detached(net, x):
    return derivatives(net, x.detach().requires_grad_())


def detached_and_given(net, x):
    own = x.detach().requires_grad_()
    return (*derivatives(net, own), own)


def cloned(net, x):
    return derivatives(net, x.clone().requires_grad_())


def cloned_and_given(net, x):
    own = x.clone().requires_grad_()
    return (*derivatives(net, own), own)


def columns(net, x):
    a, b = x[:, 0:1].requires_grad_(), x[:, 1:2].requires_grad_()
    y = net(tandem.cat([a, b], 1))
    (da,) = tandem.autograd.grad(y.sum(), a, create_graph=True)
    (dda,) = tandem.autograd.grad(da.sum(), a, create_graph=True)
    (dab,) = tandem.autograd.grad(da.sum(), b, create_graph=True)
    return y, da, dda, dab


def copied_columns(net, x):
    parts = [x[:, i : i + 1].clone().detach().requires_grad_(True) for i in range(2)]
    y = net(tandem.cat(parts, 1))
    return y, *tandem.autograd.grad(y.sum(), parts, create_graph=True)


def made_of_nothing(net, x):
    shift = tandem.zeros_like(x, requires_grad=True)
    y = net(x + shift)
    return y, *tandem.autograd.grad(y.sum(), shift, create_graph=True)


def grid(net, x):
    t = tandem.linspace(0, 1, len(x)).unsqueeze(1).requires_grad_()
    y = net(tandem.cat([t, x[:, :1]], 1))
    return y, *tandem.autograd.grad(y.sum(), t, create_graph=True)


def drawn(net, x):
    noise = tandem.randn(len(x), 2).requires_grad_()
    y = net(x + noise)
    return y, *tandem.autograd.grad(y.sum(), noise, create_graph=True), noise


def with_gradients_on(net, x):
    with tandem.no_grad():
        scaled = x * 2
        with tandem.enable_grad():
            return derivatives(net, scaled.requires_grad_())


def of_a_parameter(net, x):
    own = net[0].weight.detach().requires_grad_()
    y = (x @ own.t()).tanh().sum()
    return y, *tandem.autograd.grad(y, own, create_graph=True), own


BODIES = [
    made_leaf,
    flag_assigned,
    shape_asked_first,
    in_a_container,
    detached,
    detached_and_given,
    cloned,
    cloned_and_given,
    columns,
    copied_columns,
    made_of_nothing,
    grid,
    drawn,
    with_gradients_on,
    of_a_parameter,
]


def used(body, net, call, seed, given):
    """What a call gives, is told of it, and leaves: gradients of everything by everything that can be had."""
    tandem.manual_seed(seed)
    x = tandem.randn(5, 2)
    if given == "requires grad":
        x.requires_grad_()
    net.zero_grad()
    results = call(net, x)
    seen = [picture(t) for t in results]
    seen += [(t.is_leaf, t.requires_grad, t.grad_fn is None) for t in (*results, x)]
    loss = sum((t * t).sum() * k for k, t in enumerate(results, 1))
    if results[-1].is_leaf and results[-1].requires_grad:
        own = tandem.autograd.grad(results[0].sum(), results[-1], create_graph=True)
        seen.append(picture(own))
    loss.backward()
    seen += [picture(p.grad) for p in (*net.parameters(), x)]
    seen += [picture(t.grad) for t in results if t.is_leaf]
    return seen, x._version


@pytest.mark.parametrize("given", ["plain", "requires grad"])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_the_plan_leaves_what_the_body_leaves(body, given, net):
    compiled = counting(body)
    for seed in range(4):
        assert used(body, net, compiled, seed, given) == used(body, net, body, seed, given)
    assert CHECKED or compiled.runs == 1, compiled.compiled.explain(net, tandem.randn(5, 2))


def test_arguments_of_both_kinds_share_the_plan(net):
    compiled = counting(made_leaf)
    x = tandem.randn(5, 2)
    first = compiled(net, x)
    assert x.requires_grad
    assert picture(compiled(net, x)) == picture(first)  # it requires grad now
    assert picture(compiled(net, x.detach())) == picture(first)
    assert CHECKED or compiled.runs == 1


def test_one_of_two(net):
    def body(x, t):
        t.requires_grad_()
        y = net(tandem.cat([x[:, :1], t], 1))
        return y, *tandem.autograd.grad(y.sum(), t, create_graph=True)

    compiled = counting(body)
    for seed in range(3):
        tandem.manual_seed(seed)
        x, t = tandem.randn(5, 2), tandem.randn(5, 1)
        a, b = compiled(x, t), body(x, t.detach())
        assert picture(a) == picture(b)
        assert (x.requires_grad, t.requires_grad) == (False, True)
    assert CHECKED or compiled.runs == 1


def test_whole_step(net):
    """Collocation points that are new at each step, as physics-informed networks draw them."""

    def step(optimizer, x):
        optimizer.zero_grad()
        y, dy, ddy = made_leaf(net, x)
        loss = (ddy[:, 0] + y[:, 0]).square().mean() + dy.square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach(), x.grad

    def train(step):
        tandem.manual_seed(3)
        for layer in net:
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()
        optimizer = tandem.optim.Adam(net.parameters(), lr=0.01)
        net.zero_grad()
        found = [picture(step(optimizer, tandem.randn(5, 2))) for _ in range(6)]
        return found, picture(list(net.parameters()))

    compiled = counting(step)
    assert train(compiled) == train(step)
    assert CHECKED or compiled.runs <= 3  # the first makes the optimizer's state


# What the flag decides must not have been asked before it is set: then the call is another one than with an argument
# that requires grad already, and the body runs.


def product_before(x):
    y = x * 2
    x.requires_grad_()
    return tandem.autograd.grad((y * x).sum(), x, create_graph=True)[0]


def view_before(x):
    row = x[0]
    x.requires_grad_()
    return tandem.autograd.grad((row * x).sum(), x, create_graph=True)[0]


def asked_before(x):
    plain = not x.requires_grad
    x.requires_grad_()
    return (x * x).sum() * (2 if plain else 3)


def leaf_asked_before(x):
    rows = list(x)
    x.requires_grad_()
    return sum((row * x).sum() for row in rows)


def in_a_list_before(x):
    y = tandem.stack([x, x])
    x.requires_grad_()
    return tandem.autograd.grad((y * x).sum(), x, create_graph=True)[0]


def transposed_before(x):
    y = x.T
    x.requires_grad_()
    return tandem.autograd.grad((y @ x).sum(), x, create_graph=True)[0]


def written_before(x):
    x.mul_(2)
    x.requires_grad_()
    return x * x


def assigned_before(x):
    x[0] = 1
    x.requires_grad_()
    return x * x


def turned_off_again(x):
    x.requires_grad_()
    y = x * x
    x.requires_grad_(False)
    return y


def gradient_asked_before(x):
    had = x.grad is None
    x.requires_grad_()
    return x * (1 if had else 2)


def compared_before(x):
    y = x == x
    x.requires_grad_()
    return x * y


@pytest.mark.parametrize(
    "body",
    [
        product_before,
        view_before,
        asked_before,
        leaf_asked_before,
        in_a_list_before,
        transposed_before,
        written_before,
        assigned_before,
        turned_off_again,
        gradient_asked_before,
        compared_before,
    ],
    ids=lambda body: body.__name__,
)
def test_what_was_asked_before_counts(body):
    compiled = counting(body)
    for k in range(4):
        x = tandem.arange(6.0).reshape(2, 3) + k
        other = x.clone()
        if k == 2:  # an argument that requires grad already is another call
            x, other = x.requires_grad_(), other.requires_grad_()
        results = []
        for call, argument in ((compiled, x), (body, other)):
            try:
                results.append((picture(call(argument)), argument.requires_grad))
            except RuntimeError as error:
                results.append((str(error), argument.requires_grad))
        assert results[0] == results[1]


def test_a_branch_that_makes_no_leaf(net):
    """The entry of one branch does not stand for the other."""

    class Energy(nn.Module):
        def __init__(self):
            super().__init__()
            self.forces = True

        def forward(self, x):
            if self.forces:
                x.requires_grad_()
            y = net(x).sum()
            return tandem.autograd.grad(y, x, create_graph=True)[0] if self.forces else y

    energy = Energy()
    compiled = counting(energy)
    for forces in (True, False, True, True, False, False):
        energy.forces = forces
        x = tandem.randn(3, 2)
        other = x.clone()
        assert picture(compiled(x)) == picture(energy(other))
        assert x.requires_grad == other.requires_grad == forces


def test_a_failing_call_leaves_what_the_body_leaves():
    def body(x, index):
        x.requires_grad_()
        return x[index] * x[index]

    compiled = counting(body)
    for index in (0, 1, 9, 2):
        x = tandem.arange(4.0)
        other = x.clone()
        outcomes = []
        for call, argument in ((compiled, x), (body, other)):
            try:
                outcomes.append(picture(call(argument, tandem.tensor([index]))))
            except IndexError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        assert x.requires_grad and other.requires_grad


def test_integers_are_refused_as_by_the_body():
    compiled = counting(lambda x: x.requires_grad_() * 2)
    compiled(tandem.ones(3))
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        compiled(tandem.ones(3, dtype=tandem.int64))


def test_captured_tensors_are_no_leaves_of_the_body():
    """A captured tensor that a body makes require grad is found by others."""
    weight = tandem.ones(3)

    def body(x):
        weight.requires_grad_()
        return (weight * x).sum()

    compiled = counting(body)
    for k in range(3):
        compiled(tandem.ones(3) * k).backward()
    assert weight.grad.tolist() == [3, 3, 3]


def test_hooks_on_tensors_of_the_body(net):
    """A hook is somebody else's code: the body runs on every call."""
    seen = []

    def body(x):
        own = x.detach().requires_grad_()
        own.register_hook(lambda gradient: seen.append(gradient.sum()))
        return net(own).sum()

    compiled = counting(body)
    for _ in range(3):
        compiled(tandem.ones(2, 2)).backward()
    assert len(seen) == 3
