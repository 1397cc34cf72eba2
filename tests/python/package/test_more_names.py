"""Names around tensors that scripts use: futures, weak dictionaries, tensors to try things on, and smaller ones."""

from __future__ import annotations

import copy
import functools
import gc
import math
import subprocess
import sys
import threading

import numpy as np
import pytest

import tandem
from tandem import distributions, futures, nn
from tandem._module_names import lacking
from tandem.futures import Future
from tandem.utils import _pytree as pytree
from tandem.utils import checkpoint as checkpoints
from tandem.utils import weak

IMPORTS = """
from torch.futures import Future, collect_all, wait_all
from torch.ao.quantization import QConfig, default_qconfig, get_default_qconfig, quantize_dynamic
from torch._decomp import core_aten_decompositions
from torch._inductor import codecache
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx
from torch.optim.swa_utils import _group_tensors_by_device_and_dtype
from torch.ao.nn.quantized import FloatFunctional
from torch.quantization import DeQuantStub, QuantStub
from torch.fft import fft, rfft
from torch.masked import MaskedTensor, masked_tensor
from torch.monitor import Event
from torch.nested import nested_tensor
from torch.package import PackageExporter
from torch.sparse import mm
from torch.nn.quantized.dynamic import Linear
from torch.utils.checkpoint import CheckpointFunction, CheckpointPolicy, create_selective_checkpoint_contexts
from torch.utils.checkpoint import get_device_states, set_device_states
from torch.utils.weak import WeakIdKeyDictionary, WeakTensorKeyDictionary
from torch.testing import make_tensor
from torch.distributions.transforms import tril_matrix_to_vec, vec_to_tril_matrix
from torch import FloatStorage, GradScaler, UntypedStorage
"""


def test_names_can_be_imported():
    program = ["import tandem", "tandem.install_as_torch()", *IMPORTS.strip().splitlines()]
    done = subprocess.run([sys.executable, "-c", "\n".join(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nested.nested_tensor", "Use padded tensors"),
        ("sparse.mm", "Use dense tensors"),
        ("ao.quantization.quantize_dynamic", "Use dtypes float16"),
        ("quantization.QuantStub", "Use dtypes float16"),
        ("package.PackageExporter", "Use tandem.export"),
        ("monitor.log_event", "Use tandem.counters"),
    ],
)
def test_what_is_lacking_says_so_when_it_is_used(path, words):
    module, _, name = path.rpartition(".")
    with pytest.raises(NotImplementedError, match=rf"{path} is not part of Tandem\. {words}"):
        getattr(lacking(module), name)(1)


def test_futures():
    future: Future[int] = Future()
    with pytest.raises(RuntimeError, match="neither a result nor an error was set"):
        future.value()
    seen = []
    future.add_done_callback(lambda f: seen.append(f.value()))
    after = future.then(lambda f: f.wait() + 1)
    assert not future.done() and not after.done()
    threading.Thread(target=future.set_result, args=(3,)).start()
    assert (future.wait(), after.wait(), seen) == (3, 4, [3]) and future.done()
    assert future.then(lambda f: f.value() * 2).wait() == 6
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(4)


def test_errors_of_futures():
    future = Future()
    after = future.then(lambda f: f.wait())
    future.set_exception(ValueError("bad"))
    for ask in (future.wait, future.value):
        with pytest.raises(ValueError, match="bad"):
            ask()
    with pytest.raises(RuntimeError, match="error when running the callback: ValueError: bad"):
        after.wait()
    with pytest.raises(AssertionError, match="3 is of type <class 'int'>, not an Exception"):
        Future().set_exception(3)
    other = Future()
    other.add_done_callback(lambda f: 1 / 0)
    with pytest.warns(UserWarning, match="a callback of a Future raised ZeroDivisionError"):
        other.set_result(1)
    assert other.wait() == 1


def test_several_futures():
    a, b, failed = Future(), Future(), Future()
    both = futures.collect_all([a, b])
    a.set_result(1)
    assert not both.done()
    b.set_result(2)
    assert both.wait() == [a, b] and futures.wait_all([a, b]) == [1, 2] and futures.wait_all([]) == []
    failed.set_exception(ValueError("bad"))
    with pytest.raises(ValueError, match="bad"):
        futures.wait_all([a, failed])
    with pytest.raises(ValueError, match="bad"):
        futures.collect_all([failed, a]).wait()


def test_weak_dictionaries():
    x, y = tandem.ones(2), tandem.ones(2)
    d = weak.WeakTensorKeyDictionary({x: 1})
    d[y] = 2
    assert d[x] == 1 and d[y] == 2 and len(d) == 2 and list(d.values()) == [1, 2] and 3 not in d
    assert d == d.copy() and (d | {x: 5})[x] == 5 and d.pop(y) == 2 and d.setdefault(y, 7) == 7
    assert [r() is k for r, k in zip(d.keyrefs(), (x, y))] == [True, True]
    with pytest.raises(KeyError):
        d[tandem.ones(2)]
    assert ({x: 5, y: 6} | d)[x] == 1 and type({x: 5} | d) is type(d)
    d[y] = [3]
    copied = copy.deepcopy(d)
    assert copied[y] == [3] and copied[y] is not d[y] and list(copied.keys())[1] is y
    del x, copied
    gc.collect()
    assert len(d) == 1 and next(iter(d)) is y
    reference = weak.TensorWeakRef(y)
    assert reference() is y and weak.WeakIdRef(y) == weak.WeakIdRef(y) != weak.WeakIdRef(tandem.ones(2))
    del y
    gc.collect()
    assert reference() is None and not d
    with pytest.raises(AssertionError, match="expected a Tensor, got <class 'int'>"):
        weak.TensorWeakRef(3)


DTYPES = [tandem.float16, tandem.bfloat16, tandem.float32, tandem.float64, tandem.int8, tandem.uint8, tandem.int64]


@pytest.mark.parametrize("dtype", [*DTYPES, tandem.bool], ids=str)
def test_tensors_to_try_things_on(dtype):
    make = functools.partial(tandem.testing.make_tensor, dtype=dtype, device="cpu")
    x = make((50, 40))
    low, high = (0, 1) if dtype is tandem.bool else (0 if dtype is tandem.uint8 else -9, 9)
    assert x.dtype is dtype and x.shape == (50, 40) and low <= x.min().item() and x.max().item() <= high
    assert bool((make(2000, low=0, high=2, exclude_zero=True) != 0).all())
    apart = make(3, 4, noncontiguous=True)
    assert apart.shape == (3, 4) and not apart.is_contiguous() and make(1, noncontiguous=True).is_contiguous()
    if dtype.is_floating_point:
        assert make(2, requires_grad=True).requires_grad and bool(
            make(99, low=-math.inf, high=math.inf).isfinite().all()
        )
    else:
        with pytest.raises(ValueError, match="`requires_grad=True` is not supported"):
            make(2, requires_grad=True)
    with pytest.raises(ValueError, match="`low` must be less than `high`, but got 2 >= 1"):
        make(2, low=2, high=1)


def test_other_arguments_of_tensors_to_try_things_on():
    make = functools.partial(tandem.testing.make_tensor, device="cpu")
    image = make(1, 2, 3, 4, dtype=tandem.float32, memory_format=tandem.channels_last)
    assert image.is_contiguous(memory_format=tandem.channels_last)
    with pytest.raises(ValueError, match="mutually exclusive"):
        make(1, 2, 3, 4, dtype=tandem.float32, memory_format=tandem.channels_last, noncontiguous=True)
    with pytest.raises(ValueError, match="cannot be NaN"):
        make(2, dtype=tandem.float32, low=math.nan)
    with pytest.raises(ValueError, match=r"tandem.uint8 only supports \[0, 256\)"):
        make(2, dtype=tandem.uint8, low=300, high=400)
    with pytest.warns(FutureWarning, match="low==high"):
        assert make(2, dtype=tandem.float32, low=1, high=1).tolist() == [1, 1]


def test_dtypes():
    names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i64": "int64", "u8": "uint8", "b8": "bool"}
    names |= {"c64": "complex64", "u16": "uint16", "f8e4m3fn": "float8_e4m3fn"}
    for short, name in names.items():
        assert getattr(tandem, name).abbr == short
    for real, complex in (("float16", "complex32"), ("float32", "complex64"), ("float64", "complex128")):
        a, b = getattr(tandem, real), getattr(tandem, complex)
        assert a.to_complex() is b.to_complex() is b and b.to_real() is a.to_real() is a
    assert tandem.bfloat16.to_complex() is tandem.complex64 and tandem.int64.to_real() is tandem.int64
    with pytest.raises(RuntimeError, match="there is no complex dtype of int64"):
        tandem.int64.to_complex()


def test_offsets_of_generators():
    g = tandem.Generator().manual_seed(4)
    first = tandem.rand(5, generator=g)
    at = g.get_offset()
    second = tandem.rand(5, generator=g)
    assert at > 0 and tandem.rand(5, generator=g.set_offset(at)).equal(second)
    assert tandem.rand(5, generator=g.set_offset(0)).equal(first)
    with pytest.raises(RuntimeError, match="expected an offset that is not negative, but got -1"):
        g.set_offset(-1)


def test_modes_of_gradients_and_anomaly():
    assert type(tandem.no_grad().clone()) is tandem.no_grad and tandem.set_grad_enabled(True).clone().mode is True
    assert tandem.inference_mode(False).clone().mode is False
    assert not tandem.is_anomaly_enabled() and tandem.is_anomaly_check_nan_enabled()
    tandem.set_anomaly_enabled(True, False)
    try:
        assert tandem.is_anomaly_enabled() and not tandem.is_anomaly_check_nan_enabled()
        with tandem.autograd.set_detect_anomaly(False):
            assert not tandem.is_anomaly_enabled()
        assert tandem.is_anomaly_enabled()
    finally:
        tandem.set_anomaly_enabled(False)
    assert tandem.is_anomaly_check_nan_enabled()


def test_exchange_of_memory():
    array = np.zeros(3, np.float32)
    shared, copied = tandem.from_dlpack(array), tandem.from_dlpack(array, device="cpu", copy=True)
    array[:] = 1
    assert shared.tolist() == [1, 1, 1] and copied.tolist() == [0, 0, 0]
    assert tandem.from_dlpack(tandem.to_dlpack(tandem.ones(2)), copy=False).tolist() == [1, 1]
    with pytest.raises(BufferError, match="require gradient"):
        tandem.to_dlpack(tandem.ones(1, requires_grad=True))


def test_compile_takes_its_model_by_name():
    assert tandem.compile(model=lambda x: x + 1, name="f", recompile_limit=3)(tandem.ones(1)).item() == 2
    assert tandem.compile(fullgraph=True)(lambda x: x + 1)(tandem.ones(1)).item() == 2


def test_selective_checkpoints():
    x = tandem.rand(3, requires_grad=True)
    for policy in ([tandem.exp], lambda ctx, op, *args: checkpoints.CheckpointPolicy.MUST_SAVE):
        contexts = functools.partial(checkpoints.create_selective_checkpoint_contexts, policy)
        y = checkpoints.checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False, context_fn=contexts)
        assert tandem.autograd.grad(y.sum(), x)[0].equal(x.exp().cos() * x.exp())
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        checkpoints.create_selective_checkpoint_contexts(3)
    y = checkpoints.CheckpointFunction.apply(lambda x, n: x.exp() * n, True, x, 2)
    y.sum().backward()
    assert x.grad.allclose(2 * x.exp())
    assert checkpoints.get_device_states(x, [x]) == ([], []) and checkpoints.set_device_states([], []) is None
    checkpoints.DefaultDeviceType.set_device_type("xpu")
    assert checkpoints.DefaultDeviceType.get_device_type() == "xpu"
    checkpoints.DefaultDeviceType.set_device_type("cuda")


def test_modules_of_other_devices():
    for kind in ("xpu", "ipu", "mtia"):
        for owner in (tandem.ones(1), nn.Linear(1, 1)):
            with pytest.raises(RuntimeError, match=f"this build of Tandem has no devices of the kind {kind}"):
                getattr(owner, kind)()
    layer = nn.Linear(1, 1)
    with pytest.warns(UserWarning, match="memory is not shared between processes"):
        assert layer.share_memory() is layer
    with pytest.warns(UserWarning, match="others get copies"):
        layer.weight.untyped_storage().share_memory_()
    with pytest.warns(UserWarning, match="what they write is not seen here"):
        tandem.optim.Adagrad(layer.parameters()).share_memory()
    assert not layer.weight.is_shared()


def test_regular_backward_hooks():
    layer, seen = nn.Sequential(nn.Linear(3, 2), nn.Tanh()), []
    handle = layer.register_backward_hook(lambda module, into, out: seen.append((module, into, out)))
    x = tandem.rand(4, 3, requires_grad=True)
    y = layer(x)
    y.backward(tandem.ones(4, 2))
    assert seen[0][0] is layer and seen[0][2][0].equal(tandem.ones(4, 2))
    assert seen[0][1][0].allclose(1 - y.detach() ** 2)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_full_backward_hook(lambda *args: None)
    handle.remove()
    layer(x).sum().backward()
    assert len(seen) == 1
    layer.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_backward_hook(lambda *args: None)
    tanh = nn.Tanh()
    tanh.register_backward_hook(lambda module, into, out: tuple(g * 0 for g in into))
    x.grad = None
    tanh(x).sum().backward()
    assert x.grad.abs().max() == 0
    with tandem.no_grad():
        tanh(x)


def test_older_keywords_of_layers():
    with pytest.warns(FutureWarning, match="`min_value` is deprecated and renamed to `min_val`"):
        assert nn.Hardtanh(min_value=-2, max_val=3)(tandem.tensor([-9.0, 9.0])).tolist() == [-2, 3]
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ELU()])
    assert isinstance(layers.pop(key=0), nn.ReLU) and len(layers.pop(slice(0, 1))) == 1 and len(layers) == 1
    assert len(nn.Sequential().extend(sequential=[nn.ReLU()])) == 1


def test_pools_with_indices():
    F = nn.functional
    x = tandem.rand(1, 2, 6, 6, 6)
    for dims, y in ((1, x[0, 0]), (2, x[0]), (3, x)):
        for plain, args in ((f"max_pool{dims}d", (2, 2, 0, 1, False)), (f"adaptive_max_pool{dims}d", (3,))):
            expected = getattr(F, plain)(y, *args, return_indices=True)
            for flag in (False, True):
                found = getattr(F, f"{plain}_with_indices")(y, *args, flag)
                assert found[0].equal(expected[0]) and found[1].equal(expected[1])
        if dims > 1:
            samples = tandem.rand(*y.shape[:2], dims)
            plain = getattr(F, f"fractional_max_pool{dims}d")
            expected = plain(y, 2, 3, return_indices=True, _random_samples=samples)
            found = getattr(F, f"fractional_max_pool{dims}d_with_indices")(y, 2, 3, _random_samples=samples)
            assert found[0].equal(expected[0]) and found[1].equal(expected[1])


def test_losses_of_linear_layers():
    F = nn.functional
    tandem.manual_seed(0)
    x, w, target = tandem.randn(4, 3, requires_grad=True), tandem.randn(5, 3), tandem.tensor([0, 4, 2, 2])
    b, factors = tandem.randn(5), tandem.rand(5)
    ours = F.linear_cross_entropy(x, w, target, linear_bias=b, weight=factors, ignore_index=2, label_smoothing=0.1)
    theirs = F.cross_entropy(F.linear(x, w, b), target, factors, ignore_index=2, label_smoothing=0.1)
    assert ours.equal(theirs)
    assert F.linear_cross_entropy(x[0], w, target[0], reduction="none").shape == ()
    wide, targets = tandem.randn(5, 2, 3), tandem.randint(5, (4, 2))
    scores = tandem.einsum("nf,cdf->ncd", x, wide)
    tandem.testing.assert_close(
        F.linear_cross_entropy(x, wide, targets, reduction="sum"), F.cross_entropy(scores, targets, reduction="sum")
    )
    odds = tandem.rand(4, 5).softmax(1)
    tandem.testing.assert_close(F.linear_cross_entropy(x, w, odds), F.cross_entropy(F.linear(x, w), odds))
    for call, words in (
        (lambda: F.linear_cross_entropy(x[None], w, target), "input with dimensionality 1 or 2, got 3"),
        (lambda: F.linear_cross_entropy(x, w[0], target), "linear_weight with dimensionality at least 2, got 1"),
        (lambda: F.linear_cross_entropy(x[:, :2], w, target), r"got shapes \[4, 2\] and \[5, 3\]"),
        (lambda: F.linear_cross_entropy(x, w, target, linear_bias=b[:2]), r"linear_bias shape \(5,\), got \(2,\)"),
        (lambda: F.linear_cross_entropy(x, w, odds, ignore_index=1), "cannot be specified when target contains prob"),
        (lambda: nn.LinearCrossEntropyLoss(3, 5, weight=factors[:2]), r"weight shape to be \(5,\), got \(2,\)"),
        (lambda: nn.LinearCrossEntropyLoss(3, 5, label_smoothing=2), r"in range \[0, 1\], got 2"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()
    layer = nn.LinearCrossEntropyLoss(3, 5, out_features=(2,), bias=True, reduction="sum")
    assert list(layer.state_dict()) == ["linear.weight", "linear.bias"] and layer.linear.weight.shape == (10, 3)
    assert repr(layer).splitlines()[1] == (
        "  in_features=3, num_classes=5, out_features=(2,), bias=True, reduction=sum, ignore_index=None, "
        "label_smoothing=0.0, options=None"
    )
    scores = layer.linear(x).reshape(4, 5, 2)
    tandem.testing.assert_close(layer(x, targets), F.cross_entropy(scores, targets, reduction="sum"))


def test_norms_across_channels():
    x = tandem.rand(2, 6, 3, 3, requires_grad=True)
    layer = nn.CrossMapLRN2d(3, 0.5, 0.75, 2.0)
    tandem.testing.assert_close(layer(x), nn.LocalResponseNorm(3, 0.5, 0.75, 2.0)(x))
    assert repr(layer) == "CrossMapLRN2d(3, alpha=0.5, beta=0.75, k=2.0)"
    even = nn.CrossMapLRN2d(4, 0.5, 0.75, 2.0)(x)
    squares = tandem.nn.functional.pad(x * x, (0, 0, 0, 0, 1, 1)).unfold(1, 3, 1).sum(-1)
    tandem.testing.assert_close(even, x * (2 + squares * 0.5 / 4) ** -0.75)
    with pytest.raises(ValueError, match="Expected input to be 4D, got 3D instead"):
        layer(x[0])


def test_functional_forms():
    assert tandem.func.functionalize(tandem.sin, remove="mutations_and_views") is tandem.sin
    with pytest.raises(RuntimeError, match="invalid argument for remove"):
        tandem.func.functionalize(tandem.sin, remove="views")
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert tandem.func.replace_all_batch_norm_modules_(net) is net and net[1].running_var is None
    x = tandem.rand(5, 2)
    tandem.testing.assert_close(net.eval()(x), nn.functional.batch_norm(net[0](x), None, None, training=True))


def test_triangles():
    T = distributions.transforms
    v = tandem.arange(6.0)
    assert T.tril_matrix_to_vec(T.vec_to_tril_matrix(v)).equal(v)
    assert T.vec_to_tril_matrix(v[:3], -1).shape == (3, 3)
    assert T.tril_matrix_to_vec(tandem.eye(3), -1).tolist() == [0, 0, 0]


def test_generalized_pareto():
    pareto = distributions.GeneralizedPareto
    loc, scale, c = tandem.tensor([0.0, 1.0, 2.0]), tandem.tensor([1.0, 2.0, 3.0]), tandem.tensor([0.1, -0.5, 0.0])
    d = pareto(loc.double(), scale.double(), c.double())
    p = tandem.tensor([0.1, 0.5, 0.9], dtype=tandem.float64).unsqueeze(1)
    tandem.testing.assert_close(d.cdf(d.icdf(p)), p.expand(3, 3))
    x = d.icdf(p).requires_grad_()
    (slope,) = tandem.autograd.grad(d.cdf(x).sum(), x)
    tandem.testing.assert_close(slope, d.log_prob(x).exp().detach())
    tandem.testing.assert_close(d.log_survival_function(x).exp(), 1 - d.cdf(x))
    tandem.manual_seed(0)
    draws = d.sample((200000,))
    tandem.testing.assert_close(draws.mean(0), d.mean, rtol=0, atol=0.03)
    tandem.testing.assert_close(draws.var(0)[1:], d.variance[1:], rtol=0.05, atol=0)
    tandem.testing.assert_close(d.entropy(), -d.log_prob(draws).mean(0), rtol=0, atol=0.02)
    assert d.mode.equal(loc.double()) and d.expand((2, 3)).sample().shape == (2, 3)
    assert math.isnan(pareto(0.0, 1.0, 1.5).mean.item()) and math.isnan(pareto(0.0, 1.0, 0.5).variance.item())
    uniform = pareto(0.0, 2.0, -1.0)
    assert uniform.log_prob(tandem.tensor([0.5, 2.0])).allclose(tandem.tensor(0.5).log())
    free = tandem.tensor(0.3, requires_grad=True)
    pareto(0.0, 1.0, free).rsample((5,)).sum().backward()
    assert free.grad.isfinite()
    with pytest.raises(ValueError, match="GeneralizedPareto.* to satisfy the constraint GreaterThan"):
        pareto(0.0, -1.0, 1.0)
    with pytest.raises(ValueError, match="to be within the support"):
        d.log_prob(tandem.tensor([-1.0, 2.0, 3.0]))


def test_modules_by_device():
    for name, module in (("cpu", tandem.cpu), ("cuda:1", tandem.cuda), ("xpu", tandem.xpu), ("mps", tandem.mps)):
        assert tandem.get_device_module(name) is tandem.get_device_module(tandem.device(name)) is module
    with pytest.raises(RuntimeError, match="Device 'meta' does not have a corresponding module"):
        tandem.get_device_module("meta")


def test_older_settings_of_autocast():
    tandem.set_autocast_cpu_enabled(True)
    tandem.set_autocast_cpu_dtype(tandem.float16)
    try:
        assert (
            tandem.is_autocast_enabled("cpu")
            and tandem.mm(tandem.ones(1, 1), tandem.ones(1, 1)).dtype is tandem.float16
        )
    finally:
        tandem.set_autocast_cpu_enabled(False)
        tandem.set_autocast_cpu_dtype(tandem.bfloat16)
    tandem.set_autocast_gpu_dtype(tandem.float16)
    assert tandem.get_autocast_gpu_dtype() is tandem.float16


def test_keywords_by_their_names():
    bounds = distributions.constraints
    assert bounds.greater_than(lower_bound=1.0).lower_bound == bounds.greater_than_eq(lower_bound=1.0).lower_bound == 1
    assert bounds.less_than(upper_bound=2.0).upper_bound == 2
    assert not nn.UninitializedBuffer(persistent=False).persistent and nn.UninitializedBuffer().persistent
    assert nn.parameter.is_lazy(param=nn.UninitializedBuffer())
    assert pytree.tree_map_only(int, func=lambda x: -x, tree=[1, 2.0]) == [-1, 2.0]


def test_constructors_of_several_classes():
    class Named:
        def __init__(self, name):
            self.name = name

    class Both(nn.Module, Named):
        call_super_init = True

    assert Both("n").name == "n" and Both("n").training
    with pytest.raises(TypeError, match="takes 1 argument, 2 given"):
        nn.Module("n")


def test_a_class_says_the_version_of_its_state():
    class Old(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(tandem.ones(1))

    class New(Old):
        _version = 3

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            if local_metadata.get("version", 1) < 3:
                state_dict[prefix + "gain"] = state_dict[prefix + "gain"] * 2
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    state = nn.Sequential(New(), nn.BatchNorm1d(2), nn.ReLU()).state_dict()
    assert {name: data["version"] for name, data in state._metadata.items()} == {"": 1, "0": 3, "1": 2, "2": 1}
    for kind, gain in ((New, 1), (Old, 2)):
        model = New()
        model.load_state_dict(kind().state_dict())
        assert model.gain.item() == gain


def test_attributes_by_which_tools_know_modules():
    conv, back = nn.Conv2d(1, 1, 3), nn.ConvTranspose1d(1, 1, 3, stride=2, output_padding=1)
    assert (conv.transposed, conv.output_padding) == (False, (0, 0))
    assert (back.transposed, back.output_padding) == (True, (1,))
    assert nn.ZeroPad2d(1).value == 0 and nn.UpsamplingNearest2d(2).name == "UpsamplingNearest2d"


def test_what_can_be_compared():
    close = tandem.testing.assert_close
    for actual, expected in ((tandem.ones(2), np.ones(2, np.float32)), ([tandem.ones(2)], tandem.ones(1, 2))):
        with pytest.raises(TypeError, match="No comparison pair"):
            close(actual, expected)
    close(tandem.nn.Parameter(tandem.ones(2)), tandem.ones(2))
    close([tandem.ones(2)], (tandem.ones(2),))
    close(1 + 1j, complex(1, 1 + 1e-9))
    close(complex(1, float("nan")), complex(1, float("nan")), equal_nan=True)
    with pytest.raises(AssertionError, match="Scalars are not close"):
        close(1 + 1j, 1 + 2j)
    close(tandem.empty(2, device="meta"), tandem.empty(2, device="meta"))
    with pytest.raises(AssertionError, match="'shape' do not match"):
        close(tandem.empty(2, device="meta"), tandem.empty(3, device="meta"))
    large = tandem.tensor([2**53, 50_000_000])
    assert tandem.isclose(large, large + 1, rtol=0, atol=0).tolist() == [False, False]
    assert tandem.isclose(large, large + 1).tolist() == [True, True]
    make = functools.partial(tandem.testing.make_tensor, dtype=tandem.float64, device="cpu")
    assert make((2,), low=-(2**1030), high=2**1030).isfinite().all()


def test_types_of_python_stand_for_dtypes():
    limits = tandem.finfo(float), tandem.finfo(complex), tandem.iinfo(int)
    assert limits == (tandem.finfo(tandem.float64), tandem.finfo(tandem.complex128), tandem.iinfo(tandem.int64))
    with pytest.raises(AttributeError, match="'max' of finfo is not writable"):
        limits[0].max = 1.0
    for wrong in (int, bool, str):
        with pytest.raises(TypeError, match="finfo"):
            tandem.finfo(wrong)
    for wrong in (float, bool, str, 3):
        with pytest.raises(TypeError, match="iinfo"):
            tandem.iinfo(wrong)
    for arguments in ((float,), ("cpu", float)):
        assert tandem.nn.Linear(1, 1).to(*arguments).weight.dtype is tandem.float64
    assert tandem.nn.Linear(1, 1).to(dtype=float).weight.dtype is tandem.float64
    for wrong in (int, bool):
        with pytest.raises(TypeError, match="only accepts floating point"):
            tandem.nn.Linear(1, 1).to(wrong)
