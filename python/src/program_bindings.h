// tandem._C.Program: a saved program, opened. See program_bindings.cpp.
#pragma once

#include <Python.h>

namespace tandem::python {
void initProgram(PyObject* module);
}  // namespace tandem::python
