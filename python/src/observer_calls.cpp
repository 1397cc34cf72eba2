// The rules of the observer for calls: what a function, a method or a class that is called reads before its code is
// entered, or what stands for the call where nothing is entered.
#include <Python.h>
#include <algorithm>

#include "python/src/compiled_function.h"
#include "python/src/convert.h"
#include "python/src/device_object.h"
#include "python/src/observer_frame.h"
#include "python/src/py_tensor.h"
#include "python/src/result_tree.h"

namespace tandem::python {

/// C code that called is given `o`. It may ask whether that is empty, or advance it.
void Observer::handToC(const Frame& f, PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o) || PyDict_Check(o) || PyAnySet_Check(o)) {
    iterate(o);
    if (std::ranges::any_of(weighed_, [&](const PyRef& c) { return c.get() == reinterpret_cast<PyObject*>(f.code); }))
      compared(o);
  }
  if (isIterator(o) && !fresh(o)) return refuse("C code is given an iterator that was there before");
  if (PyObject_CheckBuffer(o) != 0 && !PyBytes_CheckExact(o) && !isTensor(o))
    refuse("C code is given memory that others may write");
}

/// `f(*args, **keywords)`
void Observer::callEx(Frame& f, int keywords) {
  // From 3.11 on null is below the callable, from 3.13 on above it.
  constexpr int null = PY_VERSION_HEX >= 0x030B0000 ? 1 : 0;
  constexpr int above = PY_VERSION_HEX >= 0x030D0000 ? 1 : 0;
  PyObject* args = f.peek(1 + keywords);
  PyObject* callable = f.peek(2 + above + keywords);
  iterate(args);
  std::vector<PyObject*> all;
  if (PyTuple_Check(args) || PyList_Check(args))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(args); ++i) all.push_back(PySequence_Fast_GET_ITEM(args, i));
  else if (!PyFunction_Check(callable))
    return refuse("a C function is called with arguments from an iterator");
  if (keywords != 0) {
    PyObject* given = f.peek(1);
    iterate(given);
    PyObject *k = nullptr, *v = nullptr;
    if (PyDict_Check(given)) {
      for (Py_ssize_t at = 0; PyDict_Next(given, &at, &k, &v) != 0;) all.push_back(v);
      const PyRef keys(checked(PyDict_Keys(given)));
      keywords_ = PyRef(checked(PyList_AsTuple(keys.get())));
    }
  }
  called(f, 2 + null + keywords, call(callable, all.data(), static_cast<Py_ssize_t>(all.size())));
  keywords_ = {};
}

/// Text of shapes, dtypes and devices is made of what the signature says.
bool saysItself(PyObject* o) { return isPlain(o) || isDType(o) || isDevice(o) || isSize(o); }

void Observer::asText(PyObject* o) {
  guardNumber(o);
  if (!saysItself(o)) refuse("an object is written as text");
}

bool Observer::call(PyObject* callable, PyObject* const* args, Py_ssize_t n) {
  bool makesFresh = false;
  if (PyFunction_Check(callable)) {
    if (asksSignature(callable, args, n)) return true;
    auto* f = reinterpret_cast<PyFunctionObject*>(callable);
    if (!fresh(callable)) {
      guards_.function(callable);
      if (f->func_defaults != nullptr) items(f->func_defaults);
      value(f->func_kwdefaults);
      if (f->func_kwdefaults != nullptr) iterate(f->func_kwdefaults);
    }
    return (reinterpret_cast<PyCodeObject*>(f->func_code)->co_flags & CO_GENERATOR) != 0;
  }
  if (PyMethod_Check(callable)) {
    std::vector<PyObject*> all{PyMethod_GET_SELF(callable)};
    all.insert(all.end(), args, args + n);
    return call(PyMethod_GET_FUNCTION(callable), all.data(), n + 1);
  }
  if (PyType_Check(callable)) return callType(reinterpret_cast<PyTypeObject*>(callable), args, n);
  if (isCompiledFunction(callable)) return call(compiledCallable(callable), args, n);
  if (understoodFunction(*this, callable, args, n, makesFresh)) return makesFresh;
  if (special(callable, "__call__")) return false;
  if (proved()) refuse("a call of " + nameOf(callable));
  return false;
}

void Observer::repeats(PyObject* function, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const Py_ssize_t named = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  const PyRef result(PyObject_Vectorcall(function, args, static_cast<std::size_t>(n - named), names));
  if (!result) {
    PyErr_Clear();
    return refuse("a call of " + nameOf(function));
  }
  guards_.call(function, args, n, names, result.get());
  value(result.get());
}

void Observer::cachedCall(PyObject* function, PyObject* const* args, Py_ssize_t n) {
  auto stays = [&](auto& self, PyObject* o) -> bool {
    guardNumber(o);
    // An object that is no other's equal is known by itself.
    const bool itself = isPythonClass(Py_TYPE(o)) && guards_.names(o) &&
                        Py_TYPE(o)->tp_hash == PyBaseObject_Type.tp_hash &&
                        Py_TYPE(o)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
    if (!PyTuple_CheckExact(o)) return itself || isUnchanging(o) || PyType_Check(o) != 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
      if (!self(self, PyTuple_GET_ITEM(o, i))) return false;
    return true;
  };
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!stays(stays, args[i])) return refuse("a cached function is given an object of type " + typeName(args[i]));
  auto misses = [&] {
    PyRef info(PyObject_CallMethod(function, "cache_info", nullptr));
    return PyRef(info ? PyObject_GetAttrString(info.get(), "misses") : nullptr);
  };
  const PyRef before = misses();
  repeats(function, args, n, keywords_.get());
  const PyRef after = misses();
  PyErr_Clear();
  if (!before || !after) return refuse("a call of " + nameOf(function));
  if (PyObject_RichCompareBool(before.get(), after.get(), Py_EQ) != 1) makesState();
}

bool Observer::callType(PyTypeObject* type, PyObject* const* args, Py_ssize_t n) {
  bool makesFresh = false;
  // `list(x)` and `zip(x, y)` take a tensor apart; of containers they hand on what is in them.
  if (!isPythonClass(type) && type != &PyType_Type)
    for (Py_ssize_t i = 0; i < n; ++i)
      if (isTensor(args[i])) use(args[i]);
  if (understoodType(*this, type, args, n, makesFresh)) return makesFresh;
  static PyObject* newName = interned("__new__");
  static PyObject* initName = interned("__init__");
  static PyObject* callName = interned("__call__");
  const bool exception = PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0;
  if (PyType_IsSubtype(type, &PyTuple_Type) != 0 && type->tp_init == PyBaseObject_Type.tp_init) {
    // A named tuple: its `__new__` is Python's code, which calls that of tuples.
    PyObject* make = _PyType_Lookup(type, newName);
    guards_.type(type);
    askedClass(reinterpret_cast<PyObject*>(type));
    if (specialsAreWatched(type) && make != nullptr &&
        (PyFunction_Check(make) || Py_TYPE(make) == &PyStaticMethod_Type))
      return false;
  }
  const bool ofDicts = PyType_IsSubtype(type, &PyDict_Type) != 0 && type != &PyDict_Type && isDerivedClass(type);
  const bool ofNumbers = isEnumeration(type) && isDerivedClass(type);
  if (!isPythonClass(type) && !ofDicts && !ofNumbers && (!exception || !specialsAreWatched(type))) {
    refuse(std::string("a call of ") + type->tp_name);
    return false;
  }
  guards_.type(type);
  askedClass(reinterpret_cast<PyObject*>(type));
  PyObject* metaCall = _PyType_Lookup(Py_TYPE(type), callName);
  if (metaCall != nullptr && PyFunction_Check(metaCall)) return false;  // entered
  if (exception) return true;
  PyObject* make = _PyType_Lookup(type, newName);
  PyObject* init = _PyType_Lookup(type, initName);
  const bool pythonNew = make != nullptr && (PyFunction_Check(make) || Py_TYPE(make) == &PyStaticMethod_Type);
  if (pythonNew) return false;  // entered; what it returns may be an object of before
  if (init != nullptr && PyFunction_Check(init)) {
    beingMade_ = type;
  } else if (ofDicts) {
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!isPlain(args[i])) iterate(args[i]);
  }
  return true;
}

}  // namespace tandem::python
