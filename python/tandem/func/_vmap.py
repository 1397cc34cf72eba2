"""`vmap`: a function of one example, run on all examples at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from tandem import _C
from tandem.random import default_generator
from tandem.utils._pytree import TreeSpec, broadcast_prefix, tree_flatten, tree_structure, tree_unflatten

__all__ = ["vmap"]

R = TypeVar("R")


def _name(func: Any) -> str:
    if hasattr(func, "__name__"):
        return func.__name__
    if isinstance(func, functools.partial):
        return f"functools.partial({_name(func.func)}, ...)"
    return repr(func)


def vmap(
    func: Callable[..., R],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., R]:
    """The function that maps `func` over a dim of its arguments, as one computation.

    `func` is written for one example; inside it tensors have the shape of one. Every operation runs once, on all
    examples. It may take derivatives (`grad`, `jacrev`, ...), and calls nest.

    Args:
        func: takes and returns tensors, or nested tuples, lists and dicts of them.
        in_dims: the dim of each argument to map over, or None for an argument that all examples share: an int, or a
            tuple with a structure like that of the arguments (a prefix of it suffices).
        out_dims: where the examples lie in each result, likewise.
        randomness: random numbers inside are an "error", "different" for each example, or the "same" for all.
        chunk_size: at most so many examples at a time; None means all.

    Raises:
        ValueError: in_dims or out_dims do not fit, sizes differ, or there is nothing to map over.
        RuntimeError: `func` reads values of a mapped tensor, or writes one into a tensor that is not mapped.

    >>> import tandem
    >>> x, y = tandem.ones(3, 4), tandem.ones(3, 4)
    >>> tandem.vmap(tandem.dot)(x, y)
    tensor([4., 4., 4.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(out_dims, func)
        size, dims, flat, spec = _read_arguments(func, in_dims, args)
        if chunk_size is None or chunk_size >= size:
            return _run(func, size, dims, flat, spec, out_dims, randomness, kwargs)
        parts = []
        drawn = default_generator.get_state() if randomness == "same" else None
        for start in range(0, size, chunk_size):
            if drawn is not None and start > 0:  # examples of all chunks see the same numbers
                default_generator.set_state(drawn)
            n = min(chunk_size, size - start)
            part = [a if d is None else a.narrow(d, start, n) for a, d in zip(flat, dims)]
            parts.append(_run(func, n, dims, part, spec, out_dims, randomness, kwargs))
        return _joined(parts, out_dims)

    return mapped


def _check_out_dims(out_dims: Any, func: Any) -> None:
    for leaf in tree_flatten(out_dims)[0]:
        if not isinstance(leaf, int) and leaf is not None:
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                f"collection of ints representing where in the outputs the vmapped dimension should appear."
            )


def _read_arguments(func: Any, in_dims: Any, args: Any) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    def call() -> str:
        return f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"

    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{call()}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            f"over a function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = broadcast_prefix(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{call()}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_structure(in_dims)} but inputs has structure {spec}."
        )
    sizes = []
    for i, (arg, dim) in enumerate(zip(flat, dims)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{call()}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(arg, _C.Tensor):
            raise ValueError(
                f"{call()}: Got in_dim={dim} for an input but the input is of type {type(arg)}. We cannot vmap over "
                f"non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -arg.dim() <= dim < arg.dim():
            raise ValueError(
                f"{call()}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {arg.dim()} "
                f"so expected in_dim to satisfy -{arg.dim()} <= in_dim < {arg.dim()}."
            )
        dims[i] = dim % arg.dim()
        sizes.append(arg.shape[dims[i]])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            f"mapped dimension"
        )
    return sizes[0], dims, flat, spec


def _run(func: Any, size: int, dims: Any, flat: Any, spec: TreeSpec, out_dims: Any, randomness: str,
         kwargs: Any) -> Any:  # fmt: skip
    axis = _C._vmap_enter(size, randomness)
    try:
        inside = [a if d is None else _C._batch_in(a, d, axis) for a, d in zip(flat, dims)]
        out = func(*tree_unflatten(inside, spec), **kwargs)
        return _outside(func, out, out_dims, axis, list(zip(inside, flat, dims)))
    finally:
        _C._vmap_exit()


def _outside(func: Any, out: Any, out_dims: Any, axis: int, given: list[tuple[Any, Any, Any]]) -> Any:
    """The results as they are outside; an argument that is returned as it was given is what the caller gave."""
    flat, spec = tree_flatten(out)
    if isinstance(out, _C.Tensor):
        single = out_dims if not isinstance(out_dims, tuple | list) else out_dims[0] if len(out_dims) == 1 else ...
        dims = None if single is ... else [single]
    else:
        dims = broadcast_prefix(out_dims, spec)
    name = _name(func)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_structure(out_dims)} but outputs has structure {spec}."
        )
    results = []
    for value, dim in zip(flat, dims):
        if dim is None:
            if isinstance(value, _C.Tensor) and axis in _C._batch_axes(value):
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
            results.append(value)
            continue
        if not isinstance(value, _C.Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set "
                f"out_dims= to None for output?"
            )
        place = dim + value.dim() + 1 if dim < 0 else dim
        same = [a for inside, a, d in given if inside is value and d == place]
        results.append(same[0] if same else _C._batch_out(value, dim, axis))
    return tree_unflatten(results, spec)


def _joined(parts: list[Any], out_dims: Any) -> Any:
    spec = tree_structure(parts[0])
    dims = broadcast_prefix(out_dims, spec)
    if dims is None:  # one tensor and out_dims in a tuple
        dims = [out_dims[0]]
    columns = zip(*(tree_flatten(p)[0] for p in parts))
    return tree_unflatten([c[0] if d is None else _C.cat(list(c), d) for c, d in zip(columns, dims)], spec)
