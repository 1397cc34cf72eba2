// _C._survey_device: what code operations need on GPUs that are not here. See code_survey.cpp.
#pragma once

#include <Python.h>

namespace tandem::python {
void initCodeSurvey(PyObject* module);
}  // namespace tandem::python
