// tandem._C.CompiledFunction: a function with the traces made of it. See compiled_function.cpp.
#pragma once

#include <Python.h>

namespace tandem::python {
bool isCompiledFunction(PyObject* o);
/// What was compiled, borrowed.
PyObject* compiledCallable(PyObject* o);
void initCompiledFunction(PyObject* module);
}  // namespace tandem::python
