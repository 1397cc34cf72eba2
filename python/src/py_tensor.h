// tandem.Tensor: the Python object that wraps a TensorImpl. While it lives there is one object for one impl
// (TensorImpl::pyObject); an impl that outlives it, in a graph or a plan, gets a new one when next wrapped.
//
//   py_tensor.cpp        the type: allocation, lifetime, attributes, pickling and copying hooks
//   number_slots.cpp     operators: no argument parsing
//   properties.cpp       shape, dtype, grad, ...
//   tensor_methods.cpp   methods that no record makes
//   indexing.cpp         reading and writing by index
//   bindings.cpp         generated functions and methods
#pragma once

#include <Python.h>
#include <string>
#include <vector>

#include "eager/recorder.h"
#include "eager/tensor.h"
#include "python/src/errors.h"

namespace tandem::python {

struct PyTensor {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;  // attributes that users set; null until then
  PyObject* weakrefs;
};

extern PyTypeObject* tensorType;

inline bool isTensor(PyObject* o) { return Py_TYPE(o) == tensorType || PyType_IsSubtype(Py_TYPE(o), tensorType) != 0; }
/// `o` must be a tensor.
inline const Tensor& tensorOf(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->tensor; }

/// Has the tensor `o` attributes that users set? Who only asked for its `__dict__`, as a pickle does, set none.
inline bool hasAttributes(PyObject* o) {
  PyObject* dict = reinterpret_cast<PyTensor*>(o)->dict;
  return dict != nullptr && PyDict_GET_SIZE(dict) > 0;
}

/// `t`, of which the program is about to read the size of `dim` (all sizes where that is negative).
inline const Tensor& sized(const Tensor& t, std::int64_t dim = -1) {
  if (activeRecorder != nullptr) activeRecorder->beforeSizeRead(t, dim);
  return t;
}

/// The object of `t` (a new reference), made if there is none; None for an undefined tensor.
PyObject* wrap(Tensor t);
/// A fresh object of the class `cls`, of a tensor that has none yet.
PyObject* wrapAs(PyTypeObject* cls, Tensor t);

/// Is `o` a Python or NumPy number?
bool isNumber(PyObject* o);
/// An array of NumPy's of no dims, which stands for the number that it holds.
bool isNumpyNumber(PyObject* o);
/// Converts one; OverflowError for integers beyond 64 bits.
Scalar scalarOf(PyObject* o);
/// Is `o` an integer that only an unsigned one of 64 bits holds, 2^63 or more?
bool isUnsignedInteger(PyObject* o);
/// Such an integer, which floats and bools take as the number that it is, beside what is of `dtype`. Integers take it
/// modulo 2^64 where `op` computes modulo the number of their values, as sums, products and operations on bits do;
/// RuntimeError from all others.
Scalar unsignedAs(DType dtype, PyObject* o, std::string_view op);
PyObject* wrap(const Scalar& v);

/// The value of a tensor of one element; materializes.
Scalar itemOf(const Tensor& t);
/// A Python number of dtype `t` read from memory.
PyObject* elementObject(DType t, const void* p);

/// An integer as Python indexes are written; TypeError naming what it is.
std::int64_t indexOf(PyObject* o);

/// The type's parts, filled in by the files named above.
std::vector<PyType_Slot> numberSlots();
std::vector<PyGetSetDef> propertyDefs();
std::vector<PyMethodDef> tensorMethodDefs();
std::vector<PyMethodDef> randomMethodDefs();
std::vector<PyMethodDef> generatedMethodDefs();
PyObject* tensorGetItem(PyObject* self, PyObject* index);
int tensorSetItem(PyObject* self, PyObject* index, PyObject* value);

/// Creates the type and adds it to the module.
void initTensor(PyObject* module);

}  // namespace tandem::python
