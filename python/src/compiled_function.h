// tandem._C.CompiledFunction: a function with the traces made of it. See compiled_function.cpp.
#pragma once

#include <Python.h>

namespace tandem::python {
void initCompiledFunction(PyObject* module);
}  // namespace tandem::python
