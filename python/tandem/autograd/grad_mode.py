"""Modes in which operations get a history or none: context managers that are decorators too."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from tandem import _C

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    """A block, or the calls of a function that it decorates."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def again(self) -> _Mode:
        """A new block of the same mode: decorated functions may be entered again while they run."""
        return type(self)()

    def clone(self) -> Any:
        """A new block of the same mode."""
        return self.again()

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated: only what they do when they are called is in the block. Decorate "
                "functions and methods instead.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return cast(F, self._generator(function))

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return function(*args, **kwargs)

        return cast(F, inside)

    def _generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # The mode holds while the generator runs, not while its caller does.
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume: Callable[[Any], Any] = generator.send
            given: Any = None
            while True:
                try:
                    with self.again():
                        value = resume(given)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, given = generator.send, (yield value)
                except GeneratorExit:
                    with self.again():
                        generator.close()
                    raise
                except BaseException as thrown:
                    resume, given = generator.throw, thrown

        return inside


class _GradMode(_Mode):
    _on = False

    @overload
    def __new__(cls, function: None = None) -> Self: ...
    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        # `@no_grad` without parentheses.
        mode = super().__new__(cls)
        return mode if function is None else mode(function)

    def __enter__(self) -> None:
        self._before = _C.is_grad_enabled()
        _C._set_grad_enabled(self._on)

    def __exit__(self, *exc: object) -> None:
        _C._set_grad_enabled(self._before)


class no_grad(_GradMode):
    """Operations in the block get no history, whatever their operands; also a decorator, of functions and generators.

    It holds for the thread that enters it. Tensors made with `requires_grad=True` in it still require a gradient.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True)
    >>> with tandem.no_grad():
    ...     (x * 2).requires_grad
    False
    >>> @tandem.no_grad()
    ... def double(x):
    ...     return x * 2
    >>> double(x).requires_grad
    False
    """


class enable_grad(_GradMode):
    """Operations in the block get a history, inside of `no_grad` too; also a decorator.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True)
    >>> with tandem.no_grad():
    ...     with tandem.enable_grad():
    ...         (x * 2).requires_grad
    True
    """

    _on = True


class set_grad_enabled(_Mode):
    """Turns grad mode on or off, at once; as a context manager, until the block ends; as a decorator, in each call.

    Args:
        mode: on or off.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True)
    >>> with tandem.set_grad_enabled(False):
    ...     (x * 2).requires_grad
    False
    """

    def __init__(self, mode: bool):
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        self.mode = mode
        self._before = _C.is_grad_enabled()
        _C._set_grad_enabled(self.mode)

    def __call__(self, function: F) -> F:
        # A decorator does nothing until the function runs.
        _C._set_grad_enabled(self._before)
        return super().__call__(function)

    def again(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        _C._set_grad_enabled(self.mode)

    def __exit__(self, *exc: object) -> None:
        _C._set_grad_enabled(self._before)


class inference_mode(_Mode):
    """Operations in the block get no history, and their results never take part in one; also a decorator.

    Args:
        mode: False makes the block do nothing but leave inference mode.

    Using such a result where a backward needs it is a RuntimeError.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True)
    >>> with tandem.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    mode: bool

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]
    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if callable(mode) and not isinstance(mode, bool):
            made.mode = True
            return made(mode)
        made.mode = bool(mode)
        return made

    def again(self) -> inference_mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._before = _C.is_inference_mode_enabled(), _C.is_grad_enabled()
        _C._set_inference_mode(self.mode)
        _C._set_grad_enabled(not self.mode)

    def __exit__(self, *exc: object) -> None:
        _C._set_inference_mode(self._before[0])
        _C._set_grad_enabled(self._before[1])


_multithreading = True


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` said last.

    >>> import tandem
    >>> tandem.autograd.is_multithreading_enabled()
    True
    """
    return _multithreading


class set_multithreading_enabled(_Mode):
    """May a backward use threads of its own? It has none here, whatever is asked for.

    Args:
        mode: what `is_multithreading_enabled` says from now on, or in the block alone.

    >>> import tandem
    >>> x = tandem.ones(1, requires_grad=True)
    >>> with tandem.autograd.set_multithreading_enabled(False):
    ...     (x * 2).backward()
    >>> x.grad
    tensor([2.])
    """

    def __init__(self, mode: bool):
        self.mode, self._before = mode, _multithreading
        self._set(mode)

    @staticmethod
    def _set(mode: bool) -> None:
        global _multithreading
        _multithreading = mode

    def __call__(self, function: F) -> F:
        # A decorator does nothing until the function runs.
        self._set(self._before)
        return super().__call__(function)

    def __enter__(self) -> None:
        self._set(self.mode)

    def __exit__(self, *exc: object) -> None:
        self._set(self._before)

    def again(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)


class _unsafe_preserve_version_counter:
    """A block in which writes to tensors are not counted: a backward that needs the old elements cannot notice them.

    Args:
        tensors: one, or a tuple of several.
    """

    def __init__(self, tensors: _C.Tensor | tuple[_C.Tensor, ...]):
        self.tensors = (tensors,) if isinstance(tensors, _C.Tensor) else tensors
        self._before = [None if t.is_inference() else t._version for t in self.tensors]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for t, version in zip(self.tensors, self._before):
            if version is not None:
                _C._set_version(t, version)
