"""`python -m tandem inspect`, `run` and `bench`: saved programs from a shell."""

from __future__ import annotations

import argparse
import os
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import IO, Any

import numpy as np
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

import tandem
from tandem import Tensor
from tandem._files import replace_file
from tandem.export._archive import SIGNATURE, WEIGHTS, beside
from tandem.export._calls import Calls
from tandem.export._program import ExportedProgram, load

_FREEDOM = ("yes", "not to or from zero", "no")
_KINDS = ("parameter", "buffer", "other")


class _Refused(Exception):
    """What the user asked for cannot be done."""


def _parser(command: str) -> argparse.ArgumentParser:
    text = {
        "inspect": "Show what is in a saved program. Exit code 1: its weights are damaged.",
        "run": "Run an entry of a saved program.",
        "bench": "Measure an entry of a saved program, with random inputs.",
    }[command]
    parser = argparse.ArgumentParser(prog=f"python -m tandem {command}", description=text)
    if command == "inspect":
        parser.add_argument("file", nargs="+", help="a saved program")
        parser.add_argument(
            "--functions",
            action="store_true",
            help="print the table of the library functions that these programs call, as C++, for a statically linked "
            "program that is to hold no others (tandem/functions.hpp)",
        )
        return parser
    parser.add_argument("file", help="a saved program")
    if command == "run":
        parser.add_argument(
            "inputs",
            nargs="*",
            metavar="[NAME=]INPUT",
            help=".npy files, for the arguments in order or by name, and .npz files of arrays with the arguments' "
            "names; bfloat16 is passed as float32",
        )
        filled = parser.add_mutually_exclusive_group()
        filled.add_argument("--zeros", action="store_true", help="zeros for arguments without an input")
        filled.add_argument(
            "--random", action="store_true", help="for arguments without an input normal numbers; integers are zero"
        )
        parser.add_argument("--output", metavar="FILE", help="write the results to this .npz file")
        parser.add_argument("--state", metavar="FILE", help="begin with the state in this file")
        parser.add_argument("--save-state", metavar="FILE", help="write the state after the run")
        parser.add_argument("--seed", type=int, metavar="N", help="of the program's random generator, and of --random")
    else:
        parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="how long (default: 2)")
    parser.add_argument("--entry", metavar="NAME", help="which entry (default: the first)")
    parser.add_argument("--number", action="append", default=[], metavar="NAME=VALUE", help="replace a saved number")
    parser.add_argument(
        "--size", action="append", default=[], metavar="NAME=N",
        help="a size of arguments without an input (default: that of the inputs, else the example's)",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, metavar="N", help="how many threads a run may use")
    return parser


def main(command: str, arguments: list[str]) -> int:
    """Run a command; its exit code. 2, and one line on stderr, where it cannot be done."""
    options = _parser(command).parse_intermixed_args(arguments)
    try:
        files: list[str] = options.file if command == "inspect" else [options.file]
        for file in files:
            if not os.path.isfile(file):
                raise _Refused(f"{file}: no such file")
        if command == "inspect":
            return _functions(files) if options.functions else max(_inspect(file) for file in files)
        return {"run": _run, "bench": _bench}[command](options)
    except (_Refused, OSError, ValueError, TypeError, KeyError, IndexError, RuntimeError) as error:
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        print(f"python -m tandem {command}: error: {text}", file=sys.stderr)
        return 2


# ---- what is shown


def _console() -> Console:
    # Text that goes to a file or another program is not broken to fit a terminal.
    width = None if sys.stdout.isatty() else 160
    return Console(file=sys.stdout, width=width, markup=False, highlight=False, emoji=False)


def _table(console: Console, title: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
    """A table, unless it has no rows. Columns whose names end in `>` are aligned to the right."""
    if not rows:
        return
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in columns.split(", "):
        table.add_column(name.rstrip(">"), justify="right" if name.endswith(">") else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(str, row))
    console.print(table)


def _yes(value: Any) -> str:
    return "yes" if value else ""


def _tensor(dtype: Any, shape: Any, text: str = "") -> tuple[str, str, str]:
    """Dtype, shape and bytes of a tensor, to be shown; `text` is its shape where calls choose sizes."""
    return (
        str(dtype).removeprefix("tandem."),
        text or str(list(shape)),
        decimal(tandem.Size(shape).numel() * dtype.itemsize),
    )


def _opened(file: str, verify: bool = False) -> ExportedProgram:
    """Where it was made, or on the CPU where there is no such device."""
    try:
        return load(file, verify=verify)
    except NotImplementedError:
        raise
    except RuntimeError:
        return load(file, verify=verify, device="cpu")


def _inspect(file: str) -> int:
    damage = ""
    try:
        program = _opened(file, verify=True)
    except ValueError as error:
        # Damaged weights can be shown; code is always compared with its hashes.
        damage = str(error)
        program = _opened(file)
    with zipfile.ZipFile(file) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    about = program._about
    console = _console()
    inside = WEIGHTS in sizes
    weights = sizes[WEIGHTS] if inside else os.path.getsize(beside(file))
    code: Counter[str] = Counter()
    objects: Counter[str] = Counter()
    for name, size in sizes.items():
        if name.startswith(("cpu/", "gpu/")):
            code[name.split("/")[1]] += size
            objects[name.split("/")[1]] += 1
    facts = [
        ("made by", about["producer"]),
        *([("made on", "a GPU: " + about["made_on"])] if about["made_on"] else []),
        ("file", decimal(os.path.getsize(file))),
        ("weights", decimal(weights) + ("" if inside else f", in {beside(file)}")),
        ("kernels", about["kernels"]),
        ("library functions", ", ".join(about["functions"]) or "none"),
        ("signed", "yes; load(require_signature=key) says by whom" if SIGNATURE in sizes else "no"),
        ("hashes", damage or "all members are as they were saved"),
    ]
    facts += [(f"note: {key}", text) for key, text in about["notes"]]
    _table(console, file, "what, is", facts)
    rows = [(t, _yes(t == program.target), objects[t], decimal(code[t])) for t in program.targets]
    _table(console, "targets", "target, runs here, objects>, code>", rows)
    for entry in program._entries:
        lines: list[tuple[Any, ...]] = []
        for name, least, most, example in entry.sizes:
            lines.append(("size", name, "", f"{least} to {most}; what follows is for {example}", "", ""))
        arguments, results = entry.shapes()
        for (name, dtype, shape, changes), text in zip(entry.arguments, arguments, strict=True):
            lines.append(("argument", name, *_tensor(dtype, shape, text), _yes(changes)))
        for name, value, freedom in entry.numbers:
            lines.append(("number", name, type(value).__name__, value, "", _FREEDOM[freedom]))
        for (name, dtype, shape, _), text in zip(entry.results, results, strict=True):
            lines.append(("result", name, *_tensor(dtype, shape, text), ""))
        _table(console, f"entry {entry.name}", "what, name, dtype, shape or value, size>, may change", lines)
    state = [(n, _KINDS[kind], *_tensor(d, shape), _yes(changes)) for n, kind, d, shape, changes in about["state"]]
    _table(console, "state", "name, kind, dtype, shape, size>, changes", state)
    return 1 if damage else 0


def _functions(files: list[str]) -> int:
    names = sorted({name for file in files for name in load(file, device="cpu")._about["functions"]})
    print("#define TANDEM_FUNCTIONS(X)", *(f"X({name})" for name in names))
    print("#include <tandem/functions.hpp>")
    return 0


# ---- what is run


def _arrays(path: str) -> Any:
    """The array of an .npy file; those of an .npz file by name."""
    try:
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return content
        with content:
            arrays = {key: content[key] for key in content.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise _Refused(f"{path}: neither .npy nor .npz: {error}") from None
    if not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise _Refused(f"{path}: neither .npy nor .npz")
    return arrays


class _Call:
    """An entry with its arguments, ready to be run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.program: ExportedProgram = load(options.file)
        self.entry: Calls = self.program._entry(options.entry) if options.entry else self.program._entries[0]
        if options.threads is not None:
            tandem.set_num_threads(options.threads)
        self.numbers = dict(self._number(text) for text in options.number)
        self.tensors: list[Tensor | None] = [None] * len(self.entry.arguments)
        self.sizes = dict(self._size(text) for text in options.size)

    def _size(self, text: str) -> tuple[str, int]:
        name, _, value = text.partition("=")
        known = {size: (least, most) for size, least, most, _ in self.entry.sizes}
        if name not in known:
            raise _Refused(f"{self.entry.name} has no size called {name!r}: it has {', '.join(known) or 'none'}")
        least, most = known[name]
        if not value.isdigit() or not least <= int(value) <= most:
            raise _Refused(f"--size {text}: {name} goes from {least} to {most}")
        return name, int(value)

    def _number(self, text: str) -> tuple[str, float]:
        name, equals, value = text.partition("=")
        if not equals:
            raise _Refused(f"--number {text}: expected NAME=VALUE")
        known = self.program.numbers(self.entry.name)
        if name not in known:
            raise _Refused(f"{self.entry.name} has no number called {name!r}: it has {', '.join(known) or 'none'}")
        try:
            return name, int(value) if type(known[name]) is int else float(value)
        except ValueError:
            raise _Refused(f"--number {text}: {value!r} is no {type(known[name]).__name__}") from None

    def _place(self, name: str) -> int:
        names = [n for n, *_ in self.entry.arguments]
        if name not in names:
            raise _Refused(f"{self.entry.name} has no argument called {name!r}: it has {', '.join(names) or 'none'}")
        return names.index(name)

    def _give(self, place: int, array: Any, source: str) -> None:
        name, dtype, _, _ = self.entry.arguments[place]
        shape = self.entry.shape_like(place, array.shape)
        if self.tensors[place] is not None:
            raise _Refused(f"{source}: {name} is given twice")
        wanted = np.dtype("float32" if dtype == tandem.bfloat16 else str(dtype).removeprefix("tandem."))
        if array.dtype != wanted or array.shape != shape:
            text = self.entry.shapes()[0][place]
            raise _Refused(f"{source}: expected {name} to be {wanted} {text}, got {array.dtype} {list(array.shape)}")
        self.tensors[place] = tandem.tensor(array).to(dtype)

    def read(self, inputs: list[str]) -> None:
        """Take arguments from files."""
        for given in inputs:
            name, equals, path = given.partition("=") if not os.path.exists(given) else ("", "", given)
            if not equals:
                path = given
            if not os.path.isfile(path):
                raise _Refused(f"{path}: no such file")
            arrays = _arrays(path)
            if not isinstance(arrays, dict):
                free = [k for k, t in enumerate(self.tensors) if t is None]
                if not name and not free:
                    raise _Refused(f"{path}: {self.entry.name} takes {len(self.tensors)} tensors")
                self._give(self._place(name) if name else free[0], arrays, path)
            elif name:
                raise _Refused(f"{given}: an .npz file names its arrays itself")
            else:
                for key, array in arrays.items():
                    self._give(self._place(key), array, path)

    def fill(self, seed: int | None, random: bool) -> None:
        """Make the arguments that are not given: normal numbers where they are asked for, else zeros."""
        draw = np.random.default_rng(seed)
        sizes = {**self.entry.sizes_of([None if t is None else t.shape for t in self.tensors]), **self.sizes}
        for k, (_, dtype, _, _) in enumerate(self.entry.arguments):
            shape = self.entry.shape_for(k, sizes)
            if self.tensors[k] is None and random and dtype.is_floating_point:
                self.tensors[k] = tandem.tensor(draw.standard_normal(shape, np.float32)).to(dtype)
            elif self.tensors[k] is None:
                self.tensors[k] = tandem.zeros(shape, dtype=dtype)

    def __call__(self) -> list[Tensor]:
        """The results of a run."""
        tensors = [t for t in self.tensors if t is not None]
        saved = [value for _, value, _ in self.entry.numbers]
        return self.program._launch(self.entry, tensors, saved, self.numbers)


def _run(options: argparse.Namespace) -> int:
    call = _Call(options)
    call.read(options.inputs)
    if options.zeros or options.random:
        call.fill(options.seed, options.random)
    missing = [name for (name, *_), t in zip(call.entry.arguments, call.tensors, strict=True) if t is None]
    if missing:
        raise _Refused(f"{call.entry.name} needs {', '.join(missing)}: give files, --zeros or --random")
    if options.state:
        call.program.load_state(options.state)
    if options.seed is not None:
        call.program.manual_seed(options.seed)
    results = dict(zip([name for name, *_ in call.entry.results], call(), strict=True))
    if options.save_state:
        call.program.save_state(options.save_state)
    if options.output:
        _write(options.output, results)
    else:
        for name, result in results.items():
            print(f"{name} = {result}")
    return 0


def _write(path: str, results: dict[str, Tensor]) -> None:
    """An .npz file; np.savez would not take every name."""

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, result in results.items():
                array = (result.float() if result.dtype == tandem.bfloat16 else result).numpy()
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.save(member, array, allow_pickle=False)

    replace_file(path, write)


def _bench(options: argparse.Namespace) -> int:
    if not options.seconds > 0:
        raise _Refused(f"--seconds {options.seconds}: expected a positive number")
    call = _Call(options)
    call.fill(0, True)
    call()
    times: list[float] = []
    end = time.perf_counter() + options.seconds
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    row = [len(times), *(f"{1e6 * t:.1f}" for t in (min(times), float(np.median(times)), sum(times) / len(times)))]
    title = f"{Path(options.file).name}: {call.entry.name}, {call.program.target}, {tandem.get_num_threads()} threads"
    _table(_console(), title, "runs>, best (us)>, median (us)>, mean (us)>", [tuple(row)])
    return 0
