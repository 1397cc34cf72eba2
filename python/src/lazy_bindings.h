// lazy, compile, eval, export and what optimizers stand on, in Python.
#pragma once

#include <Python.h>

namespace tandem::python {

/// Adds them to the module.
void initLazy(PyObject* module);

}  // namespace tandem::python
