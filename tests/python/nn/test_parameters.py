"""Parameters and buffers of subclasses of Tensor, and what becomes of those of modules that are converted or loaded."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
import weakref
from collections import OrderedDict

import pytest

import tandem
from tandem import nn


class Tagged(tandem.Tensor):
    pass


class Plain(tandem.Tensor):
    def detach(self):
        return tandem.ones(2)


class Loading(tandem.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is tandem.Tensor.module_load:
            return tandem.full((2, 2), 7.0)
        return super().__torch_function__(func, types, args, kwargs)


def tagged(*size):
    return tandem.ones(size).as_subclass(Tagged)


def test_a_parameter_keeps_the_class_of_its_data():
    data = tagged(2)
    p, frozen = nn.Parameter(data), nn.Parameter(data, requires_grad=False)
    assert type(p) is Tagged and p.requires_grad and not frozen.requires_grad and not data.requires_grad
    assert isinstance(p, nn.Parameter) and isinstance(frozen, nn.Parameter) and not isinstance(data, nn.Parameter)
    assert not isinstance(p, nn.UninitializedParameter) and not isinstance(p, nn.Buffer)
    assert not isinstance(p * 2, nn.Parameter) and type(p * 2) is Tagged
    p.data.add_(1)
    assert data.tolist() == [2, 2]
    assert type(nn.Parameter(p)) is Tagged and nn.Parameter(p) is not p
    for again in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(again) is Tagged and isinstance(again, nn.Parameter) and again.requires_grad


def test_a_buffer_keeps_the_class_of_its_data():
    module = nn.Module()
    module.steps, module.mean = nn.Buffer(tagged(2), persistent=False), nn.Buffer(tandem.ones(2))
    assert type(module.steps) is Tagged and isinstance(module.steps, nn.Buffer)
    assert not isinstance(module.steps, nn.Parameter)
    assert [name for name, _ in module.named_buffers()] == ["steps", "mean"] and list(module.state_dict()) == ["mean"]


def test_subclasses_of_parameter_are_classes_of_their_own():
    class Own(nn.Parameter):
        pass

    assert type(Own(tandem.ones(2))) is Own and isinstance(Own(tandem.ones(2)), nn.Parameter)
    assert not isinstance(nn.Parameter(tagged(2)), Own) and not issubclass(Tagged, nn.Parameter)


def test_modules_with_parameters_of_a_class():
    layer = nn.Linear(2, 2)
    layer.weight = nn.Parameter(tagged(2, 2))
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    weight = layer.weight
    layer(tandem.ones(2)).sum().backward()
    tandem.optim.SGD(layer.parameters(), lr=1.0).step()
    assert weight.tolist() == [[0, 0], [0, 0]] and type(layer.state_dict()["weight"]) is Tagged
    assert layer.double().weight is weight and weight.dtype is tandem.float64
    layer.load_state_dict(nn.Linear(2, 2).state_dict())
    assert layer.weight is weight and type(weight) is Tagged
    layer.load_state_dict({"weight": tagged(2, 2), "bias": tandem.ones(2)}, assign=True)
    assert type(layer.weight) is Tagged and isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    file = io.BytesIO()
    tandem.save(layer.state_dict(keep_vars=True), file)
    file.seek(0)
    back = tandem.load(file, weights_only=False)["weight"]
    assert type(back) is Tagged and isinstance(back, nn.Parameter)


def test_classes_that_cannot_be_parameters():
    with pytest.raises(RuntimeError, match=r"Creating a Parameter from an instance of type Plain requires that detach"):
        nn.Parameter(tandem.ones(2).as_subclass(Plain))


def test_compiled_functions_may_ask_for_parameters():
    @tandem.compile
    def f(x, y):
        return x * 2 if isinstance(x, nn.Parameter) else y

    x, y = nn.Parameter(tandem.ones(2)), tandem.zeros(2)
    for _ in range(3):
        assert f(x, y).tolist() == [2, 2]
        assert f(y, y).tolist() == [0, 0]
        assert f(nn.Parameter(tagged(2)), y).tolist() == [2, 2]
        assert f(tagged(2), y).tolist() == [0, 0]


@pytest.fixture
def swapping():
    tandem.__future__.set_swap_module_params_on_conversion(True)
    yield
    tandem.__future__.set_swap_module_params_on_conversion(False)


@pytest.mark.usefixtures("swapping")
def test_parameters_that_are_swapped():
    assert tandem.__future__.get_swap_module_params_on_conversion()
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer(tandem.ones(2)).sum().backward()
    grad = weight.grad
    layer.double()
    assert layer.weight is weight and type(weight) is nn.Parameter and weight.requires_grad
    assert weight.dtype is grad.dtype is tandem.float64 and weight.grad is grad
    state = nn.Linear(2, 2).state_dict()
    layer.load_state_dict(state)
    assert layer.weight is weight and weight.dtype is tandem.float64 and weight.requires_grad
    assert tandem.equal(weight.detach(), state["weight"].double())
    layer.load_state_dict(state, assign=True)
    assert layer.weight is weight and weight.dtype is tandem.float32


@pytest.mark.usefixtures("swapping")
def test_classes_say_what_is_swapped_in():
    layer = nn.Linear(2, 2)
    layer.weight = nn.Parameter(tandem.ones(2, 2).as_subclass(Loading))
    weight = layer.weight
    layer.load_state_dict(nn.Linear(2, 2).state_dict())
    assert layer.weight is weight and type(weight) is nn.Parameter and weight.tolist() == [[7, 7], [7, 7]]


@pytest.mark.usefixtures("swapping")
def test_what_is_referred_to_weakly_is_not_swapped():
    layer = nn.Linear(2, 2)
    seen = weakref.ref(layer.weight)
    with pytest.raises(RuntimeError, match=r"_apply\(\): Couldn't swap Linear.weight"):
        layer.double()
    assert seen() is layer.weight


def test_parameters_that_are_replaced():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer(tandem.ones(2)).sum().backward()
    tandem.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        layer.double()
    finally:
        tandem.__future__.set_overwrite_module_params_on_conversion(False)
    assert layer.weight is not weight and layer.weight.requires_grad
    assert weight.dtype is weight.grad.dtype is tandem.float32
    assert layer.weight.dtype is layer.weight.grad.dtype is tandem.float64
    assert not tandem.__future__.get_overwrite_module_params_on_conversion()


def test_what_a_tensor_makes_of_what_is_loaded():
    x, other = tandem.zeros(2, dtype=tandem.float64), tandem.ones(2)
    assert x.module_load(other).dtype is tandem.float64 and x.tolist() == [1, 1]
    assert x.module_load(other, assign=True).dtype is tandem.float32


def test_the_order_of_parameters_in_a_dict():
    one, other = tandem.ones(1), tandem.zeros(1)
    plain, ordered = {"b": one, "a": other}, OrderedDict(b=one, a=other)
    assert list(nn.ParameterDict(plain)) == ["a", "b"]
    for source in (ordered, plain.items(), nn.ParameterDict(ordered)):
        assert list(nn.ParameterDict(source)) == ["b", "a"]
    assert list(nn.ParameterDict(ordered) | {"d": one, "c": one}) == ["b", "a", "c", "d"]
    merged = nn.ParameterDict({"z": one})
    merged |= plain
    assert list(merged) == ["z", "a", "b"] == list(merged.copy())


def test_regular_backward_hooks_of_all_modules():
    hooks, seen = nn.modules.module, []

    def note(module, grad_input, grad_output):
        seen.append((type(module).__name__, [tuple(g.shape) for g in grad_output]))
        return tuple(None if g is None else g * 2 for g in grad_input)

    x = tandem.ones(2, requires_grad=True)
    with hooks.register_module_backward_hook(note):
        with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
            hooks.register_module_full_backward_hook(note)
        nn.Sequential(nn.ReLU(), nn.ReLU())(x).sum().backward()
    assert seen == [("ReLU", [(2,)]), ("Sequential", [(2,)]), ("ReLU", [(2,)])]
    assert x.grad.tolist() == [8, 8]
    with (
        hooks.register_module_full_backward_hook(note),
        pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"),
    ):
        hooks.register_module_backward_hook(note)


def test_older_names_of_autocast_on_the_cpu():
    with pytest.warns(FutureWarning, match=r"`cpu.amp.autocast\(args...\)` is deprecated"), tandem.cpu.amp.autocast():
        assert (tandem.ones(2, 2) @ tandem.ones(2, 2)).dtype is tandem.bfloat16
    with warnings.catch_warnings(record=True) as seen:
        assert tandem.cpu.amp.grad_scaler.GradScaler().get_scale() == 65536
    assert "cpu.amp.GradScaler" in str(seen[0].message)


def test_names_of_nn():
    assert nn.functional.grad is nn.grad
    assert {"Linear", "Softmax", "Module", "LSTM"} <= set(nn.modules.__all__) and "Parameter" not in nn.modules.__all__


def test_modules_whose_buffers_are_all_saved():
    class Older(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Buffer(tandem.ones(2))

        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)

    assert list(Older().state_dict()) == ["mean"]
    with pytest.raises(TypeError, match="register_buffer"):
        Older().steps = nn.Buffer(tandem.ones(2), persistent=False)


def test_what_is_no_pair_of_a_key_and_a_module():
    with pytest.raises(TypeError, match="element #0 should be a pair; is ReLU"):
        nn.ModuleDict().update([nn.ReLU()])
    with pytest.raises(ValueError, match="element #0 has to be a pair"):
        nn.ModuleDict().update([[nn.ReLU()]])


def test_what_is_applied_in_place_is_a_write():
    layer = nn.Linear(3, 2)
    layer.weight.grad = tandem.ones(2, 3)
    before, square = layer.weight._version, layer.weight.mul(layer.weight)
    layer._apply(lambda t: t.add_(1.0))
    assert layer.weight._version > before and layer.weight.grad.tolist() == [[2, 2, 2]] * 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()


def test_bools_among_what_modules_are_moved_to():
    layer, cpu = nn.Linear(2, 2), tandem.device("cpu")
    for moved in ((cpu, tandem.float64, True), (tandem.float32, True), (tandem.ones(2), False), (None, None, True)):
        assert layer.to(*moved) is layer
    for refused in ((cpu, True), (None, True), (True,), (cpu, tandem.float32, True, True)):
        with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments: a bool as number"):
            layer.to(*refused)


def test_a_buffer_replaces_no_attribute():
    module = nn.Module()
    module.steps = 5
    with pytest.raises(KeyError, match="attribute 'steps' already exists"):
        module.steps = nn.Buffer(tandem.ones(2))
    del module.steps
    module.steps = nn.Buffer(tandem.ones(2))
    module.steps = nn.Buffer(tandem.zeros(2), persistent=False)
    assert module.steps.sum() == 0 and not module.state_dict()


def test_the_older_name_of_a_gradient():
    x = tandem.ones(2, requires_grad=True)
    x._grad = tandem.full((2,), 3.0)
    assert x.grad.tolist() == [3, 3] and x._grad is x.grad


def test_members_of_another_kind_by_their_paths():
    model = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    model.append(model[0])
    biases = dict(model._named_members(lambda m: [("shift", b) for b in [getattr(m, "bias", None)]], prefix="net"))
    assert biases == {"net.0.shift": model[0].bias}
    twice = model._named_members(get_members_fn=lambda m: m._parameters.items(), remove_duplicate=False)
    assert [name for name, _ in twice] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert model[0].bias._cdata == model[2].bias._cdata != model[0].weight._cdata


class Several(nn.Module):
    """What has every kind of state, and names that could be mistaken for one another."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(tandem.ones(2))
        self.register_parameter("absent", None)
        self.register_buffer("kept", tandem.zeros(1))
        self.register_buffer("passing", tandem.zeros(1), persistent=False)
        self.register_buffer("none", None)
        self.child = nn.Linear(1, 1, bias=False)


def test_names_of_states():
    net = Several()
    state = net.state_dict()
    assert list(state) == ["weight", "kept", "child.weight"]
    assert list(state._metadata) == ["", "child"]
    plain = net.state_dict(destination={}, prefix="a.", keep_vars=True)
    assert list(plain) == ["a.weight", "a.kept", "a.child.weight"] and plain["a.weight"] is net.weight
    others = [
        "absent",
        "passing",
        "none",
        "child",
        "child.bias",
        "child.weight.x",
        "weight.x",
        "kept.x",
        "_extra_state",
    ]
    more = state | {name: tandem.ones(1) for name in others}
    found = net.load_state_dict(more, strict=False)
    assert found.missing_keys == [] and sorted(found.unexpected_keys) == sorted(others)
    grown = Several()
    grown.bias = nn.Parameter(tandem.ones(1))
    found = grown.load_state_dict({"child": 3, "weight": tandem.zeros(2)}, strict=False, assign=True)
    assert found.missing_keys == ["bias", "kept", "child.weight"] and found.unexpected_keys == ["child"]
    assert grown.weight.requires_grad and grown.weight.is_leaf and grown.weight.tolist() == [0, 0]


def test_hooks_of_states_see_gradients_enabled():
    net, seen = Several(), []
    net.child.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append(prefix))
    net.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update(version=metadata["version"]))
    net.child.register_load_state_dict_pre_hook(lambda *_: seen.append(tandem.is_grad_enabled()))
    state = net.state_dict()
    assert state.pop("version") == 1
    net.load_state_dict(state)
    assert seen == ["child.", True] and net.weight.requires_grad


class _Part(nn.Module):
    """A parametrization by two functions."""

    def __init__(self, forward, inverse):
        super().__init__()
        self.forward, self.right_inverse = forward, inverse


def _no_inverse(x):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("forward", "inverse", "text"),
    [
        (lambda x: (x, x), None, "must return a tensor. Got tuple"),
        (lambda x: x.double(), None, "may not change the dtype"),
        (lambda x: x[:-1], None, "may not change the shape"),
        (lambda x: x, lambda x: (x, x), "right_inverse must return a tensor"),
        (lambda x: x, lambda x: x.double(), "must have the same dtype"),
        (lambda x: x, lambda x: x[:-1], "must have the same shape"),
    ],
)
def test_a_second_parametrization_keeps_dtype_and_shape(forward, inverse, text):
    layer = nn.Linear(3, 4)
    nn.utils.parametrize.register_parametrization(layer, "weight", nn.Identity())
    with pytest.raises(ValueError, match=text):
        nn.utils.parametrize.register_parametrization(layer, "weight", _Part(forward, inverse or _no_inverse))
    assert len(layer.parametrizations.weight) == 1


def test_parametrizations_of_several_tensors_keep_dtype_and_shape():
    for forward, text in ((lambda x, y: (x + y).double(), "the dtype"), (lambda x, y: (x + y)[:-1], "the shape")):
        layer = nn.Linear(3, 4)
        with pytest.raises(ValueError, match=f"may not change {text}"):
            nn.utils.parametrize.register_parametrization(layer, "weight", _Part(forward, lambda x: (x, x + 1)))
        assert not nn.utils.parametrize.is_parametrized(layer)


@pytest.mark.usefixtures("swapping")
def test_values_for_meta_parameters_warn_if_they_are_swapped_too():
    layer = nn.Linear(2, 3, device="meta")
    state = {"weight": tandem.ones(3, 2), "bias": layer.bias}
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter"):
        layer.load_state_dict(state)
    assert layer.weight.is_meta


def test_states_by_place_are_deprecated():
    net = nn.Sequential(nn.Linear(2, 2))
    given = OrderedDict()
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        state = net.state_dict(given, "net.", True)
    assert state is given and list(state) == ["net.0.weight", "net.0.bias"] and state["net.0.bias"] is net[0].bias
    with pytest.raises(ValueError, match="only objects of Sequential class"):
        net += [nn.ReLU()]
