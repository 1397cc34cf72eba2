// Numbers of a function whose body is being recorded for later calls, whose values may be others then: a float
// argument, which stands for a slot of the trace, and what `tensor.item()` gave. Each is an object of its own, known by
// identity. C++ that takes a number from Python asks here first (observer.h).
//
//   Until somebody asks for its value such a number is of a class of its own, which is a float's or an int's but that
//   every question (is it true, what is its hash, is it less than another, what is it and another) is told to the
//   observer first. So C code of which no rule speaks cannot look at it unnoticed: `sorted` whose key function gives
//   one, a set that holds one. (What C reads without such a question, an index or an argument, has rules.)
#pragma once

#include <Python.h>

#include "eager/tensor.h"
#include "runtime/base/scalar.h"

namespace tandem::python {

/// The slot that `number` stands for; null for others, and outside such a recording.
const Scalar* trackedSlot(PyObject* number);
/// The value of `number` is about to be used: the trace holds for calls with the same value only.
void useTracked(PyObject* number);

extern PyTypeObject trackedFloatType;
extern PyTypeObject trackedIntType;
inline bool isTracked(PyObject* o) { return Py_TYPE(o) == &trackedFloatType || Py_TYPE(o) == &trackedIntType; }
/// A float, or an int, of no class that users wrote.
inline bool isFloat(PyObject* o) { return PyFloat_CheckExact(o) || Py_TYPE(o) == &trackedFloatType; }
inline bool isInt(PyObject* o) { return PyLong_CheckExact(o) || Py_TYPE(o) == &trackedIntType; }
/// What the interpreter's arithmetic takes as a number.
inline bool isOperand(PyObject* o) { return isFloat(o) || isInt(o) || PyBool_Check(o); }

/// What `tensor.item()` gives where a body is watched: a number that later calls read anew; null where there is none.
PyObject* readNumber(const Tensor& t);
/// Likewise `float(tensor)` and `int(tensor)`.
PyObject* convertedNumber(PyObject* tensor, PyTypeObject* to);

/// A number that nobody else has gets that class, or loses it.
void disguise(PyObject* number);
void reveal(PyObject* number);
/// The int, however small it is, or the float as an object that nobody else has; a new reference.
PyObject* ownNumber(PyObject* number);
void initTrackedNumbers();

}  // namespace tandem::python
