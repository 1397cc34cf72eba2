// Float arguments of a function whose body is being recorded for later calls: ordinary float objects, known by
// identity, that stand for a slot of the trace. C++ that takes a number from Python asks here first (observer.h).
#pragma once

#include <Python.h>

#include "runtime/base/scalar.h"

namespace tandem::python {

/// The slot that `number` stands for; null for others, and outside such a recording.
const Scalar* trackedSlot(PyObject* number);
/// The value of `number` is about to be used: the trace holds for calls with the same value only.
void useTracked(PyObject* number);

}  // namespace tandem::python
