"""Saved programs: trace a module, a function with its gradients or a whole training step, save it to one file, and run
that from Python or from C, without the code that it was made of. `docs/deploy.md` walks through it.
"""

from __future__ import annotations

from tandem._stand_in import lacking_classes, lacking_functions
from tandem.export._export import Entry, entries, export, training_step, with_gradients
from tandem.export._program import ExportedProgram, ExportGraphSignature, add_target, load, save
from tandem.export._signature import generate_key, sign
from tandem.export._sizes import Dim, dims

__all__ = [
    "Dim",
    "Entry",
    "ExportGraphSignature",
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

globals().update(
    lacking_classes(__name__, "AdditionalInputs Constraint ModuleCallEntry ShapesCollection UnflattenedModule")
)
globals().update(
    lacking_functions(__name__, "default_decompositions draft_export export_for_training register_dataclass unflatten")
)
