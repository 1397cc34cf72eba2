"""Modules read members and are called in C: whatever a class, a base or an instance changes, at any time, counts as
where `Module.__getattr__` and `Module.__call__` run."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import weakref

import pytest

import tandem
from tandem import nn
from tandem.nn import global_hooks as hooks


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.scale = nn.Parameter(tandem.full((1,), 2.0))
        self.register_buffer("shift", tandem.ones(1))
        self.register_parameter("absent", None)

    def forward(self, x, more=0.0):
        return x * self.scale + self.shift + more


@pytest.fixture(params=["one base", "two bases", "a mixin first"])
def net(request):
    if request.param == "one base":
        return Net()
    if request.param == "two bases":
        return type("Sub", (Net,), {})()
    return type("Mixed", (type("Mixin", (), {"extra": 3}), Net), {})()


X = tandem.ones(1)


def test_members_of_every_kind(net):
    assert net.layer is net._modules["layer"]
    assert net.scale is net._parameters["scale"]
    assert net.shift is net._buffers["shift"]
    assert net.absent is None
    with pytest.raises(AttributeError, match=f"'{type(net).__name__}' object has no attribute 'missing'"):
        _ = net.missing
    assert getattr(net, "missing", 7) == 7
    assert not hasattr(net, "missing")
    net.plain = 4
    assert net.plain == 4
    del net.plain
    assert not hasattr(net, "plain")


def test_calls(net):
    assert net(X).item() == 3
    assert net(X, more=1).item() == 4
    assert net(x=X, more=2).item() == 5
    with pytest.raises(TypeError, match="forward"):
        net()
    net.forward = lambda x: x - 1
    assert net(X).item() == 0


def test_hooks_come_and_go(net):
    seen = []
    hooks = [
        net.register_forward_pre_hook(lambda m, args: seen.append("before")),
        net.register_forward_hook(lambda m, args, out: seen.append("after")),
        net.register_full_backward_hook(lambda m, gi, go: seen.append("backward")),
    ]
    net(X).backward()
    assert seen == ["before", "after", "backward"]
    for hook in hooks:
        hook.remove()
    net(X).backward()
    assert len(seen) == 3
    net._forward_hooks[0] = lambda m, args, out: out + 10
    assert net(X).item() == 13


@pytest.mark.parametrize("mode", ["eager", "lazy", "compile"])
def test_hooks_of_all_modules_come_and_go(mode):
    """Before a module's own, for every module, children first; a compiled function sees them come and go."""
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Identity())
    nn.init.ones_(net[0].weight)
    seen: list[str] = []

    def called(name):
        return lambda m, *args: seen.append(f"{name} {type(m).__name__}")

    def step(x):
        net.zero_grad()
        net(x).sum().backward()
        return net(x)

    run = {"eager": step, "lazy": step, "compile": tandem.compile(step)}[mode]

    def value():
        with tandem.lazy() if mode == "lazy" else contextlib.nullcontext():
            return run(tandem.ones(1, 2, requires_grad=True)).tolist(), net[0].weight.grad.tolist()

    plain = value()
    assert value() == plain == ([[2.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]])
    own = net[1].register_forward_hook(called("own"))
    handles = [
        hooks.register_module_forward_pre_hook(called("before")),
        hooks.register_module_forward_hook(called("after")),
        hooks.register_module_full_backward_pre_hook(called("backward before")),
        hooks.register_module_full_backward_hook(called("backward")),
    ]
    for _ in range(2):
        seen.clear()
        assert value() == plain
        forward = [
            "before Sequential", "before Linear", "after Linear", "before Identity", "after Identity", "own Identity",
            "after Sequential",
        ]  # fmt: skip
        backward = [f"{w} {m}" for m in ("Identity", "Linear") for w in ("backward before", "backward")]
        outer = ["backward before Sequential", *backward, "backward Sequential"]
        assert seen == [*forward, *outer, *forward]
    for handle in (own, *handles):
        handle.remove()
    seen.clear()
    assert value() == plain and not seen
    with hooks.register_module_forward_hook(lambda m, args, out: out + 1):
        assert value()[0] == [[5.0, 5.0]]
    with hooks.register_module_full_backward_pre_hook(lambda m, grads: (grads[0] * 2,)):
        assert value()[1] == [[8.0, 8.0], [8.0, 8.0]]
    assert value() == plain


def test_what_hooks_of_all_modules_take():
    class Failing(nn.Module):
        def forward(self, x, scale=1):
            raise ValueError

    seen = []
    with hooks.register_module_forward_hook(
        lambda m, a, kw, out: seen.append((kw, out)), with_kwargs=True, always_call=True
    ):
        with pytest.raises(ValueError):
            Failing()(X, scale=3)
        nn.Identity()(X)
    assert seen == [({"scale": 3}, None), ({}, X)]


def test_hooks_of_what_modules_get():
    seen = []

    def note(m, name, member):
        seen.append(name)

    with (
        hooks.register_module_parameter_registration_hook(note),
        hooks.register_module_buffer_registration_hook(note),
        hooks.register_module_module_registration_hook(note),
    ):
        net = Net()
        net.shift = tandem.zeros(1)
        net.layer = nn.Identity()
    assert seen == ["weight", "bias", "layer", "scale", "shift", "shift", "layer"]
    with hooks.register_module_parameter_registration_hook(lambda m, n, p: nn.Parameter(p.detach() + 1)):
        assert Net().scale.item() == 3
    with hooks.register_module_module_registration_hook(lambda m, n, child: nn.Identity()):
        assert type(Net().layer) is nn.Identity


def test_a_class_that_reads_for_itself():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    class Below(Wrapper):
        pass

    for cls in (Wrapper, Below):
        wrapped = cls(Net())
        assert wrapped.scale is wrapped.inner.scale
        with pytest.raises(AttributeError, match="'Net' object has no attribute 'missing'"):
            _ = wrapped.missing


def test_a_class_that_reads_everything():
    asked = []

    class Watched(Net):
        def __getattribute__(self, name):
            asked.append(name)
            return super().__getattribute__(name)

    net = Watched()
    asked.clear()
    _ = net.scale
    assert "scale" in asked


@pytest.mark.parametrize("where", [nn.Module, Net, "own"])
def test_functions_of_a_class_that_are_replaced(where, net):
    cls = type(net) if where == "own" else where
    had = {name: cls.__dict__[name] for name in ("__getattr__", "__call__") if name in cls.__dict__}
    read, call = cls.__getattr__, cls.__call__
    try:
        cls.__getattr__ = lambda self, name: 5 if name == "missing" else read(self, name)
        cls.__call__ = lambda self, *args, **kwargs: ("wrapped", call(self, *args, **kwargs))
        assert net.missing == 5
        assert net.scale is net._parameters["scale"]
        assert net(X)[0] == "wrapped"
    finally:
        for name in ("__getattr__", "__call__"):
            if name in had:
                setattr(cls, name, had[name])
            else:
                delattr(cls, name)
    assert not hasattr(net, "missing")
    assert net(X).item() == 3
    assert type("Later", (Net,), {})()(X).item() == 3


def test_a_property_before_members():
    class Shown(Net):
        @property
        def scale(self):
            return "property"

        @property
        def shift(self):
            raise AttributeError("inside")

    # As in Python: what is raised inside a property is looked for among the members.
    net = Net()
    net.__class__ = Shown
    assert net.scale == "property"
    assert net.shift is net._buffers["shift"]


def test_dicts_of_another_kind_are_asked_themselves(net):
    class Fetching(dict):
        def __contains__(self, name):
            return name == "far" or super().__contains__(name)

        def __getitem__(self, name):
            return "fetched" if name == "far" else super().__getitem__(name)

    net._parameters = Fetching(net._parameters)
    assert net.far == "fetched"
    assert net.scale is dict.__getitem__(net._parameters, "scale")


def test_before_init():
    class Early(nn.Module):
        def __init__(self):
            self.missing  # noqa: B018

    with pytest.raises(AttributeError, match="'Early' object has no attribute 'missing'"):
        Early()
    with pytest.raises(KeyError, match="_forward_hooks"):
        nn.Module.__new__(Net)(X)


def test_errors_pass_through(net):
    class Odd(nn.Module):
        @property
        def wrong(self):
            raise ValueError("not an attribute's error")

        def forward(self, x):
            return self(x)

    with pytest.raises(ValueError, match="not an attribute's"):
        _ = Odd().wrong
    with pytest.raises(RecursionError):
        Odd()(X)


def test_copies(net):
    assert copy.deepcopy(net)(X).item() == 3
    if type(net) is Net:
        assert pickle.loads(pickle.dumps(net))(X).item() == 3


def test_what_is_read_while_a_body_is_proved(net):
    # The observer sees Python's code: a member that is replaced is seen by a compiled function.
    f = tandem.compile(lambda x: net(x) + net.layer.weight.sum() * 0, fullgraph=True)
    assert f(X).item() == 3
    net.scale = nn.Parameter(tandem.full((1,), 5.0))
    assert f(X).item() == 6
    net._buffers["shift"] = tandem.full((1,), 2.0)
    assert f(X).item() == 7
    net.layer = nn.Linear(2, 2)
    net.register_forward_hook(lambda m, args, out: out + 10)
    assert f(X).item() == 17


def test_a_compiled_module_is_known_as_one():
    net = nn.Linear(1, 1)
    compiled = tandem.compile(net)
    kind = tandem._dynamo.OptimizedModule
    assert isinstance(compiled, kind) and isinstance(compiled, nn.Linear) and not isinstance(net, kind)
    assert compiled._orig_mod is net


def test_a_compiled_class_is_collected():
    """Also what its functions hold."""

    def make():
        held = nn.Linear(1, 1)

        class Own(nn.Module):
            def forward(self, x):
                return held(x)

        tandem.compile(Own())(X)
        return weakref.ref(held), weakref.ref(Own)

    found = make()
    gc.collect()
    assert [r() for r in found] == [None, None]
