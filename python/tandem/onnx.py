"""`tandem.onnx`: names that code imports. Nothing is exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tandem._stand_in import lacking_classes, lacking_functions

F = TypeVar("F", bound=Callable[..., Any])


def is_in_onnx_export() -> bool:
    """False: nothing is exported.

    >>> import tandem
    >>> tandem.onnx.is_in_onnx_export()
    False
    """
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Does nothing with what an operation is in files of ONNX: none are written."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Does nothing."""


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """A decorator that gives such a function itself."""
    return lambda fn: fn


globals().update(lacking_functions(__name__, "export dynamo_export"))
globals().update(lacking_classes(__name__, "ExportOptions ONNXProgram OperatorExportTypes TrainingMode"))
