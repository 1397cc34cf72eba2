"""Top-level functions that are written in Python: questions about objects, and forms that a record has no room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from tandem import _C

__all__ = [
    "broadcast_shapes",
    "is_complex",
    "is_floating_point",
    "is_storage",
    "is_tensor",
    "masked_select",
    "nonzero",
    "numel",
    "real",
    "scalar_tensor",
]

Tensor = _C.Tensor


def is_tensor(obj: Any) -> bool:
    """Is `obj` a tandem.Tensor, or an object of a subclass of it?

    >>> import tandem
    >>> tandem.is_tensor(tandem.zeros(2)), tandem.is_tensor([0.0, 0.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """The number of elements of a tensor: the product of its sizes, 1 for a 0-d tensor.

    >>> import tandem
    >>> tandem.numel(tandem.zeros(2, 3))
    6
    """
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Is the dtype of a tensor float16, bfloat16, float32 or float64?

    >>> import tandem
    >>> tandem.is_floating_point(tandem.tensor([1.0])), tandem.is_floating_point(tandem.tensor([1]))
    (True, False)
    """
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """False for every tensor: there are no complex dtypes.

    >>> import tandem
    >>> tandem.is_complex(tandem.zeros(2))
    False
    """
    return False


@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Tensor | tuple[Tensor, ...]:
    """The indices of the elements that are not zero, in row-major order.

    Args:
        input: a tensor of any dtype and n dims.
        as_tuple: False: an int64 tensor [number of such elements, n], a row each; True: its columns, a vector for each
            dim, with which `input` can be indexed.

    The size depends on the data, so a function that is being compiled cannot read it (DataReadError).

    >>> import tandem
    >>> tandem.nonzero(tandem.tensor([[0.0, 2.0], [3.0, 0.0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    if out is not None:
        return input.nonzero(as_tuple=as_tuple, out=out)  # type: ignore[call-overload]
    return input.nonzero(as_tuple=as_tuple)  # type: ignore[call-overload]


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` where `mask` holds, as a vector in row-major order.

    Args:
        input: a tensor of any dtype.
        mask: a bool tensor; both are broadcast to one shape.
        out: a tensor of the dtype of `input` that takes the result.

    Raises RuntimeError if `mask` is not bool or the shapes do not broadcast. The size depends on the data.

    >>> import tandem
    >>> x = tandem.tensor([1.0, -2.0, 3.0])
    >>> tandem.masked_select(x, x > 0)
    tensor([1., 3.])
    """
    return input.masked_select(mask, out=out)


def is_storage(obj: Any) -> bool:
    """False for every object: storages are not objects of their own.

    >>> import tandem
    >>> tandem.is_storage(tandem.zeros(2))
    False
    """
    return False


def broadcast_shapes(*shapes: int | Sequence[int]) -> Any:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        RuntimeError: they do not.

    >>> import tandem
    >>> tandem.broadcast_shapes((2, 1), (3,))
    tandem.Size([2, 3])
    """
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    rank = max(map(len, given), default=0)
    out = [1] * rank
    for shape in given:
        for i, size in enumerate(shape, start=rank - len(shape)):
            if size < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({size}): ({size})")
            if size not in (1, out[i]):
                if out[i] != 1:
                    raise RuntimeError(
                        f"Shape mismatch: objects cannot be broadcast to a single shape: {', '.join(map(str, given))}"
                    )
                out[i] = size
    return _C.Size(out)


def scalar_tensor(s: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of the default dtype (or `dtype`) that holds `s`.

    >>> import tandem
    >>> tandem.scalar_tensor(2)
    tensor(2.)
    """
    return _C.full((), s, dtype=dtype or _C.get_default_dtype(), device=device, requires_grad=requires_grad)


def real(input: Tensor) -> Tensor:
    """The real part: the tensor itself, since there are no complex dtypes.

    >>> import tandem
    >>> tandem.real(tandem.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    return input


def _assert(condition: Any, message: str) -> None:
    """An AssertionError with this message, unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def _check(cond: Any, message: Callable[[], object] | None = None) -> None:
    """A RuntimeError with what `message()` says, unless the condition holds."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        raise RuntimeError("Expected cond to be True, but got False." if message is None else str(message()))
