"""`ExportedProgram`: a program that was traced or loaded, from Python."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import IO, Any

import tandem
from tandem import _C, Tensor, _nvidia
from tandem.export import _tree
from tandem.export._archive import WEIGHTS, beside, read_archive, write_archive, write_file
from tandem.export._sizes import formula
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter

_PARAMETER, _BUFFER = 0, 1


class _Entry:
    """How Python's arguments become those of an entry, and its results Python's."""

    def __init__(self, number: int, described: dict[str, Any]) -> None:
        self.number = number
        self.name: str = described["name"]
        self.arguments: list[tuple[str, Any, Any, bool]] = described["arguments"]
        self.numbers: list[tuple[str, float, int]] = described["numbers"]
        self.results: list[tuple[str, Any, Any, bool]] = described["results"]
        self.explanation: str = described["explanation"]
        self.sizes: list[tuple[str, int, int, int]] = described["sizes"]
        self._argument_dims: list[tuple[int, int, int, int, int]] = described["bound"]
        self._result_dims: list[tuple[int, int, int, int, int]] = described["given"]
        tree = json.loads(described["tree"])
        self._inputs = tree["inputs"]
        self._described = tree["arguments"]
        self._outputs = tree["outputs"]
        self._given = tree["results"]
        self._keywords: list[str] = self._inputs[2][1][1]

    def shapes(self) -> tuple[list[str], list[str]]:
        """`[batch, 784]`: the shapes of arguments and results, with the names of sizes that calls choose. A dim of a
        result that follows from them in another way is `?`."""
        arguments = [[str(size) for size in shape] for _, _, shape, _ in self.arguments]
        results = [["?" if self.sizes else str(size) for size in shape] for _, _, shape, _ in self.results]
        for shapes, dims in ((arguments, self._argument_dims), (results, self._result_dims)):
            for number, d, size, factor, add in dims:
                shapes[number][d] = str(add) if factor == 0 else formula(self.sizes[size][0], factor, add)
        return [f"[{', '.join(dims)}]" for dims in arguments], [f"[{', '.join(dims)}]" for dims in results]

    def sizes_of(self, shapes: list[Any]) -> dict[str, int]:
        """The sizes that arguments of these shapes have, where they have one; else the example's."""
        found = {name: example for name, _, _, example in self.sizes}
        for number, d, size, factor, add in self._argument_dims:
            if shapes[number] is not None:
                found[self.sizes[size][0]] = (shapes[number][d] - add) // factor
        return found

    def shape_for(self, argument: int, sizes: dict[str, int]) -> tuple[int, ...]:
        """The shape of an argument for these sizes."""
        shape = list(self.arguments[argument][2])
        for number, d, size, factor, add in self._argument_dims:
            if number == argument:
                shape[d] = factor * sizes[self.sizes[size][0]] + add
        return tuple(shape)

    def shape_like(self, argument: int, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of an argument with the dims of another one where calls choose them."""
        own = list(self.arguments[argument][2])
        for number, d, _, _, _ in self._argument_dims:
            if number == argument and len(shape) == len(own):
                own[d] = shape[d]
        return tuple(own)

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Tensor], list[float]]:
        """The tensors of a call, and all numbers of the entry: those of the call, and the saved ones of the rest."""
        if sorted(kwargs) == sorted(self._keywords):
            kwargs = {name: kwargs[name] for name in self._keywords}
        structure, leaves = _tree.flatten((args, kwargs))
        if structure != self._inputs:
            raise TypeError(f"{self.name}: expected arguments of the structure {self._inputs}, got {structure}")
        tensors: list[Any] = [None] * len(self.arguments)
        numbers = [value for _, value, _ in self.numbers]
        for (kind, what), (_, leaf) in zip(self._described, leaves, strict=True):
            if kind == "tensor":
                if not isinstance(leaf, Tensor):
                    raise TypeError(f"{self.name}: expected {self.arguments[what][0]} to be a Tensor, got {leaf!r}")
                tensors[what] = leaf
            elif kind == "number":
                if not isinstance(leaf, (int, float)):
                    raise TypeError(f"{self.name}: expected {self.numbers[what][0]} to be a number, got {leaf!r}")
                numbers[what] = float(leaf)
            elif type(leaf) is not type(what) or leaf != what:
                raise ValueError(f"{self.name}: the program was traced with {what!r} where the call has {leaf!r}")
        return tensors, numbers

    def build(self, results: list[Tensor]) -> Any:
        """What the function returned, around these tensors."""
        leaves = (results[what] if kind == "tensor" else what for kind, what in self._given)
        return _tree.unflatten(self._outputs, leaves)


class ExportedProgram:
    """A program: entries that can be run, and the state that they share and change.

    Made by `tandem.export.export` and its like, and by `tandem.export.load`. Calling it runs its first entry.

    >>> import tandem
    >>> program = tandem.export.export(lambda x, s: x * s, (tandem.ones(2), 3.0))
    >>> program(tandem.ones(2), 4.0)
    tensor([4., 4.])
    """

    def __init__(self, program: Any, members: dict[str, Any] | None = None) -> None:
        self._program = program
        self._members = members
        self._about = program.describe()
        self._entries = [_Entry(number, described) for number, described in enumerate(self._about["entries"])]

    @property
    def entries(self) -> list[str]:
        """The names of its entries."""
        return [entry.name for entry in self._entries]

    @property
    def targets(self) -> list[str]:
        """The processors that it has code for."""
        return list(self._about["targets"])

    @property
    def target(self) -> str:
        """The one of them whose code runs here."""
        return str(self._about["target"])

    @property
    def notes(self) -> dict[str, str]:
        """The texts that were saved with it."""
        return dict(self._about["notes"])

    def _entry(self, name: str) -> _Entry:
        for entry in self._entries:
            if entry.name == name:
                return entry
        raise ValueError(f"the program has no entry {name!r}: it has {', '.join(self.entries)}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the first entry."""
        return self._run(self._entries[0], args, kwargs, None)

    def run(self, entry: str, *args: Any, numbers: dict[str, float] | None = None, **kwargs: Any) -> Any:
        """Run an entry by name. `numbers` replaces saved ones, as `{"lr": 0.01}`."""
        return self._run(self._entry(entry), args, kwargs, numbers)

    def _run(self, entry: _Entry, args: tuple[Any, ...], kwargs: dict[str, Any], numbers: Any) -> Any:
        tensors, values = entry.read(args, kwargs)
        return entry.build(self._launch(entry, tensors, values, numbers or {}))

    def _launch(
        self, entry: _Entry, tensors: list[Tensor], values: list[float], numbers: dict[str, float]
    ) -> list[Tensor]:
        """The tensors of the result, where `numbers` replaces some of the values by name."""
        for name, value in numbers.items():
            known = [k for k, (other, _, _) in enumerate(entry.numbers) if other == name]
            if not known:
                raise ValueError(f"{entry.name} has no number called {name!r}")
            for k in known:
                values[k] = value
        return list(self._program.run(entry.number, tensors, values))

    def numbers(self, entry: str) -> dict[str, float]:
        """The numbers that an entry takes, and their saved values."""
        return {name: value for name, value, _ in self._entry(entry).numbers}

    @property
    def graph(self) -> str:
        """What its entries compute, as text: the regions that were fused, and what they read and write."""
        return "\n".join(f"{entry.name}:\n{entry.explanation}" for entry in self._entries)

    # --- state

    def _state(self, *kinds: int) -> Iterator[tuple[str, Tensor]]:
        for number, (name, kind, _, _, _) in enumerate(self._about["state"]):
            if not kinds or kind in kinds:
                yield name, self._program.state(number)

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """The state by name. What an entry changes shares its memory with the program; the rest are copies."""
        return dict(self._state())

    def load_state_dict(self, state_dict: dict[str, Tensor]) -> None:
        """Replace tensors that entries change; KeyError for a name, ValueError for a tensor, that does not fit."""
        known = {about[0]: (number, about) for number, about in enumerate(self._about["state"])}
        for name, tensor in state_dict.items():
            if name not in known:
                raise KeyError(f"the program has no tensor called {name!r}")
            number, (_, _, dtype, shape, changes) = known[name]
            if tensor.dtype != dtype or tensor.shape != shape:
                raise ValueError(f"{name} is {dtype} {tuple(shape)}, got {tensor.dtype} {tuple(tensor.shape)}")
            if not changes and not bool((self._program.state(number) == tensor).all()):
                raise ValueError(f"no entry changes {name}: export the program again to change it")
        for name, tensor in state_dict.items():
            if known[name][1][4]:
                self._program.state(known[name][0]).copy_(tensor.detach())

    def parameters(self) -> Iterator[Tensor]:
        """The parameters, as `state_dict` gives them."""
        return (tensor for _, tensor in self._state(_PARAMETER))

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """And their names."""
        return self._state(_PARAMETER)

    def buffers(self) -> Iterator[Tensor]:
        """The buffers, as `state_dict` gives them."""
        return (tensor for _, tensor in self._state(_BUFFER))

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """And their names."""
        return self._state(_BUFFER)

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Write the state as a file that `tandem.load` and any reader of safetensors can open."""
        self._program.save_state(os.fspath(path))

    def load_state(self, path: str | os.PathLike[str]) -> None:
        """Read the state from such a file; ValueError, and nothing changed, where it does not fit."""
        self._program.load_state(os.fspath(path))

    def manual_seed(self, seed: int) -> None:
        """Seed the program's own random generator."""
        self._program.seed(seed)

    def fork(self) -> ExportedProgram:
        """The same program with a state of its own, which is that of the file: one for each thread."""
        return ExportedProgram(self._program.fork(), self._members)

    def module(self) -> Module:
        """The program as a module: its parameters and buffers under their names, its first entry as `forward`."""
        return ProgramModule(self)

    # --- the file

    def save(self, path: str | os.PathLike[str] | IO[bytes], *, external_weights: bool = False) -> None:
        """Write the file, with the state as it was traced or loaded. On a path it is written aside and renamed.

        With `external_weights` the weights are a file of their own, `<path>.safetensors`, which must lie beside the
        program's wherever that is opened.
        """
        members = self._members
        if members is None:
            members = {name: self._program.member(name) for name in self._program.members()}
        if external_weights:
            if not isinstance(path, (str, os.PathLike)):
                raise ValueError("save: external_weights needs a path")
            members = dict(members)
            weights = members.pop(WEIGHTS)
            write_file(beside(path), weights)
        write_archive(path, members)

    def __repr__(self) -> str:
        lines = []
        for entry in self._entries:
            shapes, given = entry.shapes()
            arguments = ", ".join(
                f"{name}: {dtype}{shape}" for (name, dtype, _, _), shape in zip(entry.arguments, shapes, strict=True)
            )
            numbers = "".join(f", {name}={value}" for name, value, _ in entry.numbers)
            results = ", ".join(f"{dtype}{shape}" for (_, dtype, _, _), shape in zip(entry.results, given, strict=True))
            where = "".join(f"\n    {name} from {least} to {most}" for name, least, most, _ in entry.sizes)
            lines.append(f"  {entry.name}({arguments}{numbers}) -> {results}{where}")
        return "ExportedProgram(\n" + "\n".join(lines) + "\n)"


class ProgramModule(Module):
    """What `ExportedProgram.module` gives."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self._exported = program
        for name, tensor in program.named_parameters():
            self._home(name)[0].register_parameter(self._home(name)[1], Parameter(tensor, requires_grad=False))
        for name, tensor in program.named_buffers():
            self._home(name)[0].register_buffer(self._home(name)[1], tensor)

    def _home(self, name: str) -> tuple[Module, str]:
        module: Module = self
        *path, last = name.split(".")
        for part in path:
            if part not in module._modules:
                module.add_module(part, Module())
            module = module._modules[part]  # type: ignore[assignment]
        return module, last

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program's first entry."""
        return self._exported(*args, **kwargs)

    def save(self, f: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write the program to a file."""
        self._exported.save(f)


def save(ep: ExportedProgram, f: str | os.PathLike[str] | IO[bytes], *, external_weights: bool = False) -> None:
    """Write a program to a file: `ep.save(f, external_weights=external_weights)`.

    >>> import io, tandem
    >>> file = io.BytesIO()
    >>> tandem.export.save(tandem.export.export(tandem.relu, (tandem.ones(2),)), file)
    >>> file.getvalue()[:2]
    b'PK'
    """
    ep.save(f, external_weights=external_weights)


def load(
    f: str | os.PathLike[str] | IO[bytes],
    *,
    require_signature: bytes | None = None,
    verify: bool = False,
    ir_only: bool = False,
    device: str | tandem.device = "cpu",
) -> ExportedProgram:
    """Open a program that was saved.

    A saved program is machine code: open those alone that you trust, or whose signature you require.

    Args:
        f: the file's path. It is mapped, and must not be changed while the program is used; to replace it, write
            another one and rename it. An open binary file is read into memory instead.
        require_signature: an Ed25519 public key of 32 bytes, which the file must be signed with.
        verify: compare all of the file with the hashes in it, not only the code that is used.
        ir_only: run no machine code of the file: its kernels are compiled here, from what the file says they compute.
        device: where it runs: `"cpu"`, or a GPU as `"cuda"`, for which the program has a target. Its weights are copied
            there. Calls give their results where their tensors are: on the CPU, or on that GPU. Copies of its state are
            on the CPU.

    Raises:
        ValueError: it is no saved program, is damaged, of a newer format, or not signed as required.
        NotImplementedError: it has no code for this processor or GPU, or uses an operation that is not here.
        RuntimeError: there is no such device.

    >>> import tandem, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "relu.tandem")
    >>> tandem.export.save(tandem.export.export(tandem.relu, (tandem.ones(2),)), path)
    >>> tandem.export.load(path)(tandem.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if require_signature is not None and len(require_signature) != 32:
        raise ValueError(f"load: require_signature: a public key has 32 bytes, not {len(require_signature)}")
    source: Any = os.fspath(f) if isinstance(f, (str, os.PathLike)) else read_archive(f)
    _nvidia.name_folders()
    program = _C.Program(source, signed_by=require_signature or b"", verify=verify, ir_only=ir_only, device=str(device))
    return ExportedProgram(program, source if isinstance(source, dict) else None)


def add_target(f: str | os.PathLike[str], target: str) -> None:
    """Add code for another processor to a saved program, as `x86-64-v3`. The file is replaced; its signature, if it has
    one, is gone.

    Raises:
        ValueError: the program has code for it, or nothing here makes such code.

    >>> import tandem, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "relu.tandem")
    >>> tandem.export.export(tandem.relu, (tandem.ones(2),), targets=["x86-64-v3"]).save(path)
    >>> tandem.export.add_target(path, "x86-64-v4")
    >>> tandem.export.load(path).targets
    ['x86-64-v3', 'x86-64-v4']
    """
    _nvidia.name_folders()
    program = _C.Program(os.fspath(f), ir_only=True)
    members = {name: program.member(name) for name in program.members() if name != "signature"}
    try:
        members.update(_C._add_target(members["manifest"], target))
    except tandem.InternalError as error:
        raise ValueError(f"add_target: {error}") from None
    write_archive(f, members)
