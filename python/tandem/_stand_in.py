"""Names that real projects import and mostly never use: each can be imported, and is an error where it is used."""

from __future__ import annotations

from typing import Any, NoReturn

from tandem import _missing

__all__ = ["lacking_class", "lacking_classes", "lacking_function", "lacking_functions"]


def fail(path: str, error: type[Exception] = NotImplementedError) -> NoReturn:
    """Raise what the use of the absent name `path` (without the package's name) raises."""
    text = f"{_missing.shown('tandem.' + path)} is not part of Tandem.{_missing.instead(path)}"
    raise error(text.removesuffix("."))


def lacking_function(path: str) -> Any:
    """A function that raises NotImplementedError when it is called."""

    def function(*args: Any, **kwargs: Any) -> Any:
        fail(path)

    module, _, name = f"tandem.{path}".rpartition(".")
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = "Not part of Tandem: NotImplementedError when called."
    return function


def lacking_class(path: str, base: type = object) -> Any:
    """A class, for annotations and `isinstance`, whose construction raises NotImplementedError."""

    def construct(cls: type, *args: Any, **kwargs: Any) -> Any:
        fail(path)

    module, _, name = f"tandem.{path}".rpartition(".")
    doc = "Not part of Tandem: NotImplementedError when constructed."
    return type(base)(name, (base,), {"__new__": construct, "__doc__": doc, "__module__": module})


def lacking_functions(module: str, names: str) -> dict[str, Any]:
    """Such functions by name, of the module called `module`."""
    path = module.partition(".")[2]
    return {name: lacking_function(f"{path}.{name}") for name in names.split()}


def lacking_classes(module: str, names: str) -> dict[str, Any]:
    """Such classes by name, of the module called `module`."""
    path = module.partition(".")[2]
    return {name: lacking_class(f"{path}.{name}") for name in names.split()}
