// A float argument of a function that is being traced: a number whose value is known only when the plan runs.
// Arithmetic on it is recorded as arithmetic on scalar slots; whatever asks for its value (a comparison, float())
// guards the trace by it. Not a subclass of float, whose value C code would read silently.
#pragma once

#include <Python.h>

#include "runtime/base/scalar.h"

namespace tandem::python {

/// What records arithmetic on slots; implemented by the recorder, set for a thread while it traces.
struct SlotArithmetic {
  virtual ~SlotArithmetic() = default;
  /// `op` is one of + - * / % and, for powers, ^; `f` for a floor division. At least one operand has a slot.
  virtual Scalar binary(char op, Scalar left, Scalar right) = 0;
  /// Its value, which the trace depends on from then on: a call with another one is traced again.
  virtual double guard(const Scalar& s) = 0;
};
extern thread_local SlotArithmetic* slotArithmetic;

bool isFloatProxy(PyObject* o);
/// A new reference; `s.slot` must be set.
PyObject* floatProxy(const Scalar& s);
/// `o` must be one.
const Scalar& slotOf(PyObject* o);

void initFloatProxy(PyObject* module);

}  // namespace tandem::python
