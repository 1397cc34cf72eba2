"""Programs that are exported, saved and loaded give what the function gives, bit for bit."""

from __future__ import annotations

import gc
import zipfile
from collections import OrderedDict, namedtuple

import c_programs
import pytest
from conftest import assert_same_bits
from exporting import LIBRARY, Jobs

import tandem
from tandem import nn
from tandem.export import Dim, Entry, add_target, entries, export, load, training_step, with_gradients


def saved(program, tmp_path):
    """The program, after a file."""
    path = tmp_path / "program.tandem"
    program.save(path)
    return load(path)


def network():
    tandem.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5)
    )


def test_module(tmp_path):
    model = network().eval()
    program = export(model, (tandem.randn(3, 1, 8, 8),))
    x = tandem.randn(3, 1, 8, 8)
    with tandem.no_grad():
        expected = model(x)
    for p in (program, saved(program, tmp_path), program.fork()):
        assert_same_bits(p(x), expected)
        assert p.entries == ["forward"]
        for name, value in model.state_dict().items():
            assert_same_bits(p.state_dict[name], value)
    assert_same_bits(program.module()(x), expected)
    assert [n for n, _ in program.module().named_parameters()] == [n for n, _ in model.named_parameters()]


def test_buffers_that_forward_changes(tmp_path):
    model, x = network().train(), tandem.randn(3, 1, 8, 8)
    program = export(model, (x,))
    loaded = saved(program, tmp_path)
    for _ in range(3):
        with tandem.no_grad():
            expected = model(x)
        assert_same_bits(loaded(x), expected)
    assert loaded.state_dict["1.num_batches_tracked"].item() == 3
    assert_same_bits(loaded.state_dict["1.running_var"], model[1].running_var)
    # One that was only made has the state that was exported.
    assert program.state_dict["1.num_batches_tracked"].item() == 0


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: tandem.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
        lambda p: tandem.optim.AdamW(p, lr=0.01),
        lambda p: tandem.optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.5),
        lambda p: tandem.optim.RMSprop(p, lr=0.01),
    ],
)
def test_training_step(tmp_path, optimizer):
    model = network()
    opt = optimizer(model.parameters())
    x, y = tandem.randn(6, 3, 1, 8, 8), tandem.randint(0, 5, (6, 3))

    def step(x, y):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    program = saved(training_step(step, (x[0], y[0])), tmp_path)
    assert program.numbers("step")["lr"] == opt.param_groups[0]["lr"]
    for k in range(6):
        for group in opt.param_groups:
            group["lr"] /= 2
        got = program.run("step", x[k], y[k], numbers={"lr": opt.param_groups[0]["lr"]})
        assert_same_bits(got, step(x[k], y[k]))
    state = program.state_dict
    for name, value in model.state_dict().items():
        assert_same_bits(state[name], value)
    for (name, _), values in zip(model.named_parameters(), opt.state.values(), strict=True):
        for key, value in values.items():
            if isinstance(value, tandem.Tensor):
                assert_same_bits(state[f"opt.{name}.{key}"], value)


def test_training_step_leaves_the_model(tmp_path):
    """An optimizer that has its state already: nothing is changed by exporting."""
    model = nn.Linear(3, 2)
    opt = tandem.optim.SGD(model.parameters(), lr=0.5)

    def step(x):
        loss = model(x).square().sum()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    x = tandem.ones(1, 3)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    seed = tandem.get_rng_state()
    training_step(step, (x,))
    for name, value in model.state_dict().items():
        assert_same_bits(value, before[name])
    assert model.weight.grad is None
    assert (tandem.get_rng_state() == seed).all()


ZEROING = {
    "optimizer": lambda model, opt: opt.zero_grad(),
    "module": lambda model, opt: model.zero_grad(),
    "optimizer, kept": lambda model, opt: opt.zero_grad(set_to_none=False),
    "module, kept": lambda model, opt: model.zero_grad(set_to_none=False),
    "never": lambda model, opt: None,
}


@pytest.mark.parametrize("zeroing", ZEROING)
@pytest.mark.parametrize("trained", [False, True])
def test_gradients_before_a_step(tmp_path, zeroing, trained):
    """What a step does first to gradients, with those of a step before it there or not."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.25), nn.Linear(4, 2))
    opt = tandem.optim.AdamW(model.parameters(), lr=0.1)
    x, y = tandem.randn(5, 6, 3), tandem.randint(0, 2, (5, 6))

    def step(x, y):
        ZEROING[zeroing](model, opt)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        return loss

    if trained:
        step(x[0], y[0])
    program = saved(training_step(step, (x[0], y[0])), tmp_path)
    assert ("0.weight.grad" in program.state_dict) == (zeroing in ("optimizer, kept", "module, kept", "never"))
    draws = tandem.get_rng_state()
    got = [program.run("step", x[k], y[k]) for k in range(5)]
    tandem.set_rng_state(draws)
    for k in range(5):
        assert_same_bits(got[k], step(x[k], y[k]))
    for name, value in model.state_dict().items():
        assert_same_bits(program.state_dict[name], value)


@pytest.mark.parametrize("first", ["gather", "apply"])
def test_gathered_gradients(tmp_path, first):
    """Entries that share gradients, whichever is traced first."""
    model = nn.Linear(3, 2)
    opt = tandem.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = tandem.randn(6, 4, 3)

    def gather(x):
        loss = model(x).square().mean() / 2
        loss.backward()
        return loss

    def apply():
        opt.step()
        opt.zero_grad(set_to_none=False)

    functions = {"gather": Entry(gather, (x[0],), training=True), "apply": Entry(apply, training=True)}
    names = [first, *(name for name in functions if name != first)]
    program = saved(entries(**{name: functions[name] for name in names}), tmp_path)
    for k in range(6):
        assert_same_bits(program.run("gather", x[k]), gather(x[k]))
        assert_same_bits(program.state_dict["weight.grad"], model.weight.grad)
        if k % 2 == 1:
            program.run("apply")
            apply()
    assert_same_bits(program.state_dict["weight"], model.weight)


def test_gradients_that_entries_expect():
    model = nn.Linear(3, 2)
    opt = tandem.optim.SGD(model.parameters(), lr=0.1)
    x = tandem.ones(1, 3)

    def gather():
        model(x).sum().backward()

    def forget():
        opt.step()
        opt.zero_grad()

    def whole():
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()

    def asks():
        return x if model.weight.grad is None else -x

    def replaces():
        model.weight.grad = model.weight.grad + 1 if model.weight.grad is not None else tandem.ones(2, 3)

    def refused(match, *functions):
        for order in (functions, functions[::-1]):
            model.zero_grad()
            with pytest.raises(NotImplementedError, match=match):
                entries(**{f.__name__: Entry(f, training=True) for f in order})

    refused("reads gradients that `forget` sets to None", gather, forget)
    refused("`asks` looks at the gradients it leaves", whole, asks)
    refused("a gradient that it made new", replaces)


def test_entries_share_state(tmp_path):
    model = nn.Linear(3, 1)
    opt = tandem.optim.Adam(model.parameters(), lr=0.1)

    def loss(x):
        return model(x).square().mean()

    def step(x):
        opt.zero_grad()
        value = loss(x)
        value.backward()
        opt.step()
        opt.zero_grad()
        return value

    x = tandem.randn(4, 3)
    program = saved(
        entries(forward=Entry(model, (x,)), step=Entry(step, (x,), training=True), loss=Entry(loss, (x,))), tmp_path
    )
    assert program.entries == ["forward", "step", "loss"]
    for _ in range(3):
        assert_same_bits(program.run("step", x), step(x))
        with tandem.no_grad():
            assert_same_bits(program(x), model(x))
            assert_same_bits(program.run("loss", x), loss(x))
    with zipfile.ZipFile(tmp_path / "program.tandem") as file:
        weights = file.read("weights.safetensors")
    assert weights.count(b'"weight"') == 1


def test_with_gradients(tmp_path):
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    f = with_gradients(lambda x, s: (model(x) * s).sum(), orders=3)
    x = tandem.randn(5, 2)
    program = saved(export(f, (x, 2.0)), tmp_path)
    for s in (2.0, -0.5):
        for got, expected in zip(program(x, s), f(x, s), strict=True):
            assert_same_bits(got, expected)


def test_structures_and_views(tmp_path):
    table = tandem.arange(12.0).reshape(3, 4)

    def f(batch, scale, *, flip=False):
        a, b = batch["a"], batch["b"][0]
        y = (a + b) * scale
        return {"sum": y, "turned": y.T, "part": y[1:, ::2], "given": a, "table": table, "n": 3, "none": [None, (y,)]}

    a, b = tandem.randn(3, 4), tandem.randn(4)
    program = saved(export(f, ({"a": a, "b": [b]}, 2.0), {"flip": True}), tmp_path)
    got, expected = program({"a": a, "b": [b]}, 3.0, flip=True), f({"a": a, "b": [b]}, 3.0, flip=True)
    assert list(got) == list(expected) and got["n"] == 3 and got["none"][0] is None
    for key in ("sum", "turned", "part", "given", "table"):
        assert_same_bits(got[key], expected[key])
    assert_same_bits(got["none"][1][0], expected["sum"])
    with pytest.raises(ValueError, match="traced with True where the call has False"):
        program({"a": a, "b": [b]}, 3.0, flip=False)
    with pytest.raises(TypeError, match=r"expected batch to be \{'a': _, 'b': \[_\]\}, got \{'a': _\}"):
        program({"a": a}, 3.0, flip=True)
    with pytest.raises(ValueError, match=r"expected batch.a to be float32 \[3, 4\], got float32 \[4, 4\]"):
        program({"a": tandem.zeros(4, 4), "b": [b]}, 3.0, flip=True)


def test_named_tuples(tmp_path):
    Pair = namedtuple("Pair", "left right")

    def f(p):
        return Pair(p.right, tandem.sort(p.left)), OrderedDict(b=p.left.max(0))

    p = Pair(tandem.randn(4), tandem.ones(2))
    (left, (values, indices)), other = saved(export(f, (p,)), tmp_path)(p)
    assert_same_bits(left, p.right)
    assert_same_bits(indices, tandem.sort(p.left).indices)
    got, _ = export(f, (p,))(p)
    assert got._fields == Pair._fields and type(got.right) is type(tandem.sort(p.left))
    assert isinstance(other, OrderedDict) and other["b"].values == p.left.max()
    with pytest.raises(TypeError, match=r"expected p to be Pair\(_, _\), got \(_, _\)"):
        export(f, (p,))((tandem.ones(4), tandem.ones(2)))


def test_arguments_that_change(tmp_path):
    def f(x, y):
        x.mul_(2).add_(y)
        return x.sum()

    x, y = tandem.arange(6.0).reshape(2, 3), tandem.ones(3)
    program = saved(export(f, (x, y)), tmp_path)
    assert_same_bits(x, tandem.arange(6.0).reshape(2, 3))
    mine, other = x.clone(), x.clone()
    assert_same_bits(program(mine, y), f(other, y))
    assert_same_bits(mine, other)
    with pytest.raises(ValueError, match="x is changed, and must be contiguous"):
        program(tandem.ones(3, 2).T, y)


def test_random_numbers(tmp_path):
    model = nn.Dropout(0.5)
    x = tandem.ones(100)
    tandem.manual_seed(5)
    program = saved(export(model, (x,)), tmp_path)
    for _ in range(3):
        assert_same_bits(program(x), model(x))
    program.manual_seed(9)
    tandem.manual_seed(9)
    assert_same_bits(program(x), model(x))


def test_state_of_others(tmp_path):
    """What a function changes and no module holds is state, too."""
    count = tandem.zeros(2)

    def f(x):
        count.add_(x)
        return count * 2

    program = saved(export(f, (tandem.ones(2),)), tmp_path)
    assert_same_bits(count, tandem.zeros(2))
    program(tandem.ones(2))
    assert program(tandem.ones(2)).tolist() == [4, 4]
    assert program.state_dict["count"].tolist() == [2, 2]


def test_what_no_entry_uses_is_not_kept():
    """But for parameters and buffers, which belong together."""

    class Trainer:
        def __init__(self):
            self.model = nn.ModuleDict({"used": nn.Linear(2, 2), "unused": nn.Linear(2, 2)})
            self.images = tandem.ones(1000)
            self.scale, self.both = tandem.ones(2), tandem.arange(4.0)

        def predict(self, x):
            return self.model["used"](x) * self.scale + self.both[2:]

    trainer = Trainer()
    program = export(trainer.predict, (tandem.ones(2),))
    kinds = "unused.bias unused.weight used.bias used.weight".split()
    assert sorted(program.state_dict) == sorted([*kinds, "self.scale", "self.both"])
    assert_same_bits(program(tandem.ones(2)), trainer.predict(tandem.ones(2)).detach())


def test_finalizers_of_others():
    """What the collector finds to be dead while a function is traced is no part of the function."""

    class Dead:
        def __init__(self):
            self.itself = self

        def __del__(self):
            log.append(self.itself is self)

    log = []
    before = gc.get_threshold()
    gc.collect()
    try:
        Dead()
        gc.set_threshold(5000)  # more than is made before the function runs, and less than it makes
        export(lambda x: x * len([[k] for k in range(10000)]), (tandem.ones(2),))
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert log == [True] and gc.isenabled()


def test_state_without_a_name(tmp_path):
    made = {}

    def hidden():
        return made["counts"]

    made["counts"] = tandem.zeros(2)
    program = saved(export(lambda x: hidden().add_(x) * 1, (tandem.ones(2),)), tmp_path)
    program(tandem.ones(2))
    assert program(tandem.ones(2)).tolist() == [2, 2]
    assert [t.tolist() for t in program.state_dict.values()] == [[2, 2]]


def test_numbers_that_matter():
    def f(x, s):
        return x * 2 if s > 1 else x

    program = export(f, (tandem.ones(2), 3.0))
    assert program(tandem.ones(2), 3.0).tolist() == [2, 2]
    with pytest.raises(TypeError, match="s was 3 when the program was saved, and cannot be 0.5"):
        program(tandem.ones(2), 0.5)


def test_a_number_that_is_none_may_be_saved():
    """NaN is what it was, where a program depends on the value."""
    program = export(nn.functional.leaky_relu, (tandem.ones(2), float("nan")))
    assert program(tandem.tensor([1.0, -1.0]), float("nan"))[1].isnan()
    with pytest.raises(TypeError, match="negative_slope was nan when the program was saved, and cannot be 1"):
        program(tandem.ones(2), 1.0)


def test_refused(tmp_path):
    def reads(x):
        return x * 2 if x.sum() > 0 else x

    with pytest.raises(tandem.DataReadError, match=r"test_export.py:\d+"):
        export(reads, (tandem.ones(2),))
    with pytest.raises(NotImplementedError, match="size depends on data"):
        export(lambda x: x[x > 0], (tandem.ones(2),))
    with pytest.raises(TypeError, match="object"):
        export(lambda x, o: x, (tandem.ones(2), object()))
    with pytest.raises(TypeError, match="takes and gives"):
        export(lambda x: (x, 1j), (tandem.ones(2),))
    with pytest.raises(TypeError, match="keys must be strings"):
        export(lambda x: (x, {1.5: x}), (tandem.ones(2),))
    log = []
    with pytest.raises(RuntimeError, match=r"forward: the function cannot be saved: .*test_export.py:\d+.*\. [A-Z]"):
        export(lambda x: log.append(1) or x, (tandem.ones(2),))


def test_state_files(tmp_path):
    bn = nn.BatchNorm1d(3)
    program = export(bn, (tandem.randn(4, 3),))
    program(tandem.randn(4, 3))
    program.save_state(tmp_path / "state.safetensors")
    for name, value in tandem.load(tmp_path / "state.safetensors").items():
        assert_same_bits(value, program.state_dict[name])
    other = program.fork()
    assert other.state_dict["num_batches_tracked"].item() == 0
    other.load_state(tmp_path / "state.safetensors")
    assert_same_bits(other.state_dict["running_mean"], program.state_dict["running_mean"])
    other.load_state_dict({"running_mean": tandem.ones(3)})
    assert other.state_dict["running_mean"].tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="no entry changes weight"):
        other.load_state_dict({"weight": tandem.zeros(3)})
    tandem.save({"weight": tandem.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="`weight` has other elements"):
        other.load_state(tmp_path / "other.safetensors")
    tandem.save({"running_mean": tandem.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="running_mean"):
        other.load_state(tmp_path / "other.safetensors")


def test_targets(tmp_path):
    path = tmp_path / "program.tandem"
    x = tandem.randn(70)
    export(lambda x: tandem.tanh(x).sum(), (x,), targets=["x86-64-v3"]).save(path)
    expected = load(path)(x)
    assert load(path).targets == ["x86-64-v3"] and load(path).target == "x86-64-v3"
    add_target(path, "x86-64-v4")
    assert load(path, verify=True).targets == ["x86-64-v3", "x86-64-v4"]
    assert_same_bits(load(path)(x), expected)
    for target, message in (("x86-64-v4", "already"), ("sparc", "nothing here makes code for `sparc`")):
        with pytest.raises(ValueError, match=message):
            add_target(path, target)


def test_without_machine_code(tmp_path):
    """The code of the file is not needed where there is a compiler."""
    path = tmp_path / "program.tandem"
    x = tandem.randn(70)
    export(lambda x: tandem.softmax(x, 0), (x,)).save(path)
    program = load(path, ir_only=True)
    assert program.target == ""
    assert_same_bits(program(x), tandem.softmax(x, 0))
    with pytest.raises(ValueError, match="at least one target"):
        export(tandem.neg, (x,), targets=[])
    for unknown in ("sparc", "x86-64-v2", "cuda:sm_90"):
        with pytest.raises(ValueError, match=f"nothing here makes code for `{unknown}`"):
            export(tandem.neg, (x,), targets=["x86-64-v3", unknown])
    with pytest.raises(TypeError, match="targets: expected a list of names, as .*, got 'x86-64-v3'"):
        export(tandem.neg, (x,), targets="x86-64-v3")
    with pytest.raises(TypeError, match="notes: expected texts by name, got 'epoch': 5"):
        export(tandem.neg, (x,), notes={"epoch": 5})


def test_without_tandem(tmp_path):
    """The same files in a process without Python code of ours."""
    jobs = Jobs(tmp_path)
    model, x = network().eval(), tandem.randn(3, 1, 8, 8)
    with tandem.no_grad():
        jobs.add(export(model, (x,)), "forward", [x], [model(x)])
    g = with_gradients(lambda x: model(x).square().sum(), orders=2)
    for threads in (1, 2, 3):
        jobs.add(export(g, (x,)), "forward", [x], list(g(x)), threads)
    opt = tandem.optim.AdamW(model.parameters())

    def step(x):
        opt.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    program = training_step(step, (x,))
    jobs.add(program, "step", [x], [step(x)])
    drop = nn.Dropout()
    jobs.add(export(drop, (x,)), "forward", [x], [drop(x)])
    assert jobs.run() == []


@pytest.mark.parametrize(
    "dtype, most", [(tandem.float16, 65504.0), (tandem.bfloat16, 3.3895e38), (tandem.float32, 3.4028e38)]
)
def test_numbers_are_held_to_the_range_of_what_they_become(dtype, most, tmp_path):
    """As eager calls hold them; compiled ones fall back to those."""
    x, mask = tandem.arange(4.0).to(dtype), tandem.tensor([True, False, True, False])

    def fill(x, mask, by):
        return x.masked_fill(mask, by), x.clamp(max=-by)

    path = tmp_path / "fill.tandem"
    export(fill, (x, mask, 0.5)).save(path)
    program = load(path, verify=True)
    for by in (0.25, most, -most, float("inf"), -float("inf"), float("nan")):
        for found, wanted in zip(program(x, mask, by), fill(x, mask, by)):
            assert_same_bits(found, wanted)
    for by in (most * 1.01, -most * 1.01, 1e300):
        with pytest.raises(RuntimeError, match="cannot be converted to"):
            fill(x, mask, by)
        with pytest.raises(RuntimeError, match="forward: .* is .*, and the dtype that it is used as holds .* up to"):
            program(x, mask, by)
    assert_same_bits(program(x, mask, 0.5)[0], fill(x, mask, 0.5)[0])


def test_a_number_beyond_its_bound_changes_no_state():
    state = tandem.zeros(3, dtype=tandem.float16)

    def step(x, by):
        state.add_(x)
        return state.masked_fill(x > 1, by * 2)

    program = training_step(step, (tandem.ones(3, dtype=tandem.float16), 1.0))
    x = tandem.tensor([1.0, 2.0, 3.0], dtype=tandem.float16)
    with pytest.raises(RuntimeError, match="step: what is computed from the numbers is 80000, .* up to 65504"):
        program(x, 40000.0)
    assert program(x, 1.0).tolist() == [1, 2, 2]


def test_bounds_of_forms():
    """Of an entry of which calls choose the size, also where only some sizes have them."""
    n = Dim("n", max=6)

    def fill(x, by):
        return x.masked_fill(x > 1, by) if x.shape[0] > 3 else x * 2

    program = export(fill, (tandem.ones(2).half(), 0.5), dynamic_shapes=({0: n}, None))
    for size in (1, 3):
        assert program(tandem.ones(size).half(), 1e6).tolist() == [2.0] * size
    for size in (4, 6):
        assert program(tandem.full((size,), 2.0).half(), 7.0).tolist() == [7.0] * size
        with pytest.raises(RuntimeError, match="by is 1e\\+06"):
            program(tandem.full((size,), 2.0).half(), 1e6)


def test_short_rows(tmp_path):
    """Kernels whose vectors lie across the rows are of a launch's own choice, and in the file with the others."""
    x = tandem.randn(9001, 3)
    program = export(lambda x: (tandem.softmax(x, 1), x.amax(1)), (x,))
    for p in (program, saved(program, tmp_path)):
        for found, expected in zip(p(x), (tandem.softmax(x, 1), x.amax(1)), strict=True):
            assert_same_bits(found, expected)
    c = c_programs.Program(c_programs.Library(str(LIBRARY)), str(tmp_path / "program.tandem"))
    assert c.run(0, [x.numpy()])[0].tobytes() == tandem.softmax(x, 1).numpy().tobytes()
    c.close()


def test_bounds_in_c(tmp_path):
    """The same error from the C functions, with nothing written."""
    x, mask = tandem.tensor([1.0, 3.0], dtype=tandem.float16), tandem.tensor([True, False])
    path = tmp_path / "fill.tandem"
    export(lambda x, mask, by: x.masked_fill(mask, by), (x, mask, 0.5)).save(path)
    program = c_programs.Program(c_programs.Library(str(LIBRARY)), str(path))
    arguments = [x.numpy(), mask.numpy()]
    assert program.run(0, arguments, numbers=(65504.0,))[0].tolist() == [65504, 3]
    with pytest.raises(RuntimeError, match=r"forward: by is 65505, and the dtype .* holds numbers up to 65504"):
        program.run(0, arguments, numbers=(65505.0,))
    program.close()
