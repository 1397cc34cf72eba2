// Functions of the module: those made from the records, and those that no record makes.
#pragma once

#include <Python.h>

namespace tandem::python {

/// Adds the generated functions, and the modules _nn, _linalg and _special with theirs.
void initGenerated(PyObject* module);
/// Calls `f` for the definition of every generated function.
void forGenerated(void (*f)(const PyMethodDef* definition));
/// Is there a generated method of tensors of this name?
bool isGeneratedMethod(const char* name);
/// tensor, from_numpy, dtypes' rules, modes, threads, counters, memory.
void initModuleFunctions(PyObject* module);

}  // namespace tandem::python
