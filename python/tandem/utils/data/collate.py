"""How a loader makes one batch of a list of samples."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import tandem

__all__ = ["default_collate", "default_convert"]

#: Finds dtypes of arrays of strings and objects, by `dtype.str`: they become no tensors.
np_str_obj_array_pattern = re.compile(r"[SaUO]")


def default_collate(batch: list[Any]) -> Any:
    """A batch of a list of samples: tensors, arrays and numbers are stacked along a new first dim.

    Args:
        batch: samples of one kind; of tuples, lists and dicts each element is batched. Strings and bytes stay lists.

    Numbers become int64, float64 or bool tensors. TypeError for samples of another type, RuntimeError for lists of
    unequal lengths.

    Example:
        >>> import tandem
        >>> x, y = tandem.utils.data.default_collate([(1.0, "a"), (2.0, "b")])
        >>> x.tolist(), y
        ([1.0, 2.0], ('a', 'b'))
    """
    first = batch[0]
    if isinstance(first, tandem.Tensor):
        return tandem.stack(batch, 0)
    import numpy as np

    if isinstance(first, (np.ndarray, np.generic)):
        if first.dtype.kind not in "biuf":
            raise TypeError(f"default_collate: arrays of dtype {first.dtype} cannot become tensors")
        return tandem.from_numpy(np.stack(batch))
    if isinstance(first, (bool, int)):
        return tandem.tensor(batch)
    if isinstance(first, float):
        return tandem.tensor(batch, dtype=tandem.float64)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _mapping_like(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(list(column)) for column in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [list(column) for column in zip(*batch, strict=True)]
        collated = [tuple(c) if isinstance(c[0], (str, bytes)) else default_collate(c) for c in columns]
        return collated if isinstance(first, tuple) else _sequence_like(first, collated)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


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
