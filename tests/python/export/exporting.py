"""What tests of saved programs share: running them through the C functions, in another process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from operations import generated

import tandem

LIBRARY = generated().parent / "lib" / "libtandem_runtime.so"
# The processor whose code runs here.
TARGET = tandem.export.export(tandem.neg, (tandem.ones(1),)).target
RUNNER = Path(__file__).parent.parent / "tables" / "c_programs.py"


def raw(t: tandem.Tensor) -> np.ndarray:
    """The elements; of bfloat16, which NumPy lacks, the bits as uint16."""
    t = t.detach().contiguous()
    return t.view(tandem.int16).numpy().view(np.uint16) if t.dtype == tandem.bfloat16 else t.numpy()


def same(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Is every bit the same? NaNs count as one."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    if actual.dtype.kind == "f":
        both = np.isnan(actual) & np.isnan(expected)
        actual, expected = np.where(both, 0, actual), np.where(both, 0, expected)
    return actual.tobytes() == expected.tobytes()


class Jobs:
    """Runs of saved programs, collected, and then done by one process without Tandem."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs: list[list[object]] = []
        self.expected: list[list[np.ndarray]] = []

    def add(
        self, program: tandem.export.ExportedProgram, entry: str, arguments: list[tandem.Tensor],
        expected: list[tandem.Tensor], threads: int = 1, sizes: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        """A run of an entry with the file's state, for these of its sizes."""
        stem = str(self.folder / str(len(self.jobs)))
        program.save(stem + ".tandem")
        np.savez(stem + ".in.npz", **{str(k): raw(a) for k, a in enumerate(arguments)})
        self.jobs.append([stem + ".tandem", entry, stem + ".in.npz", stem + ".out.npz", threads, sizes])
        self.expected.append([raw(t) for t in expected])

    def run(self) -> list[str]:
        """Runs all; the number of each whose results have other bits."""
        (self.folder / "jobs.json").write_text(json.dumps(self.jobs))
        done = subprocess.run(
            [sys.executable, str(RUNNER), str(LIBRARY), str(self.folder)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        wrong = []
        for k, (job, expected) in enumerate(zip(self.jobs, self.expected, strict=True)):
            found = np.load(str(job[3]))
            for r, want in enumerate(expected):
                if not same(found[str(r)], want):
                    wrong.append(f"run {k}, result {r}: {found[str(r)]} {want}")
        return wrong
