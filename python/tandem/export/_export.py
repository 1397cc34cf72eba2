"""Tracing functions for a saved program: `export`, `entries`, `training_step`, `with_gradients`."""

from __future__ import annotations

import contextlib
import gc
import json
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tandem
from tandem import _C, Tensor, _nvidia
from tandem.export import _tree
from tandem.export._names import State
from tandem.export._program import ExportedProgram
from tandem.export._sizes import Sizes
from tandem.nn.module import Module

TARGETS = ("x86-64-v3", "x86-64-v4")


def _default_targets(device: tandem.device) -> list[str]:
    """Both kinds of CPUs, and the GPU that the functions were traced on."""
    own = [] if device.type != "cuda" else [str(_C._gpu_properties(device.index)["architecture"])]
    return [*TARGETS, *own]


@dataclass
class Entry:
    """A function to be saved under a name: `entries(forward=Entry(model, (x,)))`.

    Args:
        fn: a module, or a function of tensors, numbers and containers of them.
        args, kwargs: what it is called with once, to be traced. Tensors become arguments of the saved entry, of these
            shapes and dtypes, and floats numbers with these values; all else is part of the program.
        training: calls keep what they do to gradients and parameters, as a training step does; otherwise the function
            runs without gradients, unless it takes derivatives itself and so cannot.

    >>> import tandem
    >>> from tandem.export import Entry, entries
    >>> x = tandem.ones(2)
    >>> entries(twice=Entry(lambda x: x * 2, (x,)), scaled=Entry(lambda x, by: x * by, (x,), {"by": 3.0})).entries
    ['twice', 'scaled']
    """

    fn: Callable[..., Any]
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    training: bool = False
    dynamic_shapes: Any = None


def _resized(value: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor of this shape with the elements of another one, over and over: a class or an index stays one."""
    out = value.detach()
    for d, (now, wanted) in enumerate(zip(value.shape, shape, strict=True)):
        if now == 0 and wanted != 0:
            return tandem.zeros(shape, dtype=value.dtype, device=value.device).requires_grad_(value.requires_grad)
        if now != wanted:
            out = out.index_select(d, tandem.arange(wanted, device=out.device) % max(now, 1))
    return out.clone(memory_format=tandem.contiguous_format).requires_grad_(value.requires_grad)


def _without_history(value: Any, reads: list[Tensor]) -> Any:
    """The value, with results that have a history detached from it, and tensors of no dims, which `reads` gets, in the
    place of numbers that were read from tensors; what holds none of them is handed on as it is."""
    if isinstance(value, Tensor):
        return value.detach() if value.requires_grad else value
    if isinstance(value, dict):
        items = {key: _without_history(item, reads) for key, item in value.items()}
        if all(items[key] is item for key, item in value.items()):
            return value
        return OrderedDict(items) if isinstance(value, OrderedDict) else items
    if isinstance(value, (list, tuple)):
        parts = [_without_history(item, reads) for item in value]
        if all(part is item for part, item in zip(parts, value, strict=True)):
            return value
        if isinstance(value, list):
            return parts
        # A named one takes its items, results of operations take a sequence, as tuples do.
        return type(value)(*parts) if hasattr(type(value), "_make") else type(value)(parts)
    read = _C._tensor_read(value)
    if read is None:
        return value
    reads.append(read)
    return read


def _leaf(value: Any, path: str) -> Any:
    """A value that is part of the program, as JSON has it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    name = path.rpartition(" ")[2]
    given = isinstance(value, (Module, tandem.optim.Optimizer)) and ": result" not in path
    binds = given and name.isidentifier()
    way_out = f". Bind it: functools.partial(function, {name}=...)" if binds else ""
    raise TypeError(
        f"export: {path} is a {type(value).__name__}; a saved program takes and gives tensors, numbers, strings, None "
        f"and tuples, lists and dicts of them{way_out}"
    )


def _path(keys: Any, names: Sequence[str]) -> str:
    """`x`, `batch.0`: where a leaf of (args, kwargs) is, by the names of the function's parameters."""
    kind, first, *rest = keys
    if kind == 0 and isinstance(first, int):
        first = names[first] if first < len(names) else f"arg{first}"
    return ".".join(str(k) for k in [first, *rest])


def _parameters(fn: Callable[..., Any]) -> list[str]:
    import inspect

    try:
        signature = inspect.signature(fn.forward if isinstance(fn, Module) else fn)
    except (TypeError, ValueError):
        return []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in signature.parameters.values() if p.kind in plain]


def _with_text(error: Exception, text: str) -> Exception:
    """An error of the same class with another text, where the class takes one."""
    try:
        return type(error)(text)
    except Exception:
        return RuntimeError(text)


def _way_out(reason: str) -> str:
    """What to do about a line that a plan cannot stand for."""
    if "a call of " in reason:
        return "Call it outside, and give the program what it returns as an argument"
    if any(word in reason for word in ("assigned", "changed", "changes", "deleted", "advanced", "resumed", "added to")):
        return (
            "What changes from call to call is kept in a tensor, as a buffer of a module, or changed outside, between "
            "two calls of the program; the learning rate and its like are numbers, of which each call may give others"
        )
    return "Do it outside, before or after a call of the program, and give what it decides as an argument"


def _forgetting(restore: Callable[[], None], arguments: Sequence[tuple[str, Tensor]]) -> Callable[[], None]:
    """`restore`, and no gradient is left in an argument: they come without one, and what a call adds is no one's."""

    def both() -> None:
        restore()
        for _, tensor in arguments:
            tensor.grad = None

    return both


class _Traced:
    """An entry after its function was traced."""

    def __init__(self, name: str, entry: Entry, state: State) -> None:
        self.name = name
        for what, value, kind in (("args", entry.args, (tuple, list)), ("kwargs", entry.kwargs, Mapping)):
            if not isinstance(value, kind):
                expected = "a tuple" if what == "args" else "a dict"
                raise TypeError(f"export: {name}: {what}: expected {expected} of arguments, got {type(value).__name__}")
        names = self._parameters = _parameters(entry.fn)
        inputs, paths = _tree.flatten((tuple(entry.args), dict(entry.kwargs)))
        leaves: list[Any] = []
        described: list[Any] = []
        self.arguments: list[tuple[str, Tensor]] = []
        requiring: list[Tensor] = []
        self.numbers: list[str] = []
        for keys, value in paths:
            path = _path(keys, names)
            if isinstance(value, Tensor):
                described.append(["tensor", len(self.arguments)])
                # Memory of its own: what may overlap in one call may not in another.
                copied = value.detach().clone(memory_format=tandem.contiguous_format)
                self.arguments.append((path, copied))
                requiring += [copied] if value.requires_grad else []
                leaves.append(copied)
            elif type(value) is float and len(keys) == 2:
                described.append(["number", len(self.numbers)])
                self.numbers.append(path)
                leaves.append(value)
            else:
                described.append(["value", _leaf(value, f"{name}: {path}")])
                leaves.append(value)
        self._inputs, self._leaves, self._described = inputs, leaves, described
        self.args, self.kwargs = _tree.unflatten(inputs, iter(leaves))
        self.sizes: Sizes | None = None
        if entry.dynamic_shapes is not None:
            numbers = {id(tensor): number for number, (_, tensor) in enumerate(self.arguments)}
            sizes = Sizes(name, entry.dynamic_shapes, self.args, self.kwargs, names, numbers)
            self.sizes = sizes if sizes.bound else None
        self.training = entry.training
        if not self.training:
            try:
                self._start(state, entry.fn, without_gradients=True)
                return
            except RuntimeError as error:
                if str(error).startswith("export: "):
                    raise
            # It may take derivatives itself, as a potential does that gives forces.
            self.training = True
        for tensor in requiring:
            tensor.requires_grad_()
        self._start(state, entry.fn, without_gradients=False)

    def _start(self, state: State, fn: Callable[..., Any], *, without_gradients: bool) -> None:
        """Traces the function for the first time."""
        mode = tandem.no_grad if without_gradients else contextlib.nullcontext

        def run(*args: Any, **kwargs: Any) -> tuple[Any, list[Tensor]]:
            reads: list[Tensor] = []
            with mode():
                return _without_history(fn(*args, **kwargs), reads), reads

        self.compiled = _C.CompiledFunction(run, True, True)
        self.results, self.tree = self._results(self._trace(state))

    def _results(self, result: tuple[Any, list[Tensor]]) -> tuple[list[str], str]:
        """The names of the tensors in a result, and how arguments and results are put together."""
        outputs, given_back = _tree.flatten(result[0])
        reads = {id(tensor) for tensor in result[1]}
        results: list[str] = []
        given: list[Any] = []
        numbered: dict[int, int] = {}  # one tensor in two places is one result
        for keys, value in given_back:
            path = ".".join(map(str, keys))
            if isinstance(value, Tensor):
                if id(value) not in numbered:
                    numbered[id(value)] = len(results)
                    results.append(path or "result")
                given.append(["number" if id(value) in reads else "tensor", numbered[id(value)]])
            else:
                given.append(["value", _leaf(value, f"{self.name}: result {path}".rstrip())])
        tree = {"inputs": self._inputs, "arguments": self._described, "outputs": outputs, "results": given}
        tree["parameters"] = self._parameters
        return results, json.dumps(tree)

    def _trace(self, state: State) -> Any:
        """Traces the function until a trace is proved to be what later calls do, and leaves all as it was."""
        for _ in range(4):
            before, with_gradients = _forgetting(state.snapshot(), self.arguments), state.with_gradients()
            dry = self._watched(lambda: _C._trace_dry(self.compiled, self.args, self.kwargs), before)
            if dry is not None:
                result, used = dry
                state.find_nameless(used)
                before()
                if not self.training:
                    return result
                before = _forgetting(state.snapshot(), self.arguments)
                # Which gradients a step makes is seen by taking it.
                result = self._watched(lambda: self.compiled(*self.args, **self.kwargs), before)
            made = state.find_made()
            after, new_gradients = state.snapshot(), state.with_gradients() - with_gradients
            before()
            known = _C._is_known(self.compiled, self.args, self.kwargs)
            # The first step of an optimizer makes its state, and one that adds to gradients makes those. It is kept:
            # the program goes on from there.
            if made or (known and new_gradients):
                after()
            elif known:
                return result
        raise RuntimeError(
            f"export: {self.name}: the function cannot be saved: {self.compiled.explain(*self.args, **self.kwargs)}"
        )

    def fit(self, state: State) -> None:
        """Traces the function again where other entries have made state that it looks at."""
        if not _C._is_known(self.compiled, self.args, self.kwargs):
            self.results, self.tree = self._results(self._trace(state))

    def _watched(self, body: Callable[[], Any], restore: Callable[[], None], again: bool = False) -> Any:
        """The result of a traced call; where it fails all is put back, and RuntimeError says why the function cannot be
        saved."""
        modules = len(sys.modules)
        try:
            return self._watched_once(body)
        except BaseException as error:
            restore()
            if len(sys.modules) == modules and (again or "it changes what it reads" not in str(error)):
                raise
        return self._watched(body, restore, True)  # what is imported or kept at the first call is there now

    def _watched_once(self, body: Callable[[], Any]) -> Any:
        collects = gc.isenabled()
        gc.disable()  # the collector may call other people's code in the middle of the function
        try:
            # What operations warn of is said where the function is saved, not by the program.
            result, warned = _C._warn_later(body)
        except tandem.DataReadError as error:
            what, compiled, _ = str(error).partition(" inside a function that was compiled with fullgraph=True")
            if not compiled:
                raise
            if what.endswith("operations on several devices"):
                raise RuntimeError(
                    f"export: {self.name}: the function cannot be saved: {what}; move the tensors that it uses to one"
                ) from None
            raise tandem.DataReadError(
                f"export: {self.name}: {what}; what a saved program does must not depend on values. Use tandem.where "
                "instead of Python control flow on values, or return the tensor and decide outside, between two entries"
            ) from None
        except RuntimeError as error:
            _, needed, reason = str(error).partition(", but: ")
            if type(error) is not RuntimeError or not needed:
                raise
            raise RuntimeError(
                f"export: {self.name}: the function cannot be saved: {reason}. {_way_out(reason)}"
            ) from None
        finally:
            if collects:
                gc.enable()
        for text in dict.fromkeys(warned):
            warnings.warn(f"export: {self.name}: {text}", UserWarning, stacklevel=2)
        return result

    def add_to(self, maker: Any, state: State) -> None:
        """Adds the entry to a program, traced for each combination of its sizes."""
        if self.sizes is None:
            maker.add(self._entry(self.args, self.kwargs, self.arguments))
            return
        maker.begin(self.sizes.described, self.sizes.bound)
        restore = state.snapshot()
        for combination in self.sizes.combinations():
            self._trace_for(maker, combination, restore)
        maker.end()

    def _entry(self, args: Any, kwargs: Any, arguments: Any) -> tuple[Any, ...]:
        """As `_C._ProgramMaker` takes it."""
        return self.compiled, args, kwargs, self.name, arguments, self.numbers, self.results, self.tree

    def _trace_for(self, maker: Any, combination: Sequence[int], restore: Callable[[], None]) -> None:
        assert self.sizes is not None
        arguments = [
            (path, _resized(tensor, self.sizes.shape(number, tensor.shape, combination)))
            for number, (path, tensor) in enumerate(self.arguments)
        ]
        leaves = [
            arguments[what][1] if kind == "tensor" else leaf
            for (kind, what), leaf in zip(self._described, self._leaves, strict=True)
        ]
        args, kwargs = _tree.unflatten(self._inputs, iter(leaves))
        restore = _forgetting(restore, arguments)
        entry = self._entry(args, kwargs, arguments)
        for _ in range(3):
            try:
                made, result = self._watched(lambda: maker.trace(entry), restore)
            except Exception as error:
                raise _with_text(error, f"{error} (with {self.sizes.named(combination)})") from error
            if made:
                break
            restore()  # the body was run
        else:
            raise RuntimeError(
                f"export: {self.name}: the function cannot be saved with {self.sizes.named(combination)}"
            )
        if self.training:
            restore()
        if self._results(result) != (self.results, self.tree):
            outputs, given = _tree.flatten(result[0])
            shown = _tree.unflatten(outputs, (type(v).__name__ if isinstance(v, Tensor) else v for _, v in given))
            raise RuntimeError(
                f"export: {self.name}: with {self.sizes.named(combination)} it gives {shown!r}: what is no tensor, and "
                "how results are put together, must not depend on sizes"
            )


def entries(
    *,
    targets: Sequence[str] | None = None,
    notes: Mapping[str, str] | None = None,
    **functions: Entry,
) -> ExportedProgram:
    """Trace functions into one program, whose entries have the names of the keywords and share what they use.

    Args:
        targets: processors to make code for: `x86-64-v3` (AVX2), `x86-64-v4` (AVX-512), GPUs as `sm_90`. Where nothing
            is said both of the first, and the GPU that the functions run on, if they do.
        notes: texts to keep in the file, as `license` or `source`.

    Raises:
        RuntimeError: a function does what a plan cannot stand for; it names the line. Sizes that depend on data are
            among those things.
        TypeError: an argument or a result is nothing that a file can name.

    >>> import tandem
    >>> from tandem.export import Entry, entries
    >>> model = tandem.nn.Linear(3, 2)
    >>> x = tandem.ones(1, 3)
    >>> program = entries(forward=Entry(model, (x,)), norm=Entry(lambda: model.weight.norm()))
    >>> program.entries
    ['forward', 'norm']
    >>> bool((program(x) == model(x)).all())
    True
    """
    if targets is not None and (isinstance(targets, str) or not all(isinstance(target, str) for target in targets)):
        raise TypeError(f"export: targets: expected a list of names, as ['x86-64-v3'], got {targets!r}")
    if targets is not None and not targets:
        raise ValueError("export: a program needs at least one target, as x86-64-v3")
    for key, text in (notes or {}).items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise TypeError(f"export: notes: expected texts by name, got {key!r}: {text!r}")
    state = State([entry.fn for entry in functions.values()])
    traced = [_Traced(name, entry, state) for name, entry in functions.items()]
    for entry in traced:
        entry.fit(state)
    maker = _C._ProgramMaker(state.named())
    for entry in traced:
        entry.add_to(maker, state)
    _nvidia.name_folders()  # of the compiler for GPUs, which need not be here
    device = tandem.device(maker.device())
    wanted = _default_targets(device) if targets is None else list(targets)
    members = maker.finish(wanted, f"tandem {tandem.__version__}", list((notes or {}).items()))
    try:
        program = _C.Program(members, device=str(device))
    except NotImplementedError:  # it is for other processors than those here
        program = _C.Program(members, ir_only=True, device=str(device))
    return ExportedProgram(program, members)


def export(
    mod: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = True,
    preserve_module_call_signature: Sequence[str] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    targets: Sequence[str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> ExportedProgram:
    """Trace a module or function, with example arguments, into a program that runs without its Python code.

    The program takes tensors of the examples' shapes and dtypes, and floats; it gives what `mod` gives under `no_grad`,
    bit for bit, or with gradients where it takes derivatives itself (`autograd.grad` in a potential's `forward`). With
    `dynamic_shapes` calls choose sizes; the function is then traced for every combination of them, so that nothing is
    assumed of what they change. Parameters and buffers go with it, buffers that the function changes as its state.

    Args:
        mod: a module, or a function of tensors, numbers and containers of them.
        args, kwargs: the arguments that it is traced with.
        dynamic_shapes: for each argument, by name in a dict or by position in a tuple, a dict `{dim: Dim(...)}` or a
            tuple by dim; None or `Dim.STATIC` for what stays the example's. For containers of tensors likewise
            containers.
        strict, preserve_module_call_signature, prefer_deferred_runtime_asserts_over_guards: PyTorch's, without effect:
            every trace is proved.
        targets, notes: as `entries` takes them.

    Raises:
        RuntimeError, TypeError: as `entries` does. Errors of the function for some sizes say for which.
        ValueError: `dynamic_shapes` does not fit the arguments, or has more than 65536 combinations of sizes.
        NotImplementedError: plans have too many structures over the sizes.

    >>> import tandem
    >>> program = tandem.export.export(tandem.nn.ReLU(), (tandem.tensor([-1.0, 2.0]),))
    >>> program(tandem.tensor([3.0, -4.0]))
    tensor([3., 0.])
    """
    entry = Entry(mod, args, kwargs or {}, dynamic_shapes=dynamic_shapes)
    return entries(forward=entry, targets=targets, notes=notes)


def training_step(
    step: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    targets: Sequence[str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> ExportedProgram:
    """Trace a whole training step, with `backward()` and `optimizer.step()`, into a program that trains without Python.

    What the step changes is the program's state, under its names: parameters, buffers, what the optimizer keeps, the
    random generator. Learning rates and the other numbers of the optimizer become numbers of the entry `step`.
    Gradients that the step adds to are state as well. Those that it computes anew, because it begins with
    `optimizer.zero_grad()`, are not kept.

    Where the optimizer has no state yet, the step is taken once to make it; the program goes on from there, as does the
    model here. Otherwise the model and the optimizer are left as they are.

    Raises:
        RuntimeError, TypeError: as `entries` does.

    >>> import tandem
    >>> w = tandem.nn.Parameter(tandem.ones(2))
    >>> optimizer = tandem.optim.SGD([w], lr=0.5)
    >>> def step(x):
    ...     optimizer.zero_grad()
    ...     loss = (w * x).sum()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> program = tandem.export.training_step(step, (tandem.ones(2),))
    >>> program.run("step", tandem.ones(2)).item(), program.state_dict["w"].tolist()
    (2.0, [0.5, 0.5])
    """
    entry = Entry(step, args, kwargs or {}, training=True, dynamic_shapes=dynamic_shapes)
    return entries(step=entry, targets=targets, notes=notes)


def with_gradients(f: Callable[..., Any], orders: int = 1, argnums: int = 0) -> Callable[..., tuple[Tensor, ...]]:
    """A function that gives `f(*args)`, its gradient with respect to one argument, and gradients of higher orders, each
    the gradient of the sum of the one before.

    Args:
        f: a function whose result is a tensor of one element.
        orders: how many gradients.
        argnums: which argument.

    >>> import tandem
    >>> g = tandem.export.with_gradients(lambda x: (x**3).sum(), orders=2)
    >>> [t.tolist() for t in g(tandem.tensor([2.0]))]
    [8.0, [12.0], [12.0]]
    """

    def run(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        with tandem.enable_grad():
            x = args[argnums].detach().requires_grad_(True)
            value = f(*args[:argnums], x, *args[argnums + 1 :], **kwargs)
            results = [value]
            for order in range(orders):
                (gradient,) = tandem.autograd.grad(results[-1].sum(), x, create_graph=order + 1 < orders)
                results.append(gradient)
            return tuple([r.detach() for r in results])

    return run
