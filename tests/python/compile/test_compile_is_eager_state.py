"""A compiled call leaves what eager's leaves: modules, parameters and hooks that change between calls, aliases among
results and arguments, exceptions, generators, threads, copies, and objects that nobody needs any more."""

from __future__ import annotations

import copy
import functools
import gc
import io
import pickle
import threading
import weakref

import pytest
from compiling import Box, attempt, same, vector

import tandem
from tandem import autograd, nn, optim

F = nn.functional


# ---- modules ---------------------------------------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)
        self.register_buffer("total", tandem.zeros(3))
        self.scale, self.hidden, self.calls = 2.0, None, 0

    def forward(self, x):
        y = self.second(tandem.tanh(self.norm(self.first(x)))) * self.scale
        self.total += y.detach().sum(0)
        return y


class Counting(Net):
    def forward(self, x):
        self.calls += 1
        return super().forward(x) * self.calls


class Recurrent(Net):
    def forward(self, x):
        y = super().forward(x)
        self.hidden = y.detach() if self.hidden is None else self.hidden * 0.5 + y.detach()
        return y + self.hidden


def double(module, args, out):
    return out * 2


def hook_on(w, kind):
    """Adds a hook to the module, to be removed two calls later."""
    at = w.net.second
    w.handle = {
        "forward": lambda: at.register_forward_hook(double),
        "forward pre": lambda: at.register_forward_pre_hook(lambda m, a: (a[0] + 1,)),
        "full backward": lambda: at.register_full_backward_hook(lambda m, i, o: (i[0] * 3,)),
        "full backward pre": lambda: at.register_full_backward_pre_hook(lambda m, o: (o[0] * 3,)),
        "parameter": lambda: at.weight.register_hook(lambda g: g * 5),
        "post accumulate": lambda: at.weight.register_post_accumulate_grad_hook(lambda p: (p.grad.mul_(2), None)[1]),
        "optimizer pre": lambda: w.optimizer.register_step_pre_hook(lambda o, a, k: w.log.append("pre")),
        "optimizer post": lambda: w.optimizer.register_step_post_hook(lambda o, a, k: w.log.append("post")),
    }[kind]()


HOOKS = (
    "forward,forward pre,full backward,full backward pre,parameter,post accumulate,optimizer pre,optimizer post"
).split(",")


def replace(w):
    w.net.first.weight = nn.Parameter(tandem.ones(4, 3))


def tie(w):
    w.net.second.weight = nn.Parameter(tandem.ones(3, 4))
    w.net.norm.weight = w.net.norm.bias


def patch_class(w):
    kind = type(w.net)
    own = kind.forward
    kind.forward = lambda self, x: own(self, x) + 1
    w.undo.append(lambda: setattr(kind, "forward", own))


CHANGES = {
    "nothing": lambda w: None,
    "eval": lambda w: w.net.eval(),
    "one part in eval": lambda w: w.net.norm.eval(),
    "a number": lambda w: setattr(w.net, "scale", 3.0),
    "frozen weight": lambda w: w.net.first.weight.requires_grad_(False),
    "all frozen": lambda w: w.net.requires_grad_(False),
    "replaced weight": replace,
    "tied weights": tie,
    "replaced part": lambda w: setattr(w.net, "second", nn.Sequential(nn.Linear(4, 3), nn.ReLU())),
    "removed bias": lambda w: setattr(w.net.second, "bias", None),
    "removed buffer": lambda w: setattr(w.net, "total", tandem.ones(3)),
    "loaded state": lambda w: w.net.load_state_dict({k: v + 1 for k, v in w.net.state_dict().items()}),
    "double": lambda w: w.net.double(),
    "data": lambda w: setattr(w.net.first.weight, "data", tandem.ones(4, 3)),
    "transposed gradient": lambda w: setattr(w.net.first.weight, "grad", tandem.arange(12.0).reshape(3, 4).t()),
    "gradient of another": lambda w: setattr(w.net.first.weight, "grad", tandem.ones(4, 3)),
    "no gradient": lambda w: setattr(w.net.first.weight, "grad", None),
    "zeroed gradients": lambda w: w.net.zero_grad(set_to_none=False),
    "patched class": patch_class,
    "patched instance": lambda w: setattr(w.net, "forward", lambda x: x * w.net.first.weight.sum()),
    "rate": lambda w: w.optimizer.param_groups[0].__setitem__("lr", 0.5),
    "rate of zero": lambda w: w.optimizer.param_groups[0].__setitem__("lr", 0.0),
    "momentum": lambda w: w.optimizer.param_groups[0].__setitem__("momentum", 0.5),
    "no momentum": lambda w: w.optimizer.param_groups[0].__setitem__("momentum", 0.0),
    "cleared state": lambda w: w.optimizer.state.clear(),
    "another group": lambda w: w.optimizer.add_param_group({"params": [w.extra], "lr": 1.0}),
    "fewer parameters": lambda w: w.optimizer.param_groups[0]["params"].pop(),
    "replaced groups": lambda w: setattr(w.optimizer, "param_groups", [dict(w.optimizer.param_groups[0], lr=0.3)]),
    "state loaded": lambda w: w.optimizer.load_state_dict(copy.deepcopy(w.optimizer.state_dict())),
    "schedule": lambda w: optim.lr_scheduler.StepLR(w.optimizer, 1, 0.1).step(),
    **{f"hook: {kind}": functools.partial(hook_on, kind=kind) for kind in HOOKS},
}


def state_of(w):
    kept = {k: v for k, v in w.net.__dict__.items() if isinstance(v, (int, float, tandem.Tensor))}
    grads = [p.grad for p in w.net.parameters()]
    momenta = [dict(s) for s in w.optimizer.state.values()]
    return [w.net.state_dict(), grads, momenta, list(w.log), kept]


@pytest.mark.parametrize("kind", [Net, Counting, Recurrent])
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("whole", [False, True], ids=["module", "step"])
def test_changes(name, kind, whole):
    def run(wrap):
        own = type("Own", (kind,), {})
        w = Box(net=own(), extra=nn.Parameter(tandem.ones(2)), log=[], undo=[], handle=None)
        w.optimizer = optim.SGD(w.net.parameters(), lr=0.1, momentum=0.9)
        forward = w.net if whole else wrap(w.net)

        def step(x):
            w.optimizer.zero_grad()
            loss = (forward(x) ** 2).sum()
            loss.backward()
            w.optimizer.step()
            return loss

        go = wrap(step) if whole else step
        try:
            for k in range(8):
                if k == 3:
                    CHANGES[name](w)
                if k == 5 and w.handle is not None:
                    w.handle.remove()
                yield attempt(go, tandem.randn(5, 3, dtype=w.net.first.weight.dtype))
                yield state_of(w)
        finally:
            for undo in w.undo:
                undo()
            if w.handle is not None:
                w.handle.remove()

    same(run)


def test_a_compiled_module_is_the_module():
    net = Net()
    compiled = tandem.compile(net)
    assert isinstance(compiled, Net) and type(compiled).__name__ == "Net" and compiled._orig_mod is net
    assert list(compiled.state_dict()) == list(net.state_dict()) and compiled.first is net.first
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in net.parameters()]
    compiled.scale = 5.0
    assert net.scale == 5.0 and compiled.eval() is compiled and not net.training
    net.train()
    assert compiled.training and {n for n, _ in compiled.named_modules()} == {n for n, _ in net.named_modules()}
    compiled.register_forward_hook(double)
    x = tandem.randn(2, 3)
    state = copy.deepcopy(net.state_dict())
    got = compiled(x)
    net.load_state_dict(state)
    assert tandem.equal(got, net(x))
    other = Net()
    other.load_state_dict(compiled.state_dict())
    assert tandem.equal(other.first.weight, compiled.first.weight)
    again = tandem.compile(compiled)
    assert again._orig_mod is net
    part = nn.Sequential(tandem.compile(nn.Linear(3, 4)), nn.ReLU())
    assert part[0].weight.shape == (4, 3) and part(x).shape == (2, 4)
    assert list(part.state_dict()) == ["0.weight", "0.bias"]
    listed = tandem.compile(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    assert len(listed) == 2 and isinstance(listed[1], nn.ReLU) and [type(m) for m in listed] == [nn.Linear, nn.ReLU]


# ---- aliases and writes ----------------------------------------------------------------------------------------------


def written(x):
    x.mul_(2)
    return x.view(-1)


ALIASES = {
    "a view": lambda w, x: x.view(-1),
    "two views": lambda w, x: (lambda y: (y[:2], y[1:], y))(x * 2),
    "one object twice": lambda w, x: (lambda y: (y, [y]))(x + 1),
    "argument and its view": lambda w, x: (x, x[1:], x.detach()),
    "what it captures": lambda w, x: (w.t, w.t[1:]),
    "a constant": lambda w, x: tandem.tensor([1.0, 2.0]),
    "written argument": lambda w, x: written(x),
    "written capture": lambda w, x: w.t.add_(x),
    "written argument that is captured": lambda w, x: (w.kept.append(x), w.kept[0].add_(1), x * 2)[2],
    "squeezed in place": lambda w, x: x.unsqueeze_(0),
    "transposed in place": lambda w, x: x.t_() if x.dim() == 2 else x,
    "required": lambda w, x: (x.requires_grad_(), x * 2)[1],
    "given data": lambda w, x: (setattr(x, "data", x.data * 3), x + 1)[1],
    "given a gradient": lambda w, x: (setattr(x, "grad", tandem.ones_like(x)), x * 2)[1],
    "given an attribute": lambda w, x: (setattr(x, "mark", 3), x * 2)[1],
    "resized": lambda w, x: x.resize_(2),
    "of other memory": lambda w, x: (x.set_(x.exp()), x.add_(1), x * 2)[2],
    "set": lambda w, x: w.t.copy_(x).exp_(),
}


@pytest.mark.parametrize("name", ALIASES)
def test_aliases(name):
    body = ALIASES[name]

    def run(wrap):
        w = Box(t=vector(1, 2, 3), kept=[])
        f = wrap(lambda x: body(w, x))
        for k in range(4):
            x = vector(k, 1, 2)
            got = attempt(f, x)
            yield [got, x, w, x.grad, getattr(x, "mark", None), x.requires_grad]
            flat = [t for t in tandem.utils._pytree.tree_leaves(got) if isinstance(t, tandem.Tensor)]
            yield [[a is b for a in flat] for b in [*flat, x, w.t]]
            yield [[a._base is b for a in flat] for b in [*flat, x, w.t]]
            for t in flat:  # the caller writes to what it was given
                with tandem.no_grad():
                    t.mul_(3)
            yield [got, x, w]

    same(run)


def test_saved_values_that_were_written_are_noticed():
    def run(wrap):
        w, weight = vector(1, 2), vector(3, 4, requires_grad=True)
        f = wrap(lambda x: (x * w * weight).sum())
        for _ in range(4):
            loss = f(vector(1, 1))
            w.add_(1)
            yield attempt(loss.backward)
            yield weight.grad
            yield f(vector(1, 1)).backward() or weight.grad

    same(run)


def test_views_among_results_have_their_base():
    def run(wrap):
        f = wrap(lambda w: (lambda y: (y, y[:1]))(w * 2))
        for _ in range(3):
            w = vector(1, 2, requires_grad=True)
            y, v = f(w)
            v.mul_(3)
            y.sum().backward()
            yield [y, v, w.grad, v._base is y]

    same(run)


# ---- exceptions ------------------------------------------------------------------------------------------------------

FAILURES = {
    "own error": lambda w, x: (w.t.add_(1), _fail(w, x), x * 2)[2],
    "shapes": lambda w, x: (w.t.add_(1), x @ tandem.ones(4 if w.bad else 3), w.t * 2)[2],
    "index": lambda w, x: (w.t.add_(1), x[tandem.tensor([7 if w.bad else 1])])[1],
    "index of an argument": lambda w, x: (w.t.add_(1), x.sum() + w.t[(x[:1] * 0).long() + (9 if w.bad else 0)])[1],
    "division": lambda w, x: x * (1 / (0 if w.bad else 2)),
    "key": lambda w, x: (w.t.mul_(2), x * {False: 2}[w.bad])[1],
    "assert": lambda w, x: _check(w, x),
    "in backward": lambda w, x: _backward(w, x),
    "in a hook": lambda w, x: _hooked(w, x),
    "caught": lambda w, x: _caught(w, x),
    "after a draw": lambda w, x: (tandem.rand(3), _fail(w, x), x + tandem.rand(3))[2],
}


def _fail(w, x):
    if w.bad:
        raise ValueError("bad")
    return x


def _check(w, x):
    w.t.add_(1)
    assert (x > 0).all(), "positive"
    return x * w.t


def _backward(w, x):
    loss = (w.p * x).sum()
    if w.bad:
        loss = loss * tandem.ones(2)
    loss.backward()
    return loss


def _hooked(w, x):
    y = w.p * x
    y.register_hook(lambda g: _fail(w, g))
    y.sum().backward()
    return y.detach()


def _caught(w, x):
    try:
        return _fail(w, x) * 2
    except ValueError as e:
        return x * len(str(e))


@pytest.mark.parametrize("first", [True, False], ids=["at the first call", "later"])
@pytest.mark.parametrize("name", FAILURES)
def test_failures(name, first):
    body = FAILURES[name]

    def run(wrap):
        w = Box(t=vector(1, 2, 3), p=vector(1, 2, 3, requires_grad=True), bad=first)
        f = wrap(lambda x: body(w, x))
        for k in range(7):
            w.bad = k in ((0, 3) if first else (2, 5))
            x = vector(-1 if w.bad else 1, k, 2)
            yield attempt(f, x)
            yield [w.t, w.p, w.p.grad, x, tandem.rand(1)]

    same(run)


# ---- generators, iterators, containers -------------------------------------------------------------------------------


def halves(x, n):
    for _ in range(n):
        x = x / 2
        yield x


BODIES = {
    "generator made inside": lambda w, x: sum(halves(x, 3)),
    "generator given": lambda w, x: next(w.g) + x,
    "generator returned": lambda w, x: halves(x, 2),
    "list argument": lambda w, x: _append(w.args, x),
    "dict argument": lambda w, x: w.d.setdefault("x", x) + x,
    "sorted tensors": lambda w, x: sorted([x * 2, x], key=lambda t: t.sum().item()),
    "zip": lambda w, x: [a * b for a, b in zip([x, x + 1], w.args or [x, x], strict=False)],
    "unpacking": lambda w, x: (lambda a, *b, c=1, **k: [a, b, k])(*[x, x * 2], **{"d": x * 3}),
    "global state": lambda w, x: (setattr(w, "n", w.n + 1), x * w.n)[1],
    "print": lambda w, x: (print(x.sum().item(), file=w.out), x * 2)[1],
    "closures made": lambda w, x: [f(x) for f in [lambda y, k=k: y * k for k in range(3)]],
    "object kept": lambda w, x: (setattr(w, "last", x * 2), x + 1)[1],
    "own Function": lambda w, x: Cube.apply(x * w.p),
    "numpy inside": lambda w, x: tandem.from_numpy(x.numpy() * 2) + 1,
    "nested compile": lambda w, x: w.inner(x) + 1,
    "vmap inside": lambda w, x: tandem.func.vmap(lambda y: y * 2)(x),
    "weak reference": lambda w, x: weakref.ref(w)().t * x,
    "exec": lambda w, x: eval("x * 2", {"x": x}),
    "locals": lambda w, x: locals()["x"] * 2,
    "with": lambda w, x: _managed(w, x),
    "while on data": lambda w, x: _while(x),
    "object that answers anything": lambda w, x: [Anything().a, x * 2],
    "schedule inside": lambda w, x: _scheduled(w, x),
    "optimizer of one's own": lambda w, x: (w.own.step(x), w.p * 2)[1],
}


class Cube(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class Anything:
    def __getattr__(self, name):
        return None


class Descent:
    """An optimizer that counts."""

    def __init__(self, p):
        self.p, self.n = p, 0

    def step(self, x):
        self.n += 1
        with tandem.no_grad():
            self.p.sub_(x / self.n)


def _scheduled(w, x):
    w.optimizer.zero_grad()
    (w.p * x).sum().backward()
    w.optimizer.step()
    w.schedule.step()
    return w.p.detach() * 1


class Manager:
    def __init__(self, w):
        self.w = w

    def __enter__(self):
        self.w.n += 1
        return self.w.n

    def __exit__(self, *exc):
        self.w.n += 10


def _append(items, x):
    items.append(x.sum())
    return len(items) * x


def _managed(w, x):
    with Manager(w) as n:
        return x * n


def _while(x):
    while x.sum() < 40:
        x = x * 2
    return x


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name):
    body = BODIES[name]

    def run(wrap):
        w = Box(t=vector(1, 2, 3), p=vector(1, 2, 3, requires_grad=True), args=[], d={}, n=0, out=io.StringIO())
        w.g, w.inner = halves(vector(8, 8, 8), 9), wrap(lambda x: x * 3)
        w.own, w.optimizer = Descent(w.p), optim.Adam([w.p], lr=0.1)
        w.schedule = optim.lr_scheduler.StepLR(w.optimizer, 2, 0.5)
        f = wrap(lambda x: body(w, x))
        for k in range(5):
            got = attempt(f, vector(k + 1, 1, 2))
            yield list(got) if hasattr(got, "send") else got
            if isinstance(got, tandem.Tensor) and got.requires_grad:
                got.sum().backward()
            yield [w.t, w.p.grad, w.args, w.d, w.n, w.out.getvalue(), getattr(w, "last", None)]

    same(run)


# ---- threads, copies, lives ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pure", [True, False])
def test_threads_call_one_function_at_once(pure):
    calls, weight = [], tandem.randn(8, 8)

    def body(x, s):
        if not pure:
            calls.append(1)
        return tandem.tanh(x @ weight * s).sum(0)

    f = tandem.compile(body)
    problems = []

    def work(seed):
        try:
            for k in range(30):
                x = tandem.full((2 + k % 3, 8), float(seed + k))
                if not tandem.equal(f(x, seed / 7), tandem.tanh(x @ weight * (seed / 7)).sum(0)):
                    problems.append((seed, k))
        except Exception as e:
            problems.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems and (pure or len(calls) == 120)


def triple(x):
    return x * 3


triple_compiled = tandem.compile(triple)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies(how):
    f = tandem.compile(Triple(3.0))
    net = tandem.compile(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    x = tandem.randn(2, 3)
    f(x), net(x)
    g, other = how(f), how(net)
    assert tandem.equal(g(x), x * 3) and tandem.equal(other(x), net(x))
    assert g.runs <= 1 and g is not f
    if how is not copy.copy:
        with tandem.no_grad():
            other[0].weight.add_(1)
        assert not tandem.equal(other(x), net(x))


class Triple:
    def __init__(self, s):
        self.s = s

    def __call__(self, x):
        return x * self.s


def test_weak_references_and_attributes():
    f = tandem.compile(triple)
    assert weakref.ref(f)() is f and f.__name__ == "triple" and f.__wrapped__ is triple
    f.note = 3
    assert f.note == 3 and not f.fullgraph and tandem.compile(triple, fullgraph=True).fullgraph


@pytest.mark.parametrize("pure", [True, False])
def test_nothing_is_kept_alive(pure):
    class Own(nn.Linear):
        def forward(self, x):
            return (
                super().forward(x) if pure else (setattr(self, "n", 1 + getattr(self, "n", 0)), super().forward(x))[1]
            )

    net = Own(3, 3)
    compiled = tandem.compile(net)
    held = Box(t=vector(1, 2, 3))
    f = tandem.compile(lambda x, m=net: m(x) * held.t)
    x = tandem.randn(2, 3, requires_grad=True)
    y = f(x) + compiled(x)
    y.sum().backward()
    f(x)
    alive = [weakref.ref(o) for o in (net, compiled, f, held, held.t, net.weight, x, y)]
    net = compiled = held = f = x = y = None
    gc.collect()
    assert [r() for r in alive] == [None] * len(alive)


def test_what_a_compiled_function_read_may_die():
    f = tandem.compile(lambda m, x: m(x))
    for _ in range(3):
        net = nn.Linear(3, 3)
        r = weakref.ref(net.weight)
        x = tandem.randn(2, 3)
        assert tandem.equal(f(net, x), net(x)) and tandem.equal(f(net, x), net(x))
        del net
        gc.collect()
        assert r() is None


def test_methods_of_many_instances():
    class Layer:
        def __init__(self, s):
            self.s = s

        @tandem.compile
        def __call__(self, x):
            return x * self.s

    layers = [Layer(float(k)) for k in range(5)]
    for _ in range(3):
        for k, layer in enumerate(layers):
            assert layer(vector(1, 2)).tolist() == [k, 2 * k]
    layers[2].s = 7.0
    assert layers[2](vector(1, 2)).tolist() == [7, 14] and layers[1](vector(1, 2)).tolist() == [1, 2]


def test_vmap_and_grad_of_a_compiled_function():
    f = tandem.compile(lambda x: tandem.tanh(x) * 2)
    x = tandem.randn(3, 2)
    f(x[0])
    assert tandem.equal(tandem.func.vmap(f)(x), tandem.tanh(x) * 2)
    want = tandem.func.grad(lambda x: (tandem.tanh(x) * 2).sum())(x[0])
    for _ in range(2):
        assert tandem.equal(tandem.func.grad(lambda x: f(x).sum())(x[0]), want)
