// What Python asks of the backward that runs, and of the count of writes that it checks.
#pragma once

#include <Python.h>

namespace tandem::python {

void initEngine(PyObject* module);

}  // namespace tandem::python
