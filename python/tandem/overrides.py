"""`tandem.overrides`: classes that say themselves what operations on their objects do, by `__torch_function__`."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType
from typing import Any

from tandem import _C
from tandem._support import DisableTorchFunctionSubclass as _off

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Does the class of one of the arguments say what operations do?

    A subclass of Tensor does, unless its `__torch_function__` is `tandem._C._disabled_torch_function_impl`, as that of
    parameters is.

    >>> import tandem
    >>> class Logged(tandem.Tensor):
    ...     pass
    >>> x = tandem.ones(2)
    >>> tandem.overrides.has_torch_function((x,)), tandem.overrides.has_torch_function((x, x.as_subclass(Logged)))
    (False, True)
    """
    return bool(_C._has_torch_function(tuple(relevant_args)))


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument.

    >>> import tandem
    >>> tandem.overrides.has_torch_function_unary(tandem.ones(2))
    False
    """
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of several arguments.

    >>> import tandem
    >>> tandem.overrides.has_torch_function_variadic(tandem.ones(2), 3)
    False
    """
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the classes of `relevant_args` make of the call `public_api(*args, **kwargs)`; TypeError if none answers.

    A subclass is asked before its bases, else they are asked in order.

    >>> import tandem
    >>> class Named:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__
    >>> def double(x):
    ...     if tandem.overrides.has_torch_function((x,)):
    ...         return tandem.overrides.handle_torch_function(double, (x,), x)
    ...     return x * 2
    >>> double(Named()), double(3)
    ('double', 6)
    """
    name = resolve_name(public_api) or repr(public_api)
    return _C._handle_torch_function(public_api, name, tuple(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions: the classes of what `dispatcher` picks from the arguments are asked first.

    >>> import tandem
    >>> @tandem.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return x * 2
    >>> double(3)
    6
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return asking

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Is it a tensor, or of a class with a `__torch_function__`?

    >>> import tandem
    >>> tandem.overrides.is_tensor_like(tandem.ones(1)), tandem.overrides.is_tensor_like(1)
    (True, False)
    """
    return type(inp) is _C.Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Is it a method of Tensor, or the getter of one of its properties?

    >>> import tandem
    >>> is_one = tandem.overrides.is_tensor_method_or_property
    >>> is_one(tandem.Tensor.add), is_one(tandem.Tensor.T.__get__), is_one(tandem.add)
    (True, True, False)
    """
    name = getattr(func, "__name__", "")
    return name == "__get__" or getattr(_C.Tensor, name, None) is func


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Properties whose tensors keep the class that they have.

    >>> import tandem
    >>> tandem.Tensor.grad.__get__ in tandem.overrides.get_default_nowrap_functions()
    True
    """
    return {_C.Tensor._base.__get__, _C.Tensor.grad.__get__}  # type: ignore[union-attr]


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that modes and classes are asked about, by what has them; of properties the getters.

    >>> import tandem
    >>> functions = tandem.overrides.get_overridable_functions()
    >>> tandem.add in functions[tandem], tandem.Tensor.shape.__get__ in functions[tandem.Tensor]
    (True, True)
    """
    import tandem

    found: dict[Any, list[Callable[..., Any]]] = {}
    for owner in (tandem, tandem.nn.functional, tandem.linalg, tandem.special):
        named = {n: f for n, f in vars(owner).items() if not n.startswith("_") and isinstance(f, BuiltinFunctionType)}
        found[owner] = list(named.values())
    unasked = ("__new__", "__hash__", "__torch_function__", "as_subclass")
    public = [(n, a) for n, a in vars(_C.Tensor).items() if not n.startswith("_") or n.endswith("__")]
    attributes = [(n, a) for n, a in public if n not in unasked]
    found[_C.Tensor] = [a for _, a in attributes if callable(a) and not isinstance(a, type)]
    found[_C.Tensor] += [a.__get__ for n, a in attributes if isinstance(a, GetSetDescriptorType) and n != "__dict__"]
    return found


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that modes and classes are asked about, one that takes anything and gives -1.

    >>> import tandem
    >>> tandem.overrides.get_testing_overrides()[tandem.add](tandem.ones(2), 1)
    -1
    """
    return {f: lambda *args, **kwargs: -1 for functions in get_overridable_functions().values() for f in functions}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Functions of the package itself that nobody is asked about: those that are written in Python.

    >>> import tandem
    >>> tandem.is_tensor in tandem.overrides.get_ignored_functions()
    True
    """
    import tandem

    return {f for n, f in vars(tandem).items() if not n.startswith("_") and isinstance(f, FunctionType)}


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A block like any other: what a class or mode calls is asked about as usual.

    >>> import tandem
    >>> with tandem.overrides.enable_reentrant_dispatch():
    ...     tandem.ones(1)
    tensor([1.])
    """
    yield


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name of an operation as users write it.

    >>> import tandem
    >>> tandem.overrides.resolve_name(tandem.Tensor.add), tandem.overrides.resolve_name(tandem.add)
    ('tandem.Tensor.add', 'tandem.add')
    """
    name = getattr(f, "__name__", None)
    if name is None:
        return None
    root = _C._package_name()
    if name == "__get__":
        return f"{root}.Tensor.{f.__self__.__name__}.__get__"  # type: ignore[attr-defined]
    if is_tensor_method_or_property(f):
        return f"{root}.Tensor.{name}"
    return f"{root}.{name}" if getattr(_C, name, None) is f else name


class TorchFunctionMode:
    """A block in which an object is asked about every operation: its `__torch_function__(func, types, args, kwargs)`
    says what the operation gives.

    Modes nest: the innermost is asked first, and what it calls goes to the next one out, then to the classes of the
    arguments. Compiled functions run their bodies, recorded by no plan, while a mode is active.

    >>> import tandem
    >>> class Names(tandem.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = tandem.ones(2) * 3
    ones
    mul
    """

    def __init__(self) -> None:
        """Nothing to set up."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_function__")

    def __enter__(self) -> Any:
        if getattr(self.__torch_function__, "__self__", self) is type(self):
            raise RuntimeError(
                "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain "
                "method"
            )
        _C._push_mode(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _C._pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """The mode itself: an older form of `with Mode(...)`."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that runs every operation as it is: to derive from.

    >>> import tandem
    >>> with tandem.overrides.BaseTorchFunctionMode():
    ...     tandem.ones(2).sum().item()
    2.0
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class DisableTorchFunction(_off):
    """Operations in the block ask neither classes nor modes."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes = [_C._pop_mode() for _ in _C._modes()]

    def __exit__(self, *exc: object) -> None:
        for mode in reversed(self._modes):
            _C._push_mode(mode)
        super().__exit__(*exc)


def _push_mode(mode: TorchFunctionMode) -> None:
    _C._push_mode(mode)


def _pop_mode() -> TorchFunctionMode:
    return _C._pop_mode()


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[TorchFunctionMode]:
    mode = _C._pop_mode()
    try:
        yield mode
    finally:
        _C._push_mode(mode)


def _len_torch_function_stack() -> int:
    return len(_C._modes())


def _get_current_function_mode() -> TorchFunctionMode | None:
    modes = _C._modes()
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return _C._modes()


_C.DisableTorchFunctionSubclass = _off
_C.DisableTorchFunction = DisableTorchFunction
