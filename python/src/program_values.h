// Python's values to and from those that saved programs are described by.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/src/errors.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

inline std::string textOf(PyObject* o) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (text == nullptr) throw PythonError();
  return {text, static_cast<std::size_t>(size)};
}
inline PyObject* textObject(std::string_view s) {
  return checked(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}
inline PyObject* bytesObject(std::string_view s) {
  return checked(PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
}

/// `one(item)` of each item of a list or tuple.
template <class F>
auto each(PyObject* sequence, F one) {
  std::vector<decltype(one(sequence))> out;
  PyRef fast(checked(PySequence_Fast(sequence, "expected a sequence")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i)
    out.push_back(one(PySequence_Fast_GET_ITEM(fast.get(), i)));
  return out;
}
/// Of a list of pairs of strings.
inline std::vector<std::pair<std::string, std::string>> textPairs(PyObject* list) {
  return each(list, [](PyObject* pair) {
    PyObject *key = nullptr, *value = nullptr;
    if (PyArg_ParseTuple(pair, "UU", &key, &value) == 0) throw PythonError();
    return std::pair(textOf(key), textOf(value));
  });
}
/// A list of what `one(item)` makes, new references.
template <class T, class F>
PyObject* listOf(const T& items, F one) {
  PyRef out(checked(PyList_New(0)));
  for (const auto& item : items) {
    PyRef made(one(item));
    checked(PyList_Append(out.get(), made.get()));
  }
  return out.release();
}

/// dict[name] = value, a new reference.
inline void putItem(PyObject* dict, std::string_view name, PyObject* value) {
  PyRef owned(value), key(textObject(name));
  checked(PyDict_SetItem(dict, key.get(), owned.get()));
}

inline Tensor checkedTensor(PyObject* o) {
  if (!isTensor(o)) fail<TypeError>("expected a Tensor, got ", Py_TYPE(o)->tp_name);
  return tensorOf(o);
}

}  // namespace tandem::python
