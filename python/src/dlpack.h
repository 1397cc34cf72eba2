// DLPack's capsules, and memory of GPUs by its address.
#pragma once

#include <Python.h>

namespace tandem::python {

/// Adds `_to_dlpack`, `_from_dlpack` and `_from_address` to the module.
void initDlpack(PyObject* module);

}  // namespace tandem::python
