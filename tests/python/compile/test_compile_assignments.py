"""Compiled bodies that assign attributes and items of objects that were there before: calls run the plan and assign
again, and whoever looks sees what the body would have left."""

from __future__ import annotations

import gc
import weakref

import pytest
from compiling import CHECKED, counting, picture

import tandem
from tandem import nn


class Holder:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Attention(nn.Module):
    """Keeps its weights for whoever draws them."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(3, 3)
        self.weights = None

    def forward(self, x):
        scores = self.project(x) @ x.t()
        self.weights = scores.softmax(-1)
        self.shape, self.last = x.shape, x
        return self.weights @ x


def same(make, calls=5, runs=1):
    """What `make(compile)` gives for each call; `make` returns a call of an argument, and what to look at after it."""
    seen = []
    for compile in (lambda f: f, counting):
        tandem.manual_seed(0)
        call, look = make(compile)
        found = []
        for k in range(calls):
            x = tandem.arange(6.0).reshape(2, 3) * (k + 1) / 10
            found.append(picture((call(x), look())))
        seen.append(found)
        if compile is counting and not CHECKED and runs is not None:
            body = getattr(call, "counted", call)
            assert body.runs == runs, body.compiled.explain(x)
    assert seen[0] == seen[1]


def test_attributes_of_a_module():
    def make(compile):
        net = Attention()
        return compile(net.forward), lambda: (net.weights, net.shape, net.last, vars(net).keys())

    same(make)


def test_gradients_through_what_was_assigned():
    def make(compile):
        net = Attention()

        def look():
            net.zero_grad()
            net.weights.square().sum().backward()
            return [p.grad for p in net.parameters()]

        return compile(net.forward), look

    same(make)


def test_a_result_that_is_assigned_is_one_object():
    holder = Holder()

    def body(x):
        holder.y = x * 2
        holder.parts = [holder.y, x]
        return holder.y

    compiled = counting(body)
    for k in range(3):
        x = tandem.ones(2) * k
        y = compiled(x)
        assert holder.y is y and holder.parts[0] is y and holder.parts[1] is x
        assert y.tolist() == [2.0 * k] * 2
    assert CHECKED or compiled.runs == 1


def test_features_that_hooks_keep():
    def make(compile):
        net, features = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), {}
        for name, layer in net.named_children():

            def keep(module, args, out, name=name):
                features[name] = out.detach()

            layer.register_forward_hook(keep)
        return compile(net), lambda: features

    class kept:  # noqa: N801
        """A compiled module counts under another name."""

        def __init__(self, net):
            self.compiled = tandem.compile(net)

        def __call__(self, x):
            return self.compiled(x)

    seen = []
    for compile in (lambda f: f, kept):
        tandem.manual_seed(0)
        call, look = make(compile)
        seen.append([picture((call(tandem.ones(2, 3) * k), look())) for k in range(4)])
    assert seen[0] == seen[1]
    assert CHECKED or call.compiled._compiled.runs == 1


@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.spectral_norm])
@pytest.mark.parametrize("training", [False, True])
def test_weights_computed_before_each_call(norm, training):
    def make(compile):
        layer = norm(nn.Linear(3, 2)).train(training)
        return compile(lambda x: layer(x)), lambda: (layer.weight, layer.state_dict())

    same(make)


def test_what_is_read_after_it_was_assigned():
    holder = Holder(x=None, n=0, text="")

    def body(x):
        holder.x = x + 1
        holder.n, holder.text = 3, "three"
        assert hasattr(holder, "x") and getattr(holder, "n") == 3  # noqa: B009
        holder.x = holder.x * holder.n
        return {holder.text: holder.x}

    def make(compile):
        return compile(body), lambda: (holder.x, holder.n, holder.text)

    same(make)


@pytest.mark.parametrize("place", ["an attribute", "a dict"])
def test_an_argument_that_is_there_by_chance(place):
    """At another call it is another tensor, which is assigned then."""

    def make(compile):
        holder, kept = Holder(x=None), {}
        first = [True]

        def body(x):
            if place == "a dict":
                kept["x"] = x
            else:
                holder.x = x
            return x * 2

        compiled = compile(body)

        def call(x):
            if first:
                holder.x = kept["x"] = x
                first.clear()
            result = compiled(x)
            assert (kept["x"] if place == "a dict" else holder.x) is x
            return result

        return call, lambda: (holder.x, kept)

    same(make, runs=None)


def test_what_was_there_is_put_back():
    holder = Holder(scale=tandem.tensor(2.0))

    def body(x):
        before = holder.scale
        holder.scale = x.sum()
        try:
            return x * holder.scale
        finally:
            holder.scale = before

    scale = holder.scale
    same(lambda compile: (compile(body), lambda: holder.scale is scale))


# ---- where the body runs, as before: what is read first, and numbers of others ---------------------------------------


def test_what_is_read_before_changes_from_call_to_call():
    def make(compile):
        holder = Holder(n=0, hidden=tandem.zeros(3), seen=None)

        def body(x):
            holder.n += 1
            holder.hidden = holder.hidden * 0.5 + x[0]
            if holder.seen is None:
                holder.seen = x
            return holder.hidden * holder.n

        return compile(body), lambda: (holder.n, holder.hidden, holder.seen)

    same(make, runs=None)


def test_rates_of_groups():
    def make(compile):
        w = nn.Parameter(tandem.ones(3))
        optimizer = tandem.optim.SGD([w], lr=0.5)
        rates = iter([0.1, 0.2, 0.3, 0.4, 0.5])

        def step(x, lr):
            for group in optimizer.param_groups:
                group["lr"] = lr
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            return w.detach().clone()

        compiled = compile(step)
        return lambda x: compiled(x, next(rates)), lambda: optimizer.param_groups[0]["lr"]

    same(make, runs=None)


@pytest.mark.parametrize(
    ("kind", "name", "rate"),
    [(tandem.optim.SGD, "lr", 0.25), (tandem.optim.Adam, "lr", 0.25), (tandem.optim.Adam, "betas", (0.5, 0.75))],
)
def test_numbers_that_the_body_puts_into_a_group(kind, name, rate):
    """They count, and not what is there when a call begins."""

    def make(compile):
        w = nn.Parameter(tandem.ones(3))
        optimizer = kind([w], lr=0.5)
        group = optimizer.param_groups[0]
        before = group[name]
        between = iter([before, before, 0.125, before, 0.0625])

        def step(x):
            optimizer.param_groups[0][name] = rate
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            return w.detach().clone()

        compiled = compile(step)

        def call(x):
            value = next(between)
            group[name] = value if name == "lr" or not isinstance(value, float) else (value, value)
            return compiled(x)

        return call, lambda: group[name]

    same(make, runs=None)


def test_arguments_are_each_call_own():
    """A dict and an object among the arguments are those of the call, not of the first one."""

    def body(x, batch, holder):
        batch["y"] = x * 2
        holder.y = x * 3
        return x

    def make(compile):
        compiled, last = compile(body), []

        def call(x):
            last[:] = {}, Holder()
            return compiled(x, *last)

        return call, lambda: (last[0], vars(last[1]))

    same(make, runs=None)


def test_slots_properties_and_classes():
    class Slotted:
        __slots__ = ("x",)

    class Checked:
        def __init__(self):
            self.kept = None

        @property
        def x(self):
            return self.kept

        @x.setter
        def x(self, value):
            self.kept = value * 10

    class Shared:
        x = None

    for kind in (Slotted, Checked):

        def make(compile, kind=kind):
            holder = kind()

            def body(x):
                holder.x = x + 1
                return holder.x

            return compile(body), lambda: holder.x

        same(make, runs=1 if kind is Checked else None)

    def make_shared(compile):
        Shared.x = None

        def body(x):
            Shared.x = x + 1
            return Shared.x

        return compile(body), lambda: Shared.x

    same(make_shared, runs=None)


def test_an_attribute_that_is_made_a_property_later():
    class Plain:
        pass

    holder, given = Plain(), []

    def body(x):
        holder.x = x + 1
        return x * 2

    compiled = counting(body)
    for _ in range(2):
        compiled(tandem.ones(2))
    Plain.x = property(lambda self: 5, lambda self, value: given.append(value))
    compiled(tandem.ones(2))
    assert len(given) == 1 and holder.x == 5


def test_a_failing_call_assigns_as_far_as_the_body_came():
    holder = Holder(x=None)

    def body(x, index):
        holder.x = x * 2
        return x[index]

    compiled = counting(body)
    for _ in range(3):
        compiled(tandem.arange(3.0), tandem.tensor([1]))
    with pytest.raises(IndexError):
        compiled(tandem.arange(3.0) + 5, tandem.tensor([7]))
    assert holder.x.tolist() == [10.0, 12.0, 14.0]


def test_what_is_assigned_is_let_go():
    kept = []
    for _ in range(20):
        holder = Holder()

        def body(x, holder=holder):
            holder.x = x * 2
            return x

        compiled = tandem.compile(body)
        for _ in range(3):
            compiled(tandem.ones(2))
        kept += [weakref.ref(holder), weakref.ref(holder.x)]
        del holder, body, compiled
    gc.collect()
    assert all(ref() is None for ref in kept)


def test_saved_programs_have_no_attributes():
    net = Attention()
    with pytest.raises(RuntimeError, match=r"is assigned \(weights\).* is kept in a tensor"):
        tandem.export.export(net, (tandem.ones(2, 3),))


def test_new_keys_are_in_the_body_order():
    def make(compile):
        kept, holder = {}, Holder()

        def body(x):
            kept["b"], kept["a"], kept["b"] = x, x * 2, x * 3
            holder.z, holder.y = x, x * 2
            return x

        compiled = compile(body)

        def call(x):
            kept.clear()
            vars(holder).clear()
            return compiled(x)

        return call, lambda: (list(kept), list(vars(holder)), kept)

    same(make, runs=None)
