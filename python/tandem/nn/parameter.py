"""`Parameter` and `Buffer`: the tensors that a `Module` finds by being assigned them."""

from __future__ import annotations

from typing import Any

import tandem

__all__ = ["Buffer", "Parameter"]


class Parameter(tandem.Tensor):
    """A tensor that a module registers as one of its parameters when it is assigned as an attribute.

    Args:
        data: values, of any shape; floating point if `requires_grad`. An empty tensor when left out. The parameter
            shares its storage.
        requires_grad: whether gradients are wanted. True by default.

    Example:
        >>> import tandem
        >>> p = tandem.nn.Parameter(tandem.zeros(2))
        >>> p.requires_grad
        True
    """

    def __new__(cls, data: tandem.Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = tandem.empty(0)
        return tandem.Tensor._make_subclass(cls, data, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        known = memo.get(id(self))
        if known is not None:
            return known
        copied = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = copied
        return copied


class Buffer(tandem.Tensor):
    """A tensor that a module registers as one of its buffers when it is assigned as an attribute.

    Args:
        data: values, of any shape and dtype. An empty tensor when left out.
        persistent: whether the buffer belongs to the module's `state_dict`.

    Example:
        >>> import tandem
        >>> m = tandem.nn.Module()
        >>> m.mean = tandem.nn.Buffer(tandem.zeros(3))
        >>> [name for name, _ in m.named_buffers()]
        ['mean']
    """

    def __new__(cls, data: tandem.Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = tandem.empty(0)
        buffer = tandem.Tensor._make_subclass(cls, data.detach(), data.requires_grad)
        buffer.persistent = persistent
        return buffer
