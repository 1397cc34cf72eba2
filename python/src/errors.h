// Exceptions across the border: C++ errors become Python's, and a Python exception raised below C++ code (a hook, a
// user's derivative) travels through it as a PythonError and comes out as it went in.
#pragma once

#include <Python.h>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace tandem::python {

/// An owning reference.
class PyRef {
 public:
  PyRef() = default;
  explicit PyRef(PyObject* owned) : p_(owned) {}
  static PyRef borrow(PyObject* p) { return PyRef(Py_XNewRef(p)); }
  PyRef(const PyRef& o) : p_(Py_XNewRef(o.p_)) {}
  PyRef(PyRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  PyRef& operator=(PyRef o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(p_); }
  [[nodiscard]] PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

/// Holds the GIL, from whatever thread.
class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};
/// Releases the GIL for long work that touches no Python object.
class WithoutGil {
 public:
  explicit WithoutGil(bool when = true) : thread_(when ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (thread_ != nullptr) PyEval_RestoreThread(thread_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* thread_;
};

/// A Python object that may be copied and dropped on any thread, with or without the GIL.
class SharedObject {
 public:
  explicit SharedObject(PyObject* borrowed);
  [[nodiscard]] PyObject* get() const { return object_.get(); }
  /// For the collector of garbage: the object, if no copy of this holds it too.
  int traverse(visitproc visit, void* arg) const { return object_.use_count() == 1 ? visit(object_.get(), arg) : 0; }

 private:
  std::shared_ptr<PyObject> object_;
};

/// The Python exception that is set, taken along. Made and restored under the GIL; copied and destroyed anywhere.
class PythonError : public Error {
 public:
  PythonError();
  void restore() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Inside `catch (...)`: sets the Python exception that stands for the C++ one.
void setPythonError() noexcept;

/// `p`, or its exception thrown.
inline PyObject* checked(PyObject* p) {
  if (p == nullptr) throw PythonError();
  return p;
}
inline int checked(int status) {
  if (status < 0) throw PythonError();
  return status;
}

/// The one string of this text that names are compared with by address. A new reference.
inline PyObject* interned(const char* text) { return checked(PyUnicode_InternFromString(text)); }

/// Runs a slot or method body, its C++ exceptions becoming Python's.
template <class F>
PyObject* guarded(F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    setPythonError();
    return nullptr;
  }
}
template <class F>
int guardedInt(F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    setPythonError();
    return -1;
  }
}

/// `file:line` of the Python code that is running, or empty.
std::string userLine();
/// The same, of the innermost frame outside the package's own files.
std::string userLineOutside();
/// Is a function under way that `_C._set_opaque` was told of, which does what nobody outside looks at?
bool insideOpaque();

/// Adds OutOfMemoryError and DataReadError to the module.
void initErrors(PyObject* module);

}  // namespace tandem::python
