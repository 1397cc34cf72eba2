"""CUDA graphs: work of a stream that is captured once and queued as a whole, again and again."""

from __future__ import annotations

import functools
import gc
import warnings
from typing import Any, NoReturn

from tandem import _C
from tandem.cuda._devices import current_device, fail_without, is_available, synchronize
from tandem.cuda.memory import _pools, empty_cache
from tandem.cuda.streams import Stream, StreamContext, current_stream

__all__ = [
    "CUDAGraph",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
]


def is_current_stream_capturing() -> bool:
    """Is what the current stream is given kept for a graph? False without a GPU."""
    return is_available() and bool(current_stream()._stream.is_capturing())


def graph_pool_handle() -> tuple[int, int]:
    """A new pool of memory, for `capture_begin` of graphs that are to share it."""
    return 0, next(_pools)


def _is_handle(pool: Any) -> bool:
    return isinstance(pool, tuple) and len(pool) == 2 and all(type(n) is int and n >= 0 for n in pool)


class CUDAGraph:
    """Work that was captured; `replay` queues it in the current stream.

    What is captured reads and writes the same memory at each replay: write new values into the tensors that it read.
    Its memory is kept for it while it lives. Random numbers are those of the capture, at each replay. What the host has
    to read cannot be captured: an error of `capture_end`. `tandem.compile` needs none of this. RuntimeError where there
    is no GPU.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        if not is_available():
            fail_without(type(self).__name__)
        self._graph: Any = None
        self._index: int | None = None
        self._draws = 0
        self._pool = graph_pool_handle()

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Capture what the current stream, which is not the default one, is given from now on.

        Args:
            pool: a handle of `pool()` of another graph or of `graph_pool_handle`: memory that is free when this begins,
                as what another graph of the pool used for values of its own, is used again. Replay such graphs in the
                order in which they were captured, and not at the same time: one writes to the other's memory. Of the
                graph's own when None.
            capture_error_mode: accepted: other threads may use the GPU meanwhile.
        """
        if self._graph is not None or self._index is not None:
            raise RuntimeError("this CUDAGraph was captured already: reset() it, or make another one")
        if pool is not None and not _is_handle(pool):
            raise TypeError(f"capture_begin: pool must be a handle of graph_pool_handle() or pool(), but got {pool!r}")
        index = current_device()
        handle = self._pool if pool is None else pool
        _C._gpu_begin_capture(index, handle[1])
        self._index = index
        self._draws = self._position(index)
        self._pool = handle

    def capture_end(self) -> None:
        """End that. RuntimeError where something was done meanwhile that cannot be captured."""
        if self._index is None:
            raise RuntimeError("capture_end() without capture_begin()")
        index, self._index = self._index, None
        self._graph = _C._gpu_end_capture(index)
        if self._position(index) != self._draws:
            warnings.warn("a captured graph draws random numbers: each replay gives those of the capture", stacklevel=2)

    @staticmethod
    def _position(index: int) -> int:
        state = _C._default_generator(_C.device("cuda", index)).get_state()
        return int.from_bytes(_C._bytes_of(state)[8:], "little")

    def replay(self) -> None:
        """Queue the work in the current stream."""
        if self._graph is None:
            raise RuntimeError("replay() of a CUDAGraph without a preceding successful capture")
        self._graph.launch()

    def reset(self) -> None:
        """Drop the work and its memory."""
        self._graph = None

    def pool(self) -> Any:
        """The pool of its memory, for `capture_begin` of other graphs."""
        return self._pool

    def enable_debug_mode(self) -> None:
        """Does nothing."""

    def debug_dump(self, debug_path: str) -> NoReturn:
        """NotImplementedError: graphs are not written to files."""
        raise NotImplementedError("CUDAGraph.debug_dump: captured graphs are not written to files")


class graph:  # noqa: N801
    """A `with` block whose work is captured in a CUDAGraph, on a stream of its own unless one is given.

    Args:
        cuda_graph: where it goes.
        pool, capture_error_mode: as of `CUDAGraph.capture_begin`.
        stream: on which it is captured.
    """

    _default: dict[int, Stream] = {}

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None, capture_error_mode: str = "global"
    ) -> None:
        self._graph, self._pool, self._mode = cuda_graph, pool, capture_error_mode
        if stream is None:
            index = current_device()
            if index not in self._default:
                self._default[index] = Stream(index)
            stream = self._default[index]
        self._block = StreamContext(stream)

    def __enter__(self) -> None:
        synchronize()
        gc.collect()
        empty_cache()
        self._block.__enter__()
        try:
            self._graph.capture_begin(self._pool, self._mode)
        except BaseException:
            self._block.__exit__()
            raise

    def __exit__(self, *exc: object) -> None:
        try:
            self._graph.capture_end()
        finally:
            self._block.__exit__(*exc)


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None
) -> Any:
    """Functions and modules as `tandem.compile` makes them: plans, with derivatives, that are queued as CUDA graphs.

    Args:
        callables: a function, a Module, whose `forward` is replaced, or a tuple of them.
        sample_args: a tuple of tensors, arguments of a call; for a tuple of callables, a tuple of those.
        num_warmup_iters, allow_unused_input, pool: accepted for PyTorch's sake. Nothing is run before the first call,
            and calls with tensors of other shapes are right, too.

    Returns what was given: the Module itself, which in the other of its modes, training or evaluating, runs as before.
    RuntimeError for a Module with hooks, TypeError for arguments that are not tensors.
    """
    import tandem
    from tandem.nn import Module
    from tandem.utils._pytree import tree_flatten

    several = isinstance(callables, tuple)
    given = callables if several else (callables,)
    samples = sample_args if several else (sample_args,)
    if len(given) != len(samples):
        raise ValueError(f"make_graphed_callables: {len(given)} callables and {len(samples)} tuples of sample_args")
    for f, args in zip(given, samples, strict=True):
        if not isinstance(args, tuple) or not all(isinstance(leaf, _C.Tensor) for leaf in tree_flatten(args)[0]):
            raise TypeError("make_graphed_callables: sample_args must be a tuple of tensors for each callable")
        if isinstance(f, Module):
            _refuse_hooks(f)
    made = tuple(_graphed_module(f) if isinstance(f, Module) else tandem.compile(f) for f in given)
    return made if several else made[0]


def _refuse_hooks(module: Any) -> None:
    if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:
        raise RuntimeError(
            "Modules must not have hooks registered at the time they are passed. However, registering hooks on modules "
            "after passing them through make_graphed_callables is allowed."
        )


def _graphed_module(module: Any) -> Any:
    import tandem

    plain, planned, mode = module.forward, tandem.compile(module.forward), module.training

    @functools.wraps(plain)
    def forward(*args: Any, **kwargs: Any) -> Any:
        return (planned if module.training == mode else plain)(*args, **kwargs)

    module.forward = forward
    return module
