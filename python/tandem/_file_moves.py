"""Where `tandem.load` puts the tensors of a file: each one is moved once, and stays shared by all that hold it."""

from __future__ import annotations

from typing import Any

import tandem
from tandem import Tensor
from tandem._support import check_place

__all__ = ["Mover", "default_restore_location", "move_all"]


def default_restore_location(storage: Any, location: Any) -> Any:
    """What a function given as `map_location` got, on a device: what `load` itself does.

    Args:
        storage: the tensor that the function was called with.
        location: a device or its name.

    RuntimeError for a device that is not there.

    >>> import io, tandem
    >>> from tandem.serialization import default_restore_location
    >>> file = io.BytesIO()
    >>> tandem.save(tandem.ones(2), file)
    >>> _ = file.seek(0)
    >>> tandem.load(file, map_location=lambda storage, place: default_restore_location(storage, "meta")).is_meta
    True
    """
    return storage.to(device=tandem.device(location))


class Mover:
    """Takes tensors that were read where `map_location` says; those that share memory share it there, too.

    `places` has the devices that tensors were on, by their ids, where that is not the CPU.
    """

    def __init__(self, places: dict[int, tuple[Tensor, str]], location: Any) -> None:
        self.places, self.location = places, location
        self.storages: dict[Any, Tensor] = {}
        self.known: dict[int, tuple[Tensor, Tensor]] = {}  # by the id of a tensor, which is kept

    def __call__(self, tensor: Tensor) -> Tensor:
        if tensor.is_meta or (self.location is None and id(tensor) not in self.places):
            return tensor
        if id(tensor) not in self.known:
            moved = self._placed(tensor)
            if moved is not tensor:
                if type(tensor) is not Tensor:
                    moved = Tensor._make_subclass(type(tensor), moved, tensor.requires_grad)
                moved.__dict__.update(tensor.__dict__)
            self.known[id(tensor)] = tensor, moved
        return self.known[id(tensor)][1]

    def _placed(self, tensor: Tensor) -> Tensor:
        place = self.places.get(id(tensor), (tensor, "cpu"))[1]
        location = self.location
        if callable(location):
            answer = location(tensor, place)
            return self._to(tensor, place) if answer is None else answer
        if isinstance(location, dict):
            named = location.get(place, place)
            location = location.get(tandem.device(place), named) if named is place else named
        return self._to(tensor, place if location is None else location)

    def _to(self, tensor: Tensor, place: Any) -> Tensor:
        if isinstance(place, str) and place != "cpu" and self.location is None:
            check_place(place)
        device = place if isinstance(place, tandem.device) else tandem.device(place)
        if device.type == "cpu" or tensor.numel() == 0:
            return tensor.to(device=device)
        plain = tensor.detach()
        start = plain.data_ptr() - plain.storage_offset() * plain.element_size()
        key = (start, plain.dtype, str(device))
        if key not in self.storages:
            elements = plain._storage_bytes() // plain.element_size()
            self.storages[key] = plain.as_strided((elements,), (1,), 0).to(device=device)
        there = self.storages[key].as_strided(plain.shape, plain.stride(), plain.storage_offset())
        return there.requires_grad_(tensor.requires_grad)


def move_all(value: Any, move: Mover, seen: dict[int, tuple[Any, Any]] | None = None) -> Any:
    """`value` with its tensors moved: in place in dicts and lists, tuples made anew where a tensor of theirs moved."""
    if isinstance(value, Tensor):
        return move(value)
    if not isinstance(value, (dict, list, tuple)):
        return value
    seen = {} if seen is None else seen
    if id(value) in seen:
        return seen[id(value)][1]
    if isinstance(value, tuple):
        items = [move_all(item, move, seen) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        result = value if same else _tuple_like(value, items)
        seen[id(value)] = value, result
        return result
    seen[id(value)] = value, value
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        moved = move_all(item, move, seen)
        if moved is not item:
            value[key] = moved
    return value


def _tuple_like(like: Any, items: list[Any]) -> Any:
    """A tuple of the type of `like`, whatever its constructor takes."""
    kind = type(like)
    return kind(items) if hasattr(kind, "n_sequence_fields") else tuple.__new__(kind, items)
