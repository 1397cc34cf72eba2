"""Steps of every optimizer in every mode, differentiated, with rates as tensors; options and hooks; L-BFGS."""

import copy
import pickle

import numpy as np
import pytest
from compiling import Net, counting, vector
from conftest import assert_same_bits

import tandem
from tandem import nn, optim
from tandem.optim.lbfgs import _cubic_interpolate, _strong_wolfe

# Options that reach every branch of the updates.
CASES = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01},
    "Nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
    "Adam": {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True},
    "AdamW": {"lr": 0.01, "weight_decay": 0.1},
    "Adamax": {"lr": 0.01, "weight_decay": 0.1},
    "NAdam": {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True},
    "RAdam": {"lr": 0.01, "betas": (0.8, 0.9)},
    "RMSprop": {"lr": 0.01, "momentum": 0.9},
    "Centered": {"lr": 0.01, "centered": True},
    "Adagrad": {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1},
    "Adadelta": {"lr": 1.0, "weight_decay": 0.1},
    "Rprop": {"lr": 0.01},
    "ASGD": {"lr": 0.1, "t0": 2.0, "lambd": 0.01},
}
KINDS = {"Nesterov": "SGD", "Centered": "RMSprop"}
DATA = [(tandem.randn(16, 6), tandem.randint(0, 3, (16,))) for _ in range(3)]


def make(case, params, **options):
    return getattr(optim, KINDS.get(case, case))(params, **{**CASES[case], **options})


def train(case, mode, steps=7):
    """Parameters and state after some steps under a schedule, and how often the Python of a step ran."""
    tandem.manual_seed(3)
    net = Net()
    optimizer = make(case, net.parameters())
    schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    go = counting(step) if mode == "compile" else step
    for i in range(steps):
        if mode == "lazy":
            with tandem.lazy():
                go(*DATA[i % 3])
        else:
            go(*DATA[i % 3])
        schedule.step()
    state = optimizer.state_dict()["state"]
    values = [p.detach() for p in net.parameters()] + [v for s in state.values() for v in s.values()]
    return values, getattr(go, "runs", 0)


@pytest.mark.parametrize("mode", ["lazy", "compile"])
@pytest.mark.parametrize("case", CASES)
def test_modes_agree(case, mode):
    eager, _ = train(case, "eager")
    other, runs = train(case, mode)
    assert runs <= 3, "a new rate is no new trace"
    assert len(eager) == len(other)
    for a, b in zip(eager, other, strict=True):
        assert_same_bits(a, b)


def test_a_compiled_step_reads_every_number_again():
    w = nn.Parameter(vector(1, 2))
    optimizer = optim.SGD([w], lr=1)
    w.grad = vector(1, 1)
    step = counting(optimizer.step)
    for _ in range(3):
        step()
    runs = step.runs
    group = optimizer.param_groups[0]
    group["lr"] = 2
    step()
    assert w.tolist() == [-4, -3] and step.runs == runs
    group["maximize"] = True
    step()
    assert w.tolist() == [-2, -1] and step.runs == runs
    group["momentum"] = 0.5  # from none to some: there are buffers now
    for _ in range(3):
        step()
    with_buffers = step.runs
    group["momentum"] = 0.25
    step()
    assert runs < with_buffers == step.runs


@pytest.mark.parametrize("case", CASES)
def test_rates_as_tensors(case):
    a, b = nn.Parameter(vector(1, -2)), nn.Parameter(vector(1, -2))
    lr = tandem.tensor([CASES[case]["lr"]], dtype=tandem.float64)
    plain, other = make(case, [a]), make(case, [b], lr=lr)
    step = tandem.compile(other.step)
    for i in range(5):
        a.grad, b.grad = vector(i, 0.5), vector(i, 0.5)
        plain.step()
        step()
        plain.param_groups[0]["lr"] *= 0.5
        lr.mul_(0.5)
    assert_same_bits(a.detach(), b.detach())


def test_numbers_and_their_checks():
    w = [nn.Parameter(vector(1))]
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        optim.Adagrad(w, lr=vector(1, 2))
    with pytest.raises(ValueError, match="betas must be either both floats or both Tensors"):
        optim.Adam(w, betas=(tandem.tensor(0.9), 0.99))
    with pytest.raises(ValueError, match="lr as a Tensor is not supported for capturable=False and foreach=True"):
        optim.Adam(w, lr=tandem.tensor(0.1), foreach=True)
    for options, text in [
        ({"fused": True, "differentiable": True}, "`fused` does not support `differentiable`"),
        ({"fused": True, "foreach": True}, "`fused` and `foreach` cannot be `True` together."),
    ]:
        with pytest.raises(RuntimeError, match=text):
            optim.Adam(w, **options)
    for name, options, text in [
        ("Rprop", {"etas": (1.5, 0.5)}, "Invalid eta values: 1.5, 0.5"),
        ("Adadelta", {"rho": 1.5}, "Invalid rho value: 1.5"),
        ("Adagrad", {"eps": -1}, "Invalid epsilon value: -1"),
        ("NAdam", {"momentum_decay": -1}, "Invalid momentum_decay value: -1"),
        ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"),
        ("ASGD", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
    ]:
        with pytest.raises(ValueError, match=text):
            getattr(optim, name)(w, **options)
    for case in CASES:
        make(case, w, foreach=True, differentiable=False)
    assert list(optim.AdamW(w, fused=True, capturable=True).defaults.items())[:2] == [
        ("lr", 1e-3),
        ("betas", (0.9, 0.999)),
    ]


@pytest.mark.parametrize("case", [c for c in CASES if c not in ("Rprop", "ASGD")])
def test_steps_can_be_differentiated(case):
    """With respect to where the parameter starts and to the rate, against central differences. The first buffer of SGD
    is a gradient's value without its history: these begin with one of zeros."""

    def loss(start, lr):
        p = start.clone()
        p.retain_grad()
        optimizer = make(case, [p], lr=lr, differentiable=True)
        if case in ("SGD", "Nesterov"):
            optimizer.state[p]["momentum_buffer"] = tandem.zeros_like(p)
        for _ in range(3):
            p.grad = p.clone() ** 3 + start
            optimizer.step()
        return (p * p).sum()

    start = tandem.tensor([1.0, -2.0, 0.5], dtype=tandem.float64, requires_grad=True)
    lr = tandem.tensor(0.05, dtype=tandem.float64, requires_grad=True)
    assert tandem.autograd.gradcheck(loss, (start, lr), eps=1e-5, atol=2e-3, rtol=2e-3)


def test_the_state_has_pytorchs_names():
    names = {
        "SGD": ["momentum_buffer"],
        "Adam": ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"],
        "Adamax": ["exp_avg", "exp_inf", "step"],
        "NAdam": ["exp_avg", "exp_avg_sq", "mu_product", "step"],
        "RMSprop": ["momentum_buffer", "square_avg", "step"],
        "Centered": ["grad_avg", "square_avg", "step"],
        "Adagrad": ["step", "sum"],
        "Adadelta": ["acc_delta", "square_avg", "step"],
        "Rprop": ["prev", "step", "step_size"],
        "ASGD": ["ax", "eta", "mu", "step"],
    }
    for case, expected in names.items():
        w = nn.Parameter(vector(1, 2))
        w.grad = vector(1, 1)
        optimizer = make(case, [w])
        optimizer.step()
        assert sorted(optimizer.state[w]) == expected
        assert optimizer.state_dict()["param_groups"][0]["params"] == [0]
    w.grad = vector(1, 1)
    plain = optim.SGD([w], lr=0.1)
    plain.step()
    assert plain.state_dict()["state"] == {}


def test_a_state_of_an_older_version_loads():
    w = nn.Parameter(vector(1, 2))
    optimizer = optim.AdamW([w])
    state = {"step": 3, "exp_avg": vector(0, 0), "exp_avg_sq": vector(1, 1)}
    optimizer.load_state_dict({"state": {0: state}, "param_groups": [{"lr": 0.5, "betas": (0.9, 0.99), "params": [0]}]})
    group = optimizer.param_groups[0]
    assert group["maximize"] is False and group["decoupled_weight_decay"] is True and group["eps"] == 1e-8
    w.grad = vector(1, 1)
    optimizer.step()
    assert optimizer.state[w]["step"].item() == 4


def test_hooks_of_all_optimizers():
    from tandem.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    w = nn.Parameter(vector(1))
    w.grad = vector(1)
    a, b, log = optim.SGD([w]), optim.Adam([w]), []
    handles = [
        register_optimizer_step_pre_hook(lambda o, args, kwargs: log.append(("pre", type(o).__name__))),
        register_optimizer_step_post_hook(lambda o, args, kwargs: log.append(("post", type(o).__name__))),
    ]
    a.step(), b.step()
    for handle in handles:
        handle.remove()
    a.step()
    assert log == [("pre", "SGD"), ("post", "SGD"), ("pre", "Adam"), ("post", "Adam")]


def test_zero_grad_keeps_the_tensor():
    w = nn.Parameter(vector(1, 2))
    w.grad = kept = vector(3, 4)
    optim.SGD([w]).zero_grad(set_to_none=False)
    assert w.grad is kept and kept.tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [tandem.float16, tandem.bfloat16, tandem.float64])
@pytest.mark.parametrize("case", CASES)
def test_other_dtypes_and_layouts(case, dtype):
    start = tandem.arange(12, dtype=tandem.float32).reshape(3, 4) / 8 - 0.5
    w = nn.Parameter(start.to(dtype).t())
    empty = nn.Parameter(tandem.zeros(0, 3, dtype=dtype))
    optimizer = make(case, [w, empty])
    flat = nn.Parameter(start.to(dtype).t().contiguous())
    other = make(case, [flat])
    for _ in range(3):
        w.grad, flat.grad = (w.detach() * 0.5).contiguous(), flat.detach() * 0.5
        empty.grad = tandem.zeros_like(empty)
        optimizer.step()
        other.step()
    assert_same_bits(w.detach().contiguous(), flat.detach())
    assert w.dtype == dtype and bool(tandem.isfinite(w).all()) and not tandem.equal(w.detach(), start.to(dtype).t())


# ---- L-BFGS ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("mode", ["eager", "lazy", "compile"])
def test_lbfgs_finds_the_minimum(search, mode):
    x = nn.Parameter(tandem.tensor([-1.2, 1.0], dtype=tandem.float64))
    optimizer = optim.LBFGS([x], lr=1.0 if search else 0.02, max_iter=60, tolerance_change=1e-14, line_search_fn=search)

    def closure():
        optimizer.zero_grad()
        loss = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2 if search else ((x - 1) ** 4).sum() + (x**2).sum()
        loss.backward()
        return loss

    used = tandem.compile(closure) if mode == "compile" else closure
    first = None
    for _ in range(5):
        if mode == "lazy":
            with tandem.lazy():
                loss = optimizer.step(used)
        else:
            loss = optimizer.step(used)
        first = loss.item() if first is None else first
    state = optimizer.state_dict()["state"][0]
    assert state["func_evals"] >= state["n_iter"] and closure().item() < first
    if search:
        np.testing.assert_allclose(x.tolist(), [1, 1], atol=1e-6)


def test_the_line_search_of_lbfgs_by_itself():
    def tensor(x):
        return tandem.tensor(x, dtype=tandem.float64)

    points = (0.0, 1.0, tensor(-1.0)), (2.0, 1.5, tensor(3.0))
    for ends in (points, points[::-1]):
        found = [float(_cubic_interpolate(*ends[0], *ends[1], bounds=b)) for b in (None, (0.5, 0.7), (1.0, 5.0))]
        assert found == pytest.approx([1.0604448605908368, 0.7, 1.0604448605908368])
    without = (0.0, 1.0, tensor(1.0), 2.0, 2.5, tensor(1.0))  # a minimum
    assert _cubic_interpolate(*without) == 1 and _cubic_interpolate(*without, bounds=(1.0, 5.0)) == 3
    assert _cubic_interpolate(0, 1.0, -1.0, 2, 1.5, 3.0) == pytest.approx(1.0604448605908368)

    lengths = []

    def objective(x, t, d):
        lengths.append(float(t))
        p = x + t * d
        return float((p**4 - 3 * p**2 + p).sum()), 4 * p**3 - 6 * p + 1

    x = tensor([0.3, 2.0])
    loss, grad = objective(x, 0.0, x)
    for t, flatness, expected in (
        (0.001, 0.9, (3.8761966285587057, 0.005505, 2)),
        (0.001, 0.1, (-1.0344610567722823, 0.0447214996819056, 4)),
        (0.1, 0.9, (-0.15104587466135053, 0.1, 1)),
        (3.0, 0.9, (-0.23385221038149173, 0.10223235784479268, 5)),
    ):
        lengths.clear()
        found, at, length, evaluations = _strong_wolfe(objective, x, t, -grad, loss, grad, -grad.dot(grad), c2=flatness)
        assert (found, float(length), evaluations) == pytest.approx(expected) and len(lengths) == evaluations
        assert_same_bits(at, objective(x, length, -grad)[1])


def test_lbfgs_errors_and_state():
    a, b = nn.Parameter(vector(1)), nn.Parameter(vector(2))
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [a]}, {"params": [b]}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.LBFGS([a], line_search_fn="golden").step(lambda: a.sum())

    def run(param, optimizer, steps):
        def closure():
            optimizer.zero_grad()
            loss = ((param - 3) ** 4).sum()
            loss.backward()
            return loss

        for _ in range(steps):
            optimizer.step(closure)

    first = optim.LBFGS([a], max_iter=2)
    run(a, first, 2)
    c = nn.Parameter(a.detach().clone())
    second = optim.LBFGS([c], max_iter=2)
    second.load_state_dict(first.state_dict())
    run(a, first, 2), run(c, second, 2)
    assert_same_bits(a.detach(), c.detach())


def test_lbfgs_goes_on_from_where_there_is_no_slope():
    a = nn.Parameter(tandem.zeros(2))
    optimizer = optim.LBFGS([a], tolerance_grad=-float("inf"))

    def closure():
        optimizer.zero_grad()
        loss = (a**2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 0 and a.tolist() == [0, 0]


@pytest.mark.parametrize("mode", ["eager", "lazy", "compiled"])
@pytest.mark.parametrize("case", [case for case in CASES if KINDS.get(case, case) != "SGD"])  # of it the next test
def test_a_parameter_that_comes_twice_is_updated_twice(case, mode):
    """Each time from what the update before left, the count of steps included: as a step, and another one of it alone.
    PyTorch's loop gives this; its lists and fused kernels count both steps first."""

    def train(repeats):
        p = tandem.tensor([[1.0, 2.0], [-0.5, 3.0]], requires_grad=True)
        q = tandem.tensor([0.5], requires_grad=True)
        if not repeats:
            optimizer = make(case, [p, q])
        else:
            with pytest.warns(UserWarning, match="duplicate parameters"):
                optimizer = make(case, [p, q, p])

        def step(scale):
            optimizer.zero_grad()
            ((p * p).sum() * scale + (p * q).sum()).backward()
            optimizer.step()
            if not repeats:
                q.grad = None
                optimizer.step()

        if mode == "compiled":
            step = tandem.compile(step)
        for i in range(4):
            if mode == "lazy":
                with tandem.lazy():
                    step(i + 1.0)
            else:
                step(i + 1.0)
        return [p, q, *(v for s in optimizer.state.values() for v in s.values())]

    for ours, expected in zip(train(True), train(False), strict=True):
        assert_same_bits(ours, expected)


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
@pytest.mark.parametrize("form", [{}, {"foreach": True}, {"fused": True}, {"foreach": False}])
def test_values_of_a_parameter_that_comes_twice(form):
    """Those of PyTorch's loop after four steps; the number of such a parameter is that of its last place."""
    for name, options, expected in [
        ("SGD", {"momentum": 0.9}, [1.30165, 2.26661, -0.14578, 3.23157]),
        ("SGD", {"momentum": 0.9, "nesterov": True}, [-0.58568, -1.11756, 0.21214, -1.64943]),
        ("Adam", {}, [0.19625, 1.19812, 0.13293, 2.20095]),
        ("AdamW", {"amsgrad": True}, [0.19117, 1.18486, 0.13227, 2.17969]),
        ("Adagrad", {"lr_decay": 0.1}, [0.59431, 1.57809, -0.10263, 2.57316]),
    ]:
        p = tandem.tensor([[1.0, 2.0], [-0.5, 3.0]], requires_grad=True)
        q = tandem.tensor([0.5], requires_grad=True)
        optimizer = getattr(optim, name)([p, q, p], lr=0.1, **options, **form)
        for i in range(4):
            optimizer.zero_grad()
            ((p * p).sum() * (i + 1) + (p * q).sum()).backward()
            optimizer.step()
            saved = optimizer.state_dict()
            assert sorted(saved["state"]) == [1, 2] and saved["param_groups"][0]["params"] == [2, 1, 2]
            restored = getattr(optim, name)([p, q, p], lr=1.0, **options, **form)
            restored.load_state_dict(saved)
            optimizer = restored
        assert p.flatten().tolist() == pytest.approx(expected, abs=1e-5), name


class Counting(optim.Optimizer):
    """An optimizer as programs write them: its state has numbers, and its groups what it puts there."""

    def __init__(self, params, lr=0.5, scale=2.0):
        super().__init__(params, {"lr": lr, "scale": scale})

    def __setstate__(self, state):
        super().__setstate__(state)
        self.old = ["scale" not in group for group in self.param_groups]
        for group in self.param_groups:
            group.setdefault("scale", 1.0)

    @tandem.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["step"] = state.get("step", 0) + 1
                p.sub_(p.grad, alpha=group["lr"] * group["scale"] / 3 ** state["step"])


@pytest.mark.parametrize("copied", ["state", "pickle", "deepcopy"])
def test_state_of_a_programs_own_optimizer_is_left_as_it_is(copied):
    p = tandem.nn.Parameter(tandem.ones(2))
    p.grad = tandem.ones(2)
    first = Counting([p])
    first.step()
    if copied == "state":
        saved = first.state_dict()
        del saved["param_groups"][0]["scale"]
        second = Counting([p])
        second.load_state_dict(saved)
        assert second.old == [True] and second.param_groups[0]["scale"] == 1
    else:
        second = pickle.loads(pickle.dumps(first)) if copied == "pickle" else copy.deepcopy(first)
        assert second.old == [False] and second.param_groups[0]["scale"] == 2
    (state,) = second.state.values()
    assert state == {"step": 1} and type(state["step"]) is int
