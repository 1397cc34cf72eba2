"""Saved programs: trace a module, a function with its gradients or a whole training step, save it to one file, and run
that from Python or from C, without the code that it was made of. `docs/deploy.md` walks through it.
"""

from __future__ import annotations

from tandem.export._export import Entry, entries, export, training_step, with_gradients
from tandem.export._program import ExportedProgram, add_target, load, save
from tandem.export._signature import generate_key, sign
from tandem.export._sizes import Dim, dims

__all__ = [
    "Dim",
    "Entry",
    "ExportedProgram",
    "add_target",
    "dims",
    "entries",
    "export",
    "generate_key",
    "load",
    "save",
    "sign",
    "training_step",
    "with_gradients",
]
