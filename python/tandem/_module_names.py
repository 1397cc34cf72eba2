"""Modules of PyTorch whose names Tandem keeps elsewhere, by what has them."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections import Counter, defaultdict
from types import ModuleType
from typing import Any

from tandem import _missing
from tandem._stand_in import lacking_class, lacking_function

# Where one module of Tandem has a module's names.
ELSEWHERE = {
    old: new
    for new, several in {
        "distributions.normal": "distributions.cauchy distributions.gumbel distributions.half_cauchy "
        "distributions.half_normal distributions.laplace distributions.log_normal distributions.uniform",
        "distributions.gamma": "distributions.beta distributions.chi2 "
        "distributions.exponential distributions.inverse_gamma distributions.studentT",
        "distributions.discrete": "distributions.bernoulli distributions.geometric "
        "distributions.negative_binomial distributions.poisson",
        "distributions.categorical": "distributions.one_hot_categorical distributions.multinomial",
        "distributions.independent": "distributions.mixture_same_family",
        "distributions.relaxed": "distributions.relaxed_bernoulli distributions.relaxed_categorical",
        "distributions.distribution": "distributions.exp_family distributions.utils",
    }.items()
    for old in several.split()
}

# Modules that have a namesake in `tandem.nn`, and what else their names are found in.
_NN_MODULES = (
    "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy "
    "linear loss normalization padding pixelshuffle pooling rnn sparse transformer upsampling"
)

_NN_SHARED = "nn.normalization nn.common_types nn.parameter nn.state_dict nn nn._private_names"

# What the names of other modules are found in, first to last.
NAMES = {
    "nn.modules": "nn",
    **dict.fromkeys(
        (
            f"distributions.{name}"
            for name in "continuous_bernoulli fishersnedecor kumaraswamy lkj_cholesky logistic_normal "
            "lowrank_multivariate_normal pareto von_mises weibull wishart".split()
        ),
        "distributions.transforms distributions distributions._private_names",
    ),
    "distributions.dirichlet": "distributions.gamma distributions._private_names",
    "distributions.binomial": "distributions.discrete distributions._private_names",
    **{f"nn.modules.{name}": f"nn.{name} {_NN_SHARED}" for name in _NN_MODULES.split()},
    "nn.modules.module": f"nn.module nn.global_hooks {_NN_SHARED}",
    "nn.modules.utils": "nn._module_utils",
    "nn.parallel.data_parallel": "nn.parallel",
    "nn.parallel.scatter_gather": "nn.parallel",
    "optim.sparse_adam": "optim",
    "nn.parallel.distributed": "nn.distributed_data_parallel distributed",
    "nn.utils.init": "nn.init",
    "optim._functional": "optim",
    "autograd.variable": "autograd",
    "autograd.profiler": "profiler",
    "jit.annotations": "_jit_annotations",
    "jit._script": "jit",
    "distributed.distributed_c10d": "distributed distributed._subgroups distributed._world",
    "distributed.rendezvous": "distributed",
    "distributed.constants": "distributed",
    **dict.fromkeys(
        ("distributed.tensor.placement_types", "distributed._tensor.placement_types"), "distributed._placements"
    ),
    **dict.fromkeys(("distributed.tensor.device_mesh", "distributed._tensor.device_mesh"), "distributed.device_mesh"),
    "distributed.elastic.multiprocessing.errors": "distributed.run",
    "cpu.amp.autocast_mode": "cpu.amp",
    "cpu.amp.grad_scaler": "cpu.amp",
    "cuda.amp.autocast_mode": "cuda.amp",
    "cuda.amp.grad_scaler": "cuda.amp",
    "utils.data._utils": "utils.data",
    "utils.data._utils.collate": "utils.data.collate",
    "utils.data._utils.pin_memory": "utils.data.pinning",
    "utils.data._utils.worker": "utils.data.workers",
    "fx.experimental.symbolic_shapes": "_symbolic_shapes",
    **dict.fromkeys(("onnx.symbolic_helper", "onnx.utils"), "onnx"),
    "profiler.itt": "_itt",
    "__config__": "_build_text",
    "_dynamo.eval_frame": "_dynamo",
    "_dynamo.exc": "_dynamo",
    "_dynamo._trace_wrapped_higher_order_op": "_dynamo",
    "_jit_internal": "_jit_annotations jit",
    "functional": "_functions _contraction _C",
    "_tensor": "_C",
    "_tensor_str": "_tensor_repr",
    "_VF": "_C",
}

# Modules that are names to import, and little else (`ANSWERS`): what is written with a capital is a class.
LACKING = {
    "_custom_ops": "custom_op impl impl_abstract impl_backward impl_save_for_backward",
    "_decomp": "core_aten_decompositions get_decompositions register_decomposition",
    "_dynamo.testing": "AotEagerAndRecordGraphs CompileCounter CompileCounterWithBackend EagerAndRecordGraphs "
    "InductorAndRecordGraphs collect_results debug_dump debug_insert_nops dummy_fx_compile extract_graph "
    "make_test_cls_with_patches normalize_gm same standard_test",
    "_dynamo.utils": "CompileTimeInstructionCounter compile_times get_compilation_metrics same",
    "_inductor": "aoti_compile_and_package aoti_load_package compile",
    "_inductor.codecache": "FxGraphCache PyCodeCache",
    "_subclasses.fake_tensor": "FakeTensor FakeTensorMode unset_fake_temporarily",
    "_higher_order_ops.associative_scan": "associative_scan",
    "distributed.algorithms.ddp_comm_hooks.powerSGD_hook": "PowerSGDState batched_powerSGD_hook powerSGD_hook",
    "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook": "PostLocalSGDState post_localSGD_hook",
    "distributed.algorithms.model_averaging.averagers": "ModelAverager PeriodicModelAverager",
    "distributed.autograd": "DistAutogradContext backward context get_gradients",
    "fx.experimental.proxy_tensor": "get_proxy_mode make_fx maybe_disable_fake_tensor_mode ProxyTorchDispatchMode",
    "fx.experimental.optimization": "fuse optimize_for_inference remove_dropout",
    "ao.quantization": "BackendConfig DeQuantStub FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver "
    "MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver NoopObserver ObserverBase "
    "PerChannelMinMaxObserver PlaceholderObserver QConfig QConfigMapping QuantStub QuantWrapper convert "
    "default_dynamic_qconfig "
    "default_fake_quant default_observer default_qat_qconfig default_qconfig default_weight_observer "
    "disable_fake_quant disable_observer enable_fake_quant enable_observer float_qparams_weight_only_qconfig "
    "fuse_modules fuse_modules_qat get_default_qat_qconfig get_default_qat_qconfig_mapping get_default_qconfig "
    "get_default_qconfig_mapping prepare prepare_qat propagate_qconfig_ quantize quantize_dynamic quantize_qat "
    "swap_module",
    "ao.quantization.quantize_fx": "convert_fx convert_to_reference_fx fuse_fx prepare_fx prepare_qat_fx",
    "ao.quantization.qconfig": "QConfig get_default_qat_qconfig get_default_qconfig",
    "ao.quantization.observer": "HistogramObserver MinMaxObserver MovingAverageMinMaxObserver ObserverBase "
    "PerChannelMinMaxObserver",
    "ao.quantization.fake_quantize": "FakeQuantize FakeQuantizeBase",
    "ao.nn.quantized": "Conv1d Conv2d Conv3d Embedding EmbeddingBag FloatFunctional FXFloatFunctional LSTM LayerNorm "
    "Linear QFunctional Quantize DeQuantize",
    "ao.nn.quantized.dynamic": "GRU GRUCell LSTM LSTMCell Linear RNNCell",
    "ao.nn.intrinsic": "BNReLU2d ConvBn1d ConvBn2d ConvBnReLU1d ConvBnReLU2d ConvReLU1d ConvReLU2d LinearBn1d "
    "LinearReLU",
    "ao.pruning": "BaseScheduler BaseSparsifier LambdaSL NearlyDiagonalSparsifier WeightNormSparsifier",
    "monitor": "Aggregation Event EventHandlerHandle Stat TensorboardEventHandler log_event register_event_handler "
    "unregister_event_handler",
    "nested": "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor",
    "package": "Directory EmptyMatchError Importer ObjMismatchError ObjNotFoundError OrderedImporter PackageExporter "
    "PackageImporter PackagingError is_from_package",
    "sparse": "BFloat16Tensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor "
    "ShortTensor SparseSemiStructuredTensor addmm as_sparse_gradcheck check_sparse_tensor_invariants log_softmax mm "
    "sampled_addmm softmax spdiags spsolve sum to_sparse_semi_structured",
    "onnx.symbolic_opset11": "select squeeze unsqueeze",
    "distributed._composable.fsdp": "FSDPModule fully_shard",
    "distributed._functional_collectives": "AsyncCollectiveTensor all_gather_tensor all_reduce all_to_all_single "
    "all_to_all_single_autograd broadcast reduce_scatter_tensor wait_tensor",
    "distributed.algorithms._checkpoint.checkpoint_wrapper": "CheckpointImpl CheckpointWrapper "
    "apply_activation_checkpointing checkpoint_wrapper offload_wrapper",
    "distributed.checkpoint": "FileSystemReader FileSystemWriter load load_state_dict save save_state_dict",
    "distributed.checkpoint.default_planner": "DefaultLoadPlanner DefaultSavePlanner",
    "distributed.checkpoint.format_utils": "_EmptyStateDictLoadPlanner dcp_to_torch_save torch_save_to_dcp",
    "distributed.checkpoint.hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
    "distributed.checkpoint._consolidate_hf_safetensors": "consolidate_safetensors_files "
    "consolidate_safetensors_files_on_every_rank",
    "distributed.checkpoint.optimizer": "load_sharded_optimizer_state_dict",
    "distributed.checkpoint.state_dict_loader": "_load_state_dict load load_state_dict",
    "distributed.checkpoint.state_dict": "StateDictOptions get_model_state_dict get_optimizer_state_dict "
    "get_state_dict set_model_state_dict set_optimizer_state_dict set_state_dict",
    "distributed.fsdp": "BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig "
    "FullStateDictConfig FullyShardedDataParallel MixedPrecision MixedPrecisionPolicy OffloadPolicy "
    "OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig "
    "ShardingStrategy StateDictType fully_shard register_fsdp_forward_method",
    "distributed.fsdp.api": "FullOptimStateDictConfig FullStateDictConfig ShardedOptimStateDictConfig "
    "ShardedStateDictConfig ShardingStrategy StateDictType",
    "distributed.fsdp.fully_sharded_data_parallel": "BackwardPrefetch CPUOffload FullOptimStateDictConfig "
    "FullStateDictConfig FullyShardedDataParallel MixedPrecision ShardedOptimStateDictConfig ShardedStateDictConfig "
    "ShardingStrategy StateDictType",
    "distributed.fsdp.sharded_grad_scaler": "ShardedGradScaler",
    "distributed.fsdp.wrap": "ModuleWrapPolicy always_wrap_policy enable_wrap lambda_auto_wrap_policy "
    "size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
    "distributed.launcher.api": "LaunchConfig elastic_launch",
    "distributed.optim": "DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer",
    "distributed.pipelining": "PipelineStage ScheduleGPipe SplitPoint pipeline",
    "distributed.rpc": "RRef TensorPipeRpcBackendOptions get_worker_info init_rpc remote rpc_async rpc_sync shutdown",
    "distributed.tensor": "DTensor distribute_module distribute_tensor",
    "distributed.tensor._utils": "compute_global_tensor_info compute_local_shape_and_global_offset",
    "distributed.tensor.experimental": "context_parallel implicit_replication",
    "distributed.tensor.parallel": "ColwiseParallel PrepareModuleInput PrepareModuleOutput RowwiseParallel "
    "SequenceParallel loss_parallel parallelize_module",
    "nn.attention.flex_attention": "AuxOutput AuxRequest BlockMask and_masks create_block_mask create_mask "
    "create_nested_block_mask flex_attention noop_mask or_masks",
    "numa.binding": "AffinityMode NumaOptions",
    "testing._comparison": "BooleanPair ErrorMeta NonePair NumberPair ObjectPair Pair TensorLikePair UnsupportedInputs "
    "make_scalar_mismatch_msg make_tensor_mismatch_msg not_close_error_metas originate_pairs",
    "utils.cpp_extension": "BuildExtension CUDAExtension CppExtension check_compiler_abi_compatibility include_paths "
    "is_ninja_available library_paths load load_inline verify_ninja_availability",
}

# Older names of the same.
for _old in ("quantization", "nn.quantized", "nn.quantized.dynamic", "nn.intrinsic"):
    LACKING[_old] = LACKING[f"ao.{_old}"]
for _new in ("", "._utils", ".experimental"):
    LACKING[f"distributed._tensor{_new}"] = LACKING[f"distributed.tensor{_new}"]

# What the modules of `LACKING` do have, or which modules of Tandem have it.
ANSWERS: dict[str, dict[str, Any] | str] = {
    "_dynamo.testing": "_dynamo_testing",
    "_dynamo.utils": {"counters": defaultdict(Counter), "is_compile_supported": lambda device_type: True},
    "_subclasses.fake_tensor": {"is_fake": lambda x: False},
    "distributed.tensor": "distributed._placements distributed.device_mesh",
    "distributed._tensor": "distributed._placements distributed.device_mesh",
    "distributed.autograd": {"is_available": lambda: False},
    "distributed.rpc": {"is_available": lambda: False},
    "fx.experimental.proxy_tensor": {"get_proxy_mode": lambda: None},
    "nn.attention.flex_attention": {"_DEFAULT_SPARSE_BLOCK_SIZE": 128},
    "testing._comparison": "_testing_names",
    "utils.cpp_extension": {"CUDA_HOME": None, "ROCM_HOME": None, "IS_WINDOWS": False},
}

# What `import torch` loads at once, beside what is loaded with `tandem`.
AT_ONCE = (
    "nn nn.utils nn.attention optim optim.lr_scheduler optim.swa_utils utils utils.data utils.checkpoint utils._pytree "
    "utils.flop_counter utils.model_zoo utils.weak distributions func futures serialization testing storage fx hub "
    "library masked profiler quasirandom fft export multiprocessing distributed autograd.functional "
    "autograd.forward_ad _dynamo "
    "_utils"
)


class Names(ModuleType):
    """A module whose names are those of others."""

    def __init__(self, name: str, sources: list[str]):
        super().__init__(name, "Names of " + ", ".join(sources) + ".")
        self._sources = sources
        # The classes of a subject are in the dict of its module, for those who go through that.
        if first := sys.modules.get(sources[0]):
            self.__dict__.update({n: v for n, v in vars(first).items() if isinstance(v, type) and n[0] != "_"})

    def __getattr__(self, name: str) -> Any:
        if name == "__all__" and self._sources[0].startswith("tandem.nn"):
            public = ((n, getattr(self, n, None)) for n in dir(self) if n[0] != "_")
            return [n for n, value in public if isinstance(value, type) and hasattr(value, "register_forward_hook")]
        if not name.startswith("__"):
            for source in self._sources:
                module = importlib.import_module(source)
                # What a module imports for itself is no name of it, unless it is public.
                if name in module.__dict__ and not isinstance(module.__dict__[name], ModuleType):
                    return module.__dict__[name]
        return _missing.fail(self, name)

    def __dir__(self) -> list[str]:
        return sorted({n for s in self._sources for n in dir(importlib.import_module(s)) if not n.startswith("__")})


@functools.cache
def lacking(path: str) -> ModuleType:
    """The module for `path`, of torch, whose names say what is lacking when they are used."""
    module = ModuleType(f"tandem.{path}", "Names that can be imported, and say what is lacking when they are used.")
    for name in LACKING[path].split():
        make = lacking_class if name.lstrip("_")[0].isupper() else lacking_function
        setattr(module, name, make(f"{path}.{name}"))
    there = ANSWERS.get(path, {})
    if isinstance(there, str):
        sources = [importlib.import_module(f"tandem.{source}") for source in there.split()]
        there = {name: getattr(source, name) for source in sources for name in source.__all__}
    vars(module).update(there, __getattr__=_missing.attribute_of(module))
    return module


def made(path: str) -> ModuleType | None:
    """The module for `path`, of torch, where it is made of the names of others; None where there is none."""
    if path in ELSEWHERE:
        return importlib.import_module(f"tandem.{ELSEWHERE[path]}")
    return named(path) if path in NAMES else lacking(path) if path in LACKING else None


@functools.cache
def named(path: str) -> Names:
    """The module for `path`, of torch."""
    found = []
    for source in NAMES[path].split():
        name = f"tandem.{source}"
        if importlib.util.find_spec(name) is not None:
            found.append(name)
    return Names(f"tandem.{path}", found)
