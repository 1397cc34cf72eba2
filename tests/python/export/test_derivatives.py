"""Saved programs of functions that take derivatives themselves: potentials with forces, residuals of equations."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import pytest
from exporting import TARGET, Jobs, raw, same

import tandem
from tandem import nn
from tandem.autograd import grad
from tandem.export import Dim, Entry, entries, export, training_step


class Potential(nn.Module):
    """Atoms that pairs of neighbours bind: an energy, and by `forward` the forces too."""

    def __init__(self):
        super().__init__()
        tandem.manual_seed(0)
        self.kinds = nn.Embedding(5, 8)
        self.pair = nn.Sequential(nn.Linear(9, 16), nn.SiLU(), nn.Linear(16, 1))

    def energy(self, kinds, places, pairs):
        distance = (places[pairs[0]] - places[pairs[1]]).square().sum(-1, keepdim=True).sqrt()
        return self.pair(tandem.cat([self.kinds(kinds)[pairs[0]], distance], -1)).sum()

    def forward(self, kinds, places, pairs):
        places.requires_grad_(True)
        energy = self.energy(kinds, places, pairs)
        (slope,) = grad(energy, places, create_graph=self.training)
        return {"energy": energy, "forces": -slope}


def atoms(count=4, bonds=5):
    kinds = tandem.arange(count) % 5
    first = tandem.arange(bonds) % count
    return kinds, tandem.randn(count, 3), tandem.stack([first, (first + 1) % count])


@pytest.mark.parametrize("training", [False, True])
def test_forces(training, tmp_path):
    model = Potential().train(training)
    program = export(model, atoms(), targets=[TARGET])
    jobs = Jobs(tmp_path)
    for _ in range(3):
        kinds, places, pairs = atoms()
        expected = model(kinds, places.clone(), pairs)
        found = program(kinds, places, pairs)
        for key, value in found.items():
            assert not value.requires_grad
            assert same(raw(value), raw(expected[key]))
        assert not places.requires_grad
        jobs.add(program, "forward", [kinds, places, pairs], list(found.values()))
    assert all(p.grad is None for p in model.parameters())
    assert program.graph_signature.parameters
    assert jobs.run() == []


def test_sizes(tmp_path):
    model = Potential().eval()
    n, e = Dim("n", min=2, max=6), Dim("e", max=7)
    program = export(model, atoms(), dynamic_shapes=({0: n}, {0: n}, {1: e}), targets=[TARGET])
    jobs = Jobs(tmp_path)
    for count, bonds in ((2, 1), (6, 7), (4, 5), (3, 7)):
        arguments = atoms(count, bonds)
        found = program(*arguments)
        kinds, places, pairs = arguments
        expected = model(kinds, places.clone(), pairs)
        assert all(same(raw(value), raw(expected[key])) for key, value in found.items())
        jobs.add(program, "forward", list(arguments), list(found.values()), sizes=(count, bonds))
    assert jobs.run() == []


def residual(net, x):
    u = net(x)
    (du,) = grad(u.sum(), x, create_graph=True)
    (ddu,) = grad(du[:, 0].sum(), x, create_graph=True)
    return u, ddu[:, :1] - u * du[:, 1:]


def flagged(net, x):
    return residual(net, x.requires_grad_())


def detached(net, x):
    return residual(net, x.detach().requires_grad_())


def cloned(net, x):
    return residual(net, x.clone().requires_grad_())


def turned_on(net, x):
    with tandem.enable_grad():
        return residual(net, x.detach().requires_grad_())


def columns(net, x):
    parts = [x[:, k : k + 1].requires_grad_() for k in range(2)]
    u = net(tandem.cat(parts, 1))
    return u, *grad(u.sum(), parts, create_graph=True)


@pytest.mark.parametrize("body", [flagged, detached, cloned, turned_on, columns], ids=lambda body: body.__name__)
def test_residuals(body, tmp_path):
    tandem.manual_seed(1)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    program = export(lambda x: body(net, x), (tandem.randn(3, 2),), targets=[TARGET])
    jobs = Jobs(tmp_path)
    for _ in range(2):
        x = tandem.randn(3, 2)
        found = program(x)
        for one, other in zip(found, body(net, x.clone()), strict=True):
            assert same(raw(one), raw(other))
        jobs.add(program, "forward", [x], list(found))
    assert jobs.run() == []


@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("body", [flagged, detached, cloned, columns], ids=lambda body: body.__name__)
def test_steps_on_residuals(body, sized):
    """A whole step: `backward` passes the points too, which get a gradient that is no one's."""

    def make():
        tandem.manual_seed(1)
        net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = tandem.optim.Adam(net.parameters(), lr=0.01)

        def step(x):
            optimizer.zero_grad()
            loss = sum(part.square().mean() for part in body(net, x))
            loss.backward()
            optimizer.step()
            return loss.detach()

        step(tandem.ones(3, 2))
        return net, step

    net, step = make()
    program = training_step(
        make()[1],
        (tandem.randn(3, 2),),
        dynamic_shapes=({0: Dim("n", min=2, max=9)},) if sized else None,
        targets=[TARGET],
    )
    for count in (3, 5, 4, 3) if sized else (3, 3, 3):
        x = tandem.randn(count, 2)
        found = program(x)
        assert same(raw(found), raw(step(x.clone())))
        assert x.grad is None and not x.requires_grad
    for name, value in net.state_dict().items():
        assert same(raw(program.state_dict[name]), raw(value))


def test_gradients_of_arguments():
    """They come with none, whatever the example had, which keeps its own."""

    def slopes(x):
        x.requires_grad_()
        (x * x * x).sum().backward()
        return x.grad * 1

    example = tandem.randn(3, requires_grad=True)
    example.grad = tandem.ones(3)
    program = export(slopes, (example,), targets=[TARGET])
    assert example.grad.tolist() == [1, 1, 1]
    for _ in range(2):
        assert program(tandem.tensor([1.0, 2.0, 3.0])).tolist() == [3, 12, 27]


def test_an_example_that_requires_grad():
    net = nn.Linear(2, 1)
    x = tandem.randn(3, 2, requires_grad=True)
    program = export(lambda x: grad(net(x).square().sum(), x)[0], (x,))
    other = tandem.randn(3, 2)
    assert same(raw(program(other)), raw(grad(net(other.requires_grad_()).square().sum(), other)[0]))


@pytest.mark.parametrize("training", [False, True])
def test_containers_of_results(training):
    """They stay what they are, with and without a history in them."""
    Pair = namedtuple("Pair", "left right")
    weight = nn.Parameter(tandem.tensor([2.0, 3.0]))

    def f(x):
        y = x * weight
        return OrderedDict(y=y, best=y.max(0)), Pair(y, [weight, x]), (y, {"x": x}), x.max(0)

    x = tandem.randn(2)
    program = entries(f=Entry(f, (x,), training=training))
    found, expected = program.run("f", x), f(x)
    assert [type(part).__name__ for part in found] == [type(part).__name__ for part in expected]
    assert type(found[0]["best"]) is type(expected[0]["best"]) and type(found[1].right) is list
    for one, other in ((found[0]["y"], expected[0]["y"]), (found[1].right[0], weight), (found[3].values, x.max())):
        assert same(raw(one), raw(other)) and not one.requires_grad


def test_beside_other_entries():
    model = Potential().eval()
    arguments = atoms()
    program = entries(forces=Entry(model, arguments), energy=Entry(model.energy, arguments))
    forces = program.run("forces", *arguments)
    assert same(raw(forces["energy"]), raw(program.run("energy", *arguments)))


def test_errors_are_those_with_gradients():
    """Where a function fails without gradients, what it does with them says why it cannot be saved."""

    def decides(x):
        (slope,) = grad((x.requires_grad_() ** 2).sum(), x)
        return slope if slope.sum() > 0 else -slope

    with pytest.raises(tandem.DataReadError, match="export: forward: .*test_derivatives.py"):
        export(decides, (tandem.ones(3),))
    with pytest.raises(RuntimeError, match="does not require grad"):
        export(lambda x: grad((x * x).sum(), x)[0], (tandem.ones(3),))
    with pytest.raises(RuntimeError, match="inconsistent|mat1|shapes|size"):
        export(lambda x: x @ tandem.ones(4, 2), (tandem.ones(2, 3),))


class Spectral(nn.Module):
    """Of parameters that require grad: eager finds their values as a program does, which gives no gradients."""

    def __init__(self):
        super().__init__()
        tandem.manual_seed(1)
        self.weight = nn.Parameter(tandem.randn(7, 5))

    def forward(self, x):
        w = self.weight * x
        linalg = tandem.linalg
        return (
            linalg.svdvals(w),
            linalg.cond(w),
            linalg.matrix_norm(w, "nuc"),
            tandem.norm(w, "nuc"),
            linalg.matrix_norm(w, 2),
            linalg.eigvalsh(w.T @ w),
        )


def test_programs_give_the_singular_values_of_eager():
    module, x = Spectral(), tandem.tensor(1.3)
    program = export(module, (x,))
    for value, expected in zip(program(x), module(x), strict=True):
        assert expected.requires_grad
        assert same(raw(value), raw(expected))
