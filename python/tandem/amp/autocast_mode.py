"""`autocast`: the operation, not its arguments, says which precision it runs in (`mixedPrecision` in ir/facets.td)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from tandem import _C

__all__ = [
    "autocast",
    "autocast_decorator",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]

F = TypeVar("F", bound=Callable[..., Any])

_DEFAULTS = {"cpu": _C.bfloat16, "cuda": _C.float16}
_LOW = (_C.bfloat16, _C.float16)


def is_autocast_available(device_type: str) -> bool:
    """Is there mixed precision for devices of this type? True for "cpu" and "cuda".

    >>> import tandem
    >>> tandem.amp.is_autocast_available("cpu"), tandem.amp.is_autocast_available("xla")
    (True, False)
    """
    return device_type in _DEFAULTS


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Is this code inside an enabled `autocast` block?

    Args:
        device_type: "cpu", "cuda", or None for any device.

    >>> import tandem
    >>> with tandem.autocast("cpu"):
    ...     tandem.is_autocast_enabled("cpu"), tandem.is_autocast_enabled("cuda")
    (True, False)
    """
    on_cpu, _, _, on_gpu, _ = _C._autocast_get()
    if device_type is None:
        return bool(on_cpu or on_gpu)
    return bool(on_cpu if device_type == "cpu" else on_gpu and device_type == "cuda")


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled("cpu")`, its older spelling.

    >>> import tandem
    >>> tandem.is_autocast_cpu_enabled()
    False
    """
    return _C._autocast_get()[0]


def is_autocast_cache_enabled() -> bool:
    """Are parameters converted once only, until the outermost `autocast` block ends?

    >>> import tandem
    >>> with tandem.autocast("cpu", cache_enabled=False):
    ...     tandem.is_autocast_cache_enabled()
    False
    """
    return _C._autocast_get()[2]


def get_autocast_dtype(device_type: str) -> _C.dtype:
    """The dtype that `autocast` converts to on devices of this type: at first bfloat16 for "cpu", float16 for "cuda".

    RuntimeError for a type of device without mixed precision.

    >>> import tandem
    >>> tandem.get_autocast_dtype("cpu")
    tandem.bfloat16
    """
    if not is_autocast_available(device_type):
        raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
    return _C._autocast_get()[1 if device_type == "cpu" else 4]


def get_autocast_cpu_dtype() -> _C.dtype:
    """`get_autocast_dtype("cpu")`, its older spelling.

    >>> import tandem
    >>> with tandem.autocast("cpu", dtype=tandem.float16):
    ...     tandem.get_autocast_cpu_dtype()
    tandem.float16
    """
    return _C._autocast_get()[1]


def get_autocast_gpu_dtype() -> _C.dtype:
    """`get_autocast_dtype("cuda")`, its older spelling.

    >>> import tandem
    >>> tandem.get_autocast_gpu_dtype()
    tandem.float16
    """
    return _C._autocast_get()[4]


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Turn mixed precision on or off for what follows; a block of `autocast` does so for its extent alone.

    Args:
        device_type: "cpu" or "cuda"; for others nothing happens. A bool alone is the older form, about "cuda".
        enabled: on or off.

    >>> import tandem
    >>> tandem.set_autocast_enabled("cpu", True)
    >>> tandem.mm(tandem.ones(1, 1), tandem.ones(1, 1)).dtype
    tandem.bfloat16
    >>> tandem.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", bool(device_type)
    if device_type in _DEFAULTS:
        _set(str(device_type), bool(enabled), get_autocast_dtype(str(device_type)))


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled("cpu", enabled)`, its older spelling.

    >>> import tandem
    >>> tandem.set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: _C.dtype) -> None:
    """`set_autocast_dtype("cpu", dtype)`, its older spelling.

    >>> import tandem
    >>> tandem.set_autocast_cpu_dtype(tandem.bfloat16)
    """
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: _C.dtype) -> None:
    """`set_autocast_dtype("cuda", dtype)`, its older spelling.

    >>> import tandem
    >>> tandem.set_autocast_gpu_dtype(tandem.float16)
    """
    set_autocast_dtype("cuda", dtype)


def set_autocast_dtype(device_type: str, dtype: _C.dtype) -> None:
    """Set the dtype that `autocast` converts to where none is given.

    Args:
        device_type: "cpu" or "cuda"; for others nothing happens.
        dtype: bfloat16 or float16.

    >>> import tandem
    >>> tandem.set_autocast_dtype("cpu", tandem.float16)
    >>> tandem.get_autocast_dtype("cpu")
    tandem.float16
    >>> tandem.set_autocast_dtype("cpu", tandem.bfloat16)
    """
    if device_type in _DEFAULTS:
        _set(device_type, is_autocast_enabled(device_type), dtype)


def _set(device_type: str, enabled: bool, dtype: _C.dtype, keep: bool | None = None) -> None:
    cpu, cpu_dtype, kept, gpu, gpu_dtype = _C._autocast_get()
    keep = kept if keep is None else keep
    if device_type == "cpu":
        _C._autocast_set(enabled, dtype, keep, gpu, gpu_dtype)
    else:
        _C._autocast_set(cpu, cpu_dtype, keep, enabled, dtype)


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether parameters are converted once only, until the outermost `autocast` block ends.

    >>> import tandem
    >>> tandem.set_autocast_cache_enabled(False)
    >>> tandem.is_autocast_cache_enabled()
    False
    >>> tandem.set_autocast_cache_enabled(True)
    """
    cpu, cpu_dtype, _, gpu, gpu_dtype = _C._autocast_get()
    _C._autocast_set(cpu, cpu_dtype, bool(enabled), gpu, gpu_dtype)


def clear_autocast_cache() -> None:
    """Forget the converted parameters: the next use of each converts it again.

    >>> import tandem
    >>> with tandem.autocast("cpu"):
    ...     tandem.clear_autocast_cache()
    """
    _C._autocast_clear()


def autocast_increment_nesting() -> int:
    """Begin a scope of the cache of converted parameters; returns how many there are.

    >>> import tandem
    >>> tandem.autocast_increment_nesting(), tandem.autocast_decrement_nesting()
    (1, 0)
    """
    return _C._autocast_enter()


def autocast_decrement_nesting() -> int:
    """End a scope of the cache; returns how many are left. With the last one, `clear_autocast_cache` is due.

    >>> import tandem
    >>> tandem.autocast_increment_nesting(), tandem.autocast_decrement_nesting()
    (1, 0)
    """
    return _C._autocast_exit()


def autocast_decorator(autocast_instance: autocast, func: F) -> F:
    """`func`, its calls inside the block `autocast_instance`; a decorated function may call itself.

    >>> import tandem
    >>> from tandem.amp.autocast_mode import autocast_decorator
    >>> low = autocast_decorator(tandem.autocast("cpu"), tandem.mm)
    >>> low(tandem.ones(1, 1), tandem.ones(1, 1)).dtype
    tandem.bfloat16
    """

    @functools.wraps(func)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return cast(F, inside)


class autocast:
    """A block (or the calls of a function it decorates) in mixed precision.

    Products and convolutions convert float32 arguments to `dtype` and give results in it; operations that lose too
    much by it convert to float32; `cat` and `stack` to the widest of their arguments. float64 stays. Conversions are
    part of the graph, so gradients arrive in the dtypes of the parameters.

    Args:
        device_type: "cpu" or "cuda": operations on other devices stay as they are. "cuda" without a GPU warns and does
            nothing.
        dtype: bfloat16 (the default of "cpu") or float16 (that of "cuda").
        enabled: False makes the block a plain one, also inside another.
        cache_enabled: convert each parameter once only until the outermost block ends.

    Raises:
        ValueError: `device_type` is not a string.
        RuntimeError: a type of device without mixed precision.

    >>> import tandem
    >>> layer = tandem.nn.Linear(2, 2)
    >>> with tandem.autocast("cpu", dtype=tandem.bfloat16):
    ...     layer(tandem.ones(1, 2)).dtype
    tandem.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: _C.dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        if dtype is None:
            dtype = get_autocast_dtype(device_type)
        self.fast_dtype = dtype
        if enabled and device_type == "cuda" and not _C._device_count("cuda"):
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and dtype not in _LOW:
            kind = device_type.upper()
            warnings.warn(
                f"In {kind} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{kind} Autocast only supports dtype of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._cache_enabled = cache_enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        before = _C._autocast_get()
        self._before.append(before)
        _C._autocast_enter()
        keep = before[2] if self._cache_enabled is None else self._cache_enabled
        _set(self.device, self._enabled, self.fast_dtype if self._enabled else get_autocast_dtype(self.device), keep)
        return self

    def __exit__(self, *exc: object) -> None:
        _C._autocast_exit()
        _C._autocast_set(*self._before.pop())

    def __call__(self, func: F) -> F:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as "
                f"a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                f"        output = model(input)"
            )
        return autocast_decorator(self, func)


@overload
def custom_fwd(fwd: F, *, device_type: str, cast_inputs: _C.dtype | None = None) -> F: ...
@overload
def custom_fwd(fwd: None = None, *, device_type: str, cast_inputs: _C.dtype | None = None) -> Callable[[F], F]: ...
def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: _C.dtype | None = None) -> Any:
    """Decorates the forward of a Function for use under autocast.

    Args:
        fwd: the forward.
        device_type: "cpu" or "cuda".
        cast_inputs: under autocast, convert floating arguments (float64 apart) to this dtype and run the forward
            without autocast; None runs it under autocast as it is.

    >>> import tandem
    >>> class Product(tandem.autograd.Function):
    ...     @staticmethod
    ...     @tandem.amp.custom_fwd(device_type="cpu", cast_inputs=tandem.float32)
    ...     def forward(ctx, a, b):
    ...         return a @ b
    >>> with tandem.autocast("cpu"):
    ...     Product.apply(tandem.ones(1, 1), tandem.ones(1, 1)).dtype
    tandem.float32
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        enabled = is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), enabled
        if cast_inputs is None or not enabled:
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        cast = functools.partial(_cast, dtype=cast_inputs)
        with autocast(device_type, enabled=False):
            from tandem.utils._pytree import tree_map

            return fwd(ctx, *tree_map(cast, args), **tree_map(cast, kwargs))

    return decorated


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, _C.Tensor) and value.is_floating_point() and value.dtype is not _C.float64:
        return value.to(dtype)
    return value


@overload
def custom_bwd(bwd: F, *, device_type: str) -> F: ...
@overload
def custom_bwd(bwd: None = None, *, device_type: str) -> Callable[[F], F]: ...
def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates the backward of a Function: it runs under autocast exactly if its forward did.

    Args:
        bwd: the backward of a Function whose forward is decorated with `custom_fwd`.
        device_type: "cpu" or "cuda".

    >>> import tandem
    >>> class Double(tandem.autograd.Function):
    ...     @staticmethod
    ...     @tandem.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @tandem.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = tandem.ones(1, requires_grad=True)
    >>> Double.apply(x).backward(); x.grad
    tensor([2.])
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return decorated
