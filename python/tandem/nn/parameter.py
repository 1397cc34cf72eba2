"""`Parameter` and `Buffer`: the tensors that a `Module` finds by being assigned them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

import tandem
from tandem import _C
from tandem.types import Device

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]


class _Marking(type):
    """The type of Parameter and Buffer: tensors of other classes that have the mark of one are instances of it, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls in type(instance).__mro__:
            return True
        mark = _MARKS.get(cls)
        return mark is not None and _has_own_class(instance) and getattr(instance, mark, False)


def _has_own_class(data: Any) -> bool:
    """Is it of a subclass of Tensor that is neither that of parameters nor that of buffers?"""
    classes = type(data).__mro__
    of_tensor = classes[0] is not tandem.Tensor and tandem.Tensor in classes
    return of_tensor and Parameter not in classes and Buffer not in classes


def _marked(data: tandem.Tensor, requires_grad: bool, kind: type) -> Any:
    """`data` as a parameter or buffer that keeps its class; RuntimeError where that class's `detach` does not."""
    own = data.detach().requires_grad_(requires_grad)
    if type(own) is not type(data):
        raise RuntimeError(
            f"Creating a {kind.__name__} from an instance of type {type(data).__name__} requires that detach() returns "
            f"an instance of the same type, but return type {type(own).__name__} was found instead."
        )
    setattr(own, _MARKS[kind], True)
    return own


class Parameter(tandem.Tensor, metaclass=_Marking):
    """A tensor that a module registers as one of its parameters when it is assigned as an attribute.

    Args:
        data: values, of any shape; floating point if `requires_grad`. An empty tensor when left out. The parameter
            shares its storage. One of a subclass of Tensor keeps its class, and is an instance of `Parameter` beside.
        requires_grad: whether gradients are wanted. True by default.

    Example:
        >>> import tandem
        >>> p = tandem.nn.Parameter(tandem.zeros(2))
        >>> p.requires_grad
        True
    """

    # Operations on parameters give plain tensors.
    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data: tandem.Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = tandem.empty(0)
        if _has_own_class(data):
            return _marked(data, requires_grad, Parameter)
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


class Buffer(tandem.Tensor, metaclass=_Marking):
    """A tensor that a module registers as one of its buffers when it is assigned as an attribute.

    Args:
        data: values, of any shape and dtype. An empty tensor when left out. One of a subclass of Tensor keeps its
            class, and is an instance of `Buffer` beside.
        persistent: whether the buffer belongs to the module's `state_dict`.

    Example:
        >>> import tandem
        >>> m = tandem.nn.Module()
        >>> m.mean = tandem.nn.Buffer(tandem.zeros(3))
        >>> [name for name, _ in m.named_buffers()]
        ['mean']
    """

    persistent: bool
    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data: tandem.Tensor | None = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = tandem.empty(0)
        if _has_own_class(data):
            buffer = _marked(data, data.requires_grad, Buffer)
        else:
            buffer = tandem.Tensor._make_subclass(cls, data.detach(), data.requires_grad)
        buffer.persistent = persistent
        return buffer


_MARKS: dict[type, str] = {Parameter: "_is_param", Buffer: "_is_buffer"}

# What can be done with a tensor that has no shape yet; "__get__" and "__set__" are those of properties.
_NEED_NO_SHAPE = frozenset(
    """
    __get__ __set__ __hash__ __reduce_ex__ detach requires_grad_ is_floating_point is_complex get_device
    half float double bfloat16 to type cpu cuda char short int long share_memory_
    register_hook register_post_accumulate_grad_hook retain_grad
    """.split()
)


class _Uninitialized(tandem.Tensor):
    """A tensor without a shape yet: `materialize` gives it one and turns it into an ordinary one, the same object."""

    cls_to_become: ClassVar[type]

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name not in _NEED_NO_SHAPE:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {name or func}: a lazy module has no shapes, and so "
                "no numbers, before its first call"
            )
        return _C._disabled_torch_function_impl(func, types, args, kwargs or {})

    @property
    def shape(self) -> Any:
        """RuntimeError: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer: it has none before the first call of the "
            "lazy module, or before `materialize`"
        )

    def materialize(self, shape: Sequence[int], device: Device = None, dtype: tandem.dtype | None = None) -> None:
        """Take a shape, and device and dtype if given; the elements are uninitialised."""
        data = self.data
        device, dtype = data.device if device is None else device, data.dtype if dtype is None else dtype
        self.data = tandem.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        known = memo.get(id(self))
        if known is None:
            known = memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.dtype)
        return known

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.data.device, self.dtype)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter of a lazy module, whose shape the first input decides: `materialize(shape)` makes it a `Parameter`.

    Example:
        >>> import tandem
        >>> p = tandem.nn.UninitializedParameter()
        >>> p.materialize((2, 3))
        >>> type(p).__name__, p.shape
        ('Parameter', tandem.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Device = None, dtype: tandem.dtype | None = None) -> Self:
        return super().__new__(cls, tandem.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer of a lazy module, whose shape the first input decides: `materialize(shape)` makes it a `Buffer`.

    Example:
        >>> import tandem
        >>> b = tandem.nn.UninitializedBuffer(dtype=tandem.float64)
        >>> b.materialize((3,))
        >>> type(b).__name__, b.shape, b.dtype
        ('Buffer', tandem.Size([3]), tandem.float64)
    """

    cls_to_become = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        persistent: bool = True,
    ) -> Self:
        empty = tandem.empty(0, device=device, dtype=dtype).requires_grad_(requires_grad)
        return super().__new__(cls, empty, persistent=persistent)


def is_lazy(param: object) -> TypeGuard[_Uninitialized]:
    """Whether it is a parameter or buffer without a shape yet."""
    return isinstance(param, _Uninitialized)


def forget_gradient(param: tandem.Tensor, set_to_none: bool) -> None:
    """Set `param.grad` to None without looking at it, or fill it with zeros if there is one and not `set_to_none`."""
    if set_to_none:
        param.grad = None
    elif param.grad is not None:
        if param.grad.requires_grad:
            param.grad = param.grad.detach()
        param.grad.zero_()
