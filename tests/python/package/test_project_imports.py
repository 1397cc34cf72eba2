"""What projects that build on PyTorch ask for when they are imported: names, versions, layouts, registrations."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from test_names import run_installed

import tandem
from tandem import nn
from tandem.distributed._placements import Partial, Replicate, Shard
from tandem.func import _older as older
from tandem.utils import _foreach_utils as foreach_utils
from tandem.utils import _pytree as pytree


def test_names_of_modules_that_are_mostly_imported(tmp_path):
    run_installed(
        """
        import torch
        from functorch import grad, make_functional, vmap
        from torch._C import _TensorMeta
        from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
        from torch._dynamo.eval_frame import is_dynamo_supported
        from torch._dynamo.exc import TorchDynamoException
        from torch._jit_internal import _copy_to_script_wrapper
        from torch._tensor_str import PRINT_OPTS, _tensor_str
        from torch.autograd.profiler import EventList, emit_nvtx
        from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
        from torch.distributed.device_mesh import DeviceMesh
        from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
        from torch.distributed.tensor import DTensor, Replicate, Shard
        from torch.distributed.tensor.placement_types import Shard as SameShard, _StridedShard
        from torch.hub import HASH_REGEX, urlparse
        from torch.jit.annotations import List
        from torch.serialization import DEFAULT_PROTOCOL, MAP_LOCATION
        from torch.utils.cpp_extension import CUDA_HOME, load
        from torch.utils.data._utils.collate import np_str_obj_array_pattern
        from torch.utils.data.dataloader import _BaseDataLoaderIter
        import torch.distributed.autograd, torch.distributed.rpc
        assert DeviceMesh is torch.distributed.DeviceMesh is torch.distributed.tensor.DeviceMesh
        assert torch.torch is torch and Shard is SameShard and issubclass(_StridedShard, Shard)
        assert _TensorMeta is type(torch.Tensor) and CUDA_HOME is None and is_dynamo_supported()
        assert not torch.distributed.rpc.is_available() and not torch.distributed.autograd.is_available()
        assert not torch.profiler.kineto_available() and not torch.backends.opt_einsum.is_available()
        assert _tensor_str(torch.ones(2), 0) == "[1., 1.]" and PRINT_OPTS.threshold == 1000
        assert "USE_MKL=OFF" in torch.__config__.show() and torch.__config__.parallel_info()
        assert torch.distributed.ReduceOp.RedOpType.SUM is torch.distributed.ReduceOp.SUM
        assert torch.ScriptModule is torch.jit.ScriptModule
        assert not isinstance(torch.ones(1), torch.TensorType) and not isinstance(None, torch.DeviceObjType)
        assert "ExpTransform" in torch.distributions.transforms.__all__
        for use in (lambda: load("x", []), lambda: DTensor()):
            try:
                use()
            except NotImplementedError as error:
                assert "is not part of Tandem" in str(error)
            else:
                raise AssertionError
        x = torch.arange(6.0).reshape(2, 3)
        with TransformGetItemToIndex():
            assert vmap(lambda i: x[0][i])(torch.tensor([2, 0])).tolist() == [2.0, 0.0]
        """,
        tmp_path,
    )


def test_a_missing_name_of_a_made_module_names_itself(tmp_path):
    out = run_installed(
        """
        import torch
        for module, name in (("fx.experimental.symbolic_shapes", "Nothing"), ("distributed.rpc", "No")):
            try:
                exec(f"from torch.{module} import {name}")
            except ImportError as error:
                print(type(error).__name__, error)
        """,
        tmp_path,
    )
    assert "cannot import name 'Nothing' from 'torch.fx.experimental.symbolic_shapes'" in out
    assert "cannot import name 'No' from 'torch.distributed.rpc'" in out


def test_the_version_is_known_without_an_import(tmp_path):
    run_installed(
        """
        from importlib import metadata
        assert metadata.version("torch").startswith("2.13.0")
        assert metadata.distribution("torch").metadata["Name"] == "torch"
        assert "torch" in {d.metadata["Name"] for d in metadata.distributions()}
        import torch
        assert torch.__version__ == metadata.version("torch")
        try:
            metadata.version("torchvision-that-is-not-there")
        except metadata.PackageNotFoundError:
            pass
        else:
            raise AssertionError
        """,
        tmp_path,
    )


def test_the_version_is_compared_as_a_version(tmp_path):
    run_installed(
        """
        import torch
        from torch.torch_version import TorchVersion

        assert torch.__version__ > "2.9" and torch.__version__ >= (2, 13) and "2.9" < torch.__version__ < "10.0"
        assert not torch.__version__ < "2.4" and not torch.__version__ == "2.13.0" and (1, 13) <= torch.__version__
        assert isinstance(torch.__version__, str) and isinstance(torch.__version__, TorchVersion)
        order = "1.0.dev1 1.0a0.dev2 1.0a0 1.0-beta.2 1.0rc1 1.0 1.0+cpu 1.0+cpu.1 1.0+11 1.0.post1.dev2 1.0.post1 1!0"
        order = [TorchVersion(v) for v in order.split()]
        for i, a in enumerate(order):
            for j, b in enumerate(order):
                assert (a < str(b), a <= b, a == str(b), a >= b, a > b) == (i < j, i <= j, i == j, i >= j, i > j)
        assert TorchVersion("1.0") == "v1.0.0" == TorchVersion("1.0") == (1,) and TorchVersion("x") > "2.0"
        assert len({TorchVersion("1.0"), "1.0"}) == 1 and TorchVersion("1.0") != 1
        """,
        tmp_path,
    )


def test_older_names_of_modules(tmp_path):
    run_installed(
        """
        import torch
        from torch._vmap_internals import _vmap
        from torch.distributed._tensor.device_mesh import DeviceMesh
        from torch.distributed._tensor.experimental import implicit_replication
        from torch.distributed._tensor.placement_types import Shard
        from torch.distributed.tensor.device_mesh import DeviceMesh as SameMesh

        assert DeviceMesh is SameMesh is torch.distributed.DeviceMesh and Shard is torch.distributed.tensor.Shard
        x = torch.arange(6.0).reshape(3, 2)
        assert _vmap(torch.dot, (0, None))(x, x[1]).tolist() == [3.0, 13.0, 23.0]
        """,
        tmp_path,
    )


def test_types_of_sparse_tensors_can_be_annotated_with_and_are_refused():
    for name in "BFloat16 Byte Char Double Float Half Int Long Short".split():
        kind = getattr(tandem.sparse, f"{name}Tensor")
        assert not isinstance(tandem.ones(2), kind | None)
        with pytest.raises(NotImplementedError, match=f"sparse.{name}Tensor is not part of Tandem. Use dense tensors"):
            kind(2, 3)


def test_sparse_layouts_can_be_compared_with_and_are_refused():
    x = tandem.ones(2)
    assert x.layout == tandem.strided and tandem.zeros(2, layout=tandem.strided).tolist() == [0.0, 0.0]
    for name in "sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc".split():
        other = getattr(tandem, name)
        assert repr(other) == f"tandem.{name}" and x.layout != other
        for make in (tandem.zeros, tandem.empty, x.new_zeros):
            with pytest.raises(NotImplementedError, match=rf"layout=tandem.{name} is not part of Tandem"):
                make(2, layout=other)
        with pytest.raises(NotImplementedError, match="zeros_like"):
            tandem.zeros_like(x, layout=other)
    with pytest.raises(TypeError, match=r"zeros\(\): argument 'layout' must be tandem.layout, not int"):
        tandem.zeros(2, layout=3)


def test_operations_by_their_names_below_functions():
    aten, x = tandem.ops.aten, tandem.arange(6.0).reshape(2, 3)
    assert aten.add.Tensor is aten.add.Tensor and aten.squeeze.default is not aten.squeeze.dim
    assert tandem.equal(aten.add.Tensor(x, x), x + x) and tandem.equal(aten.mm(x, x.T), x @ x.T)
    assert tandem.equal(aten.slice.Tensor(x, 1, 1, 3), x[:, 1:3]) and tandem.equal(
        aten.slice.Tensor(x, -1, 0, 1), x[:, :1]
    )
    assert tandem.equal(aten.index.Tensor(x, [None, tandem.tensor([2, 0])]), x[:, [2, 0]])
    assert aten.select.int(x, 0, 1).tolist() == [3.0, 4.0, 5.0]
    copy = aten._to_copy.default(x, dtype=tandem.float64)
    assert copy.dtype == tandem.float64 and aten._to_copy.default(x) is not x
    assert aten.alias.default(x).data_ptr() == x.data_ptr() and aten.add_.Tensor(x, 1) is x
    assert aten.add.Tensor.name() == "aten::add.Tensor" and aten.clone.default.name() == "aten::clone"
    assert repr(aten.add.Tensor) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert not hasattr(aten, "no_such_operation") and not hasattr(aten.add, "_none")


def test_placements_are_values():
    assert Shard(1) == Shard(1) and hash(Shard(1)) == hash(Shard(1)) and Shard(0) != Replicate()
    assert Shard(1).is_shard(1) and not Shard(1).is_shard(0) and Replicate().is_replicate()
    assert Partial().is_partial("sum") and not Partial("avg").is_partial("sum")
    assert [str(p) for p in (Shard(0), Replicate(), Partial())] == ["S(0)", "R", "P(sum)"]


def test_paths_of_registered_containers_have_their_keys():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(
        Pair,
        lambda p: ([p.a, p.b], None),
        lambda items, _: Pair(*items),
        flatten_with_keys_fn=lambda p: ([(pytree.GetAttrKey("a"), p.a), (pytree.GetAttrKey("b"), p.b)], None),
    )
    paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path({"x": Pair(1, [2, 3])})]
    assert paths == ["['x'].a", "['x'].b[0]", "['x'].b[1]"]
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda items, _: Pair(*items))
    pytree._register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda items, _: Pair(*items))
    assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(Pair(1, 2))] == ["[0]", "[1]"]
    pairs, keys = pytree._dict_flatten_with_keys({"k": 1})
    assert pairs == [(pytree.MappingKey("k"), 1)] and pytree._dict_unflatten([2], keys) == {"k": 2}


def test_lists_of_tensors_by_dtype():
    a, b, c = tandem.ones(1), tandem.ones(1).double(), tandem.ones(2)
    groups = foreach_utils._group_tensors_by_device_and_dtype([[a, b, c], [None, b, a]], with_indices=True)
    assert {dtype: indices for (_, dtype), (_, indices) in groups.items()} == {
        tandem.float32: [0, 2],
        tandem.float64: [1],
    }
    lists, _ = groups[a.device, tandem.float32]
    assert lists[0][0] is a and lists[0][1] is c and lists[1] == [None, a]


def test_modules_as_functions_of_their_state():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    x = tandem.randn(4, 2)
    with pytest.raises(RuntimeError, match="has buffers"):
        older.make_functional(net)
    f, params, buffers = older.make_functional_with_buffers(net)
    assert len(params) == 4 and len(buffers) == 3 and params[0] is not net[0].weight
    expected = net(x)
    assert tandem.equal(f(params, [b.clone() for b in buffers], x), expected)
    grads = tandem.func.grad(lambda p: f(p, [b.clone() for b in buffers], x).square().sum())(params)
    assert [g.shape for g in grads] == [p.shape for p in params]
    g, weights = older.make_functional(nn.Linear(2, 1), disable_autograd_tracking=True)
    assert not any(w.requires_grad for w in weights) and g(weights, x).shape == (4, 1)
    layers = [nn.Linear(2, 3) for _ in range(5)]
    f, params, buffers = older.combine_state_for_ensemble(layers)
    out = tandem.vmap(f, in_dims=(0, 0, None))(params, buffers, x)
    assert all(tandem.allclose(out[i], layers[i](x)) for i in range(5)) and params[0].requires_grad
    with pytest.raises(RuntimeError, match="same class"):
        older.combine_state_for_ensemble([nn.Linear(2, 2), nn.ReLU()])
    with pytest.raises(RuntimeError, match="at least one"):
        older.combine_state_for_ensemble([])


def test_reductions_by_number():
    from tandem.nn import _reduction

    assert tandem.nn.functional._Reduction is _reduction
    assert [_reduction.get_enum(r) for r in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="not a valid value"):
        _reduction.get_enum("other")
    assert _reduction.legacy_get_string(False, None, emit_warning=False) == "sum"
    assert _reduction.legacy_get_enum(None, None) == 1


def test_saved_arrays_keep_dtypes_that_no_tensor_has(tmp_path):
    arrays = {
        "state": np.random.RandomState(0).get_state()[1],
        "complex": np.array([[1 + 2j], [3j]]),
        "text": np.array(["a", "bcd"]),
        "big": np.arange(3, dtype=">u2"),
        "none": np.zeros((0, 2), np.uint64),
        "scalar": np.array(7, np.uint16),
    }
    tandem.save(arrays, tmp_path / "arrays")
    loaded = tandem.load(tmp_path / "arrays")
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype and loaded[name].shape == array.shape
        assert np.array_equal(loaded[name], array) and loaded[name].flags.writeable


def test_classes_of_a_subject_are_in_the_dict_of_its_module(tmp_path):
    run_installed(
        """
        import torch
        found = {n for n, v in vars(torch.nn.modules.activation).items() if isinstance(v, type)}
        assert {"ReLU", "Tanh", "GELU", "Softmax", "PReLU"} <= found and "Linear" not in found
        assert "Conv2d" in vars(torch.nn.modules.conv)
        """,
        tmp_path,
    )


def test_questions_about_transforms_and_sizes():
    seen = []

    def watched(x):
        seen.append(tandem._C._are_functorch_transforms_active())
        return x * 2

    tandem.vmap(watched)(tandem.ones(2))
    watched(tandem.ones(2))
    assert seen == [True, False] and tandem._C._get_tracing_state() is None
    assert tandem._C._log_api_usage_once("here") is None and tandem.Future is tandem.futures.Future
    parsed = tandem._C._nn._parse_to("cpu", tandem.float64, True)
    assert parsed == (tandem.device("cpu"), tandem.float64, True, None)
    assert tandem._C._nn._parse_to(tandem.ones(1), memory_format=tandem.channels_last)[1:] == (
        tandem.float32,
        False,
        tandem.channels_last,
    )
    with pytest.raises(TypeError, match="invalid argument of type float"):
        tandem._C._nn._parse_to(3.5)
    assert not isinstance(tandem.ones(2).shape[0], tandem.SymInt) and not isinstance(1.0, tandem.SymFloat)
    with pytest.raises(NotImplementedError, match="SymInt is not part of Tandem"):
        tandem.SymInt(1)
    tandem._assert_async(tandem.tensor(1), "never said")
    with pytest.raises(RuntimeError, match="weights are zero"):
        tandem._assert_async(tandem.tensor(0.0), "weights are zero")


def test_norms_of_lists_by_name():
    xs = [tandem.tensor([3.0, -4.0]), tandem.tensor([[1.0]])]
    assert [n.item() for n in tandem._foreach_norm(xs)] == [5.0, 1.0]
    assert [n.item() for n in tandem._foreach_norm(xs, ord=1)] == [7.0, 1.0]
    assert [n.item() for n in tandem._foreach_norm(xs, float("inf"))] == [4.0, 1.0]
    assert tandem._foreach_norm(xs, 2, dtype=tandem.float64)[0].dtype == tandem.float64


def test_hooks_of_an_optimizer_that_wraps_another():
    class Wrapper(tandem.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner
            self._patch_step_function()

        def step(self, closure=None):
            return self.inner.step(closure)

    p = tandem.ones(1, requires_grad=True)
    p.sum().backward()
    wrapper, calls = Wrapper(tandem.optim.SGD([p], lr=0.5)), []
    wrapper.register_step_post_hook(lambda *args: calls.append("after"))
    wrapper.step()
    assert calls == ["after"] and p.item() == 0.5


def test_quotients_of_numbers_are_rounded_as_those_of_tensors():
    for mode in ("floor", "trunc"):
        whole = tandem.div(-7, 2, rounding_mode=mode)
        assert whole.dtype == tandem.int64 and whole.item() == {"floor": -4, "trunc": -3}[mode]
        x = tandem.tensor([2, -3])
        assert tandem.equal(
            tandem.div(7, x, rounding_mode=mode), tandem.div(tandem.tensor([7, 7]), x, rounding_mode=mode)
        )
        assert tandem.div(7.0, x, rounding_mode=mode).dtype == tandem.float32
        assert tandem.compile(lambda t, how=mode: tandem.div(9, t, rounding_mode=how))(x).tolist() == [4, -3]
    y = tandem.tensor([2.0, 4.0], requires_grad=True)
    tandem.div(1.0, y, rounding_mode=None).sum().backward()
    assert y.grad.tolist() == [-0.25, -0.0625]
    assert tandem.div(7, 2, rounding_mode=None).item() == 3.5
    with pytest.raises(RuntimeError, match="rounding_mode"):
        tandem.div(7, 2, rounding_mode="up")


def test_classes_of_results_with_named_parts(tmp_path):
    run_installed(
        """
        import tandem as t
        a, x = t.eye(3) + t.ones(3, 3), t.tensor([[3.0, 1.0, 2.0]])
        results = {name: getattr(t, name)(x, 1) for name in "cummax cummin max median min mode nanmedian sort".split()}
        results |= {name: getattr(t, name)(x, 1) for name in ("kthvalue", "topk")}
        results |= {name: getattr(t, name)(a) for name in "aminmax frexp geqrf qr slogdet svd".split()}
        ones = "cholesky_ex eigh inv_ex ldl_factor ldl_factor_ex lu lu_factor lu_factor_ex qr slogdet svd".split()
        results |= {f"linalg_{name}": getattr(t.linalg, name)(a) for name in ones}
        results |= {f"linalg_{name}": getattr(t.linalg, name)(a, a) for name in ("lstsq", "solve_ex")}
        results |= {"triangular_solve": t.triangular_solve(a, a), "lu_unpack": t.lu_unpack(*t.linalg.lu_factor(a))}
        results |= {"histogram": t.histogram(x, 3), "histogramdd": t.histogramdd(a, [2, 2, 2])}
        from torch import return_types
        from torch.return_types import all_return_types, pytree_register_structseq
        assert return_types is t.return_types and len(all_return_types) == len(results)
        assert set(return_types.__all__) == {*results, "all_return_types", "pytree_register_structseq"}
        for name, result in results.items():
            assert type(result) is getattr(return_types, name), name
        for parts, names in return_types._PARTS.items():
            for name in names.split():
                assert list(type(results[name]).__match_args__) == parts.split(), name
        assert return_types.max([1, 2]).indices == 2
        """,
        tmp_path,
    )


def test_a_library_of_operations_is_not_there(tmp_path):
    with pytest.raises(OSError, match="ops.load_library is not part of Tandem. Use tandem.library.custom_op"):
        tandem.ops.load_library("x.so")
    assert tandem.ops.loaded_libraries == set()
    assert tandem.Tag.core.value == 0 and tandem.Tag.view_copy.value == 19 and repr(tandem.Tag.out) == "<Tag.out: 14>"
    assert pickle.loads(pickle.dumps(tandem.Tag.core)) is tandem.Tag.core


def test_a_package_of_images_is_imported_without_its_operations(tmp_path):
    run_installed(
        """
        import torch
        import torch._custom_ops
        from torch._dynamo.utils import counters, is_compile_supported
        from torch.fx.graph_module import _CodeOnlyModule, _copy_attr, _USER_PRESERVED_ATTRIBUTES_KEY
        from torch.fx.node import Argument, Target
        from torch.onnx import symbolic_opset11 as opset
        from torch.onnx.symbolic_helper import parse_args
        from torch.types import _device, _dtype, _layout, _size, FileLike, PySymType
        from torch.utils.model_zoo import load_url, tqdm
        try:
            torch.ops.load_library("_C.so")
        except OSError as error:
            assert "torch.ops.load_library is not part of Tandem" in str(error)
        else:
            raise AssertionError
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
        keys |= torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)
        assert torch._C.DispatchKey.AutocastCUDA in keys and torch._C.DispatchKey.CPU not in keys
        try:
            torch._C._ExcludeDispatchKeyGuard(keys)
        except NotImplementedError:
            pass
        @parse_args("v", "f")
        def symbolic(g, boxes, threshold):
            return opset.unsqueeze(g, boxes, 0)
        torch.onnx.register_custom_op_symbolic("images::nms", symbolic, 11)
        try:
            symbolic(None, None, 0.5)
        except NotImplementedError as error:
            assert "torch.onnx.symbolic_opset11.unsqueeze is not part" in str(error)
        assert is_compile_supported("cpu") and not counters["stats"]
        assert _device is torch.device and _layout is torch.layout
        assert callable(tqdm)
        """,
        tmp_path,
    )


def test_names_of_modules_for_tests(tmp_path):
    run_installed(
        """
        import torch
        import torch._dynamo.testing
        from torch._dynamo.testing import CompileCounter, rand_strided, reduce_to_scalar_loss, requires_bwd_pass
        from torch.autograd.functional import _construct_standard_basis_for
        from torch.testing._comparison import assert_close, default_tolerances, get_tolerances, TensorLikePair

        def refused(use, error, words):
            try:
                use()
            except error as e:
                assert words in str(e), e
            else:
                raise AssertionError(words)

        refused(lambda: CompileCounter(), NotImplementedError, "Use tandem.compile and its explain() method")
        refused(lambda: TensorLikePair(1, 1, id=()), NotImplementedError, "TensorLikePair is not part of Tandem")
        x = torch.ones(2)
        assert default_tolerances(x, torch.float16) == (1e-3, 1e-5) and default_tolerances(torch.int64) == (0, 0)
        assert default_tolerances(x, dtype_precisions={torch.float32: (0.5, 0.25)}) == (0.5, 0.25)
        assert get_tolerances(x, x, rtol=None, atol=None) == (1.3e-6, 1e-5)
        assert get_tolerances(x, rtol=1.0, atol=2.0) == (1.0, 2.0)
        refused(lambda: get_tolerances(x, rtol=1.0, atol=None), ValueError, "but got no atol")
        refused(lambda: default_tolerances(3), TypeError, "Expected a torch.Tensor")

        y = rand_strided((2, 3), (1, 4), extra_size=5)
        assert y.stride() == (1, 4) and y.untyped_storage().nbytes() == 15 * 4 and y.dtype == torch.float32
        assert rand_strided((0, 3), (3, 1)).shape == (0, 3) and not rand_strided((2,), (1,), torch.int32).any()
        assert reduce_to_scalar_loss({"a": [torch.tensor([1, 3]), torch.tensor([4.0])]}).item() == 3
        assert requires_bwd_pass([None, 3, x.requires_grad_()]) and not requires_bwd_pass((x.detach(),))
        torch._dynamo.testing.reset_rng_state()
        first = torch.rand(1)
        torch._dynamo.testing.reset_rng_state()
        assert torch.equal(first, torch.rand(1))

        a, b = _construct_standard_basis_for((torch.ones(1), torch.ones(2, dtype=torch.float64)), (1, 2))
        assert a.tolist() == [[1], [0], [0]] and b.tolist() == [[0, 0], [1, 0], [0, 1]] and b.dtype == torch.float64
        refused(lambda: _construct_standard_basis_for((), ()), AssertionError, "at least one")
        refused(lambda: _construct_standard_basis_for((x,), ()), AssertionError, "the same length")
        """,
        tmp_path,
    )


def test_functions_of_a_library_by_decorators():
    x = tandem.ones(2)
    library = tandem.library.Library("tests_decorators", "FRAGMENT")
    library.define("thrice(Tensor x) -> Tensor")

    @tandem.library.impl(library, "thrice", "CPU")
    def thrice(x):
        return x * 3

    @tandem.library.define(library, "four_times(Tensor x) -> Tensor")
    def four_times(x):
        return thrice(x) + x

    found = tandem.ops.tests_decorators
    assert found.thrice(x).tolist() == [3, 3] and found.four_times(x).tolist() == four_times(x).tolist() == [4, 4]


def test_a_class_of_modules_is_marked():
    @tandem._dynamo.mark_static
    class Net(nn.Module):
        pass

    assert isinstance(Net(), nn.Module)
