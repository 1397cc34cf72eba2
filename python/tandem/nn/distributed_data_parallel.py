"""`DistributedDataParallel`: one model in several processes, each with gradients of its own part of a batch.

Parameters that require gradients are in *buckets*, the last ones first, since a backward reaches those first. When the
gradients of a bucket are complete, which a hook of each parameter notices, the bucket's average over all processes is
begun on the thread of the group, while the backward goes on; buckets are begun in one order everywhere. The hook that
completes the last one waits for all: on a GPU, where averages are queued in a stream of the group, it is the current
stream that waits. Groups of a wrapped model are its own, so that other operations may come between.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter, UninitializedParameter
from tandem.types import Device

__all__ = ["DistributedDataParallel"]

_MIB = 1 << 20
_FIRST_CAP = _MIB  # bytes of the first bucket, which is to be on its way early


@dataclasses.dataclass
class _Bucket:
    """Parameters of one dtype whose gradients are averaged together."""

    members: list[int]  # among the parameters that require gradients
    dtype: tandem.dtype
    waiting: int = 0  # for so many gradients in this backward
    work: Any = None
    # What other processes had for parameters that had no gradient here.
    received: dict[int, Tensor] = dataclasses.field(default_factory=dict)


def _in_buckets(parameters: Sequence[Parameter], cap: int) -> list[_Bucket]:
    buckets: list[_Bucket] = []
    open_buckets: dict[tandem.dtype, tuple[_Bucket, int]] = {}
    for i in range(len(parameters) - 1, -1, -1):
        p = parameters[i]
        size = p.numel() * p.element_size()
        bucket, filled = open_buckets.get(p.dtype, (None, 0))
        if bucket is None or filled + size > (min(cap, _FIRST_CAP) if bucket is buckets[0] else cap):
            bucket, filled = _Bucket([], p.dtype), 0
            buckets.append(bucket)
        bucket.members.append(i)
        open_buckets[p.dtype] = (bucket, filled + size)
    return buckets


def _joined(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """The tensors by dtype."""
    for dtype in dict.fromkeys(t.dtype for t in tensors):
        yield [t for t in tensors if t.dtype == dtype]


class _Reduction:
    """What becomes of the gradients of one backward after another."""

    def __init__(self, group: Any, names: Sequence[str], parameters: Sequence[Parameter], cap: int) -> None:
        self.group = group
        self.names = list(names)
        self.parameters = list(parameters)
        self.buckets = _in_buckets(parameters, cap)
        self.bucket_of = {i: b for b in self.buckets for i in b.members}
        self.armed = False  # the gradients of the next backward are averaged
        self.begun = 0  # buckets of this backward
        self.ready: set[int] = set()
        self.unused: list[int] = []
        self.used_anywhere: Tensor | None = None
        self._used: Any = None
        self.handles = [p.register_post_accumulate_grad_hook(self._hook(i)) for i, p in enumerate(parameters)]

    def _hook(self, i: int) -> Callable[[Tensor], None]:
        def arrived(parameter: Tensor) -> None:
            if self.armed:
                self._mark(i)

        return arrived

    def check_finished(self) -> None:
        """Fails where some parameters of the last backward had no gradient."""
        if not self.armed or not self.ready or len(self.ready) == len(self.unused):
            if self.armed and self.begun == len(self.buckets):
                self._finish()
            return
        lacking = [self.names[i] for i in range(len(self.parameters)) if i not in self.ready]
        self.armed = False
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. These parameters "
            f"had no part in the loss: {', '.join(lacking[:20])}{', ...' if len(lacking) > 20 else ''}. Pass "
            "find_unused_parameters=True to DistributedDataParallel if that is meant"
        )

    def prepare(self, outputs: Any, find_unused: bool) -> None:
        """Before a backward: the gradients of all parameters, or of those that `outputs` depend on, are to come."""
        self.armed, self.begun, self.ready = True, 0, set()
        self.unused, self._used, self.used_anywhere = [], None, None
        for bucket in self.buckets:
            bucket.waiting, bucket.work, bucket.received = len(bucket.members), None, {}
        if not find_unused:
            return
        reached = _leaves_of(outputs)
        self.unused = [i for i, p in enumerate(self.parameters) if id(p) not in reached]
        used = tandem.ones(len(self.parameters), dtype=tandem.uint8, device=self.parameters[0].device)
        if self.unused:
            used[self.unused] = 0
        self.used_anywhere = used
        from tandem import distributed

        self._used = distributed.all_reduce(used, distributed.ReduceOp.MAX, self.group, async_op=True)
        for i in self.unused:
            self._mark(i, last=False)

    def _mark(self, i: int, last: bool = True) -> None:
        """The gradient of a parameter is complete."""
        if i in self.ready:
            self.armed = False
            raise RuntimeError(
                f"Expected to mark a variable ready only once: parameter {self.names[i]} got a second gradient. Call "
                "forward before each backward"
            )
        self.ready.add(i)
        self.bucket_of[i].waiting -= 1
        while self.begun < len(self.buckets) and self.buckets[self.begun].waiting == 0:
            self._begin(self.begun)
            self.begun += 1
        if last and self.begun == len(self.buckets):
            self._finish()

    def _begin(self, number: int) -> None:
        from tandem.distributed import ReduceOp, _rank_order

        bucket = self.buckets[number]
        parameters = [self.parameters[i] for i in bucket.members]
        gradients = [p.grad for p in parameters]
        for g in gradients:
            if g is not None:
                tandem._C._count_write(g)
        seconds = self.group.timeout.total_seconds()

        def average(tag: int) -> None:
            parts = [
                tandem.zeros(p.numel(), dtype=bucket.dtype, device=p.device) if g is None else g.detach().reshape(-1)
                for p, g in zip(parameters, gradients)
            ]
            flat = tandem.cat(parts)
            _rank_order.all_reduce(self.group, flat, ReduceOp.AVG, seconds)(tag)
            at = 0
            for i, p, g in zip(bucket.members, parameters, gradients):
                part = flat[at : at + p.numel()].view(p.shape)
                at += p.numel()
                if g is None:
                    bucket.received[i] = part
                else:
                    g.detach().copy_(part)

        elements = sum(p.numel() for p in parameters)
        said = f"gradients of bucket {number}: {str(bucket.dtype).partition('.')[2]} [{elements}]"
        bucket.work = self.group.run("DistributedDataParallel", said, average, True, on=parameters[0])

    def _finish(self) -> None:
        self.armed = False
        for bucket in self.buckets:
            bucket.work.wait()
        if self._used is not None:
            self._used.wait()
        for bucket in self.buckets:
            for i, part in bucket.received.items():
                if part.is_cuda:  # it was made in the stream of the group
                    part.record_stream(tandem.cuda.current_stream(part.device))
                # A parameter that no process used keeps having no gradient.
                if self.used_anywhere is None or bool(self.used_anywhere[i]):
                    with tandem.no_grad():
                        self.parameters[i].grad = part.clone()
            bucket.work, bucket.received = None, {}


def _leaves_of(outputs: Any) -> set[int]:
    """The ids of the leaves that tensors in `outputs` depend on."""
    from tandem.utils import _pytree

    found: set[int] = set()
    seen: set[Any] = set()
    open_nodes: list[Any] = []
    for t in _pytree.tree_leaves(outputs):
        if isinstance(t, Tensor) and t.requires_grad:
            if t.grad_fn is None:
                found.add(id(t))
            else:
                open_nodes.append(t.grad_fn)
    while open_nodes:
        node = open_nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad":
            found.add(id(node.variable))
        open_nodes.extend(following for following, _ in node.next_functions if following is not None)
    return found


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
            ("device_mesh", device_mesh),
        ):
            if value is not None:
                raise NotImplementedError(f"DistributedDataParallel({name}=) is not part of Tandem")
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
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad and n not in self.parameters_to_ignore]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
                "gradient."
            )
        if lazy := [n for n, p in module.named_parameters() if isinstance(p, UninitializedParameter)]:
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with DistributedDataParallel. Run a dummy forward "
                f"pass to correctly initialize the modules: {', '.join(lazy)}"
            )
        self._check_alike(group)
        self.process_group = _world.of_its_own(group)
        if init_sync:
            everything = [p for n, p in module.named_parameters() if n not in self.parameters_to_ignore]
            self._broadcast([*everything, *self._synced_buffers()])
        cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MIB)
        names, parameters = zip(*named)
        self._reduction = _Reduction(self.process_group, names, parameters, cap)

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

    def _broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Copy the tensors of rank 0 to all ranks."""
        from tandem import distributed

        with tandem.no_grad():
            for alike in _joined(tensors):
                flat = tandem.cat([t.detach().reshape(-1) for t in alike])
                distributed.broadcast(flat, group=self.process_group, group_src=0)
                if self.process_group.rank() == 0:
                    continue
                at = 0
                for t in alike:
                    t.copy_(flat[at : at + t.numel()].view(t.shape))
                    at += t.numel()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        synced = tandem.is_grad_enabled() and self.require_backward_grad_sync
        if synced:
            self._reduction.check_finished()
        if self.require_forward_param_sync and self.broadcast_buffers and (buffers := self._synced_buffers()):
            self._broadcast(buffers)
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

    def join(self, *args: Any, **kwargs: Any) -> Any:
        """NotImplementedError: ranks need the same number of batches."""
        raise NotImplementedError(
            "DistributedDataParallel.join is not part of Tandem. Use DistributedSampler, which gives all ranks as many"
        )

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """NotImplementedError: buckets are averaged in the order of ranks."""
        raise NotImplementedError(
            "DistributedDataParallel.register_comm_hook is not part of Tandem. Use no_sync and tandem.distributed"
        )


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
