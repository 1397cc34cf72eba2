"""Normalisation layers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import tandem
from tandem import Tensor
from tandem.nn import functional as F
from tandem.nn import init
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter
from tandem.types import Device

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CrossMapLRN2d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
    "SyncBatchNorm",
]


class LayerNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over the trailing dims `normalized_shape` (Ba et al. 2016).

    Args:
        normalized_shape: the sizes of those dims; one number is the last one's.
        eps: keeps the root away from 0.
        elementwise_affine: whether there is a `weight` of that shape, ones at first, and with `bias` a bias, zeros.

    Takes and returns a floating tensor [*, *normalized_shape]; RuntimeError for other trailing sizes.

    Example:
        >>> import tandem
        >>> tandem.nn.LayerNorm(2, eps=0.0)(tandem.tensor([[1.0, 3.0], [10.0, 50.0]])).tolist()
        [[-1.0, 1.0], [-1.0, 1.0]]
    """

    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            values = tandem.empty(self.normalized_shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if values is None else Parameter(values))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight to ones, bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """x / sqrt(mean(x²) + eps) * weight over the trailing dims `normalized_shape` (Zhang and Sennrich 2019).

    Args:
        normalized_shape: the sizes of those dims; one number is the last one's.
        eps: keeps the root away from 0; the dtype's machine epsilon when None.
        elementwise_affine: whether there is a `weight` of that shape, ones at first.

    Takes and returns a floating tensor [*, *normalized_shape]; RuntimeError for other trailing sizes.

    Example:
        >>> import tandem
        >>> tandem.nn.RMSNorm(2)(tandem.tensor([3.0, 3.0])).tolist()
        [1.0, 1.0]
    """

    weight: Parameter

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        values = tandem.empty(self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if values is None else Parameter(values))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """(x - mean) / sqrt(var + eps) over each of `num_groups` groups of channels of [N, C, ...] (Wu and He 2018).

    With `affine` each channel has a weight, 1 at first, and with `bias` a bias, 0. ValueError unless `num_channels` is
    a multiple of `num_groups`, RuntimeError for another number of channels when called.

    Example:
        >>> import tandem
        >>> y = tandem.nn.GroupNorm(2, 6)(tandem.randn(3, 6, 5))
        >>> bool((y.reshape(3, 2, 15).mean(-1).abs() < 1e-5).all())
        True
    """

    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            values = tandem.empty(num_channels, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if values is None else Parameter(values))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight to ones, bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _ChannelNorm(Module):
    """What norms with running statistics of channels share."""

    _dims: ClassVar[tuple[int, ...]] = ()
    _version = 2
    weight: Parameter
    bias: Parameter
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            values = tandem.empty(num_features, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if values is None else Parameter(values))
        tracked = track_running_stats
        self.register_buffer(
            "running_mean", tandem.zeros(num_features, device=device, dtype=dtype) if tracked else None
        )
        self.register_buffer("running_var", tandem.ones(num_features, device=device, dtype=dtype) if tracked else None)
        count = tandem.tensor(0, dtype=tandem.int64, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean to zeros, variance to ones, the count of batches to zero."""
        if self.track_running_stats:
            for name, start in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
                self.get_buffer(name).fill_(start)

    def reset_parameters(self) -> None:
        """Running statistics and affine parameters to their initial values."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *more: Any
    ) -> None:
        # States from before batches were counted, and plain dicts, have no count: it stays.
        if (local_metadata.get("version") or 0) < 2 and self.num_batches_tracked is not None:
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *more)

    # By PyTorch's name: subclasses of users call it, and accept other inputs by one of their own.
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self._dims:
            wanted = " or ".join(f"{d}D" for d in self._dims)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


_NormBase = _ChannelNorm  # PyTorch's name


class _BatchNorm(_ChannelNorm):
    """Normalise each channel by its batch while training, by running statistics in evaluation."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum: float | Tensor | None = self.momentum
        update = self.training and self.track_running_stats
        mean = self.running_mean
        if update and mean is not None and (count := self.num_batches_tracked) is not None:
            count.add_(1)
            if momentum is None:  # a plain average over all batches
                momentum = 1.0 / count.to(mean.dtype)
        return F.batch_norm(
            input,
            mean if not self.training or update else None,
            self.running_var if not self.training or update else None,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of [N, C] or [N, C, L] (Ioffe and Szegedy 2015).

    Args:
        num_features: C.
        eps: keeps the root away from 0.
        momentum: the share by which `running_mean` and `running_var` move towards the batch's values at each call while
            training; None for the plain average over all batches. `num_batches_tracked` counts them.
        affine: whether there is a weight [C], ones at first, and with `bias` a bias, zeros.
        track_running_stats: whether evaluation uses the running values; else always the batch's.

    ValueError for another number of dims, and while training with one value a channel.

    Example:
        >>> import tandem
        >>> norm = tandem.nn.BatchNorm1d(1)
        >>> norm(tandem.tensor([[1.0], [3.0]])).shape, norm.running_mean
        (tandem.Size([2, 1]), tensor([0.2000]))
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of each channel of [N, C, H, W]; arguments, formula and errors as of `BatchNorm1d`.

    Example:
        >>> import tandem
        >>> tandem.nn.BatchNorm2d(3)(tandem.randn(2, 3, 4, 4)).shape
        tandem.Size([2, 3, 4, 4])
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of each channel of [N, C, D, H, W]; arguments, formula and errors as of `BatchNorm1d`.

    Example:
        >>> import tandem
        >>> tandem.nn.BatchNorm3d(3, affine=False)(tandem.randn(2, 3, 4, 4, 4)).shape
        tandem.Size([2, 3, 4, 4, 4])
    """

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of each channel of [N, C, ...] over the parts of a batch that several processes have.

    Arguments, formula and errors are those of `BatchNorm1d`. While training, mean and variance are those of all ranks'
    inputs, which may differ in N; without `distributed.init_process_group`, those of this process alone. Gradients go
    through them, to every order.

    Args:
        process_group: which processes take part; all if None.

    Example:
        >>> import tandem
        >>> net = tandem.nn.Sequential(tandem.nn.Conv2d(1, 2, 3), tandem.nn.BatchNorm2d(2))
        >>> tandem.nn.SyncBatchNorm.convert_sync_batchnorm(net)[1]
        SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        from tandem import distributed

        own = self.training or not self.track_running_stats
        if not own or not distributed.is_initialized() or distributed.get_world_size(self.process_group) < 2:
            return super().forward(input)
        self._check_input_dim(input)
        if input.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels in dim 1, got input {list(input.shape)}")
        from tandem.distributed.nn.functional import all_reduce

        x = input if input.dtype == tandem.float64 else input.float()
        dims = [d for d in range(x.dim()) if d != 1]
        shape = [-1 if d == 1 else 1 for d in range(x.dim())]
        sums = tandem.cat(
            [x.sum(dims), tandem.full((1,), float(x.numel() // max(1, x.shape[1])), dtype=x.dtype, device=x.device)]
        )
        sums = all_reduce(sums, group=self.process_group)
        count = sums[-1].detach()
        mean = sums[:-1] / count
        centred = x - mean.view(shape)
        var = all_reduce(centred.square().sum(dims), group=self.process_group) / count
        if self.training and self.track_running_stats:
            self._move_running_stats(mean.detach(), (var * (count / (count - 1).clamp(min=1))).detach())
        y = centred * (var + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            y = y * self.weight.view(shape)
        if self.bias is not None:
            y = y + self.bias.view(shape)
        return y.to(input.dtype)

    def _move_running_stats(self, mean: Tensor, var: Tensor) -> None:
        assert self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None
        with tandem.no_grad():
            self.num_batches_tracked.add_(1)
            share = 1.0 / self.num_batches_tracked if self.momentum is None else self.momentum
            for running, now in ((self.running_mean, mean), (self.running_var, var)):
                running.copy_(running + share * (now.to(running.dtype) - running))

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with a SyncBatchNorm of the same parameters and buffers for each batch normalisation in it."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            for name, parameter in module._parameters.items():
                converted._parameters[name] = parameter
            for name, buffer in module._buffers.items():
                converted._buffers[name] = buffer
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _InstanceNorm(_ChannelNorm):
    """Normalise each channel of each sample by itself; by running statistics in evaluation if they are tracked."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.dim() == self._dims[0]
        channels = input.shape[0 if alone else 1]
        if channels != self.num_features:
            dim = 0 if alone else 1
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                    f"but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features, which is not used because affine=False.",
                stacklevel=2,
            )
        x = input.unsqueeze(0) if alone else input
        own = self.training or not self.track_running_stats
        y = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            own,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return y.squeeze(0) if alone else y


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each sample of [N, C, L] or [C, L] by its own mean and variance (Ulyanov et al. 2016).

    (x - mean) / sqrt(var + eps) * weight + bias; arguments as of `BatchNorm1d`, but `affine` and `track_running_stats`
    are False by default. ValueError for another number of dims or, with `affine`, of channels.

    Example:
        >>> import tandem
        >>> tandem.nn.InstanceNorm1d(2, eps=0.0)(tandem.tensor([[1.0, 3.0], [10.0, 50.0]])).tolist()
        [[-1.0, 1.0], [-1.0, 1.0]]
    """

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of [N, C, H, W] or [C, H, W]; arguments and errors as of `InstanceNorm1d`.

    Example:
        >>> import tandem
        >>> y = tandem.nn.InstanceNorm2d(3)(tandem.randn(2, 3, 8, 8))
        >>> bool((y.mean((2, 3)).abs() < 1e-5).all())
        True
    """

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of [N, C, D, H, W] or [C, D, H, W]; arguments and errors as of `InstanceNorm1d`.

    Example:
        >>> import tandem
        >>> tandem.nn.InstanceNorm3d(3)(tandem.randn(3, 4, 4, 4)).shape
        tandem.Size([3, 4, 4, 4])
    """

    _dims = (4, 5)


class LocalResponseNorm(Module):
    """x / (k + alpha * mean of squares over `size` neighbouring channels)^beta (Krizhevsky et al. 2012).

    Takes [N, C, ...] of 3 dims or more (ValueError); keeps the shape.

    Example:
        >>> import tandem
        >>> tandem.nn.LocalResponseNorm(1, alpha=1.0, beta=0.5, k=0.0)(tandem.full((1, 2, 1), 3.0)).flatten()
        tensor([1., 1.])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """x / (k + alpha / size * sum of squares over the channels at most (size - 1) // 2 away)^beta.

    `LocalResponseNorm` of images [N, C, H, W] for an odd `size`; ValueError for another number of dims.

    Example:
        >>> import tandem
        >>> tandem.nn.CrossMapLRN2d(1, alpha=1.0, beta=0.5, k=0.0)(tandem.full((1, 2, 1, 1), 3.0)).flatten()
        tensor([1., 1.])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        around = 2 * ((self.size - 1) // 2) + 1
        return F.local_response_norm(input, around, self.alpha * around / self.size, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
