"""Modules: attribute rules, state, hooks, conversion, text, initial values."""

import copy
import math
import pickle

import numpy as np
import pytest
from arrays import array, close, tensor

import tandem
from tandem import nn
from tandem.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.inner = nn.Sequential(nn.Tanh(), nn.Linear(4, 2, bias=False))
        self.scale = nn.Parameter(tandem.ones(2))
        self.register_buffer("count", tandem.zeros(1))
        self.register_buffer("scratch", tandem.zeros(1), persistent=False)

    def forward(self, x):
        return self.inner(self.first(x)) * self.scale


# --- attributes -----------------------------------------------------------------------------------------------------


def test_members_are_sorted_by_kind_and_named_by_path():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias", "inner.1.weight"]
    assert [n for n, _ in net.named_buffers()] == ["count", "scratch"]
    assert [n for n, _ in net.named_children()] == ["first", "inner"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "inner", "inner.0", "inner.1"]
    assert [n for n, _ in net.named_parameters(prefix="net", recurse=False)] == ["net.scale"]
    assert net.get_submodule("inner.1") is net.inner[1]
    assert net.get_parameter("first.bias") is net.first.bias
    assert net.get_buffer("count") is net.count
    assert {"first", "scale", "count", "training"} <= set(dir(net))


def test_shared_members_are_given_once():
    net = nn.Module()
    net.a = nn.Linear(2, 2)
    net.b = net.a
    net.w = net.a.weight
    assert len(list(net.parameters())) == 2
    assert len(list(net.modules())) == 2
    assert len(list(net.named_parameters(remove_duplicate=False))) == 5


def test_assignment_rules():
    net = Net()
    with pytest.raises(TypeError, match="cannot assign .* as parameter 'scale'"):
        net.scale = tandem.ones(2)
    with pytest.raises(TypeError, match="cannot assign .* as child module 'first'"):
        net.first = 3
    with pytest.raises(TypeError, match="cannot assign .* as buffer 'count'"):
        net.count = "text"
    net.scale = None
    assert net.scale is None and "scale" not in net.state_dict()
    net.count = tandem.ones(1)
    assert net.state_dict()["count"].tolist() == [1.0]
    net.plain = 3
    net.plain = nn.Parameter(tandem.ones(1))
    assert "plain" not in net.__dict__ and net.plain.requires_grad
    del net.plain
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'plain'"):
        net.plain  # noqa: B018


def test_registration_rules():
    class Early(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(tandem.ones(1))

    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        Early()
    net = Net()
    with pytest.raises(KeyError, match="attribute 'first' already exists"):
        net.register_parameter("first", None)
    with pytest.raises(KeyError, match="buffer name can"):
        net.register_buffer("a.b", tandem.ones(1))
    with pytest.raises(TypeError, match="is not a Module subclass"):
        net.add_module("x", 3)
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor"):
        net.register_parameter("derived", _non_leaf(net.scale))


def _non_leaf(parameter):
    derived = nn.Parameter(tandem.ones(2))
    with tandem.enable_grad():
        derived.requires_grad_(False)
        derived.mul_(parameter)
    return derived


# --- state ----------------------------------------------------------------------------------------------------------


def test_state_dict_round_trip():
    tandem.manual_seed(0)
    a, b = Net(), Net()
    state = a.state_dict()
    assert list(state) == ["scale", "count", "first.weight", "first.bias", "inner.1.weight"]
    assert not state["scale"].requires_grad and a.state_dict(keep_vars=True)["scale"] is a.scale
    assert str(b.load_state_dict(state)) == "<All keys matched successfully>"
    x = tandem.ones(1, 3)
    assert a(x).tolist() == b(x).tolist()


def test_load_state_dict_says_everything_that_does_not_fit():
    net = Net()
    state = net.state_dict()
    del state["first.bias"]
    state["other"] = tandem.ones(1)
    state["scale"] = tandem.ones(5)
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    text = str(error.value)
    assert text.startswith("Error(s) in loading state_dict for Net:\n\t")
    assert 'Missing key(s) in state_dict: "first.bias". ' in text
    assert 'Unexpected key(s) in state_dict: "other". ' in text
    assert "size mismatch for scale: copying a param with shape" in text
    del state["scale"]
    keys = net.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["scale", "first.bias"] and keys.unexpected_keys == ["other"]


def test_a_plain_dict_may_lack_the_count_of_batches():
    for norm in (nn.BatchNorm2d(2), nn.InstanceNorm1d(2, track_running_stats=True)):
        norm.num_batches_tracked.fill_(7)
        state = norm.state_dict()
        plain = {k: v for k, v in state.items() if k != "num_batches_tracked"}
        assert str(norm.load_state_dict(plain)) == "<All keys matched successfully>"
        assert norm.num_batches_tracked.item() == 7
        # A state that says that it counts has to have the count.
        del state["num_batches_tracked"]
        assert norm.load_state_dict(state, strict=False).missing_keys == ["num_batches_tracked"]


def test_load_state_dict_assign_takes_the_tensors():
    net = nn.Linear(2, 2)
    weight = tandem.ones(2, 2)
    net.load_state_dict({"weight": weight, "bias": tandem.zeros(2)}, assign=True)
    assert isinstance(net.weight, nn.Parameter) and net.weight.requires_grad
    with tandem.no_grad():
        weight.fill_(3.0)
    assert net.weight.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_extra_state_and_state_hooks():
    class Extra(nn.Module):
        note = "a"

        def get_extra_state(self):
            return {"note": self.note}

        def set_extra_state(self, state):
            self.note = state["note"]

    a, b = Extra(), Extra()
    a.note = "b"
    a.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(hooked=tandem.ones(1)))
    state = a.state_dict()
    assert state["_extra_state"] == {"note": "b"} and "hooked" in state
    b.register_load_state_dict_pre_hook(lambda m, state, *rest: state.pop("hooked"))
    seen = []
    b.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys.missing_keys))
    b.load_state_dict(state)
    assert b.note == "b" and seen == [[]]


def test_copies_and_pickles_are_independent():
    net = Net()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert [n for n, _ in other.named_parameters()] == [n for n, _ in net.named_parameters()]
        assert other.scale is not net.scale and isinstance(other.scale, nn.Parameter)
        with tandem.no_grad():
            other.scale.fill_(7.0)
        assert net.scale.tolist() == [1.0, 1.0]
    shared = nn.Module()
    shared.a = nn.Parameter(tandem.ones(1))
    shared.b = shared.a
    twin = copy.deepcopy(shared)
    assert twin.a is twin.b


# --- calling --------------------------------------------------------------------------------------------------------


def test_forward_hooks_run_in_order_and_replace():
    net = nn.Identity()
    log = []
    net.register_forward_pre_hook(lambda m, args: (log.append("pre"), (args[0] + 1,))[1])
    last = net.register_forward_hook(lambda m, args, out: (log.append("post"), out * 10)[1])
    net.register_forward_hook(lambda m, args, kwargs, out: log.append(sorted(kwargs)), with_kwargs=True, prepend=True)
    assert net(tandem.ones(1)).item() == 20.0
    assert log == ["pre", [], "post"]
    last.remove()
    assert net(tandem.ones(1)).item() == 2.0


def test_pre_hook_with_kwargs_and_always_call():
    class Fails(nn.Module):
        def forward(self, x, scale=1.0):
            if scale == 0:
                raise ArithmeticError("zero")
            return x * scale

    net, log = Fails(), []
    net.register_forward_pre_hook(lambda m, a, k: (a, {"scale": k.get("scale", 1.0) * 2}), with_kwargs=True)
    net.register_forward_hook(lambda m, a, out: log.append(out is None), always_call=True)
    assert net(tandem.ones(1), scale=3.0).item() == 6.0
    with pytest.raises(ArithmeticError):
        net(tandem.ones(1), scale=0)
    assert log == [False, True]


def test_full_backward_hooks():
    net = nn.Linear(2, 1)
    seen = []
    net.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    handle = net.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    x = tandem.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    weight = net.weight.detach()
    assert seen == [((weight * 2).tolist(), [[2.0]])]
    assert net.bias.grad.tolist() == [2.0]
    handle.remove()
    net.register_full_backward_hook(lambda m, gi, go: (gi[0] * 0,))
    x.grad = None
    net(x).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]]


def test_train_eval_apply_and_zero_grad():
    net = Net()
    net.eval()
    assert not any(m.training for m in net.modules())
    with pytest.raises(ValueError, match="boolean"):
        net.train(1)
    names = []
    net.train().apply(lambda m: names.append(type(m).__name__))
    assert names == ["Linear", "Tanh", "Linear", "Sequential", "Net"]
    net(tandem.ones(1, 3)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.tolist() == [0.0, 0.0]
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_conversion_keeps_parameters_and_integer_buffers():
    net = nn.Linear(2, 2)
    net.register_buffer("step", tandem.zeros(1, dtype=tandem.int64))
    weight = net.weight
    assert net.double() is net
    assert net.weight is weight and weight.dtype == tandem.float64 and net.step.dtype == tandem.int64
    assert net.half().bias.dtype == tandem.float16
    assert net.bfloat16().bias.dtype == tandem.bfloat16
    assert net.to(tandem.float32).bias.dtype == tandem.float32
    assert net.to("cpu", tandem.float64).bias.dtype == tandem.float64
    assert net.to(tandem.ones(1)).float().cpu().bias.dtype == tandem.float32
    with pytest.raises(TypeError, match="floating point"):
        net.to(tandem.int64)


def test_repr():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Dropout(0.5)))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Dropout(p=0.5, inplace=False)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Conv2d(4, 8, 3, padding=1, groups=2, bias=False)) == (
        "Conv2d(4, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2, bias=False)"
    )
    assert repr(nn.ConvTranspose1d(3, 4, 3, 2, output_padding=1, bias=False)) == (
        "ConvTranspose1d(3, 4, kernel_size=(3,), stride=(2,), output_padding=(1,), bias=False)"
    )
    assert repr(nn.Parameter(tandem.ones(1))).startswith("Parameter containing:\ntensor([1.]")


# --- containers -----------------------------------------------------------------------------------------------------


def test_sequential():
    a, b, c = nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)
    net = nn.Sequential(a, b, c)
    assert net[-1] is c and list(net[:2]) == [a, b] and len(net) == 3
    x = tandem.ones(4, 2)
    assert net(x).tolist() == c(b(a(x))).tolist()
    net.insert(1, nn.ReLU())
    assert list(net)[2] is b and [n for n, _ in net.named_children()] == ["0", "1", "2", "3"]
    del net[1]
    net.append(nn.Flatten())
    assert [n for n, _ in net.named_children()] == ["0", "1", "2", "3"] and net.pop(3) is not c
    net[1] = nn.ReLU()
    assert isinstance(net[1], nn.ReLU)
    with pytest.raises(IndexError):
        net[7]
    named = nn.Sequential({"in": a, "out": c})
    assert named[1] is c and isinstance(named.get_submodule("in"), nn.Linear)


def test_module_list_and_dict():
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers.extend([nn.Tanh()]).append(nn.ReLU())
    layers.insert(0, nn.Identity())
    assert [type(m).__name__ for m in layers] == ["Identity", "Linear", "Tanh", "ReLU"]
    assert isinstance(layers[1:3], nn.ModuleList) and len(list(layers.parameters())) == 2
    table = nn.ModuleDict({"a": nn.Linear(1, 1)})
    table["b"] = nn.ReLU()
    assert list(table.keys()) == ["a", "b"] and "a" in table and len(table) == 2
    table.pop("a")
    assert list(table.parameters()) == []


def test_places_in_lists_of_modules():
    several = nn.ModuleList(nn.Linear(1, i + 1) for i in range(4))
    several.add_module("last", nn.ReLU())  # by a name that is no place
    assert isinstance(several[4], nn.ReLU) and isinstance(several[-1], nn.ReLU)
    assert [several[i].out_features for i in (0, -5, 3, -2)] == [1, 1, 4, 4]
    named = nn.Sequential({"1": nn.ReLU(), "0": nn.Tanh()})
    assert isinstance(named[0], nn.ReLU) and isinstance(named[-1], nn.Tanh)
    for modules in (several, named):
        for index in (len(modules), -len(modules) - 1):
            with pytest.raises(IndexError, match=f"index {index} is out of range"):
                modules[index]
        with pytest.raises(TypeError):
            modules["0"]


def test_parameter_containers():
    values = nn.ParameterList([tandem.ones(2), nn.Parameter(tandem.zeros(1))])
    values.append(tandem.ones(3))
    assert len(values) == 3 and isinstance(values[0], nn.Parameter)
    assert [n for n, _ in values.named_parameters()] == ["0", "1", "2"]
    table = nn.ParameterDict({"w": tandem.ones(2)})
    table["b"] = tandem.zeros(1)
    assert list(table.state_dict()) == ["w", "b"] and table.pop("w").tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="should not be called"):
        values()


# --- initial values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "std"),
    [
        ("uniform_", {"a": -1.0, "b": 1.0}, 1 / math.sqrt(3)),
        ("normal_", {"std": 2.0}, 2.0),
        ("trunc_normal_", {}, 0.8796),
        ("xavier_uniform_", {"gain": 2.0}, 2 * math.sqrt(2 / 500)),
        ("xavier_normal_", {}, math.sqrt(2 / 500)),
        ("kaiming_uniform_", {"nonlinearity": "relu"}, math.sqrt(2 / 300)),
        ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "relu"}, math.sqrt(2 / 200)),
    ],
)
def test_initial_spread(name, options, std):
    tandem.manual_seed(0)
    w = getattr(nn.init, name)(nn.Parameter(tandem.empty(200, 300)), **options)
    values = w.detach().numpy()
    assert w.requires_grad and w.is_leaf
    assert abs(values.mean()) < 0.02 * std * 3 and abs(values.std() / std - 1) < 0.02


def test_other_initial_values():
    tandem.manual_seed(0)
    q = nn.init.orthogonal_(tandem.empty(3, 5), gain=2.0).numpy()
    np.testing.assert_allclose(q @ q.T, 4 * np.eye(3), atol=1e-5)
    for dtype, atol in ((tandem.bfloat16, 0.1), (tandem.float64, 1e-12)):
        q = nn.init.orthogonal_(tandem.empty(7, 2, 2, dtype=dtype)).double().reshape(7, 4).numpy()
        np.testing.assert_allclose(q.T @ q, np.eye(4), atol=atol)
    assert nn.init.eye_(tandem.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert nn.init.constant_(tandem.empty(2), 3.0).tolist() == [3.0, 3.0]
    w = nn.init.trunc_normal_(tandem.empty(1000), mean=1.0, std=0.5, a=0.5, b=1.2).numpy()
    assert w.min() >= 0.5 and w.max() <= np.float32(1.2)
    passed = F.conv2d(tandem.ones(1, 2, 3, 3), nn.init.dirac_(tandem.empty(2, 2, 3, 3)), padding=1)
    assert passed.tolist() == tandem.ones(1, 2, 3, 3).tolist()
    assert ((nn.init.sparse_(tandem.empty(10, 4), 0.3).numpy() == 0).sum(0) == 3).all()
    assert nn.init.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        nn.init.xavier_uniform_(tandem.empty(3))


def test_layers_start_the_same_from_one_seed():
    tandem.manual_seed(7)
    a = nn.Linear(5, 3)
    tandem.manual_seed(7)
    weight = tandem.empty(3, 5).uniform_(-1 / math.sqrt(5), 1 / math.sqrt(5))
    bias = tandem.empty(3).uniform_(-1 / math.sqrt(5), 1 / math.sqrt(5))
    np.testing.assert_allclose(a.weight.detach().numpy(), weight.numpy(), rtol=1e-6)
    np.testing.assert_allclose(a.bias.detach().numpy(), bias.numpy(), rtol=1e-6)


# --- utilities ------------------------------------------------------------------------------------------------------


def test_running_statistics_of_instances_without_momentum():
    """None is 0 there, and no average over all batches."""
    norm = nn.InstanceNorm1d(3, momentum=None, track_running_stats=True)
    norm(tandem.randn(2, 3, 5) + 7)
    assert norm.running_mean.tolist() == [0, 0, 0] and norm.running_var.tolist() == [1, 1, 1]


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, math.inf])
def test_clip_grad_norm(order):
    grads = [array(3, 2), array(4, seed=1) * 5]
    params = [nn.Parameter(tandem.zeros(*g.shape, dtype=tandem.float64)) for g in grads]
    for p, g in zip(params, grads, strict=True):
        p.grad = tensor(g)
    total = np.linalg.norm(np.concatenate([g.ravel() for g in grads]), order)
    close(nn.utils.clip_grad_norm_(params, 1.5, order), total)
    for p, g in zip(params, grads, strict=True):
        close(p.grad, g * min(1.0, 1.5 / (total + 1e-6)))
    close(nn.utils.clip_grad_norm_(params, 1e9, order), 1.5, 1e-5)


def test_clip_grad_value_and_vectors():
    p = nn.Parameter(tandem.zeros(3))
    p.grad = tandem.tensor([-5.0, 0.5, 5.0])
    nn.utils.clip_grad_value_([p], 1.0)
    assert p.grad.tolist() == [-1.0, 0.5, 1.0]
    with pytest.raises(RuntimeError, match="non-finite"):
        p.grad = tandem.tensor([float("inf")] * 3)
        nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    net = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert list(vector.shape) == [9]
    nn.utils.vector_to_parameters(tandem.arange(9, dtype=tandem.float32), net.parameters())
    assert net.bias.tolist() == [6.0, 7.0, 8.0]


# --- gradcheck ------------------------------------------------------------------------------------------------------


class Wrong(tandem.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradcheck_tells_right_from_wrong(fast_mode):
    x, y = tensor(array(2, 3), grad=True), tensor(array(3, 2, seed=1), grad=True)
    check = tandem.autograd.gradcheck
    assert check(lambda a, b: (tandem.tanh(a @ b), a.sum()), (x, y), fast_mode=fast_mode)
    assert tandem.autograd.gradgradcheck(lambda a, b: tandem.tanh(a @ b), (x, y), fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        check(Wrong.apply, (x,), fast_mode=fast_mode)
    assert not check(Wrong.apply, (x,), raise_exception=False, fast_mode=fast_mode)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        check(tandem.tanh, (x.detach(),))


def test_a_buffer_assigned_anew_says_whether_it_is_saved():
    m = nn.Module()
    m.register_buffer("b", tandem.zeros(1), persistent=False)
    m.b = tandem.ones(1)
    assert list(m.state_dict()) == []
    m.b = nn.Buffer(tandem.ones(1))
    assert list(m.state_dict()) == ["b"]
    m.b = nn.Buffer(tandem.ones(1), persistent=False)
    assert list(m.state_dict()) == []
    m.b = None
    m.b = nn.Buffer(tandem.ones(1))
    assert list(m.state_dict()) == ["b"]


@pytest.mark.parametrize("kind", ["InstanceNorm", "LazyInstanceNorm", "LazyBatchNorm"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_channel_norms_without_bias(kind, dims):
    x = tandem.randn(2, 3, *[4] * dims)
    lazily = kind.startswith("Lazy")
    make = getattr(nn, f"{kind}{dims}d")
    layer = make(bias=False) if lazily else make(3, affine=True, bias=False)
    with_bias = make() if lazily else make(3, affine=True)
    assert tandem.equal(layer(x), with_bias(x))
    assert layer.bias is None and "bias" not in layer.state_dict() and layer.weight.shape == (3,)


def test_lazy_modules_are_converted_before_they_have_shapes():
    layer = nn.LazyBatchNorm1d().double()
    assert layer(tandem.ones(4, 2, dtype=tandem.float64)).dtype is tandem.float64
    assert layer.running_mean.shape == (2,) and layer.running_mean.dtype is tandem.float64


def test_uninitialized_parameters_have_no_numbers():
    layer = nn.LazyLinear(4)
    for use in (
        lambda w: w + 1,
        lambda w: w.numel(),
        lambda w: w.sum(),
        lambda w: w[0],
        lambda w: w.size(),
        lambda w: tandem.cat([w, w]),
        lambda w: nn.init.zeros_(w),
        lambda w: tandem.nn.utils.parameters_to_vector([w]),
    ):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            use(layer.weight)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        _ = layer.weight.shape
    optimizer = tandem.optim.SGD(layer.parameters(), lr=0.1)
    again = pickle.loads(pickle.dumps(layer.double()))
    assert again.weight.dtype == tandem.float64 and again(tandem.ones(2, 3).double()).shape == (2, 4)
    layer.float()(tandem.ones(2, 3)).sum().backward()
    optimizer.step()
    assert layer.weight.shape == (4, 3) and type(layer.weight) is nn.Parameter


def test_embedding_bag_from_pretrained():
    rows = tandem.arange(6.0).reshape(3, 2)
    bag = nn.EmbeddingBag.from_pretrained(rows, mode="sum", padding_idx=0)
    assert bag(tandem.tensor([[0, 1], [2, 1]])).tolist() == [[2, 3], [6, 8]]
    assert not bag.weight.requires_grad
    assert nn.EmbeddingBag.from_pretrained(rows, freeze=False).weight.requires_grad
    with pytest.raises(AssertionError, match="2-dimensional"):
        nn.EmbeddingBag.from_pretrained(tandem.ones(3))


def test_parameter_dict_as_a_dict():
    d = nn.ParameterDict({"a": tandem.ones(1), "b": tandem.zeros(2)})
    other = d.copy()
    assert d.popitem()[0] == "b" and list(d) == ["a"] and list(other) == ["a", "b"] and other["a"] is d["a"]
    assert d.setdefault("a", tandem.zeros(3)) is d["a"] and d.setdefault("c", tandem.zeros(3)).shape == (3,)
    assert list(d.fromkeys(["x", "y"], tandem.ones(1))) == ["x", "y"]
    d.clear()
    with pytest.raises(KeyError):
        d.popitem()
    more = nn.ParameterDict({"b": tandem.ones(3), "z": tandem.ones(4, dtype=tandem.float64)})
    together = other | more
    assert list(together) == ["a", "b", "z"] and together["b"] is more["b"] and list(other) == ["a", "b"]
    assert list(reversed(together)) == ["z", "b", "a"]
    other |= more
    assert list(other) == ["a", "b", "z"] and other["b"] is more["b"] and isinstance(other, nn.ParameterDict)
    assert "(z): Parameter containing: [tandem.DoubleTensor of size 4]" in repr(other)


def test_multiples_of_sequential():
    act, linear = nn.Tanh(), nn.Linear(2, 2)
    net = nn.Sequential(linear, act)
    for many in (net * 3, 3 * net):
        assert list(many) == [linear, act] * 3 and list(many._modules) == list("012345")
    assert list(net) == [linear, act]
    again = net
    again *= 2
    assert again is net and list(net) == [linear, act] * 2
    x = tandem.ones(1, 2)
    assert net(x).tolist() == act(linear(act(linear(x)))).tolist()
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        net * 0
    with pytest.raises(TypeError, match="unsupported operand"):
        net * 1.5


def test_modules_with_duplicates():
    layer = nn.ReLU()
    model = nn.Sequential(layer, layer)
    assert len(list(model.modules())) == 2 and len(list(model.modules(remove_duplicate=False))) == 3


def test_arguments_that_layers_refuse():
    x = tandem.zeros(2, 3)
    for training, eps, words in (
        (True, 0.0, "eps must be positive during training, but got 0.0"),
        (True, -1.0, "eps must be positive during training"),
        (False, -1.0, "eps must be non-negative, but got -1.0"),
    ):
        with pytest.raises(ValueError, match=words):
            nn.BatchNorm1d(3, eps=eps).train(training)(x)
    assert nn.BatchNorm1d(3, eps=0.0).eval()(x).shape == (2, 3)
    with pytest.raises(RuntimeError, match=r"number of dimensions, but got shapes \[2, 3\], \[3\] and \[2, 3\]"):
        F.triplet_margin_with_distance_loss(x, x[0], x)
    for kind, sizes in (
        (nn.CircularPad1d, [(3,), (2, 3, 4, 5)]),
        (nn.CircularPad2d, [(2, 3), (1, 1, 2, 2, 3)]),
        (nn.CircularPad3d, [(2, 3), (2, 3, 4)]),
    ):
        for shape in sizes:
            with pytest.raises(ValueError, match=rf"expected \dD or \dD input \(got {len(shape)}D input\)"):
                kind(1)(tandem.ones(shape))
