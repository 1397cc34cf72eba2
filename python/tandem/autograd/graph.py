"""The graph of derivatives as an object of its own: its nodes, hooks on several tensors, and what it keeps."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tandem import _C
from tandem._support import RemovableHandle

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

Node = _C._Node


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: a node of the graph and which of its outputs the tensor is.

    >>> import tandem
    >>> y = tandem.ones(1, requires_grad=True) * 2
    >>> edge = tandem.autograd.graph.get_gradient_edge(y)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    """

    node: Node  # type: ignore[valid-type]
    output_nr: int
    #: Accepted for PyTorch's sake: the node owns what it needs.
    ownership_token: Any = None


def get_gradient_edge(tensor: _C.Tensor) -> GradientEdge:
    """The edge that the gradient of a tensor comes in by; of a leaf, the node that adds to its `.grad`.

    RuntimeError if the tensor requires no gradient.

    >>> import tandem
    >>> leaf = tandem.ones(1, requires_grad=True)
    >>> tandem.autograd.graph.get_gradient_edge(leaf).node.name()
    'torch::autograd::AccumulateGrad'
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(_get_grad_fn_or_grad_acc(tensor), tensor.output_nr)


def _history(nodes: Iterable[Any]) -> Iterator[Any]:
    """These nodes of a graph and all that they lead to, each once."""
    seen, open_nodes = set(), list(nodes)
    while open_nodes:
        node = open_nodes.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            open_nodes += [following for following, _ in node.next_functions]


def _get_grad_fn_or_grad_acc(tensor: _C.Tensor) -> Any:
    """The node that made a tensor; of a leaf, the one that adds to its `.grad`."""
    return tensor.grad_fn if tensor.grad_fn is not None else _accumulator(tensor)


def _accumulator(leaf: _C.Tensor) -> Any:
    with _grad_on():
        return leaf.view_as(leaf).grad_fn.next_functions[0][0]


@contextlib.contextmanager
def _grad_on() -> Iterator[None]:
    before = _C.is_grad_enabled()
    _C._set_grad_enabled(True)
    try:
        yield
    finally:
        _C._set_grad_enabled(before)


def increment_version(tensor: _C.Tensor | Sequence[_C.Tensor]) -> None:
    """Count a write that autograd did not see, so that a backward which needs the old elements complains.

    Args:
        tensor: what was written, or a sequence of such tensors.

    >>> import tandem
    >>> x = tandem.ones(2)
    >>> tandem.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, _C.Tensor) else tensor:
        if t.is_inference():
            continue  # of which no writes are counted
        window = t.detach()
        window.copy_(window)


class saved_tensors_hooks:
    """A block in which what operations keep for the backward goes through a pair of functions.

    Args:
        pack_hook: called with each tensor that is kept (without history); what it returns is kept instead.
        unpack_hook: called with that when the backward needs the tensor, which it returns.

    >>> import tandem
    >>> x = tandem.ones(2, requires_grad=True)
    >>> kept = []
    >>> with tandem.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or len(kept) - 1, lambda i: kept[i]):
    ...     y = x.exp().sum()
    >>> y.backward()
    >>> len(kept), x.grad
    (1, tensor([2.7183, 2.7183]))
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc: object) -> None:
        _C._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """A block in which what operations keep for the backward is kept in CPU memory, and goes back to its device then.

    Args:
        pin_memory: keep it in page-locked memory, from where it goes back without a wait.
        device_type: the kind of device that the memory is page-locked for, `"cuda"`.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True)
    >>> with tandem.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward(); x.grad
    tensor([2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack(t: Any) -> tuple[Any, Any]:
            return t.device, t.cpu().pin_memory() if pin_memory and not t.is_cpu else t.cpu()

        def unpack(kept: tuple[Any, Any]) -> Any:
            return kept[1].to(kept[0], non_blocking=pin_memory)

        super().__init__(pack, unpack)


class _Mutations:
    """What `allow_mutation_on_saved_tensors` gives, one block at a time in a thread."""

    inside = threading.local()

    def clear(self) -> None:
        """For PyTorch's sake: what was copied belongs to the nodes that need it, and goes with them."""


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutations]:
    """A block in which what operations keep for the backward may be written to: its elements are copied before.

    Nothing is copied that is not written. The backward may follow in the block or after it; what is written after the
    block is copied, too, where an operation of the block kept it. A tensor that a `Function` saved is not looked after.

    RuntimeError in such a block.

    >>> import tandem
    >>> with tandem.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = tandem.ones(2, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     b.sin_()
    ...     out.backward()
    tensor([0.8415, 0.8415], grad_fn=<SinBackward0>)
    >>> a.grad
    tensor([2., 2.])
    """
    if getattr(_Mutations.inside, "yes", False):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    _Mutations.inside.yes = True
    _C._keep_saved(True)
    try:
        yield _Mutations()
    finally:
        _C._keep_saved(False)
        _Mutations.inside.yes = False


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A block in which saved-tensor hooks are a RuntimeError with the text `error_message`.

    >>> import tandem
    >>> from tandem.autograd import graph
    >>> with graph.disable_saved_tensors_hooks("not here"):
    ...     with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    ...         pass
    Traceback (most recent call last):
    ...
    RuntimeError: not here
    """
    before = _C._disable_saved_tensors_hooks(error_message)
    try:
        yield
    finally:
        _C._disable_saved_tensors_hooks(before)


class _Handles(RemovableHandle):
    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        super().__init__({})
        self.handles = handles

    def remove(self) -> None:
        """Remove the hook from all tensors."""
        for h in self.handles:
            h.remove()


def register_multi_grad_hook(tensors: Sequence[_C.Tensor], fn: Callable[..., Any], *, mode: str = "all") -> _Handles:
    """Call `fn` when the gradients of several tensors are known.

    Args:
        tensors: tensors that require a gradient.
        fn: with `mode="all"` called once a backward with a list of the gradients, None where there is none; with
            `mode="any"` with the first gradient that becomes known.

    Tensors that the backward does not lead to are not waited for.

    >>> import tandem
    >>> a, b = tandem.ones(2, requires_grad=True), tandem.ones(2, requires_grad=True)
    >>> handle = tandem.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print(grads))
    >>> (a * b).sum().backward()
    [tensor([1., 1.]), tensor([1., 1.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    for i, t in enumerate(tensors):
        if not t.requires_grad:
            raise ValueError(f"expected every tensor to require a gradient, but tensor {i} does not")
    lock = threading.Lock()
    # The gradients, how many hooks were called and for how many there was one, by the number of the backward.
    runs: dict[int, list[Any]] = {}
    edges = [get_gradient_edge(t) for t in tensors]

    def of(i: int) -> Callable[[Any], None]:
        def hook(grad: Any) -> None:
            run, reached = _C._backward_reaches([e.node for e in edges])
            with lock:
                state = runs.setdefault(run, [[None] * len(tensors), 0, 0])
                grads = state[0]
                grads[i] = grad
                state[1] += 1
                state[2] += grad is not None
                last = state[1] == sum(reached)
                ready = grad is not None and state[2] == 1 if mode == "any" else last
                if last:
                    del runs[run]
            if ready:
                fn(grads if mode == "all" else grad)

        return hook

    return _Handles(tuple(t.register_hook(of(i)) for i, t in enumerate(tensors)))
