// GPUs as Python's layer sees them: objects that hold what is C++'s, and what the files of bindings share.
#pragma once

#include <Python.h>
#include <memory>
#include <utility>
#include <vector>

#include "python/src/errors.h"
#include "runtime/device/gpu_control.h"

namespace tandem::python {

/// An object of Python that holds one of C++.
template <class T>
struct Box {
  PyObject_HEAD T value;
  static inline PyTypeObject* type = nullptr;

  static T& of(PyObject* o) {
    if (Py_TYPE(o) != type) fail<TypeError>("expected a ", type->tp_name, ", not ", Py_TYPE(o)->tp_name);
    return reinterpret_cast<Box*>(o)->value;
  }
  static PyObject* make(T value) {
    PyObject* made = checked(type->tp_alloc(type, 0));
    new (&reinterpret_cast<Box*>(made)->value) T(std::move(value));
    return made;
  }
  static void dealloc(PyObject* self) {
    PyTypeObject* own = Py_TYPE(self);
    reinterpret_cast<Box*>(self)->value.~T();
    own->tp_free(self);
    Py_DECREF(own);
  }
  static void init(PyObject* module, const char* name, PyMethodDef* methods, PyGetSetDef* properties) {
    PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                           {Py_tp_methods, methods},
                           {Py_tp_getset, properties},
                           {0, nullptr}};
    PyType_Spec spec = {name, sizeof(Box), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
    checked(PyModule_AddType(module, type));
  }
};

/// Streams are the executor's, which keeps them.
struct GpuStream {
  Device device;
  Stream* stream;
};
struct GpuEvent {
  Device device;
  std::unique_ptr<Event> event;
};
using StreamBox = Box<GpuStream>;
using EventBox = Box<GpuEvent>;

/// NotImplementedError where the device has no streams, events and graphs to choose.
GpuControl& gpuOf(Device device);
/// The GPU of an index. Error where there is none.
Device deviceAt(PyObject* index);
/// What is recorded belongs before what follows.
void runRecorded(const char* why);
/// Streams of groups of processes, which have ways of their own to be waited for. With the GIL.
std::vector<const Stream*>& streamsOfGroups();

/// What `f` returns, which touches no Python object.
template <class F>
auto withoutGil(F&& f) {
  const WithoutGil released;
  return std::forward<F>(f)();
}

}  // namespace tandem::python
