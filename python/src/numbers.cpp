// Python numbers: which objects are numbers, and their values.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "python/src/errors.h"
#include "python/src/py_tensor.h"
#include "python/src/tracked_numbers.h"

namespace tandem::python {

namespace {
// NumPy's scalars, told by name so that NumPy need not be imported. Arrays are called `numpy.ndarray`, and strings and
// dates have no arithmetic.
bool isNumpyScalar(PyObject* o) {
  const PyTypeObject* type = Py_TYPE(o);
  if (std::strncmp(type->tp_name, "numpy.", 6) != 0 || type->tp_as_number == nullptr) return false;
  if (type->tp_as_mapping != nullptr && type->tp_as_mapping->mp_length != nullptr) return false;
  if (std::strncmp(type->tp_name + 6, "complex", 7) == 0 || std::strncmp(type->tp_name + 6, "clongdouble", 11) == 0) {
    return false;
  }
  return type->tp_as_number->nb_float != nullptr && PyObject_CheckBuffer(o) != 0;
}
bool isNumpyBoolName(const char* name) { return std::strncmp(name, "numpy.bool", 10) == 0; }
bool isNumpyInteger(const char* name) {
  return std::strncmp(name + 6, "int", 3) == 0 || std::strncmp(name + 6, "uint", 4) == 0 ||
         std::strncmp(name + 6, "long", 4) == 0 || std::strncmp(name + 6, "ulong", 5) == 0;
}
}  // namespace

bool isNumber(PyObject* o) {
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyFloat_Check(o) || PyLong_Check(o) ||
         isNumpyScalar(o);
}

bool isNumpyNumber(PyObject* o) {
  if (std::strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") != 0) return false;
  const PyRef dims(checked(PyObject_GetAttrString(o, "ndim")));
  return PyLong_AsLong(dims.get()) == 0;
}

Scalar scalarOf(PyObject* o) {
  if (const Scalar* slot = trackedSlot(o)) return *slot;
  if (PyFloat_Check(o)) return {PyFloat_AS_DOUBLE(o)};
  if (PyBool_Check(o)) return {o == Py_True};
  if (!PyLong_Check(o)) {
    const char* name = Py_TYPE(o)->tp_name;
    if (isNumpyBoolName(name)) return {checked(PyObject_IsTrue(o)) != 0};
    if (!isNumpyInteger(name)) {
      double v = PyFloat_AsDouble(o);
      if (v == -1.0 && PyErr_Occurred() != nullptr) throw PythonError();
      return {v};
    }
  }
  return {indexOf(o)};
}

bool isUnsignedInteger(PyObject* o) {
  int beyond = 0;
  if (!PyLong_CheckExact(o)) return false;
  static_cast<void>(PyLong_AsLongLongAndOverflow(o, &beyond));
  if (beyond <= 0) return false;
  const bool fits = PyLong_AsUnsignedLongLong(o) != ~std::uint64_t{0} || PyErr_Occurred() == nullptr;
  PyErr_Clear();
  return fits;
}

namespace {

/// Of `add`, `add_`, `__add__` or `__radd__`.
bool computesModulo(std::string_view op) {
  if (op.ends_with('_')) op = op.substr(0, op.find_last_not_of('_') + 1);
  if (op.starts_with("__")) op.remove_prefix(op.starts_with("__r") ? 3 : 2);
  constexpr std::string_view all[] = {"add", "sub", "subtract", "rsub",        "mul",        "multiply",
                                      "and", "or",  "xor",      "bitwise_and", "bitwise_or", "bitwise_xor"};
  return std::ranges::find(all, op) != std::end(all);
}

}  // namespace

Scalar unsignedAs(DType dtype, PyObject* o, std::string_view op) {
  if (dtype == DType::Bool) return true;
  const std::uint64_t v = PyLong_AsUnsignedLongLong(o);
  if (isInteger(dtype) && computesModulo(op)) return static_cast<std::int64_t>(v);
  if (!isFloating(dtype)) fail("value ", v, " cannot be converted to ", dtypeName(dtype), " without overflow");
  return static_cast<double>(v);
}

std::int64_t indexOf(PyObject* o) {
  long long v;
  if (PyLong_CheckExact(o)) {
    v = PyLong_AsLongLong(o);
  } else {
    PyRef number(checked(PyNumber_Index(o)));
    v = PyLong_AsLongLong(number.get());
  }
  if (v == -1 && PyErr_Occurred() != nullptr) throw PythonError();
  return v;
}

}  // namespace tandem::python
