// What classes do: whether the interpreter, when it uses an object, runs nothing but code that is watched, and what is
// read through a descriptor. C code that a class names as one of its special methods, or a property as its getter, is
// called without an instruction that the observer sees.
#include <Python.h>
#include <string_view>
#include <structmember.h>
#include <unordered_map>

#include "python/src/compiled_function.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"

namespace tandem::python {
namespace {

bool isSpecialName(PyObject* name) {
  Py_ssize_t n = 0;
  const char* s = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &n) : nullptr;
  return s != nullptr && n > 4 && s[0] == '_' && s[1] == '_' && s[n - 1] == '_' && s[n - 2] == '_';
}

/// The getter of a property, null if it has none.
PyRef getterOf(PyObject* property) {
  PyRef getter(PyObject_GetAttrString(property, "fget"));
  PyErr_Clear();
  return getter;
}

/// Names that the interpreter reads, if at all, and does not call. A tensor whose class has a `__torch_function__` that
/// decides anything is refused where an operation meets it (`overrides`).
bool isRead(PyObject* name) {
  for (const char* s : {"__class__", "__dict__", "__doc__", "__module__", "__name__", "__qualname__", "__weakref__",
                        "__annotations__", "__wrapped__", "__class_getitem__", "__torch_function__", "__members__"})
    if (PyUnicode_CompareWithASCIIString(name, s) == 0) return true;
  return false;
}

/// Is what a class has under the name of a special method Python's code, or C code that only looks at its own objects?
bool watchedSpecial(PyObject* name, PyObject* value) {
  const PyTypeObject* kind = Py_TYPE(value);
  if (PyFunction_Check(value) || value == Py_None) return true;
  if (isRead(name)) {
    PyRef getter = kind == &PyProperty_Type ? getterOf(value) : PyRef();
    return !getter || PyFunction_Check(getter.get());
  }
  if (kind == &PyStaticMethod_Type || kind == &PyClassMethod_Type) {
    PyRef function(PyObject_GetAttrString(value, "__func__"));
    PyErr_Clear();
    return function && PyFunction_Check(function.get());
  }
  if (kind == &PyWrapperDescr_Type || kind == &PyMethodDescr_Type) {
    const auto* descriptor = reinterpret_cast<PyDescrObject*>(value);
    // `__str__ = int.__repr__`, as enumerations of numbers have it.
    const bool text = PyUnicode_CompareWithASCIIString(name, "__str__") == 0 &&
                      PyUnicode_CompareWithASCIIString(descriptor->d_name, "__repr__") == 0;
    return PyUnicode_Compare(descriptor->d_name, name) == 0 || text;
  }
  if (isCompiledFunction(value)) return PyFunction_Check(compiledCallable(value));
  return PyCallable_Check(value) == 0 && kind->tp_descr_get == nullptr;
}

}  // namespace

bool specialsAreWatched(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || type->tp_mro == nullptr) return true;
  struct Known {
    unsigned version;
    bool watched;
  };
  static std::unordered_map<PyTypeObject*, Known> known;
  static PyObject* any = interned("__doc__");
  (void)_PyType_Lookup(type, any);  // gives it a version if it has none
  const unsigned version = versionOf(type);
  auto it = known.find(type);
  if (it != known.end() && version != 0 && it->second.version == version) return it->second.watched;
  bool watched = true;
  for (Py_ssize_t i = 0; watched && i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    // What C types say of themselves is in the tables.
    if ((base->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || base->tp_methods != nullptr) continue;
    PyObject *k = nullptr, *v = nullptr;
    for (Py_ssize_t at = 0; watched && PyDict_Next(base->tp_dict, &at, &k, &v) != 0;)
      watched = !isSpecialName(k) || watchedSpecial(k, v);
  }
  known[type] = {version, watched};
  return watched;
}

bool isPythonClass(PyTypeObject* type) {
  // Classes made by a `class` statement share what the interpreter puts into their slots.
  static PyTypeObject* sample = [] {
    PyRef made(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(){}", "Sample"));
    return reinterpret_cast<PyTypeObject*>(made.release());
  }();
  if (sample == nullptr) return false;
  auto made = [](PyTypeObject* t) {
    return (t->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && t->tp_methods == nullptr && t->tp_dealloc == sample->tp_dealloc;
  };
  if (!made(type) || type->tp_mro == nullptr) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (base != &PyBaseObject_Type && !made(base)) return false;
  }
  return specialsAreWatched(type);
}

bool isDerivedClass(PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && type->tp_methods == nullptr && specialsAreWatched(type);
}
bool isDerivedValue(PyObject* o) {
  return (PyUnicode_Check(o) || PyLong_Check(o) || PyFloat_Check(o) || PyDict_Check(o)) && isDerivedClass(Py_TYPE(o));
}

PyTypeObject* typeNamed(const char* module, const char* name) {
  PyRef m(checked(PyImport_ImportModule(module)));
  return reinterpret_cast<PyTypeObject*>(checked(PyObject_GetAttrString(m.get(), name)));
}
bool isDict(PyObject* o) {
  static PyTypeObject* const withDefault = typeNamed("collections", "defaultdict");
  return PyDict_CheckExact(o) || Py_TYPE(o) == &PyODict_Type || Py_TYPE(o) == withDefault;
}
bool isEnumeration(PyTypeObject* type) {
  static PyObject* hash = interned("__hash__");
  static PyTypeObject *const meta = typeNamed("enum", "EnumMeta"), *const base = typeNamed("enum", "Enum");
  if (PyType_IsSubtype(Py_TYPE(type), meta) == 0) return false;
  PyObject* own = _PyType_Lookup(type, hash);
  return own == _PyType_Lookup(base, hash) || (own != nullptr && Py_TYPE(own) == &PyWrapperDescr_Type);
}
PyObject* behindProxy(PyObject* o) {
  struct Proxy {
    PyObject_HEAD PyObject* mapping;
  };
  if (Py_TYPE(o) != &PyDictProxy_Type) return o;
  PyObject* mapping = reinterpret_cast<Proxy*>(o)->mapping;
  return isDict(mapping) ? mapping : o;
}
bool isDerivedList(PyObject* o) { return PyList_Check(o) && !PyList_CheckExact(o) && isDerivedClass(Py_TYPE(o)); }
bool isNamespace(PyObject* o) {
  static PyTypeObject* const type = typeNamed("types", "SimpleNamespace");
  return Py_TYPE(o) == type;
}
bool Observer::readsAsList(PyObject* o, std::initializer_list<const char*> names) {
  if (PyList_CheckExact(o)) return true;
  if (!isDerivedList(o)) return false;
  for (const char* name : names) {
    const PyRef key(interned(name));
    if (_PyType_Lookup(Py_TYPE(o), key.get()) != _PyType_Lookup(&PyList_Type, key.get())) return false;
  }
  readType(o);
  return true;
}
bool Observer::readsAsDict(PyObject* o, std::initializer_list<const char*> names) {
  if (isDict(o)) return true;
  if (!PyDict_Check(o) || !isDerivedValue(o)) return false;
  for (const char* name : names) {
    const PyRef key(interned(name));
    PyObject* found = _PyType_Lookup(Py_TYPE(o), key.get());
    if (found != _PyType_Lookup(&PyDict_Type, key.get()) && found != _PyType_Lookup(&PyODict_Type, key.get()))
      return false;
  }
  readType(o);
  return true;
}

void Observer::readType(PyObject* o) {
  if (!fresh(o)) guards_.classOf(o);
  guards_.type(Py_TYPE(o));
  specialMethods(Py_TYPE(o));
}

void Observer::specialMethods(PyTypeObject* type) {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || type->tp_mro == nullptr || !classes_.insert(type).second) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if ((base->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 || base->tp_methods != nullptr) continue;
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(base->tp_dict, &at, &name, &value) != 0;) {
      if (!isSpecialName(name)) continue;
      PyRef function = PyRef::borrow(value);
      if (Py_TYPE(value) == &PyStaticMethod_Type || Py_TYPE(value) == &PyClassMethod_Type) {
        function = PyRef(PyObject_GetAttrString(value, "__func__"));
        PyErr_Clear();
      }
      if (function && PyFunction_Check(function.get())) (void)call(function.get(), nullptr, 0);
    }
  }
}

bool Observer::special(PyObject* o, const char* name) {
  if (!isPythonClass(Py_TYPE(o)) && !isDerivedValue(o) && !isDerivedList(o)) return false;
  readType(o);
  PyRef key(interned(name));
  PyObject* found = _PyType_Lookup(Py_TYPE(o), key.get());
  if (found == nullptr || !PyFunction_Check(found)) return false;
  (void)call(found, &o, 1);
  return true;
}

void Observer::askedClass(PyObject* o) {
  if (isTuple(o)) {
    iterate(o);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) askedClass(PyTuple_GET_ITEM(o, i));
  }
  if (std::string_view(Py_TYPE(o)->tp_name) == "types.UnionType") {
    const PyRef classes(PyObject_GetAttrString(o, "__args__"));
    PyErr_Clear();
    if (classes) askedClass(classes.get());
  }
  if (!PyType_Check(o)) return;
  guards_.type(Py_TYPE(o));
  if (!specialsAreWatched(Py_TYPE(o))) return refuse("a class of a class that is not understood");
  static PyObject* const questions[] = {interned("__instancecheck__"), interned("__subclasscheck__")};
  for (PyObject* question : questions)
    if (PyObject* found = _PyType_Lookup(Py_TYPE(o), question); found != nullptr && PyFunction_Check(found))
      (void)call(found, nullptr, 0);
}

bool Observer::field(PyObject* o, PyObject* name) {
  PyObject* found = _PyType_Lookup(Py_TYPE(o), name);
  if (found == nullptr || Py_TYPE(found) != &PyMemberDescr_Type) return false;
  const PyMemberDef& member = *reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
  if (member.type != T_OBJECT && member.type != T_OBJECT_EX) return false;
  if (fresh(o) || covered(o)) return true;
  guards_.slot(o, member.offset);
  value(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + member.offset));
  return true;
}

void Observer::understoodAttribute(PyObject* o, PyObject* name) {
  if (std::string_view(Py_TYPE(o)->tp_name) == "types.GenericAlias") {
    // `list[int].append` is that of `list`.
    const PyRef origin(isSpecialName(name) ? nullptr : PyObject_GetAttrString(o, "__origin__"));
    PyErr_Clear();
    return origin ? attribute(origin.get(), name) : void();
  }
  // A `partial` has attributes of its own.
  if (fresh(o) || field(o, name) || Py_TYPE(o)->tp_dictoffset == 0 || _PyType_Lookup(Py_TYPE(o), name) != nullptr)
    return;
  const PyRef dict(checked(PyObject_GenericGetDict(o, nullptr)));
  PyObject* own = PyDict_GetItemWithError(dict.get(), name);
  guards_.item(o, dict.get(), name, own);
  value(own);
}

void Observer::moduleAttribute(PyObject* module, PyObject* name) {
  static PyObject* const reader = interned("__getattribute__");
  static PyObject* const otherwise = interned("__getattr__");
  PyTypeObject* type = Py_TYPE(module);
  PyObject* found = nullptr;
  if (!PyModule_CheckExact(module)) {
    if (!specialsAreWatched(type) || _PyType_Lookup(type, reader) != _PyType_Lookup(&PyModule_Type, reader))
      return refuse("an attribute of a module of type " + typeName(module) + " is read (" + nameText(name) + ")");
    readType(module);
    found = _PyType_Lookup(type, name);
    if (found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr) return through(found, module, name);
  }
  // The guard of an item is one of the module's class, too.
  PyObject* dict = PyModule_GetDict(module);
  PyObject* own = PyDict_GetItemWithError(dict, name);
  guards_.item(module, dict, name, own);
  if (own != nullptr) return value(own);
  if (found != nullptr) {
    through(found, module, name);
    return value(found);
  }
  PyObject* function = PyDict_GetItemWithError(dict, otherwise);
  guards_.item(module, dict, otherwise, function);
  if (function != nullptr) (void)call(function, &name, 1);
}

void Observer::through(PyObject* found, PyObject* o, PyObject* name) {
  PyTypeObject* kind = Py_TYPE(found);
  if (kind->tp_descr_get == nullptr || PyFunction_Check(found) || isCompiledFunction(found) ||
      isCachedFunction(found) || kind == &PyMethodDescr_Type || kind == &PyWrapperDescr_Type ||
      kind == &PyClassMethodDescr_Type || kind == &PyStaticMethod_Type || kind == &PyMethod_Type)
    return;
  if (kind == &PyClassMethod_Type) {
    // What it holds may be a descriptor again.
    PyRef function(PyObject_GetAttrString(found, "__func__"));
    PyErr_Clear();
    if (function && !PyFunction_Check(function.get())) through(function.get(), o, name);
    return;
  }
  const bool property = PyType_IsSubtype(kind, &PyProperty_Type) != 0 && specialsAreWatched(kind);
  if (property || isPythonClass(kind)) readType(found);
  if (property && kind->tp_descr_get == PyProperty_Type.tp_descr_get) {
    static PyObject* getterName = interned("fget");
    PyRef getter = getterOf(found);
    if (_PyType_Lookup(kind, getterName) == _PyType_Lookup(&PyProperty_Type, getterName) && getter) {
      // One that is Python's code is entered.
      if (getter.get() != Py_None && call(getter.get(), &o, 1))
        refuse("an attribute is made by a C function (" + std::string(PyUnicode_AsUTF8(name)) + ")");
      return;
    }
  } else if (property || isPythonClass(kind)) {
    return;  // `__get__` is entered
  }
  refuse("an attribute is read through a descriptor of type " + std::string(kind->tp_name));
}

bool Observer::asksSignature(PyObject* callable, PyObject* const* args, Py_ssize_t n) {
  static PyObject* inspect = interned("inspect");
  static PyObject* annotations = interned("__annotations__");
  static PyObject* const deciding[] = {interned("__wrapped__"),        interned("__signature__"),
                                       interned("_partialmethod"),     interned("__partialmethod__"),
                                       interned("__text_signature__"), annotations};
  auto* f = reinterpret_cast<PyFunctionObject*>(callable);
  if (n != 1 || keywords_ || f->func_module == nullptr || !PyUnicode_Check(f->func_module) ||
      PyUnicode_Compare(f->func_module, inspect) != 0 ||
      PyUnicode_CompareWithASCIIString(f->func_qualname, "signature") != 0)
    return false;
  const PyRef module(checked(PyImport_Import(inspect)));
  if (PyDict_GetItemString(PyModule_GetDict(module.get()), "signature") != callable) return false;
  PyObject* of = args[0];
  while (PyMethod_Check(of)) of = PyMethod_GET_FUNCTION(of);
  if (!PyFunction_Check(of)) return false;
  PyObject* own = reinterpret_cast<PyFunctionObject*>(of)->func_dict;
  for (PyObject* name : deciding)
    if (own != nullptr && PyDict_GetItemWithError(own, name) != nullptr) return false;
  // A dict of them is made when they are asked for.
  const PyRef types(checked(PyObject_GetAttr(of, annotations)));
  (void)call(callable, nullptr, 0);
  (void)call(of, nullptr, 0);
  for (PyObject* name : deciding) attribute(of, name);
  iterate(types.get());
  unwatched_ = reinterpret_cast<PyCodeObject*>(f->func_code);
  return true;
}

}  // namespace tandem::python
