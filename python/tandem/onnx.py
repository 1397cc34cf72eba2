"""`tandem.onnx`: names that code imports. Nothing is exported."""

from __future__ import annotations

from tandem._stand_in import lacking_classes, lacking_functions


def is_in_onnx_export() -> bool:
    """False: nothing is exported.

    >>> import tandem
    >>> tandem.onnx.is_in_onnx_export()
    False
    """
    return False


globals().update(
    lacking_functions(__name__, "export dynamo_export register_custom_op_symbolic unregister_custom_op_symbolic")
)
globals().update(lacking_classes(__name__, "ExportOptions ONNXProgram OperatorExportTypes TrainingMode"))
