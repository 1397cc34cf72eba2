"""Parametrizations, weight and spectral normalisation, lazy modules, small layers."""

import copy
import gc
import weakref

import numpy as np
import pytest
from arrays import array, close, tensor
from conftest import assert_same_bits, run_in
from test_recurrent import double

import tandem
from tandem import nn
from tandem.nn import functional as F
from tandem.nn.utils import parametrizations, parametrize
from tandem.nn.utils._per_sample_grad import call_for_per_sample_grads
from tandem.testing import assert_close
from tandem.utils.module_tracker import ModuleTracker


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, x):
        return x.triu()


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


# --- parametrize ----------------------------------------------------------------------------------------------------


def test_register_and_remove():
    layer = nn.Linear(3, 3)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(layer, "bias")
    close(layer.weight, np.triu(before.numpy()) + np.triu(before.numpy(), 1).T, 1e-7)
    x = tandem.randn(2, 3)
    assert_same_bits(layer(x).detach(), F.linear(x, layer.weight, layer.bias).detach())
    layer(x).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    value = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and list(layer.state_dict()) == ["bias", "weight"]
    assert_same_bits(layer.weight.detach(), value)
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad


def test_assignment_goes_through_the_inverses():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Doubled())
    wanted = tandem.tensor(np.array([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]], np.float32).tolist())
    layer.weight = wanted
    assert_same_bits(layer.weight.detach(), wanted)
    assert layer.parametrizations.weight.original.tolist() == [[0.5, 1.0, 1.5], [0.0, 2.0, 2.5], [0.0, 0.0, 3.0]]
    assert len(layer.parametrizations.weight) == 2
    assert repr(layer).startswith("ParametrizedLinear(\n  in_features=3, out_features=3, bias=True\n  (parametriz")


def test_original_is_left_on_request():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    original = layer.parametrizations.weight.original.detach().clone()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert_same_bits(layer.weight.detach(), original)


def test_values_are_computed_once_inside_cached():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert layer.weight is not layer.weight
    with parametrize.cached():
        first = layer.weight
        assert layer.weight is first
    assert layer.weight is not first


def test_copies_are_independent_and_pickling_says_why_not():
    import pickle

    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    other = copy.deepcopy(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert parametrize.is_parametrized(other, "weight") and other.weight.shape == (3, 3)
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(other)


def test_buffers_and_errors():
    module = nn.Module()
    module.register_buffer("scale", tandem.ones(2, 2))
    parametrize.register_parametrization(module, "scale", Doubled())
    assert module.scale.tolist() == [[1.0, 1.0], [1.0, 1.0]] and list(module.parameters()) == []

    class Shorter(nn.Module):
        def forward(self, x):
            return x[0]

    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Shorter())
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element with name"):
        parametrize.register_parametrization(nn.Linear(2, 2), "other", Doubled())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")


def test_parametrized_layers_in_modes(mode):
    layer = parametrizations.weight_norm(nn.Linear(3, 4))
    x = tandem.randn(2, 3)
    expected = layer(x)
    assert_same_bits(run_in(mode, lambda x: layer(x), x).detach(), expected.detach())


# --- weight_norm, spectral_norm -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    layer = double(nn.Linear(3, 4))
    before = layer.weight.detach().numpy().copy()
    parametrizations.weight_norm(layer, dim=dim)
    assert list(layer.state_dict())[1:] == [f"parametrizations.weight.original{i}" for i in (0, 1)]
    close(layer.weight, before)
    axes = {0: 1, 1: 0, None: (0, 1)}[dim]
    length = np.sqrt((before**2).sum(axes, keepdims=dim is not None))
    close(layer.parametrizations.weight.original0, length)
    with tandem.no_grad():
        layer.parametrizations.weight.original0.mul_(2)
    close(layer.weight, before * 2)
    old = nn.utils.weight_norm(double(nn.Linear(3, 4)), dim=dim)
    assert list(old.state_dict()) == ["bias", "weight_g", "weight_v"]
    layer.load_state_dict(old.state_dict())
    x = tensor(array(2, 3))
    close(layer(x), old(x).detach().numpy())
    old(x).sum().backward()
    assert old.weight_g.grad is not None and old.weight_v.grad is not None
    nn.utils.remove_weight_norm(old)
    assert list(old.state_dict()) == ["bias", "weight"]
    close(layer(x), old(x).detach().numpy())


@pytest.mark.parametrize("older", [False, True])
def test_spectral_norm(older):
    layer = double(nn.Linear(5, 4))
    largest = np.linalg.svd(layer.weight.detach().numpy())[1][0]
    weight = layer.weight.detach().numpy().copy()
    (nn.utils if older else parametrizations).spectral_norm(layer)
    x = tensor(array(2, 5))
    for _ in range(60):
        out = layer(x)
    close(out, x.numpy() @ (weight / largest).T + layer.bias.detach().numpy(), 1e-6)
    layer.eval()
    close(layer(x), layer(x).detach().numpy())
    names = list(layer.state_dict())
    if older:
        assert names == ["bias", "weight_orig", "weight_u", "weight_v"]
        nn.utils.remove_spectral_norm(layer)
        close(layer.weight, weight / largest, 1e-6)
    else:
        assert names == ["bias", *(f"parametrizations.weight.{n}" for n in ("original", "0._u", "0._v"))]
    with pytest.raises(ValueError, match="n_power_iterations to be positive"):
        parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)


def test_spectral_norm_gradient():
    layer = double(nn.Linear(3, 2))
    parametrizations.spectral_norm(layer).eval()
    start = layer.parametrizations.weight.original.detach().clone().requires_grad_()
    assert tandem.autograd.gradcheck(layer.parametrizations.weight[0], (start,))


# --- clipping -------------------------------------------------------------------------------------------------------


def test_clip_with_a_known_norm():
    p = nn.Parameter(tandem.zeros(2))
    p.grad = tandem.tensor([3.0, 4.0])
    norm = nn.utils.get_total_norm([p.grad])
    nn.utils.clip_grads_with_norm_([p], 1.0, norm)
    close(p.grad, [0.6, 0.8], 1e-6)


# --- lazy modules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lazy", "plain", "shape"),
    [
        (lambda: nn.LazyLinear(4), lambda: nn.Linear(3, 4), (2, 3)),
        (lambda: nn.LazyConv1d(4, 2), lambda: nn.Conv1d(3, 4, 2), (2, 3, 5)),
        (lambda: nn.LazyConv2d(4, 2, padding=1), lambda: nn.Conv2d(3, 4, 2, padding=1), (2, 3, 5, 5)),
        (lambda: nn.LazyBatchNorm2d(), lambda: nn.BatchNorm2d(3), (2, 3, 5, 5)),
        (lambda: nn.LazyConv3d(4, 2), lambda: nn.Conv3d(3, 4, 2), (2, 3, 3, 3, 3)),
        (lambda: nn.LazyConvTranspose1d(4, 2), lambda: nn.ConvTranspose1d(3, 4, 2), (2, 3, 5)),
        (lambda: nn.LazyConvTranspose2d(4, 2, stride=2), lambda: nn.ConvTranspose2d(3, 4, 2, stride=2), (2, 3, 5, 5)),
        (lambda: nn.LazyConvTranspose3d(4, 2), lambda: nn.ConvTranspose3d(3, 4, 2), (2, 3, 3, 3, 3)),
        (lambda: nn.LazyBatchNorm3d(), lambda: nn.BatchNorm3d(3), (2, 3, 2, 5, 5)),
        (
            lambda: nn.LazyInstanceNorm1d(),
            lambda: nn.InstanceNorm1d(3, affine=True, track_running_stats=True),
            (2, 3, 5),
        ),
        (
            lambda: nn.LazyInstanceNorm2d(),
            lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
            (2, 3, 5, 5),
        ),
        (
            lambda: nn.LazyInstanceNorm3d(),
            lambda: nn.InstanceNorm3d(3, affine=True, track_running_stats=True),
            (2, 3, 5, 5, 5),
        ),
    ],
)
def test_lazy_modules_become_ordinary_ones(lazy, plain, shape):
    x = tandem.randn(*shape)
    tandem.manual_seed(1)
    module = lazy()
    assert module.has_uninitialized_params()
    tandem.manual_seed(1)
    out = module(x)
    tandem.manual_seed(1)
    wanted = plain()
    assert type(module) is type(wanted) and repr(module) == repr(wanted)
    assert list(module.state_dict()) == list(wanted.state_dict())
    assert_same_bits(out.detach(), wanted(x).detach())
    assert all(type(p) is nn.Parameter for p in module.parameters())


def test_lazy_modules_load_states():
    module, wanted = nn.LazyLinear(4), nn.Linear(3, 4)
    module.load_state_dict(wanted.state_dict())
    x = tandem.randn(2, 3)
    assert_same_bits(module(x).detach(), wanted(x).detach())
    assert module.in_features == 3


# --- small layers ---------------------------------------------------------------------------------------------------


def test_distances():
    a, b = array(3, 4), array(3, 4, seed=1)
    close(nn.PairwiseDistance(p=1.0, eps=0.0, keepdim=True)(tensor(a), tensor(b)), np.abs(a - b).sum(1, keepdims=True))
    close(
        nn.CosineSimilarity(dim=0)(tensor(a), tensor(b)),
        (a * b).sum(0) / np.sqrt((a * a).sum(0)) / np.sqrt((b * b).sum(0)),
    )
    zero = tensor(np.zeros((1, 3)), grad=True)
    nn.CosineSimilarity()(zero, tensor(np.ones((1, 3)))).sum().backward()
    assert bool(tandem.isfinite(zero.grad).all())


def test_rrelu_draws_slopes_while_training():
    x = tandem.full((1000,), -1.0)
    layer = nn.RReLU(0.25, 0.5)
    out = -layer(x)
    assert float(out.min()) >= 0.25 and float(out.max()) <= 0.5 and abs(float(out.mean()) - 0.375) < 0.02
    close(layer.eval()(x), np.full(1000, -0.375), 1e-6)
    assert repr(layer) == "RReLU(lower=0.25, upper=0.5)"


@pytest.mark.parametrize("cls", [nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.FeatureAlphaDropout])
def test_dropout_of_channels(cls):
    x = tandem.ones(8, 16, *([3] * {"1": 1, "2": 2, "3": 3}.get(cls.__name__[-2], 2)))
    out = cls(0.5)(x).flatten(2)
    assert bool((out == out[:, :, :1]).all())
    assert 0.3 < float((out[:, :, 0] == out.max()).float().mean()) < 0.7
    assert cls(0.5).eval()(x) is x


def test_adaptive_log_softmax():
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [4, 8], div_value=2.0)
    assert list(layer.state_dict()) == ["head.weight", *(f"tail.{i}.{j}.weight" for i in (0, 1) for j in (0, 1))]
    x = tandem.randn(5, 8)
    logs = layer.log_prob(x)
    close(logs.exp().sum(1), np.ones(5), 1e-5)
    target = tandem.tensor([0, 5, 11, 4, 8])
    output, loss = layer(x, target)
    close(output, logs.gather(1, target.unsqueeze(1)).squeeze(1).detach().numpy(), 1e-6)
    close(loss, -output.detach().numpy().mean(), 1e-6)
    assert layer.predict(x).tolist() == logs.argmax(1).tolist()
    loss.backward()
    assert all(p.grad is not None for p in layer.parameters())
    # Of a cluster without targets nothing is computed: its parameters have no gradient, and optimizers leave them.
    layer.zero_grad()
    layer(x, tandem.tensor([0, 9, 11, 3, 8]))[1].backward()
    assert [p.grad is None for p in layer.parameters()] == [False, True, True, False, False]
    with pytest.raises(RuntimeError, match="index 12 is out of bounds"):
        layer(x, target + 1)
    with pytest.raises(ValueError, match="cutoffs should be a sequence of unique, positive integers"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 12, [8, 4])


def test_triplet_loss_with_any_distance():
    a, p, n = (tensor(array(4, 3, seed=i)) for i in range(3))
    want = nn.TripletMarginLoss(swap=True)(a, p, n)
    close(nn.TripletMarginWithDistanceLoss(swap=True)(a, p, n), want.numpy())
    loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1), reduction="none")
    d = np.abs(array(4, 3) - array(4, 3, seed=1)).sum(1) - np.abs(array(4, 3) - array(4, 3, seed=2)).sum(1) + 1
    close(loss(a, p, n), np.maximum(d, 0))


def test_older_flags_of_losses():
    a, b = tensor(array(4, 3)), tensor(array(4, 3, seed=1))
    d = (array(4, 3) - array(4, 3, seed=1)) ** 2
    close(F.mse_loss(a, b, size_average=False), d.sum())
    close(F.mse_loss(a, b, reduce=False), d)
    close(nn.MSELoss(size_average=True)(a, b), d.mean())
    assert nn.L1Loss(reduce=False).reduction == "none"
    with pytest.raises(ValueError, match="other is not a valid value for reduction"):
        F.l1_loss(a, b, reduction="other")


def test_module_submodules_and_compile():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    net.set_submodule("1.0", nn.Identity())
    assert isinstance(net[1][0], nn.Identity)
    with pytest.raises(AttributeError, match="has no attribute `5`"):
        net.set_submodule("1.5", nn.Identity(), strict=True)
    x = tandem.randn(4, 2)
    want = net(x)
    net.compile()
    net(x)
    assert_same_bits(net(x).detach(), want.detach())
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    )


def test_data_parallel_calls_its_module():
    layer = nn.Linear(2, 3)
    x = tandem.randn(4, 2)
    assert_same_bits(nn.DataParallel(layer)(x).detach(), layer(x).detach())
    assert_same_bits(nn.parallel.data_parallel(layer, x).detach(), layer(x).detach())


def test_older_names_of_initial_values_warn():
    with pytest.warns(FutureWarning, match="in favor of `nn.init.constant_`"):
        assert nn.init.constant(tandem.zeros(2), 3.0).tolist() == [3.0, 3.0]


# ---- orthogonal matrices ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_an_orthogonal_weight_stays_orthogonal(orthogonal_map, shape):
    layer = nn.Linear(shape[1], shape[0], bias=False, dtype=tandem.float64)
    nn.utils.parametrizations.orthogonal(layer, orthogonal_map=orthogonal_map)
    names = [n for n, _ in layer.named_parameters()]
    assert names == ["parametrizations.weight.original"]
    assert "parametrizations.weight.0.base" in layer.state_dict()

    def gap():
        w = layer.weight
        q = w if shape[0] >= shape[1] else w.mT
        return (q.mT @ q - tandem.eye(min(shape), dtype=w.dtype)).abs().max().item()

    assert gap() < 1e-12
    optimizer = tandem.optim.SGD(layer.parameters(), lr=0.3)
    before = layer.weight.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        layer(tandem.ones(2, shape[1], dtype=tandem.float64)).sin().sum().backward()
        optimizer.step()
    assert gap() < 1e-12
    assert (layer.weight - before).abs().max() > 1e-3
    # Assigning a matrix keeps it, if it is orthogonal.
    wanted = tandem.linalg.qr(tandem.randn(max(shape), min(shape), dtype=tandem.float64)).Q
    layer.weight = wanted if shape[0] >= shape[1] else wanted.mT
    if shape[0] == shape[1]:
        assert tandem.allclose(layer.weight, wanted)
    assert gap() < 1e-12


def test_an_orthogonal_weight_without_a_base():
    layer = nn.Linear(3, 5)
    nn.utils.parametrizations.orthogonal(layer, use_trivialization=False)
    q = tandem.linalg.qr(tandem.randn(5, 3)).Q
    layer.weight = q
    assert tandem.allclose(layer.weight, q, atol=1e-6)
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="x")
    with pytest.raises(ValueError, match="Expected a matrix or batch of matrices"):
        nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), "bias")


HOOKS = [
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_load_state_dict_pre_hook",
    "register_load_state_dict_post_hook",
    "register_state_dict_pre_hook",
    "register_state_dict_post_hook",
    "_register_load_state_dict_pre_hook",
]


@pytest.mark.parametrize("name", HOOKS)
def test_a_module_with_hooks_is_freed_with_its_last_reference(name):
    gc.collect()
    gc.disable()
    try:
        module = nn.Linear(2, 2)
        handle = getattr(module, name)(lambda *args: None)
        module(tandem.ones(1, 2)).sum().backward()
        module.load_state_dict(module.state_dict())
        gone = weakref.ref(module)
        del module, handle
        assert gone() is None
    finally:
        gc.enable()


# --- skip_init ------------------------------------------------------------------------------------------------------


def test_modules_without_initialisation():
    tandem.manual_seed(3)
    expected = tandem.rand(2)
    tandem.manual_seed(3)
    before = tandem.counters()["kernel_launches"]
    linear = nn.utils.skip_init(nn.Linear, 4, out_features=3, bias=False)
    skipped = tandem.counters()["kernel_launches"] - before
    assert tandem.equal(tandem.rand(2), expected)
    before = tandem.counters()["kernel_launches"]
    nn.Linear(4, 3, bias=False)
    assert skipped < tandem.counters()["kernel_launches"] - before
    assert isinstance(linear.weight, nn.Parameter) and linear.weight.shape == (3, 4) and linear.weight.is_leaf
    nn.init.ones_(linear.weight)
    linear(tandem.ones(2, 4)).sum().backward()
    assert linear.weight.grad.tolist() == [[2.0] * 4] * 3
    norm = nn.utils.skip_init(nn.BatchNorm1d, 5, device="cpu")
    assert {name: tuple(t.shape) for name, t in norm.state_dict().items()}["running_mean"] == (5,)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)
    with pytest.raises(RuntimeError, match="Expected a Module"):
        nn.utils.skip_init(dict)


@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley"])
def test_a_map_without_an_inverse_starts_from_the_weight_itself(orthogonal_map):
    layer = nn.Linear(3, 3)
    start = layer.weight.detach().clone()
    nn.utils.parametrizations.orthogonal(layer, orthogonal_map=orthogonal_map, use_trivialization=False)
    assert_same_bits(layer.parametrizations.weight.original.detach(), start)
    assert tandem.allclose(layer.weight @ layer.weight.T, tandem.eye(3), atol=1e-5)
    with pytest.raises(NotImplementedError, match="not possible to assign"):
        layer.weight = start


NORMS = {2.0: 500.0, 1.0: 700.0, 3.0: 449.7941, 0.0: 2.0, float("inf"): 400.0, -float("inf"): 300.0, -1.0: 171.428571}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("order", NORMS)
def test_total_norms_of_any_order_and_dtype(order, dtype):
    """Squares of half types are not held by them."""
    total = nn.utils.get_total_norm([tandem.tensor([v], dtype=getattr(tandem, dtype)) for v in (300.0, -400.0)], order)
    assert total.dtype == getattr(tandem, dtype)
    assert total.item() == pytest.approx(NORMS[order], rel=5e-3 if dtype == "bfloat16" else 1e-3)
    if 0 <= order < float("inf"):
        assert nn.utils.get_total_norm([tandem.zeros(0), tandem.tensor([3.0])], order).item() == (3 if order else 1)
    p = nn.Parameter(tandem.zeros(2, dtype=getattr(tandem, dtype)))
    p.grad = tandem.tensor([300.0, 400.0], dtype=p.dtype)
    nn.utils.clip_grad_norm_(p, 5.0)
    assert p.grad.tolist() == pytest.approx([3, 4], rel=1e-2)


def test_extra_state_that_only_one_side_knows():
    class Gives(nn.Module):
        def get_extra_state(self):
            return 3

    class Takes(nn.Module):
        def set_extra_state(self, state):
            self.state = state

    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "_extra_state"'):
        Takes().load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key\\(s\\) in state_dict: "_extra_state"'):
        Gives().load_state_dict(Gives().state_dict())
    module = Takes()
    module.load_state_dict(Gives().state_dict())
    assert module.state == 3
    assert Gives().load_state_dict(Gives().state_dict(), strict=False).unexpected_keys == ["_extra_state"]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_gradients_of_each_sample(reduction):
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.LayerNorm(3), nn.Linear(3, 2))
    model[3].bias.requires_grad_(False)
    x = tandem.randn(5, 4)
    parameters = [p for p in model.parameters() if p.requires_grad]
    out = call_for_per_sample_grads(model, loss_reduction=reduction)(x)
    assert_close(out, model(x))
    getattr(out**2, reduction)().backward()
    for i in range(5):
        loss = model(x[i : i + 1]) ** 2
        expected = tandem.autograd.grad(getattr(loss, reduction)(), parameters)
        assert_close([p.grad_sample[i] for p in parameters], list(expected))
    assert all(p.grad is None for p in parameters) and not hasattr(model[3].bias, "grad_sample")
    with pytest.raises(RuntimeError, match=r"0.weight has a grad_sample, which would be added to"):
        call_for_per_sample_grads(model)


def test_gradients_of_each_sample_in_the_second_dim():
    model, x = nn.Linear(4, 3), tandem.randn(2, 5, 4)
    out = call_for_per_sample_grads(model, batch_first=False)(x)
    out.sum().backward()
    assert out.shape == (2, 5, 3)
    assert_close(model.weight.grad_sample, x.sum(0).unsqueeze(1).expand(5, 3, 4))
    for options, words in (
        ({"loss_reduction": "none"}, "sum or mean, got none"),
        ({"batch_size": 1.5}, "None or an integer, got float"),
        ({"batch_size": 0}, "must be positive, got 0"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call_for_per_sample_grads(nn.ReLU(), **options)
    with pytest.raises(RuntimeError, match="must be nn.Module, got function"):
        call_for_per_sample_grads(lambda x: x)
    call = call_for_per_sample_grads(nn.Bilinear(4, 4, 1))
    with pytest.raises(RuntimeError, match="pass batch_size"):
        call()
    with pytest.raises(RuntimeError, match="batch size kwarg"):
        call(tandem.ones(2, 4), tandem.ones(3, 4))


def test_the_input_of_rms_norm_by_name():
    model, x = nn.RMSNorm(3), tandem.randn(2, 3)
    assert tandem.equal(model(x=x), model(x))


def test_a_tracker_knows_the_modules_that_run():
    seen = []

    class Inner(nn.Module):
        def forward(self, x):
            x = x["a"].relu()
            seen.append((set(tracker.parents), tracker.is_bw))
            x.register_hook(lambda g: seen.append((set(tracker.parents), tracker.is_bw)))
            return {"a": x * 2}

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Inner(), nn.ModuleDict({"nest": Inner()})

        def forward(self, x):
            return self.b["nest"](self.a(x))

    net = Outer()
    a, nest = {"Global", "Outer", "Outer.a"}, {"Global", "Outer", "Outer.b.nest"}
    with ModuleTracker() as tracker:
        for _ in range(2):
            y = net({"a": tandem.randn(3, requires_grad=True).clone()})["a"]
            y.sum().backward()
            assert tracker.parents == {"Global"} and not tracker.is_bw
    assert seen == [(a, False), (nest, False), (nest, True), (a, True)] * 2
    net({"a": tandem.randn(3, requires_grad=True)})
    assert seen[-1] == ({"Global"}, False)
