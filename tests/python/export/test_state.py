"""The state of saved programs: where it is found, that exporting leaves it as it was, and copies of it."""

from __future__ import annotations

import copy
import functools
import pickle
import sys
import time

import pytest
from conftest import assert_same_bits
from exporting import TARGET

import tandem
from tandem import nn
from tandem.export import Dim, Entry, entries, export, training_step


class Cache(nn.Module):
    """Keeps what it was given in tensors that are no buffers."""

    def __init__(self):
        super().__init__()
        self.rows, self.place = tandem.zeros(4, 3), tandem.zeros(1, dtype=tandem.int64)
        self.inner = nn.Module()
        self.inner.sums = [tandem.zeros(3), {"last": tandem.zeros(3)}]

    def forward(self, x):
        self.rows.index_copy_(0, self.place, x.view(1, 3))
        self.place.add_(1)
        self.inner.sums[0].add_(x)
        self.inner.sums[1]["last"].copy_(x)
        return self.rows.sum(0), self.inner.sums[1]["last"] * 2


class Slots:
    """Is called, and has no dict."""

    __slots__ = ("factor", "total")

    def __init__(self):
        self.factor, self.total = tandem.tensor(3.0), tandem.zeros(3)

    def __call__(self, x):
        self.total.add_(x * self.factor)
        return self.total * 2


def without_a_name():
    """A function that uses a tensor to which no name leads."""
    hidden = {"total": tandem.zeros(3)}

    class Finds:
        def __init__(self):
            self.find = lambda: hidden["total"]

    finds = Finds()
    return (lambda x: finds.find().add_(x) * 1), hidden["total"]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("make", "names"),
    [
        (Cache, ["inner.sums.0", "inner.sums.1.last", "place", "rows"]),
        (Slots, ["self.factor", "self.total"]),
        (lambda: without_a_name()[0], ["state.0"]),
    ],
)
def test_tensors_that_are_no_buffers(make, names, training):
    """They are state that begins as it was before the function was traced."""
    model = make()
    program = entries(forward=Entry(model, (tandem.ones(3),), training=training), targets=[TARGET])
    assert sorted(program.state_dict) == names
    assert all(not t.any() for name, t in program.state_dict.items() if name != "self.factor")
    for _ in range(3):
        x = tandem.randn(3)
        for got, expected in zip(program(x), model(x), strict=True):
            assert_same_bits(got, expected)


def test_exporting_leaves_what_no_name_leads_to():
    function, total = without_a_name()
    export(function, (tandem.ones(3),), targets=[TARGET])
    assert total.tolist() == [0, 0, 0]


def a_step(x, net, optimizer):
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()


net_outside = nn.Linear(3, 2)
momentum_outside = tandem.optim.SGD(net_outside.parameters(), lr=0.1, momentum=0.9)


class StepsOutside:
    def __call__(self, x):
        a_step(x, net_outside, momentum_outside)


def step_inside(x):
    def take():
        a_step(x, net_outside, momentum_outside)

    take()


def steps_that_hold(net, optimizer):
    """Name -> a step that finds them in the way which the name says, and what it calls the optimizer."""

    def default(x, net=net, momentum=optimizer):
        a_step(x, net, momentum)

    def keyword(x, *, net=net, momentum=optimizer):
        a_step(x, net, momentum)

    class Trainer:
        def __init__(self):
            self.net, self.momentum = net, optimizer

        def step(self, x):
            a_step(x, self.net, self.momentum)

    held = {"net": net, "momentum": optimizer}
    return {
        "default": (default, "momentum"),
        "keyword": (keyword, "momentum"),
        "outer variable": (lambda x: a_step(x, net, optimizer), "optimizer"),
        "dict": (lambda x: a_step(x, held["net"], held["momentum"]), "held.momentum"),
        "object": (Trainer().step, "self.momentum"),
        "bound": (functools.partial(a_step, net=net, optimizer=optimizer), "optimizer"),
        "global of a call": (StepsOutside(), "momentum_outside"),
        "global of an inner function": (step_inside, "momentum_outside"),
    }


@pytest.mark.parametrize("how", steps_that_hold(None, None))
def test_names_of_what_a_step_holds(how):
    net = nn.Linear(3, 2)
    optimizer = tandem.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    step, name = steps_that_hold(net, optimizer)[how]
    step(tandem.ones(4, 3))
    program = training_step(step, (tandem.ones(4, 3),), targets=[TARGET])
    parameters = ["weight", "bias"]
    assert sorted(program.state_dict) == sorted(parameters + [f"{name}.{p}.momentum_buffer" for p in parameters])


class Counts(nn.Module):
    """Assigns what `+=` gives."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", tandem.zeros(3))
        self.register_buffer("calls", tandem.tensor(0))
        self.plain, self.several, self.named = tandem.zeros(2), [tandem.zeros(1)], {"a": tandem.ones(1)}

    def forward(self, x):
        self.total += x
        self.calls += 1
        self.plain += 1
        self.several[0] += 1
        self.named["a"] *= 2
        return self.total * self.calls, self.plain + self.several[0], self.named["a"] + 0


def test_modules_in_a_list():
    """Which PyTorch does not find either; a program has to."""

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.BatchNorm1d(3), nn.Sequential(nn.Linear(3, 2))]
            self.back = [self]  # a circle
            for _ in range(3000):
                self.back = [self.back]

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    model = Layers()
    program = export(model, (tandem.randn(4, 3),), targets=[TARGET])
    assert model.layers[0].num_batches_tracked.item() == 0
    assert {"layers.0.running_mean", "layers.1.0.weight"} < set(program.state_dict)
    for _ in range(2):
        x = tandem.randn(4, 3)
        assert_same_bits(program(x), model(x))


def test_assignments_of_what_is_there():
    model, eager = Counts(), Counts()
    program = export(model, (tandem.ones(3),), targets=[TARGET])
    compiled = tandem.compile(model)
    for _ in range(3):
        x = tandem.randn(3)
        expected = eager(x)
        for found in (program(x), compiled(x)):
            for got, want in zip(found, expected, strict=True):
                assert_same_bits(got, want)
    # Another tensor in that place is another one for later calls, too.
    for counts in (model, eager):
        counts.named["a"] = tandem.tensor([5.0])
        counts.total = tandem.ones(3)
    for _ in range(2):
        for got, want in zip(compiled(x), eager(x), strict=True):
            assert_same_bits(got, want)


def test_averages_of_a_state_dict():
    net = nn.Linear(3, 2)
    average = {name: value.clone() for name, value in net.state_dict().items()}
    optimizer = tandem.optim.SGD(net.parameters(), lr=0.5)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        for name, value in net.state_dict().items():
            average[name].lerp_(value, 0.25)
        return loss

    program = training_step(step, (tandem.ones(2, 3),), targets=[TARGET])
    for _ in range(3):
        x = tandem.randn(2, 3)
        assert_same_bits(program.run("step", x), step(x))
    for name, value in average.items():
        assert_same_bits(program.state_dict[f"average.{name}"], value)


def fails(x):
    raise KeyError("own")


@pytest.mark.parametrize(
    ("end", "error", "text"),
    [
        (fails, KeyError, "own"),
        (lambda x: x if x.sum() > 0 else -x, tandem.DataReadError, r"forward: .*test_state.py:\d+: the value of"),
        (lambda x: x * time.time(), RuntimeError, "cannot be saved: .*a call of time.time"),
        (lambda x: x[x > 0], NotImplementedError, "size depends on data"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("sized", [False, True])
def test_a_failed_export_leaves_everything(end, error, text, training, sized):
    norm, plain = nn.BatchNorm1d(3), nn.Module()
    plain.kept = tandem.zeros(3)
    before = copy.deepcopy(norm.state_dict())
    x = tandem.randn(4, 3)
    generator = tandem.get_rng_state()

    def f(x):
        plain.kept.add_(1)
        return end(nn.functional.dropout(norm(x)))

    spec = ({0: Dim("n", min=2, max=5)},) if sized else None
    with pytest.raises(error, match=text):
        entries(forward=Entry(f, (x,), training=training, dynamic_shapes=spec), targets=[TARGET])
    for name, value in norm.state_dict().items():
        assert_same_bits(value, before[name])
    assert not plain.kept.any() and norm.weight.grad is None
    assert bool((tandem.get_rng_state() == generator).all())


def test_modules_that_the_function_imports(tmp_path, monkeypatch):
    """Those that it is the first to import, too: the function is traced again."""
    (tmp_path / "made_for_a_test.py").write_text("def twice(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    state = tandem.zeros(2)

    def f(x):
        import made_for_a_test

        return made_for_a_test.twice(state.add_(x))

    program = export(f, (tandem.ones(2),), targets=[TARGET])
    assert "made_for_a_test" in sys.modules and not state.any()
    assert program(tandem.ones(2)).tolist() == [2, 2]


def test_abstract_classes():
    from collections.abc import Callable, Mapping, Sequence

    def f(x):
        kinds = [
            isinstance([x], Sequence),
            isinstance(x, (Mapping, str)),
            isinstance({}, Mapping),
            isinstance(f, Callable),
        ]
        return x * sum(kinds)

    x = tandem.randn(3)
    assert_same_bits(export(f, (x,), targets=[TARGET])(x), f(x))


COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda o: pickle.loads(pickle.dumps(o))}


@pytest.mark.parametrize("how", COPIES)
def test_copies_have_the_present_state(how):
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5), nn.Linear(3, 2))
    program = export(net, (tandem.ones(4, 3),), targets=[TARGET])
    x = tandem.randn(4, 3)
    program(x)
    for made in (COPIES[how](program), COPIES[how](program.module())):
        fork = copy.deepcopy(program)
        for _ in range(2):
            assert_same_bits(made(x), fork(x))
    assert program.state_dict["0.num_batches_tracked"].item() == 1
    program(x)
    assert fork.state_dict["0.num_batches_tracked"].item() == 3


def test_tensors_that_have_elements_more_than_once():
    """An expanded tensor cannot be written to; exporting puts its memory back as well."""
    memory = tandem.ones(2)
    wide, windows = memory[:1].expand(3), tandem.arange(6.0).unfold(0, 3, 1)

    def f(x):
        memory.mul_(2)
        return wide * x, windows.sum(1)

    program = export(f, (tandem.ones(3),), targets=[TARGET])
    assert memory.tolist() == [1, 1]
    for _ in range(2):
        for got, expected in zip(program(tandem.ones(3)), f(tandem.ones(3)), strict=True):
            assert_same_bits(got, expected)


def test_lazy_modules():
    model = nn.Sequential(nn.LazyLinear(2))
    with pytest.raises(RuntimeError, match="export: 0.weight is not initialized: call its module once before"):
        export(model, (tandem.ones(1, 3),), targets=[TARGET])
    model(tandem.ones(1, 3))
    assert_same_bits(export(model, (tandem.ones(1, 3),), targets=[TARGET])(tandem.ones(1, 3)), model(tandem.ones(1, 3)))


def test_programs_inside_of_transforms():
    """They run in lazy blocks and compiled functions, and are refused under vmap."""
    model = nn.Linear(3, 2)
    program = export(model, (tandem.ones(2, 3),), targets=[TARGET])
    x = tandem.randn(2, 3)
    expected = model(x * 2) + 1
    with tandem.lazy():
        lazy = program(x * 2) + 1
    compiled = tandem.compile(lambda x: program.module()(x * 2) + 1)
    for got in (lazy, compiled(x), compiled(x)):
        assert_same_bits(got, expected)
    with pytest.raises(NotImplementedError, match="forward: a saved program has no batching rule"):
        tandem.vmap(program)(tandem.ones(4, 2, 3))


def test_seeds_are_those_of_manual_seed():
    program = export(lambda: tandem.rand(4), targets=[TARGET])
    for seed in (-1, 2**63, 2**64 - 1):
        tandem.manual_seed(seed)
        program.manual_seed(seed)
        assert_same_bits(program(), tandem.rand(4))
    with pytest.raises(RuntimeError, match="64 bits"):
        program.manual_seed(2**64)


def test_modules_of_programs_that_are_changed():
    """What a program does not see is an error, and no result of the weights that were there."""
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    x = tandem.randn(4, 3)
    module = export(model, (x,), targets=[TARGET]).module()
    module(x)
    module.load_state_dict(module.state_dict())
    module(x)
    module.get_buffer("1.running_mean").zero_()  # the program's own memory
    assert not module._exported.state_dict["1.running_mean"].any()
    module(x)
    outer = nn.Sequential(module, nn.ReLU())
    other = {name: value + 1 for name, value in outer.state_dict().items() if value.is_floating_point()}
    outer.load_state_dict(other, strict=False)
    with pytest.raises(
        RuntimeError, match="0.weight of a saved program's module was changed, .*export the model again"
    ):
        outer(x)
    module = export(model, (x,), targets=[TARGET]).module()
    module.get_submodule("1").running_var += 1
    assert_same_bits(module._exported.state_dict["1.running_var"], model[1].running_var + 1)
    for name, value in (("running_var", tandem.ones(3)), ("weight", nn.Parameter(tandem.ones(3))), ("bias", None)):
        with pytest.raises(RuntimeError, match=f"{name} of a saved program's module cannot be replaced: change it in"):
            setattr(module.get_submodule("1"), name, value)
    with pytest.raises(NotImplementedError, match="0.weight is tandem.float32, and cannot become tandem.float16"):
        nn.Sequential(export(model, (x,), targets=[TARGET]).module()).half()
    assert module.to("cpu").float() is module


@pytest.mark.parametrize("warm", [0, 2])
def test_averages_of_the_model(warm):
    """A step that averages its model begins with the first or with a later one."""
    tandem.manual_seed(0)
    net = nn.Linear(3, 2)
    average = tandem.optim.swa_utils.AveragedModel(net)
    optimizer = tandem.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        average.update_parameters(net)
        return loss

    x = tandem.randn(4, 3)
    for _ in range(warm):
        step(x)
    program = training_step(step, (x,), targets=[TARGET])
    for _ in range(3):
        assert_same_bits(program.run("step", x), step(x))
    found = program.state_dict
    assert_same_bits(next(v for k, v in found.items() if k.endswith("module.weight")), average.module.weight)
    assert next(v for k, v in found.items() if k.endswith("n_averaged")).item() == warm + 3


def test_errors_say_the_way_out():
    optimizer = tandem.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    optimizer.step()
    schedule = tandem.optim.lr_scheduler.StepLR(optimizer, 1)
    counts = {"n": 0}

    def counted(x):
        counts["n"] += 1
        return x

    for f, text in (
        (lambda x: [schedule.step(), x][1], "is assigned .* is kept in a tensor, .* or changed outside"),
        (counted, "is assigned .* is kept in a tensor, .* or changed outside"),
        (lambda x: x * time.time(), "a call of time.time. Call it outside, and give the program what it returns"),
        (lambda x: x * len(open(__file__).name), "a call of .*open. Call it outside"),
    ):
        with pytest.raises(RuntimeError, match=text):
            export(f, (tandem.ones(2),))
    for f in (lambda x: x[x > 0].sum(), lambda x: x.nonzero(), lambda x: tandem.unique(x) * 2):
        line = rf"test_state.py:{f.__code__.co_firstlineno}: a size depends on data .* Use tandem.where"
        with pytest.raises(NotImplementedError, match=line):
            export(f, (tandem.ones(2),))
    with pytest.raises(TypeError, match=r"net is a Linear; .* Bind it: functools.partial\(function, net=...\)"):
        training_step(a_step, (tandem.ones(1, 2), nn.Linear(2, 1), optimizer))


def test_results_that_are_no_values_are_named():
    net = nn.Linear(2, 2)
    for given, where in ((net, "result"), ({"a": net}, "result a")):
        text = f"^export: forward: {where} is a Linear; a saved program .* dicts of them$"
        with pytest.raises(TypeError, match=text):
            tandem.export.export(lambda x, given=given: given if x is not None else x, (tandem.ones(2),))
