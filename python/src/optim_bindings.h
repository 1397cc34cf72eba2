// The one function optimizers call: a step over lists of tensors.
#pragma once

#include <Python.h>

namespace tandem::python {

/// Adds `_optimizer_update` to the module.
void initOptim(PyObject* module);

}  // namespace tandem::python
