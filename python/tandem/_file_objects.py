"""How objects that are no plain values are pickled in files of `save`: their tensors stay members of the file."""

from __future__ import annotations

import io
import pickle
from typing import Any

from tandem import Tensor
from tandem.nn.parameter import Buffer, Parameter, is_lazy

__all__ = ["pickled", "unpickled"]


def _pickler(module: Any, file: io.BytesIO) -> Any:
    """A pickler of the module, which leaves tensors to the list of its attribute `tensors`."""

    class Pickler(module.Pickler):
        def persistent_id(self, value: Any) -> int | None:
            if type(value) not in (Tensor, Parameter, Buffer) or is_lazy(value):
                return None
            self.tensors.append(value)
            return len(self.tensors) - 1

    made = Pickler(file)
    made.tensors = []
    return made


def pickled(value: Any, path: str, module: Any = None) -> tuple[bytes, list[Tensor]]:
    """The pickle of an object, by `pickle` or a module like it, and the tensors that it names by their places."""
    file = io.BytesIO()
    pickler = _pickler(module or pickle, file)
    try:
        pickler.dump(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"save: {path or 'the object'}: cannot save a {type(value).__name__}, which has no pickle ({error}); save "
            "dicts, lists, tuples, numbers, strings and tensors, and of a module or an optimizer its state_dict()"
        ) from None
    return file.getvalue(), pickler.tensors


def unpickled(data: bytes, tensors: list[Tensor], module: Any = None) -> Any:
    """The object of a pickle that the caller trusts, made by `pickle` or a module like it."""

    class Unpickler((module or pickle).Unpickler):  # type: ignore[misc]
        def persistent_load(self, number: int) -> Tensor:
            return tensors[number]

    return Unpickler(io.BytesIO(data)).load()
