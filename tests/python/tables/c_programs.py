"""Saved programs through the C functions of libtandem_runtime, in a process that has NumPy and no Tandem.

`c_programs.py LIBRARY JOBS`: JOBS is a folder with `jobs.json`, a list of [program, entry, inputs, outputs, threads,
sizes]: an `.npz` of arguments by number, or null where the entry has none, where to write the results, and which of the
entry's sizes to set.
"""

from __future__ import annotations

import ctypes as c
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "uint16",
    "float32",
    "float64",
]  # bfloat16: raw


class Info(c.Structure):
    """tandem_tensor_info."""

    _fields_ = [
        ("name", c.c_char_p),
        ("dtype", c.c_int),
        ("rank", c.c_size_t),
        ("shape", c.POINTER(c.c_int64)),
        ("bytes", c.c_size_t),
        ("changes", c.c_int),
    ]


class Library:
    """The functions, with errors as exceptions."""

    def __init__(self, path: str) -> None:
        self.c = c.CDLL(path)
        self.c.tandem_error_text.restype = c.c_char_p
        self.c.tandem_error_get_code.argtypes = [c.c_void_p]
        self.c.tandem_error_text.argtypes = self.c.tandem_error_free.argtypes = [c.c_void_p]
        self.c.tandem_program_close.argtypes = self.c.tandem_context_free.argtypes = [c.c_void_p]
        for count in (
            "program_entries",
            "entry_sizes",
            "entry_arguments",
            "entry_results",
            "entry_numbers",
            "program_states",
        ):
            getattr(self.c, f"tandem_{count}").restype = c.c_size_t
        self.c.tandem_entry_name.restype = self.c.tandem_program_target.restype = c.c_char_p

    def __call__(self, name: str, *args: Any) -> None:
        function = getattr(self.c, f"tandem_{name}")
        function.restype = c.c_void_p
        error = function(*args)
        if error:
            text = self.c.tandem_error_text(error).decode()
            code = self.c.tandem_error_get_code(error)
            self.c.tandem_error_free(error)
            raise RuntimeError(f"{code}: {text}")


class Program:
    """An opened program and one context of it."""

    def __init__(self, library: Library, path: str) -> None:
        self.library = library
        self.program, self.context = c.c_void_p(), c.c_void_p()
        library("program_open", path.encode(), None, c.byref(self.program))
        library("context_create", self.program, c.byref(self.context))

    def close(self) -> None:
        """Free both."""
        self.library.c.tandem_context_free(self.context)
        self.library.c.tandem_program_close(self.program)

    def entry(self, name: str) -> int:
        """The number of an entry."""
        number = c.c_size_t()
        self.library("find_entry", self.program, name.encode(), c.byref(number))
        return number.value

    def info(self, what: str, entry: int, number: int) -> tuple[str, str, tuple[int, ...]]:
        """Name, dtype and shape of an `argument` or a `result`, for the sizes of this context."""
        info = Info()
        self.library(f"context_{what}", self.context, c.c_size_t(entry), c.c_size_t(number), c.byref(info))
        return info.name.decode(), DTYPES[info.dtype], tuple(info.shape[: info.rank])

    def resize(self, entry: int, sizes: list[int]) -> None:
        """Set the sizes of an entry."""
        assert self.library.c.tandem_entry_sizes(self.program, c.c_size_t(entry)) == len(sizes)
        self.library("set_sizes", self.context, c.c_size_t(entry), (c.c_int64 * max(len(sizes), 1))(*sizes))

    def run(
        self, entry: int, arguments: list[np.ndarray], context: Any = None, numbers: tuple[float, ...] = ()
    ) -> list[np.ndarray]:
        """Results in memory of their own, filled with rubbish before."""
        results = []
        for k in range(self.library.c.tandem_entry_results(self.program, c.c_size_t(entry))):
            _, dtype, shape = self.info("result", entry, k)
            results.append(np.full(shape, 77, dtype))
        for k, a in enumerate(arguments):
            _, dtype, shape = self.info("argument", entry, k)
            assert a.dtype == dtype and a.shape == shape and a.flags.c_contiguous, (k, a.dtype, a.shape, dtype, shape)
        places = [(c.c_void_p * max(len(x), 1))(*[a.ctypes.data for a in x]) for x in (arguments, results)]
        given = (c.c_double * len(numbers))(*numbers) if numbers else None
        self.library("run", context or self.context, c.c_size_t(entry), places[0], given, places[1])
        return results


def main(path: str, folder: str) -> None:
    """Run all jobs."""
    assert "tandem" not in sys.modules
    library = Library(path)
    for file, entry, inputs, outputs, threads, sizes in json.loads((Path(folder) / "jobs.json").read_text()):
        library("set_threads", c.c_int(threads))
        program = Program(library, file)
        given: Any = np.load(inputs) if inputs else {}
        arguments = [np.array(given[str(k)], order="C") for k in range(len(given))]
        number = program.entry(entry)
        program.resize(number, sizes)
        results = program.run(number, arguments)
        np.savez(outputs, **{str(k): r for k, r in enumerate(results)})
        program.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
