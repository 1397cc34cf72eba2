"""How objects that are no plain values are pickled in files of `save`: their tensors stay members of the file."""

from __future__ import annotations

import io
import pickle
from functools import cache
from typing import Any

from tandem import Tensor
from tandem.nn.parameter import Buffer, Parameter, is_lazy

__all__ = ["pickled", "unpickled"]


@cache
def _classes(module: Any) -> tuple[Any, Any]:
    """Pickler and unpickler of a module like `pickle`, which have tensors in a list of their attribute `tensors`."""

    class Pickler(module.Pickler):
        def persistent_id(self, value: Any) -> int | None:
            if type(value) not in (Tensor, Parameter, Buffer) or is_lazy(value):
                return None
            self.tensors.append(value)
            return len(self.tensors) - 1

    class Unpickler(module.Unpickler):
        def persistent_load(self, number: int) -> Tensor:
            return self.tensors[number]

    return Pickler, Unpickler


def pickled(value: Any, path: str, module: Any = None) -> tuple[bytes, list[Tensor]]:
    """The pickle of an object, by `pickle` or a module like it, and the tensors that it names by their places."""
    file = io.BytesIO()
    pickler = _classes(module or pickle)[0](file)
    pickler.tensors = []
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

    unpickler = _classes(module or pickle)[1](io.BytesIO(data))
    unpickler.tensors = tensors
    return unpickler.load()
