"""The part of `Module` that converts and moves what it holds: `to`, the dtypes, the devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, overload

import tandem
from tandem import __future__
from tandem._dtypes import dtype_of
from tandem.nn.parameter import Parameter, is_lazy
from tandem.types import Device

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ConversionMethods"]


def type_name(value: object) -> str:
    """The name of the class of `value` for error texts, with its module unless that is a builtin's."""
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, the dtype, whether not to wait, and the memory format in arguments of `to`; None where open."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    late = bool(kwargs.pop("non_blocking", False)) or any(arg is True for arg in args)
    memory_format = kwargs.pop("memory_format", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    for i, arg in enumerate(args):
        if isinstance(arg, bool):
            # The last one: after a device and a dtype, a dtype, or a tensor.
            if i != 2 and not (i == 1 and isinstance(args[0], (tandem.dtype, tandem.Tensor))):
                raise TypeError(f"to() received an invalid combination of arguments: a bool as number {i + 1}")
        elif isinstance(arg, tandem.Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(dtype_of(arg), tandem.dtype):
            dtype = arg
        elif isinstance(arg, (str, int, tandem.device)):
            device = arg
        elif arg is not None:
            raise TypeError(f"to() received an invalid argument of type {type_name(arg)}")
    if isinstance(device, str):
        device = tandem.device(device)
    dtype = dtype_of(dtype)
    return device, dtype, late, memory_format


def _swap(tensor: tandem.Tensor, other: tandem.Tensor, name: str) -> None:
    try:
        tandem.utils.swap_tensors(tensor, other)
    except RuntimeError as error:
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error


class ConversionMethods:
    """Conversions of a module; `Module` derives from it and holds the dicts and the children.

    All change the module itself and return it. Parameters stay the same objects, but for those that come from the
    device "meta" or go there, which are new ones (and see `tandem.__future__`).

    Example:
        >>> import tandem
        >>> net = tandem.nn.Sequential(tandem.nn.Linear(2, 2))
        >>> net.double()[0].weight.dtype, net.to(tandem.bfloat16)[0].weight.dtype
        (tandem.float64, tandem.bfloat16)
    """

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, tandem.Tensor | None]
    children: Callable[[], Iterator[Any]]

    def _apply(self, fn: Callable[[tandem.Tensor], tandem.Tensor], recurse: bool = True) -> Self:
        """Replace the values of parameters, their gradients and buffers by `fn` of them; parameters keep identity,
        unless `__future__` says otherwise or they come from "meta" or go there."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            with tandem.no_grad():
                grad, data = param.grad, fn(param)
                if data is param:
                    pass  # changed in place
                elif __future__.get_swap_module_params_on_conversion():
                    _swap(param, Parameter(data, param.requires_grad), f"{type(self).__name__}.{name}")
                elif __future__.get_overwrite_module_params_on_conversion() or (
                    data.is_meta != param.is_meta and not is_lazy(param)
                ):
                    param = self._parameters[name] = Parameter(data, param.requires_grad)
                else:
                    param.data = data
                if grad is not None:
                    converted = fn(grad)
                    if converted is grad:
                        continue
                    converted.requires_grad_(grad.requires_grad)
                    if __future__.get_swap_module_params_on_conversion():
                        _swap(grad, converted, f"{type(self).__name__}.{name}.grad")
                        converted = grad
                    param.grad = converted
        for name, buffer in self._buffers.items():
            if buffer is None:
                continue
            new = fn(buffer)
            # One without a shape stays one.
            lazy = is_lazy(buffer) and not is_lazy(new)
            self._buffers[name] = type(buffer)(new.requires_grad, new.device, new.dtype) if lazy else new
        return self

    @overload
    def to(self, device: Device = ..., dtype: tandem.dtype | None = ..., non_blocking: bool = ...) -> Self: ...
    @overload
    def to(self, dtype: tandem.dtype, non_blocking: bool = ...) -> Self: ...
    @overload
    def to(self, tensor: tandem.Tensor, non_blocking: bool = ...) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, a floating dtype, or those of a tensor: `to(device, dtype)`, `to(dtype)`, `to(tensor)`.

        Integer and boolean tensors keep their dtype. `memory_format` gives parameters and buffers of four or five dims
        its strides. The module itself is changed and returned. TypeError for a dtype that is not floating.

        Example:
            >>> import tandem
            >>> tandem.nn.Linear(2, 2).to(tandem.float64).weight.dtype
            tandem.float64
        """
        if kwargs.pop("copy", False):
            raise RuntimeError("to() of a module does not accept copy argument")
        device, dtype, late, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={dtype}")

        def convert(t: tandem.Tensor) -> tandem.Tensor:
            if t.is_meta and device is not None and tandem.device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use tandem.nn.Module.to_empty() instead of "
                    "tandem.nn.Module.to() when moving module from meta to a different device."
                )
            if device is not None:
                t = t.to(device=device, non_blocking=late)
            if memory_format is not None and t.dim() in (4, 5):
                t = t.to(memory_format=memory_format)
            return t.to(dtype=dtype) if dtype is not None and t.is_floating_point() else t

        return self._apply(convert)

    def _to_floating(self, dtype: tandem.dtype) -> Self:
        return self._apply(lambda t: t.to(dtype=dtype) if t.is_floating_point() else t)

    def type(self, dst_type: tandem.dtype) -> Self:
        """Convert all parameters and buffers to `dst_type`."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self._to_floating(tandem.float32)

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self._to_floating(tandem.float64)

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self._to_floating(tandem.float16)

    def bfloat16(self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self._to_floating(tandem.bfloat16)

    def to_empty(self, *, device: Device = None, recurse: bool = True) -> Self:
        """Move to a device without copying: all values are uninitialised afterwards."""
        return self._apply(lambda t: tandem.empty_like(t, device=device), recurse=recurse)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Device = None) -> Self:
        """Move to a GPU; the tensors' own clear error where there is none."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: Device = None) -> Self:
        """RuntimeError where there is a tensor: this build has no devices of that kind."""
        return self._apply(lambda t: t.xpu(device))

    def ipu(self, device: Device = None) -> Self:
        """RuntimeError where there is a tensor: this build has no devices of that kind."""
        return self._apply(lambda t: t.ipu(device))

    def mtia(self, device: Device = None) -> Self:
        """RuntimeError where there is a tensor: this build has no devices of that kind."""
        return self._apply(lambda t: t.mtia(device))

    def share_memory(self) -> Self:
        """The module itself: other processes get copies of what they are sent, as of `Tensor.share_memory_`."""
        return self._apply(lambda t: t.share_memory_())
