"""Modules read members and are called in C: whatever a class, a base or an instance changes, at any time, counts as
where `Module.__getattr__` and `Module.__call__` run."""

from __future__ import annotations

import copy
import pickle

import pytest

import tandem
from tandem import nn


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
