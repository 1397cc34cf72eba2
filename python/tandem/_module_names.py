"""Modules of PyTorch whose names Tandem keeps elsewhere, by what has them."""

from __future__ import annotations

import functools
import importlib
import importlib.util
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
    "distributed.distributed_c10d": "distributed distributed._world",
    "distributed.device_mesh": "distributed",
    "distributed.elastic.multiprocessing.errors": "distributed.run",
    "cuda.amp.autocast_mode": "cuda.amp",
    "cuda.amp.grad_scaler": "cuda.amp",
    "utils.data._utils": "utils.data",
    "utils.data._utils.collate": "utils.data",
    "utils.data._utils.pin_memory": "utils.data.pinning",
    "utils.data._utils.worker": "utils.data.workers",
    "fx.graph": "fx",
    "fx.graph_module": "fx",
    "fx.node": "fx",
    "fx.proxy": "fx",
    "fx.experimental.symbolic_shapes": "_symbolic_shapes",
    "profiler.itt": "_itt",
    "functional": "_C _functions _contraction",
    "_tensor": "_C",
    "_VF": "_C",
}

# Modules that are nothing but names to import: what is written with a capital is a class.
LACKING = {
    "distributed.algorithms.join": "Join JoinHook Joinable",
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
    "fft": "fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft "
    "irfft2 irfftn rfft rfft2 rfftfreq rfftn",
    "masked": "MaskedTensor amax amin argmax argmin as_masked_tensor cumprod cumsum is_masked_tensor log_softmax "
    "logaddexp logsumexp masked_tensor mean median norm normalize prod softmax softmin std sum var",
    "monitor": "Aggregation Event EventHandlerHandle Stat TensorboardEventHandler log_event register_event_handler "
    "unregister_event_handler",
    "nested": "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor",
    "package": "Directory EmptyMatchError Importer ObjMismatchError ObjNotFoundError OrderedImporter PackageExporter "
    "PackageImporter PackagingError is_from_package",
    "sparse": "SparseSemiStructuredTensor addmm as_sparse_gradcheck check_sparse_tensor_invariants log_softmax mm "
    "sampled_addmm softmax spdiags spsolve sum to_sparse_semi_structured",
    "jit._script": "RecursiveScriptModule ScriptModule",
    "onnx.utils": "export register_custom_op_symbolic unregister_custom_op_symbolic",
    "distributed.algorithms._checkpoint.checkpoint_wrapper": "CheckpointImpl apply_activation_checkpointing "
    "checkpoint_wrapper",
    "distributed.checkpoint": "FileSystemReader FileSystemWriter load load_state_dict save save_state_dict",
    "distributed.checkpoint.state_dict": "StateDictOptions get_model_state_dict get_optimizer_state_dict "
    "get_state_dict set_model_state_dict set_optimizer_state_dict set_state_dict",
    "distributed.fsdp": "BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullStateDictConfig "
    "FullyShardedDataParallel MixedPrecision MixedPrecisionPolicy OffloadPolicy ShardedStateDictConfig "
    "ShardingStrategy StateDictType fully_shard register_fsdp_forward_method",
    "distributed.fsdp.fully_sharded_data_parallel": "BackwardPrefetch CPUOffload FullOptimStateDictConfig "
    "FullStateDictConfig FullyShardedDataParallel MixedPrecision ShardedStateDictConfig ShardingStrategy StateDictType",
    "distributed.fsdp.wrap": "ModuleWrapPolicy always_wrap_policy enable_wrap lambda_auto_wrap_policy "
    "size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
    "distributed.optim": "DistributedOptimizer ZeroRedundancyOptimizer",
    "distributed.rpc": "RRef TensorPipeRpcBackendOptions get_worker_info init_rpc remote rpc_async rpc_sync shutdown",
    "distributed.tensor": "DTensor DeviceMesh Partial Placement Replicate Shard distribute_module distribute_tensor",
    "distributed.tensor.parallel": "ColwiseParallel PrepareModuleInput PrepareModuleOutput RowwiseParallel "
    "SequenceParallel loss_parallel parallelize_module",
    "nn.attention.flex_attention": "BlockMask and_masks create_block_mask flex_attention or_masks",
    "onnx.symbolic_helper": "parse_args",
}

# Older names of the same.
for _old in ("quantization", "nn.quantized", "nn.quantized.dynamic", "nn.intrinsic"):
    LACKING[_old] = LACKING[f"ao.{_old}"]

# What `import torch` loads at once, beside what is loaded with `tandem`.
AT_ONCE = (
    "nn nn.utils nn.attention optim optim.lr_scheduler optim.swa_utils utils utils.data utils.checkpoint utils._pytree "
    "utils.flop_counter utils.model_zoo utils.weak distributions func futures serialization testing storage fx hub "
    "library profiler export multiprocessing distributed autograd.functional autograd.forward_ad _dynamo _utils"
)


class Names(ModuleType):
    """A module whose names are those of others."""

    def __init__(self, name: str, sources: list[str]):
        super().__init__(name, "Names of " + ", ".join(sources) + ".")
        self.__path__: list[str] = []
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
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
    module.__path__ = []
    for name in LACKING[path].split():
        make = lacking_class if name[0].isupper() else lacking_function
        setattr(module, name, make(f"{path}.{name}"))
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
