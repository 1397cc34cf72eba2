// Objects that are told apart by what they are and not by what they hold: `is`, dicts and sets of tensors, hashes; and
// what Python's containers ask of the objects that they are indexed, searched and sorted by.
//
// A call's signature says which tensors among its arguments are one, and nothing of which containers are, or of whether
// an argument is an object that the body reaches by another way, too. Where the answer may be another one at a later
// call, it is not asked for.
#include <Python.h>
#include <cmath>

#include "python/src/observer.h"
#include "python/src/py_tensor.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python {

bool Observer::wasThere(PyObject* tensor) const {
  return !covered(tensor) && !fresh(tensor) && (guards_.names(tensor) || guards_.names(tensorOf(tensor).impl()));
}

void Observer::identity(PyObject* a, PyObject* b) {
  if (asksNumber(a, b)) return refuse("the identity of a number is asked");
  for (auto [o, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (!covered(o)) continue;
    const bool container = PyTuple_Check(other) || PyList_Check(other) || PyDict_Check(other);
    if (isTensor(other) ? wasThere(other) : container && !fresh(other))
      return refuse("it is asked whether an argument is another object");
  }
}

void Observer::hashes(PyObject* o) {
  if (isPlain(o)) return;
  if (PyTuple_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) hashes(PyTuple_GET_ITEM(o, i));
    return;
  }
  if (!isTensor(o)) {
    if (isPythonClass(Py_TYPE(o)) || isDerivedValue(o)) readType(o);
    return;
  }
  hashesArgument_ |= covered(o);
  hashesOther_ |= wasThere(o);
  if (hashesArgument_ && hashesOther_) refuse("an argument is looked up among tensors that were there before");
}

void Observer::hashesTensors(PyObject* container, bool pairs) {
  const bool dict = PyDict_Check(container) != 0;
  if (!dict && !PyAnySet_CheckExact(container) && !PyList_CheckExact(container) && !PyTuple_CheckExact(container))
    return;
  const bool outside = !fresh(container) && !covered(container);
  const PyRef keys(dict ? PyDict_Keys(container) : PySequence_List(container));
  PyErr_Clear();
  for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyList_GET_ITEM(keys.get(), i);
    if (pairs && !dict && PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) > 0) key = PyTuple_GET_ITEM(key, 0);
    if (!isTensor(key) && !PyTuple_CheckExact(key)) continue;
    if (outside && isTensor(key)) value(key);
    hashesOther_ |= outside && isTensor(key);
    hashes(key);
  }
}

void Observer::hashOf(PyObject* o) {
  if (PyTuple_Check(o))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) hashOf(PyTuple_GET_ITEM(o, i));
  else if (covered(o))
    refuse("the identity of an argument is asked");
}

void Observer::index(PyObject* key) {
  guardNumber(key);
  if (PySlice_Check(key)) {
    auto* s = reinterpret_cast<PySliceObject*>(key);
    for (PyObject* part : {s->start, s->stop, s->step}) index(part);
    return;
  }
  if (isPlain(key)) return;
  if (isTensor(key)) return operand(key);
  if (isPythonClass(Py_TYPE(key)) || isDerivedValue(key)) return readType(key);  // `__index__` is entered
  refuse("an object of type " + typeName(key) + " is an index");
}

void Observer::searched(PyObject* container, PyObject* item) {
  auto unequal = [](PyObject* o) { return PyFloat_Check(o) && std::isnan(PyFloat_AS_DOUBLE(o)); };
  // What is not equal to itself is found by what it is.
  if (unequal(item)) return refuse("a NaN is searched for");
  compared(item);
  PyRef list(PySequence_List(container));
  if (!list) {
    PyErr_Clear();
    return refuse("a container is searched");
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()) && proved(); ++i) compared(PyList_GET_ITEM(list.get(), i));
}

}  // namespace tandem::python
