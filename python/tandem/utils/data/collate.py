"""How a loader makes one batch of a list of samples."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import tandem

__all__ = ["collate", "collate_tensor_fn", "default_collate", "default_collate_fn_map", "default_convert"]

#: Finds dtypes of arrays of strings and objects, by `dtype.str`: they become no tensors.
np_str_obj_array_pattern = re.compile(r"[SaUO]")


def default_collate(batch: list[Any]) -> Any:
    """A batch of a list of samples: tensors, arrays and numbers are stacked along a new first dim.

    Args:
        batch: samples of one kind; of tuples, lists and dicts each element is batched. Strings and bytes stay lists.

    Numbers become int64, float64 or bool tensors. TypeError for samples of another type, RuntimeError for lists of
    unequal lengths. What is in `default_collate_fn_map` decides for its classes.

    Example:
        >>> import tandem
        >>> x, y = tandem.utils.data.default_collate([(1.0, "a"), (2.0, "b")])
        >>> x.tolist(), y
        ([1.0, 2.0], ('a', 'b'))
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(
    batch: Any,
    *,
    collate_fn_map: dict[type | tuple[type, ...], Callable[..., Any]] | None = None,
) -> Any:
    """A batch of a list of samples, as functions for their classes say.

    Args:
        batch: samples of one kind; of tuples, lists and dicts each element is batched.
        collate_fn_map: for a class, or a tuple of classes, a function of a list of samples and `collate_fn_map` that
            makes their batch. The class of the first sample decides, before one that it derives from.

    TypeError for samples of a class that is neither in the map nor a container, RuntimeError for lists of unequal
    lengths.

    Example:
        >>> import tandem
        >>> from tandem.utils.data.collate import collate, default_collate_fn_map
        >>> rules = {**default_collate_fn_map, str: lambda batch, *, collate_fn_map: "".join(batch)}
        >>> collate([("a", 1), ("b", 2)], collate_fn_map=rules)
        ['ab', tensor([1, 2])]
    """
    first = batch[0]
    function = _function_for(type(first), collate_fn_map or {})
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    import numpy as np

    if isinstance(first, (np.ndarray, np.generic)):
        if first.dtype.kind not in "biuf":
            raise TypeError(f"default_collate: arrays of dtype {first.dtype} cannot become tensors")
        return tandem.from_numpy(np.stack(batch))

    def inner(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _mapping_like(first, {key: inner([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(inner(column) for column in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        collated = [inner(column) for column in zip(*batch, strict=True)]
        return collated if isinstance(first, tuple) else _sequence_like(first, collated)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


def _function_for(kind: type, functions: Mapping[Any, Callable[..., Any]]) -> Callable[..., Any] | None:
    """What makes a batch of samples of a class."""
    if kind in functions:
        return functions[kind]
    for known, function in functions.items():
        if issubclass(kind, known):
            return function
    return None


def collate_tensor_fn(batch: list[tandem.Tensor], *, collate_fn_map: Any = None) -> tandem.Tensor:
    """Tensors of one shape, stacked.

    >>> import tandem
    >>> tandem.utils.data.collate.collate_tensor_fn([tandem.zeros(2), tandem.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    return tandem.stack(tuple(batch), 0)


def _number(batch: Any, *, collate_fn_map: Any = None) -> tandem.Tensor:
    return tandem.tensor(batch, dtype=tandem.float64 if isinstance(batch[0], float) else None)


def _text(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


#: For classes of samples, what makes a batch of them; `default_collate` goes by it, whatever is added.
default_collate_fn_map: dict[type | tuple[type, ...], Callable[..., Any]] = {
    tandem.Tensor: collate_tensor_fn,
    float: _number,
    int: _number,
    str: _text,
    bytes: _text,
}


def default_convert(data: Any) -> Any:
    """What a loader without batches makes of one sample: arrays become tensors, containers element by element.

    Tuples become lists; strings, tensors and objects of other types stay what they are.

    >>> import tandem, numpy
    >>> tandem.utils.data.default_convert({"x": numpy.zeros(2, dtype=numpy.float32), "name": "a"})
    {'x': tensor([0., 0.]), 'name': 'a'}
    """
    import numpy as np

    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind in "biuf":
        return tandem.as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [default_convert(value) for value in data])
    return data


def _mapping_like(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """`values` as the type of `like`, with its other attributes where it can be changed; a dict if that fails."""
    if type(like) is dict:
        return values
    try:
        if isinstance(like, MutableMapping):
            clone = copy.copy(like)
            clone.update(values)
            return clone
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def _sequence_like(like: Sequence[Any], values: list[Any]) -> Any:
    """`values` as the type of `like`, with its other attributes where it can be changed; a list if that fails."""
    if type(like) is list:
        return values
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values
