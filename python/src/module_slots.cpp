// How `nn.Module` reads its members and is called, in C: the same as its `__getattr__` and `__call__`, which are
// Python's code and say what is meant, without a frame of the interpreter and without an exception that is made to be
// caught. A network reads a member or calls a module some ten times for each operation that takes long.
//
//   The interpreter keeps for every class what reads an attribute and what calls an object. A class whose `__getattr__`
//   and `__call__` are the module's gets these functions there; when one of the two is assigned later, to it or to a
//   base, the interpreter puts its own back. While a body is observed (observer.h) Python's code runs.
#include "python/src/module_slots.h"

#include <vector>

#include "python/src/convert.h"
#include "python/src/errors.h"
#include "python/src/observer.h"

namespace tandem::python {
namespace {

/// Dicts of hooks that every module has; they live as long as the process.
std::vector<PyObject*> sharedHooks;

/// A dict whose items are read as those of any dict; null for others.
PyObject* plainDict(PyObject* dict, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(dict, key);
  return found != nullptr && (PyDict_CheckExact(found) || PyODict_CheckExact(found)) ? found : nullptr;
}

/// The function of the class under `name` is called with `self` and the rest.
PyObject* callInPython(PyObject* self, PyObject* name, PyObject* args, PyObject* kwargs) {
  PyObject* function = _PyType_Lookup(Py_TYPE(self), name);
  if (function == nullptr) return PyErr_Format(PyExc_AttributeError, "%U", name);
  PyRef held = PyRef::borrow(function);
  PyRef method(PyMethod_New(function, self));
  return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
}

/// `Module.__getattr__` after the attributes that all objects have.
PyObject* readMember(PyObject* self, PyObject* name) {
  static PyObject* const kinds[] = {interned("_parameters"), interned("_buffers"), interned("_modules")};
  static PyObject* const reader = interned("__getattr__");
  PyObject* own = _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1);
  if (own != nullptr || PyErr_Occurred() != nullptr) return own;
  PyRef dict(activeObserver == nullptr ? PyObject_GenericGetDict(self, nullptr) : nullptr);
  PyErr_Clear();
  for (PyObject* kind : kinds) {
    PyObject* members = dict ? plainDict(dict.get(), kind) : nullptr;
    if (members == nullptr) break;
    if (PyObject* found = PyDict_GetItemWithError(members, name)) return Py_NewRef(found);
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  PyRef args(PyTuple_Pack(1, name));
  return args ? callInPython(self, reader, args.get(), nullptr) : nullptr;
}

bool hasNoHooks(PyObject* self) {
  for (PyObject* hooks : sharedHooks)
    if (PyDict_GET_SIZE(hooks) != 0) return false;
  static PyObject* const kinds[] = {interned("_forward_hooks"), interned("_forward_pre_hooks"),
                                    interned("_backward_hooks"), interned("_backward_pre_hooks")};
  PyRef dict(PyObject_GenericGetDict(self, nullptr));
  for (PyObject* kind : kinds) {
    PyObject* hooks = dict ? plainDict(dict.get(), kind) : nullptr;
    if (hooks == nullptr || PyDict_GET_SIZE(hooks) != 0) {
      PyErr_Clear();
      return false;
    }
  }
  return true;
}

/// `Module.__call__`.
PyObject* callModule(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject* const forwardName = interned("forward");
  static PyObject* const callName = interned("__call__");
  if (activeObserver != nullptr || !hasNoHooks(self)) return callInPython(self, callName, args, kwargs);
  PyRef forward(PyObject_GetAttr(self, forwardName));
  return forward ? PyObject_Call(forward.get(), args, kwargs) : nullptr;
}

/// _quicken_module(cls, getattr, call): what `cls` has of a module's two functions is done in C from now on.
PyObject* quickenModule(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    if (n != 3 || !PyType_Check(args[0])) fail<TypeError>("_quicken_module takes a class and two functions");
    static PyObject* const names[] = {interned("__getattribute__"), interned("__getattr__"), interned("__call__")};
    auto* type = reinterpret_cast<PyTypeObject*>(args[0]);
    if (_PyType_Lookup(type, names[0]) == _PyType_Lookup(&PyBaseObject_Type, names[0]) &&
        _PyType_Lookup(type, names[1]) == args[1])
      type->tp_getattro = readMember;
    if (_PyType_Lookup(type, names[2]) == args[2]) type->tp_call = callModule;
    PyType_Modified(type);
    Py_RETURN_NONE;
  });
}

/// _watch_hooks(*dicts): modules are called in C while all of `dicts` are empty.
PyObject* watchHooks(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!PyDict_Check(args[i])) fail<TypeError>("_watch_hooks takes dicts");
      sharedHooks.push_back(Py_NewRef(args[i]));
    }
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_quicken_module", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(quickenModule)),
                            METH_FASTCALL, "Has a class of modules read members and called in C."},
                           {"_watch_hooks", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(watchHooks)),
                            METH_FASTCALL, "Has modules called in Python while one of the dicts has a hook."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void initModuleSlots(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace tandem::python
