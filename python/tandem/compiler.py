"""`tandem.compiler`: what code asks about `tandem.compile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tandem import _C
from tandem._compile import compile as compile  # noqa: A004

F = TypeVar("F", bound=Callable[..., Any])


def is_compiling() -> bool:
    """Is a function that was compiled with `fullgraph` being traced on this thread, so that no value can be read?

    Any other compiled function gives what it gives uncompiled, and is not told.

    >>> import tandem
    >>> def f(x):
    ...     return x * 2 if tandem.compiler.is_compiling() else x
    >>> tandem.compile(f, fullgraph=True)(tandem.ones(1)).item(), tandem.compile(f)(tandem.ones(1)).item()
    (2.0, 1.0)
    """
    return bool(_C._is_tracing())


def reset() -> None:
    """Does nothing: what was compiled lives as long as the objects that `tandem.compile` returned.

    >>> import tandem
    >>> tandem.compiler.reset()
    """


def cudagraph_mark_step_begin() -> None:
    """Does nothing: there is no GPU.

    >>> import tandem
    >>> tandem.compiler.cudagraph_mark_step_begin()
    """


def is_dynamo_compiling() -> bool:
    """`is_compiling`, by its older name.

    >>> import tandem
    >>> tandem.compiler.is_dynamo_compiling()
    False
    """
    return is_compiling()


def is_exporting() -> bool:
    """False: nothing is exported.

    >>> import tandem
    >>> tandem.compiler.is_exporting()
    False
    """
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function or module itself, or a decorator: compiled code gives what it gives uncompiled, with it or without.

    >>> import tandem
    >>> @tandem.compiler.disable(reason="prints")
    ... def show(x):
    ...     print(x)
    >>> tandem.compile(show)(3)
    3
    """
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function, or list of functions, itself: what a body calls is recorded operation by operation.

    >>> import tandem
    >>> tandem.compiler.allow_in_graph(abs)(-1)
    1
    """
    return fn


def assume_constant_result(fn: F) -> F:
    """The function itself: it is called whenever the body is.

    >>> import tandem
    >>> tandem.compiler.assume_constant_result(abs)(-1)
    1
    """
    return fn


def substitute_in_graph(original_fn: Any, **options: Any) -> Any:
    """A decorator that gives back the function that it decorates: Python code is watched, not replaced.

    >>> import tandem
    >>> tandem.compiler.substitute_in_graph(abs)(lambda x: x if x > 0 else -x)(-2)
    2
    """
    return lambda replacement: replacement


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of backends: Tandem's own, which takes any name.

    >>> import tandem
    >>> tandem.compiler.list_backends()
    ['tandem']
    """
    return ["tandem"]


class set_stance:  # noqa: N801
    """How compiled functions are called from now on, or in a block: "default", or others to the same effect.

    Every stance gives what the uncompiled function gives. RuntimeError for a name that PyTorch lacks.

    >>> import tandem
    >>> with tandem.compiler.set_stance("force_eager"):
    ...     tandem.compile(lambda x: x + 1)(tandem.ones(1))
    tensor([2.])
    """

    STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile")

    def __init__(self, stance: str = "default", **options: Any):
        if stance not in self.STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}': it is one of {', '.join(self.STANCES)}")
        self.stance = stance

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...

    def __call__(self, fn: F) -> F:
        """The function itself."""
        return fn
