// What reads an attribute of an `nn.Module`, and what calls it.
#pragma once

#include <Python.h>

namespace tandem::python {

/// Adds the function by which a class of modules gets them to the module.
void initModuleSlots(PyObject* module);

}  // namespace tandem::python
