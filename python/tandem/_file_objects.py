"""How objects that are no plain values are pickled in files of `save`: their tensors stay members of the file."""

from __future__ import annotations

import io
import pickle
from typing import Any

from tandem import Tensor
from tandem.nn.parameter import Buffer, Parameter, is_lazy

__all__ = ["ObjectUnpickler", "pickled"]


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.tensors: list[Tensor] = []

    def persistent_id(self, value: Any) -> int | None:
        if type(value) not in (Tensor, Parameter, Buffer) or is_lazy(value):
            return None
        self.tensors.append(value)
        return len(self.tensors) - 1


def pickled(value: Any, path: str) -> tuple[bytes, list[Tensor]]:
    """The pickle of an object, and the tensors that it names by their places in the list."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"save: {path or 'the object'}: cannot save a {type(value).__name__}, which has no pickle ({error}); save "
            "dicts, lists, tuples, numbers, strings and tensors, and of a module or an optimizer its state_dict()"
        ) from None
    return file.getvalue(), pickler.tensors


class ObjectUnpickler(pickle.Unpickler):
    """Makes an object of a file that the caller trusts."""

    def __init__(self, data: bytes, tensors: list[Tensor]) -> None:
        super().__init__(io.BytesIO(data))
        self.tensors = tensors

    def persistent_load(self, number: int) -> Tensor:
        return self.tensors[number]
