"""`DistributedDataParallel`: one model in several processes, each with gradients of its own part of a batch.

What becomes of the gradients is in `distributed/_gradients.py`. A wrapped model has a group of its own for that, made
of its `process_group` when it is first needed, so that other operations may come between: a copy, which may be made on
one rank alone, has none yet.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import tandem
from tandem._C import Tensor
from tandem.nn.module import Module
from tandem.nn.parameter import UninitializedParameter
from tandem.types import Device

if TYPE_CHECKING:
    from tandem.distributed._gradients import Reduction
    from tandem.distributed._process_group import ProcessGroup
    from tandem.distributed.algorithms.join import Join, JoinHook

__all__ = ["DistributedDataParallel"]


def _joined(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """The tensors by dtype."""
    for dtype in dict.fromkeys(t.dtype for t in tensors):
        yield [t for t in tensors if t.dtype == dtype]


class DistributedDataParallel(Module):
    """A module whose copies in several processes keep the same parameters: their gradients are averages over all.

    At construction the parameters and buffers of rank 0 are copied to all ranks. Each rank calls the module with a part
    of the batch of its own, and `backward` leaves the average of the ranks' gradients in `.grad` of every parameter:
    g = (g0 + g1 + ...) / ranks, in the order of ranks, so that a run is repeatable to the bit. With a loss that is a
    mean and parts of equal size this is the gradient of the whole batch. The averaging goes on beside the backward.

    Args:
        module: the module, on one device; the same on all ranks. It is `.module` of this one.
        device_ids: None, or of a module on a GPU that GPU alone, to which inputs are copied then.
        output_device: None, or the same GPU.
        dim: taken, without effect.
        broadcast_buffers: copy the buffers of rank 0 to all ranks before each forward.
        init_sync: copy the state of rank 0 to all ranks now.
        process_group: which processes take part; all if None.
        bucket_cap_mb: how many MiB of gradients are averaged together; 25 if None. The first bucket has 1.
        find_unused_parameters: look in each forward for parameters that its result does not depend on, and do not wait
            for their gradients. Without it every parameter must have a part in the loss.
        static_graph: as `find_unused_parameters`.
        gradient_as_bucket_view: taken, without effect.
        device_mesh: instead of `process_group`, a mesh of one dim.

    ValueError for devices or a module that needs none of this, RuntimeError for ranks with other parameters, or
    a parameter without gradient in the forward after it. Names in states start with `module.`.

    Example:
        >>> import tandem
        >>> dist = tandem.distributed
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = tandem.nn.parallel.DistributedDataParallel(tandem.nn.Linear(2, 1))
        >>> model(tandem.ones(3, 2)).sum().backward()
        >>> model.module.bias.grad, list(model.state_dict())
        (tensor([3.]), ['module.weight', 'module.bias'])
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Device] | None = None,
        output_device: Device = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        from tandem.distributed import _world

        super().__init__()
        for name, value in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
            ("param_to_hook_all_reduce", param_to_hook_all_reduce),
            ("mixed_precision", mixed_precision),
        ):
            if value is not None:
                raise NotImplementedError(f"DistributedDataParallel({name}=) is not part of Tandem")
        if device_mesh is not None:
            if process_group is not None:
                raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
            if device_mesh.ndim != 1:
                raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
            process_group = device_mesh.get_group()
        self.device_mesh = device_mesh
        group = _world.group_of(process_group)
        if group is None:
            raise ValueError("DistributedDataParallel: this process is not in the process_group")
        self.device_ids = _gpu_named(module, device_ids, output_device)
        self.output_device = self.device_ids[0] if self.device_ids else None
        self.module = module
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters or static_graph
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        if not self._trained():
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
                "gradient."
            )
        if lazy := [n for n, p in module.named_parameters() if isinstance(p, UninitializedParameter)]:
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with DistributedDataParallel. Run a dummy forward "
                f"pass to correctly initialize the modules: {', '.join(lazy)}"
            )
        self.bucket_cap_mb = 25 if bucket_cap_mb is None else bucket_cap_mb
        self.process_group = group
        self._check_alike(group)
        self._begin()
        if init_sync:
            self._broadcast(self._synced_state())

    def _set_static_graph(self) -> None:
        self.static_graph = self.find_unused_parameters = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Of what others log nothing is kept."""
        return {}

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Before the module is wrapped: have it keep its own of these."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def will_sync_module_buffers(self) -> bool:
        """Does the next forward copy buffers of rank 0 to all ranks?"""
        return self.require_forward_param_sync and self.broadcast_buffers and bool(self._synced_buffers())

    def _trained(self) -> list[tuple[str, Any]]:
        """The parameters whose gradients are averaged."""
        named = self.module.named_parameters()
        return [(n, p) for n, p in named if p.requires_grad and n not in self.parameters_to_ignore]

    def _begin(self) -> None:
        """What is of this object alone, and not of its copies."""
        from tandem.distributed._gradients import Reduction
        from tandem.distributed.algorithms.join import _JoinConfig

        names, parameters = zip(*self._trained())
        self._join_config = _JoinConfig()
        self._divide_by_initial_world_size = True
        self._reduction: Reduction = Reduction(None, names, parameters, self.bucket_cap_mb)

    def __getstate__(self) -> dict[str, Any]:
        from tandem.distributed import _world

        if self.process_group is not _world.default_group():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, "
                "when you have called init_process_group and have not passed process_group argument to DDP constructor"
            )
        own = ("process_group", "device_mesh", "_reduction", "_join_config")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from tandem.distributed import _world

        super().__setstate__(state)
        self.process_group, self.device_mesh = _world.default_group(), None
        self._begin()

    def _own_group(self) -> ProcessGroup:
        """The group for the operations of this object, which all ranks make together when they first need it."""
        if self._reduction.group is None:
            from tandem.distributed import _world

            self._reduction.group = _world.of_its_own(self.process_group)
        return self._reduction.group

    def _check_alike(self, group: Any) -> None:
        from tandem.distributed._checks import told
        from tandem.distributed._objects import _gathered

        own = [(n, told(p)) for n, p in self.module.named_parameters()]
        for rank, theirs in enumerate(_gathered(group, own, None)):
            if theirs != own:
                here, there = next(((a, b) for a, b in zip(own, theirs) if a != b), (len(own), len(theirs)))
                raise RuntimeError(
                    f"DistributedDataParallel expects same model across all ranks: rank {rank} has "
                    f"{_named(there)}, and rank {group.rank()} {_named(here)}"
                )

    def _synced_buffers(self) -> list[Tensor]:
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    def _synced_state(self) -> list[Tensor]:
        parameters = [p for n, p in self.module.named_parameters() if n not in self.parameters_to_ignore]
        return [*parameters, *self._synced_buffers()]

    def _broadcast(self, tensors: Sequence[Tensor], root: int = 0) -> None:
        """Copy the tensors of one rank to all ranks."""
        from tandem import distributed
        from tandem.distributed._gradients import parts_of

        group = self._own_group()
        with tandem.no_grad():
            for alike in _joined(tensors):
                flat = tandem.cat([t.detach().reshape(-1) for t in alike])
                distributed.broadcast(flat, group=group, group_src=root)
                if group.rank() == root:
                    continue
                for t, part in zip(alike, parts_of(flat, alike)):
                    t.copy_(part)

    def _sync_buffers(self, batch: bool) -> None:
        """Before a forward. Does this rank have a batch?"""
        if self.will_sync_module_buffers():
            # Those of rank 0 are behind where it has no more batches.
            self._broadcast(self._synced_buffers(), self._highest_rank(batch) if self._join_config.enable else 0)

    def _agreed(self, value: int, op: Any) -> int:
        from tandem import distributed

        agreed = tandem.tensor([value], dtype=tandem.int64, device=self.join_device)
        distributed.all_reduce(agreed, op, self._own_group())
        return int(agreed.item())

    def _highest_rank(self, candidate: bool) -> int:
        """Of the ranks that are candidates."""
        from tandem.distributed import ReduceOp

        return self._agreed(self._own_group().rank() if candidate else -1, ReduceOp.MAX)

    def _agree_on_sync(self, synced: bool) -> bool:
        """In a `Join` block: do those that have batches average the gradients of this iteration?"""
        from tandem.distributed import ReduceOp

        count = self._agreed(int(synced), ReduceOp.SUM)
        self._reduction.divisor = None if self._divide_by_initial_world_size else count
        return count > 0

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        synced = tandem.is_grad_enabled() and self.require_backward_grad_sync
        if synced:
            self._own_group()
            self._reduction.check_finished()
        self._reduction.divisor = None
        if joining := self._join_config.enable:
            from tandem.distributed.algorithms.join import Join

            Join.notify_join_context(self)
        self._sync_buffers(True)
        if joining:
            self._agree_on_sync(synced)
        if self.device_ids:
            inputs, kwargs = _all_on(tandem.device("cuda", self.device_ids[0]), (inputs, kwargs))
        outputs = self.module(*inputs, **kwargs)
        if synced:
            self.require_forward_param_sync = True
            self._reduction.prepare(outputs, self.find_unused_parameters)
        else:
            self._reduction.armed = False
            self.require_forward_param_sync = False
        return outputs

    def _shadow_iteration(self) -> None:
        """What a rank without batches does in an iteration of the others."""
        self._sync_buffers(False)
        self.require_forward_param_sync = self._agree_on_sync(False)
        if self.require_forward_param_sync:
            self._reduction.shadow(self.find_unused_parameters)

    def _take_state_of_last(self, is_last_joiner: bool) -> None:
        """The state of a rank that was among the last becomes that of all."""
        self._broadcast(self._synced_state(), self._highest_rank(is_last_joiner))

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """In this block gradients are added up on each rank alone; the first backward after it averages the sums.

        The forward has to be in the block.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """In this block ranks may have different numbers of batches. One that has no more takes part in the averages of
        the others, with zeros, and has the parameters and buffers of one of the last ranks at the end of the block.

        Args:
            divide_by_initial_world_size: sums of gradients are divided by the number of ranks; without it by the number
                of those that still have a batch.
            enable, throw_on_early_termination: as of `distributed.algorithms.join.Join`, which can have several modules
                at once.
        """
        from tandem.distributed.algorithms.join import Join

        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without batches does for the module; `kwargs` may have `divide_by_initial_world_size`."""
        from tandem.distributed.algorithms.join import DataParallelHook

        self._divide_by_initial_world_size = kwargs.get("divide_by_initial_world_size", True)
        return DataParallelHook(self)

    @property
    def device(self) -> tandem.device:
        """Where the module is."""
        return self._reduction.parameters[0].device

    @property
    def device_type(self) -> str:
        """The kind of that device."""
        return self.device.type

    @property
    def join_device(self) -> tandem.device:
        """Where the module is."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group that the module was given."""
        return self.process_group

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Have `hook(state, bucket)` called when the gradients of a bucket are complete, in place of their average.

        It returns a `futures.Future` of what the gradients become: a tensor of as many elements as `bucket.buffer()`
        of the `distributed.GradBucket`. The end of the backward waits for it. `distributed.algorithms.ddp_comm_hooks`
        has some hooks.

        RuntimeError for a second hook, TypeError for what cannot be called, ValueError for annotations of other types.
        """
        from tandem.distributed import GradBucket
        from tandem.futures import Future

        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        signature = inspect.signature(hook)
        given = signature.parameters["bucket"].annotation
        if given not in (inspect.Parameter.empty, GradBucket, "GradBucket", "dist.GradBucket"):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
        returned = signature.return_annotation
        if not (returned is inspect.Signature.empty or isinstance(returned, str) or returned == Future[Tensor]):
            raise ValueError("Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")
        if self._reduction.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._reduction.hook, self._reduction.hook_state = hook, state


def _gpu_named(module: Module, device_ids: Sequence[Device] | None, output_device: Device) -> list[int] | None:
    """The GPU that the arguments mean, which must be that of the module; None where they are not given."""
    devices = sorted({str(p.device) for p in module.parameters()})
    given = [*(device_ids or ()), *(() if output_device is None else (output_device,))]
    if not given:
        return None
    meant = {str(tandem.device("cuda", d) if isinstance(d, int) else tandem.device(d)) for d in given}
    if "cpu" in devices:
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments are for modules on one GPU, and must "
            f"be None for modules on the CPU; got device_ids {device_ids} and output_device {output_device}"
        )
    if len(device_ids or ()) > 1 or [*meant] != devices:
        raise ValueError(
            f"DistributedDataParallel: device_ids {device_ids} and output_device {output_device} must be the one GPU "
            f"of the module, whose parameters are on {', '.join(devices)}"
        )
    return [int(tandem.device(devices[0]).index or 0)]


def _all_on(device: tandem.device, tree: Any) -> Any:
    """The same with all tensors on the device."""
    from tandem.utils import _pytree

    return _pytree.tree_map(lambda x: x.to(device) if isinstance(x, Tensor) else x, tree)


def _named(what: Any) -> str:
    return f"{what} parameters" if isinstance(what, int) else f"{what[0]} of {what[1]}"
