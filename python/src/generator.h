// tandem.Generator.
#pragma once

#include <Python.h>

#include "eager/generator.h"

namespace tandem::python {

bool isGenerator(PyObject* o);
/// Null for the object that stands for the default generator.
Generator* generatorOf(PyObject* o);
/// What `manual_seed` takes: from -2^63 to 2^64 - 1, where those from 2^63 on stand for their bits.
std::int64_t seedOf(PyObject* o);
/// Error where it is of another device than that of the call.
void checkGeneratorDevice(PyObject* o);
void initGenerator(PyObject* module);

}  // namespace tandem::python
