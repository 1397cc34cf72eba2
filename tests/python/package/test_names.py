"""Names that projects import: each is there, or is an error that says what it lacks where it is used."""

from __future__ import annotations

import collections
import dataclasses
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tandem
from tandem import nn
from tandem.utils import _pytree as pytree

PACKAGE = str(Path(tandem.__file__).parents[1])


def run_installed(text: str, cwd: Path) -> str:
    program = "import tandem\ntandem.install_as_torch()\n" + textwrap.dedent(text)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": PACKAGE},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_functions_stay_functions_when_their_module_is_imported(tmp_path):
    run_installed(
        """
        import torch
        from torch.autograd.gradcheck import gradcheck
        from torch.nn.utils.weight_norm import weight_norm
        from torch.nn.utils.spectral_norm import spectral_norm
        import torch.nn.parallel.data_parallel
        import torch.autograd.gradcheck, torch.nn.utils.weight_norm, torch.nn.utils.spectral_norm
        assert torch.autograd.gradcheck is gradcheck and callable(gradcheck)
        assert torch.nn.utils.weight_norm is weight_norm and callable(weight_norm)
        assert torch.nn.utils.spectral_norm is spectral_norm and callable(spectral_norm)
        assert callable(torch.nn.parallel.data_parallel)
        from types import ModuleType
        import importlib, sys
        # No import of a module under torch puts a module where there was something else.
        before = {n: v for n, v in sys.modules.items() if n.startswith("torch")}
        for name in sorted(before):
            parent, _, last = name.rpartition(".")
            there = vars(sys.modules[parent]).get(last) if parent else None
            importlib.import_module(name)
            assert there is None or vars(sys.modules[parent])[last] is there, name
        assert len(before) > 100
        """,
        tmp_path,
    )


def test_modules_are_there_after_import_torch(tmp_path):
    run_installed(
        """
        import sys
        import torch
        for name in ("nn", "nn.functional", "nn.modules", "nn.modules.module", "optim", "optim.lr_scheduler",
                     "utils.data", "distributions", "jit", "cuda", "fx", "hub", "overrides", "library", "ops"):
            assert f"torch.{name}" in sys.modules, name
            assert eval(f"torch.{name}") is sys.modules[f"torch.{name}"], name
        assert torch.nn.modules.Linear is torch.nn.Linear
        assert torch.nn.modules.batchnorm._BatchNorm is torch.nn.BatchNorm2d.__mro__[1]
        assert issubclass(torch.nn.Conv3d, torch.nn.modules.conv._ConvNd)
        assert torch.nn.modules.utils._pair(1) == (1, 1)
        """,
        tmp_path,
    )


IMPORTS = """
import torch._dynamo.config
from torch._dynamo import maybe_mark_dynamic
from torch.distributed.algorithms.join import Join
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributions.binomial import Binomial, _clamp_by_zero
from torch.distributions.dirichlet import Dirichlet
from torch.distributions.gamma import Gamma, _standard_gamma
from torch.distributions.kl import _batch_trace_XXT, _kl_independent_independent, _kl_normal_normal, _x_log_x
from torch.distributions.kumaraswamy import _moments
from torch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_capacitance_tril
from torch.distributions.lowrank_multivariate_normal import _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from torch.distributions.transforms import _clipped_sigmoid
from torch.distributions.wishart import Wishart, _clamp_above_eps, _mvdigamma
from torch.jit import fork, interface, optimized_execution, script_method, wait
from torch.nn.modules.module import _addindent, register_module_forward_hook
from torch.nn.modules.padding import _ConstantPadNd, _ReflectionPadNd, _ReplicationPadNd
from torch.nn.modules.transformer import _get_clones
from torch.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs
from torch.onnx import OperatorExportTypes, TrainingMode
from torch.optim.lr_scheduler import _enable_get_lr_call, _warn_get_lr_called_within_step
from torch.overrides import enable_reentrant_dispatch, get_ignored_functions, get_overridable_functions
from torch.special import *
from torch.utils._pytree import PyTree, arg_tree_leaves, is_namedtuple, treespec_dumps, treespec_loads
from torch.nn.modules.activation import MultiheadAttention
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.nn.modules.fold import Fold
from torch.nn.modules.loss import _Loss, _WeightedLoss
from torch.nn.modules.module import Module, _IncompatibleKeys
from torch.nn.modules.pixelshuffle import PixelShuffle
from torch.nn.modules.pooling import _AdaptiveAvgPoolNd, _MaxPoolNd
from torch.nn.modules.upsampling import Upsample
from torch.nn.modules.utils import _ntuple, _reverse_repeat_tuple, consume_prefix_in_state_dict_if_present
from torch.optim.nadam import NAdam
from torch.optim.radam import RAdam
from torch.optim.adamax import Adamax
from torch.optim.adadelta import Adadelta
from torch.optim.adagrad import Adagrad
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch._utils import ExceptionWrapper, _flatten_dense_tensors, _unflatten_dense_tensors
from torch.futures import Future
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv, guard_size_oblivious, statically_known_true
from torch.library import opcheck
from torch.nn.modules.module import register_module_full_backward_hook
from torch.optim import SparseAdam
from torch.profiler import itt
from torch.profiler.itt import is_available, range_pop, range_push
from torch.fx import Graph, GraphModule, Tracer, symbolic_trace, wrap
from torch.fx.node import Node
from torch.fx.proxy import Proxy
from torch.hub import load_state_dict_from_url
from torch.utils.model_zoo import load_url
from torch.library import Library, custom_op, register_fake
from torch.overrides import has_torch_function, handle_torch_function
from torch.profiler import ProfilerActivity, profile, record_function
from torch.autograd.profiler import record_function
from torch.onnx import is_in_onnx_export
from torch.jit import ScriptModule, trace
from torch.jit.annotations import BroadcastingList2
from torch.compiler import allow_in_graph, disable, is_compiling
from torch._dynamo import config
from torch.utils._pytree import tree_map_only
from torch.utils.data._utils.collate import default_collate
from torch.utils.flop_counter import FlopCounterMode
from torch.signal.windows import gaussian, kaiser
from torch.storage import TypedStorage, UntypedStorage
from torch.distributed import ProcessGroup, ReduceOp, all_reduce, init_process_group
from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.distributed.checkpoint.state_dict import get_model_state_dict
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributions.utils import _standard_normal, _sum_rightmost, broadcast_all, lazy_property
from torch.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from torch.distributions.kl import _KL_REGISTRY, _infinite_like, kl_divergence, register_kl
from torch.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv, _precision_to_scale_tril
from torch.distributions.transforms import CatTransform, StackTransform, _InverseTransform
from torch.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from torch.functional import einsum
from torch.autograd.variable import Variable
import torch.multiprocessing as mp
import torch._dynamo
import torch.distributed.nn.functional
import torch.distributed.rpc
"""


def test_names_can_be_imported(tmp_path):
    out = run_installed(
        f"""
        lines = {IMPORTS.strip().splitlines()!r}
        for line in lines:
            exec(line)
        print(len(lines))
        """,
        tmp_path,
    )
    assert int(out) > 50


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("torch.fx.CodeGen()", "torch.fx.CodeGen is not part of Tandem. Use tandem.compile"),
        ("torch.distributed.init_process_group('mpi')", "the backend mpi is not part of Tandem: use 'gloo'"),
        ("torch.distributed.split_group()", "torch.distributed.split_group is not part of"),
        ("import torch.distributed.nn as n; n.RemoteModule()", "torch.distributed.nn.RemoteModule is not part"),
        ("torch.jit.trace_module(abs, 1)", "torch.jit.trace_module is not part of Tandem. Use tandem.compile"),
        ("torch.onnx.export(None, (), 'x')", "torch.onnx.export is not part of Tandem. Use save and load"),
        ("torch.optim.SparseAdam([])", "torch.optim.SparseAdam is not part of Tandem. Use optim.Adam"),
        ("torch.fx.experimental.proxy_tensor.make_fx(abs)", "torch.fx.experimental.proxy_tensor.make_fx is not part"),
        ("torch.hub.load('owner/name', 'model')", "torch.hub.load(source='github') is not part of Tandem"),
        ("from torch.distributed.fsdp import fully_shard; fully_shard(None)", "torch.distributed.fsdp.fully_shard is"),
    ],
)
def test_what_is_lacking_says_so_when_it_is_used(statement, words, tmp_path):
    out = run_installed(
        f"""
        import torch
        try:
            {statement}
        except NotImplementedError as e:
            print(e)
        """,
        tmp_path,
    )
    assert words in out


def test_lacking_classes_can_be_asked_for():
    model = nn.Linear(2, 2)
    assert not isinstance(model, nn.parallel.DistributedDataParallel)
    assert not isinstance(model, (tandem.fx.GraphModule, tandem.jit.ScriptModule))
    assert issubclass(nn.parallel.DistributedDataParallel, nn.Module)


def test_decorators_and_questions_around_compile():
    @tandem.compiler.disable
    def plain(x):
        return x + 1

    @tandem.compile
    def f(x):
        return tandem.compiler.allow_in_graph(plain)(x) * 2

    x = tandem.ones(2)
    assert f(x).tolist() == f(x).tolist() == [4, 4]
    assert not tandem.compiler.is_dynamo_compiling() and not tandem.compiler.is_exporting()
    assert tandem._dynamo.optimize()(plain)(x).tolist() == [2, 2]
    with tandem.compiler.set_stance("force_eager"):
        assert f(x).tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="invalid torch.compile stance 'fast'"):
        tandem.compiler.set_stance("fast")


def test_custom_operations():
    @tandem.library.custom_op("tests::scaled", mutates_args=())
    def scaled(x: tandem.Tensor, factor: float = 2.0) -> tandem.Tensor:
        return tandem.tensor(x.detach().numpy() * factor)

    @scaled.register_fake
    def _(x, factor=2.0):
        return tandem.empty_like(x)

    x = tandem.tensor([1.0, 2.0], requires_grad=True)
    assert tandem.ops.tests.scaled(x.detach(), factor=3.0).tolist() == [3, 6]
    y = scaled(x)
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="Trying to backward through tests::scaled"):
        y.sum().backward()

    def keep(ctx, inputs, output):
        ctx.factor = inputs[1]

    scaled.register_autograd(lambda ctx, g: (g * ctx.factor, None), setup_context=keep)
    scaled(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5, 5]
    with pytest.raises(AttributeError, match="there is no operation tests::absent"):
        tandem.ops.tests.absent  # noqa: B018
    with pytest.raises(ValueError, match="'namespace::name', got 'scaled'"):
        tandem.library.custom_op("scaled", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    library = tandem.library.Library("tests_library", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="tests_library::twice does not have a kernel registered"):
        tandem.ops.tests_library.twice(x)
    library.impl("twice", lambda x: x * 2, "CPU")
    assert tandem.ops.tests_library.twice.default(x).tolist() == [2, 4]


def test_sync_batch_norm_is_batch_norm():
    tandem.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Sequential(nn.BatchNorm2d(2)))
    x = tandem.randn(4, 1, 6, 6)
    expected = net(x)
    running = net[1].running_mean.clone()
    net[1].reset_running_stats()
    weight = net[1].weight
    net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert type(net[1]) is type(net[2][0]) is nn.SyncBatchNorm and net[1].weight is weight
    tandem.testing.assert_close(net(x), expected)
    tandem.testing.assert_close(net[1].running_mean, running)
    with pytest.raises(ValueError, match="expected at least 2D input"):
        net[1](tandem.ones(2))


def test_fusion_of_batch_norms():
    tandem.manual_seed(0)
    cases = [
        (nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), tandem.randn(2, 2, 4, 4), False),
        (nn.Conv1d(2, 4, 2, groups=2, bias=False), nn.BatchNorm1d(4, affine=False), tandem.randn(2, 2, 4), False),
        (nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3), tandem.randn(2, 2, 4, 4), True),
    ]
    for conv, bn, x, transpose in cases:
        bn(conv(x))  # statistics that are not the first ones
        conv.eval(), bn.eval()
        fused = nn.utils.fusion.fuse_conv_bn_eval(conv, bn, transpose)
        tandem.testing.assert_close(fused(x), bn(conv(x)))
    linear, bn, x = nn.Linear(2, 3), nn.BatchNorm1d(3), tandem.randn(5, 2)
    bn(linear(x))
    fused = nn.utils.fusion.fuse_linear_bn_eval(linear.eval(), bn.eval())
    tandem.testing.assert_close(fused(x), bn(linear(x)))
    with pytest.raises(AssertionError, match="Fusion only for eval"):
        nn.utils.fusion.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))


@dataclasses.dataclass
class Point:
    x: object
    y: object


Pair = collections.namedtuple("Pair", "first second")
pytree.register_dataclass(Point)


def test_trees():
    top = tandem.tensor([[1.0, 3.0]]).max(1)
    tree = {"a": [1, 2.0], "b": Pair(3, top), "c": Point("x", None), "d": collections.deque([4], maxlen=2)}
    leaves, spec = pytree.tree_flatten(tree)
    assert len(leaves) == spec.num_leaves == 8
    again = pytree.tree_unflatten(leaves, spec)
    assert type(again["b"].second) is type(top) and again["b"].second.values is top.values
    assert again["c"] == tree["c"] and again["d"].maxlen == 2
    assert pytree.tree_map_only(int, lambda x: -x, tree)["a"] == [-1, 2.0]
    assert pytree.tree_map_only((int, float), lambda x: -x, tree)["a"] == [-1, -2.0]
    assert pytree.tree_map_only(lambda x: x == 1, lambda x: 9, [1, 2]) == [9, 2]
    assert pytree.tree_map(len, [[1, 2], [3]], is_leaf=lambda x: isinstance(x, list) and x[0] != [1, 2]) == [2, 1]
    assert pytree.tree_all(bool, [1, 2]) and not pytree.tree_all(bool, [1, 0]) and pytree.tree_any(bool, [0, (1,)])
    assert pytree.tree_any_only(int, lambda x: x > 1, [1.5, 2]) and pytree.tree_all_only(int, lambda x: x > 1, [0.5, 2])
    paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)]
    assert paths[:4] == ["['a'][0]", "['a'][1]", "['b'].first", "['b'].second[0]"] and "['c'].x" in paths
    path = pytree.tree_leaves_with_path(tree)[6][0]
    assert pytree.key_get(tree, path[:1]) is tree["c"]
    assert pytree.tree_map_with_path(lambda path, x: (len(path), x), [1, [2]]) == [(1, 1), [(2, 2)]]
    assert pytree.treespec_pprint(pytree.tree_structure([1, (2,)])) == "[*, (*,)]"


def test_structures_of_trees():
    Pair = collections.namedtuple("Pair", "x y")
    tree = {"a": [1, (2, 3)], "b": collections.deque([4])}
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(NotImplementedError, match="named tuple Pair"):
        pytree.treespec_dumps(pytree.tree_structure(Pair(1, 2)))
    with pytest.raises(ValueError, match="Unknown protocol 3"):
        pytree.treespec_loads("[3, null]")
    leaf = pytree.treespec_leaf()
    made = pytree.treespec_dict(a=pytree.treespec_list([leaf, pytree.treespec_tuple([leaf, leaf])]))
    assert made == pytree.tree_structure({"a": [1, (2, 3)]})
    assert pytree._broadcast_to_and_flatten({"a": [7, 8]}, made) == [7, 8, 8]
    assert pytree._broadcast_to_and_flatten({"a": 7}, made) == [7, 7, 7]
    assert pytree._broadcast_to_and_flatten([7], made) is None
    assert pytree.is_namedtuple(Pair(1, 2)) and not pytree.is_namedtuple((1, 2))
    largest = tandem.ones(2).max(0)
    assert pytree.is_structseq(largest) and not pytree.is_namedtuple(largest)
    assert pytree._get_node_type(Pair(1, 2)) is collections.namedtuple and pytree._get_node_type([]) is list
    assert pytree.arg_tree_leaves([1], (2,), c={"d": 3}) == [1, 2, 3]


def test_private_names_of_distributions():
    from tandem.distributions import _private_names as private

    w, d = tandem.randn(5, 4, 2, dtype=tandem.float64), tandem.rand(5, 4, dtype=tandem.float64) + 0.5
    x = tandem.randn(5, 4, dtype=tandem.float64)
    full = w @ w.mT + tandem.diag_embed(d)
    factor = private._batch_capacitance_tril(w, d)
    tandem.testing.assert_close(private._batch_lowrank_logdet(w, d, factor), tandem.logdet(full))
    direct = (x * tandem.linalg.solve(full, x)).sum(-1)
    tandem.testing.assert_close(private._batch_lowrank_mahalanobis(w, d, x, factor), direct)
    tandem.testing.assert_close(private._batch_trace_XXT(w), (w @ w.mT).diagonal(dim1=-2, dim2=-1).sum(-1))
    p = tandem.tensor([3.0, 4.5], dtype=tandem.float64, requires_grad=True)
    (slope,) = tandem.autograd.grad(tandem.special.multigammaln(p, 3).sum(), p)
    tandem.testing.assert_close(private._mvdigamma(p, 3), slope)
    with pytest.raises(ValueError, match="greater than"):
        private._mvdigamma(tandem.tensor([0.5]), 3)
    a, b = tandem.tensor(2.0), tandem.tensor(3.0)
    tandem.testing.assert_close(private._moments(a, b, 1), tandem.distributions.Kumaraswamy(a, b).mean)
    z = tandem.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    y = private._clamp_by_zero(z)
    assert y.tolist() == [0, 0, 2] and tandem.autograd.grad(y.sum(), z)[0].tolist() == [0, 0.5, 1]
    assert private._x_log_x(tandem.tensor([0.0, 1.0])).tolist() == [0, 0]
    assert 0 < private._clipped_sigmoid(tandem.tensor(-500.0)) and private._clipped_sigmoid(tandem.tensor(500.0)) < 1


def test_divergences_of_any_classes():
    class Plain:
        pass

    class Finer(Plain):
        pass

    @tandem.distributions.register_kl(Plain, Plain)
    def _(p, q):
        return "registered"

    assert tandem.distributions.kl_divergence(Finer(), Plain()) == "registered"
    with pytest.raises(TypeError, match="Expected type_q to be a class but got 3"):
        tandem.distributions.register_kl(Plain, 3)


def test_methods_can_be_added_to_tensor():
    @tandem.compile
    def f(x):
        return x.added() * 2

    tandem.Tensor.added = lambda self: self + 1
    try:
        x = tandem.ones(2)
        assert x.added().tolist() == [2, 2] and nn.Parameter(x).added().tolist() == [2, 2]
        assert f(x).tolist() == f(x).tolist() == [4, 4]
        tandem.Tensor.added = lambda self: self + 2
        assert f(x).tolist() == [6, 6]
    finally:
        del tandem.Tensor.added
    assert not hasattr(tandem.ones(1), "added")
    with pytest.raises(AttributeError, match="added"):
        f(x)


def test_nodes_of_functions_show_their_context():
    class Doubled(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.k = k
            ctx.save_for_backward(x)
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

    x = tandem.ones(2, requires_grad=True)
    node = Doubled.apply(x, 2).grad_fn
    assert node.k == 2 and node.saved_tensors[0].tolist() == [1, 1] and node.name() == "DoubledBackward"
    y = Doubled.apply(x, 2)
    y.grad_fn.k = 5
    y.sum().backward()
    assert x.grad.tolist() == [5, 5]
    with pytest.raises(AttributeError, match="absent"):
        node.absent  # noqa: B018
    with pytest.raises(AttributeError, match="absent"):
        (x * 2).grad_fn.absent  # noqa: B018


class Wrapping(tandem.optim.Optimizer):
    """An optimizer that holds another and does not call `Optimizer.__init__`."""

    def __init__(self, inner):
        self.inner = inner
        self.param_groups, self.state, self.defaults = inner.param_groups, inner.state, inner.defaults

    def step(self, closure=None):
        return self.inner.step(closure)


def test_optimizers_need_not_call_the_constructor_of_their_base():
    p = tandem.ones(1, requires_grad=True)
    optimizer = Wrapping(tandem.optim.SGD([p], lr=0.5))
    schedule = tandem.optim.lr_scheduler.StepLR(optimizer, 1)
    log = []
    optimizer.register_step_post_hook(lambda *args: log.append("stepped"))
    p.sum().backward()
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    assert p.item() == 0.5 and p.grad is None and log == ["stepped"]
    assert optimizer.state_dict()["param_groups"][0]["lr"] == pytest.approx(0.05)
    other = Wrapping(tandem.optim.SGD([p], lr=0.5))
    other.step()
    assert log == ["stepped"]


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_weights_can_be_put_in_place(kind):
    layer = getattr(nn, kind)(2, 3)
    x = tandem.randn(4, 1, 2)
    weights = [w.detach() * 0.5 for w in layer._flat_weights]
    halved = getattr(nn, kind)(2, 3)
    with tandem.no_grad():
        for p, w in zip(halved.parameters(), weights, strict=True):
            p.copy_(w)
    layer._flat_weights = weights
    assert layer(x)[0].tolist() == halved(x)[0].tolist()
    layer._flat_weights = list(layer.parameters())
    assert layer(x)[0].requires_grad and len(list(layer.parameters())) == 4


NAMED = {
    # size, floating, complex, signed
    "complex32": (4, False, True, True),
    "complex64": (8, False, True, True),
    "complex128": (16, False, True, True),
    "uint16": (2, False, False, False),
    "uint32": (4, False, False, False),
    "uint64": (8, False, False, False),
    "float8_e4m3fn": (1, True, False, True),
    "float8_e5m2": (1, True, False, True),
    "float8_e4m3fnuz": (1, True, False, True),
    "float8_e5m2fnuz": (1, True, False, True),
    "float8_e8m0fnu": (1, True, False, False),
    "quint8": (1, False, False, False),
    "qint8": (1, False, False, True),
    "qint32": (4, False, False, True),
    "quint4x2": (1, False, False, False),
    "quint2x4": (1, False, False, False),
}


@pytest.mark.parametrize("name", NAMED)
def test_dtypes_without_tensors(name):
    import pickle

    dtype = getattr(tandem, name)
    assert isinstance(dtype, tandem.dtype) and str(dtype) == f"tandem.{name}"
    assert (dtype.itemsize, dtype.is_floating_point, dtype.is_complex, dtype.is_signed) == NAMED[name]
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    x = tandem.ones(2)
    assert x.dtype is not dtype and x.dtype not in (dtype,)
    for call in (
        lambda: tandem.zeros(2, dtype=dtype),
        lambda: tandem.tensor([1], dtype=dtype),
        lambda: x.to(dtype),
        lambda: x.sum(dtype=dtype),
        lambda: tandem.empty_like(x, dtype=dtype),
        lambda: tandem.set_default_dtype(dtype),
        lambda: tandem.promote_types(dtype, tandem.float32),
        lambda: x.type(dtype),
    ):
        with pytest.raises(NotImplementedError, match=f"dtype {name}: this build of Tandem has no tensors of it"):
            call()


def test_limits_of_dtypes_without_tensors():
    rows = {
        "complex64": (32, 2.0**-23, 3.4028234663852886e38, "float32"),
        "complex128": (64, 2.0**-52, 1.7976931348623157e308, "float64"),
        "float8_e4m3fn": (8, 0.125, 448.0, "float8_e4m3fn"),
        "float8_e5m2": (8, 0.25, 57344.0, "float8_e5m2"),
        "float8_e4m3fnuz": (8, 0.125, 240.0, "float8_e4m3fnuz"),
        "float8_e5m2fnuz": (8, 0.125, 57344.0, "float8_e5m2fnuz"),
    }
    for name, (bits, eps, most, shown) in rows.items():
        f = tandem.finfo(getattr(tandem, name))
        assert (f.bits, f.eps, f.max, f.min, f.dtype) == (bits, eps, most, -most, shown)
    unsigned = tandem.finfo(tandem.float8_e8m0fnu)
    assert (unsigned.max, unsigned.min, unsigned.tiny) == (2.0**127, 2.0**-127, 2.0**-127)
    for bits in (16, 32, 64):
        i = tandem.iinfo(getattr(tandem, f"uint{bits}"))
        assert (i.min, i.max, i.bits) == (0, 2**bits - 1, bits)
    with pytest.raises(TypeError, match="iinfo"):
        tandem.iinfo(tandem.complex64)


def test_questions_about_devices_and_layouts():
    x = tandem.ones(2)
    for name in "is_xpu is_ipu is_mtia is_maia is_vulkan is_mkldnn is_sparse_csr is_xla".split():
        assert getattr(x, name) is False


def test_flattened_tensors_and_exceptions_of_others(tmp_path):
    run_installed(
        """
        import torch
        from torch._utils import ExceptionWrapper, _flatten_dense_tensors, _unflatten_dense_tensors
        from torch.fx.experimental.symbolic_shapes import guard_size_oblivious, statically_known_true, sym_and
        from torch.profiler import itt
        a, b = torch.arange(6).reshape(2, 3), torch.ones(2, dtype=torch.int64)
        flat = _flatten_dense_tensors((a.mT, b))
        assert flat.tolist() == [0, 3, 1, 4, 2, 5, 1, 1]
        c, d = _unflatten_dense_tensors(flat, (a.mT, b))
        assert torch.equal(c, a.mT) and torch.equal(d, b) and d._base is flat
        for error, kind in ((KeyError("k"), KeyError), (UnicodeDecodeError("a", b"", 0, 1, "r"), RuntimeError)):
            try:
                raise error
            except Exception:
                kept = ExceptionWrapper(where="in a worker")
            try:
                kept.reraise()
            except kind as e:
                assert f"Caught {type(error).__name__} in a worker.\\nOriginal Traceback" in str(e), str(e)
            else:
                raise AssertionError
        assert not guard_size_oblivious(a.shape[0] == 1) and statically_known_true(sym_and(True, a.shape[0] == 2))
        with itt.range("step"):
            itt.mark("here")
        assert not itt.is_available()
        """,
        tmp_path,
    )
