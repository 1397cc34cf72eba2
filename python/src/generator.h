// tandem.Generator.
#pragma once

#include <Python.h>

#include "eager/generator.h"

namespace tandem::python {

bool isGenerator(PyObject* o);
/// Null for the object that stands for the default generator.
Generator* generatorOf(PyObject* o);
/// Error where it is of another device than that of the call.
void checkGeneratorDevice(PyObject* o);
void initGenerator(PyObject* module);

}  // namespace tandem::python
