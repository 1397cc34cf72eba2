"""`ExportedProgram`: a program that was traced or loaded, from Python."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import tandem
from tandem import _C, Tensor, _nvidia
from tandem.export._archive import (
    MANIFEST,
    SIGNATURE,
    WEIGHTS,
    beside,
    member_names,
    read_archive,
    write_archive,
    write_file,
)
from tandem.export._calls import Calls
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter

_PARAMETER, _BUFFER = 0, 1


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
        self._entries = [Calls(number, described) for number, described in enumerate(self._about["entries"])]

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
    def device(self) -> tandem.device:
        """Where it runs, and its state is."""
        return tandem.device(self._about["device"])

    @property
    def notes(self) -> dict[str, str]:
        """The texts that were saved with it."""
        return dict(self._about["notes"])

    def _entry(self, name: str) -> Calls:
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

    def _run(self, entry: Calls, args: tuple[Any, ...], kwargs: dict[str, Any], numbers: Any) -> Any:
        tensors, values = entry.read(args, kwargs)
        return entry.build(self._launch(entry, tensors, values, numbers or {}))

    def _launch(
        self, entry: Calls, tensors: list[Tensor], values: list[float], numbers: dict[str, float]
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

    # --- what PyTorch's ExportedProgram has

    @property
    def range_constraints(self) -> dict[str, tuple[int, int]]:
        """The sizes that calls choose, with the least and the largest value of each."""
        return {name: (least, most) for entry in self._entries for name, least, most, _ in entry.sizes}

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """The names of the first entry's arguments and results, and of the state."""
        first = self._entries[0]
        state = self._about["state"]
        return ExportGraphSignature(
            user_inputs=tuple([name for name, _, _, _ in first.arguments]),
            user_outputs=tuple([name for name, _, _, _ in first.results]),
            parameters=tuple([name for name, kind, _, _, _ in state if kind == _PARAMETER]),
            buffers=tuple([name for name, kind, _, _, _ in state if kind == _BUFFER]),
            lifted_tensor_constants=tuple([name for name, kind, _, _, _ in state if kind not in (_PARAMETER, _BUFFER)]),
            buffers_to_mutate={name: name for name, kind, _, _, changes in state if kind == _BUFFER and changes},
        )

    @property
    def constants(self) -> dict[str, Tensor]:
        """The tensors of the state that are neither parameters nor buffers."""
        names = self.graph_signature.lifted_tensor_constants
        return {name: t for name, t in self._state() if name in names}

    tensor_constants = constants

    def run_decompositions(self, decomp_table: Any = None) -> ExportedProgram:
        """The program itself: what it runs are kernels already. Another table than the default one is refused."""
        if decomp_table:
            raise NotImplementedError(
                "run_decompositions: decomp_table: a saved program has kernels, and no operations to take apart"
            )
        return self

    def validate(self) -> None:
        """Nothing: what a program says was checked when it was made or opened."""

    @property
    def graph_module(self) -> Any:
        """NotImplementedError: a program has plans of kernels, which `graph` shows as text."""
        raise NotImplementedError("graph_module: a saved program has plans of kernels; its `graph` shows them as text")

    @property
    def example_inputs(self) -> Any:
        """NotImplementedError: the file has the shapes and dtypes of the examples, and not their elements."""
        raise NotImplementedError("example_inputs: a saved program keeps the examples' shapes, and not their elements")

    def __deepcopy__(self, memo: Any) -> ExportedProgram:
        """The program with a copy of its present state and of its random generator."""
        return self._with_state(self.fork(), self._changing(), self._program.generator())

    def __reduce__(self) -> Any:
        """Pickled with all of the file, its present state and its random generator."""
        file = io.BytesIO()
        self.save(file)
        return _unpickled, (file.getvalue(), self._changing(), self._program.generator())

    def _changing(self) -> dict[str, Tensor]:
        """What entries change, copied."""
        changing = {name for name, _, _, _, changes in self._about["state"] if changes}
        return {name: tensor.clone() for name, tensor in self._state() if name in changing}

    @staticmethod
    def _with_state(program: ExportedProgram, state: dict[str, Tensor], generator: Any) -> ExportedProgram:
        program.load_state_dict(state)
        program._program.generator(*generator)
        return program

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
            if not changes and not bool((self._program.state(number) == tensor.to(self.device)).all()):
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

    def _on(self, device: tandem.device) -> ExportedProgram:
        """The program with its present state and its random generator on another device."""
        members = self._members
        if members is None:
            members = {name: self._program.member(name) for name in self._program.members()}
        moved = ExportedProgram(_C.Program(members, device=str(device)), members)
        return self._with_state(moved, self._changing(), self._program.generator())

    def module(self) -> Module:
        """The program as a module: its parameters and buffers under their names, its first entry as `forward`."""
        return ProgramModule(self)

    # --- the file

    def save(
        self,
        path: str | os.PathLike[str] | IO[bytes],
        *,
        external_weights: bool = False,
        extra_files: Mapping[str, str | bytes] | None = None,
    ) -> None:
        """Write the file, with the state as it was traced or loaded. On a path it is written aside and renamed.

        With `external_weights` the weights are a file of their own, `<path>.safetensors`, which must lie beside the
        program's wherever that is opened. `extra_files` are texts that the file has among its notes; one that is signed
        loses its signature by them.
        """
        members = self._members
        if members is None:
            members = {name: self._program.member(name) for name in self._program.members()}
        if extra_files:
            texts = [(name, _text(name, value)) for name, value in extra_files.items()]
            members = {name: data for name, data in members.items() if name != SIGNATURE}
            members[MANIFEST] = _C._with_notes(members[MANIFEST], texts)
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


@dataclass(frozen=True)
class ExportGraphSignature:
    """The names of what a program takes, gives and has: `ExportedProgram.graph_signature`.

    >>> import tandem
    >>> signature = tandem.export.export(tandem.nn.Linear(3, 2), (tandem.ones(1, 3),)).graph_signature
    >>> signature.user_inputs, signature.parameters
    (('input',), ('weight', 'bias'))
    """

    user_inputs: tuple[str, ...]
    user_outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    buffers: tuple[str, ...]
    lifted_tensor_constants: tuple[str, ...]
    buffers_to_mutate: dict[str, str]

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Each parameter under its own name, as the program has it."""
        return {name: name for name in self.parameters}

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """And each buffer."""
        return {name: name for name in self.buffers}


def _text(name: str, value: str | bytes) -> str:
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"save: extra_files: {name}: expected a text, got {type(value).__name__}")
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        raise ValueError(f"save: extra_files: {name} is no text: notes are of UTF-8") from None


def _unpickled(file: bytes, state: dict[str, Tensor], generator: Any) -> ExportedProgram:
    return ExportedProgram._with_state(load(io.BytesIO(file)), state, generator)


class _Part(Module):
    """A module of a program's tensors: each may be written to, and none replaced."""

    def __setattr__(self, name: str, value: Any) -> None:
        for own in (self.__dict__.get("_parameters", {}), self.__dict__.get("_buffers", {})):
            if name in own and own[name] is not value:
                raise RuntimeError(f"{name} of a saved program's module cannot be replaced: change it in place")
        super().__setattr__(name, value)


class ProgramModule(_Part):
    """What `ExportedProgram.module` gives. Tensors that entries change are the program's own memory; the others are
    copies to look at, and a call after one of them was changed is an error."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self._show(program)

    def _show(self, program: ExportedProgram) -> None:
        """Has the tensors of a program, in the place of those before."""
        self._exported = program
        for part in self.modules():
            part._parameters.clear()
            part._buffers.clear()
        copies = []
        for (name, tensor), (_, kind, _, _, changes) in zip(program._state(), program._about["state"], strict=True):
            if kind == _PARAMETER:
                home, last = self._home(name)
                home.register_parameter(last, Parameter(tensor, requires_grad=False))
            elif kind == _BUFFER:
                home, last = self._home(name)
                home.register_buffer(last, tensor)
            if kind in (_PARAMETER, _BUFFER) and not changes:
                copies.append((name, getattr(home, last)))
        self._copied = [name for name, _ in copies]
        self._copies = [tensor for _, tensor in copies]
        self._versions = [tensor._version for tensor in self._copies]

    def _home(self, name: str) -> tuple[Module, str]:
        module: Module = self
        *path, last = name.split(".")
        for part in path:
            if part not in module._modules:
                module.add_module(part, _Part())
            module = module._modules[part]  # type: ignore[assignment]
        return module, last

    def _check(self) -> None:
        """RuntimeError where a tensor has other elements now than the program, which does not read it from here."""
        own = dict(self._exported._state())
        for name, tensor in zip(self._copied, self._copies, strict=True):
            if tensor.dtype != own[name].dtype or not tandem.equal(tensor.detach(), own[name]):
                raise RuntimeError(
                    f"{name} of a saved program's module was changed, which the program does not see: no entry changes "
                    "it; export the model again"
                )
        self._versions = [tensor._version for tensor in self._copies]

    def _apply(self, fn: Callable[..., Tensor], recurse: bool = True) -> ProgramModule:
        place = self._exported.device
        for name, tensor in [*self.named_parameters(), *self.named_buffers()]:
            if (made := fn(tensor)).dtype != tensor.dtype:
                raise NotImplementedError(
                    f"a saved program is for the dtypes that it was traced with: {name} is {tensor.dtype}, and cannot "
                    f"become {made.dtype}"
                )
            place = made.device
        if place != self._exported.device:
            self._check()
            self._show(self._exported._on(place))
        return self

    def __deepcopy__(self, memo: Any) -> ProgramModule:
        """Of a deep copy of the program."""
        return ProgramModule(copy.deepcopy(self._exported, memo)).train(self.training)

    def __reduce__(self) -> Any:
        return ProgramModule, (self._exported,)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program's first entry."""
        if [tensor._version for tensor in self._copies] != self._versions:
            self._check()
        return self._exported(*args, **kwargs)

    @property
    def graph(self) -> str:
        """What the program computes, as text: `ExportedProgram.graph`."""
        return self._exported.graph

    def save(
        self, f: str | os.PathLike[str] | IO[bytes], _extra_files: Mapping[str, str | bytes] | None = None
    ) -> None:
        """Write the program to a file."""
        self._exported.save(f, extra_files=_extra_files)


def save(
    ep: ExportedProgram,
    f: str | os.PathLike[str] | IO[bytes],
    *,
    extra_files: Mapping[str, str | bytes] | None = None,
    opset_version: Any = None,
    pickle_protocol: Any = None,
    external_weights: bool = False,
) -> None:
    """Write a program to a file: `ep.save(f, external_weights=external_weights, extra_files=extra_files)`.

    Args:
        ep: the program.
        f: a path, or an open binary file.
        extra_files: texts to keep in the file by name, among its `notes`.
        opset_version, pickle_protocol: PyTorch's, without effect.
        external_weights: write the weights to a file of their own, beside the program's.

    >>> import io, tandem
    >>> file = io.BytesIO()
    >>> tandem.export.save(tandem.export.export(tandem.relu, (tandem.ones(2),)), file)
    >>> file.getvalue()[:2]
    b'PK'
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"export.save: expected an ExportedProgram, got {type(ep).__name__}")
    ep.save(f, external_weights=external_weights, extra_files=extra_files)


def load(
    f: str | os.PathLike[str] | IO[bytes],
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: Any = None,
    require_signature: bytes | None = None,
    verify: bool = False,
    ir_only: bool = False,
    device: str | tandem.device | None = None,
) -> ExportedProgram:
    """Open a program that was saved.

    A saved program is machine code: open those alone that you trust, or whose signature you require.

    Args:
        f: the file's path. It is mapped, and must not be changed while the program is used; to replace it, write
            another one and rename it. An open binary file is read into memory instead.
        extra_files: a dict whose keys are names of notes; the notes' texts are put there.
        expected_opset_version: PyTorch's, without effect.
        require_signature: an Ed25519 public key of 32 bytes, which the file must be signed with.
        verify: compare all of the file with the hashes in it, not only the code that is used.
        ir_only: run no machine code of the file: its kernels are compiled here, from what the file says they compute.
        device: where it runs: `"cpu"`, or a GPU as `"cuda"`, for which the program has a target; None for the kind of
            device that it was made on. Its weights are copied there, and its state is there. Calls give their results
            where their tensors are: on the CPU, or on that GPU.

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
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "read"):
        raise TypeError(f"export.load: expected a path or an open binary file, got {type(f).__name__}")
    source: Any = os.fspath(f) if isinstance(f, (str, os.PathLike)) else read_archive(f)
    _nvidia.name_folders()
    place = None if device is None else str(device)
    key = require_signature or b""
    try:
        program = _C.Program(source, signed_by=key, verify=verify, ir_only=ir_only, device=place)
    except RuntimeError as error:
        if place is not None or "is not available" not in str(error):
            raise
        raise RuntimeError(f"{error}; the program was made on a GPU: load(..., device='cpu') runs it here") from None
    made = ExportedProgram(program, source if isinstance(source, dict) else None)
    if extra_files is not None:
        extra_files.update({name: made.notes.get(name, "") for name in extra_files})
    return made


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
    program = _C.Program(os.fspath(f), ir_only=True, device="cpu")
    # Weights beside the file stay there.
    members = {name: program.member(name) for name in member_names(f) if name != SIGNATURE}
    members.update(_C._add_target(members[MANIFEST], target))
    write_archive(f, members)
