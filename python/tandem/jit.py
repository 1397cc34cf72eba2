"""`tandem.jit`: PyTorch's older names. `trace`, `save` and `load` make, write and read saved programs, as
`tandem.export` does. The decorators of the script compiler change nothing: functions run as Python, and
`tandem.compile` compiles.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar, overload

from tandem._files import replace_file
from tandem._stand_in import fail, lacking_class, lacking_function, lacking_functions

if TYPE_CHECKING:
    from tandem.export import ExportedProgram
    from tandem.nn import Module

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "TracerWarning",
    "annotate",
    "export",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "set_fusion_strategy",
    "trace",
    "unused",
]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def is_scripting() -> bool:
    """False: no function is compiled from its source text.

    >>> import tandem
    >>> tandem.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """False, in `trace` as well, which runs what eager calls run; `tandem.compiler.is_compiling` is true there.

    >>> import tandem
    >>> tandem.jit.is_tracing()
    False
    """
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """`the_value` itself, whatever `the_type` is.

    >>> import tandem
    >>> tandem.jit.annotate(list[int], [])
    []
    """
    return the_value


def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """The function, class or module itself: it runs as Python. The other arguments are accepted and change nothing.

    A module counts as a `ScriptModule` from then on, which `save` takes.

    >>> import tandem
    >>> @tandem.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(3)
    6
    """
    from tandem.nn import Module

    if isinstance(obj, Module):
        obj.__dict__["_is_scripted"] = True
    return obj


def export(fn: T) -> T:
    """The function itself.

    >>> import tandem
    >>> tandem.jit.export(len)([1, 2])
    2
    """
    return fn


def unused(fn: T) -> T:
    """The function itself.

    >>> import tandem
    >>> tandem.jit.unused(len)([1, 2])
    2
    """
    return fn


@overload
def ignore(drop: F) -> F: ...
@overload
def ignore(drop: bool = False, **kwargs: Any) -> Callable[[F], F]: ...
def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself; with or without parentheses.

    >>> import tandem
    >>> @tandem.jit.ignore(drop=True)
    ... def size(x):
    ...     return len(x)
    >>> size([1, 2]), tandem.jit.ignore(len)([1, 2])
    (2, 2)
    """
    return drop if callable(drop) else lambda fn: fn


def script_if_tracing(fn: F) -> F:
    """The function itself.

    >>> import tandem
    >>> tandem.jit.script_if_tracing(len)([1, 2])
    2
    """
    return fn


def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """The module itself.

    >>> import tandem
    >>> tandem.jit.freeze(tandem.nn.ReLU().eval())
    ReLU()
    """
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself.

    >>> import tandem
    >>> tandem.jit.optimize_for_inference(tandem.nn.ReLU().eval())
    ReLU()
    """
    return mod


def _overload(func: F) -> F:
    return func


_overload_method = _script_if_tracing = _overload


def interface(obj: T) -> T:
    """The class itself.

    >>> import tandem
    >>> @tandem.jit.interface
    ... class Layer(tandem.nn.Module):
    ...     def forward(self, x): ...
    >>> Layer.__name__
    'Layer'
    """
    return obj


_fusion_strategy: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """How often TorchScript may compile kernels, of a kind: accepted, and without effect. What was told before.

    >>> import tandem
    >>> tandem.jit.set_fusion_strategy([("DYNAMIC", 3)])
    [('STATIC', 2), ('DYNAMIC', 10)]
    """
    for kind, _ in strategy:
        if kind not in ("STATIC", "DYNAMIC"):
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {kind}")
    before = _fusion_strategy[:]
    _fusion_strategy[:] = [(kind, int(depth)) for kind, depth in strategy]
    return before


class Attribute:
    """A value and its type, as old code writes attributes of script modules.

    >>> import tandem
    >>> tandem.jit.Attribute(3, int).value
    3
    """

    def __init__(self, value: Any, type: Any):  # noqa: A002
        self.value, self.type = value, type


class Error(RuntimeError):
    """What a script raises in PyTorch; nothing here raises it.

    >>> import tandem
    >>> issubclass(tandem.jit.Error, RuntimeError)
    True
    """


class TracerWarning(Warning):
    """What PyTorch's tracer warns with, for filters; nothing here gives it.

    >>> import tandem, warnings
    >>> warnings.filterwarnings("ignore", category=tandem.jit.TracerWarning)
    """


def trace(
    func: Callable[..., Any],
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Mapping[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Module:
    """`tandem.export.export(func, example_inputs)` as a module, whose `save(f)` writes the program.

    It differs from TorchScript's trace: calls take the examples' shapes and dtypes, and no others; they give results
    without gradients; `train()` and `eval()` change nothing any more, as there. What PyTorch's tracer would get wrong
    silently (a branch on a tensor's value, a list that grows) is an error that names the line, so that `check_trace`,
    `check_inputs`, `check_tolerance` and `strict` have nothing to do; they and the arguments that begin with an
    underscore are accepted and change nothing.

    Args:
        func: a module or a function.
        example_inputs: a tuple of arguments, or one tensor.
        example_kwarg_inputs: arguments by name.

    Raises:
        RuntimeError, TypeError, NotImplementedError: as `tandem.export.export` does.

    >>> import tandem
    >>> traced = tandem.jit.trace(tandem.nn.ReLU(), tandem.ones(2))
    >>> traced(tandem.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    from tandem.export import export as export_program

    if example_inputs is None:
        args: tuple[Any, ...] = ()
    elif isinstance(example_inputs, (tuple, list)):
        args = tuple(example_inputs)
    else:
        args = (example_inputs,)
    return export_program(func, args, example_kwarg_inputs).module()


def save(m: Module | ExportedProgram, f: str | os.PathLike[str] | IO[bytes], _extra_files: Any = None) -> None:
    """Write what `trace` gave to a file, as `tandem.export.save` does. PyTorch cannot read it. `_extra_files` are
    texts by name, which become notes of the program.

    A module that `script` was called with is pickled: whoever loads it needs its class.

    Raises:
        TypeError: `m` does not come from `trace`, `script` or `load`.

    >>> import tandem, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "relu.pt")
    >>> tandem.jit.save(tandem.jit.trace(tandem.nn.ReLU(), tandem.ones(2)), path)
    >>> tandem.jit.load(path)(tandem.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    from tandem.export import ExportedProgram
    from tandem.export._program import ProgramModule

    if not isinstance(m, ProgramModule) and isinstance(m, ScriptModule):
        _write_scripted(m, f, _extra_files)
        return
    if not isinstance(m, (ProgramModule, ExportedProgram)):
        raise TypeError(
            f"jit.save: expected what jit.trace, jit.script or jit.load gave, got {type(m).__name__}: trace it"
        )
    program = m._exported if isinstance(m, ProgramModule) else m
    program.save(f, extra_files=_extra_files)


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Module:
    """The program in a file as a module, as `tandem.export.load(f).module()` gives it.

    Files of PyTorch's script compiler cannot be read. A saved program is machine code, and a scripted module a pickle:
    open those alone that you trust.

    Args:
        f: a path, or an open binary file.
        map_location: the CPU or a GPU, on which it runs; None for the kind that it was traced on.
        _extra_files: a dict whose keys are names of notes; the notes' texts are put there.

    Raises:
        ValueError: it is no saved program.
        NotImplementedError: `map_location` is neither, or the program has no code for this processor or GPU.

    >>> import io, tandem
    >>> file = io.BytesIO()
    >>> tandem.jit.save(tandem.jit.trace(lambda x: x * 2, (tandem.ones(2),)), file)
    >>> _ = file.seek(0)
    >>> tandem.jit.load(file, map_location="cpu")(tandem.ones(2))
    tensor([2., 2.])
    """
    import tandem
    from tandem.export import load as load_program

    place = None if map_location is None else tandem.device(map_location)
    if place is not None and place.type not in ("cpu", "cuda"):
        raise NotImplementedError(f"jit.load: a saved program runs on the CPU or on a GPU, not on {map_location}")
    scripted = _read_scripted(f, _extra_files)
    if scripted is not None:
        return scripted if place is None else scripted.to(place)
    program = load_program(f, device=place)
    if _extra_files is not None:
        _extra_files.update({name: program.notes.get(name, "") for name in _extra_files})
    return program.module()


# What files of scripted modules begin with.
SCRIPTED = b"tandem scripted module\n"


def _write_scripted(m: Any, f: str | os.PathLike[str] | IO[bytes], extra_files: Any) -> None:
    data = SCRIPTED + pickle.dumps((m, dict(extra_files or {})))
    if isinstance(f, (str, os.PathLike)):
        replace_file(f, lambda out: out.write(data))
    else:
        f.write(data)


def _read_scripted(f: str | os.PathLike[str] | IO[bytes], extra_files: dict[str, Any] | None) -> Any:
    """The scripted module in a file; None where it has another thing, of which nothing is read then."""
    if isinstance(f, (str, os.PathLike)):
        with Path(f).open("rb") as file:
            return _read_scripted(file, extra_files)
    place = f.tell()
    if f.read(len(SCRIPTED)) != SCRIPTED:
        f.seek(place)
        return None
    module, texts = pickle.loads(f.read())
    if extra_files is not None:
        extra_files.update({name: texts.get(name, "") for name in extra_files})
    return module


class _Scripted(type):
    """Which objects count as scripted modules: those that `script` was called with, and what `trace` gave."""

    def __instancecheck__(cls, instance: Any) -> bool:
        from tandem.export._program import ProgramModule
        from tandem.nn import Module

        known = isinstance(instance, Module) and instance.__dict__.get("_is_scripted", False)
        return bool(known) or isinstance(instance, ProgramModule)


def _refuse_construction(cls: type, *args: Any, **kwargs: Any) -> Any:
    fail(f"jit.{cls.__name__}")


ScriptModule: Any = _Scripted("ScriptModule", (), {"__new__": _refuse_construction, "__module__": __name__})
ScriptModule.__doc__ = "What `script` and `trace` give, to ask `isinstance`. NotImplementedError when constructed."
RecursiveScriptModule: Any = _Scripted("RecursiveScriptModule", (ScriptModule,), {"__module__": __name__})
RecursiveScriptModule.__doc__ = ScriptModule.__doc__
trace_module: Any = lacking_function("jit.trace_module")
globals().update(
    lacking_functions(
        __name__,
        "enable_onednn_fusion fork fuser last_executed_optimized_graph onednn_fusion_enabled "
        "optimized_execution run_frozen_optimizations script_method wait",
    )
)
ScriptFunction: Any = lacking_class("jit.ScriptFunction")
CompilationUnit: Any = lacking_class("jit.CompilationUnit")
DeviceObjType: Any = lacking_class("DeviceObjType")
TensorType: Any = lacking_class("TensorType")
