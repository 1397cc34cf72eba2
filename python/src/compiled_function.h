// tandem._C.CompiledFunction: a function with the traces made of it. See compiled_function.cpp.
#pragma once

#include <Python.h>

namespace tandem::python {
/// A hook was registered; if that was while a function is traced, every call will register it.
void noteHook(PyObject* hook);
void initCompiledFunction(PyObject* module);
}  // namespace tandem::python
