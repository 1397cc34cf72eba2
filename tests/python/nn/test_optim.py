"""Optimizers against NumPy over many steps, their state, errors and schedules."""

import copy
import itertools
import math
import operator

import numpy as np
import pytest

import tandem
from tandem import nn, optim

STEPS = 30
RNG = np.random.default_rng(0)
START = [RNG.standard_normal((3, 4)), RNG.standard_normal(5)]
GRADS = [[RNG.standard_normal(s.shape) for s in START] for _ in range(STEPS)]


def parameters():
    return [nn.Parameter(tandem.tensor(s.tolist(), dtype=tandem.float64)) for s in START]


def run(make, lr_at=None):
    """The parameters after all steps; the second one has no gradient in step 3."""
    params = parameters()
    optimizer = make(params)
    for i, grads in enumerate(GRADS):
        if lr_at and i in lr_at:
            optimizer.param_groups[0]["lr"] = lr_at[i]
        for j, (p, g) in enumerate(zip(params, grads, strict=True)):
            p.grad = None if (i, j) == (3, 1) else tandem.tensor(g.tolist(), dtype=tandem.float64)
        optimizer.step()
    return [p.detach().numpy() for p in params]


def reference(update, lr, lr_at=None, maximize=False):
    """`update(p, g, state, t, lr)` in NumPy over the same gradients."""
    out = []
    for j, start in enumerate(START):
        p, state, t = start.copy(), {}, 0
        rate = lr
        for i, grads in enumerate(GRADS):
            rate = (lr_at or {}).get(i, rate)
            if (i, j) == (3, 1):
                continue
            t += 1
            p = update(p, -grads[j] if maximize else grads[j], state, t, rate)
        out.append(p)
    return out


def agree(actual, expected):
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-6, atol=1e-7)


SGD_CASES = [
    (m, d, w, n, x)
    for m, d, w, n, x in itertools.product((0, 0.9), (0, 0.3), (0, 0.1), (False, True), (False, True))
    if not (n and (m == 0 or d))
]


@pytest.mark.parametrize(("momentum", "dampening", "weight_decay", "nesterov", "maximize"), SGD_CASES)
def test_sgd(momentum, dampening, weight_decay, nesterov, maximize):
    def update(p, g, state, t, lr):
        g = g + weight_decay * p
        if momentum:
            state["b"] = momentum * state["b"] + (1 - dampening) * g if "b" in state else g
            g = g + momentum * state["b"] if nesterov else state["b"]
        return p - lr * g

    options = {
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
        "maximize": maximize,
    }
    schedule = {10: 0.02}
    actual = run(lambda p: optim.SGD(p, lr=0.05, **options), schedule)
    agree(actual, reference(update, 0.05, schedule, maximize))


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize(
    ("weight_decay", "amsgrad", "maximize"), list(itertools.product((0.0, 0.1), (False, True), (False, True)))
)
def test_adam(decoupled, weight_decay, amsgrad, maximize):
    b1, b2, eps = 0.8, 0.95, 1e-6

    def update(p, g, state, t, lr):
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
        state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
        state["x"] = np.maximum(state.get("x", 0), state["v"])
        v = state["x"] if amsgrad else state["v"]
        return p - lr * (state["m"] / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)

    kind = optim.AdamW if decoupled else optim.Adam
    options = {
        "betas": (b1, b2),
        "eps": eps,
        "weight_decay": weight_decay,
        "amsgrad": amsgrad,
        "maximize": maximize,
    }
    schedule = {10: 0.003}
    agree(run(lambda p: kind(p, lr=0.01, **options), schedule), reference(update, 0.01, schedule, maximize))


def _rmsprop(p, g, s, t, lr):
    s["v"] = 0.99 * s.get("v", 0) + 0.01 * g * g
    s["a"] = 0.99 * s.get("a", 0) + 0.01 * g
    s["b"] = 0.9 * s.get("b", 0) + g / (np.sqrt(s["v"] - s["a"] ** 2) + 1e-8)
    return p - lr * s["b"]


def _adagrad(p, g, s, t, lr):
    g = g + 0.1 * p
    s["v"] = s.get("v", 0.5) + g * g
    return p - lr / (1 + (t - 1) * 0.2) * g / (np.sqrt(s["v"]) + 1e-10)


def _adadelta(p, g, s, t, lr):
    s["v"] = 0.9 * s.get("v", 0) + 0.1 * g * g
    d = np.sqrt(s.get("d", 0) + 1e-6) / np.sqrt(s["v"] + 1e-6) * g
    s["d"] = 0.9 * s.get("d", 0) + 0.1 * d * d
    return p - lr * d


def _adamax(p, g, s, t, lr):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0), np.abs(g) + 1e-8)
    return p - lr / (1 - 0.9**t) * s["m"] / s["u"]


def _rprop(p, g, s, t, lr):
    turn = np.sign(g * s.get("g", 0 * g))
    s["h"] = np.clip(s.get("h", lr + 0 * g) * np.where(turn > 0, 1.5, np.where(turn < 0, 0.3, 1.0)), 1e-3, 0.05)
    s["g"] = np.where(turn < 0, 0.0, g)
    return p - np.sign(s["g"]) * s["h"]


def _asgd(p, g, s, t, lr):
    eta, mu = s.get("eta", lr), s.get("mu", 1.0)
    g = g + 0.1 * p
    p = p * (1 - 0.02 * eta) - eta * g
    s["ax"] = p if mu == 1 else s["ax"] + mu * (p - s["ax"])
    # The state keeps both rates in float32.
    s["eta"], s["mu"] = np.float32(lr / (1 + 0.02 * lr * t) ** 0.6), np.float32(1 / max(1, t - 8))
    return p


def _nadam(p, g, s, t, lr):
    p = p * (1 - lr * 0.1)
    mu, following = 0.9 * (1 - 0.5 * 0.96 ** (t * 4e-3)), 0.9 * (1 - 0.5 * 0.96 ** ((t + 1) * 4e-3))
    s["mu"] = s.get("mu", 1.0) * mu
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    spread = np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8
    step = (1 - mu) / (1 - s["mu"]) * g + following / (1 - s["mu"] * following) * s["m"]
    return p - lr * step / spread


def _radam(p, g, s, t, lr):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    mean, longest = s["m"] / (1 - 0.9**t), 2 / 0.001 - 1
    length = longest - 2 * t * 0.999**t / (1 - 0.999**t)
    if length <= 5:
        return p - lr * mean
    r = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
    return p - lr * mean * r * math.sqrt(1 - 0.999**t) / (np.sqrt(s["v"]) + 1e-8)


@pytest.mark.parametrize(
    ("name", "options", "update"),
    [
        ("RMSprop", {"momentum": 0.9, "centered": True}, _rmsprop),
        ("Adagrad", {"weight_decay": 0.1, "lr_decay": 0.2, "initial_accumulator_value": 0.5}, _adagrad),
        ("Adadelta", {}, _adadelta),
        ("Adamax", {}, _adamax),
        ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}, _nadam),
        ("RAdam", {}, _radam),
        ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.05)}, _rprop),
        ("ASGD", {"weight_decay": 0.1, "lambd": 0.02, "alpha": 0.6, "t0": 8.0}, _asgd),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_other_optimizers(name, options, update):
    agree(run(lambda p: getattr(optim, name)(p, lr=0.01, **options)), reference(update, 0.01))


# --- the base class -------------------------------------------------------------------------------------------------


def test_groups_have_their_own_hyperparameters():
    a, b = nn.Parameter(tandem.ones(1)), nn.Parameter(tandem.ones(1))
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    a.grad, b.grad = tandem.ones(1), tandem.ones(1)
    optimizer.step()
    np.testing.assert_allclose([a.item(), b.item()], [0.9, 0.5], rtol=1e-6)
    optimizer.add_param_group({"params": [nn.Parameter(tandem.ones(1))]})
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5, 0.1]
    text = repr(optimizer)
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0") and "Parameter Group 2" in text
    first, second, third, end = text.split("\n\n")[0], *text.split("\n\n")[1:], text[-3:]
    assert second.startswith("Parameter Group 1\n") and third.startswith("Parameter Group 2\n")
    assert first.endswith("    weight_decay: 0") and end == "0\n)", "groups are a line apart"


def test_errors():
    p = nn.Parameter(tandem.ones(1))
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.SGD([], lr=0.1)
    with pytest.raises(TypeError, match="iterable of Tensors or dicts"):
        optim.SGD(p, lr=0.1)
    with pytest.raises(TypeError, match="can only optimize Tensors"):
        optim.SGD([3], lr=0.1)
    with pytest.raises(ValueError, match="non-leaf"):
        optim.SGD([p * 2], lr=0.1)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optim.Adam([p], lr=-1)
    with pytest.raises(ValueError, match="Invalid beta parameter at index 1: 1.0"):
        optim.Adam([p], betas=(0.9, 1.0))
    with pytest.raises(ValueError, match="Invalid momentum value"):
        optim.SGD([p], lr=0.1, momentum=-1)
    with pytest.raises(ValueError, match="Nesterov momentum requires"):
        optim.SGD([p], lr=0.1, nesterov=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p], lr=0.1)
    optimizer = optim.SGD([p], lr=0.1)
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [p]})


def test_zero_grad_and_closure():
    p = nn.Parameter(tandem.ones(1))
    optimizer = optim.SGD([p], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 1.0 and p.item() == 0.5
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_step_hooks():
    p = nn.Parameter(tandem.ones(1))
    optimizer, log = optim.AdamW([p]), []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: log.append("pre"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: log.append("post"))
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert log == ["pre", "post", "pre"]


EVERY = ["SGD", "Adam", "AdamW", "RMSprop", "NAdam", "RAdam", "Adagrad", "Adadelta", "Adamax", "Rprop", "ASGD"]


@pytest.mark.parametrize("name", EVERY)
def test_state_dict_continues_a_run(name):
    options = {"lr": 0.01, "momentum": 0.9} if name == "SGD" else {"lr": 0.01}

    def advance(params, optimizer, grads):
        for step in grads:
            for p, g in zip(params, step, strict=True):
                p.grad = tandem.tensor(g.tolist(), dtype=tandem.float64)
            optimizer.step()

    a = parameters()
    first = getattr(optim, name)(a, **options)
    advance(a, first, GRADS[:5])
    state = copy.deepcopy(first.state_dict())
    b = [nn.Parameter(p.detach().clone()) for p in a]
    second = getattr(optim, name)(b, lr=1.0)
    second.load_state_dict(state)
    assert second.param_groups[0]["lr"] == 0.01
    advance(a, first, GRADS[5:10])
    advance(b, second, GRADS[5:10])
    assert [p.tolist() for p in a] == [p.tolist() for p in b]
    with pytest.raises(ValueError, match="different number of parameter groups"):
        second.load_state_dict({"state": {}, "param_groups": []})


@pytest.mark.parametrize("name", ["SGD", "Adam", "LBFGS"])
def test_loaded_state_is_the_saved_one(name):
    options = {"lr": 0.01, "momentum": 0.9} if name == "SGD" else {"lr": 0.01}

    def made(dtype):
        p = nn.Parameter(tandem.tensor([1.0, -2.0], dtype=dtype))
        optimizer = getattr(optim, name)([p], **options)

        def closure():
            optimizer.zero_grad()
            loss = (p**2).sum()
            loss.backward()
            return loss

        return p, optimizer, closure

    _, first, closure = made(tandem.float32)
    first.step(closure)
    saved = first.state_dict()
    saved["state"]["more"] = more = {"x": tandem.ones(1, dtype=tandem.float64)}
    p, second, closure = made(tandem.float32)
    second.load_state_dict(saved)
    for key, value in saved["state"][0].items():
        loaded = second.state[p][key]
        assert all(map(operator.is_, loaded, value)) if isinstance(value, list) else loaded is value, key
    assert second.state["more"] is more
    second.step(closure)  # goes on in the state of the first one
    shared = {"SGD": "momentum_buffer", "Adam": "exp_avg"}.get(name)
    assert shared is None or saved["state"][0][shared] is second.state[p][shared]
    q, third, _ = made(tandem.float64)
    third.load_state_dict(saved)
    for key, value in third.state[q].items():
        if isinstance(value, tandem.Tensor) and key != "step":
            assert value.dtype == tandem.float64 and saved["state"][0][key].dtype == tandem.float32


def test_the_first_step_makes_the_state():
    params = parameters()
    optimizer = optim.Adam(params)
    for p in params:
        p.grad = tandem.ones_like(p)
    assert not optimizer.state
    optimizer.step()
    made = optimizer.state[params[0]]["step"]
    optimizer.step()
    assert optimizer.state[params[0]]["step"] is made
    assert optimizer.state[params[0]]["step"].item() == 2.0
    assert optimizer.state[params[0]]["step"].dtype == tandem.float32


# --- schedules ------------------------------------------------------------------------------------------------------


def rates(make, steps=8, lr=1.0, **options):
    optimizer = optim.SGD([nn.Parameter(tandem.ones(1))], lr=lr, **options)
    schedule = make(optimizer)
    out = []
    for _ in range(steps):
        out.append(schedule.get_last_lr()[0])
        assert optimizer.param_groups[0]["lr"] == out[-1]
        optimizer.step()
        schedule.step()
    return out


S = optim.lr_scheduler


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda o: S.StepLR(o, 3, 0.5), lambda t: 0.5 ** (t // 3)),
        (lambda o: S.MultiStepLR(o, [2, 5, 5], 0.5), lambda t: 0.5 ** ((t >= 2) + 2 * (t >= 5))),
        (lambda o: S.ConstantLR(o, 0.5, 4), lambda t: 0.5 if t < 4 else 1.0),
        (lambda o: S.LinearLR(o, 0.2, 1.0, 4), lambda t: 0.2 + 0.8 * min(t, 4) / 4),
        (lambda o: S.ExponentialLR(o, 0.9), lambda t: 0.9**t),
        (lambda o: S.PolynomialLR(o, 6, 2.0), lambda t: max(0.0, 1 - t / 6) ** 2),
        (lambda o: S.CosineAnnealingLR(o, 4, 0.1), lambda t: 0.1 + 0.45 * (1 + math.cos(math.pi * t / 4))),
        (lambda o: S.CosineAnnealingWarmRestarts(o, 4), lambda t: 0.5 * (1 + math.cos(math.pi * (t % 4) / 4))),
        (lambda o: S.LambdaLR(o, lambda t: 1 / (1 + t)), lambda t: 1 / (1 + t)),
        (lambda o: S.MultiplicativeLR(o, lambda t: 0.8), lambda t: 0.8**t),
        (
            lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 99), S.ExponentialLR(o, 0.5)], [3]),
            lambda t: 0.1 if t < 3 else 0.5 ** (t - 3),
        ),
        (
            lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.5, 2), S.ExponentialLR(o, 0.5)]),
            lambda t: (0.5 if t < 2 else 1.0) * 0.5**t,
        ),
    ],
)
def test_schedule(make, expected):
    np.testing.assert_allclose(rates(make), [expected(t) for t in range(8)], rtol=1e-9, atol=1e-12)


def test_one_cycle():
    out = rates(lambda o: S.OneCycleLR(o, 1.0, total_steps=11, pct_start=0.5), 11, momentum=0.9)
    assert math.isclose(out[0], 0.04) and math.isclose(max(out), 1.0, rel_tol=0.1) and math.isclose(out[-1], 4e-6)
    assert out[:5] == sorted(out[:5]) and out[5:] == sorted(out[5:], reverse=True)
    optimizer = optim.Adam([nn.Parameter(tandem.ones(1))])
    schedule = S.OneCycleLR(optimizer, 1.0, total_steps=10)
    assert optimizer.param_groups[0]["betas"][0] == 0.95
    for _ in range(10):
        optimizer.step()
        schedule.step()
    with pytest.raises(ValueError, match="Tried to step 11 times"):
        schedule.step()


def test_reduce_on_plateau_and_schedule_state():
    optimizer = optim.SGD([nn.Parameter(tandem.ones(1))], lr=1.0)
    schedule = S.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, min_lr=0.3)
    out = []
    for metric in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0):
        schedule.step(metric)
        out.append(optimizer.param_groups[0]["lr"])
    assert out == [1.0, 1.0, 1.0, 0.5, 0.5, 0.3, 0.3]
    other = S.ReduceLROnPlateau(optim.SGD([nn.Parameter(tandem.ones(1))], lr=1.0))
    other.load_state_dict(schedule.state_dict())
    assert other.best == 2.0 and other.patience == 1


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adafactor(weight_decay):
    def update(p, g, state, t):
        eps = np.finfo(np.float64).eps
        kept = t**-0.8
        alpha = max(1e-3, np.sqrt(np.mean(p * p))) * min(0.05, 1 / math.sqrt(t))
        p = p * (1 - 0.05 * weight_decay)
        if p.ndim > 1:
            rows = state["r"] = (1 - kept) * state.get("r", 0) + kept * (g * g).mean(-1, keepdims=True)
            columns = state["c"] = (1 - kept) * state.get("c", 0) + kept * (g * g).mean(-2, keepdims=True)
            v = rows @ columns / rows.mean(-2, keepdims=True)
        else:
            v = state["v"] = (1 - kept) * state.get("v", 0) + kept * g * g
        u = g / np.sqrt(np.maximum(v, eps * eps))
        return p - alpha * u / max(1, np.sqrt(np.mean(u * u)))

    found = run(lambda params: optim.Adafactor(params, lr=0.05, weight_decay=weight_decay))
    for j, start in enumerate(START):
        p, state, t = start.copy(), {}, 0
        for i, grads in enumerate(GRADS):
            if (i, j) != (3, 1):
                t += 1
                p = update(p, grads[j], state, t)
        np.testing.assert_allclose(found[j], p, rtol=1e-9)


@pytest.mark.parametrize("kind", ["Adafactor", "Muon"])
def test_optimizers_of_matrices_compiled(kind):
    def steps(compiled):
        p = nn.Parameter(tandem.ones(3, 4))
        optimizer = getattr(optim, kind)([p], lr=0.1, weight_decay=0.01)

        def step(x):
            optimizer.zero_grad()
            (p * x).square().sum().backward()
            optimizer.step()

        step = tandem.compile(step) if compiled else step
        for i in range(4):
            optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
            step(tandem.arange(12.0).reshape(3, 4))
        return p.detach()

    assert tandem.equal(steps(True), steps(False))


@pytest.mark.parametrize("options", [{}, {"nesterov": False, "weight_decay": 0.0, "adjust_lr_fn": "match_rms_adamw"}])
@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (5, 5)])
def test_muon(shape, options):
    rng = np.random.default_rng(2)
    start, grads = rng.normal(size=shape), rng.normal(size=(3, *shape))
    p = nn.Parameter(tandem.tensor(start))
    optimizer = optim.Muon([p], lr=0.1, **options)
    want, mean = start, 0.0
    ratio = math.sqrt(max(1, shape[0] / shape[1])) if not options else 0.2 * math.sqrt(max(shape))
    for g in grads:
        p.grad = tandem.tensor(g)
        optimizer.step()
        mean = 0.95 * mean + 0.05 * g
        u = mean if options else 0.95 * mean + 0.05 * g
        x = u / np.linalg.norm(u)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        want = want * (1 if options else 0.99) - 0.1 * ratio * x
        # A step has the rounding of bfloat16.
        np.testing.assert_allclose(p.detach(), want, atol=0.03 * ratio * 0.1 * len(grads))
        want = p.detach().numpy().copy()
    assert optimizer.state[p]["momentum_buffer"].dtype is tandem.float64


def test_what_muon_refuses():
    matrix = nn.Parameter(tandem.ones(2, 2))
    for params, options, words in (
        ([nn.Parameter(tandem.ones(2))], {}, "only supports 2D parameters"),
        ([matrix], {"lr": -1.0}, "Learning rate should be >= 0 but is: -1.0"),
        ([matrix], {"momentum": -1.0}, "momentum should be >= 0"),
        ([matrix], {"adjust_lr_fn": "none"}, "none is not supported"),
        ([matrix], {"ns_steps": 100}, "less than 100"),
        ([matrix], {"ns_coefficients": (1.0,)}, "exactly 3 values"),
    ):
        with pytest.raises(ValueError, match=words):
            optim.Muon(params, **options)


def test_the_first_buffer_of_a_differentiable_sgd_has_no_history():
    for nesterov, expected in ((False, 1.0), (True, 1 - 0.1 * 2)):
        w = tandem.ones(1, requires_grad=True)
        p = w.clone()
        p.retain_grad()
        optimizer = optim.SGD([p], lr=0.1, momentum=0.9, nesterov=nesterov, differentiable=True)
        (p.grad,) = tandem.autograd.grad((p * p).sum(), p, create_graph=True)
        optimizer.step()
        p.sum().backward()
        assert w.grad.item() == pytest.approx(expected)


def test_groups_have_names_or_none():
    a, b = tandem.nn.Parameter(tandem.ones(1)), tandem.nn.Parameter(tandem.ones(1))
    for first, second in (([("a", a)], [b]), ([a], [("b", b)])):
        with pytest.raises(ValueError, match="all optimizer param groups should be with/without names"):
            tandem.optim.SGD([{"params": first}, {"params": second}])


def test_groups_are_the_dicts_that_were_given():
    a, b = (tandem.nn.Parameter(tandem.ones(1)) for _ in range(2))
    groups = [{"params": a, "lr": 0.5}, {"params": (b,)}]
    optimizer = tandem.optim.SGD(groups, lr=1.0)
    assert all(x is y for x, y in zip(groups, optimizer.param_groups, strict=True))
    assert groups[0]["params"] == [a] and groups[1]["lr"] == 1.0
    groups[1]["lr"] = 0.25
    for p in (a, b):
        p.grad = tandem.ones(1)
    optimizer.step()
    assert (a.item(), b.item()) == (0.5, 0.75)


def test_differentiable_steps_of_results():
    start, lr = tandem.tensor([2.0], requires_grad=True), 0.25
    weight = start.clone()
    optimizer = tandem.optim.SGD([weight], lr=lr, differentiable=True)
    weight.grad = weight.detach() * 4
    optimizer.step()
    assert weight.item() == 0
    with pytest.raises(ValueError, match="non-leaf"):
        tandem.optim.SGD([start.clone()], lr=lr)


@pytest.mark.parametrize("dtype", [tandem.float32, tandem.float64])
def test_differentiable_asgd_has_a_backward(dtype):
    w = tandem.ones(3, dtype=dtype, requires_grad=True)
    g = tandem.full((3,), 0.5, dtype=dtype, requires_grad=True)
    p = w.clone()
    p.retain_grad()
    p.grad = g
    optimizer = tandem.optim.ASGD([p], lr=0.1, lambd=0.5, t0=0, differentiable=True)
    optimizer.state[p].update(
        step=tandem.tensor(0.0, dtype=dtype),
        eta=tandem.tensor(0.1, dtype=dtype),
        mu=tandem.tensor(1.0, dtype=dtype),
        ax=tandem.zeros(3, dtype=dtype),
    )
    optimizer.step()
    optimizer.step()
    optimizer.state[p]["ax"].sum().backward()  # that is p, as mu is still 1
    first, second = 0.1, 0.1 / (1 + 0.5 * 0.1) ** 0.75  # the rates
    assert w.grad.tolist() == pytest.approx([(1 - 0.5 * first) * (1 - 0.5 * second)] * 3)
    assert g.grad.tolist() == pytest.approx([-first * (1 - 0.5 * second) - second] * 3)
