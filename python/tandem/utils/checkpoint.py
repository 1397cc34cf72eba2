"""Checkpointing: a part of a model keeps its inputs only, and runs again when the backward needs the rest."""

from __future__ import annotations

import contextlib
import enum
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import tandem
from tandem import _C
from tandem.autograd import Function, enable_grad, no_grad
from tandem.autograd.graph import saved_tensors_hooks
from tandem.utils._pytree import tree_leaves, tree_map

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

R = TypeVar("R")


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did something else than the first; a RuntimeError.

    >>> import tandem
    >>> from tandem.utils.checkpoint import CheckpointError, checkpoint
    >>> shapes = iter([(2,), (3,)])
    >>> x = tandem.ones(1, requires_grad=True)
    >>> y = checkpoint(lambda x: x.expand(next(shapes)).exp().sum(), x, use_reentrant=False)
    >>> try:
    ...     y.backward()
    ... except CheckpointError as error:
    ...     "different metadata" in str(error)
    True
    """


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Contexts for the first and the second run that do nothing: what `checkpoint` uses where none are given.

    >>> import tandem
    >>> first, second = tandem.utils.checkpoint.noop_context_fn()
    >>> with first:
    ...     pass
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop = True


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A block in which second runs stop as soon as they made what is needed (the default), or run to the end.

    Args:
        enable: False makes them run to the end.

    >>> import tandem
    >>> from tandem.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = tandem.ones(1, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(tandem.exp, x, use_reentrant=False)
    >>> y.backward(); x.grad
    tensor([2.7183])
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors among the inputs without history, requiring a gradient if they did; the other inputs as they are.

    RuntimeError unless `inputs` is a tuple.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True) * 2
    >>> (leaf, number) = tandem.utils.checkpoint.detach_variable((x, 3))
    >>> leaf.is_leaf, leaf.requires_grad, number
    (True, True, 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(_detached(x) for x in inputs)


def _detached(x: Any) -> Any:
    return x.detach().requires_grad_(x.requires_grad) if isinstance(x, _C.Tensor) else x


def _reached(inputs: Iterable[Any]) -> bool:
    """Does a tensor among the inputs require a gradient?"""
    return any(x.requires_grad for x in inputs if isinstance(x, _C.Tensor))


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns (UserWarning) where no tensor among the inputs requires a gradient: a checkpointed call would give none.

    >>> import tandem
    >>> tandem.utils.checkpoint.check_backward_validity((tandem.ones(1, requires_grad=True), 3))
    """
    if not _reached(inputs):
        tandem._C._warn("None of the inputs have requires_grad=True. Gradients will be None", 3)


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A block in which checkpoints are made with `debug`, which changes nothing: errors say what differs anyway.

    >>> import tandem
    >>> with tandem.utils.checkpoint.set_checkpoint_debug_enabled(True):
    ...     pass
    """
    yield


class DefaultDeviceType:
    """The kind of device whose random numbers checkpoints preserve beside the CPU's: all that are used are.

    >>> import tandem
    >>> tandem.utils.checkpoint.DefaultDeviceType.get_device_type()
    'cuda'
    """

    _kind = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Remembered only."""
        DefaultDeviceType._kind = device

    @staticmethod
    def get_device_type() -> str:
        """What `set_device_type` was last given."""
        return DefaultDeviceType._kind


def get_device_states(*args: Any) -> tuple[list[int], list[tandem.Tensor]]:
    """The GPUs that tensors among the arguments are on, and the state of the random numbers of each.

    >>> import tandem
    >>> tandem.utils.checkpoint.get_device_states(tandem.ones(2), 3)
    ([], [])
    """
    on = [a.get_device() for a in tree_leaves(args) if isinstance(a, _C.Tensor) and not a.is_cpu]
    return on, [tandem.cuda.get_rng_state(index) for index in on]


def set_device_states(
    devices: Sequence[int], states: Sequence[tandem.Tensor], *, device_type: str | None = None
) -> None:
    """Gives GPUs the states of random numbers that `get_device_states` told.

    >>> import tandem
    >>> tandem.utils.checkpoint.set_device_states([], [])
    """
    for index, state in zip(devices, states):
        tandem.cuda.set_rng_state(state, index)


class CheckpointPolicy(enum.Enum):
    """What a policy of `create_selective_checkpoint_contexts` says of an operation.

    >>> import tandem
    >>> tandem.utils.checkpoint.CheckpointPolicy.MUST_SAVE.value
    0
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is given: `is_recompute` says whether it is the second run.

    >>> import tandem
    >>> tandem.utils.checkpoint.SelectiveCheckpointContext(is_recompute=False).is_recompute
    False
    """

    def __init__(self, *, is_recompute: bool, **known: Any) -> None:
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Contexts for `checkpoint(context_fn=)`. The second run computes everything again, so that results and gradients
    are those of any policy; nothing is kept in memory for it, whatever the policy says.

    Args:
        policy_fn_or_list: a function, which is not called, or a list of operations. TypeError for anything else.
        allow_cache_entry_mutation: accepted without effect.

    >>> import tandem
    >>> from functools import partial
    >>> from tandem.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
    >>> contexts = partial(create_selective_checkpoint_contexts, lambda ctx, op, *args: CheckpointPolicy.MUST_SAVE)
    >>> x = tandem.ones(1, requires_grad=True)
    >>> checkpoint(tandem.exp, x, use_reentrant=False, context_fn=contexts).backward(); x.grad
    tensor([2.7183])
    """
    if not isinstance(policy_fn_or_list, list) and not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    return contextlib.nullcontext(), contextlib.nullcontext()


class _World:
    """What a run depends on beside its arguments: random numbers, autocast."""

    def __init__(self, preserve_rng_state: bool):
        self.rng = tandem.get_rng_state() if preserve_rng_state else None
        on_gpus = preserve_rng_state and tandem.cuda.is_initialized()
        self.gpus = tandem.cuda.get_rng_state_all() if on_gpus else None
        self.autocast = _C._autocast_get()

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """The same once more."""
        fork = tandem.random.fork_rng(enabled=self.rng is not None)
        now = _C._autocast_get()
        with fork:
            if self.rng is not None:
                tandem.set_rng_state(self.rng)
            if self.gpus is not None:
                tandem.cuda.set_rng_state_all(self.gpus)
            _C._autocast_set(*self.autocast)
            try:
                yield
            finally:
                _C._autocast_set(*now)


def checkpoint(
    function: Callable[..., R],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> R:
    """`function(*args, **kwargs)`, keeping nothing of it but its arguments: the backward runs it again.

    Args:
        function: what to run; twice the same for the same arguments.
        args: its arguments; tensors among them must not be written before the backward.
        use_reentrant: False (to be preferred) runs it again when the backward first needs something it computed; True
            makes it one node whose backward runs a backward of its own, which `autograd.grad` cannot see through, and
            which needs an argument that requires a gradient.
        preserve_rng_state: the second run draws the same random numbers as the first (True).
        context_fn: gives the contexts of the first and of the second run.
        determinism_check: "default" compares shapes and dtypes of what both runs keep; "none" does not.
        debug: accepted for PyTorch's sake; errors say what differs anyway.
        early_stop: whether the second run ends as soon as it made what is needed.
        kwargs: arguments of `function`, with `use_reentrant=False`.

    Inside a compiled function it is a plain call.

    >>> import tandem
    >>> x = tandem.ones(2, requires_grad=True)
    >>> y = tandem.utils.checkpoint.checkpoint(lambda x: x.exp().sin().sum(), x, use_reentrant=False)
    >>> y.backward()
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is None:
        tandem._C._warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True.",
            2,
        )
        use_reentrant = True
    if use_reentrant and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant and (context_fn is not noop_context_fn or debug):
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ('default', 'none'), but got {determinism_check}")
    if _C._is_tracing():
        # Nothing is forgotten in a trace. Of a reentrant call without inputs that require grad there is no history.
        with contextlib.nullcontext() if not use_reentrant or _reached(args) else no_grad():
            return function(*args, **kwargs)
    if use_reentrant:
        check_backward_validity(args)
        return _Reentrant.apply(function, _World(preserve), *args)
    if not _C.is_grad_enabled():
        return function(*args, **kwargs)
    first, second = context_fn()
    frame = _Frame(function, args, kwargs, _World(preserve), second, determinism_check, early_stop and _early_stop)
    with first, saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


class _Reentrant(Function):
    """The whole call as one node; its backward is a backward."""

    @staticmethod
    def forward(ctx: Any, function: Any, world: _World, *args: Any) -> Any:
        ctx.function, ctx.world = function, world
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, _C.Tensor)]
        ctx.others = [None if isinstance(a, _C.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not _C._backwards_reach_all_leaves():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(): its own backward goes to every leaf. Pass use_reentrant=False."
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            args[place] = _detached(tensor)
        with ctx.world.again(), enable_grad():
            out = ctx.function(*args)
        outputs = out if isinstance(out, tuple | list) else (out,)
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, _C.Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        tandem.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a.grad if isinstance(a, _C.Tensor) else None for a in args))


class CheckpointFunction(_Reentrant):
    """A checkpointed call as one node: `apply(function, preserve_rng_state, *args)`.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True)
    >>> tandem.utils.checkpoint.CheckpointFunction.apply(tandem.exp, True, x).backward(); x.grad
    tensor([2.7183])
    """

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:  # type: ignore[override]
        check_backward_validity(args)
        return _Reentrant.forward(ctx, run_function, _World(preserve_rng_state), *args)


class _Holder:
    """Stands for one tensor that the first run would have kept."""

    __slots__ = ("__weakref__", "meta", "number")

    def __init__(self, number: int, meta: Any):
        self.number, self.meta = number, meta


class _Stop(Exception):
    """The second run made all that is needed."""


def _meta(t: Any) -> tuple[Any, Any]:
    return t.shape, t.dtype


class _Frame:
    """One checkpointed call: holders in the order of the first run, and values of the second."""

    def __init__(self, function: Any, args: Any, kwargs: Any, world: _World, context: Any, check: str, stop: bool):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.world, self.context, self.check, self.stop = world, context, check, stop
        self.versions = [a._version for a in tree_leaves((args, kwargs)) if isinstance(a, _C.Tensor)]
        self.holders: list[weakref.ref[_Holder]] = []
        self.values: dict[int, Any] = {}

    def pack(self, tensor: Any) -> _Holder:
        """In the first run: keeps nothing."""
        holder = _Holder(len(self.holders), _meta(tensor))
        self.holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: _Holder) -> Any:
        """The tensor, of a second run. Another backward through the same graph makes another one."""
        if holder.number not in self.values:
            self.run_again()
        if holder.number not in self.values:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {self.made}"
            )
        return self.values.pop(holder.number)

    def run_again(self) -> None:
        """Fills in the values of all holders that are still alive."""
        leaves = [a for a in tree_leaves((self.args, self.kwargs)) if isinstance(a, _C.Tensor)]
        if [a._version for a in leaves] != self.versions:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: an "
                "argument of a checkpointed function was written before the backward."
            )
        wanted = {i for i, ref in enumerate(self.holders) if ref() is not None}
        self.values.clear()
        self.made = 0

        def keep(tensor: Any) -> None:
            number = self.made
            self.made += 1
            if number in wanted:
                self.values[number] = tensor
                self.compare(number, tensor)
            if self.stop and len(self.values) == len(wanted):
                raise _Stop

        args, kwargs = tree_map(_detached, self.args), tree_map(_detached, self.kwargs)
        with contextlib.suppress(_Stop), self.world.again(), enable_grad(), self.context:
            with saved_tensors_hooks(keep, _never):
                self.function(*args, **kwargs)

    def compare(self, number: int, tensor: Any) -> None:
        """Error unless both runs kept a tensor of one shape and dtype."""
        holder = self.holders[number]()
        if self.check == "default" and holder is not None and holder.meta != _meta(tensor):
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\ntensor at position {number}:\nsaved metadata: {holder.meta}\n"
                f"recomputed metadata: {_meta(tensor)}"
            )


def _never(packed: Any) -> Any:
    raise CheckpointError("torch.utils.checkpoint: the graph of the second run was used")


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]] | tandem.nn.Sequential,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """A sequence of modules run in `segments` parts, of which all but the last are checkpointed.

    Args:
        functions: an `nn.Sequential`, or a sequence of modules or functions of one argument.
        segments: how many parts.
        input: the argument of the first.
        use_reentrant: see `checkpoint`.
        preserve_rng_state: see `checkpoint`.

    >>> import tandem
    >>> model = tandem.nn.Sequential(tandem.nn.Linear(2, 2), tandem.nn.Tanh(), tandem.nn.Linear(2, 1))
    >>> y = tandem.utils.checkpoint.checkpoint_sequential(model, 2, tandem.ones(1, 2), use_reentrant=False)
    >>> y.shape
    tandem.Size([1, 1])
    """
    if use_reentrant is None:
        tandem._C._warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can "
            "pass use_reentrant=True.",
            2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    layers = list(functions.children()) if isinstance(functions, tandem.nn.Sequential) else list(functions)
    size = len(layers) // segments

    def part(start: int, stop: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for layer in layers[start:stop]:
                x = layer(x)
            return x

        return run

    stop = 0
    for start in range(0, size * (segments - 1), size):
        stop = start + size
        input = checkpoint(part(start, stop), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(stop, len(layers))(input)
