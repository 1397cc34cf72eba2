"""What becomes of the gradients of a `DistributedDataParallel`: its buckets, and the averages of them.

Parameters that require gradients are in *buckets*, the last ones first, since a backward reaches those first. When the
gradients of a bucket are complete, which a hook of each parameter notices, the bucket's average over all processes is
begun on the thread of the group, while the backward goes on; buckets are begun in one order everywhere. The hook that
completes the last one waits for all: on a GPU, where averages are queued in a stream of the group, it is the current
stream that waits. A communication hook is called in place of the average, with the bucket as a `GradBucket`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import tandem
from tandem._C import Tensor
from tandem.autograd.graph import _history
from tandem.distributed import _rank_order
from tandem.distributed._collectives import all_reduce
from tandem.distributed._process_group import ProcessGroup, Work
from tandem.distributed._rank_order import ReduceOp
from tandem.distributed._work_future import waited_for
from tandem.futures import Future
from tandem.nn.parameter import Parameter

__all__ = ["GradBucket"]

_MIB = 1 << 20
_FIRST_CAP = _MIB  # bytes of the first bucket, which is to be on its way early


class GradBucket:
    """The gradients of some parameters of a `DistributedDataParallel`, as its communication hook gets them.

    >>> import tandem
    >>> dist = tandem.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = tandem.nn.parallel.DistributedDataParallel(tandem.nn.Linear(2, 1))
    >>> def halve(state, bucket: dist.GradBucket) -> tandem.futures.Future[tandem.Tensor]:
    ...     print(bucket.index(), bucket.is_last(), bucket.buffer())
    ...     future = tandem.futures.Future()
    ...     future.set_result(bucket.buffer() / 2)
    ...     return future
    >>> model.register_comm_hook(None, halve)
    >>> model(tandem.ones(3, 2)).sum().backward()
    0 True tensor([3., 3., 3.])
    >>> model.module.bias.grad
    tensor([1.5000])
    >>> dist.destroy_process_group()
    """

    def __init__(self, index: int, buffer: Tensor, parameters: Sequence[Parameter], last: bool) -> None:
        self._index = index
        self._buffer = buffer
        self._parameters = list(parameters)
        self._last = last

    def index(self) -> int:
        """Which bucket it is, from 0, in the order in which backwards fill them."""
        return self._index

    def buffer(self) -> Tensor:
        """The gradients behind each other, a tensor of one dim. Zeros stand for those that this process has not."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Have another tensor be the buffer, of any dtype."""
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """The parts of the buffer, in the shapes of the parameters; writing them writes it."""
        return list(parts_of(self._buffer, self._parameters))

    def parameters(self) -> list[Parameter]:
        """The parameters whose gradients they are."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Is it the last bucket of a backward?"""
        return self._last


def parts_of(flat: Tensor, like: Sequence[Tensor]) -> Iterator[Tensor]:
    """The stretches of a flat tensor, in the shapes of others."""
    at = 0
    for t in like:
        yield flat[at : at + t.numel()].view(t.shape)
        at += t.numel()


@dataclasses.dataclass
class Bucket:
    """Parameters of one dtype whose gradients are averaged together."""

    members: list[int]  # among the parameters that require gradients
    dtype: tandem.dtype
    waiting: int = 0  # for so many gradients in this backward
    work: Work | None = None
    future: Future[Any] | None = None  # of a communication hook, instead
    gradients: list[Tensor | None] = dataclasses.field(default_factory=list)
    # What other processes had for parameters that had no gradient here.
    received: dict[int, Tensor] = dataclasses.field(default_factory=dict)


def _in_buckets(parameters: Sequence[Parameter], cap: int) -> list[Bucket]:
    buckets: list[Bucket] = []
    open_buckets: dict[tandem.dtype, tuple[Bucket, int]] = {}
    for i in range(len(parameters) - 1, -1, -1):
        p = parameters[i]
        size = p.numel() * p.element_size()
        bucket, filled = open_buckets.get(p.dtype, (None, 0))
        if bucket is None or filled + size > (min(cap, _FIRST_CAP) if bucket is buckets[0] else cap):
            bucket, filled = Bucket([], p.dtype), 0
            buckets.append(bucket)
        bucket.members.append(i)
        open_buckets[p.dtype] = (bucket, filled + size)
    return buckets


class Reduction:
    """What becomes of the gradients of one backward after another.

    Args:
        group: of the module alone, so that other operations may come between; set before the first backward.
        names, parameters: those that require gradients.
        cap: MiB of a bucket.
    """

    def __init__(
        self, group: ProcessGroup | None, names: Sequence[str], parameters: Sequence[Parameter], cap: float
    ) -> None:
        self.group = group
        self.names = list(names)
        self.parameters = list(parameters)
        self.buckets = _in_buckets(parameters, int(cap * _MIB))
        self.bucket_of = {i: b for b in self.buckets for i in b.members}
        self.hook: Callable[[Any, GradBucket], Future[Any]] | None = None
        self.hook_state: object = None
        self.divisor: int | None = None  # of the sum of gradients; None: the number of ranks
        self.armed = False  # the gradients of the next backward are averaged
        self.begun = 0  # buckets of this backward
        self.ready: set[int] = set()
        self.unused: list[int] = []
        self.used_anywhere: Tensor | None = None
        self._used: Work | None = None
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
        self.armed, self.ready = True, set()
        self._reset()
        if not find_unused:
            return
        reached = _leaves_of(outputs)
        self.unused = [i for i, p in enumerate(self.parameters) if id(p) not in reached]
        self._tell_used(self.unused)
        for i in self.unused:
            self._mark(i, last=False)

    def shadow(self, find_unused: bool) -> None:
        """Takes part in what the other ranks do in a backward, with zeros for gradients."""
        self.armed = False
        self._reset()
        if find_unused:
            self._tell_used(range(len(self.parameters)))
        for number, bucket in enumerate(self.buckets):
            self._send(number, [None] * len(bucket.members))
        self._wait()
        self._reset()

    def _reset(self) -> None:
        self.begun, self.unused, self._used, self.used_anywhere = 0, [], None, None
        for bucket in self.buckets:
            bucket.waiting, bucket.work, bucket.future = len(bucket.members), None, None
            bucket.gradients, bucket.received = [], {}

    def _tell_used(self, unused: Sequence[int]) -> None:
        """Begins to find out which parameters any rank uses."""
        used = tandem.ones(len(self.parameters), dtype=tandem.uint8, device=self.parameters[0].device)
        if unused:
            used[list(unused)] = 0
        self.used_anywhere = used
        self._used = all_reduce(used, ReduceOp.MAX, self.group, async_op=True)

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
            bucket = self.buckets[self.begun]
            self._send(self.begun, [self.parameters[k].grad for k in bucket.members])
            self.begun += 1
        if last and self.begun == len(self.buckets):
            self._finish()

    def _send(self, number: int, gradients: list[Tensor | None]) -> None:
        """Begins what averages the gradients of a bucket; None stands for zeros."""
        bucket = self.buckets[number]
        bucket.gradients = gradients
        if self.hook is not None:
            self._call_hook(self.hook, number, bucket)
            return
        parameters = [self.parameters[i] for i in bucket.members]
        for g in gradients:
            if g is not None:
                tandem._C._count_write(g)
        group, divisor = self.group, self.divisor
        assert group is not None
        seconds = group.timeout.total_seconds()

        def average(tag: int) -> None:
            flat = self._joined(bucket)
            _rank_order.all_reduce(group, flat, ReduceOp.AVG, seconds, divisor)(tag)
            self._spread(bucket, flat)

        elements = sum(p.numel() for p in parameters)
        said = f"gradients of bucket {number}: {str(bucket.dtype).partition('.')[2]} [{elements}]"
        bucket.work = group.run("DistributedDataParallel", said, average, True, on=parameters[0])

    def _joined(self, bucket: Bucket) -> Tensor:
        """A copy of its gradients, behind each other."""
        parameters = [self.parameters[i] for i in bucket.members]
        return tandem.cat(
            [
                tandem.zeros(p.numel(), dtype=bucket.dtype, device=p.device) if g is None else g.detach().reshape(-1)
                for p, g in zip(parameters, bucket.gradients)
            ]
        )

    def _spread(self, bucket: Bucket, flat: Tensor) -> None:
        """Puts averages where its gradients are."""
        parts = parts_of(flat, [self.parameters[i] for i in bucket.members])
        for i, g, part in zip(bucket.members, bucket.gradients, parts):
            if g is None:
                bucket.received[i] = part
            else:
                g.detach().copy_(part)

    def _call_hook(self, hook: Callable[[Any, GradBucket], Future[Any]], number: int, bucket: Bucket) -> None:
        parameters = [self.parameters[i] for i in bucket.members]
        with tandem.no_grad():
            held = GradBucket(number, self._joined(bucket), parameters, number == len(self.buckets) - 1)
            with waited_for():
                future = hook(self.hook_state, held)
        if not isinstance(future, Future):
            self.armed = False
            raise RuntimeError(
                f"the communication hook of DistributedDataParallel should return a Future of a tensor, returned "
                f"{type(future).__name__}"
            )
        bucket.future = future

    def _take_result(self, bucket: Bucket, future: Future[Any]) -> None:
        """Of the hook."""
        with tandem.no_grad():
            result = future.wait()
            elements = sum(self.parameters[i].numel() for i in bucket.members)
            if not isinstance(result, Tensor) or result.numel() != elements:
                what = list(result.shape) if isinstance(result, Tensor) else type(result).__name__
                raise RuntimeError(
                    f"the Future of a communication hook should hold a tensor of {elements} elements, as the bucket "
                    f"has, not {what}"
                )
            self._spread(bucket, result.reshape(-1))

    def _wait(self) -> None:
        for bucket in self.buckets:
            if bucket.future is not None:
                self._take_result(bucket, bucket.future)
            elif bucket.work is not None:
                bucket.work.wait()
        if self._used is not None:
            self._used.wait()

    def _finish(self) -> None:
        self.armed = False
        self._wait()
        for bucket in self.buckets:
            for i, part in bucket.received.items():
                if part.is_cuda:  # it was made in the stream of the group
                    part.record_stream(tandem.cuda.current_stream(part.device))
                # A parameter that no process used keeps having no gradient.
                if self.used_anywhere is None or bool(self.used_anywhere[i]):
                    with tandem.no_grad():
                        self.parameters[i].grad = part.to(bucket.dtype, copy=True)
            bucket.work, bucket.future, bucket.gradients, bucket.received = None, None, [], {}


def _tensors_in(value: Any) -> Iterator[Tensor]:
    """Those in containers of Python, dataclasses, and classes that are registered as trees."""
    from tandem.utils import _pytree

    inside: Iterable[Any]
    if isinstance(value, Tensor):
        yield value
        return
    if isinstance(value, (list, tuple, set)):
        inside = value
    elif isinstance(value, Mapping):
        inside = value.values()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        inside = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    else:
        inside = [leaf for leaf in _pytree.tree_leaves(value) if leaf is not value]
    for part in inside:
        yield from _tensors_in(part)


def _leaves_of(outputs: Any) -> set[int]:
    """The ids of the leaves that tensors in `outputs` depend on."""
    found: set[int] = set()
    nodes: list[Any] = []
    for t in _tensors_in(outputs):
        if t.requires_grad:
            if t.grad_fn is None:
                found.add(id(t))
            else:
                nodes.append(t.grad_fn)
    for node in _history(nodes):
        if type(node).__name__ == "AccumulateGrad":
            found.add(id(node.variable))
    return found
